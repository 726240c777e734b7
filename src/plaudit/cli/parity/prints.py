"""A comparison on the screen: agreement in a line, or the row that tells the two apart."""

from rich.table import Table
from rich.text import Text

from plaudit.checks.parity import Mismatch, ParityReport
from plaudit.cli.screen import Screen, table
from plaudit.cli.texts import printable, shown


def draw(report: ParityReport, screen: Screen) -> None:
    """Print a report."""
    mismatch = report.mismatch
    screen.print(Text(_headline(report), style="bold"), soft_wrap=True)
    for text in _remarks(report):
        screen.print(text, soft_wrap=True)
    if mismatch is None:
        return
    screen.print()
    screen.print(_inputs(mismatch))
    if mismatch.got:
        screen.print()
        screen.print(_answers(mismatch))
    screen.print(f"\nThe row: {printable(mismatch.row)}", soft_wrap=True)


def _headline(report: ParityReport) -> str:
    reward, against = f"{report.reward}@{report.version}", printable(report.against)
    mismatch = report.mismatch
    if mismatch is None:
        return f"{reward} and {against} agree on {_rows(report.tested)}."
    if mismatch.failure:
        return f"{against} failed: it {printable(mismatch.failure)}"
    terms = ", ".join(mismatch.terms)
    if mismatch.got and not mismatch.got.values and len(mismatch.terms) > 1:
        terms = "total (it gives no values that would tell which term it is)"
    if mismatch.line is not None:
        lines = f"in {report.differing:,} of {_rows(report.tested)}, first in line {mismatch.line}"
        return f"{reward} and {against} differ {lines}: {terms}."
    return f"{reward} and {against} differ in {terms}."


def _remarks(report: ParityReport) -> list[str]:
    found = []
    mismatch = report.mismatch
    if mismatch and mismatch.note:
        found.append(mismatch.note)
    if mismatch and mismatch.breaks:
        facts = ", ".join(mismatch.breaks)
        found.append(f"The row breaks a declared fact: {facts}. Too few rows keep the facts to draw from those alone.")
    if mismatch and mismatch.line is None:
        simplest = "; this is the simplest row found that shows it" if mismatch.simplest else ""
        found.append(f"It showed after {_rows(report.tested)}{simplest}.")
    if report.refused:
        found.append(f"{_rows(report.refused)} that the reward refuses {_were(report.refused)} left out.")
    if report.aside:
        found.append(
            f"{_rows(report.aside)} {_were(report.aside)} set aside: rounding alone decides their side of a boundary."
        )
    return found


def _inputs(mismatch: Mismatch) -> Table:
    made = table("input", "value")
    for name, value in mismatch.inputs.items():
        made.add_row(name, _exactly(value))
    return made


def _answers(mismatch: Mismatch) -> Table:
    assert mismatch.got is not None
    made = table("term", "reward", "program", "", right=["reward", "program"])
    for name, value in mismatch.expected.values.items():
        got = mismatch.got.values.get(name)
        made.add_row(name, _exactly(value), "" if got is None else _exactly(got), _mark(mismatch, name))
    made.add_section()
    expected, total = mismatch.expected.total, mismatch.got.total
    made.add_row("total", _exactly(expected), _exactly(total), _mark(mismatch, "total"))
    return made


def _mark(mismatch: Mismatch, name: str) -> Text:
    return Text(
        "<- differs" if name in mismatch.terms and mismatch.got and (mismatch.got.values or name == "total") else "",
        style="red",
    )


def _exactly(value: float | bool | str) -> str:
    """Return a value with every digit, because the last one may be what it is about."""
    return repr(value) if isinstance(value, float) else shown(value)


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
