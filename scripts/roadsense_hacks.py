"""Write which version of the convoy reward pays for parking and crashing: `python scripts/roadsense_hacks.py [FOLDER]`.

Drives the whole experiment, or resumes the one in the folder, and replaces the tables between the marks in
docs/systems/roadsense-experiment.md; docs/pictures/experiment.svg shows the same drives.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from plaudit import Ledger
from plaudit.systems.roadsense.experiment import Experiment, StudyResult, run_experiment
from plaudit.systems.roadsense.experiment.picture import save_picture
from plaudit.systems.roadsense.experiment.results import Hack
from plaudit.systems.roadsense.versions import VERSIONS

PAGE = Path(__file__).parent.parent / "docs" / "systems" / "roadsense-experiment.md"
BEGIN, END = "<!-- python scripts/roadsense_hacks.py writes from here -->", "<!-- to here -->"
SAME = ("R12a", "R12b")
"""They pay the same as R12a2 and R12b2 on every drive."""


def describe(hack: Hack) -> str:
    """Return a cell: the policy, its lead and the interval.

    >>> describe(Hack("park", "parking", 12.3, 8.0, 16.0))
    '**park** +12 (8 to 16)'
    """
    name = f"**{hack.policy}**" if hack.sure else hack.policy
    return f"{name}{', crashing,' if hack.kind == 'crash' else ''} +{hack.lead:.0f} ({hack.low:.0f} to {hack.high:.0f})"


def list_hacks(studies: list[StudyResult], versions: tuple[str, ...]) -> list[str]:
    """Return the table of hacks by version."""
    lines = [f"| version | {' | '.join(each.study.title for each in studies)} |", "|---" * (len(studies) + 1) + "|"]
    for version in versions:
        found = [each.find_hacks(version, "hazard") for each in studies]
        lines.append(f"| {version} | {' | '.join(describe(hacks[0]) if hacks else '—' for hacks in found)} |")
    return lines


def list_collisions(studies: list[StudyResult]) -> list[str]:
    """Return the table of collisions and nearest distances by policy."""
    lines = [
        "| study | policy | collisions, with a hazard | nearest (m) | earns under `following` | under `keep_gap` |",
        "|---|---|---|---|---|---|",
    ]
    for each in studies:
        for policy in each.policies:
            driven = each.driven[policy, True]
            paid = (each.mean_return(version, policy, "hazard") for version in ("following", "keep_gap"))
            wanted = f"{policy} (wanted)" if policy in each.study.wanted else policy
            cells = (each.study.name, wanted, f"{driven.collisions} of {each.seeds}", f"{driven.nearest:.1f}")
            lines.append(f"| {' | '.join((*cells, *(f'{value:,.0f}' for value in paid)))} |")
    return lines


def run(folder: Path) -> Experiment:
    """Drive what is missing in the folder, and score everything."""
    with Ledger(folder / "rewards.db") as ledger:
        versions = [label for label in VERSIONS if label not in SAME]
        return run_experiment(ledger, versions=versions, checks=False, workers=os.cpu_count())


def main(folder: Path) -> None:
    """Write the tables and the picture."""
    found = run(folder)
    studies = list(found.studies.values())
    training = [each for each in studies if each.study.road == "training"]
    text = "\n".join((*list_hacks(studies, studies[0].versions), "", *list_collisions(training)))
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")
    save_picture(found, PAGE.parent.parent / "pictures" / "experiment.svg")


if __name__ == "__main__":
    with TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))
