"""`sweep`: what a term, or the total, is over one or two of its inputs, with zones and with rows of findings."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.compare.coverage import Entry
from plaudit.analysis.compare.draws import Ranges, find_spans
from plaudit.checks.report import Report
from plaudit.checks.solver.breakpoints import find_breakpoints, to_column
from plaudit.checks.solver.ranges import decode_row, encode_value, value_at_rest
from plaudit.errors import DefinitionError, InputError, UnknownField, UnknownParameter, did_you_mean
from plaudit.frames import Tabular
from plaudit.html import build_heading, build_list, build_note, join
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.plots.axes import Axes
from plaudit.reward.describe import format_allowed
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task
from plaudit.targets.inputs import list_slots
from plaudit.targets.numpy import NumpyReward
from plaudit.terminal import format_count, format_value

Numbers = NDArray[np.float64]
Value = float | bool | str

POINTS = 401
"""Values of an input without listed ones; of each of two inputs the square root of a hundred times as many."""
MOST_WITNESSES = 9
"""How many rows of findings are named."""


@dataclass(frozen=True, slots=True)
class Swept:
    """An input that runs through its values."""

    name: str
    field: Field
    values: Numbers
    """Numbers; 0 and 1 for a bool, positions for a category."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What the values are called, where they are listed one by one."""
        if self.field.kind == "category":
            return self.field.labels
        if self.field.kind == "flag":
            return ("false", "true")
        return tuple(format_value(float(value)) for value in self.values) if self.field.numbers else ()


@dataclass(frozen=True, slots=True)
class SweptWitness:
    """A row of a finding, where it stands in a sweep."""

    finding: str
    note: str
    place: tuple[float, ...]
    """Its values of the inputs that run."""
    value: float
    on_curve: bool
    """Whether its other inputs are those of the sweep."""


@dataclass(frozen=True, kw_only=True)
class Sweep(Tabular):
    """The values of a term, or of the total, over one or two inputs; `plot` it.

    Example:
        ```python
        found = sweep(reward, "distance", term="safety")
        found.cuts                       # where it jumps or bends
        found.plot()
        ```
    """

    reward: str
    term: str
    """The term, or "total"."""
    over: tuple[Swept, ...] = field(repr=False)
    values: Numbers = field(repr=False)
    """A number for each value of the input; with two inputs, a row for each value of the second. NaN if it fails."""
    at: Mapping[str, Value]
    """The values of the other inputs."""
    cuts: tuple[float, ...] = ()
    """Where it jumps or bends: the borders of zones."""
    beyond: float | None = None
    """The value at an infinite input; None if the input cannot be infinite."""
    witnesses: tuple[SweptWitness, ...] = ()
    position: int | None = None
    """The position of the term in its reward, which determines its color in every plot."""

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a column for each swept input, and one for the value.

        Returns:
            The columns by name; the value has the name of the term.
        """
        grid = np.meshgrid(*(each.values for each in self.over))
        columns = {each.name: column.ravel().tolist() for each, column in zip(self.over, grid, strict=True)}
        return {
            **columns,
            self.term if self.term not in columns else f"{self.term}.value": self.values.ravel().tolist(),
        }

    def _repr_html_(self) -> str:
        names = " and ".join(each.name for each in self.over)
        held = ", ".join(f"{name} = {format_value(value)}" for name, value in self.at.items())
        known = self.values[np.isfinite(self.values)]
        ends = (
            f"from {format_value(float(known.min()))} to {format_value(float(known.max()))}" if len(known) else "none"
        )
        return join(
            build_heading(f"{self.reward}: {self.term} over {names}", ends),
            build_note(f"at {held}") if held else None,
            build_note(f"jumps or bends at {', '.join(map(format_value, self.cuts))}") if self.cuts else None,
            build_list([_describe_witness(each) for each in self.witnesses], most=MOST_WITNESSES),
        )

    def plot(self, *, ax: "Axes | None" = None) -> Axes:
        """Plot a curve over one input, with its zones and witnesses, or a map over two.

        Args:
            ax: Axes to draw on. If omitted, a new figure.

        Returns:
            The axes.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        from plaudit.plots.sweeps import Axis, Mark, plot_curve, plot_map

        axes = [Axis(each.name, each.field.unit, each.values, each.labels) for each in self.over]
        marked = [each for each in self.witnesses if self._shows(each)][:MOST_WITNESSES]
        marks = [Mark(*_place(each), _describe_witness(each), each.on_curve) for each in marked]
        told: dict[str, Any] = {"title": f"{self.reward}: {self.term}", "note": self._describe(len(marked))}
        told |= {"measured": self.term, "marks": marks}
        if len(axes) == 2:
            return plot_map(axes[0], axes[1], self.values, ax=ax, **told)
        return plot_curve(axes[0], self.values, cuts=self.cuts, style=self.position, ax=ax, **told)

    def _shows(self, witness: SweptWitness) -> bool:
        places = zip(self.over, witness.place, strict=True)
        return all(bool(each.values[0] <= place <= each.values[-1]) for each, place in places)

    def _describe(self, marked: int) -> str:
        """Return what a picture does not show: what else was held, what lies at infinity, and what is not marked."""
        held = [f"{name} = {format_value(value)}" for name, value in self.at.items()]
        beyond = "" if self.beyond is None else f"{self.term} at inf = {format_value(self.beyond)}"
        count = len(self.witnesses)
        left_out = f"{marked} of {format_count(count, 'row')} of findings marked" if marked < count else ""
        return "; ".join(filter(None, (", ".join(held), beyond, left_out)))


def sweep(
    reward: Reward,
    over: str | Sequence[str],
    *,
    term: str = "total",
    task: Task | None = None,
    at: Mapping[str, Value] | None = None,
    ranges: Ranges | None = None,
    report: Report | None = None,
    points: int = POINTS,
) -> Sweep:
    """Compute a term, or the total, over one or two of its inputs, with all others fixed.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def near(distance, *, reach=2.0):
    ...     return 1 if distance < reach else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> sweep(reaching, "distance", term="near").cuts
    (2.0,)

    Args:
        reward: The reward.
        over: The input to vary, such as `"distance"` or `"prev.x"`; or two of them.
        term: The term to compute. If omitted, the total.
        task: The task to add to the reward's own.
        at: Values of other inputs. If not named, an input is as an idle agent sees it, or at rest.
        ranges: Ranges of the inputs to vary, if not the declared ones.
        report: A report of `check`; rows of its findings are marked.
        points: Number of values of an input that does not list its own.

    Returns:
        The values.

    Raises:
        UnknownField: The term does not read such an input.
        UnknownParameter: There is no such term.
        DefinitionError: The range of an input is unknown, or a value is not valid.
        InputError: `over` does not name one or two different inputs, or `points` is less than 2.
    """
    names = [over] if isinstance(over, str) else list(over)
    if not 1 <= len(names) <= 2 or len(set(names)) != len(names) or points < 2:
        raise InputError("over= must name one input or two different ones, and points= must be at least 2.")
    reward = reward._join_task(task)
    known = [each.name for each in reward.terms]
    if term != "total" and term not in known:
        raise UnknownParameter(f"reward {reward.name!r} has no term {term!r}.{did_you_mean(term, known)}")
    part = reward if term == "total" else reward.select_terms(term)
    scene = _Scene(part, term, names, _read_held(part, names, at or {}))
    count = points if len(names) == 1 else max(2, math.isqrt(points * 100))
    swept = tuple(scene.choose_values(name, ranges or {}, count) for name in names)
    single = swept[0] if len(swept) == 1 else None
    cuts = scene.find_cuts(single) if single is not None and not single.labels else ()
    if single is not None and cuts:
        swept = (replace(single, values=_add_sides(single.values, cuts)),)
    grid = np.meshgrid(*(each.values for each in swept))
    infinite = single is not None and single.field.infinite
    return Sweep(
        reward=f"{reward.name}@{reward.version}",
        term=term,
        over=swept,
        values=scene.score(dict(zip(names, grid, strict=True))),
        at=decode_row(scene.held, part.program.inputs),
        cuts=cuts,
        beyond=float(scene.score({names[0]: np.array([math.inf])})[0]) if infinite else None,
        witnesses=tuple(scene.find_witnesses(report)) if report is not None else (),
        position=known.index(term) if term in known else None,
    )


@dataclass(frozen=True)
class _Scene:
    """A reward, or one term of it, with all inputs held but those that run."""

    reward: Reward
    term: str
    names: Sequence[str]
    held: Mapping[str, float]

    @cached_property
    def _compiled(self) -> NumpyReward:
        return self.reward.compile("numpy", on_bad="mask")

    def score(self, columns: Mapping[str, Numbers], given: Mapping[str, float] = MappingProxyType({})) -> Numbers:
        """Return what comes of values of the inputs that run; other inputs may be given, too."""
        shape = next(iter(columns.values())).shape
        whole: dict[str, Any] = {**self.held, **given, **columns}
        rows = {
            name: to_column(np.broadcast_to(whole[name], shape).ravel(), field)
            for name, field in self.reward.program.inputs.items()
        }
        scores = self._compiled(rows)
        found = scores.total if self.term == "total" else scores.values[self.term]
        values: Numbers = np.broadcast_to(np.asarray(found, np.float64), math.prod(shape)).reshape(shape)
        return values

    def choose_values(self, name: str, ranges: Ranges, count: int) -> Swept:
        """Return the values that an input runs through: all that are listed, or equal steps between its ends."""
        field = self.reward._bound.inputs[name]
        slot = next(each for each in list_slots(self.reward.program) if each.name == name)
        entry = Entry(slot.plain, field, False)
        choices = entry.choices
        if choices is not None:
            return Swept(name, field, np.sort(np.asarray(choices, np.float64)))
        low, high = find_spans([self.reward], {slot.plain: entry}, ranges)[0][slot.plain]
        return Swept(name, field, np.linspace(low, high, count))

    def find_cuts(self, swept: Swept) -> tuple[float, ...]:
        """Return where the curve jumps or bends, of all places at which something in it changes sides."""
        fields = self.reward.program.inputs
        fixed = {name: value for name, value in self.held.items() if fields[name].kind != "category"}
        nodes = tuple(
            n.Const(bool(fixed[node.name]) if fields[node.name].kind == "flag" else fixed[node.name])
            if isinstance(node, n.Input) and node.name in fixed
            else node
            for node in self.reward.program.nodes
        )
        low, high = float(swept.values[0]), float(swept.values[-1])
        found = find_breakpoints(replace(self.reward.program, nodes=nodes).bind()).get(swept.name, ())
        inside = [cut for cut in found if low < cut < high]
        return tuple(cut for cut in inside if self._turns(swept.name, cut, (high - low) * 1e-5))

    def _turns(self, name: str, cut: float, near: float) -> bool:
        """Return whether the curve is not one straight line through a place."""
        places = np.array([cut - near, np.nextafter(cut, -math.inf), cut, np.nextafter(cut, math.inf), cut + near])
        left, before, here, after, right = self.score({name: places})
        size = max(abs(value) for value in (left, here, right, 1e-300) if value == value)
        jumps = max(abs(here - before), abs(after - here)) > 1e-9 * size
        bends = abs((right - after) - (before - left)) > 1e-3 * max(abs(right - after), abs(before - left), 1e-9 * size)
        unscored = len({value == value for value in (left, before, here, after, right)}) == 2
        return bool(jumps or bends or unscored)

    def find_witnesses(self, report: Report) -> Iterable[SweptWitness]:
        """Return the rows of findings about the term; those of one finding in one place with one value are one."""
        fields = self.reward.program.inputs
        found: dict[tuple[Any, ...], SweptWitness] = {}
        for finding in report.findings:
            for step in finding.witness if self.term in ("total", finding.term) else ():
                if any(name not in step.inputs for name in self.names):
                    continue
                given = {name: encode_value(fields[name], step.inputs[name]) for name in fields if name in step.inputs}
                place = tuple(given[name] for name in self.names)
                columns = {name: np.array([value]) for name, value in zip(self.names, place, strict=True)}
                value = float(self.score(columns, given)[0])
                same = all(given.get(name, held) == held for name, held in self.held.items())
                key = (finding.code, *(f"{each:.9g}" for each in place), value, same)
                notes = "; ".join(filter(None, (found[key].note if key in found else "", step.note)))
                if math.isfinite(value):
                    found[key] = SweptWitness(finding.code, notes, place, value, same)
        return found.values()


def _read_held(reward: Reward, names: Sequence[str], at: Mapping[str, Value]) -> dict[str, float]:
    fields = reward.program.inputs
    for name in (*names, *at):
        if name not in fields:
            listed = ", ".join(fields)
            raise UnknownField(
                f"{reward.name!r} does not read {name!r} here.{did_you_mean(name, fields)} It reads {listed}."
            )
    held = {**{name: value for name, value in (reward._bound.idle or {}).items() if name in fields}, **at}
    for name, value in held.items():
        if not fields[name].holds(value):
            allowed = format_allowed(fields[name])
            raise DefinitionError(f"{name}={value!r:.60} is not a valid value of the field: {allowed}.")
    encoded = {name: encode_value(fields[name], value) for name, value in held.items()}
    return {name: encoded.get(name, value_at_rest(field)) for name, field in fields.items() if name not in names}


def _add_sides(values: Numbers, cuts: Sequence[float]) -> Numbers:
    """Return values with every cut and its two neighbours among them, so that a jump is drawn where it is."""
    sides = [side for cut in cuts for side in (np.nextafter(cut, -math.inf), cut, np.nextafter(cut, math.inf))]
    return np.unique(np.concatenate([values, sides]))


def _place(witness: SweptWitness) -> tuple[float, float]:
    return (witness.place[0], witness.value if len(witness.place) == 1 else witness.place[1])


def _describe_witness(witness: SweptWitness) -> str:
    what = f"{witness.finding}: {witness.note}" if witness.note else witness.finding
    return what if witness.on_curve else f"{what} (other inputs differ)"
