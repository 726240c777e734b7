"""What is known of a mission after some phases, and what the record of a phase holds so that it can be known again."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from plaudit.errors import DefinitionError, InputError
from plaudit.learn.alignment import Parts
from plaudit.learn.decision import Decision
from plaudit.systems.deepthinker.drift import DriftConfig, DriftPoint, DriftState, observe
from plaudit.systems.deepthinker.phase import Outcome
from plaudit.systems.deepthinker.reward_signal import RewardSignal


class MissionState(NamedTuple):
    """What is known of a mission after some phases."""

    steps: int = 0
    """Phases that have run."""
    drift: DriftState = DriftState()
    point: DriftPoint | None = None
    """What the last phase said about the course, where its similarity was measured."""
    relevance: float = 1.0
    """How much of the last phase bore on the question."""
    correction: Decision | None = None
    """The correction that the next phase begins with."""
    corrections: tuple[str | None, ...] = ()
    """The correction that each phase began with."""
    gains: tuple[float, ...] = ()
    """The change of the quality score in each phase."""
    tokens: int = 0

    @property
    def begun_with(self) -> tuple[str | None, ...]:
        """The correction that each phase began with, up to the one that is next."""
        return (*self.corrections, self.correction.action if self.correction else None)

    @property
    def used(self) -> Mapping[str, int]:
        """How often each correction was chosen so far, the one that is waiting included."""
        return Counter(filter(None, self.begun_with))


def build_context(
    step: int, decision: Decision, outcome: Outcome, correction: Decision | None, config: DriftConfig
) -> dict[str, Any]:
    """Return what the record of a phase holds besides its signal: all that the mission's next state depends on."""
    context: dict[str, Any] = {"step": step, "decision": decision.to_dict()}
    if outcome.similarity is not None:
        context |= {"similarity": outcome.similarity, "relevance": outcome.similarity, "drift": asdict(config)}
    if outcome.relevance is not None:
        context["relevance"] = outcome.relevance
    if correction is not None:
        context["correction"] = correction.to_dict()
    if outcome.blocked is not None:
        context["blocked"] = outcome.blocked
    return context


def is_phase_record(context: Mapping[str, Any]) -> bool:
    """Return whether a record is that of a phase: others may share its mission and its decision class."""
    return "step" in context and "decision" in context and not context.get("again")


def advance_state(
    state: MissionState, context: Mapping[str, Any], signal: RewardSignal, config: DriftConfig, where: str
) -> MissionState:
    """Return the state after a phase whose record is this; the same for one that just ran and for one read again."""
    if context.get("step") != state.steps:
        raise InputError(
            f"{where} is phase {context.get('step')!r} of its mission, but phase {state.steps} was expected."
        )
    drift, point = state.drift, None
    if "similarity" in context:
        drift, point = observe(state.drift, context["similarity"], _read_drift_config(context, config, where))
        point = point._replace(phase=state.steps)
    chosen = context.get("correction")
    return MissionState(
        state.steps + 1,
        drift,
        point,
        context.get("relevance", state.relevance),
        None if chosen is None else Decision.from_dict(chosen, f"{where}, its correction"),
        state.begun_with,
        (*state.gains, signal.score_delta),
        state.tokens + int(signal.components_raw["cost_tokens"]),
    )


def measure_correction(before: MissionState, after: MissionState) -> Parts | None:
    """Return what the correction between two phases changed; None where the course was not measured on both sides."""
    if before.correction is None or before.point is None or after.point is None:
        return None
    return Parts(before.point.drift, after.point.drift, before.relevance, after.relevance)


def _read_drift_config(context: Mapping[str, Any], otherwise: DriftConfig, where: str) -> DriftConfig:
    """Return the thresholds that a phase was judged by: those on its record, whatever they are now."""
    if "drift" not in context:
        return otherwise
    try:
        return DriftConfig(**context["drift"])
    except (TypeError, DefinitionError) as error:
        raise InputError(f"{where}, its drift: {error}") from None
