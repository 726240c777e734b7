"""`plaudit run apex`: four agents write code together, and a controller picks their topology."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.table import Table

from plaudit.plugins.options import COUNT, SEED, describe_kept, explain_interrupt, output_option, refuse_empty
from plaudit.systems.apex import DecisionRow, reward
from plaudit.systems.apex.coding import AGENTS, TASKS, TESTS, CodingRun, Episode, Step, run_episodes
from plaudit.systems.apex.switching.engine import REFUSALS
from plaudit.terminal import Screen, build_table, format_count, show_status

_TIMES = ("ms", "tick_ms")
"""Measurements of a decision that do not depend on the seed."""


@click.command("apex", epilog="Example: plaudit run apex --seed 7 --output runs/apex")
@click.option("--seed", metavar="NUMBER", type=SEED, help="Random seed.  [default: 7, or that of the run in --output]")
@click.option(
    "--episodes", metavar="COUNT", type=COUNT, default=1, show_default=True, help="Episodes to run, with one learner."
)
@click.option(
    "--budget", metavar="TOKENS", type=COUNT, default=10_000, show_default=True, help="Token budget per episode."
)
@click.option("--steps", metavar="COUNT", type=COUNT, default=60, show_default=True, help="Maximum steps per episode.")
@output_option(
    "Folder for logs, rewards and the learner; resumes a run in it.", metavar="FOLDER", callback=refuse_empty
)
@click.option("--messages", is_flag=True, help="Show the messages of the agents.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def run(
    seed: int | None, episodes: int, budget: int, steps: int, output: str | None, messages: bool, as_json: bool
) -> None:
    """Run four agents that write a module together.

    A planner, a coder, a runner and a critic send messages, edit a real project and run its tests with pytest; only
    their messages are scripted. At every step a controller decides whether they talk through the planner (star), down
    a line (chain) or freely (flat), and learns from the reward of the step. The same seed gives the same run.
    """
    with explain_interrupt(describe_kept(output)), _show_steps() as show:
        found = asyncio.run(run_episodes(episodes, out=output, seed=seed, budget=budget, max_steps=steps, on_step=show))
    if as_json:
        _print_json(found)
    else:
        _print_run(found, output, messages=messages)


@contextmanager
def _show_steps() -> Iterator[Callable[[int, Step], None]]:
    """Show the current step on stderr, if that is a terminal."""
    with show_status("Running the tests …") as update:

        def show(episode: int, step: Step) -> None:
            tests = f"{step.tests.passed} of {step.tests.total} tests pass"
            update(f"Episode {episode}, step {step.decision.step}: {step.state['phase']}, {tests} …")

        yield show


def _print_run(run: CodingRun, out: str | None, *, messages: bool) -> None:
    screen = Screen()
    screen.print(
        f"{reward.name}@{reward.version}, seed {run.chooser.seed}: {', '.join(AGENTS[:-1])} and {AGENTS[-1]} write "
        f"{len(TASKS)} functions; {TESTS} tests must pass.\n",
        soft_wrap=True,
    )
    if len(run.episodes) == 1:
        _print_episode(screen, run.episodes[0])
    else:
        screen.print(_build_episodes_table(run))
    if messages:
        for episode in run.episodes:
            screen.print()
            screen.print(_build_messages_table(episode))
    if out is not None:
        state = run.chooser.state
        screen.print(
            f"\nWritten to {out}: artifacts, rewards.db, project, and learner.json trained on "
            f"{format_count(state.decisions, 'decision')}.",
            soft_wrap=True,
        )


def _print_json(run: CodingRun) -> None:
    """Print everything except times, for a script."""
    episodes = [_to_dict(number, episode) for number, episode in enumerate(run.episodes, start=run.first)]
    click.echo(json.dumps({"seed": run.chooser.seed, "episodes": episodes}))


def _print_episode(screen: Screen, episode: Episode) -> None:
    table = build_table(
        "step", "topology", "asked", "outcome", "phase", "tests", "tokens", "reward",
        right=("step", "tests", "tokens", "reward"),
    )  # fmt: skip
    for step in episode.steps:
        row = step.decision
        table.add_row(
            str(row.step),
            row.topology,
            row.action,
            _describe_switch(row),
            step.state["phase"],
            f"{step.tests.passed}/{step.tests.total}",
            f"{step.state['tokens_used']:,}",
            f"{step.reward.r_step:+.4f}",
        )
    table.add_section()
    blank = [""] * 4
    ending = "all tests pass" if episode.success else "not done"
    table.add_row("end", "", "", ending, *blank[:3], f"{episode.end.r_step:+.4f}")
    table.add_row("total", *blank, "", "", f"{episode.stats.earned:+.4f}")
    screen.print(table)
    for line in _comment(episode):
        screen.print(line, soft_wrap=True)


def _describe_switch(row: DecisionRow) -> str:
    if not row.switch.attempted:
        return "" if row.action == "stay" else "already active"
    if row.switch.committed:
        return "switched"
    return f"{'refused' if row.switch.error in REFUSALS else 'aborted'}: {row.switch.error}"


def _comment(episode: Episode) -> Iterator[str]:
    yield ""
    yield ", ".join(f"{value:+.4f} for {what}" for what, value in _sum_by_cause(episode).items() if value)
    if episode.phases.repaid:
        yield f"{episode.phases.repaid} of the advances repeat a paid phase; apex@high_water pays each phase once."
    passed_on = sum(said.recipient != said.meant_for for said in episode.messages)
    yield f"{format_count(len(episode.messages), 'message')}, {passed_on} of them through a relay."
    if episode.denials:
        first = episode.denials[0]
        yield (
            f"{format_count(len(episode.denials), 'call')} denied: over the token budget. "
            f"The first was the {first.caller}'s, at {first.used:,} + {first.estimate:,} of {first.limit:,}."
        )


def _sum_by_cause(episode: Episode) -> dict[str, float]:
    weights = {term.name: reward.params[f"{term.name}.weight"] for term in reward.terms}
    rows = [step.reward for step in episode.steps]
    switches = sum(row.switch_committed for row in rows)
    return {
        format_count(episode.phases.advances, "advance"): weights["phase_advance"] * episode.phases.advances,
        "tests": weights["test_improvement"] * sum(row.delta_pass_rate for row in rows),
        format_count(episode.tokens, "token"): weights["token_cost"] * episode.tokens,
        "1 switch" if switches == 1 else f"{switches} switches": weights["switch_cost"] * switches,
        "the end": episode.end.r_step,
    }


def _build_episodes_table(run: CodingRun) -> Table:
    numbers = ("episode", "steps", "tests", "tokens", "switched", "refused", "aborted", "reward")
    table = build_table(*numbers, right=numbers)
    for number, episode in enumerate(run.episodes, start=run.first):
        switches = dict(episode.stats.switches)
        committed, refused = (switches.pop(kind, 0) for kind in ("committed", "refused"))
        tests = episode.steps[-1].tests
        table.add_row(
            str(number),
            str(len(episode.steps)),
            f"{tests.passed}/{tests.total}",
            f"{episode.tokens:,}",
            str(committed),
            str(refused),
            str(sum(switches.values())),
            f"{episode.stats.earned:+.4f}",
        )
    return table


def _build_messages_table(episode: Episode) -> Table:
    table = build_table("step", "from", "to", "message", right=("step",))
    for said in episode.messages:
        on = "" if said.recipient == said.meant_for else f", for the {said.meant_for}"
        table.add_row(str(said.step), said.sender, said.recipient + on, said.text)
    return table


def _to_dict(number: int, episode: Episode) -> dict[str, Any]:
    """Return an episode as plain data, without times."""
    return {
        "episode": number,
        "steps": [
            {
                "decision": {
                    name: value for name, value in step.decision.to_dict(extras=True).items() if name not in _TIMES
                },
                "state": step.state,
                "tests": {"passed": step.tests.passed, "total": step.tests.total},
                "reward": step.reward.to_dict(),
            }
            for step in episode.steps
        ],
        "end": episode.end.to_dict(),
        "success": episode.success,
        "earned": episode.stats.earned,
        "phases": episode.phases._asdict(),
        "switches": dict(episode.stats.switches),
        "denials": [denial._asdict() for denial in episode.denials],
        "messages": [said._asdict() for said in episode.messages],
    }
