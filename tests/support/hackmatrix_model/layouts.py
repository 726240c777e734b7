"""What a board must be like, cell by cell in plain Python: reached all over, all blocks siphonable, shots in line."""

from collections.abc import Set

from scipy.stats import chisquare

from plaudit.systems.hackmatrix.plain.state import Block, State
from plaudit.systems.hackmatrix.rules import PROGRAM_SPAWN, PROGRAMS

Place = tuple[int, int]

PLACES = [(row, col) for row in range(6) for col in range(6)]
CORNERS = [(0, 0), (0, 5), (5, 0), (5, 5)]


def neighbours(place: Place) -> list[Place]:
    row, col = place
    return [each for each in ((row + 1, col), (row - 1, col), (row, col - 1), (row, col + 1)) if each in PLACES]


def connected(blocks: Set[Place], exit_: Place) -> bool:
    """Return whether a walk from (0, 0) that stops at the exit comes to every open cell."""
    reached, ahead = {(0, 0)}, [(0, 0)]
    while ahead:
        for place in neighbours(ahead.pop()):
            if place not in blocks and place not in reached:
                reached.add(place)
                if place != exit_:
                    ahead.append(place)
    return len(reached) == len(PLACES) - len(blocks)


def siphonable(blocks: Set[Place]) -> bool:
    return all(any(place not in blocks for place in neighbours(block)) for block in blocks)


def in_line_of_fire(player: Place, place: Place, shields: Set[Place]) -> bool:
    (row, col), (other_row, other_col) = player, place
    if row != other_row and col != other_col:
        return False
    rows, columns = sorted((row, other_row)), sorted((col, other_col))
    between = {(r, c) for r in range(rows[0], rows[1] + 1) for c in range(columns[0], columns[1] + 1)}
    return not (between - {player, place}) & shields


def as_drawn(counts: list[int], weights: list[float] | None = None) -> bool:
    """Return whether counts are such as draws with these weights, or equal ones, give but for one time in 10,000."""
    weights = weights or [1.0] * len(counts)
    expected = [weight * sum(counts) / sum(weights) for weight in weights]
    return bool(chisquare(counts, expected).pvalue > 1e-4)


def board_faults(game: State, taken: list[Place]) -> list[str]:
    """Return what is wrong with a new board; `taken` are the cells of those who were there before."""
    faults = []
    blocks = {place: cell.block for place, cell in game.cells.items() if cell.block}
    pickups = {place for place, cell in game.cells.items() if cell.data_siphon}
    if game.exit not in CORNERS or game.exit == game.player.place:
        faults.append(f"the exit is on {game.exit}, the player on {game.player.place}")
    if pickups != set(CORNERS) - {game.exit, game.player.place}:
        faults.append(f"data siphons lie on {pickups}")
    if blocks and not 5 <= len(blocks) <= 11:
        faults.append(f"there are {len(blocks)} blocks")
    if bad := [place for place in blocks if place in CORNERS or place in taken]:
        faults.append(f"blocks on {bad}")
    if not connected(set(blocks), game.exit):
        faults.append("not connected")
    if not siphonable(set(blocks)):
        faults.append("a block is out of reach")
    programs = [block.program for block in blocks.values() if block.program]
    if len(programs) != len(set(programs)):
        faults.append(f"programs twice: {programs}")
    faults += [f"a block on {place}: {block}" for place, block in blocks.items() if not _is_new(block)]
    for place, cell in game.cells.items():
        amounts = sorted([cell.credits, cell.energy])
        bare = place in blocks or place == game.exit
        if cell.siphoned or cell.siphon_center or amounts not in ([[0, 0]] if bare else [[0, 1], [0, 2], [0, 3]]):
            faults.append(f"the cell {place}: {cell}")
    return faults


def _is_new(block: Block) -> bool:
    if block.program is None:
        return block.points in range(1, 10) and block.spawn == block.points
    return block.points == 0 and block.spawn == PROGRAM_SPAWN[PROGRAMS.index(block.program)]
