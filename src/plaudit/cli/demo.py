"""`plaudit demo`: a tour that takes less than a minute."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np
from rich.table import Table
from rich.text import Text

from plaudit.checks.check import check
from plaudit.checks.report import Report
from plaudit.checks.rules import RULES
from plaudit.language.field import Field
from plaudit.plugins.options import output_option
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.systems import BUILT_IN, system
from plaudit.targets.inputs import list_slots
from plaudit.terminal import Screen, build_table, draw_bar, format_value, show_progress

if TYPE_CHECKING:
    from plaudit.ledger.ledger import Ledger

CHUNK = 100_000
"""Transitions per chunk."""
CHECKED = 100
"""Transitions that are also scored in Python, to compare."""
GRAVE = tuple(code for code, rule in RULES.items() if rule.severity == "warning")
"""The rules of the tour: those whose findings are warnings."""
EPISODES = 40
"""Episodes of the synthetic run in the report."""
SEED = 2024
WIDE = 64
"""Minimum terminal width to show every column."""

NEXT = (
    ("plaudit show roadsense", "a reward's terms, formula, fields and knobs"),
    ("plaudit show roadsense@R8 --source", "another version, as Python code"),
    ("plaudit score roadsense rows.csv -o scores.jsonl", "your own rows, of any size"),
    ("plaudit check hackmatrix", "flaws, with inputs that show them and suggested fixes"),
    ("plaudit check my_rewards.py:reward", "your own reward"),
    ("plaudit ledger history rewards.db", "the rewards of your own run, once it records to a ledger"),
    ("plaudit report rewards.db -o report.html", "the same as a web page: curves, episodes, single steps"),
)


@click.command(epilog="Example: plaudit demo --rows 100000 -o tour.html")
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=1_000_000,
    show_default=True,
    help="Synthetic transitions to score with each reward.",
)
@output_option("Write an HTML report of the tour. If omitted, no files are kept.")
def demo(rows: int, output: str | None) -> None:
    """Take a tour of four built-in rewards.

    Scores an episode with each, checks them for flaws, records an episode in a ledger, and scores a million synthetic
    transitions.
    """
    show_tour(Screen(), rows)
    if output is not None:
        write_report(Screen(), output)


class Run(NamedTuple):
    """The time of a reward for a number of transitions, and the largest difference from Python."""

    reward: Reward
    rows: int
    seconds: float
    difference: float


def show_tour(screen: Screen, rows: int) -> None:
    """Show the built-in rewards, an episode of each, their flaws, a ledger and the scoring speed."""
    screen.print("plaudit: write a reward once, run it anywhere, explain every number.", style="bold")
    _print_title(screen, "1. Four rewards")
    screen.print(_build_reward_table(screen))
    _print_title(screen, "2. One episode each, term by term")
    for name in BUILT_IN:
        found = system(name)
        _print_episode(screen, found.reward, [found.reward.score(**row) for row in found.episode()])
    _print_title(screen, "3. Flaws in their specifications")
    for name in BUILT_IN:
        _print_warnings(screen, check(system(name).reward, only=GRAVE))
    _print_title(screen, "4. A ledger: why did this step earn so little?")
    _print_ledger(screen, system("roadsense").reward, system("roadsense").episode())
    _print_title(screen, f"5. {rows:,} synthetic transitions each, on NumPy")
    runs = [_measure(screen, system(name).reward, rows) for name in BUILT_IN]
    screen.print(_build_speed_table(runs))
    screen.print(_describe_agreement(runs))
    _print_title(screen, "6. What to try next")
    for command, what in NEXT:
        screen.print(f"  # {what}", style="dim")
        screen.print(f"  {command}\n", soft_wrap=True)


def _print_title(screen: Screen, text: str) -> None:
    screen.print()
    screen.print(text, style="bold cyan")
    screen.print()


def _build_reward_table(screen: Screen) -> Table:
    numbers = ("terms", "versions") if screen.width >= WIDE else ()
    rewards = build_table("reward", "description", *numbers, right=numbers)
    for name, what in BUILT_IN.items():
        cells = {"terms": len(system(name).reward.terms), "versions": len(system(name).VERSIONS)}
        rewards.add_row(name, what, *(str(cells[number]) for number in numbers))
    return rewards


# -- episodes -------------------------------------------------------------------------------------------------------


def _print_episode(screen: Screen, reward: Reward, signals: Sequence[Signal]) -> None:
    numbers = ("steps", "lowest", "highest", "sum") if screen.width >= WIDE else ("sum",)
    breakdown = build_table("term", *numbers, "", right=numbers)
    by_term = {term.name: [signal[term.name].value for signal in signals] for term in reward.terms}
    sums = {name: sum(values) for name, values in by_term.items()}
    longest = max(map(abs, sums.values())) or 1.0
    for name, values in by_term.items():
        spoke = sum(value != 0 for value in values)
        breakdown.add_row(name, *_format_cells(numbers, spoke, values), draw_bar(sums[name] / longest))
    breakdown.add_section()
    totals = [signal.total for signal in signals]
    breakdown.add_row("total", *_format_cells(numbers, len(totals), totals))
    screen.print(Text.assemble((reward.name, "bold"), "@", reward.version))
    screen.print(reward.doc)
    screen.print()
    screen.print(breakdown)
    screen.print(_describe_worst(signals))
    screen.print()


def _format_cells(numbers: Sequence[str], steps: int, values: Sequence[float]) -> list[str]:
    cells = {"steps": steps, "lowest": min(values), "highest": max(values), "sum": sum(values)}
    return [format_short(cells[name]) for name in numbers]


def _describe_worst(signals: Sequence[Signal]) -> Text:
    step, signal = min(enumerate(signals, start=1), key=lambda each: each[1].total)
    why = ", ".join(f"{name} {format_short(value)}" for name, value in signal.values.items() if value) or "nothing"
    return Text(f"The worst step is {step} with {format_short(signal.total)}: {why}.", style="dim")


def format_short(value: float) -> str:
    """Return a number in a few digits; 0 is a dot, so that the others stand out.

    >>> format_short(-0.30000000000000004), format_short(0.0), format_short(12345.678)
    ('-0.3', '·', '12345.7')
    """
    return format_value(value) if round(value, 9) else "·"


# -- flaws ------------------------------------------------------------------------------------------------------------


def _print_warnings(screen: Screen, report: Report) -> None:
    for finding in report.at_least("warning"):
        screen.print(Text.assemble((report.reward, "bold"), f" {finding.code}: {finding.message}"))
    screen.print()


# -- a ledger ---------------------------------------------------------------------------------------------------------


def _print_ledger(screen: Screen, reward: Reward, episode: Sequence[Mapping[str, Any]]) -> None:
    from plaudit.ledger.ledger import Ledger

    with TemporaryDirectory() as folder, Ledger(Path(folder, "rewards.db")) as ledger:
        for step, row in enumerate(episode, start=1):
            ledger.record(reward.score(**row), run="tour", episode=1, step=step)
        worst = min(ledger.history(run="tour"), key=lambda record: record.signal.total)
        screen.print(str(ledger.why(worst.id)))
        screen.print()
        verified = str(ledger.verify()).removeprefix(f"{ledger.name}: ").replace("\n", " ")
        screen.print(f"The ledger is verified by recomputing it: {verified}", style="dim")


# -- a report ---------------------------------------------------------------------------------------------------------


def write_report(screen: Screen, output: str) -> None:
    """Write a report of a synthetic run of the convoy, and print its path."""
    from plaudit.ledger.ledger import Ledger
    from plaudit.page.library import Library
    from plaudit.page.report import build_report
    from plaudit.rows.streams import Output

    with TemporaryDirectory() as folder, Output(output) as file:
        path = Path(folder, "tour.db")
        with Ledger(path) as ledger:
            record_runs(ledger)
        library = Library([str(path), "roadsense"])
        try:
            with show_progress("report") as progress:
                made = build_report(library, progress=progress)
        finally:
            library.close()
        file.file.write(made.html)
        file.commit()
    _print_title(screen, "7. The same as a web page")
    screen.print(f"Report written to {Path(output).absolute()}. Open it in a browser.", soft_wrap=True)


def record_runs(ledger: "Ledger") -> None:
    """Record the contents of the report: the episode of the tour, and a synthetic run."""
    found = system("roadsense")
    for step, row in enumerate(found.episode(), start=1):
        ledger.record(found.reward.score(**row), run="tour", episode=1, step=step)
    brakes = sorted({(row["action"], row["deceleration"]) for row in found.episode()})  # as its fact declares
    columns, context = _make_up_run(np.random.default_rng(SEED), [braking for _, braking in brakes], EPISODES)
    ledger.record_batch(found.reward, columns, run="made-up driver", **context)


def _make_up_run(
    generator: np.random.Generator, brakes: Sequence[float], episodes: int, steps: int = 50
) -> tuple[Any, Any]:
    """Return steps of a driver who keeps a steadier distance and brakes less often with each episode."""
    nervous = np.linspace(1.0, 0.1, episodes)[:, None]
    distance = generator.normal(0, 6, (episodes, steps)) * nervous
    for step in range(1, steps):
        distance[:, step] += 0.8 * distance[:, step - 1]
    distance += 28
    chance = generator.random((episodes, steps))
    free = np.select([chance < 0.3 * nervous, chance < 0.5 * nervous], [3, 1], 0)
    close = np.where(chance < 0.2 * nervous, 0, 2)  # sometimes the warning is missed
    action = np.where(distance < 15, close, free)
    columns = {"distance": distance.clip(0.5, 90), "deceleration": np.array(brakes)[action], "action": action}
    context = {"episode": np.repeat(np.arange(episodes), steps), "step": np.tile(np.arange(steps), episodes)}
    return {name: column.ravel() for name, column in columns.items()}, context


# -- a million transitions --------------------------------------------------------------------------------------------


def _measure(screen: Screen, reward: Reward, rows: int) -> Run:
    """Score `rows` synthetic transitions in chunks, and compare the first with Python."""
    compiled, generator = reward.compile("numpy"), np.random.default_rng(SEED)
    seconds = difference = 0.0
    with screen.show_bars() as bars:
        for start in range(0, rows, CHUNK):
            batch = build_columns(reward, min(CHUNK, rows - start), generator)
            began = perf_counter()
            scores = compiled(batch)
            seconds += perf_counter() - began
            if start == 0:
                difference = _compare_with_python(reward, batch, scores.total)
            bars.update(reward.name, start + len(scores.total), rows)
    return Run(reward, rows, seconds, difference)


def _compare_with_python(reward: Reward, batch: Mapping[str, Any], totals: Any) -> float:
    score = reward.compile("python").function
    rows = zip(*(column[:CHECKED].tolist() for column in batch.values()), strict=True)
    return max(abs(float(score(*row)[0]) - float(total)) for row, total in zip(rows, totals.tolist(), strict=False))


def _build_speed_table(runs: Sequence[Run]) -> Table:
    numbers = ["terms", "transitions", "seconds", "per second"]
    speeds = build_table("reward", *numbers, right=numbers)
    for run in runs:
        rate = run.rows / max(run.seconds, 1e-9) / 1e6
        terms = str(len(run.reward.terms))
        speeds.add_row(run.reward.name, terms, f"{run.rows:,}", f"{run.seconds:.3f}", f"{rate:,.1f} million")
    return speeds


def _describe_agreement(runs: Sequence[Run]) -> Text:
    checked = f"The first {min(CHECKED, runs[0].rows)} of each were also scored in Python: the totals"
    most = max(run.difference for run in runs)
    same = f"differ by at most {most:.1g}." if most else "are bit-for-bit equal."
    return Text(f"{checked} {same}", style="dim")


UNBOUNDED = 100.0
"""Assumed range of a number beyond its only bound, or beyond 0."""


def build_columns(reward: Reward, rows: int, generator: np.random.Generator) -> dict[str, Any]:
    """Return columns of `rows` random values for `reward.compile("numpy")`; categories are positions.

    >>> from plaudit.systems import load
    >>> sorted(build_columns(load("roadsense"), 3, np.random.default_rng(0)))
    ['action', 'deceleration', 'distance']
    """
    return {place.name: _build_column(place.field, rows, generator) for place in list_slots(reward.program)}


def _build_column(field: Field, rows: int, generator: np.random.Generator) -> Any:
    if field.kind == "flag":
        return generator.random(rows) < 0.5
    if field.kind == "category":
        return generator.integers(len(field.labels), size=rows)
    if field.numbers:
        return generator.choice(field.numbers, rows)
    low = field.low if field.low is not None else (field.high or 0.0) - UNBOUNDED
    high = field.high if field.high is not None else low + UNBOUNDED
    return generator.uniform(low, high, rows)
