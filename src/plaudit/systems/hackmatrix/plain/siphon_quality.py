"""What a siphon would yield from each cell, and what one elsewhere would have given besides."""

from collections import Counter
from typing import NamedTuple

from plaudit.systems.hackmatrix.plain.cells import CROSS, PLACES, Place
from plaudit.systems.hackmatrix.plain.state import State
from plaudit.systems.hackmatrix.rules import Rules


class SiphonYield(NamedTuple):
    """What a siphon run on a cell gives; programs that the player owns already are left out."""

    credits: int
    energy: int
    points: Counter[int]
    programs: set[str]


def compute_siphon_yield(state: State, place: Place, *, rules: Rules) -> SiphonYield:
    """Return what a siphon run on a cell would give; nothing on a cell with a block."""
    credits, energy = 0, 0
    points: Counter[int] = Counter()
    programs: set[str] = set()
    for each in () if state.cells[place].block else CROSS[place]:
        cell, block = state.cells[each], state.cells[each].block
        if block is None:
            if not cell.siphoned or rules.siphoned_cells == "counted":
                credits += cell.credits
                energy += cell.energy
        elif cell.siphoned or (block.question and rules.question_blocks == "ignored"):
            continue
        elif block.program is None:
            points[block.points] += 1
        elif block.program not in state.owned:
            programs.add(block.program)
    return SiphonYield(credits, energy, points, programs)


def find_missed(state: State, *, rules: Rules) -> tuple[int, int]:
    """Return the credits and the energy that a siphon elsewhere would have given besides the same blocks."""
    here = state.player.place
    own = compute_siphon_yield(state, here, rules=rules)
    must_reach: set[Place] = set()
    if rules.siphon_candidates == "same_blocks" and (own.points or own.programs):
        must_reach = {place for place in CROSS[here] if state.cells[place].block and not state.cells[place].siphoned}
    credits, energy = own.credits, own.energy
    for place in PLACES:
        if not must_reach.issubset(CROSS[place]):
            continue
        other = compute_siphon_yield(state, place, rules=rules)
        same = (other.points, other.programs) == (own.points, own.programs)
        if same and other.credits >= own.credits and other.energy >= own.energy:
            credits, energy = max(credits, other.credits), max(energy, other.energy)
    return credits - own.credits, energy - own.energy
