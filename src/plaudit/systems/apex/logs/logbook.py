"""Where a controller writes down what it decided and earned: the logs of the run, a ledger, both or neither."""

from typing import TYPE_CHECKING, Any

from plaudit import Signal
from plaudit.systems.apex.logs.artifacts import Artifacts
from plaudit.systems.apex.logs.rewards import unrewarded
from plaudit.systems.apex.logs.rows import DecisionRow, LatencyRow, RewardRow
from plaudit.systems.apex.values import parse_positive_integer

if TYPE_CHECKING:
    from plaudit.ledger.ledger import Ledger
    from plaudit.ledger.record import Entry


DECISION_CLASS = "topology"
"""What the decisions are about: the decision class of every record of a decision and what it earned."""


class Logbook:
    """Writes the rows of one episode.

    A decision is in the logs when it is taken, and in the ledger together with what it earned: one record of the reward
    in full, states before and after included. A record has the key under which `import_artifacts` would put its row,
    so a step is never recorded twice.
    """

    def __init__(self, artifacts: Artifacts | None, ledger: "Ledger | None", *, run: str, episode: int) -> None:
        """Write to the logs and to the ledger that are given, as an episode of `run`."""
        self.artifacts = artifacts
        self.ledger = ledger
        self.run = run
        self.episode = parse_positive_integer("episode", episode)

    def record_decision(self, row: DecisionRow) -> None:
        """Write down a decision and how long it took."""
        if self.artifacts is not None:
            self.artifacts.append_decision(row)
            self.artifacts.append_latency(_build_latency(row))

    def record_reward(
        self, row: RewardRow, signal: Signal, decision: DecisionRow | None, *, again: bool = False
    ) -> None:
        """Write down what a decision earned; `again` says that it is not its first reward.

        The ledger comes first: it knows a record by its key, so that what failed half-way can be done again.
        """
        if self.ledger is not None:
            latency = None if decision is None or again else _build_latency(decision)
            entry = build_reward_entry(self.run, self.episode, row, signal, decision, latency, again=again)
            self.ledger.record_many([entry])
        if self.artifacts is not None:
            self.artifacts.append_reward(row)

    def record_unrewarded(self, row: DecisionRow) -> None:
        """Write down that a decision will have no reward."""
        if self.ledger is not None:
            rows = (row, _build_latency(row))
            self.ledger.record_many([build_unrewarded_entry(self.run, self.episode, each) for each in rows])


def build_reward_entry(
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
    context |= _collect_extras(row, signal)
    key = f"{run}/{episode}/reward/{row.step}"
    about = DECISION_CLASS if decision is not None else None
    return Entry(
        signal, key=key, run=run, episode=episode, step=row.step, decision_class=about, context=context or None
    )


def build_unrewarded_entry(run: str, episode: int, row: DecisionRow | LatencyRow) -> "Entry":
    """Return the record of a decision, or of its latency, whose reward is not known; nothing may learn from it.

    It is of no decision class, so queries for decisions and their rewards do not return it. The two are kept
    apart, so that each stays what it is when the other comes later.
    """
    from plaudit.ledger.record import Entry

    name = "decision" if isinstance(row, DecisionRow) else "latency"
    context: dict[str, Any] = {name: row.to_dict(extras=True), "blocked": "unrewarded"}
    key = f"{run}/{episode}/{name}/{row.decision}"
    return Entry(unrewarded.score(), key=key, run=run, episode=episode, step=row.decision, context=context)


def is_identical(one: float, other: float) -> bool:
    """Return whether two numbers are the same to the bit."""
    return repr(one) == repr(other)


def _build_latency(row: DecisionRow) -> LatencyRow:
    return LatencyRow(i=row.step - 1, ms=row.ms, episode=row.episode)


def _collect_extras(row: RewardRow, signal: Signal) -> dict[str, Any]:
    extras: dict[str, Any] = {} if is_identical(signal.total, row.r_step) else {"r_step": row.r_step}
    if row.detector is not None:
        extras["detector"] = row.detector
    if row.episode is not None:
        extras["episode"] = row.episode
    if row.more:
        extras["more"] = dict(row.more)
    return extras
