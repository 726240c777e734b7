"""Options that name an environment, its settings, its features and the time to spend on it."""

import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import click

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.plugins.arguments import find_beside, find_function, load_module, open_ledger
from plaudit.plugins.options import Command

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def budget_option(
    text: str = "Time limit (90s, 5m, 1h) or steps (200000); only steps are reproducible.", default: str | None = "1m"
) -> Callable[[Command], Command]:
    """Return a decorator that adds `--budget`: `seconds` or `steps` in a dictionary, or None if omitted."""
    return click.option(
        "--budget",
        metavar="TIME|STEPS",
        callback=_parse_budget,
        default=default,
        show_default=default is not None,
        help=text,
    )


def _parse_budget(ctx: click.Context, option: click.Parameter, text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    time = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip(), re.ASCII)
    if time and float(time[1]) > 0:
        return {"seconds": float(time[1]) * _UNITS[time[2]]}
    digits = re.sub("[_,]", "", text.strip())
    if re.fullmatch(r"0*[1-9]\d*", digits, re.ASCII):
        return {"steps": int(digits)}
    raise click.BadParameter(f"{text!r} is neither a time (90s, 5m, 1h) nor a number of steps (200000).")


def find_features(text: str | None, beside: str | None = None) -> Any:
    """Return the function that `--features` names, or `features` beside a reward if it is omitted."""
    if text is None:
        return None if beside is None else find_beside(beside, "features")
    return find_function(f"{text}:features" if text.endswith(".py") else text)


def make_option() -> Callable[[Command], Command]:
    """Return a decorator that adds `--make`; `parse_option` parses its `options`."""
    text = "Keyword argument for ENV; can be repeated."
    return click.option("--make", "options", metavar="NAME=VALUE", multiple=True, help=text)


def find_environment(text: str) -> Any:
    """Return what `text` names in a Python file or module, or `text` itself: the id of a Gymnasium environment."""
    place, _, name = text.rpartition(":")
    if not place:
        return text
    module = load_module(place)
    if hasattr(module, name):
        return getattr(module, name)
    if place.endswith(".py"):
        raise DefinitionError(f"{place} has no {name!r}.{did_you_mean(name, dir(module))}")
    return text


def parse_option(text: str) -> tuple[str, Any]:
    """Return the name and value of `--make`; a value that is not JSON is a string.

    >>> parse_option("assist=false"), parse_option("scenario=late")
    (('assist', False), ('scenario', 'late'))
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name.isidentifier():
        raise click.UsageError(f"--make {text}: write NAME=VALUE, as in gravity=-5.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def find_reference(text: str, stack: ExitStack) -> Any:
    """Return the policy or the recorded episodes that `--reference` names."""
    where, mark, run = text.rpartition("#")
    if not mark:
        place, _, name = text.rpartition(":")
        if not place or not name:
            raise DefinitionError(f"--reference {text}: write a policy as file.py:name, or episodes as LEDGER#run.")
        return find_environment(text)
    if not where or not run:
        raise DefinitionError(f"--reference {text}: write episodes as LEDGER#run, or LEDGER#run/actor.")
    ledger = stack.enter_context(open_ledger(where))
    if "/" in run and run not in {each.run for each in ledger.runs()}:
        run, _, actor = run.rpartition("/")
        return ledger.history(run=run, actor=actor)
    return ledger.history(run=run)
