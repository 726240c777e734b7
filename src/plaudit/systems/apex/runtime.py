"""What a controller controls: anything with a topology and a way to change it, and what becomes of a switch."""

import asyncio
import inspect
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from plaudit.errors import DefinitionError, WrongType
from plaudit.systems.apex.features import FeatureSource
from plaudit.systems.apex.logs.rows import Switch
from plaudit.systems.apex.switching import Coordinator, SwitchResult
from plaudit.systems.apex.switching.topologies import STAY

Kind = Literal["committed", "refused", "aborted", "failed", "timed_out", "cancelled"]


@runtime_checkable
class Switchable(Protocol):
    """What a controller needs of a runtime: the active topology, and a way to change it.

    Whether a switch took effect is read from `topology` afterwards. What `switch` returns may say why it did not: a
    string, or an object with a `reason`. What it raises is a switch that failed.
    """

    @property
    def topology(self) -> str:
        """The name of the active topology."""

    async def switch(self, topology: str, /) -> object:
        """Change to another topology.

        Args:
            topology: The topology.

        Returns:
            Anything: whether the switch took effect is read from `topology`.
        """


class RuntimeAdapter:
    """A runtime without dwell and cooldown, seen as a controller sees a `Coordinator`."""

    dwell = 2
    """How many steps the feature `steps_since_switch` takes to become 1."""

    def __init__(self, runtime: Switchable) -> None:
        """Begin at step 0."""
        self._runtime = runtime
        self._committed = 0
        self._seen = runtime.topology
        self._steps = 0

    @property
    def topology(self) -> str:
        """The active topology."""
        return self._runtime.topology

    @property
    def epoch(self) -> int:
        """The runtime's own epoch where it has one, else how many switches were committed here."""
        epoch = getattr(self._runtime, "epoch", None)
        return epoch if isinstance(epoch, int) else self._committed

    @property
    def steps_since_switch(self) -> int:
        """How many steps were taken since the topology last changed, or since the start."""
        if self.topology != self._seen:
            self._seen, self._steps = self.topology, 0
        return self._steps

    def step(self) -> None:
        """Count a step."""
        self._steps = self.steps_since_switch + 1

    def find_blocker(self) -> str | None:
        """Return None: nothing is known that would keep a switch from beginning."""
        return None

    async def switch(self, topology: str) -> object:
        """Ask the runtime, and notice whether the topology changed."""
        before = self.topology
        try:
            answer: object = self._runtime.switch(topology)
            return await answer if inspect.isawaitable(answer) else answer
        finally:
            if self.topology == topology != before:
                self._committed += 1


def adapt_runtime(runtime: object, features: FeatureSource) -> Coordinator | RuntimeAdapter:
    """Return a runtime as a controller sees it; WrongType where it is none, or one of other topologies."""
    named = isinstance(getattr(runtime, "topology", None), str) and callable(getattr(runtime, "switch", None))
    if not named or not isinstance(runtime, Switchable):
        raise WrongType(
            f"{runtime!r:.80} cannot be controlled: a controller needs an object with a string `topology` and an "
            "`async def switch(self, topology)`, such as a Coordinator."
        )
    if runtime.topology not in features.topologies:
        raise DefinitionError(
            f"the active topology is {runtime.topology!r}, but the features know {', '.join(features.topologies)}. Use "
            "FeatureSource(roles=router.roles, topologies=router.topologies)."
        )
    if not isinstance(runtime, Coordinator):
        return RuntimeAdapter(runtime)
    there = runtime.engine.router.topologies
    if unknown := [topology for topology in features.topologies if topology not in there]:
        raise DefinitionError(
            f"the features know a topology {unknown[0]!r}, but the router has {', '.join(there)}: every switch to it "
            "would be refused. Use FeatureSource(roles=router.roles, topologies=router.topologies)."
        )
    return runtime


class Outcome(NamedTuple):
    """What became of a decision; `kind` is None where no switch was asked for."""

    epoch: int
    kind: Kind | None = None
    committed: bool = False
    error: str | None = None

    def to_switch(self) -> Switch:
        """Return it as it stands in the log."""
        return Switch(attempted=self.kind is not None, committed=self.committed, epoch=self.epoch, error=self.error)


async def carry_out(coordinator: Coordinator | RuntimeAdapter, action: str, timeout: float | None) -> Outcome:
    """Ask for the topology that `action` names, unless it is the active one, and return what became of that.

    What is refused, called off, raised or takes longer than `timeout` seconds is in the outcome; a cancellation goes on
    to the caller. Whether a switch took effect, the runtime itself shows.
    """
    before = coordinator.topology
    if action in (STAY, before):
        return Outcome(coordinator.epoch)
    kind: Kind = "failed"
    try:
        async with asyncio.timeout(timeout) as limit:
            answer = await coordinator.switch(action)
        kind, error = _read_answer(answer)
    except TimeoutError as late:
        if not limit.expired():
            error = f"TimeoutError: {late}"
        else:
            kind, error = "timed_out", f"timeout: the switch did not end within {timeout:g} seconds"
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    return find_outcome(coordinator, action, before, kind, error)


def find_outcome(
    coordinator: Coordinator | RuntimeAdapter, action: str, before: str, kind: Kind, error: str
) -> Outcome:
    """Return what became of a switch by the topology that is active now; else `kind` and `error` say it."""
    now = coordinator.topology
    if now == action != before:
        return Outcome(coordinator.epoch, "committed", True)
    if now != before:
        error = f"{error}: the topology is now {now!r}, not {action!r}"
    return Outcome(coordinator.epoch, kind, False, error)


def _read_answer(answer: object) -> tuple[Kind, str]:
    """Return what an answer says of a switch that did not take effect."""
    reason = answer if isinstance(answer, str) else getattr(answer, "reason", None)
    called_off = isinstance(answer, SwitchResult) and answer.accepted
    return "aborted" if called_off else "refused", str(reason) if reason else "refused"
