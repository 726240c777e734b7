"""Roles of fields: what persists, what happens in single steps and how often, and what the agent chooses."""

import numpy as np

from plaudit.analysis.observe.steps import Steps
from plaudit.analysis.observe.transitions import Column, Mask
from plaudit.reward.task.statements import Event, Seen

FEWEST_EVENTS = 20
FEWEST_EPISODES = 5
LEAST_AT_REST = 0.7
"""The share of steps in which an event does not happen."""
MOST_AGAIN = 0.4
"""The share of events that are followed by another in the next step; what stays on for longer is a state."""
EXPECTED = 10.0
"""How many more events than were seen must be expected, by those that were, before their absence says anything."""
FEWEST_STEPS = 100
LARGEST_STEP = 0.8
"""How far a state moves in a step at most, as a share of how far it is from what it was at another time."""


def find_actions(steps: Steps) -> tuple[str, ...]:
    """Return the fields that are the action, or an entry of it."""
    named = steps.transitions.action_names
    actions = steps.transitions.actions
    if named or actions is None or not len(steps):
        return tuple(sorted(named))
    entries = actions.reshape(len(steps), -1).T
    same = [n for n, column in steps.scalars.items() if any(_is_same(column, entry) for entry in entries)]
    return tuple(sorted(same))


def _is_same(column: Column, entry: Column) -> bool:
    both_numbers = column.dtype.kind in "fiu" and entry.dtype.kind in "fiu"
    return (both_numbers or column.dtype.kind == entry.dtype.kind) and bool((column == entry).all())


def find_events(steps: Steps, actions: tuple[str, ...]) -> dict[str, tuple[Event, Seen]]:
    """Return the flags and numbers that are mostly False or 0 and happen in single steps, with how often."""
    found = {}
    for name, column in {**steps.flags, **steps.numbers}.items():
        if name in actions:
            continue
        happened: Mask = column != 0
        count = int(happened.sum())
        if any(_is_decided(steps, happened, action) for action in actions):
            continue
        if count < FEWEST_EVENTS or happened.mean() > 1 - LEAST_AT_REST or steps.count_episodes(happened) < 3:
            continue
        if not _is_single(steps, happened):
            continue
        event = Event(_find_at_most(steps, happened), _find_renewal(steps, happened), float(f"{happened.mean():.3g}"))
        found[name] = event, Seen(count, len(steps))
    return found


def _is_decided(steps: Steps, happened: Mask, action: str) -> bool:
    """Return whether something happens with certain choices and with no others: then it is the choice."""
    if not steps.is_few.get(action):
        return False
    chosen = np.unique(steps.numbers[action], return_inverse=True)[1]
    share = np.bincount(chosen, happened) / np.bincount(chosen)
    return bool(((share == 0) | (share == 1)).all())


def _is_single(steps: Steps, happened: Mask) -> bool:
    """Return whether events are over in the next step, unless the agent goes on with what brought them about."""
    again = happened[1:][happened[:-1] & steps.jumped[1:]]
    if len(again) < FEWEST_EVENTS // 2:
        again = happened[1:][happened[:-1] & (steps.position[1:] > 1)]
    return not len(again) or float(again.mean()) <= MOST_AGAIN


def _find_at_most(steps: Steps, happened: Mask) -> int | None:
    """Return the most times in an episode, where more would have been seen if there could be more."""
    counts = np.bincount(steps.number[happened], minlength=len(steps.starts))
    most = int(counts.max())
    full = (counts == most) & ~steps.is_copy
    if full.sum() < FEWEST_EPISODES:
        return None
    so_far = np.cumsum(happened)
    so_far = so_far - np.repeat(so_far[steps.starts] - happened[steps.starts], steps.lengths)
    is_full: Mask = so_far == most
    open_rows = ~is_full | happened  # rows in which one more could happen, or the last one did
    if (steps.last[happened]).all() and most == 1:
        ends = steps.transitions.terminated[happened].all()
        return 1 if ends else None
    expected = 0.0
    for rows in _split_by_manner(steps):
        if exposed := int((open_rows & rows).sum()):
            expected += float((is_full & ~happened & rows).sum()) * float((happened & rows).sum()) / exposed
    return most if expected >= EXPECTED else None


def _split_by_manner(steps: Steps) -> list[Mask]:
    """Return the rows of episodes by how often the action jumps, at times or mostly; events may depend on that.

    Where it never does, what is over may be so because nothing else was tried.
    """
    jumps = (np.bincount(steps.number, steps.jumped) / np.maximum(steps.lengths - 1, 1))[steps.number]
    return [(jumps > 0) & (jumps < 0.5), jumps >= 0.5]


def _find_renewal(steps: Steps, happened: Mask) -> int | None:
    """Return the fewest steps from one event to the next, where shorter gaps would have been seen."""
    rows = np.flatnonzero(happened)
    same = steps.number[rows][1:] == steps.number[rows][:-1]
    gaps = np.diff(rows)[same]
    if len(gaps) < FEWEST_EVENTS:
        return None
    least = int(gaps.min())
    at_least = np.flatnonzero(gaps == least)
    if least < 2 or len(at_least) < FEWEST_EPISODES or len(np.unique(steps.number[rows[1:][same][at_least]])) < 3:
        return None
    waiting = float((gaps - least + 1).sum())  # steps in which the next one could have happened
    hazard = min(len(gaps) / waiting, 1.0)
    expected = len(gaps) * (1 - (1 - hazard) ** (least - 1))
    return least if expected >= EXPECTED else None


def find_states(steps: Steps, others: set[str]) -> dict[str, tuple[bool, Seen]]:
    """Return the fields that persist: from one step to the next they change less than over the episode.

    Where the action jumps, so that a field that only follows the action does not look like one that persists.
    """
    found = {}
    for name, column in steps.scalars.items():
        before, known = steps.find_before(name)
        rows = known & steps.jumped
        if name in others or rows.sum() < FEWEST_STEPS or (column == column[0]).all():
            continue
        if name in steps.numbers:
            values = steps.numbers[name]
            near = np.abs(values - before.astype(np.float64))
            apart = np.mean([np.abs(values - other) for other in _draw_others(steps, values)], axis=0)
            kept = known & (near <= apart)
            persists = near[rows].mean() <= LARGEST_STEP * apart[rows].mean()
        else:
            kept = known & (before == column)
            chance = np.mean([(column == other)[rows].mean() for other in _draw_others(steps, column)])
            persists = 1 - kept[rows].mean() <= LARGEST_STEP * (1 - chance)
        if persists:
            found[name] = True, Seen(int(kept.sum()), int(known.sum()))
    return found


def _draw_others(steps: Steps, column: Column) -> list[Column]:
    """Return for each row values of other rows of the same episode: some fixed shares of it later, around the end."""
    lengths = np.repeat(steps.lengths, steps.lengths)
    starts = np.repeat(steps.starts, steps.lengths)
    shifts = [np.maximum(1, (lengths * share).astype(np.int64)) for share in (0.31, 0.5, 0.77)]
    return [column[starts + (steps.position - 1 + shift) % lengths] for shift in shifts]
