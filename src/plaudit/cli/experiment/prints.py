"""The experiment on the terminal: what was earned, where a hack earned more than driving, what was said before."""

from collections.abc import Iterator

from rich.table import Table

from plaudit.cli.screen import Screen, table
from plaudit.ledger.wording import counted
from plaudit.systems.roadsense.experiment import Experiment, Finding
from plaudit.systems.roadsense.experiment.finding import PROBABILITY, SITUATIONS, Situation
from plaudit.systems.roadsense.experiment.said import Said

MARK = "!"
"""Behind what a hack earned."""
HEADINGS: dict[Situation, str] = {
    "calm": "Without a hazard",
    "hazard": "With a hazard",
    "expected": f"With a hazard in {100 * PROBABILITY:.0f} % of episodes",
}


def print_experiment(experiment: Experiment, *, spread: bool) -> None:
    """Print every study, and then what the definitions alone would have told."""
    screen = Screen()
    for finding in experiment.studies.values():
        _print_study(screen, finding, spread)
    screen.print(f"{MARK} a hack: it looks at nothing and earns more than {_wanted(experiment)}.\n", soft_wrap=True)
    for finding in experiment.studies.values():
        screen.print(f"What pays best, {finding.study.name} actions\n")
        screen.print(_verdicts(finding, experiment))
        screen.print()
    for line in _telling(experiment):
        screen.print(line, soft_wrap=True)


def _wanted(experiment: Experiment) -> str:
    named = [f"{' and '.join(finding.study.wanted)} ({finding.study.name})" for finding in experiment.studies.values()]
    return " or ".join(named)


def _print_study(screen: Screen, finding: Finding, spread: bool) -> None:
    study = finding.study
    screen.print(
        f"{study.name.capitalize()} actions: {len(finding.policies)} policies × 2 situations × "
        f"{counted(finding.seeds, 'seed')}, {finding.steps:,} steps on SUMO {', '.join(finding.sumo)}; "
        f"the car ahead brakes at step {study.hazard.first}.\n",
        soft_wrap=True,
    )
    screen.print(_drives(finding))
    for situation in SITUATIONS:
        screen.print(f"\n{HEADINGS[situation]}: mean return of an episode{', ± over seeds' if spread else ''}\n")
        screen.print(_returns(finding, situation, spread))
    screen.print()


def _drives(finding: Finding) -> Table:
    numbers = ("nearest m, calm", "nearest m, hazard", "collisions")
    made = table("policy", *numbers, right=numbers)
    for policy in finding.policies:
        calm, hazard = finding.driven[policy, False], finding.driven[policy, True]
        made.add_row(policy, f"{calm.nearest:.1f}", f"{hazard.nearest:.1f}", str(calm.collisions + hazard.collisions))
    return made


def _returns(finding: Finding, situation: Situation, spread: bool) -> Table:
    made = table("version", *finding.policies, right=finding.policies)
    for version in finding.versions:
        hacks = finding.hacks(version, situation)
        cells = []
        for policy in finding.policies:
            around = f" ±{finding.spread(version, policy, situation):.0f}" if spread else ""
            mark = MARK if policy in hacks else " "
            cells.append(f"{finding.earned(version, policy, situation):.1f}{around}{mark}")
        made.add_row(version, *cells)
    return made


def _verdicts(finding: Finding, experiment: Experiment) -> Table:
    said = ("check: warnings; where staying pays",) if experiment.said else ()
    headers = ("version", "with a hazard", "ahead", "in expectation", "ahead ")
    made = table(*headers, *said, right=("ahead", "ahead "))
    for version in finding.versions:
        cells = [cell for situation in SITUATIONS[1:] for cell in _best(finding, version, situation)]
        if experiment.said:
            cells.append(_beforehand(experiment.said[version]))
        made.add_row(version, *cells)
    return made


def _beforehand(said: Said) -> str:
    """Return the warnings about a version, and where it pays for staying, at the farthest."""
    return "; ".join([*said.warnings, *said.staying[-1:]]) or "nothing of the kind"


def _best(finding: Finding, version: str, situation: Situation) -> tuple[str, str]:
    """Return who earned most, marked if that is a hack, and by how much it is ahead of driving as one would wish."""
    best = finding.ranked(version, situation)[0]
    mark = f" {MARK}" if best in finding.hacks(version, situation) else ""
    wanted = finding.earned(version, finding.wanted(version, situation), situation)
    ahead = finding.earned(version, best, situation) - wanted
    return f"{best}{mark}", f"{ahead:.1f}" if ahead else ""


def _telling(experiment: Experiment) -> Iterator[str]:
    """Yield what the telling rules found, once for all versions of which it is true."""
    sentences: dict[str, list[str]] = {}
    for label, each in experiment.said.items():
        for sentence in each.telling:
            sentences.setdefault(sentence, []).append(label)
    if sentences:
        yield "What check says from the definition alone, before anybody has driven:"
    for sentence, labels in sentences.items():
        yield f"  {', '.join(labels)}: {sentence}"
