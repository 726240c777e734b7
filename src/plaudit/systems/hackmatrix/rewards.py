"""What one step of the game earns: fifteen components in the order of their sum, as specified and repaired."""

from itertools import accumulate
from typing import Any, Protocol

from plaudit import Field, Reward, Task, term
from plaudit.plugins.registry import validate_label
from plaudit.systems.hackmatrix.rules import ACTION_PROGRAM_START, ACTION_SIPHON, ACTIONS, MAX_HP, PROGRAM_RESET, STAGES

__all__ = [
    "ACTION_PROGRAM_START",
    "ACTION_SIPHON",
    "EARNED_BEFORE_STAGE",
    "PROGRAM_RESET",
    "STAGE_COMPLETION_REWARDS",
    "VERSIONS",
    "Player",
    "episode",
    "potential",
    "reward",
    "task",
    "version",
]

STAGE_COMPLETION_REWARDS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0)
"""What completing stage 1, 2, … 8 pays."""

EARNED_BEFORE_STAGE = tuple(accumulate(STAGE_COMPLETION_REWARDS[:-1], initial=0.0))
"""What all the stages before stage 1, 2, … 8 paid together."""


class Player(Protocol):
    """What the reward reads of the player, before and after a step."""

    score: float
    hp: float
    credits: float
    energy: float
    exit_distance: float


@term(weight=-0.01, kind="penalty")
def step_penalty() -> float:
    """Take a step, whatever it does."""
    return 1.0


@term(kind="goal")
def stage_completion(stage: int, stage_completed: bool) -> float:
    """Complete a stage; later ones pay more."""
    return STAGE_COMPLETION_REWARDS[stage - 1] if stage_completed else 0.0


@term(weight=0.5, kind="bonus")
def score_gain(prev: Player, curr: Player) -> float:
    """Gain points; losing them again costs as much."""
    return curr.score - prev.score


@term(weight=0.3, kind="bonus")
def kills(kills: float) -> float:
    """Destroy enemies and transmissions by one's own action."""
    return kills


@term(weight=1.0, kind="bonus")
def data_siphon(picked_up: bool) -> bool:
    """Walk onto a data siphon."""
    return picked_up


@term(weight=0.05, kind="shaping")
def distance_shaping(prev: Player, curr: Player, stage_completed: bool, died: bool) -> float:
    """Come closer to the exit, in cells; going away costs nothing."""
    if died:
        return 0.0
    if stage_completed:  # the exit was reached: `curr` is on the next board already
        return prev.exit_distance
    return max(0.0, prev.exit_distance - curr.exit_distance)


@term(kind="goal")
def victory(curr: Player, won: bool, *, bonus: float = 500.0, per_point: float = 100.0) -> float:
    """Win the game, better with a high score."""
    return bonus + per_point * curr.score if won else 0.0


@term(weight=-0.5, kind="penalty")
def death_penalty(stage: int, died: bool) -> float:
    """Die: what the stages before this one paid is partly lost."""
    return EARNED_BEFORE_STAGE[stage - 1] if died else 0.0


@term(kind="bonus")
def resource_gain(prev: Player, curr: Player, *, credit_value: float, energy_value: float) -> float:
    """Gain credits and energy; spending them costs as much."""
    return credit_value * (curr.credits - prev.credits) + energy_value * (curr.energy - prev.energy)


@term(kind="bonus")
def resource_holding(
    curr: Player, stage_completed: bool, *, per_credit: float = 0.01, per_energy: float = 0.01
) -> float:
    """Complete a stage with credits and energy in hand."""
    return per_credit * curr.credits + per_energy * curr.energy if stage_completed else 0.0


@term(weight=-1.0, kind="penalty")
def damage_penalty(prev: Player, curr: Player) -> float:
    """Lose hit points."""
    return max(0.0, prev.hp - curr.hp)


@term(weight=1.0, kind="bonus")
def hp_recovery(prev: Player, curr: Player) -> float:
    """Regain hit points."""
    return max(0.0, curr.hp - prev.hp)


@term(weight=-0.5, kind="penalty")
def siphon_quality(
    action: int, missed_credits: float, missed_energy: float, *, credit_value: float, energy_value: float
) -> float:
    """Siphon where another cell gives the same and more: the value that was missed."""
    if action != ACTION_SIPHON:
        return 0.0
    return credit_value * missed_credits + energy_value * missed_energy


@term(weight=-0.3, kind="penalty")
def program_waste(prev: Player, action: int) -> bool:
    """Run RESET for a single hit point."""
    return action == ACTION_PROGRAM_START + PROGRAM_RESET and prev.hp == 2


@term(weight=-10.0, kind="penalty")
def siphon_death_penalty(died: bool, siphon_death: bool) -> bool:
    """Die next to an enemy that siphoning let in."""
    return died and siphon_death


def game_is_won(won: bool) -> bool:
    """The last stage is completed."""
    return won


task = Task(
    "hackmatrix",
    goal=game_is_won,
    better={
        "score": "high",
        "hp": "high",
        "exit_distance": "low",
        "won": "high",
        "died": "low",
        "missed_credits": "low",
        "missed_energy": "low",
    },
    ends={"won": "good", "died": "bad"},
    states=["score", "hp", "credits", "energy", "exit_distance", "stage"],
    events=[
        *("kills", "picked_up", "stage_completed", "won", "died"),
        *("siphon_death", "missed_credits", "missed_energy"),
    ],
    max_change={"exit_distance": 1},
    monotone={"stage": "up"},
    doc="Clear eight stages alive, with as many points as can be had.",
)
"""What is wanted of a player, and what can happen in a game."""

reward = Reward(
    "hackmatrix",
    version="1.0.0",
    terms=[
        step_penalty,
        stage_completion,
        score_gain,
        kills,
        data_siphon,
        distance_shaping,
        victory,
        death_penalty,
        resource_gain,
        resource_holding,
        damage_penalty,
        hp_recovery,
        siphon_quality,
        program_waste,
        siphon_death_penalty,
    ],
    fields=[
        Field("score", low=0, high=1000, doc="Points of the game."),
        Field("hp", low=0, high=MAX_HP, doc="Hit points; 0 is death."),
        Field("credits", low=0, high=500, doc="One of two currencies."),
        Field("energy", low=0, high=500, doc="The other currency."),
        Field(
            "exit_distance",
            low=0,
            high=35,
            unit="cells",
            doc="Steps to the exit round all blocks.",
        ),
        Field(
            "stage",
            values=tuple(range(1, STAGES + 1)),
            doc="The stage the step was taken on.",
        ),
        Field("action", values=tuple(range(ACTIONS)), doc="0–3 directions, 4 siphon, 5–27 programs."),
        Field("kills", low=0, high=72, doc="Enemies and transmissions the action destroyed."),
        Field("picked_up", flag=True, doc="The player walked onto a data siphon."),
        Field("stage_completed", flag=True, doc="The player reached the exit."),
        Field("won", flag=True, doc="The last stage was completed."),
        Field("died", flag=True, doc="The player has no hit points left."),
        Field("siphon_death", flag=True, doc="An enemy from a siphon stands next to the player."),
        Field(
            "missed_credits",
            low=0,
            high=15,
            doc="Credits a better cell would have given.",
        ),
        Field(
            "missed_energy",
            low=0,
            high=15,
            doc="Energy a better cell would have given.",
        ),
    ],
    action="action",
    shared={"credit_value": 0.05, "energy_value": 0.05},
    task=task,
    doc="Eight stages on a 6 × 6 board: reach the exit alive, with points and resources.",
)


@term(weight=0.05, kind="shaping", name="distance_shaping")
def distance_both_ways(prev: Player, curr: Player, stage_completed: bool) -> float:
    """Come closer to the exit, in cells; going away costs as much."""
    left = 0.0 if stage_completed else curr.exit_distance  # the exit was reached: `curr` is on the next board already
    return prev.exit_distance - left


potential = Reward(
    reward.name,
    version="potential",
    terms=[distance_both_ways if each.name == distance_both_ways.name else each for each in reward.terms],
    fields=reward.fields.values(),
    action=reward.action,
    shared=reward.shared,
    task=task,
    doc="1.0.0 repaired: on a board, the distance to the exit pays what it fell by, so no walk in a circle pays.",
)

_REWARDS = {each.version: each for each in (reward, potential)}

VERSIONS = tuple(_REWARDS)
"""The labels of all versions, the default first."""


def version(label: str) -> Reward:
    """Return a version of the reward.

    Args:
        label: One of `VERSIONS`.

    Returns:
        The reward.

    >>> version("1.0.0").name
    'hackmatrix'
    """
    return _REWARDS[validate_label("hackmatrix", label, VERSIONS)]


_EPISODE_START = {"score": 0, "hp": 3, "credits": 0, "energy": 0, "exit_distance": 4}
_EPISODE_STEPS: tuple[tuple[int, int, dict[str, int], dict[str, int | bool]], ...] = (
    # stage, action, what changed of the player, what happened
    (1, 3, {"exit_distance": 3}, {}),
    (1, 3, {}, {"kills": 1}),
    (1, 0, {"exit_distance": 2}, {"picked_up": True}),
    (1, 4, {"score": 5, "credits": 2, "energy": 5}, {"missed_credits": 3}),
    (1, 1, {"exit_distance": 3}, {}),  # a step back is free
    (1, 10, {"energy": 4, "hp": 2}, {}),  # WAIT, and an enemy strikes
    (1, 19, {"energy": 0, "hp": 3}, {}),  # RESET for one hit point
    (1, 0, {"exit_distance": 2}, {}),
    (1, 3, {"exit_distance": 1}, {}),
    (1, 3, {"exit_distance": 7}, {"stage_completed": True}),  # 7: on the next board
    (2, 0, {"exit_distance": 6, "hp": 1}, {}),
    (2, 0, {"exit_distance": 5, "hp": 0}, {"died": True, "siphon_death": True}),
)


def episode() -> list[dict[str, Any]]:
    """Return the steps of a short game: one stage completed, and a death on the next.

    Returns:
        Keyword arguments for `score`, one dict per step.

    >>> len(episode()), episode()[0]["curr"]
    (12, {'score': 0, 'hp': 3, 'credits': 0, 'energy': 0, 'exit_distance': 3})
    """
    nothing = {name: reward.fields[name].at_rest for name in task.events}
    rows, player = [], dict(_EPISODE_START)
    for stage, action, changed, happened in _EPISODE_STEPS:
        before, player = player, {**player, **changed}
        rows.append({"prev": before, "curr": player, "stage": stage, "action": action, **nothing, **happened})
    return rows
