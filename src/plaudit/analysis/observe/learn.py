"""Learning a task from steps that happened: every statement says in how many of how many cases it was seen."""

from collections.abc import Mapping
from typing import Any

from plaudit.analysis.observe.ends import find_endings, find_limit
from plaudit.analysis.observe.implications import find_implications
from plaudit.analysis.observe.motion import find_max_change, find_monotone, find_still
from plaudit.analysis.observe.ranges import find_fields, find_idle, find_start
from plaudit.analysis.observe.rates import find_rates
from plaudit.analysis.observe.relations import find_relations
from plaudit.analysis.observe.roles import find_actions, find_events, find_states
from plaudit.analysis.observe.steps import Steps, sort_steps
from plaudit.analysis.observe.transitions import Transitions
from plaudit.errors import InputError
from plaudit.reward.task.functions import parse_function
from plaudit.reward.task.statements import End, Seen
from plaudit.reward.task.task import Task


def learn_task(transitions: Transitions, *, name: str, version: str = "observed") -> Task:
    """Return what was seen in `transitions` as a task; the order of episodes does not matter.

    A statement is written where enough steps could have contradicted it and none did; only a rate may have exceptions,
    which its count shows. Whether an end is good or bad is left for a person to say.

    Raises:
        InputError: There are no steps.
    """
    if not len(transitions):
        raise InputError(f"task {name!r}: there are no steps to learn from")
    steps = sort_steps(transitions)
    found = _find_statements(steps)
    seen = {
        f"{part}.{key}" if key else part: each for part, entries in found.items() for key, (_, each) in entries.items()
    }
    said = {part: {key: value for key, (value, _) in entries.items()} for part, entries in found.items()}
    arguments: dict[str, Any] = {**said, "facts": list(said["facts"].values()), "fields": list(said["fields"].values())}
    for part in ("states", "actions", "still"):
        arguments[part] = tuple(said[part])
    arguments["horizon"] = said["horizon"].get("")
    return Task(name, version=version, seen=seen, source=transitions.source, **arguments)


def _find_statements(steps: Steps) -> dict[str, Mapping[str, tuple[Any, Seen]]]:
    """Return by the parameters of `Task` what is said of whom, and how often it was seen."""
    actions = find_actions(steps)
    events = find_events(steps, actions)
    states = find_states(steps, {*actions, *events})
    names = tuple(states)
    rates = find_rates(steps, actions)
    relations = find_relations(steps, actions)
    relations += find_implications(steps, actions, relations)
    ends, horizon = _find_ends(steps, actions)
    every = Seen(len(steps), len(steps))
    return {
        "fields": find_fields(steps),
        "states": states,
        "actions": dict.fromkeys(actions, (True, every)),
        "events": events,
        "idle": find_idle(steps),
        "start": find_start(steps, {*actions, *events}),
        "rates": rates,
        "max_change": find_max_change(steps, names),
        "monotone": find_monotone(steps, names),
        "still": find_still(steps, names, {key: rate for key, (rate, _) in rates.items()}, actions),
        "ends": ends,
        "horizon": horizon,
        "facts": {each.name: (parse_function(each.text, "fact"), each.seen) for each in relations},
    }


def _find_ends(
    steps: Steps, actions: tuple[str, ...]
) -> tuple[dict[str, tuple[End, Seen]], dict[str, tuple[int, Seen]]]:
    endings, limit_of_ends = find_endings(steps, actions)
    ends = {}
    for ending, seen in endings:
        when = None if ending.name in steps.flags else parse_function(ending.text, "ends")
        ends[ending.name] = End(None, when), seen
    limit = find_limit(steps) or limit_of_ends
    if limit is None:
        return ends, {}
    if "timeout" not in ends:
        ends["timeout"] = End("time"), limit[1]
    return ends, {"": limit}
