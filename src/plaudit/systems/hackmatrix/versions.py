"""The game's reward by version: as specified, and repaired."""

from plaudit import Reward, term
from plaudit.systems.hackmatrix.rewards import Player, reward
from plaudit.systems.versions import checked_label


@term(weight=0.05, kind="shaping", name="distance_shaping")
def both_ways(prev: Player, curr: Player, stage_completed: bool) -> float:
    """Come closer to the exit, in cells; going away costs as much."""
    left = 0.0 if stage_completed else curr.exit_distance  # the exit was reached: `curr` is on the next board already
    return prev.exit_distance - left


potential = Reward(
    reward.name,
    version="potential",
    terms=[both_ways if each.name == both_ways.name else each for each in reward.terms],
    fields=reward.fields.values(),
    action=reward.action,
    params=reward.shared,
    facts=reward.facts,
    doc="1.0.0 repaired: on a board, the distance to the exit pays what it fell by, so no walk in a circle pays.",
)

_REWARDS = {each.version: each for each in (reward, potential)}

VERSIONS = tuple(_REWARDS)
"""The labels of all versions, the default first."""


def version(label: str) -> Reward:
    """Return the reward of the game in the version called `label`.

    >>> version("1.0.0").name
    'hackmatrix'
    """
    return _REWARDS[checked_label("hackmatrix", label, VERSIONS)]
