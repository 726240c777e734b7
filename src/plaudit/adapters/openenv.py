"""OpenEnv and NeMo Gym: a reward as a dictionary of components, or as an OpenEnv `Rubric` with a child per term."""

import importlib
from collections.abc import Mapping
from typing import Any

from plaudit.adapters.components import list_components, split_total
from plaudit.adapters.rollouts import list_parts, require_counters, require_single
from plaudit.errors import MissingExtra, SpecError
from plaudit.llm.scored import Scored
from plaudit.llm.scoring import Scoring
from plaudit.reward.signal import Signal

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


def rubric(scoring: Scoring) -> Any:
    """Return a reward as an OpenEnv `Rubric`.

    `named_rubrics()` lists a child `terms.<name>` for each term, and `total.clamp` if the total has a clamp; their
    `last_score` is the value of the term, and they add up to the total. `signal` is the last step with its reward, None
    if it has none. `state_dict()` identifies the reward and its features, and `load_state_dict` rejects the state of
    another one.

    Args:
        scoring: The reward and its features; parts of a sample are `action` and `observation`. With `on_bad="mask"`,
            the reward of a step that cannot be scored is None, as OpenEnv has it for a step without one. So is that of
            a step to which a feature gives no reward.

    Returns:
        An `openenv.core.rubrics.Rubric`.

    Raises:
        MissingExtra: OpenEnv is not installed.
        DefinitionError: A feature needs a group or a batch, or a schedule a step that no feature returns.

    Example:
        ```python
        @feature
        def right(action, observation):
            return action.answer == observation.solution

        env_rubric = rubric(Scoring(sums, [right]))
        observation.reward = env_rubric(action, observation)
        ```
    """
    library = _import_rubrics()
    require_single(scoring, "OpenEnv")
    require_counters(scoring, "OpenEnv")
    names = list_components(scoring.reward)
    identity = {"fingerprint": scoring.reward.fingerprint, "features": scoring.fingerprints}
    identity |= {"reward": scoring.reward.name, "version": scoring.reward.version}

    class TermRubric(library.Rubric):  # type: ignore[name-defined, misc]
        def __init__(self, term: str) -> None:
            super().__init__()
            self.term = term

        def forward(self, action: Any, observation: Any) -> float | None:
            return list_parts(scoring.score([{"action": action, "observation": observation}]))[self.term][0]

    class RewardRubric(library.Rubric):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.terms = library.RubricDict({name: TermRubric(name) for name in names})
            self.scored: Scored | None = None

        @property
        def signal(self) -> Signal | None:
            return None if self.scored is None else self.scored.build_signal(0)

        @property
        def masked(self) -> int:
            return scoring.masked

        def forward(self, action: Any, observation: Any) -> float | None:
            self.scored = scoring.score([{"action": action, "observation": observation}])
            for name, values in list_parts(self.scored).items():
                self.terms[name].last_score = values[0]
            return self.scored.totals[0]

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
