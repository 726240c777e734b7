"""Corrections of a drifting mission: five of them, how often each may be used, and what one of them was worth."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from plaudit.errors import DefinitionError, ShapeMismatch
from plaudit.language.field import Field
from plaudit.learn.decision import Decision, unknown_action
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.reward.term import term

ACTIONS = (
    "reanchor_internal",
    "increase_skeptic_weight",
    "switch_deepen_mode_to_evidence",
    "prune_or_park_focus_areas",
    "trigger_user_event_drift_confirmation",
)
"""What can be done about drift, from what disturbs a mission least to what disturbs it most."""

CAPS: Mapping[str, int] = MappingProxyType(
    {
        "increase_skeptic_weight": 5,
        "switch_deepen_mode_to_evidence": 3,
        "prune_or_park_focus_areas": 2,
        "trigger_user_event_drift_confirmation": 1,
    }
)
"""How often a mission may use each; what is not named has no limit."""


def capped(
    decision: Decision,
    used: Mapping[str, int],
    *,
    actions: Sequence[str] = ACTIONS,
    caps: Mapping[str, int] = CAPS,
    otherwise: str = ACTIONS[0],
) -> Decision:
    """Return a decision with what is used up replaced by `otherwise`, and with the probabilities that result.

    Whoever draws an action that the mission has used up gets `otherwise`, so all of its probability goes there. Where
    the probabilities of all actions are not known, neither is that of `otherwise`.

    >>> decision = Decision("b", 0.3, (0.5, 0.3, 0.2), None, 0)
    >>> capped(decision, {"b": 1}, actions=("a", "b", "c"), caps={"b": 1}, otherwise="a")[:3]
    ('a', 0.8, (0.8, 0.0, 0.2))
    """
    for name in (decision.action, otherwise, *caps):
        if name not in actions:
            raise unknown_action(name, actions)
    if decision.probabilities is not None and len(decision.probabilities) != len(actions):
        raise ShapeMismatch(f"{len(decision.probabilities)} probabilities are not those of {', '.join(actions)}.")
    if otherwise in caps:
        raise DefinitionError(f"{otherwise!r} takes the place of what is used up, so it can have no cap.")
    over = {name for name, cap in caps.items() if used.get(name, 0) >= cap}
    if not over:
        return decision
    action = otherwise if decision.action in over else decision.action
    if decision.probabilities is None:
        likely = None if action == otherwise else decision.probability
        return decision._replace(action=action, probability=likely)
    chances = dict(zip(actions, decision.probabilities, strict=True))
    moved = sum(chances[name] for name in over)
    chances |= dict.fromkeys(over, 0.0)
    chances[otherwise] += moved
    return decision._replace(action=action, probability=chances[action], probabilities=tuple(chances.values()))


@term(kind="goal")
def drift_reduction(drift_before: float, drift_after: float) -> float:
    """Come nearer to what was asked."""
    return drift_before - drift_after


@term(weight=0.5, high=0.0, kind="penalty")
def relevance_loss(relevance_before: float, relevance_after: float) -> float:
    """Lose what bears on the question."""
    return relevance_after - relevance_before


correction = Reward(
    "alignment_correction",
    version="1.0.0",
    terms=[drift_reduction, relevance_loss],
    fields=[
        Field("drift_before", low=0, high=1, doc="How far the mission was from the goal before the correction."),
        Field("drift_after", low=0, high=1, doc="How far the phase after it is."),
        Field("relevance_before", low=-1, high=1, doc="How much bore on the question before the correction."),
        Field("relevance_after", low=-1, high=1, doc="How much does in the phase after it."),
    ],
    low=-1.0,
    high=1.0,
    doc="What a correction did to the course of a mission, by itself.",
)
"""A reward for corrections alone, for those who would not credit them with what the whole phase earned."""


class Parts(NamedTuple):
    """What is known before a correction and after the phase that follows it.

    >>> Parts(0.75, 0.25, 0.5, 0.25).signal().total
    0.375
    """

    drift_before: float
    drift_after: float
    relevance_before: float
    relevance_after: float

    def signal(self) -> Signal:
        """Return the reward of the correction by its own formula."""
        return correction.score(**self._asdict())
