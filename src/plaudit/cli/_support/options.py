"""Options that several commands share: knob overrides, tasks, times, and filters on records."""

import json
import re
import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from plaudit.errors import DefinitionError, InputError, NotInLedger
from plaudit.plugins.arguments import find_task
from plaudit.plugins.options import Command, add_options
from plaudit.reward.task.fit import refuse_other_fields
from plaudit.rows.streams import FORMATS

if TYPE_CHECKING:
    from plaudit.ledger.history import History
    from plaudit.ledger.ledger import Ledger
    from plaudit.reward.reward import Reward

KNOBS = "Override a knob, weight or clamp; can be repeated."
TASK = "Task to judge by, merged over the reward's own: task.json, file.py:name, package.module:name or a system."
SINCE = "Only records since this time: 2026-11-01, 2026-11-01T12:00Z, 7d, 12h."
UNTIL = "Only records before this time."
LONGEST_TIMEOUT = 3600.0
_MOST_VALUES = 8
"""How many values of an option are listed when none of the records has the one that was asked for."""
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


# -- knobs ------------------------------------------------------------------------------------------------------------


def tuning_options(text: str = KNOBS) -> Callable[[Command], Command]:
    """Return a decorator that adds `--set` and `--params`; `tune` takes them as `settings` and `params`."""
    return lambda command: add_options(
        command,
        click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help=text),
        click.option("--params", metavar="FILE", help="TOML file with overrides; --set takes precedence."),
    )


def tune(reward: "Reward", params: str | None, settings: Sequence[str]) -> "Reward":
    """Return `reward` with the overrides of a TOML file, then those of `settings`."""
    if params is not None:
        reward = reward.with_file(params)
    return reward.with_params(dict(map(parse_setting, settings)))


def parse_setting(setting: str) -> tuple[str, float | bool | list[Any]]:
    """Return the name and value of `--set`.

    >>> parse_setting("comfort.weight=2"), parse_setting("strict = true"), parse_setting("pose.default=[0.5, 2]")
    (('comfort.weight', 2.0), ('strict', True), ('pose.default', [0.5, 2]))
    """
    name, equals, value = (part.strip() for part in setting.partition("="))
    if not equals or not name:
        raise DefinitionError(f"--set {setting}: write NAME=VALUE, as in comfort.weight=2.")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        return name, json.loads(value) if value.startswith("[") else float(value)
    except (ValueError, RecursionError):
        raise DefinitionError(f"--set {setting}: {value!r} is not a number, true, false or a list of them.") from None


# -- tasks ------------------------------------------------------------------------------------------------------------


def task_option(text: str = TASK, **settings: Any) -> Callable[[Command], Command]:
    """Return a decorator that adds `--task`, for `apply_task`."""
    return click.option("--task", metavar="TASK", help=text, is_flag=False, **settings)


def apply_task(reward: "Reward", task: str | None) -> "Reward":
    """Return a reward with the task that `--task` names, merged over its own."""
    if task is None:
        return reward
    given = find_task(task)
    made = reward._join_task(given)
    refuse_other_fields(given, reward)
    return made


# -- files -------------------------------------------------------------------------------------------------------------


def format_option(text: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `--format`, for files whose extension does not tell their format."""
    return click.option("--format", "chosen", type=click.Choice(FORMATS), help=text)


# -- time -------------------------------------------------------------------------------------------------------------


def seconds_option(name: str, default: float, text: str) -> Callable[[Command], Command]:
    """Return a decorator that adds an option for a time of at most an hour."""
    return click.option(
        name,
        metavar="SECONDS",
        type=float,
        default=default,
        show_default=True,
        callback=_check_timeout,
        help=text,
    )


def _check_timeout(ctx: click.Context, option: click.Parameter, seconds: float) -> float:
    if not 0 < seconds <= LONGEST_TIMEOUT:
        raise click.BadParameter(f"{seconds:g} is not in the range 0 < SECONDS <= {LONGEST_TIMEOUT:g}.")
    return seconds


def convert_moment(ctx: click.Context, option: click.Parameter, given: str | None) -> datetime | None:
    """Return the time that an option's text means."""
    if given is None:
        return None
    try:
        return parse_moment(given, datetime.now(UTC))
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(
            f"{given!r} is not a time. Write 2026-11-01, 2026-11-01T12:00 (local time), 2026-11-01T12:00Z, or an "
            "age: 90s, 30m, 12h, 7d, 2w."
        ) from None


def parse_moment(text: str, now: datetime) -> datetime:
    """Return the time that `text` means, a date or an age; without a zone it is local time.

    >>> noon = datetime(2026, 11, 8, 12, tzinfo=UTC)
    >>> parse_moment("7d", noon).isoformat(), parse_moment("2026-11-01T12:00Z", noon).isoformat()
    ('2026-11-01T12:00:00+00:00', '2026-11-01T12:00:00+00:00')
    """
    if ago := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip(), re.ASCII):
        return now - timedelta(**{_UNITS[ago[2]]: float(ago[1])})
    return datetime.fromisoformat(text.strip()).astimezone(UTC)


# -- records ---------------------------------------------------------------------------------------------------------

_QUERY: dict[str, dict[str, Any]] = {
    "reward": {"metavar": "NAME", "help": "Only records of this reward, such as roadsense."},
    "version": {"metavar": "LABEL", "help": "Only records of this version of a reward."},
    "run": {"metavar": "TEXT", "help": "Only records of this run (or mission)."},
    "episode": {"metavar": "TEXT", "help": "Only records of this episode."},
    "step": {"metavar": "NUMBER", "type": int, "help": "Only records of this step."},
    "phase": {"metavar": "TEXT", "help": "Only records of this phase."},
    "decision_class": {"metavar": "TEXT", "help": "Only records of this decision class."},
    "actor": {"metavar": "TEXT", "help": "Only records of this actor."},
    "key": {"metavar": "TEXT", "help": "Only the record with this key."},
    "since": {
        "metavar": "WHEN",
        "callback": convert_moment,
        "help": SINCE,
    },
    "until": {"metavar": "WHEN", "callback": convert_moment, "help": UNTIL},
    "after": {"metavar": "NUMBER", "type": int, "help": "Only records after this record number."},
    "job": {"metavar": "NUMBER", "type": int, "help": "Only records of this re-scoring.  [default: original records]"},
}


def query_options(*, without: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Return a decorator that adds the options that select records."""
    return _add_query_options([name for name in _QUERY if name not in without], lambda text: text)


def ledger_options(*names: str) -> Callable[[Command], Command]:
    """Return a decorator that adds options that select records, to a command whose ledger is optional."""
    return _add_query_options(names, lambda text: f"With --ledger: {text[0].lower()}{text[1:]}")


def _add_query_options(names: Sequence[str], describe: Callable[[str], str]) -> Callable[[Command], Command]:
    options = [
        click.option(f"--{name.replace('_', '-')}", **{**_QUERY[name], "help": describe(_QUERY[name]["help"])})
        for name in names
    ]
    return lambda command: add_options(command, *options)


def explain_nothing(history: "History", *, more: str = "") -> NotInLedger:
    """Return the error for options that match no record: with a suggestion, or with the values that there are."""
    hint = ""
    if (near := history.suggest()) is not None:
        hint = f" Did you mean --{near[0].replace('_', '-')} {shlex.quote(near[1])}?"
    elif (known := history.list_known_values(_MOST_VALUES + 1)) is not None and known[1]:
        values = [shlex.quote(value) for value in known[1][:_MOST_VALUES]]
        rest = ", …" if len(known[1]) > _MOST_VALUES else ""
        hint = f" The ledger has --{known[0].replace('_', '-')} {', '.join(values)}{rest}."
    return NotInLedger(f"No matching records.{hint}{more}")


def check_any_record(ledger: "Ledger", query: dict[str, Any]) -> None:
    """Raise if the given options match no record of a ledger."""
    if query and next(iter(history := ledger.history(**query)), None) is None:
        raise explain_nothing(history)


def parse_query(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, for `Ledger.history`; an impossible value is a usage error."""
    from plaudit.ledger.query import Query

    given = drop_unset(options)
    try:
        Query.parse(given)
    except InputError as error:
        raise click.UsageError(str(error)) from None
    return given


def parse_ledger_query(options: dict[str, Any], ledger: str | None) -> dict[str, Any]:
    """Return the options of `ledger_options` that were given; a usage error if no ledger was."""
    query = parse_query(options)
    if query and ledger is None:
        raise click.UsageError(f"--{next(iter(query))} selects records of a ledger; name it with --ledger.")
    return query


def drop_unset(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None}
