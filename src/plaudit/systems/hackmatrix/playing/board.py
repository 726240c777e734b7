"""What every picture of a board is drawn from: the signs in each cell, of a game or of the line that a record keeps."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from plaudit.systems.hackmatrix.plain.cells import PLACES, Place
from plaudit.systems.hackmatrix.plain.convert import to_plain
from plaudit.systems.hackmatrix.plain.observation import is_visible
from plaudit.systems.hackmatrix.plain.state import Block, Cell, State
from plaudit.systems.hackmatrix.rules import ENEMIES, SIZE

if TYPE_CHECKING:
    from plaudit.systems.hackmatrix.state import EnvState, Snapshot

BLOCK, SIPHONED_BLOCK, CENTER = "#", ":", "x"
PLAYER = "@"

ENEMY_SIGNS = {name[0].upper(): name for name in ENEMIES}
_ENEMY = rf"[{''.join(ENEMY_SIGNS)}]\d+[zxs]*\+?"
_BEING = re.compile(rf"@|\*.*|{_ENEMY}")
_SPAWN = re.compile(r"\+\d+\*")


class Signs(NamedTuple):
    """What a picture shows in a cell."""

    block: str = ""
    beings: tuple[str, ...] = ()
    """The player, the first enemy with its hit points, and the first transmission with its turns."""
    spawn: str = ""
    """How many transmissions a siphon of the block lets in, if no enemy stands on it."""
    things: tuple[str, ...] = ()


Board = dict[Place, Signs]
"""The signs of each cell, by row and column; row 0 is the lowest."""


def find_signs(state: State, *, reveal: bool = False) -> Board:
    """Return what the player sees, or all there is."""
    enemies, transmissions = _find_enemies(state, reveal), _find_transmissions(state, reveal)
    found = {}
    for place in PLACES:
        there = (PLAYER if state.player.place == place else "", enemies.get(place), transmissions.get(place))
        found[place] = _find_cell(state.cells[place], tuple(filter(None, there)), place == state.exit, reveal)
    return found


def describe_board(state: "State | EnvState | Snapshot") -> str:
    """Return the board in one line, for the context of a record: what the player sees, in the signs of a picture.

    Rows stand from top to bottom with `/` between, cells with spaces between, and the things in a cell with commas; `.`
    is an empty cell, `#` a block and `:` a siphoned one. A snapshot of a state will do.
    """
    board = find_signs(to_plain(state))
    return "/".join(" ".join(_join(board[row, col]) for col in range(SIZE)) for row in reversed(range(SIZE)))


def parse_board(text: Any) -> Board | None:
    """Return the board that was written in one line; None where it was not.

    >>> parse_board("/".join(["@ V2,2c . . . EXIT"] * 6))[5, 1]
    Signs(block='', beings=('V2',), spawn='', things=('2c',))
    """
    rows = [row.split(" ") for row in text.split("/")] if isinstance(text, str) else []
    if [len(row) for row in rows] != [SIZE] * SIZE:
        return None
    return {(SIZE - 1 - down, col): _split(cell) for down, row in enumerate(rows) for col, cell in enumerate(row)}


def _join(cell: Signs) -> str:
    return ",".join(filter(None, (cell.block, *cell.beings, cell.spawn, *cell.things))) or "."


def _split(cell: str) -> Signs:
    signs = [] if cell == "." else cell.split(",")
    block = signs.pop(0) if signs and signs[0] in (BLOCK, SIPHONED_BLOCK) else ""
    beings = tuple(sign for sign in signs if _BEING.fullmatch(sign))
    others = [sign for sign in signs if sign not in beings]
    spawn = others.pop(0) if others and _SPAWN.fullmatch(others[0]) else ""
    return Signs(block, beings, spawn, tuple(others))


def _find_cell(cell: Cell, beings: tuple[str, ...], is_exit: bool, reveal: bool) -> Signs:
    block = cell.block
    if block is None:
        return Signs("", beings, "", tuple(_list_ground(cell, is_exit)))
    known = reveal or cell.siphoned or not block.question
    spawn = f"+{block.spawn}*" if not beings and block.spawn and known else ""
    content = _describe_content(block, cell.siphoned) if known else "?"
    resources = _list_resources(cell) if cell.siphoned else ()
    return Signs(SIPHONED_BLOCK if cell.siphoned else BLOCK, beings, spawn, (content, *resources))


def _describe_content(block: Block, siphoned: bool) -> str:
    mark = "?" if block.question and not siphoned else ""
    return f"{block.points}pt{mark}" if block.program is None else f"{block.program}{mark}"


def _list_ground(cell: Cell, is_exit: bool) -> Iterator[str]:
    yield from _list_resources(cell)
    if cell.data_siphon:
        yield "(S)"
    if is_exit:
        yield "EXIT"
    if cell.siphon_center:
        yield CENTER


def _list_resources(cell: Cell) -> Iterator[str]:
    for amount, unit in ((cell.credits, "c"), (cell.energy, "e")):
        if amount:
            yield f"{amount}{unit}"


def _find_enemies(state: State, reveal: bool) -> dict[Place, str]:
    """Return the first enemy of each cell, empty where it is not seen; others behind it make a mark."""
    found: dict[Place, str] = {}
    for enemy in state.enemies:
        if enemy.hp <= 0:
            continue
        seen = reveal or is_visible(state, enemy)
        if enemy.place not in found:
            marks = "z" * enemy.stunned + "x" * bool(enemy.disabled) + "s" * enemy.from_siphon
            found[enemy.place] = f"{enemy.type[0].upper()}{enemy.hp}{marks}" if seen else ""
        elif seen and found[enemy.place]:
            found[enemy.place] = f"{found[enemy.place].rstrip('+')}+"
    return found


def _find_transmissions(state: State, reveal: bool) -> dict[Place, str]:
    found: dict[Place, str] = {}
    for each in state.transmissions:
        found.setdefault(each.place, f"*{each.turns}{each.type[0].upper() * reveal}")
    return found
