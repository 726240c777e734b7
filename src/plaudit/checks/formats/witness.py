"""A witness as a small table: a row a step, the inputs that matter, the total at the right."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from plaudit.checks.finding import Step
from plaudit.checks.formats.lines import Line, Span, paragraph, plain
from plaudit.checks.formats.values import Value, counted, rounded, visible, written

FEW = 6
"""Up to so many inputs are all shown; of more, only those that say something."""
MOST_STEPS = 12
"""Of longer witnesses the middle is left out."""
_GAP = "   "
_SHORTEST_NOTE = 16


@dataclass(frozen=True)
class _View:
    """Which inputs have a column, which are said once for all rows, and how many go without saying."""

    columns: tuple[str, ...]
    constant: tuple[str, ...] = ()
    resting: int = 0


def witness_lines(
    steps: Sequence[Step], *, rest: Mapping[str, Value], width: int = 80, indent: int = 0
) -> Iterator[Line]:
    r"""Yield the lines of a table; `rest` is what inputs are when nothing happens, and need not be said.

    >>> lap = Step({"before": 3.0, "after": 2.0}, 0.04, "closer"), Step({"before": 2.0, "after": 3.0}, -0.01, "away")
    >>> print("\n".join(plain(line) for line in witness_lines(lap, rest={})))
    before   after   total
         3       2    0.04   closer
         2       3   -0.01   away
    """
    numbers = range(1, len(steps) + 1)
    kept = list(numbers) if len(steps) <= MOST_STEPS else [*numbers[: MOST_STEPS - 3], *numbers[-2:]]
    shown = {number: steps[number - 1] for number in kept}
    room = width - indent
    views = list(_views(steps, rest))
    for view in views:
        if (lines := _by_row([*shown.values()], view.columns, room)) is not None:
            break
    else:
        view = views[1 if len(views) > 1 else 0]
        view = _View((*view.columns, *view.constant), (), view.resting)
        lines = _by_input(shown, view.columns, room) or _in_words(shown, view.columns, room)
    for line in lines:
        yield (Span(" " * indent), *line)
    if remark := _remark(steps[0], view, left_out=len(steps) - len(shown)):
        yield from paragraph(remark, width=width, indent=indent, part="dim")


def _views(steps: Sequence[Step], rest: Mapping[str, Value]) -> Iterator[_View]:
    """Yield what could be shown, the most first."""
    every = tuple(dict.fromkeys(name for step in steps for name in step.inputs))
    values = {name: {step.inputs.get(name) for step in steps} for name in every}
    lively = tuple(name for name in every if name not in rest or values[name] != {rest[name]})
    about = {name for step in steps for name in step.about} or set(every)
    names = tuple(name for name in every if name in about or name in lively)
    if len(names) <= FEW:
        yield _View(names, (), len(every) - len(names))
    resting = len(every) - len(lively)
    yield _View(lively, (), resting)
    varying = tuple(name for name in lively if len(values[name]) > 1)
    if varying:
        yield _View(varying, tuple(name for name in lively if name not in varying), resting)


def _remark(step: Step, view: _View, *, left_out: int) -> str:
    parts = []
    if left_out:
        parts.append(f"{counted(left_out, 'row')} before the last two left out")
    if view.constant:
        parts.append(f"in every row {', '.join(f'{name} {_cell(step, name)}' for name in view.constant)}")
    if view.resting:
        parts.append("the others at rest" if view.columns or view.constant else "all inputs at rest")
    return f"({'; '.join(parts)})" if parts else ""


def _cell(step: Step, name: str) -> str:
    return written(step.inputs[name]) if name in step.inputs else ""


def _by_row(steps: Sequence[Step], columns: tuple[str, ...], room: int) -> list[Line] | None:
    """Return a table with a row a step; None where it is too wide."""
    grid = [[*columns, "total"], *([*(_cell(step, name) for name in columns), rounded(step.total)] for step in steps)]
    notes = [visible(step.note) for step in steps]
    widths = [max(len(row[at]) for row in grid) for at in range(len(grid[0]))]
    left = room - sum(widths) - len(_GAP) * len(widths)
    if left < min(max(map(len, notes)), _SHORTEST_NOTE) - (0 if any(notes) else len(_GAP)):
        return None
    texts = [any(isinstance(step.inputs.get(name), str) for step in steps) for name in columns] + [False]
    lines: list[Line] = [(Span(_GAP.join(_aligned(grid[0], widths, texts)), "dim"),)]
    for row, note in zip(grid[1:], notes, strict=True):
        body = _GAP.join(_aligned(row, widths, texts))
        first, *others = wrap(note, max(left, 1)) or [""]
        lines.append((Span(body), Span(f"{_GAP}{first}" if first else "", "dim")))
        lines += [(Span(" " * (len(body) + len(_GAP))), Span(other, "dim")) for other in others]
    return lines


def _by_input(steps: Mapping[int, Step], names: tuple[str, ...], room: int) -> list[Line] | None:
    """Return a table with a row an input and a column a step; None where it is too wide."""
    numbers = [str(number) for number in steps] if len(steps) > 1 else [""]
    grid = [["", *numbers], *([name, *(_cell(step, name) for step in steps.values())] for name in names)]
    grid.append(["total", *(rounded(step.total) for step in steps.values())])
    widths = [max(len(row[at]) for row in grid) for at in range(len(grid[0]))]
    if sum(widths) + len(_GAP) * (len(widths) - 1) > room:
        return None
    texts = [True, *(False for _ in steps)]
    lines: list[Line] = [(Span(_GAP.join(_aligned(row, widths, texts))),) for row in grid]
    lines[0] = (Span(lines[0][0].text, "dim"),)
    for number, step in zip(numbers, steps.values(), strict=True):
        if step.note:
            lines += paragraph(visible(step.note), width=room, first=f"{number}: " if number else "", part="dim")
    return lines if plain(lines[0]) else lines[1:]


def _in_words(steps: Mapping[int, Step], names: tuple[str, ...], room: int) -> list[Line]:
    """Return a sentence a step: what is left where no table fits."""
    lines: list[Line] = []
    for number, step in steps.items():
        inputs = ", ".join(f"{name} {_cell(step, name)}" for name in names if name in step.inputs)
        note = f"{visible(step.note)}: " if step.note else ""
        lines += paragraph(f"{note}{inputs}; total {rounded(step.total)}", width=room, first=f"{number}. ")
    return lines


def _aligned(row: Sequence[str], widths: Sequence[int], texts: Sequence[bool]) -> list[str]:
    cells = zip(row, widths, texts, strict=True)
    return [cell.ljust(width) if text else cell.rjust(width) for cell, width, text in cells]
