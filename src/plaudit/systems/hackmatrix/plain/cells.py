"""Cells of the board and ways over it."""

from collections import deque
from collections.abc import Collection

from plaudit.systems.hackmatrix.rules import DIRECTIONS, SIZE

Place = tuple[int, int]
"""Row and column of a cell; (0, 0) is the bottom left."""

PLACES = tuple((row, col) for row in range(SIZE) for col in range(SIZE))
"""All cells, row by row from the bottom left: the order in which cells are numbered."""


def add(place: Place, stride: Place) -> Place:
    """Return the cell one stride further, which may be off the board."""
    return place[0] + stride[0], place[1] + stride[1]


NEIGHBOURS = {place: tuple(step for stride in DIRECTIONS if (step := add(place, stride)) in PLACES) for place in PLACES}
"""The cells up, down, left and right of each cell, as far as the board has them."""

CROSS = {place: (place, *NEIGHBOURS[place]) for place in PLACES}
"""What a siphon reaches from each cell."""

RING = {
    (row, col): tuple(
        place for place in PLACES if place != (row, col) and abs(place[0] - row) <= 1 and abs(place[1] - col) <= 1
    )
    for row, col in PLACES
}
"""The up to eight cells around each cell."""


def manhattan_distance(place: Place, other: Place) -> int:
    """Return the direct distance between two cells.

    >>> manhattan_distance((0, 0), (5, 5))
    10
    """
    return abs(place[0] - other[0]) + abs(place[1] - other[1])


def find_path(start: Place, goal: Place, forbidden: Collection[Place]) -> list[Place] | None:
    """Return the cells after `start` on the first shortest way to `goal` that enters no forbidden cell.

    Ways are in the order of the directions. None where there is no way, and where start and goal are the same.

    >>> find_path((0, 0), (0, 2), forbidden={(0, 1)})
    [(1, 0), (1, 1), (1, 2), (0, 2)]
    """
    came_from = {start: start}
    waiting = deque([start])
    while waiting:
        place = waiting.popleft()
        for step in NEIGHBOURS[place]:
            if step in came_from or step in forbidden:
                continue
            came_from[step] = place
            if step == goal:
                path = [step]
                while (before := came_from[path[-1]]) != start:
                    path.append(before)
                return path[::-1]
            waiting.append(step)
    return None


def count_steps(start: Place, goal: Place, blocks: Collection[Place]) -> int | None:
    """Return how many steps lead to a goal around all blocks, None when none do; the goal itself may have a block.

    >>> count_steps((0, 0), (5, 5), blocks=()), count_steps((0, 0), (0, 0), blocks=())
    (10, 0)
    """
    if start == goal:
        return 0
    path = find_path(start, goal, [place for place in blocks if place != goal])
    return None if path is None else len(path)
