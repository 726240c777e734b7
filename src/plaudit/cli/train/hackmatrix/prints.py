"""What a run came to, on the terminal."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plaudit.cli.screen import Screen, table

_NUMBERS = ("return", "± error", "s.d.", "steps", "stage", "wins")


def figures(row: Mapping[str, Any]) -> str:
    """Return what matters of an update, in a line.

    >>> figures({"return": -1.5, "stage": 1.25, "steps_per_second": 12345.6, "episodes": 3})
    'return -1.50, stage 1.25, 12,346 steps/s'
    """
    played = f"return {row['return']:.2f}, stage {row['stage']:.2f}, " if row["episodes"] else ""
    return f"{played}{row['steps_per_second']:,.0f} steps/s"


def print_report(report: Mapping[str, Any], out: Path) -> None:
    """Print how well the policy plays, what each term gave, and whether the run was healthy."""
    screen = Screen()
    for version, evaluations in report["evaluation"].items():
        first = next(iter(evaluations.values()))
        screen.print(f"\n{first['episodes']:,} episodes each, paid by hackmatrix@{version}")
        _print_policies(screen, evaluations)
        _print_terms(screen, evaluations)
    _print_stages(screen, next(iter(report["evaluation"].values())))
    _print_health(screen, report)
    speed = f"{report['steps_per_second']:,.0f} steps/s" if report["steps_per_second"] else "no updates"
    screen.print(
        f"\n{report['steps']:,} steps on hackmatrix@{report['reward']['version']} in {report['seconds']:,.0f} s "
        f"({speed}, {report['compile_seconds']:.0f} s more to compile) on {report['device']}"
    )
    screen.print(f"Written to {out}: report.json, log.jsonl, policy.npz, checkpoint.npz")


def _print_policies(screen: Screen, evaluations: Mapping[str, Any]) -> None:
    shown = table("policy", *_NUMBERS, right=_NUMBERS)
    for name, each in evaluations.items():
        shown.add_row(
            name,
            f"{each['mean_return']:+.2f}",
            f"{each['error']:.2f}",
            f"{each['deviation']:.2f}",
            f"{each['mean_length']:.1f}",
            f"{each['mean_stage']:.2f}",
            f"{each['win_rate']:.1%}",
        )
    screen.print(shown)


def _print_stages(screen: Screen, evaluations: Mapping[str, Any]) -> None:
    stages = sorted({int(stage) for each in evaluations.values() for stage in each["stages"]})
    columns = (*map(str, stages), "left off")
    shown = table("ended on stage", *columns, right=columns)
    for name, each in evaluations.items():
        counts = (each["stages"].get(str(stage), 0) for stage in stages)
        shown.add_row(name, *(f"{count:,}" for count in (*counts, each["unfinished"])))
    screen.print()
    screen.print(shown)


def _print_terms(screen: Screen, evaluations: Mapping[str, Any]) -> None:
    shown = table("term, an episode", *evaluations, right=tuple(evaluations))
    for term in next(iter(evaluations.values()))["terms"]:
        shown.add_row(term, *(f"{each['terms'][term]:+.3f}" for each in evaluations.values()))
    screen.print()
    screen.print(shown)


def _print_health(screen: Screen, report: Mapping[str, Any]) -> None:
    shown = table("measure", "wanted", "worst", "last", "verdict", right=("worst", "last"))
    for name, each in report["health"].items():
        figures = ("—" if each[key] is None else f"{each[key]:.3f}" for key in ("worst", "last"))
        shown.add_row(name, each["wanted"], *figures, each["verdict"])
    screen.print()
    screen.print(shown)
