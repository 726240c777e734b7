"""What a step of the plain game earns, and what a siphon misses."""

from collections import Counter

from plaudit.systems.hackmatrix.rules import Rules
from support.hackmatrix_model.game import (
    PLACES,
    STAGE_REWARDS,
    Game,
    Happened,
    Place,
    adjacent,
    cross,
    direct,
    steps_to_exit,
)

REFERENCE = Rules.reference()


def missed_by_siphon(game: Game, *, rules: Rules = REFERENCE) -> tuple[int, int]:
    """Return the credits and the energy that a siphon elsewhere would have given besides the same blocks."""
    here = game.player.place
    credits, energy, points, programs = siphon_yield(game, here, rules=rules)
    must_reach = set()
    if rules.siphon_candidates == "same_blocks" and (points or programs):
        must_reach = {place for place in cross(here) if game.cells[place].block and not game.cells[place].siphoned}
    best_credits, best_energy = credits, energy
    for place in PLACES:
        if game.cells[place].block or not must_reach <= set(cross(place)):
            continue
        more_credits, more_energy, *content = siphon_yield(game, place, rules=rules)
        if (
            content == [points, programs]
            and more_credits >= credits
            and more_energy >= energy
            and (more_credits, more_energy) != (credits, energy)
        ):
            best_credits, best_energy = max(best_credits, more_credits), max(best_energy, more_energy)
    return best_credits - credits, best_energy - energy


def siphon_yield(game: Game, place: Place, *, rules: Rules = REFERENCE) -> tuple[int, int, Counter[int], set[str]]:
    """Return the credits, energy, points and new programs that a siphon from a cell would give."""
    credits, energy, points, programs = 0, 0, Counter(), set()
    if game.cells[place].block:
        return credits, energy, points, programs
    for each in cross(place):
        cell, block = game.cells[each], game.cells[each].block
        if block is None:
            if not cell.siphoned or rules.siphoned_cells == "counted":
                credits += cell.credits
                energy += cell.energy
        elif cell.siphoned or (block.kind == "question" and rules.question_blocks == "ignored"):
            continue
        elif block.hidden == "data":
            points[block.points] += 1
        elif block.program not in game.owned:
            programs.add(block.program)
    return credits, energy, points, programs


def exit_distance(game: Game, *, rules: Rules = REFERENCE) -> int:
    steps = steps_to_exit(game)
    if steps is None:
        return direct(game.player.place, game.exit) if rules.no_path == "manhattan" else 0
    return steps


def reward(before: Game, after: Game, action: str, happened: Happened, *, rules: Rules) -> dict[str, float]:
    """Return the components of a legal step's reward."""
    was, now = before.player, after.player
    far = exit_distance(before, rules=rules)
    closer = far - exit_distance(after, rules=rules)
    if happened.stage_completed:
        closer = far
    if happened.died:
        closer = 0
    credits, energy = happened.missed
    by_siphon = any(enemy.from_siphon and adjacent(enemy.place, now.place) for enemy in after.enemies)
    completed, died = happened.stage_completed, happened.died
    return {
        "step_penalty": -0.01,
        "stage_completion": float(STAGE_REWARDS[before.stage - 1]) if completed else 0.0,
        "score_gain": 0.5 * (now.score - was.score),
        "kills": 0.3 * happened.kills,
        "data_siphon": 1.0 if happened.picked_up else 0.0,
        "distance_shaping": 0.05 * max(0, closer),
        "victory": 500.0 + 100.0 * now.score if happened.won else 0.0,
        "death_penalty": -0.5 * sum(STAGE_REWARDS[: before.stage - 1]) if died else 0.0,
        "resource_gain": 0.05 * (now.credits - was.credits) + 0.05 * (now.energy - was.energy),
        "resource_holding": 0.01 * now.credits + 0.01 * now.energy if completed else 0.0,
        "damage_penalty": -1.0 * max(0, was.hp - now.hp),
        "hp_recovery": 1.0 * max(0, now.hp - was.hp),
        "siphon_quality": -0.5 * (0.05 * credits + 0.05 * energy),
        "program_waste": -0.3 if action == "reset" and was.hp == 2 else 0.0,
        "siphon_death_penalty": -10.0 if died and by_siphon else 0.0,
    }
