"""One run of `plaudit train roadsense`: settings, training, evaluation, report."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plaudit.reward.reward import Reward
from plaudit.systems import roadsense
from plaudit.systems.arguments import open_ledger_to_write
from plaudit.systems.commands import (
    Game,
    Report,
    TrainingJob,
    Watch,
    explain_missing,
    print_terms,
    train_and_report,
    watch_training,
)
from plaudit.systems.roadsense.measurement import build_input_reader
from plaudit.terminal import Screen, build_table

with explain_missing("training", "sumo,sb3,tensorboard"):
    from plaudit.systems.roadsense.training import (
        TRAINED,
        Config,
        Run,
        build_config,
        catch_signals,
        describe_run,
        evaluate_run,
        read_about,
        record_drives,
        train,
        write_report,
    )

GAME = Game("roadsense", roadsense.VERSIONS, roadsense.version)


def run_training(job: TrainingJob) -> None:
    """Train, evaluate and report."""
    reward, config, out = _prepare(job)
    train_and_report(job, reward, out, run=lambda: _run(job, reward, config, out), show=print_report)


def _run(job: TrainingJob, reward: Reward, config: Config, out: Path) -> Report:
    """Return the report of the run, once it is complete; a run that was stopped ends the program."""
    with (
        watch_training(config, format_update, first="starting SUMO", quiet=job.quiet) as watch,
        catch_signals(watch.show_stopping) as stop,
    ):
        run = train(
            config,
            reward,
            out,
            resume=job.resume,
            save_every=job.save_every,
            tensorboard=job.tensorboard,
            on_update=watch.show_update,
            stop=stop,
        )
    GAME.check_complete(run, stop, job, out)
    return _write_report(job, run, reward, out, watch)


def _prepare(job: TrainingJob) -> tuple[Reward, Config, Path]:
    """Return the reward, the settings and the folder of the run."""
    if job.resume:
        assert job.out is not None  # the command asks for it
        out = Path(job.out)
        about = read_about(out / "checkpoint.npz")
        config = Config.from_dict({**about.config.to_dict(), **job.settings})
        return _find_reward(GAME.name_reward(job, out, about.version)), config, out
    reward = _find_reward(job.reward or roadsense.VERSIONS[0])
    config = build_config(reward, **job.settings)
    return reward, config, Path(job.out or f"runs/roadsense-{reward.version}-{config.seed}")


def _find_reward(text: str) -> Reward:
    """Return the reward that a text stands for; UnknownField where it reads what is not measured."""
    reward = GAME.find_reward(text)
    build_input_reader(reward)
    return reward


def _write_report(job: TrainingJob, run: Run, reward: Reward, out: Path, watch: Watch) -> Report:
    with watch.show_work("evaluating"):
        found = evaluate_run(run, reward, episodes=job.episodes, baselines=job.baselines)
    report = describe_run(run, reward, found)
    write_report(out, report)
    if job.ledger is not None:
        with open_ledger_to_write(job.ledger, new=True) as ledger:
            record_drives(ledger, reward, found.drives, run=str(out), actor=TRAINED, steps=run.steps)
    return report


_RETURNS = ("return", "s.d.", "least", "most", "steps", "collisions", "success")
_DRIVING = ("speed", "gap", "< 10 m", "stood", "reacts", "after s", "nearest")
"""Speed in m/s, the gap to the car ahead and the least of it after the hazard in m."""
_LEARNT = 2
"""The first policies of a report are those that were trained."""


def format_update(row: Mapping[str, Any]) -> str:
    """Return what matters of an update, in a line.

    >>> format_update({"return": -15.0, "collision_rate": 0.25, "steps_per_second": 1234.6, "episodes": 4})
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
