"""The switch engine: from one topology to another without losing, doubling or reordering a message."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from plaudit.errors import OutOfRange
from plaudit.systems.apex.errors import SwitchInFlight
from plaudit.systems.apex.switching.router import Router

RECENT = 10
"""How many switches are remembered."""

REFUSALS = ("unknown_topology", "in_flight", "cooldown", "dwell")
"""Why a switch does not begin; any other reason stands for one that was called off."""


class SwitchPhase(StrEnum):
    """What a switch engine is doing."""

    IDLE = "IDLE"
    PREPARE = "PREPARE"
    """New messages begin to wait for the next epoch."""
    QUIESCE = "QUIESCE"
    """The agents receive what is left of the active epoch."""
    COMMIT = "COMMIT"
    """All of it was received: the next epoch begins, with the new topology."""
    ABORT = "ABORT"
    """It was not, in time: what waited is put behind what is active, and nothing else changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchResult:
    """What became of a request to switch: committed, called off, or refused before it began.

    >>> result = SwitchResult(requested="flat", previous="star", topology="star", epoch=0, reason="dwell")
    >>> result.accepted, result.committed
    (False, False)
    """

    requested: str
    """The topology that was asked for."""
    previous: str
    """The topology before."""
    topology: str
    """The topology afterwards."""
    epoch: int
    """The epoch afterwards."""
    accepted: bool = False
    """Whether the engine took it up."""
    committed: bool = False
    """Whether the topology asked for is now active."""
    reason: str | None = None
    """Why it is not; None where it is.

    Refused: one of `REFUSALS`. Called off: "quiesce_timeout", "cancelled", "error".
    """
    elapsed_ms: float = 0.0
    phase_ms: Mapping[str, float] = field(default_factory=dict, hash=False)
    """How long each phase took that it went through: "prepare", "quiesce", then "commit" or "abort"."""
    migrated: int = 0
    """How many messages were moved back from the next epoch into the active one, when it was called off."""
    dropped_by_reason: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How many messages were given up meanwhile; only age does that ("expired", "max_attempts"), never the switch."""
    switch_count: int = 0
    """How many switches the engine has committed by now."""
    abort_count: int = 0
    """How many it has called off by now."""


class SwitchEngine:
    """Switches the topology of a router, one switch at a time.

    A switch waits only in QUIESCE, for at most `quiesce_timeout` seconds from its start, and looks every `poll` seconds
    whether the agents have received what they had. However it ends, by time-out, by cancellation or by an error, the
    router is in one epoch again and the engine is idle.

    >>> router = Router()
    >>> result = asyncio.run(SwitchEngine(router).switch("chain"))
    >>> result.committed, result.previous, router.topology, router.epoch
    (True, 'star', 'chain', 1)
    """

    def __init__(
        self,
        router: Router,
        *,
        quiesce_timeout: float = 0.05,
        poll: float = 0.001,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Begin idle; `clock` and `sleep` are in seconds."""
        if not quiesce_timeout >= 0 or not poll >= 0:
            raise OutOfRange(f"quiesce_timeout={quiesce_timeout!r} and poll={poll!r} must be 0 or more seconds.")
        self.router = router
        self.switch_count = 0
        self.abort_count = 0
        self._timeout = quiesce_timeout
        self._poll = poll
        self._clock = clock
        self._sleep = sleep
        self._phase = SwitchPhase.IDLE
        self._starts: list[tuple[SwitchPhase, float]] = []
        self._recent: deque[SwitchResult] = deque(maxlen=RECENT)

    @property
    def phase(self) -> SwitchPhase:
        """What it is doing."""
        return self._phase

    @property
    def topology(self) -> str:
        """The active topology."""
        return self.router.topology

    @property
    def epoch(self) -> int:
        """The active epoch."""
        return self.router.epoch

    @property
    def recent(self) -> tuple[SwitchResult, ...]:
        """The last ten switches that began, the latest last: also those that were cancelled."""
        return tuple(self._recent)

    async def switch(self, target: str) -> SwitchResult:
        """Switch to a topology; one that is already active begins a new epoch too.

        A cancellation, or an error of the clock or of `sleep`, aborts the switch and is raised.

        Args:
            target: The topology. An unknown one is refused in the result.

        Returns:
            The result.

        Raises:
            SwitchInFlight: Another switch is running.
        """
        if self._phase is not SwitchPhase.IDLE:
            raise SwitchInFlight(f"the engine is in {self._phase}; wait until the switch ends, then ask again.")
        if target not in self.router.topologies:
            return self.refuse(target, "unknown_topology")
        try:
            return await self._run(target)
        finally:
            self._phase = SwitchPhase.IDLE

    def refuse(self, target: str, reason: str) -> SwitchResult:
        """Build the result of a switch that did not begin.

        Args:
            target: The requested topology.
            reason: Why it was refused.

        Returns:
            The result.
        """
        return SwitchResult(
            requested=target,
            previous=self.topology,
            topology=self.topology,
            epoch=self.epoch,
            reason=reason,
            switch_count=self.switch_count,
            abort_count=self.abort_count,
        )

    async def _run(self, target: str) -> SwitchResult:
        before, dropped, moved = self.topology, self.router.dropped, 0
        self._starts = []
        self._enter(SwitchPhase.PREPARE)
        self.router.prepare()
        reason: str | None = "error"
        try:
            reason = await self._attempt(target)
        except asyncio.CancelledError:
            reason = "cancelled"
            raise
        finally:
            if reason is not None:
                moved = self._call_off()
            result = self._build_result(target, before, reason, moved, self.router.dropped - dropped)
            self._recent.append(result)
        return result

    async def _attempt(self, target: str) -> str | None:
        """Wait until every agent has received what it had, then commit; return why that could not be, else None."""
        self._enter(SwitchPhase.QUIESCE)
        while not self.router.is_drained():
            if self._clock() - self._starts[0][1] >= self._timeout:
                return "quiesce_timeout"
            await self._sleep(self._poll)
        self._enter(SwitchPhase.COMMIT)
        self.router.commit(target)
        self.switch_count += 1
        return None

    def _call_off(self) -> int:
        try:
            self._enter(SwitchPhase.ABORT)
        finally:  # whatever the clock does, the router comes back into one epoch
            self.abort_count += 1
            moved = self.router.abort()
        return moved

    def _enter(self, phase: SwitchPhase) -> None:
        self._phase = phase
        self._starts.append((phase, self._clock()))

    def _build_result(
        self, target: str, before: str, reason: str | None, moved: int, dropped: Mapping[str, int]
    ) -> SwitchResult:
        ends = [*(at for _, at in self._starts[1:]), self._clock()]
        return SwitchResult(
            requested=target,
            previous=before,
            topology=self.topology,
            epoch=self.epoch,
            accepted=True,
            committed=reason is None,
            reason=reason,
            elapsed_ms=1e3 * (ends[-1] - self._starts[0][1]),
            phase_ms={phase.lower(): 1e3 * (end - at) for (phase, at), end in zip(self._starts, ends, strict=True)},
            migrated=moved,
            dropped_by_reason=dict(dropped),
            switch_count=self.switch_count,
            abort_count=self.abort_count,
        )
