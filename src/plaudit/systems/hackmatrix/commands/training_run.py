"""One run of `plaudit train hackmatrix`: settings, training, evaluation, report."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from plaudit.errors import UnknownField
from plaudit.plugins.arguments import open_ledger_to_write
from plaudit.plugins.options import TrainingJob, explain_missing
from plaudit.reward.reward import Reward
from plaudit.systems import hackmatrix
from plaudit.systems.training.command import Game, Report, Watch, print_terms
from plaudit.terminal import Screen, build_table

with explain_missing("training", "train"):
    from plaudit.systems.hackmatrix.training import (
        NETWORK,
        Config,
        Environment,
        Run,
        build_games,
        build_report,
        detect_preset,
        evaluate_run,
        get_preset,
        read_info,
        record_episodes,
        train,
        write_report,
    )

RECORDED = 8
"""Episodes whose steps go into a ledger."""


def check_inputs(reward: Reward) -> None:
    """Raise UnknownField if a reward reads what the game does not measure."""
    for name in reward.program.inputs:
        if name not in hackmatrix.reward.program.inputs:
            known = ", ".join(sorted(hackmatrix.reward.program.inputs))
            raise UnknownField(
                f"reward {reward.name!r} reads {name!r}, which the game does not measure.\nIt measures: {known}"
            )


GAME = Game("hackmatrix", hackmatrix.VERSIONS, hackmatrix.version, check_inputs)


def run_training(job: TrainingJob, preset: str | None) -> None:
    """Train, evaluate and report; `preset` names settings for a machine, this one's if it is None."""
    reward, config, out = GAME.prepare(job, read_info, lambda _: get_preset(preset or detect_preset(), **job.settings))
    GAME.run(
        job,
        reward,
        config,
        out,
        train=lambda **options: train(
            build_games(reward, view=config.view, max_steps=config.max_steps), config, reward, out, **options
        ),
        report=lambda run, watch: _write_report(job, run, reward, out, watch),
        show=print_report,
        form=format_update,
    )


def _write_report(job: TrainingJob, run: Run, reward: Reward, out: Path, watch: Watch) -> Report:
    keep = RECORDED if job.ledger else 0
    with watch.show_work("evaluating"):
        found = evaluate_run(
            run, reward, _build_games(run.config), episodes=job.episodes, baselines=job.baselines, keep=keep
        )
    report = build_report(run, reward, found)
    write_report(out, report)
    if job.ledger is not None:
        with open_ledger_to_write(job.ledger, new=True) as ledger:
            for name in NETWORK:
                about: dict[str, Any] = {"run": str(out), "actor": name, "steps": run.steps}
                record_episodes(ledger, reward, found.episodes[name], boards=found.boards[name], **about)
    return report


def _build_games(config: Config) -> Callable[[Reward], Environment]:
    return lambda reward: build_games(reward, view=config.view)


_NUMBERS = ("return", "± error", "s.d.", "steps", "stage", "wins")


def format_update(row: Mapping[str, Any]) -> str:
    """Return a one-line summary of an update.

    >>> format_update({"return": -1.5, "stage": 1.25, "steps_per_second": 12345.6, "episodes": 3})
    'return -1.50, stage 1.25, 12,346 steps/s'
    """
    played = f"return {row['return']:.2f}, stage {row['stage']:.2f}, " if row["episodes"] else ""
    return f"{played}{row['steps_per_second']:,.0f} steps/s"


def print_report(report: Mapping[str, Any], out: Path) -> None:
    """Print how well the policy plays, the value of each term, and the health of the run."""
    screen = Screen()
    for version, evaluations in report["evaluation"].items():
        first = next(iter(evaluations.values()))
        screen.print(f"\n{first['episodes']:,} episodes each, paid by hackmatrix@{version}")
        _print_policies(screen, evaluations)
        print_terms(screen, evaluations, digits=3)
    _print_stages(screen, next(iter(report["evaluation"].values())))
    _print_health(screen, report)
    speed = f"{report['steps_per_second']:,.0f} steps/s" if report["steps_per_second"] else "no updates"
    screen.print(
        f"\n{report['steps']:,} steps on hackmatrix@{report['reward']['version']} in {report['seconds']:,.0f} s "
        f"({speed}, {report['compile_seconds']:.0f} s more to compile) on {report['device']}"
    )
    screen.print(f"Written to {out}: report.json, log.jsonl, policy.npz, checkpoint.npz")


def _print_policies(screen: Screen, evaluations: Mapping[str, Any]) -> None:
    table = build_table("policy", *_NUMBERS, right=_NUMBERS)
    for name, each in evaluations.items():
        table.add_row(
            name,
            f"{each['mean_return']:+.2f}",
            f"{each['error']:.2f}",
            f"{each['deviation']:.2f}",
            f"{each['mean_length']:.1f}",
            f"{each['mean_stage']:.2f}",
            f"{each['win_rate']:.1%}",
        )
    screen.print(table)


def _print_stages(screen: Screen, evaluations: Mapping[str, Any]) -> None:
    stages = sorted({int(stage) for each in evaluations.values() for stage in each["stages"]})
    columns = (*map(str, stages), "truncated")
    table = build_table("ended on stage", *columns, right=columns)
    for name, each in evaluations.items():
        counts = (each["stages"].get(str(stage), 0) for stage in stages)
        table.add_row(name, *(f"{count:,}" for count in (*counts, each["unfinished"])))
    screen.print()
    screen.print(table)


def _print_health(screen: Screen, report: Mapping[str, Any]) -> None:
    table = build_table("measure", "target", "worst", "last", "verdict", right=("worst", "last"))
    for name, each in report["health"].items():
        cells = ("—" if each[key] is None else f"{each[key]:.3f}" for key in ("worst", "last"))
        table.add_row(name, each["wanted"], *cells, each["verdict"])
    screen.print()
    screen.print(table)
