"""Records of a run: what a decision earned, and a decision whose reward is not known."""

from typing import TYPE_CHECKING, Any

from plaudit import Reward, Signal, term
from plaudit.systems.apex.logs.rows import DecisionRow, LatencyRow, RewardRow

if TYPE_CHECKING:
    from plaudit.ledger.record import Entry

DECIDED = "topology"
"""What the decisions are about: the decision class of every record of a decision and what it earned."""


@term(weight=0.0)
def nothing() -> float:
    """Earn nothing: the log has no reward for this decision."""
    return 0.0


unrewarded = Reward(
    "apex-unrewarded",
    version="logged",
    terms=[nothing],
    fields=[],
    doc="Carries a decision or a latency whose reward is not in the log.",
)


def rewarded(
    run: str,
    episode: int,
    row: RewardRow,
    signal: Signal,
    decision: DecisionRow | None = None,
    latency: LatencyRow | None = None,
    *,
    again: bool = False,
) -> "Entry":
    """Return the record of what a step, or the end of an episode, earned, with the decision that earned it.

    `again` says that the decision has a reward of its own already: the end of an episode is credited to the last one.
    """
    from plaudit.ledger.record import Entry

    context: dict[str, Any] = {}
    if decision is not None:
        context["decision"] = decision.to_dict(extras=True)
    if latency is not None:
        context["latency"] = latency.to_dict(extras=True)
    if again:
        context["again"] = True
    context |= _beside(row, signal)
    key = f"{run}/{episode}/reward/{row.step}"
    about = DECIDED if decision is not None else None
    return Entry(
        signal, key=key, run=run, episode=episode, step=row.step, decision_class=about, context=context or None
    )


def without_reward(run: str, episode: int, row: DecisionRow | LatencyRow) -> "Entry":
    """Return the record of a decision, or of its latency, whose reward is not known; nobody is to learn from it.

    It is of no decision class, so whoever asks for decisions and what they earned does not meet it. The two are kept
    apart, so that each stays what it is when the other comes later.
    """
    from plaudit.ledger.record import Entry

    name, step = ("decision", row.step) if isinstance(row, DecisionRow) else ("latency", row.decision)
    context: dict[str, Any] = {name: row.to_dict(extras=True), "blocked": "unrewarded"}
    key = f"{run}/{episode}/{name}/{step}"
    return Entry(unrewarded.score(), key=key, run=run, episode=episode, step=step, context=context)


def _beside(row: RewardRow, signal: Signal) -> dict[str, Any]:
    """Return what a row says beyond its signal."""
    found: dict[str, Any] = {} if same(signal.total, row.r_step) else {"r_step": row.r_step}
    if row.detector is not None:
        found["detector"] = row.detector
    if row.episode is not None:
        found["episode"] = row.episode
    if row.more:
        found["more"] = dict(row.more)
    return found


def same(one: float, other: float) -> bool:
    """Return whether two numbers are the same to the bit."""
    return repr(one) == repr(other)
