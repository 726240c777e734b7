"""From parameters that follow a schedule to nodes over its counter."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plaudit.errors import DefinitionError
from plaudit.language import nodes as n
from plaudit.language.field import RECORDS, Field
from plaudit.language.parameters import Number
from plaudit.language.program import Builder, Guard, renumber
from plaudit.language.reading.inputs import hold_within_range
from plaudit.language.schedule import Schedule, declare_counter


def validate_counters(reward: str, schedules: Mapping[str, Schedule], fields: Mapping[str, Field]) -> None:
    """Refuse a counter that the reward declares as anything but a single number."""
    for name, schedule in schedules.items():
        declared = fields.get(schedule.counter)
        if declared is not None and (declared.kind != "number" or declared.shape):
            kind = "vector" if declared.shape else declared.kind
            raise DefinitionError(
                f"reward {reward!r}: {name} follows {schedule.counter!r}, which is declared as a {kind}; a schedule "
                "follows a number. Name another one with counter=."
            )


def find_counters(
    read: Iterable[str], schedules: Iterable[Schedule], fields: Mapping[str, Field]
) -> dict[str, tuple[str, Field]]:
    """Return the input that each counter is, and its field; one `read` as `prev.x` is counted after the step."""
    known = frozenset(read)
    found = {}
    for name in dict.fromkeys(schedule.counter for schedule in schedules):
        ends = any(f"{record}.{name}" in known for record in RECORDS)
        found[name] = (f"curr.{name}" if ends else name, fields.get(name) or declare_counter(name))
    return found


@dataclass(frozen=True, slots=True)
class LoweredNumbers:
    """Where the numbers of a reward are among its nodes: parameters, and schedules in place of parameters."""

    builder: Builder
    scheduled: Mapping[str, int]
    moved: Mapping[int, int] | None = None
    """Where the nodes of the formula have moved to; None where they are where they were."""
    guards: tuple[Guard, ...] = ()
    """That the operations of the schedules are inside their domain."""

    def find(self, name: str) -> int:
        """Return the position of a number."""
        return self.scheduled[name] if name in self.scheduled else self.builder.add(n.Param(name))

    def follow(self, at: int) -> int:
        """Return where a node of the formula is now."""
        return at if self.moved is None else self.moved[at]

    def move_guards(self, guards: Sequence[Guard]) -> list[Guard]:
        """Return the guards of the formula where they are now, and those of the schedules."""
        return [*(replace(guard, node=self.follow(guard.node)) for guard in guards), *self.guards]

    def clamp(self, at: int, owner: str, params: Mapping[str, Any]) -> int:
        """Return a number held within the limits of its owner, where it has any."""
        names = [f"{owner}.{bound}" for bound in ("low", "high")]
        low, high = (name if name in params or name in self.scheduled else None for name in names)
        if low and high:
            return self.builder.add(n.Clip(at, self.find(low), self.find(high)))
        if low:
            return self.builder.add(n.Max(at, self.find(low)))
        return self.builder.add(n.Min(at, self.find(high))) if high else at


def lower_numbers(
    nodes: tuple[n.Node, ...],
    schedules: Mapping[str, Schedule],
    counters: Mapping[str, tuple[str, Field]],
    owners: Iterable[str],
) -> LoweredNumbers:
    """Return the numbers of a formula, with nodes over counters in place of those that follow a schedule."""
    if not schedules:
        return LoweredNumbers(Builder(nodes), {})
    builder, known = Builder(), frozenset(owners)
    scheduled: dict[str, int] = {}
    guards: list[Guard] = []
    for name, schedule in schedules.items():
        counter, declared = counters[schedule.counter]
        count = builder.add(n.Input(counter))
        if declared.outside == "clip":
            count = hold_within_range(builder, count, declared)
        before = len(builder.nodes)
        scheduled[name] = _build_schedule(builder, schedule, count, name)
        owner = name.partition(".")[0]
        for at in range(before, len(builder.nodes)):
            if why := builder.nodes[at].partial:
                where = owner if owner in known else "total"
                guards.append(Guard(builder.add(n.Defined(at)), where, f"{why} in the schedule of {name}"))
    moved: dict[int, int] = {}
    for at, node in enumerate(nodes):
        if isinstance(node, n.Param) and node.name in scheduled:
            moved[at] = scheduled[node.name]
        else:
            moved[at] = builder.add(renumber(node, moved))
    return LoweredNumbers(builder, scheduled, moved, tuple(guards))


def _build_schedule(builder: Builder, schedule: Schedule, count: int, name: str) -> int:
    def apply(kind: type[n.Node], *operands: Any) -> int:
        return builder.add(kind(*operands))

    return schedule.build(apply, count, lambda part: builder.add(n.Param(f"{name}.{part}")))


@dataclass(frozen=True, slots=True)
class NumberInForce:
    """A product of numbers, some of which follow a counter: what it is in one step."""

    factors: tuple[tuple[Number, int], ...]
    """Each with the position of its counter in a row."""

    def __call__(self, row: Sequence[Any]) -> float:
        """Return what the product is in the step of a row."""
        product = 1.0
        for factor, at in self.factors:
            product *= factor(row[at]) if isinstance(factor, Schedule) else factor
        return product


def multiply_numbers(
    factors: Iterable[Number], inputs: Sequence[str], counters: Mapping[str, tuple[str, Field]]
) -> float | NumberInForce:
    """Return the product of some numbers, as a function of a row where one of them follows a schedule."""
    placed = tuple(
        (each, inputs.index(counters[each.counter][0]) if isinstance(each, Schedule) else 0) for each in factors
    )
    product = NumberInForce(placed)
    return product if any(isinstance(each, Schedule) for each, _ in placed) else product(())
