"""Statements that a reward's task leaves open and checks would use, as questions to a person."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from plaudit.checks.model import RewardModel
from plaudit.checks.rules.units import Unit
from plaudit.language.codec import field_to_dict
from plaudit.reward.describe import format_allowed
from plaudit.reward.reward import Reward
from plaudit.reward.task.bound import TaskField
from plaudit.reward.task.text import OpenQuestion, write_field, write_value

_OUTCOMES = ("terminal", "terminated", "truncated", "original_reward")
"""Inputs that need no declaration."""
_TIMES = ("s", "ms", "us", "min", "h", "d", "day", "step", "steps", "frame", "tick")
_OPEN = {"is": "..."}


def list_open_questions(reward: Reward) -> list[OpenQuestion]:
    """Return the statements that a check of this reward would use and that are missing, each with its default.

    >>> from plaudit import Field, term
    >>> @term
    ... def back(distance):
    ...     return distance
    >>> follow = Reward("follow", version="1", terms=[back], fields=[Field("distance", low=0, unit="m")])
    >>> [each.part for each in list_open_questions(follow)]
    ['goal', 'better', 'ends', 'discount', 'horizon', 'events', 'idle', 'fields']
    """
    model = RewardModel(reward)
    inputs = {each.name: each for each in reward._bound.inputs.values()}
    read = [each for name, each in inputs.items() if name not in (*_OUTCOMES, *reward.states)]
    met = [each for each in read if model.role(each) != "action"]
    asked = [
        *_ask_values(reward, met),
        _ask_wishes(reward, met),
        _ask_ends(reward, met),
        *_ask_roles(model, met),
        _ask_idle(reward, read),
        _ask_rates(reward, met),
        _ask_ranges(reward, read),
    ]
    order = ("goal", "better", "ends", "discount", "horizon", "states", "events", "idle", "rates", "fields")
    return sorted((each for each in asked if each is not None), key=lambda each: order.index(each.part))


def _ask_values(reward: Reward, fields: Sequence[TaskField]) -> Iterator[OpenQuestion]:
    task = reward.task
    if task.goal is None:
        example = f"def done({fields[0].name if fields else 'field'}): return ..."
        yield OpenQuestion("goal", "a function of a step that is true when the task is done", {"when": example})
    if task.discount is None:
        yield OpenQuestion("discount", "the discount factor; checks assume 1", _OPEN)
    if task.horizon is None:
        yield OpenQuestion("horizon", "the maximum number of steps in an episode; checks assume no limit", _OPEN)


def _ask_wishes(reward: Reward, fields: Sequence[TaskField]) -> OpenQuestion | None:
    said = {*reward.task.better, *reward.task.aim, *reward.task.ends}
    left = [each for each in fields if each.kind != "category" and each.name not in said]
    asks = '"low" or "high", all else equal; or aim={"field": number}; omit fields that do not matter'
    entries = {f"{write_value(each.name)}: ...": _describe(each) for each in left}
    return OpenQuestion("better", asks, {each.name: _OPEN for each in left}, entries) if left else None


def _ask_ends(reward: Reward, fields: Sequence[TaskField]) -> OpenQuestion | None:
    known = reward.task.ends
    if any(end.sign != "time" for end in known.values()):
        unsigned = [name for name, end in known.items() if end.sign is None]
        return OpenQuestion("ends", "good, bad or time?", dict.fromkeys(unsigned, _OPEN)) if unsigned else None
    flags = [
        each.name for each in fields if each.kind == "flag" and not each.shape and each.name not in reward.task.ends
    ]
    asks = 'how episodes end: "good", "bad" or "time"'
    if flags:
        entries = {f"{write_value(each)}: ...": "" for each in flags}
        return OpenQuestion("ends", asks, dict.fromkeys(flags, _OPEN), entries)
    example = {"fallen": {"is": "bad", "when": "def too_low(height): return ..."}}
    return OpenQuestion("ends", asks, example, {'"fallen": ("bad", too_low)': "with a function of a step"})


def _ask_roles(model: RewardModel, fields: Sequence[TaskField]) -> Iterator[OpenQuestion]:
    unsaid = [each for each in fields if model.reward.task.find_role(each.name) is None]
    lasting = [each.name for each in unsaid if model.role(each) == "state"]
    passing = [each.name for each in unsaid if model.role(each) == "event"]
    if lasting:
        entries = {write_value(each): "" for each in lasting}
        yield OpenQuestion(
            "states", "fields that persist; checks assume these", {each: {} for each in lasting}, entries
        )
    if passing:
        asks = "fields that happen in single steps, with the maximum count per episode; checks assume these"
        entries = {f"{write_value(each)}: None": "" for each in passing}
        yield OpenQuestion("events", asks, {each: {} for each in passing}, entries)


def _ask_idle(reward: Reward, fields: Sequence[TaskField]) -> OpenQuestion | None:
    rest = {each.name: each.as_declared(each.at_rest) for each in fields if not each.shape}
    if reward.task.idle or not rest:
        return None
    entries = {f"{write_value(name)}: {write_value(value)}": "" for name, value in rest.items()}
    asks = "the inputs while an agent does nothing; these are the fields at rest"
    return OpenQuestion("idle", asks, {name: {"is": value} for name, value in rest.items()}, entries)


def _ask_rates(reward: Reward, fields: Sequence[TaskField]) -> OpenQuestion | None:
    """Ask for the fields whose unit is that of another one by some time: by their names nothing is guessed."""
    entries: dict[str, str] = {}
    answer: dict[str, Any] = {}
    numbers = [each for each in fields if each.kind == "number"]
    for each in numbers:
        unit = Unit.read(each.unit) if each.unit else None
        if unit is None or each.name in reward.task.rates:
            continue
        near = [other.name for other in numbers if other.shape in ((), each.shape) and _is_rate(other, unit)]
        if near:
            answer[each.name] = {"rate": near[0]}
            others = [write_value(name) for name in near[1:]]
            entries[f"{write_value(each.name)}: {write_value(near[0])}"] = f"or {', or '.join([*others, 'not'])}"
    asks = "is one field the rate of change of the other? Their units allow it"
    return OpenQuestion("rates", asks, answer, entries) if entries else None


def _is_rate(field: TaskField, unit: Unit) -> bool:
    own = Unit.read(field.unit) if field.unit else None
    return own is not None and any(own.times(Unit.of({time: 1})).expanded() == unit.expanded() for time in _TIMES)


def _ask_ranges(reward: Reward, fields: Sequence[TaskField]) -> OpenQuestion | None:
    entries: dict[str, str] = {}
    answer: dict[str, Any] = {}
    for each in fields:
        sides = {side: "..." for side in ("low", "high") if getattr(each, side) is None}
        if sides and each.kind == "number" and not each.values and each.name not in reward.task.fields:
            declared = replace(reward.fields[each.name], doc="", missing=None)
            answer[each.name] = {key: part for key, part in field_to_dict(declared).items() if key != "name"} | sides
            entries[write_field(declared, **sides)] = ""
    asks = "ranges for checks only: the reward leaves a side open"
    return OpenQuestion("fields", asks, answer, entries) if entries else None


def _describe(field: TaskField) -> str:
    what = 'a flag: "low" is false' if field.kind == "flag" else f"{format_allowed(field)} {field.unit}"
    return " ".join(what.split())
