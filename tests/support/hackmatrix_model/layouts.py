"""What a board must be like, cell by cell in plain Python: reached all over, all blocks siphonable, shots in line."""

from collections.abc import Set

from scipy.stats import chisquare

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
