"""A recorded step as SVG for the page: the board before the action, as the player saw it, and the action.

The board stands in the context of a record as `describe_board` writes it (`playing/board.py`). A record without one is
not drawn: what the reward reads does not say where anything was.
"""

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from plaudit.systems.hackmatrix.playing.board import ENEMY_SIGNS, PLAYER, SIPHONED_BLOCK, Board, Signs, parse_board
from plaudit.systems.hackmatrix.rules import ACTION_NAMES, DIRECTIONS, SIZE

if TYPE_CHECKING:
    from plaudit import Record, Reward

CELL = 52
SIDE = CELL * SIZE
HEIGHT = SIDE + 46
_COLORS = {"c": "var(--warn)", "e": "var(--accent)", "EXIT": "var(--good)", "(S)": "var(--good)"}


def draw_step(record: "Record", reward: "Reward") -> str | None:
    """Draw the board of a recorded step as SVG.

    Args:
        record: A record of a ledger.
        reward: Its reward.

    Returns:
        The SVG; None for a record without a board.

    Example:
        with Ledger("rewards.db") as ledger:
            svg = draw_step(ledger[1], reward)
    """
    context = record.context if isinstance(record.context, dict) else {}
    board = parse_board(context.get("board"))
    if board is None:
        return None
    inputs = record.signal.inputs
    action = _find_action(inputs)
    parts = [f"<title>{escape(_describe(board, action))}</title>"]
    for (row, col), cell in board.items():
        parts += [f'<g transform="translate({col * CELL} {(SIZE - 1 - row) * CELL})">', *_draw_cell(cell), "</g>"]
    parts += [*_draw_move(board, action), *_draw_captions(inputs, action)]
    text = 'font-size="13" fill="var(--ink)" text-anchor="middle"'
    return f'<svg viewBox="-1 -1 {SIDE + 2} {HEIGHT + 2}" {text}>{"".join(parts)}</svg>'


def _find_action(inputs: Mapping[str, Any]) -> str:
    action = int(inputs.get("action", -1))
    return ACTION_NAMES[action] if 0 <= action < len(ACTION_NAMES) else ""


def _describe(board: Board, action: str) -> str:
    """Return the board in words: where the player, the exit and the enemies are."""
    said = [f"The board before {action}" if action else "The board before the action"]
    for (row, col), cell in board.items():
        names = ["the player" * (PLAYER in cell.beings), "the exit" * ("EXIT" in cell.things)]
        names += [ENEMY_SIGNS.get(each[0], "") for each in cell.beings]
        said += [f"{name} at row {row}, column {col}" for name in filter(None, names)]
    return "; ".join(said) + "."


# -- in shapes --------------------------------------------------------------------------------------------------------


def _draw_cell(cell: Signs) -> Iterator[str]:
    fill = {"": "var(--surface)", "#": "var(--line)", ":": "var(--sunken)"}[cell.block]
    yield f'<rect width="{CELL}" height="{CELL}" fill="{fill}" stroke="var(--line)"/>'
    if cell.block:
        dash = "3 3" if cell.block == SIPHONED_BLOCK else "none"
        edge = f'fill="none" stroke="var(--quiet)" stroke-dasharray="{dash}"'
        yield f'<rect x="4" y="4" width="{CELL - 8}" height="{CELL - 8}" rx="5" {edge}/>'
    beings = cell.beings
    for at, each in enumerate(beings):
        yield from _draw_being(each, CELL / 2 + (at - (len(beings) - 1) / 2) * 24)
    others = [*filter(None, [cell.spawn]), *cell.things]
    one_line = bool(beings) or len(others) < 2
    lines = [" ".join(others)] if one_line else [others[0], " ".join(others[1:])]
    heights = (CELL - 8,) if beings else (CELL // 2 + 4,) if one_line else (23, 39)
    for line, y in zip(lines, heights, strict=True):
        color = _COLORS.get(line, _COLORS.get(line[-1:], "var(--ink)") if line[:1].isdigit() else "var(--ink)")
        size = 12 if len(line) < 7 else 10
        yield f'<text x="{CELL / 2:g}" y="{y}" font-size="{size}" fill="{color}">{escape(line)}</text>'


def _draw_being(thing: str, x: float) -> Iterator[str]:
    """Draw the player as a disc, an enemy as a square with its hit points, a transmission as a ring with its turns."""
    y = 22
    if thing == PLAYER:
        yield f'<circle cx="{x:g}" cy="{y}" r="11" fill="var(--accent)"/>'
        yield f'<circle cx="{x:g}" cy="{y}" r="4" fill="var(--surface)"/>'
    elif thing.startswith("*"):
        ring = 'fill="none" stroke="var(--warn)" stroke-width="2" stroke-dasharray="4 3"'
        yield f'<circle cx="{x:g}" cy="{y}" r="10" {ring}/>'
        yield f'<text x="{x:g}" y="{y + 4}" font-size="11">{escape(thing[1:])}</text>'
    else:
        faint = 0.55 if re.search("[zx]", thing) else 1
        yield f'<rect x="{x - 11:g}" y="{y - 11}" width="22" height="22" rx="4" fill="var(--bad)" opacity="{faint}"/>'
        text = 'font-weight="600" font-size="11" fill="var(--surface)"'
        yield f'<text x="{x:g}" y="{y + 4}" {text}>{escape(thing[:2])}</text>'


def _draw_move(board: Board, action: str) -> Iterator[str]:
    places = [place for place, cell in board.items() if PLAYER in cell.beings]
    if action not in ACTION_NAMES[: len(DIRECTIONS)] or len(places) != 1:
        return
    (row, col), (up, right) = places[0], DIRECTIONS[ACTION_NAMES.index(action)]
    x, y = (col + 0.5) * CELL, (SIZE - 1 - row) * CELL + 22
    turn = {(1, 0): -90, (-1, 0): 90, (0, -1): 180, (0, 1): 0}[up, right]
    line = "M14 0H30m-6 -5l7 5l-7 5"
    place = f"translate({x:g} {y:g}) rotate({turn})"
    yield f'<path d="{line}" transform="{place}" fill="none" stroke="var(--accent)" stroke-width="2.5"/>'


def _draw_captions(inputs: Mapping[str, Any], action: str) -> Iterator[str]:
    yield f'<text x="2" y="{SIDE + 20}" text-anchor="start" font-weight="600">{action}</text>'
    names = {
        "stage": "stage",
        "prev.hp": "hp",
        "prev.credits": "credits",
        "prev.energy": "energy",
        "prev.score": "score",
    }
    said = " · ".join(f"{label} {inputs[name]:g}" for name, label in names.items() if name in inputs)
    place = f'x="2" y="{SIDE + 40}" text-anchor="start" fill="var(--quiet)"'
    yield f"<text {place}>{escape(said)}</text>"
