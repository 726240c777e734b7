"""Findings for people: lines that fit a terminal, a mail and the message of a failed test; witnesses as tables."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Literal, NamedTuple

from plaudit.checks.finding import Finding, Incentive, IncentiveKind, Step
from plaudit.checks.formats.plain import Value, capitalise, format_number, format_total, format_value, short_path
from plaudit.terminal import escape_line, format_count

_INDENT = 2
FEW = 6
"""Up to this many inputs are all shown; beyond that, only those that matter."""
MOST_STEPS = 12
"""Of longer witnesses the middle is left out."""
_GAP = "   "
_SHORTEST_NOTE = 16
SLIGHTLY = 0.01
"""A pay that is larger by less than this share is slightly more."""

Part = Literal["", "title", "warning", "advice", "note", "dim"]


class Piece(NamedTuple):
    """A piece of a line."""

    text: str
    part: Part = ""


Line = tuple[Piece, ...]


LABELS: Mapping[IncentiveKind, str] = {
    "step": "a step",
    "stay": "staying",
    "lap": "a cycle",
    "pace": "moving",
    "goal": "the goal",
    "end": "the end",
    "bad end": "a bad end",
    "event": "an event",
    "idle": "doing nothing",
}


def format_incentive_lines(incentives: Sequence[Incentive], width: int) -> Iterator[Line]:
    r"""Yield the best-paid behaviors, one line each; a single one is already in the summary.

    >>> stay = Incentive("stay", 0.5, "distance beyond 40 m", (), 0.5, "500 over 1,000 steps")
    >>> goal = Incentive("goal", 100, "distance 0 m", (), 100)
    >>> print("\n".join(join_pieces(line) for line in format_incentive_lines([stay, goal], 80)))
    Best-paid behaviors:
      staying    0.5 a step: distance beyond 40 m (500 over 1,000 steps)
      the goal   100: distance 0 m
    """
    if len(incentives) < 2:
        return
    yield (Piece("Best-paid behaviors:", "dim"),)
    longest = max(len(LABELS[each.kind]) for each in incentives)
    before = None
    for each in incentives:
        label = "" if each.kind == before else LABELS[each.kind]
        before = each.kind
        yield from wrap_paragraph(
            format_incentive(each), width=width, indent=_INDENT, first=label.ljust(longest) + _GAP
        )


def format_incentive(incentive: Incentive) -> str:
    """Return what an incentive pays, where, and what it adds up to."""
    worth = f" ({incentive.worth})" if incentive.worth else ""
    where = f": {escape_line(incentive.where)}" if incentive.where else ""
    return f"{format_incentive_pay(incentive)}{where}{worth}"


def format_incentive_pay(incentive: Incentive) -> str:
    """Return what it pays: "adds 2" for an end, "4.999 or slightly more" if few digits pay a little less.

    "5 or more" if the exact maximum was not decided.
    """
    pay, bound = (format_number(value) if math.isfinite(value) else "" for value in (incentive.pay, incentive.bound))
    if not pay:
        pay = "an unbounded amount"
    elif bound != pay:
        near = incentive.bound - incentive.pay <= SLIGHTLY * max(abs(incentive.pay), SLIGHTLY)
        pay = f"{pay} or {'slightly ' if near else ''}more"
    if incentive.kind in ("end", "bad end"):
        return f"adds {pay}"
    if incentive.kind == "event":
        return f"{pay} each time"
    return f"{pay} a step" if incentive.kind in ("stay", "lap", "pace", "idle") else pay


def format_finding_lines(finding: Finding, rest: Mapping[str, Value], width: int) -> Iterator[Line]:
    """Yield a finding: its head, the message, the witness and the advice."""
    head = Piece(finding.severity, finding.severity), Piece(f"  {finding.code}", "title"), Piece(f"  {finding.term}")
    place = finding.place and f"{escape_line(short_path(finding.place.file, Path.cwd()))}:{finding.place.line}"
    if place and len(join_pieces(head)) + 2 + len(place) <= width:
        yield (*head, Piece(f"  {place}", "dim"))
    else:
        yield head
        if place:
            yield (Piece(" " * _INDENT), Piece(place, "dim"))
    yield from wrap_paragraph(capitalise(escape_line(finding.message)), width=width, indent=_INDENT)
    if finding.evidence is not None:
        yield from wrap_paragraph(escape_line(finding.evidence.says), width=width, indent=_INDENT)
    if finding.witness:
        yield ()
        yield from format_witness(finding.witness, rest=rest, width=width, indent=2 * _INDENT)
        yield ()
    yield from wrap_paragraph(escape_line(finding.advice), width=width, indent=_INDENT, first="→ ")
    if finding.facts:
        facts = escape_line(", ".join(finding.facts))
        yield from wrap_paragraph(facts, width=width, indent=_INDENT, first="Facts used: ", part="dim")
    for ground in finding.list_weak_grounds():
        yield from wrap_paragraph(escape_line(ground), width=width, indent=_INDENT, part="dim")


def join_pieces(line: Line) -> str:
    """Return the text of a line.

    >>> join_pieces((Piece("warning", "warning"), Piece("  jump")))
    'warning  jump'
    """
    return "".join(span.text for span in line).rstrip()


def wrap_paragraph(text: str, *, width: int, indent: int = 0, first: str = "", part: Part = "") -> Iterator[Line]:
    """Yield a text in lines of at most `width`, but for longer words; `first` opens it, others are indented as deep.

    >>> [join_pieces(line) for line in wrap_paragraph("one two three", width=12, first="- ")]
    ['- one two', '  three']
    """
    lead = " " * indent + first
    room = max(width - len(lead), 12)
    for at, piece in enumerate(wrap(text, room, break_on_hyphens=False, break_long_words=False) or [""]):
        yield (Piece(lead if not at else " " * len(lead)), Piece(piece, part))


@dataclass(frozen=True)
class Columns:
    """Which inputs have a column, which are stated once for all rows, and how many are left out."""

    columns: tuple[str, ...]
    constant: tuple[str, ...] = ()
    resting: int = 0


def format_witness(
    steps: Sequence[Step], *, rest: Mapping[str, Value], width: int = 80, indent: int = 0
) -> Iterator[Line]:
    r"""Yield the lines of a table; inputs at their `rest` value can be left out.

    >>> lap = Step({"before": 3.0, "after": 2.0}, 0.04, "closer"), Step({"before": 2.0, "after": 3.0}, -0.01, "away")
    >>> print("\n".join(join_pieces(line) for line in format_witness(lap, rest={})))
    before   after   total
         3       2    0.04   closer
         2       3   -0.01   away
    """
    numbers = range(1, len(steps) + 1)
    kept = list(numbers) if len(steps) <= MOST_STEPS else [*numbers[: MOST_STEPS - 3], *numbers[-2:]]
    shown = {number: steps[number - 1] for number in kept}
    room = width - indent
    views = list(choose_columns(steps, rest))
    for view in views:
        if (lines := _format_by_step([*shown.values()], view.columns, room)) is not None:
            break
    else:
        view = views[1 if len(views) > 1 else 0]
        view = Columns((*view.columns, *view.constant), (), view.resting)
        lines = _format_by_input(shown, view.columns, room) or _format_in_words(shown, view.columns, room)
    for line in lines:
        yield (Piece(" " * indent), *line)
    if remark := format_remark(steps[0], view, left_out=len(steps) - len(shown)):
        yield from wrap_paragraph(remark, width=width, indent=indent, part="dim")


def choose_columns(steps: Sequence[Step], rest: Mapping[str, Value]) -> Iterator[Columns]:
    """Yield possible choices of columns, the most columns first."""
    every = tuple(dict.fromkeys(name for step in steps for name in step.inputs))
    values = {name: {step.inputs.get(name) for step in steps} for name in every}
    lively = tuple(name for name in every if name not in rest or values[name] != {rest[name]})
    about = {name for step in steps for name in step.about} or set(every)
    names = tuple(name for name in every if name in about or name in lively)
    if len(names) <= FEW:
        yield Columns(names, (), len(every) - len(names))
    resting = len(every) - len(lively)
    yield Columns(lively, (), resting)
    varying = tuple(name for name in lively if len(values[name]) > 1)
    if varying:
        yield Columns(varying, tuple(name for name in lively if name not in varying), resting)


def format_remark(step: Step, view: Columns, *, left_out: int) -> str:
    """Return what a table of a witness does not show."""
    parts = []
    if left_out:
        parts.append(f"{format_count(left_out, 'row')} omitted before the last two")
    if view.constant:
        parts.append(f"in every row {', '.join(f'{name} {_format_cell(step, name)}' for name in view.constant)}")
    if view.resting:
        parts.append("other inputs at rest" if view.columns or view.constant else "all inputs at rest")
    return f"({'; '.join(parts)})" if parts else ""


def _format_cell(step: Step, name: str) -> str:
    return format_value(step.inputs[name]) if name in step.inputs else ""


def _format_by_step(steps: Sequence[Step], columns: tuple[str, ...], room: int) -> list[Line] | None:
    """Return a table with one row per step; None if it is too wide."""
    grid = [
        [*columns, "total"],
        *([*(_format_cell(step, name) for name in columns), format_total(step.total)] for step in steps),
    ]
    notes = [escape_line(step.note) for step in steps]
    widths = [max(len(row[at]) for row in grid) for at in range(len(grid[0]))]
    left = room - sum(widths) - len(_GAP) * len(widths)
    if left < min(max(map(len, notes)), _SHORTEST_NOTE) - (0 if any(notes) else len(_GAP)):
        return None
    texts = [any(isinstance(step.inputs.get(name), str) for step in steps) for name in columns] + [False]
    lines: list[Line] = [(Piece(_GAP.join(_align_cells(grid[0], widths, texts)), "dim"),)]
    for row, note in zip(grid[1:], notes, strict=True):
        body = _GAP.join(_align_cells(row, widths, texts))
        first, *others = wrap(note, max(left, 1)) or [""]
        lines.append((Piece(body), Piece(f"{_GAP}{first}" if first else "", "dim")))
        lines += [(Piece(" " * (len(body) + len(_GAP))), Piece(other, "dim")) for other in others]
    return lines


def _format_by_input(steps: Mapping[int, Step], names: tuple[str, ...], room: int) -> list[Line] | None:
    """Return a table with one row per input and one column per step; None if it is too wide."""
    numbers = [str(number) for number in steps] if len(steps) > 1 else [""]
    grid = [["", *numbers], *([name, *(_format_cell(step, name) for step in steps.values())] for name in names)]
    grid.append(["total", *(format_total(step.total) for step in steps.values())])
    widths = [max(len(row[at]) for row in grid) for at in range(len(grid[0]))]
    if sum(widths) + len(_GAP) * (len(widths) - 1) > room:
        return None
    texts = [True, *(False for _ in steps)]
    lines: list[Line] = [(Piece(_GAP.join(_align_cells(row, widths, texts))),) for row in grid]
    lines[0] = (Piece(lines[0][0].text, "dim"),)
    for number, step in zip(numbers, steps.values(), strict=True):
        if step.note:
            lines += wrap_paragraph(
                escape_line(step.note), width=room, first=f"{number}: " if number else "", part="dim"
            )
    return lines if join_pieces(lines[0]) else lines[1:]


def _format_in_words(steps: Mapping[int, Step], names: tuple[str, ...], room: int) -> list[Line]:
    """Return one sentence per step, for when no table fits."""
    lines: list[Line] = []
    for number, step in steps.items():
        inputs = ", ".join(f"{name} {_format_cell(step, name)}" for name in names if name in step.inputs)
        note = f"{escape_line(step.note)}: " if step.note else ""
        lines += wrap_paragraph(f"{note}{inputs}; total {format_total(step.total)}", width=room, first=f"{number}. ")
    return lines


def _align_cells(row: Sequence[str], widths: Sequence[int], texts: Sequence[bool]) -> list[str]:
    cells = zip(row, widths, texts, strict=True)
    return [cell.ljust(width) if text else cell.rjust(width) for cell, width, text in cells]
