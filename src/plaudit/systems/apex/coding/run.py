"""Coding episodes one after another: what one has taught the learner, the next goes on with, also another day."""

import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from plaudit.errors import FileError, InputError
from plaudit.systems.alone import alone_in
from plaudit.systems.apex.chooser import Chooser
from plaudit.systems.apex.coding.episode import STEPS, Episode, Step, coding_episode
from plaudit.systems.apex.logs.artifacts import DECISIONS, Artifacts, read_decisions
from plaudit.systems.apex.logs.entries import DECIDED
from plaudit.systems.apex.probing.budget import BUDGET

if TYPE_CHECKING:
    from plaudit.ledger.store import Ledger

SEED = 7
"""What chance depends on, unless another seed is given."""
LEARNER = "learner.json"
LEDGER = "rewards.db"
PROJECT = "project"
RUN = "coding"
"""The name of the run in the ledger."""

Told = Callable[[int, Step], None]
"""What is called after every step, with the number of its episode."""


class CodingRun(NamedTuple):
    """The episodes of a run, and what is known after them."""

    first: int
    """The number of the first of these episodes."""
    episodes: tuple[Episode, ...]
    chooser: Chooser


async def coding_run(
    episodes: int = 1,
    *,
    out: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    budget: int = BUDGET,
    most: int = STEPS,
    told: Told | None = None,
) -> CodingRun:
    """Run coding episodes, one learner through all of them, and return them.

    With `out` the folder of that name keeps everything: the logs in `artifacts`, every reward in the ledger
    `rewards.db`, the learner in `learner.json`, written when an episode ends, and the project as the last one left it.
    Where they are there already, the run goes on with them; a `project` that is none of ours is left alone, and so is a
    folder that another run is writing to.
    """
    with ExitStack() as stack:
        if out is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="plaudit-")))
            chooser, artifacts, ledger, first = Chooser(seed=SEED if seed is None else seed), None, None, 1
        else:
            from plaudit.ledger.store import Ledger

            folder = stack.enter_context(alone_in(out))
            chooser = _chooser(folder, seed)
            artifacts = stack.enter_context(Artifacts(folder, extras=True))
            ledger = stack.enter_context(Ledger(folder / LEDGER))
            _catch_up(chooser, ledger)
            first = 1 + _begun(artifacts.folder)
            chooser.save(folder / LEARNER)  # whatever stops the run, it goes on with this seed
        done: list[Episode] = []
        for number in range(first, first + episodes):
            done.append(
                await coding_episode(
                    folder / PROJECT,
                    chooser=chooser,
                    budget=budget,
                    most=most,
                    artifacts=artifacts,
                    ledger=ledger,
                    run=RUN,
                    episode=number,
                    told=None if told is None else _numbered(told, number),
                )
            )
            if out is not None:
                chooser.save(folder / LEARNER)
        return CodingRun(first, tuple(done), chooser)


def _chooser(folder: Path, seed: int | None) -> Chooser:
    """Return the learner that a folder keeps, or a new one where nothing is in its way."""
    if not (folder / LEARNER).exists():
        project = folder / PROJECT
        if project.exists() and not (folder / LEDGER).exists() and (not project.is_dir() or any(project.iterdir())):
            raise FileError(f"{project} is of no run, and would be overwritten. Name another folder.")
        return Chooser(seed=SEED if seed is None else seed)
    found = Chooser.load(folder / LEARNER)
    if seed not in (None, found.seed):
        raise InputError(
            f"{folder} holds a run that began with seed {found.seed}, not {seed}. Leave the seed out to go on with it, "
            "or name another folder."
        )
    return found


def _catch_up(chooser: Chooser, ledger: "Ledger") -> None:
    """Learn what the ledger holds and the learner's file does not: an episode was broken off."""
    from plaudit.learn import fit

    if ledger.history(run=RUN, decision_class=DECIDED).count() > sum(chooser.state.pulls):
        chooser.state = fit(ledger, chooser.learner, decision_class=DECIDED, run=RUN)


def _begun(logs: Path) -> int:
    """Return how many episodes the logs hold, also those that were broken off."""
    return sum(row.step == 1 for row in read_decisions(logs)) if (logs / DECISIONS).exists() else 0


def _numbered(told: Told, number: int) -> Callable[[Step], None]:
    return lambda step: told(number, step)
