"""The tour of `plaudit demo`: four rewards, what is wrong with them, a ledger, a million transitions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from plaudit.checks.check import check
from plaudit.checks.finding import Report
from plaudit.checks.rules import RULES
from plaudit.cli.screen import Screen, table
from plaudit.cli.synthetic import synthetic
from plaudit.cli.texts import shown
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.systems import BUILT_IN, system

CHUNK = 100_000
"""Transitions at a time."""
CHECKED = 100
"""Transitions that are scored in Python, too, to compare."""
GRAVE = tuple(code for code, rule in RULES.items() if rule.severity == "warning")
"""The rules that the tour asks: those whose findings are warnings."""
SEED = 2024
BAR = 16
"""Characters of the longest bar."""
WIDE = 64
"""Characters of a line that holds every column."""

NEXT = (
    ("plaudit show roadsense", "what a reward is made of"),
    ("plaudit show roadsense@R8 --source", "another version of it, as Python"),
    ("plaudit score roadsense -i rows.csv -o scores.jsonl", "your own rows, of any size"),
    ("plaudit check hackmatrix", "what is wrong with it, with inputs that show it and what to do"),
    ("plaudit check my_rewards.py:reward", "your own reward"),
    ("plaudit ledger history rewards.db", "what your own run was paid for, once it records to a ledger"),
)


class Run(NamedTuple):
    """How long a reward took for how many transitions, and how far the first are from Python's."""

    reward: Reward
    rows: int
    seconds: float
    difference: float


def tour(screen: Screen, rows: int) -> None:
    """Show the built-in rewards, an episode of each, what is wrong with them, a ledger, and how fast they score."""
    screen.print("plaudit: write a reward once, run it anywhere, know why every number is what it is.", style="bold")
    _title(screen, "1. Four rewards")
    screen.print(_rewards(screen))
    _title(screen, "2. An episode of each, term by term")
    for name in BUILT_IN:
        found = system(name)
        _episode(screen, found.reward, [found.reward.score(**row) for row in found.episode()])
    _title(screen, "3. What is wrong with them, as they were specified")
    for name in BUILT_IN:
        _flaws(screen, check(system(name).reward, only=GRAVE))
    _title(screen, "4. An episode that is remembered: why was this step worth so little?")
    _remembered(screen, system("roadsense").reward, system("roadsense").episode())
    _title(screen, f"5. {rows:,} made-up transitions each, on NumPy")
    runs = [_run(screen, system(name).reward, rows) for name in BUILT_IN]
    screen.print(_speeds(runs))
    screen.print(_agreement(runs))
    _title(screen, "6. What to try next")
    for command, what in NEXT:
        screen.print(f"  # {what}", style="dim")
        screen.print(f"  {command}\n", soft_wrap=True)


def _title(screen: Screen, text: str) -> None:
    screen.print()
    screen.print(text, style="bold cyan")
    screen.print()


def _rewards(screen: Screen) -> Table:
    numbers = ("terms", "versions") if screen.width >= WIDE else ()
    rewards = table("reward", "what it rewards", *numbers, right=numbers)
    for name, what in BUILT_IN.items():
        cells = {"terms": len(system(name).reward.terms), "versions": len(system(name).VERSIONS)}
        rewards.add_row(name, what, *(str(cells[number]) for number in numbers))
    return rewards


# -- episodes -------------------------------------------------------------------------------------------------------


def _episode(screen: Screen, reward: Reward, signals: Sequence[Signal]) -> None:
    numbers = ("steps", "lowest", "highest", "sum") if screen.width >= WIDE else ("sum",)
    breakdown = table("term", *numbers, "", right=numbers)
    by_term = {term.name: [signal[term.name].value for signal in signals] for term in reward.terms}
    sums = {name: sum(values) for name, values in by_term.items()}
    longest = max(map(abs, sums.values())) or 1.0
    for name, values in by_term.items():
        spoke = sum(value != 0 for value in values)
        breakdown.add_row(name, *_cells(numbers, spoke, values), _bar(sums[name] / longest))
    breakdown.add_section()
    totals = [signal.total for signal in signals]
    breakdown.add_row("total", *_cells(numbers, len(totals), totals))
    screen.print(Text.assemble((reward.name, "bold"), "@", reward.version))
    screen.print(reward.doc)
    screen.print()
    screen.print(breakdown)
    screen.print(_worst(signals))
    screen.print()


def _cells(numbers: Sequence[str], steps: int, values: Sequence[float]) -> list[str]:
    cells = {"steps": steps, "lowest": min(values), "highest": max(values), "sum": sum(values)}
    return [short(cells[name]) for name in numbers]


def _bar(share: float) -> Text:
    return Text("█" * max(1, round(BAR * abs(share))) if share else "", style="red" if share < 0 else "green")


def _worst(signals: Sequence[Signal]) -> Text:
    """Return which step was the worst, and why."""
    step, signal = min(enumerate(signals, start=1), key=lambda each: each[1].total)
    why = ", ".join(f"{name} {short(value)}" for name, value in signal.values.items() if value) or "nothing"
    return Text(f"The worst step is {step} with {short(signal.total)}: {why}.", style="dim")


def short(value: float) -> str:
    """Return a number in a few digits; 0 is a dot, so that the others stand out.

    >>> short(-0.30000000000000004), short(0.0), short(12345.678)
    ('-0.3', '·', '12345.7')
    """
    return shown(value) if round(value, 9) else "·"


# -- what is wrong ----------------------------------------------------------------------------------------------------


def _flaws(screen: Screen, report: Report) -> None:
    """Print each warning in a sentence."""
    for finding in report.at_least("warning"):
        told = f" {finding.code}: {finding.message}"
        screen.print(Text.assemble((report.reward, "bold"), (told, "")))
    screen.print()


# -- a ledger ---------------------------------------------------------------------------------------------------------


def _remembered(screen: Screen, reward: Reward, episode: Sequence[Mapping[str, Any]]) -> None:
    """Record an episode in a ledger, explain its worst step, and verify all of it."""
    from plaudit.ledger.store import Ledger

    with TemporaryDirectory() as folder, Ledger(Path(folder, "rewards.db")) as ledger:
        for step, row in enumerate(episode, start=1):
            ledger.record(reward.score(**row), run="tour", episode=1, step=step)
        worst = min(ledger.history(run="tour"), key=lambda record: record.signal.total)
        screen.print(str(ledger.why(worst.id)))
        screen.print()
        told = str(ledger.verify()).removeprefix(f"{ledger.place.name}: ").replace("\n", " ")
        screen.print(f"The ledger recomputes itself: {told}", style="dim")


# -- a million transitions --------------------------------------------------------------------------------------------


def _run(screen: Screen, reward: Reward, rows: int) -> Run:
    """Score `rows` made-up transitions in chunks, and compare the first with Python's."""
    compiled, generator = reward.compile("numpy"), np.random.default_rng(SEED)
    seconds = difference = 0.0
    columns = (TextColumn("{task.description:12}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task(reward.name, total=rows)
        for start in range(0, rows, CHUNK):
            batch = synthetic(reward, min(CHUNK, rows - start), generator)
            began = perf_counter()
            scores = compiled(batch)
            seconds += perf_counter() - began
            if start == 0:
                difference = _difference(reward, batch, scores.total)
            progress.advance(task, len(scores.total))
    return Run(reward, rows, seconds, difference)


def _difference(reward: Reward, batch: Mapping[str, Any], totals: Any) -> float:
    """Return the largest difference between the first totals and those of Python."""
    score = reward.compile("python").function
    rows = zip(*(column[:CHECKED].tolist() for column in batch.values()), strict=True)
    return max(abs(float(score(*row)[0]) - float(total)) for row, total in zip(rows, totals.tolist(), strict=False))


def _speeds(runs: Sequence[Run]) -> Table:
    numbers = ["terms", "transitions", "seconds", "per second"]
    speeds = table("reward", *numbers, right=numbers)
    for run in runs:
        rate = run.rows / max(run.seconds, 1e-9) / 1e6
        terms = str(len(run.reward.terms))
        speeds.add_row(run.reward.name, terms, f"{run.rows:,}", f"{run.seconds:.3f}", f"{rate:,.1f} million")
    return speeds


def _agreement(runs: Sequence[Run]) -> Text:
    checked = f"The first {min(CHECKED, runs[0].rows)} of each were scored in Python, too: the totals"
    most = max(run.difference for run in runs)
    same = f"differ by at most {most:.1g}." if most else "are equal to the bit."
    return Text(f"{checked} {same}", style="dim")
