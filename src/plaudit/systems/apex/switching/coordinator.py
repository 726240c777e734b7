"""The coordinator: when a switch may begin, counted in steps since the last one."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from plaudit.systems.apex.errors import SwitchInFlight
from plaudit.systems.apex.switching.engine import SwitchEngine, SwitchPhase, SwitchResult
from plaudit.systems.apex.values import parse_nonnegative_integer


class CoordinatorStats(NamedTuple):
    """How a coordinator stands."""

    steps: int
    steps_since_switch: int
    cooldown_remaining: int
    switch_count: int
    abort_count: int
    refused: Mapping[str, int]
    """How many requests were refused, by reason."""
    recent: tuple[SwitchResult, ...]
    """The last ten switches that began, the latest last."""


class Coordinator:
    """Lets a switch begin when `dwell` steps were spent in a topology and `cooldown` steps have passed since a switch.

    The two run at the same time, so the next switch may come after the larger of them; with `additive` the dwell begins
    when the cooldown ends. Before the first switch there is no cooldown. Only a switch that was committed counts, but
    whoever asked for it: several coordinators of one router see each other's.

    >>> from plaudit.systems.apex.switching.router import Router
    >>> coordinator = Coordinator(SwitchEngine(Router(["planner", "coder"])))
    >>> asyncio.run(coordinator.switch("flat")).reason
    'dwell'
    >>> coordinator.step(), coordinator.step()
    (None, None)
    >>> asyncio.run(coordinator.switch("flat")).committed
    True
    """

    def __init__(self, engine: SwitchEngine, *, dwell: int = 2, cooldown: int = 2, additive: bool = False) -> None:
        """Begin at step 0, with the dwell before the first switch."""
        self.engine = engine
        self.dwell = parse_nonnegative_integer("dwell", dwell)
        self.cooldown = parse_nonnegative_integer("cooldown", cooldown)
        self.additive = additive
        self.steps = 0
        self._epoch = engine.epoch  # the last that was seen
        self._committed_at: int | None = None
        self._lock = asyncio.Lock()
        self._refused: Counter[str] = Counter()

    @property
    def topology(self) -> str:
        """The active topology."""
        return self.engine.topology

    @property
    def epoch(self) -> int:
        """The active epoch."""
        return self.engine.epoch

    @property
    def switched_at(self) -> int:
        """The step of the last committed switch, 0 before the first."""
        return self._find_last_commit() or 0

    @property
    def steps_since_switch(self) -> int:
        """How many steps were taken since the last committed switch, or since the start."""
        return self.steps - self.switched_at

    @property
    def cooldown_remaining(self) -> int:
        """How many steps the cooldown still takes."""
        return 0 if self._find_last_commit() is None else max(0, self.cooldown - self.steps_since_switch)

    def step(self) -> None:
        """Count a step; a controller does so once a tick."""
        self._find_last_commit()
        self.steps += 1

    def find_blocker(self) -> str | None:
        """Report why no switch may begin now.

        Returns:
            "in_flight", "cooldown" or "dwell"; None if a switch may begin.
        """
        if self.engine.phase is not SwitchPhase.IDLE:
            return "in_flight"
        if self.cooldown_remaining:
            return "cooldown"
        rest = self.cooldown if self.additive and self._find_last_commit() is not None else 0
        return "dwell" if self.steps_since_switch < rest + self.dwell else None

    async def switch(self, target: str) -> SwitchResult:
        """Switch to another topology, if dwell and cooldown allow it.

        The check runs under the lock. A request that finds the lock taken is refused at once.

        Args:
            target: The topology.

        Returns:
            The result; a refusal is a result too.
        """
        if target not in self.engine.router.topologies:
            return self._refuse(target, "unknown_topology")
        if self._lock.locked():
            return self._refuse(target, "in_flight")
        async with self._lock:
            reason = self.find_blocker()
            if reason is not None:
                return self._refuse(target, reason)
            try:
                return await self.engine.switch(target)
            except SwitchInFlight:  # of another engine on the same router
                return self._refuse(target, "in_flight")
            finally:
                self._find_last_commit()

    def stats(self) -> CoordinatorStats:
        """Count the switches so far.

        Returns:
            The counts, the refusals by reason, and the last ten switches.
        """
        return CoordinatorStats(
            self.steps,
            self.steps_since_switch,
            self.cooldown_remaining,
            self.engine.switch_count,
            self.engine.abort_count,
            dict(self._refused),
            self.engine.recent,
        )

    def _find_last_commit(self) -> int | None:
        """Return the step of the last committed switch; a new epoch tells of one, even where an error came after it."""
        if self.engine.epoch != self._epoch:
            self._epoch, self._committed_at = self.engine.epoch, self.steps
        return self._committed_at

    def _refuse(self, target: str, reason: str) -> SwitchResult:
        self._refused[reason] += 1
        return self.engine.refuse(target, reason)
