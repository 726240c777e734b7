"""Logs of other tools on a command line: which scores make the total, and under which run they are recorded."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plaudit.errors import DefinitionError
from plaudit.plugins.options import Command, add_options

if TYPE_CHECKING:
    from plaudit.adapters.logs.log import Log

_SUFFIXES = (".eval", ".json", ".jsonl", ".parquet")


def score_option(command: Command) -> Command:
    """Add `--score`, for `parse_scores`."""
    text = "With a log: a score that is part of its total; can be repeated."
    return add_options(command, click.option("--score", "scores", metavar="NAME[=WEIGHT]", multiple=True, help=text))


def parse_scores(given: Sequence[str]) -> dict[str, float] | None:
    """Return the weights of scores by name; None if there are none.

    >>> parse_scores(["right", "brief=0.5"]), parse_scores([])
    ({'right': 1.0, 'brief': 0.5}, None)
    """
    found: dict[str, float] = {}
    for each in given:
        name, _, weight = each.rpartition("=") if "=" in each else (each, "", "1")
        try:
            found[name.strip()] = float(weight)
        except ValueError:
            weight = "nan"
        if not name.strip() or not math.isfinite(float(weight)):
            raise DefinitionError(f"--score {each}: write NAME or NAME=WEIGHT, as in right=2.")
    return found or None


def find_log(where: str) -> "Log | None":
    """Return the log of rollouts that an argument names; None if it names something else."""
    path = Path(where)
    if not path.is_dir() and path.suffix.lower() not in _SUFFIXES:
        return None
    from plaudit.adapters.logs import find

    return find.find_log(path)
