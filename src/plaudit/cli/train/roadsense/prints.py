"""What a run came to, on the terminal."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plaudit.cli.screen import Screen, table

_RETURNS = ("return", "s.d.", "least", "most", "steps", "collisions", "success")
_DRIVING = ("speed", "gap", "< 10 m", "stood", "reacts", "after s", "nearest")
"""Speed in m/s, the gap to the car ahead and the least of it after the hazard in m."""
_LEARNT = 2
"""The first policies of a report are those that were trained."""


def figures(row: Mapping[str, Any]) -> str:
    """Return what matters of an update, in a line.

    >>> figures({"return": -15.0, "collision_rate": 0.25, "steps_per_second": 1234.6, "episodes": 4})
    'return -15.0, 25% collisions, 1,235 steps/s'
    """
    driven = f"return {row['return']:.1f}, {row['collision_rate']:.0%} collisions, " if row["episodes"] else ""
    return f"{driven}{row['steps_per_second']:,.0f} steps/s"


def print_report(report: Mapping[str, Any], out: Path) -> None:
    """Print how the policy drives, for every kind of convoy, and what each term gave."""
    screen = Screen()
    every = {name: each["all"] for name, each in report["evaluation"].items()}
    first = next(iter(every.values()))
    reward = f"{report['reward']['name']}@{report['reward']['version']}"
    hazards = f"a car ahead braked in {first['hazards']:,} of them"
    screen.print(f"\n{first['episodes']:,} episodes each, paid by {reward}; {hazards}.")
    _print_returns(screen, every)
    _print_driving(screen, "policy", every)
    _print_terms(screen, dict(list(every.items())[:_LEARNT]))
    _print_driving(screen, "peers/rank", next(iter(report["evaluation"].values()))["buckets"])
    speed = f"{report['steps_per_second']:,.0f} steps/s" if report["steps_per_second"] else "no updates"
    screen.print(f"\n{report['steps']:,} steps on {reward} in {report['seconds']:,.0f} s ({speed})")
    screen.print(f"Written to {out}: report.json, log.jsonl, policy.npz, checkpoint.npz")


def _print_returns(screen: Screen, evaluations: Mapping[str, Any]) -> None:
    shown = table("policy", *_RETURNS, right=_RETURNS)
    for name, each in evaluations.items():
        returns = (each[key] for key in ("mean_return", "deviation", "least_return", "most_return", "mean_length"))
        shown.add_row(
            name,
            *(f"{value:,.0f}" for value in returns),
            f"{each['collision_rate']:.0%}",
            f"{each['success_rate']:.0%}",
        )
    screen.print(shown)


def _print_driving(screen: Screen, heading: str, evaluations: Mapping[str, Any]) -> None:
    shown = table(heading, *_DRIVING, right=_DRIVING)
    for name, each in evaluations.items():
        shown.add_row(
            name,
            _figure(each["mean_speed"], ".1f"),
            _figure(each["mean_distance"], ".1f"),
            _figure(each["close_share"], ".0%"),
            _figure(each["standing_rate"], ".0%"),
            _figure(each["reaction_rate"], ".0%"),
            _figure(each["reaction_time"], ".2f"),
            _figure(each["least_distance"], ".1f"),
        )
    screen.print()
    screen.print(shown)


def _print_terms(screen: Screen, evaluations: Mapping[str, Any]) -> None:
    shown = table("term, an episode", *evaluations, right=tuple(evaluations))
    for term in next(iter(evaluations.values()))["terms"]:
        shown.add_row(term, *(f"{each['terms'][term]:+.1f}" for each in evaluations.values()))
    screen.print()
    screen.print(shown)


def _figure(value: float | None, form: str) -> str:
    return "—" if value is None else format(value, form)
