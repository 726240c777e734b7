"""Inputs that a log has, in place of features: for a reward that is scored again without reading any text."""

from plaudit.adapters.logs.importing import ImportedLog
from plaudit.errors import Abstained, UnknownInput, did_you_mean
from plaudit.llm.feature import Feature
from plaudit.reward.reward import Reward

__all__ = ["logged_inputs"]


def logged_inputs(found: ImportedLog, reward: Reward) -> list[Feature]:
    """Return features that give a reward the inputs that an imported log has; without one, a rollout has no reward.

    Args:
        found: The log, as `import_log` returned it.
        reward: The reward to score its rollouts with.

    Returns:
        The features, for `rescore_rollouts`.

    Raises:
        UnknownInput: The log lacks an input.

    Example:
        ```python
        found = import_log(ledger, "runs/grpo-7/completions")
        print(rescore_rollouts(ledger, reward, logged_inputs(found, reward), run=found.run))
        ```
    """
    names = [name for name in reward.inputs if name not in reward.program.counters]
    for name in names:
        if name not in found.inputs:
            has = f"It has {', '.join(found.inputs)}." if found.inputs else "It has none."
            raise UnknownInput(
                f"{found.path} does not have the input {name!r} of {reward.name}@{reward.version}."
                f"{did_you_mean(name, found.inputs)} {has} Give the features that read its texts: --features FILE:NAME "
                "(in Python, pass them to rescore_rollouts)."
            )
    return [_build_input(name) for name in names]


def _build_input(name: str) -> Feature:
    def lacks() -> None:
        raise Abstained(f"the log has no {name!r} of it")

    return Feature(lacks, name=name, judge=True, fingerprint=f"logged {name}")
