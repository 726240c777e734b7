"""How fields move: what idling keeps, what only rises or falls, and the most that a step changes."""

import numpy as np

from plaudit.analysis.observe.rounding import list_shorter
from plaudit.analysis.observe.steps import Numbers, Steps
from plaudit.analysis.observe.transitions import Mask
from plaudit.reward.task.statements import Monotone, Rate, Seen

FEWEST_IDLE = 50
FEWEST_BEGUN = 5
FEWEST_CHANGES = 30
FEWEST_EPISODES = 5
FEWEST_AT_BOUND = 30
SMOOTH = 0.5
"""The correlation of one change with the next above which changes count as one motion; of less and less change with how
far a field got, below which it tends to somewhere."""


def find_still(
    steps: Steps, states: tuple[str, ...], rates: dict[str, Rate], actions: tuple[str, ...]
) -> dict[str, tuple[bool, Seen]]:
    """Return the states that doing nothing kept as they were, in circumstances varied enough to say so.

    Something that is only kept while something else happens to be at rest (a position while the speed is 0) does not
    count: either idling often began in the middle of episodes, or what else varies was seen to vary while idling. Of
    what earlier actions set in motion, idling from the beginning on says nothing.
    """
    idle = steps.idle
    found = {}
    begun = idle & ~np.concatenate(([False], idle[:-1])) & (steps.position > 1)
    amid = begun.sum() >= FEWEST_IDLE
    if begun.sum() < FEWEST_BEGUN or idle.sum() < FEWEST_IDLE or steps.count_episodes(idle) < 3:
        return {}
    frozen = [] if amid else [name for name in states if _is_frozen(steps, name, idle)]
    for name in states:
        if frozen and frozen != [name]:
            continue
        if name in rates and rates[name].rate not in actions:
            continue
        after = steps.scalars[name]
        before, known = steps.find_before(name)
        rows = idle & known
        if rows.sum() < FEWEST_IDLE or (before[rows] != after[rows]).any():
            continue
        moved = known & ~idle & (before != after)
        values, counts = np.unique(before[rows], return_counts=True)
        apart = counts.sum() - counts.max()
        if moved.sum() < FEWEST_CHANGES or apart < FEWEST_IDLE or (len(values) < 3 and len(np.unique(after)) > 2):
            continue
        found[name] = True, Seen(int(rows.sum()), int(rows.sum()), "idle steps")
    return found


def _is_frozen(steps: Steps, name: str, idle: Mask) -> bool:
    """Return whether a field varies, and hardly does so while idling."""
    column = steps.scalars[name]
    if (column == column[0]).all():
        return False
    _, counts = np.unique(column[idle], return_counts=True)
    return bool(counts.sum() - counts.max() < FEWEST_IDLE)


def find_monotone(steps: Steps, states: tuple[str, ...]) -> dict[str, tuple[Monotone, Seen]]:
    """Return the fields that only rise or only fall during episodes, where they had the chance to do otherwise."""
    found: dict[str, tuple[Monotone, Seen]] = {}
    for name in states:
        if name not in steps.changing:
            continue
        before, known = steps.find_before(name)
        level = steps.changing[name]
        change = np.where(known, level - before.astype(np.float64), 0.0)
        changed = change != 0
        if changed.sum() < FEWEST_CHANGES or steps.count_episodes(changed) < FEWEST_EPISODES:
            continue
        count = int(changed.sum())
        if (change >= 0).all() and _had_the_chance(steps, change, level, known):
            found[name] = "up", Seen(count, count, "changes")
        elif (change <= 0).all() and _had_the_chance(steps, -change, -level, known):
            found[name] = "down", Seen(count, count, "changes")
    return found


def _had_the_chance(steps: Steps, change: Numbers, level: Numbers, known: Mask) -> bool:
    """Return whether changes of the other sign would have been seen.

    A field that slows down the further it gets tends to somewhere, and turns around beyond, unless it was seen to come
    to rest there. What moves with momentum keeps its direction for a while, so that many steps say little: there a
    change must often have come down to about 0 and grown again without passing it.
    """
    small = 0.05 * change.max()
    pairs = known[1:] & known[:-1] & steps.jumped[1:]
    now, then = change[1:][pairs], change[:-1][pairs]
    if np.ptp(change[known]) <= 1e-6 * change.max() or len(now) < 3:
        return True
    if change[known].min() > small and _correlate(level[known], change[known]) < -SMOOTH:
        return False
    if _correlate(now, then) <= SMOOTH:
        return True
    came_down = (then > small) & (now <= small)
    return bool(came_down.sum() >= FEWEST_AT_BOUND)


def _correlate(a: Numbers, b: Numbers) -> float:
    spread = float(a.std() * b.std())
    return float(((a - a.mean()) * (b - b.mean())).mean()) / spread if spread > 0 else 0.0


def find_max_change(steps: Steps, states: tuple[str, ...]) -> dict[str, tuple[float, Seen]]:
    """Return the largest change in a step where many steps changed by exactly that, so that it looks like a limit."""
    found = {}
    for name in states:
        if name not in steps.changing:
            continue
        after = steps.changing[name]
        before, known = steps.find_before(name)
        before = before.astype(np.float64)
        change = np.where(known, np.abs(after - before), 0.0)
        most = float(change.max())
        noise = 8 * steps.precision[name] * float(np.abs(after).max())
        if most <= 20 * noise or most >= np.ptp(after) * (1 - 1e-6):
            continue
        at_most = change >= most - noise
        below = change[(change > noise) & ~at_most]
        next_level = int((below >= below.max() - noise).sum()) if len(below) else 0
        if at_most.sum() < max(FEWEST_AT_BOUND, next_level / 2):
            continue
        times = len(np.unique(steps.position[at_most & steps.fresh]))
        if steps.count_episodes(at_most & steps.fresh) < FEWEST_EPISODES or times < FEWEST_EPISODES:
            continue
        found[name] = _shorten(most, noise), Seen(int(known.sum()), int(known.sum()))
    return found


def _shorten(value: float, noise: float) -> float:
    """Return the shortest number that is `value` but for rounding errors."""
    near = [shorter for shorter in list_shorter(value) if abs(shorter - value) <= noise]
    return near[0]
