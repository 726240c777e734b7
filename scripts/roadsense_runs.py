"""Make the table of training runs: `python scripts/roadsense_runs.py runs/*/report.json`.

Runs of the same reward and actions are one row: the mean over their seeds, and their range. Every seed
counts once.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Report = dict[str, Any]

COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "return, own reward": ("mean_return", lambda value: f"{value:+,.0f}"),
    "collisions": ("collision_rate", lambda value: f"{value:.0%}"),
    "reacts": ("reaction_rate", lambda value: f"{value:.0%}"),
    "after (s)": ("reaction_time", lambda value: f"{value:.1f}"),
    "stood already": ("standing_rate", lambda value: f"{value:.0%}"),
    "nearest (m)": ("least_distance", lambda value: f"{value:.1f}"),
    "speed (m/s)": ("mean_speed", lambda value: f"{value:.1f}"),
    "distance (m)": ("mean_distance", lambda value: f"{value:.0f}"),
}


def cell(values: list[float | None], written: Callable[[float], str]) -> str:
    """Return the mean of some seeds, and their range.

    >>> cell([0.0, 0.5, 1.0], lambda value: f"{value:.0%}"), cell([None], str), cell([2.0, 2.0], str)
    ('50% (0% to 100%)', '—', '2.0')
    """
    known = [value for value in values if value is not None]
    if not known:
        return "—"
    mean, low, high = (written(each) for each in (sum(known) / len(known), min(known), max(known)))
    return mean if low == high else f"{mean} ({low} to {high})"


def row(name: str, found: list[dict[str, Any]]) -> str:
    """Return a line of the table, of the evaluations of some seeds."""
    cells = [cell([each[key] for each in found], written) for key, written in COLUMNS.values()]
    return f"| {name} | {' | '.join(cells)} |"


def rows(reports: list[Report]) -> list[str]:
    """Return a line for each reward and kind of actions, and below it those of the policies it was compared with."""
    groups: dict[tuple[str, str], list[Report]] = {}
    for report in reports:
        groups.setdefault((report["reward"]["version"], report["config"]["actions"]), []).append(report)
    lines = []
    for (version, actions), runs in groups.items():
        seeds = ", ".join(str(run["config"]["seed"]) for run in runs)
        names = {
            "trained": f"**{version}**, {actions}, {runs[0]['steps']:,} steps, seeds {seeds}",
            "exploring": f"**{version}**, exploring",
        }
        for name in runs[0]["evaluation"]:
            found = [run["evaluation"][name]["all"] for run in runs if name in run["evaluation"]]
            lines.append(row(names.get(name, f"{name}, paid by {version}"), found))
    return lines


def main(paths: list[str]) -> None:
    """Print the table."""
    if not paths or not all(Path(path).is_file() for path in paths):
        sys.exit(__doc__)
    reports = [json.loads(Path(path).read_text(encoding="utf-8")) for path in paths]
    print(f"| policy | {' | '.join(COLUMNS)} |")
    print(f"|---{'|---' * len(COLUMNS)}|")
    print(*rows(reports), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
