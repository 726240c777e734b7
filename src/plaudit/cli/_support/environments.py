"""How a command names an environment, and the options it is made with."""

import json
from collections.abc import Callable
from typing import Any

import click

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.plugins.arguments import load_module
from plaudit.plugins.options import Command


def make_option() -> Callable[[Command], Command]:
    """Return what adds `--make`, whose texts `parse_option` takes, as `options`."""
    text = "An option of ENV; can be repeated."
    return click.option("--make", "options", metavar="NAME=VALUE", multiple=True, help=text)


def find_environment(text: str) -> Any:
    """Return what `text` names in a file or module of Python; where that has no such name, it is an id of Gymnasium."""
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
    """Return the name and the value of `--make`; a value that is not JSON is a string.

    >>> parse_option("assist=false"), parse_option("scenario=late")
    (('assist', False), ('scenario', 'late'))
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name.isidentifier():
        raise click.UsageError(f"--make {text}: write the name of an option and its value, as in gravity=-5.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
