"""One run of `plaudit train roadsense`: settings, training, evaluation, report."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plaudit.plugins.arguments import open_ledger_to_write
from plaudit.plugins.options import TrainingJob, explain_missing
from plaudit.reward.reward import Reward
from plaudit.systems import roadsense
from plaudit.systems.roadsense.measurement import build_input_reader
from plaudit.systems.training.command import Game, Report, Watch, print_terms
from plaudit.terminal import Screen, build_table

with explain_missing("training", "sumo,sb3,tensorboard"):
    from plaudit.systems.roadsense.training import (
        TRAINED,
        Run,
        build_config,
        build_report,
        evaluate_run,
        read_info,
        record_drives,
        train,
        write_report,
    )

GAME = Game("roadsense", roadsense.VERSIONS, roadsense.version, check_inputs=build_input_reader)


def run_training(job: TrainingJob) -> None:
    """Train, evaluate and report."""
    reward, config, out = GAME.prepare(job, read_info, lambda reward: build_config(reward, **job.settings))
    GAME.run(
        job,
        reward,
        config,
        out,
        train=lambda **options: train(config, reward, out, **options),
        report=lambda run, watch: _write_report(job, run, reward, out, watch),
        show=print_report,
        form=format_update,
        first="starting SUMO",
    )


def _write_report(job: TrainingJob, run: Run, reward: Reward, out: Path, watch: Watch) -> Report:
    with watch.show_work("evaluating"):
        found = evaluate_run(run, reward, episodes=job.episodes, baselines=job.baselines)
    report = build_report(run, reward, found)
    write_report(out, report)
    if job.ledger is not None:
        with open_ledger_to_write(job.ledger, new=True) as ledger:
            record_drives(ledger, reward, found.drives, run=str(out), actor=TRAINED, steps=run.steps)
    return report


_RETURNS = ("return", "s.d.", "least", "most", "steps", "collisions", "success")
_DRIVING = ("speed", "gap", "< 10 m", "stood", "reacts", "after s", "nearest")
"""Speed in m/s; gap to the car ahead, and its minimum after the hazard, in m."""
_LEARNT = 2
"""The trained policies come first in a report."""


def format_update(row: Mapping[str, Any]) -> str:
    """Return a one-line summary of an update.

    >>> format_update({"return": -15.0, "collision_rate": 0.25, "steps_per_second": 1234.6, "episodes": 4})
    'return -15.0, 25% collisions, 1,235 steps/s'
    """
    driven = f"return {row['return']:.1f}, {row['collision_rate']:.0%} collisions, " if row["episodes"] else ""
    return f"{driven}{row['steps_per_second']:,.0f} steps/s"


def print_report(report: Mapping[str, Any], out: Path) -> None:
    """Print how the policy drives in every kind of convoy, and the value of each term."""
    screen = Screen()
    every = {name: each["all"] for name, each in report["evaluation"].items()}
    first = next(iter(every.values()))
    reward = f"{report['reward']['name']}@{report['reward']['version']}"
    hazards = f"a car ahead braked in {first['hazards']:,} of them"
    screen.print(f"\n{first['episodes']:,} episodes each, paid by {reward}; {hazards}.")
    _print_returns(screen, every)
    _print_driving(screen, "policy", every)
    print_terms(screen, dict(list(every.items())[:_LEARNT]), digits=1)
    _print_driving(screen, "peers/rank", next(iter(report["evaluation"].values()))["buckets"])
    speed = f"{report['steps_per_second']:,.0f} steps/s" if report["steps_per_second"] else "no updates"
    screen.print(f"\n{report['steps']:,} steps on {reward} in {report['seconds']:,.0f} s ({speed})")
    screen.print(f"Written to {out}: report.json, log.jsonl, policy.npz, checkpoint.npz")


def _print_returns(screen: Screen, evaluations: Mapping[str, Any]) -> None:
    table = build_table("policy", *_RETURNS, right=_RETURNS)
    for name, each in evaluations.items():
        returns = (each[key] for key in ("mean_return", "deviation", "least_return", "most_return", "mean_length"))
        table.add_row(
            name,
            *(f"{value:,.0f}" for value in returns),
            f"{each['collision_rate']:.0%}",
            f"{each['success_rate']:.0%}",
        )
    screen.print(table)


def _print_driving(screen: Screen, heading: str, evaluations: Mapping[str, Any]) -> None:
    table = build_table(heading, *_DRIVING, right=_DRIVING)
    for name, each in evaluations.items():
        table.add_row(
            name,
            _format_figure(each["mean_speed"], ".1f"),
            _format_figure(each["mean_distance"], ".1f"),
            _format_figure(each["close_share"], ".0%"),
            _format_figure(each["standing_rate"], ".0%"),
            _format_figure(each["reaction_rate"], ".0%"),
            _format_figure(each["reaction_time"], ".2f"),
            _format_figure(each["least_distance"], ".1f"),
        )
    screen.print()
    screen.print(table)


def _format_figure(value: float | None, form: str) -> str:
    return "—" if value is None else format(value, form)
