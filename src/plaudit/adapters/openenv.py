"""OpenEnv and NeMo Gym: a reward as a dictionary of components, or as an OpenEnv `Rubric` with a child per term."""

import importlib
from collections.abc import Mapping
from typing import Any

from plaudit.adapters.components import split_total
from plaudit.adapters.samples import Features, Scorer
from plaudit.errors import MissingExtra, SpecError
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.rows.on_bad import MAX_MASKED
from plaudit.targets import OnBad

__all__ = ["components", "rubric"]


def components(signal: Signal) -> dict[str, Any]:
    """Return a signal as the fields of a NeMo Gym verify response, or the metadata of an OpenEnv observation.

    Args:
        signal: The scored step or sample.

    Returns:
        `reward`, the total; `reward_components`, the value of each term, which add up to the total and have the same
        keys for every sample; `reward_version` and `reward_fingerprint`.

    >>> from plaudit import Field, Reward, term
    >>> @term(weight=2.0)
    ... def correct(right):
    ...     return 1 if right else 0
    >>> signal = Reward("sums", version="1", terms=[correct], fields=[Field("right", flag=True)]).score(right=True)
    >>> fields = components(signal)
    >>> fields["reward"], fields["reward_components"], fields["reward_version"]
    (2.0, {'correct': 2.0}, 'sums@1')
    """
    return {
        "reward": signal.total,
        "reward_components": split_total(signal),
        "reward_version": f"{signal.reward}@{signal.version}",
        "reward_fingerprint": signal.fingerprint,
    }


def rubric(reward: Reward, features: Features, *, on_bad: OnBad = "raise", max_masked: float = MAX_MASKED) -> Any:
    """Return a reward as an OpenEnv `Rubric`.

    `named_rubrics()` lists a child `terms.<name>` for each term, whose `last_score` is the term's value. `signal` is
    the signal of the last step. `state_dict()` identifies the reward, and `load_state_dict` rejects the state of
    another one.

    Args:
        reward: The reward.
        features: A function that returns the reward's inputs; its parameters name what it needs: `action`,
            `observation`.
        on_bad: What to do with a step that cannot be scored. "raise": raise the error. "mask": the reward is None, as
            OpenEnv has it for a step without one, and `masked` counts it. "clip": clip numbers to their declared
            ranges.
        max_masked: Maximum share of masked steps, checked from ten steps on.

    Returns:
        An `openenv.core.rubrics.Rubric`.

    Raises:
        MissingExtra: OpenEnv is not installed.
        DefinitionError: An argument is invalid.
        TooManyMasked: When a step is scored and more than `max_masked` of all steps are masked.
        MissingField: When steps are scored and none has the fields of the reward, even with `on_bad="mask"`.

    Example:
        ```python
        def features(action, observation):
            return {"right": action.answer == observation.solution}

        env_rubric = rubric(sums, features)
        observation.reward = env_rubric(action, observation)
        ```
    """
    library = _import_rubrics()
    scorer = Scorer(reward, features, on_bad=on_bad, max_masked=max_masked)
    identity = {"reward": reward.name, "version": reward.version, "fingerprint": reward.fingerprint}

    def score(action: Any, observation: Any) -> Signal | None:
        sample = {"action": action, "observation": observation}
        scorer.features.require(sample)
        try:
            signal = scorer(sample)
        except Exception as error:
            if not scorer.masks:
                raise
            scorer.masking.add([error], 1)
            return None
        scorer.masking.add([], 1)
        return signal

    class TermRubric(library.Rubric):  # type: ignore[name-defined, misc]
        def __init__(self, term: str) -> None:
            super().__init__()
            self.term = term

        def forward(self, action: Any, observation: Any) -> float | None:
            signal = score(action, observation)
            return None if signal is None else signal.values[self.term]

    class RewardRubric(library.Rubric):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.terms = library.RubricDict({name: TermRubric(name) for name in reward.program.terms})
            self.signal: Signal | None = None

        @property
        def masked(self) -> int:
            return scorer.masking.masked

        def forward(self, action: Any, observation: Any) -> float | None:
            self.signal = score(action, observation)
            for name in reward.program.terms:
                self.terms[name].last_score = None if self.signal is None else self.signal.values.get(name)
            return None if self.signal is None else self.signal.total

        def state_dict(self) -> dict[str, Any]:
            return dict(identity)

        def load_state_dict(self, state: Mapping[str, Any]) -> None:
            if dict(state) != identity:
                raise SpecError(f"this state belongs to another reward: {dict(state)}; this one is {identity}.")

    return RewardRubric()


def _import_rubrics() -> Any:
    try:
        return importlib.import_module("openenv.core.rubrics")
    except ModuleNotFoundError as error:
        raise MissingExtra(f"an OpenEnv rubric needs {error.name}. Install it: pip install openenv") from None
