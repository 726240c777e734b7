"""One step of a game, and what the reward reads of it."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from plaudit.errors import UnknownField
from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.plain.actions import act, ends_turn
from plaudit.systems.hackmatrix.plain.board_generation import begin_stage
from plaudit.systems.hackmatrix.plain.cells import count_steps, manhattan_distance
from plaudit.systems.hackmatrix.plain.draws import Key, split
from plaudit.systems.hackmatrix.plain.enemy_turn import take_enemy_turn
from plaudit.systems.hackmatrix.plain.legality import is_allowed
from plaudit.systems.hackmatrix.plain.siphon_quality import find_missed
from plaudit.systems.hackmatrix.plain.state import State
from plaudit.systems.hackmatrix.rules import ACTION_NAMES, ACTION_SIPHON, MAX_HP, STAGES, Rules

_REFERENCE = Rules.reference()
_TURN, _BOARD = range(2)
"""The keys into which that of a step is split."""


class Step(NamedTuple):
    """What an action led to; `stage` is the one on which it was taken."""

    state: State
    stage: int
    stage_completed: bool
    won: bool
    died: bool
    illegal: bool
    inputs: dict[str, Any]
    """What the reward reads, as keyword arguments of `Reward.score`; nothing where the action was not allowed."""


def step(key: Key, state: State, action: int, *, rules: Rules = _REFERENCE) -> Step:
    """Return what a step leads to; the given state does not change.

    An action that is not allowed changes nothing and ends the game.
    """
    if not is_allowed(state, action):
        return Step(state, state.stage, False, False, False, True, {})
    after = state.copy()
    missed = find_missed(state, rules=rules) if action == ACTION_SIPHON else (0, 0)
    turn_key = split(key, _TURN)
    kills = act(after, action, turn_key)
    walked = action < ACTION_SIPHON and after.player.place != state.player.place
    picked_up = walked and after.player.data_siphons > state.player.data_siphons
    completed = (walked or ACTION_NAMES[action] == "WARP") and after.player.place == state.exit
    won = completed and state.stage == STAGES
    if completed:
        after.player.hp = min(MAX_HP, after.player.hp + 1)
        if not won:
            after.stage += 1
            begin_stage(after, split(key, _BOARD))
    elif ends_turn(action):
        take_enemy_turn(after, turn_key)
    died = after.player.hp == 0
    inputs = {
        "prev": _measure_player(state, rules),
        "curr": _measure_player(after, rules),
        "stage": state.stage,
        "action": action,
        "kills": kills,
        "missed_credits": missed[0],
        "missed_energy": missed[1],
        "picked_up": picked_up,
        "stage_completed": completed,
        "won": won,
        "died": died,
        "siphon_death": _has_siphon_enemy_beside(after),
    }
    return Step(after, state.stage, completed, won, died, False, inputs)


def _measure_player(state: State, rules: Rules) -> dict[str, int]:
    player = state.player
    return {
        "score": player.score,
        "hp": player.hp,
        "credits": player.credits,
        "energy": player.energy,
        "exit_distance": find_exit_distance(state, rules=rules),
    }


def find_exit_distance(state: State, *, rules: Rules) -> int:
    """Return how far the exit is for the reward, which has a number also where no way leads to it."""
    steps = count_steps(state.player.place, state.exit, state.blocks)
    if steps is not None:
        return steps
    return manhattan_distance(state.player.place, state.exit) if rules.no_path == "manhattan" else 0


def _has_siphon_enemy_beside(state: State) -> bool:
    here = state.player.place
    return any(enemy.from_siphon and manhattan_distance(enemy.place, here) == 1 for enemy in state.enemies)


@lru_cache(maxsize=64)
def compile_scoring(reward: Reward) -> Callable[[Step], tuple[float, dict[str, float]]]:
    """Return the function from a step to its total and what each term paid, in the order in which they are summed.

    A game that goes beyond the ranges which the reward declares still has a reward. An action that is not allowed
    earns 0.
    """
    compiled = reward.compile("python", guard=False)
    nothing = dict.fromkeys((term.name for term in reward.terms), 0.0)

    def score(step: Step) -> tuple[float, dict[str, float]]:
        if step.illegal:
            return 0.0, dict(nothing)
        scores = compiled(_select_inputs(reward.name, compiled.inputs, step.inputs))
        return scores.total, scores.values

    return score


def _select_inputs(reward: str, wanted: Iterable[str], measured: dict[str, Any]) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for name in wanted:
        record, dot, part = name.rpartition(".")
        source, target = (measured.get(record, {}), chosen.setdefault(record, {})) if dot else (measured, chosen)
        if part not in source:
            raise UnknownField(
                f"reward {reward!r} reads {name!r}, which the game does not measure. It measures: "
                f"{', '.join(sorted(_list_names(measured)))}."
            )
        target[part] = source[part]
    return chosen


def _list_names(measured: dict[str, Any]) -> Iterator[str]:
    for name, value in measured.items():
        yield from (f"{name}.{part}" for part in value) if isinstance(value, dict) else (name,)
