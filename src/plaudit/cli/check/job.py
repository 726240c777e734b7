"""What one run of `plaudit check` does: load every reward, then check one after the other."""

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from plaudit.checks.check import check
from plaudit.checks.formats.checked import Checked
from plaudit.cli.check.outcomes import arranged, read_outcomes
from plaudit.cli.rewards import find_reward
from plaudit.cli.settings import tuned


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked for."""

    rewards: tuple[str, ...]
    only: tuple[str, ...]
    ignore: tuple[str, ...]
    timeout: float
    limit: float
    params: str | None
    settings: tuple[str, ...]
    outcomes: str | None


def checked_rewards(job: Job, stop: Callable[[], None] = lambda: None) -> list[Checked]:
    """Return a report for each reward; one that cannot be loaded is an error before any is checked.

    `stop` is called after each, and may raise.
    """
    episodes = None if job.outcomes is None else read_outcomes(Path(job.outcomes))
    loaded = {text: tuned(find_reward(text), job.params, job.settings) for text in job.rewards}
    done = []
    with _progress(len(loaded)) as tell:
        for text, reward in loaded.items():
            tell(text)
            outcomes = None if episodes is None else arranged(episodes, reward)
            report = check(
                reward,
                only=job.only,
                ignore=job.ignore,
                outcomes=outcomes,
                timeout=job.timeout,
                limit=job.limit,
            )
            stop()
            file = str(Path.cwd() / text) if Path(text).is_file() else None
            done.append(Checked.of(report, reward, file=file))
    return done


@contextmanager
def _progress(count: int) -> Iterator[Callable[[str], None]]:
    """Give a function that tells what is being checked: on a terminal, where it is one of several."""
    if count == 1 or not _is_terminal():
        yield lambda name: None
        return
    from plaudit.cli.screen import Screen

    numbers = itertools.count(1)
    with Screen(stderr=True).status("") as status:
        yield lambda name: status.update(f"checking {name} ({next(numbers)} of {count})")


def _is_terminal() -> bool:
    return sys.stderr.isatty()
