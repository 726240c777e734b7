"""Where a controller writes down what it decided and earned: the logs of the run, a ledger, both or neither."""

from typing import TYPE_CHECKING

from plaudit import Signal
from plaudit.systems.apex.logs.artifacts import Artifacts
from plaudit.systems.apex.logs.entries import rewarded, without_reward
from plaudit.systems.apex.logs.rows import DecisionRow, LatencyRow, RewardRow
from plaudit.systems.apex.logs.values import count

if TYPE_CHECKING:
    from plaudit.ledger.store import Ledger


class Logbook:
    """Writes the rows of one episode.

    A decision is in the logs when it is made, and in the ledger together with what it earned: one record of the reward
    in full, states before and after included. A record has the key under which `import_artifacts` would put its row,
    so a step is never recorded twice.
    """

    def __init__(self, artifacts: Artifacts | None, ledger: "Ledger | None", *, run: str, episode: int) -> None:
        """Write to the logs and to the ledger that are given, as an episode of `run`."""
        self.artifacts = artifacts
        self.ledger = ledger
        self.run = run
        self.episode = count("episode", episode)

    def decision(self, row: DecisionRow) -> None:
        """Write down a decision and how long it took."""
        if self.artifacts is not None:
            self.artifacts.decision(row)
            self.artifacts.latency(_latency(row))

    def reward(self, row: RewardRow, signal: Signal, decision: DecisionRow | None, *, again: bool = False) -> None:
        """Write down what a decision earned; `again` says that it is not its first reward.

        The ledger comes first: it knows a record by its key, so that what failed half-way can be done again.
        """
        if self.ledger is not None:
            latency = None if decision is None or again else _latency(decision)
            entry = rewarded(self.run, self.episode, row, signal, decision, latency, again=again)
            self.ledger.record_many([entry])
        if self.artifacts is not None:
            self.artifacts.reward(row)

    def unrewarded(self, row: DecisionRow) -> None:
        """Write down that a decision will have no reward."""
        if self.ledger is not None:
            self.ledger.record_many([without_reward(self.run, self.episode, each) for each in (row, _latency(row))])


def _latency(row: DecisionRow) -> LatencyRow:
    return LatencyRow(i=row.step - 1, ms=row.ms, episode=row.episode)
