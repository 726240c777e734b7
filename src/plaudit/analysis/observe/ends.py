"""Ends of episodes: which flag, value or threshold ends them, and after how many steps they are cut off."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plaudit.analysis.observe.rounding import find_round, write_number
from plaudit.analysis.observe.steps import Numbers, Steps
from plaudit.analysis.observe.transitions import Mask
from plaudit.reward.task.statements import Seen

FEWEST_ENDS = 5
FEWEST_LIMITS = 3
CHANCE = 1e-4
"""The chance at which a condition that has nothing to do with the ends would be found."""
BAND = 50
"""Steps just within a threshold, in which ends must not be more common than elsewhere."""
JUMPY = 0.2
"""The share of steps with another action from which on an episode does not go like others."""
LEFT = 0.02
"""The share of ends that may stay unexplained before thresholds are looked at more closely."""


@dataclass(frozen=True)
class Ending:
    """What ends episodes: a function in the language of terms, and the steps of which it is true."""

    name: str
    text: str
    rows: Mask
    rank: int
    """Simpler kinds of conditions come first."""
    column: Numbers | None = None
    """The field, where it is one of numbers."""
    beyond: Numbers | None = None
    """Of a threshold, how far each step is beyond it."""


def find_limit(steps: Steps) -> tuple[int, Seen] | None:
    """Return the number of steps after which the environment itself cuts every episode off."""
    cut = steps.position[steps.transitions.truncated & steps.last]
    longest = int(steps.lengths.max(initial=0))
    if len(cut) < FEWEST_LIMITS or (cut != cut[0]).any() or longest > cut[0]:
        return None
    return int(cut[0]), Seen(len(cut), len(cut), "episodes")


def find_endings(steps: Steps, actions: tuple[str, ...]) -> tuple[list[tuple[Ending, Seen]], tuple[int, Seen] | None]:
    """Return the conditions that end episodes, and the step limit where ends are due to one.

    Each condition was never true of a step that did not end its episode. Flags and categories come first, then numbers;
    of each, the one that explains most of the ends, then the one that explains most of the rest.
    """
    ended = steps.transitions.terminated & steps.last
    total = int(ended.sum())
    if total < FEWEST_ENDS:
        return [], None
    candidates = list(_list_candidates(steps, ended, actions))
    share = max(float(ended.mean()), 1 / len(steps))
    fewest = max(FEWEST_ENDS, math.ceil(math.log(CHANCE / max(len(candidates), 1)) / math.log(min(share, 0.9))))
    left = ended & steps.fresh
    chosen: list[Ending] = []
    for is_named in (True, False):  # what the environment has a name for says more than where something was
        found = _choose(steps, [each for each in candidates if (each.column is None) == is_named], left, fewest)
        for each in found:
            left &= ~each.rows
        chosen += found
    limit = _find_limit_of_ends(steps, left)
    if left.sum() > LEFT * (ended & steps.fresh).sum():
        fresh = steps.fresh  # the same crash again and again says nothing of how common ends are
        chosen = [each for each in chosen if each.beyond is None or _is_sharp(each.beyond[fresh], ended[fresh])]
    endings = [(each, Seen(int((each.rows & ended).sum()), total, "ends")) for each in chosen]
    return endings, limit


def _choose(steps: Steps, candidates: list[Ending], left: Mask, fewest: int) -> list[Ending]:
    """Return the conditions that explain most of the ends that are left, most first."""
    chosen = []
    left = left.copy()
    while candidates:
        best = min(candidates, key=lambda each: (-int((each.rows & left).sum()), each.rank, each.name))
        if (best.rows & left).sum() < fewest:
            break
        candidates.remove(best)
        if _count_ways(steps, best, left) >= fewest:
            chosen.append(best)
            left &= ~best.rows
    return chosen


def _find_limit_of_ends(steps: Steps, left: Mask) -> tuple[int, Seen] | None:
    """Return a step limit that counts as an end, where nothing else explains the longest episodes."""
    longest = int(steps.lengths.max())
    at_limit = left & (steps.position == longest) & ~steps.idle
    jumps = np.bincount(steps.number, steps.jumped) / steps.lengths
    if at_limit.sum() < FEWEST_ENDS or (jumps[steps.number[at_limit]] > JUMPY).sum() < FEWEST_LIMITS:
        return None  # a machine that is treated alike each time may also break after the same number of steps
    whole = steps.lengths == longest
    count = int(whole.sum())
    return longest, Seen(count, count, "episodes")


def _count_ways(steps: Steps, ending: Ending, left: Mask) -> int:
    """Return in how many different ways a field came to where episodes end: the same again says nothing new."""
    numbers = steps.number[ending.rows & left]
    if ending.column is None:
        return len(numbers)
    paths = np.add.reduceat(ending.column, steps.starts)
    return len(np.unique(np.stack((steps.lengths[numbers], paths[numbers])), axis=1).T)


def _is_sharp(beyond: Numbers, ended: Mask) -> bool:
    """Return whether ends are no more common just within a threshold than elsewhere."""
    within = np.flatnonzero(beyond <= 0)
    nearest = within[np.argsort(-beyond[within], kind="stable")[:BAND]]
    expected = float(ended.mean()) * len(nearest)
    return bool(ended[nearest].sum() <= expected + 3 * math.sqrt(expected) + 1)


def _list_candidates(steps: Steps, ended: Mask, actions: tuple[str, ...]) -> Iterator[Ending]:
    """Yield every condition of one field that was never true of a step that did not end its episode."""
    for name, flag in steps.flags.items():
        for value, text in ((True, name), (False, f"not {name}")):
            rows = flag == value
            if rows.any() and not (rows & ~ended).any():
                made = name if value else f"not_{name}"
                yield Ending(made, _write(made, name, text), rows, 0)
    for name, column in steps.categories.items():
        for value in np.unique(column[ended]).tolist():
            rows = column == value
            if not (rows & ~ended).any():
                made = _name(name, value)
                yield Ending(made, _write(made, name, f"{name} == {value!r}"), rows, 1)
    for name, column in steps.changing.items():
        if _is_clock(steps, column):
            continue
        if name not in actions or not steps.is_few[name]:  # numbers of choices have no order
            yield from _list_thresholds(steps, name, column, ended)
        if steps.is_whole[name]:
            yield from _list_values(name, column, ended)


def _list_values(name: str, column: Numbers, ended: Mask) -> Iterator[Ending]:
    for value in np.unique(column[ended]).tolist():
        rows = column == value
        if not (rows & ~ended).any():
            made = _name(name, write_number(value))
            yield Ending(made, _write(made, name, f"{name} == {write_number(value)}"), rows, 3, column)


def _list_thresholds(steps: Steps, name: str, column: Numbers, ended: Mask) -> Iterator[Ending]:
    going_on = column[~ended]
    if not len(going_on):
        return
    sides = [("above", column, name, 1), ("below", -column, name, -1)]
    if column.min() < 0 < column.max():
        sides.append(("outside", np.abs(column), f"abs({name})", 1))
    for side, signed, written, sign in sides:
        largest = float(signed[~ended].max())
        beyond = signed[ended]
        beyond = beyond[beyond > largest]
        if not len(beyond) or (steps.is_whole[name] and (beyond == beyond[0]).all()):
            continue
        bound, strict = _find_threshold(sign * largest, sign * float(beyond.min()), steps.is_whole[name])
        comparison = (">" if sign > 0 else "<") + ("" if strict else "=")
        made = f"{name}_{side}"
        text = _write(made, name, f"{written} {comparison} {write_number(bound)}")
        yield Ending(made, text, signed > largest, 2 if side != "outside" else 4, column, signed - largest)


def _find_threshold(going_on: float, ending: float, whole: bool) -> tuple[float, bool]:
    """Return a round number between the last value that goes on and the first that ends, and whether it goes on."""
    if whole:
        return ending, False
    low, high = min(going_on, ending), max(going_on, ending)
    bound, _ = find_round(low, high)
    return bound, bound != ending


def _is_clock(steps: Steps, column: Numbers) -> bool:
    """Return whether a field only counts the steps of an episode."""
    slope = float(np.ptp(column)) / max(float(np.ptp(steps.position)), 1.0)
    return any(bool(np.ptp(column - sign * slope * steps.position) <= 1e-6 * np.ptp(column)) for sign in (1.0, -1.0))


def _name(field: str, value: str) -> str:
    """Return the name of an end at one value of a field, of letters and digits only."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in f"{field}_is_{value}")


def _write(name: str, parameter: str, text: str) -> str:
    return f"def {name}({parameter}):\n    return {text}\n"
