"""A run of coding episodes on the terminal: each step with what it earned, or each episode with what it came to."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.table import Table

from plaudit.cli.screen import Screen, table
from plaudit.ledger.wording import counted
from plaudit.systems.apex import DecisionRow, reward
from plaudit.systems.apex.coding import AGENTS, TASKS, TESTS, CodingRun, Episode, Step
from plaudit.systems.apex.switching.result import REFUSALS

_TIMES = ("ms", "tick_ms")
"""What of a decision is no matter of the seed."""


@contextmanager
def progress() -> Iterator[Callable[[int, Step], None]]:
    """Show on stderr, where that is a terminal, which step a run is at."""
    screen = Screen(stderr=True)
    with screen.status("Running the tests …") as status:

        def told(episode: int, step: Step) -> None:
            tests = f"{step.tests.passed} of {step.tests.total} tests pass"
            status.update(f"Episode {episode}, step {step.decision.step}: {step.state['phase']}, {tests} …")

        yield told


def print_run(run: CodingRun, out: str | None, *, messages: bool) -> None:
    """Print one episode step by step, or several with a line each."""
    screen = Screen()
    screen.print(
        f"{reward.name}@{reward.version}, seed {run.chooser.seed}: {', '.join(AGENTS[:-1])} and {AGENTS[-1]} write "
        f"{len(TASKS)} functions; {TESTS} tests are to pass.\n",
        soft_wrap=True,
    )
    if len(run.episodes) == 1:
        _print_episode(screen, run.episodes[0])
    else:
        screen.print(_summaries(run))
    if messages:
        for episode in run.episodes:
            screen.print()
            screen.print(_messages(episode))
    if out is not None:
        state = run.chooser.state
        screen.print(
            f"\nWritten to {out}: artifacts, rewards.db, project, and learner.json with what "
            f"{counted(state.decisions, 'decision')} {'has' if state.decisions == 1 else 'have'} taught.",
            soft_wrap=True,
        )


def print_json(run: CodingRun) -> None:
    """Print everything but times, for a script."""
    episodes = [_plain(number, episode) for number, episode in enumerate(run.episodes, start=run.first)]
    click.echo(json.dumps({"seed": run.chooser.seed, "episodes": episodes}))


def _print_episode(screen: Screen, episode: Episode) -> None:
    made = table(
        "step", "topology", "asked", "outcome", "phase", "tests", "tokens", "reward",
        right=("step", "tests", "tokens", "reward"),
    )  # fmt: skip
    for step in episode.steps:
        row = step.decision
        made.add_row(
            str(row.step),
            row.topology,
            row.action,
            _happened(row),
            step.state["phase"],
            f"{step.tests.passed}/{step.tests.total}",
            f"{step.state['tokens_used']:,}",
            f"{step.reward.r_step:+.4f}",
        )
    made.add_section()
    blank = [""] * 4
    ending = "all tests pass" if episode.success else "not done"
    made.add_row("end", "", "", ending, *blank[:3], f"{episode.end.r_step:+.4f}")
    made.add_row("total", *blank, "", "", f"{episode.stats.earned:+.4f}")
    screen.print(made)
    for line in _told(episode):
        screen.print(line, soft_wrap=True)


def _happened(row: DecisionRow) -> str:
    if not row.switch.attempted:
        return "" if row.action == "stay" else "active already"
    if row.switch.committed:
        return "switched"
    return f"{'refused' if row.switch.error in REFUSALS else 'aborted'}: {row.switch.error}"


def _told(episode: Episode) -> Iterator[str]:
    """Yield what is to be said of an episode below its steps."""
    yield ""
    yield ", ".join(f"{value:+.4f} for {what}" for what, value in _parts(episode).items() if value)
    if episode.phases.repaid:
        yield (f"{episode.phases.repaid} of the advances had been paid before; apex@high_water pays each phase once.")
    passed_on = sum(said.recipient != said.meant_for for said in episode.said)
    yield f"{counted(len(episode.said), 'message')}, {passed_on} of them to somebody who had to pass them on."
    if episode.denials:
        first = episode.denials[0]
        yield (
            f"{counted(len(episode.denials), 'call')} denied for want of tokens, first to the {first.caller} at "
            f"{first.used:,} + {first.estimate:,} of {first.limit:,}."
        )


def _parts(episode: Episode) -> dict[str, float]:
    """Return what an episode earned by what it was earned for."""
    weights = {term.name: float(term.weight) for term in reward.terms}
    rows = [step.reward for step in episode.steps]
    switches = sum(row.switch_committed for row in rows)
    return {
        counted(episode.phases.advances, "advance"): weights["phase_advance"] * episode.phases.advances,
        "tests": weights["test_improvement"] * sum(row.delta_pass_rate for row in rows),
        counted(episode.tokens, "token"): weights["token_cost"] * episode.tokens,
        "1 switch" if switches == 1 else f"{switches} switches": weights["switch_cost"] * switches,
        "the end": episode.end.r_step,
    }


def _summaries(run: CodingRun) -> Table:
    numbers = ("episode", "steps", "tests", "tokens", "switched", "refused", "aborted", "reward")
    made = table(*numbers, right=numbers)
    for number, episode in enumerate(run.episodes, start=run.first):
        switches = dict(episode.stats.switches)
        committed, refused = (switches.pop(kind, 0) for kind in ("committed", "refused"))
        tests = episode.steps[-1].tests
        made.add_row(
            str(number),
            str(len(episode.steps)),
            f"{tests.passed}/{tests.total}",
            f"{episode.tokens:,}",
            str(committed),
            str(refused),
            str(sum(switches.values())),
            f"{episode.stats.earned:+.4f}",
        )
    return made


def _messages(episode: Episode) -> Table:
    made = table("step", "from", "to", "message", right=("step",))
    for said in episode.said:
        on = "" if said.recipient == said.meant_for else f", for the {said.meant_for}"
        made.add_row(str(said.step), said.sender, said.recipient + on, said.text)
    return made


def _plain(number: int, episode: Episode) -> dict[str, Any]:
    """Return an episode as plain data, without what a clock measured."""
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
        "messages": [said._asdict() for said in episode.said],
    }
