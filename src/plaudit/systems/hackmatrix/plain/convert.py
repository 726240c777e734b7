"""A state of the compiled game as one of the plain game."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from plaudit.errors import ShapeMismatch
from plaudit.systems.hackmatrix.plain.cells import PLACES, Place
from plaudit.systems.hackmatrix.plain.state import Block, Cell, Enemy, Player, Snapshot, State, Transmission
from plaudit.systems.hackmatrix.rules import CORNERS, DATA, ENEMIES, NO_BLOCK, PROGRAMS, QUESTION

if TYPE_CHECKING:
    from plaudit.systems.hackmatrix import state as compiled

Entry = TypeVar("Entry", Enemy, Transmission)

_NUMBERS = ("stage", "interval", "next_task", "pending")
_BLOCK = ("block_kind", "block_is_data", "block_points", "block_program", "block_spawn")
_CELL = ("credits", "energy", "data_siphon", "siphoned", "siphon_center")


def to_plain(state: "State | compiled.EnvState | compiled.Snapshot") -> State:
    """Return the plain state that says the same; what a snapshot does not hold has its default."""
    if isinstance(state, State):
        return state
    if np.ndim(state.turn):
        raise ShapeMismatch(
            f"the state holds a batch of {np.shape(state.turn)} games, and one is needed. "
            "Take one out: jax.tree.map(lambda leaf: leaf[0], state)."
        )
    plain = State(**_read_restorable(state), exit=_find_exit(state.grid))
    return plain if not hasattr(state, "history") else _read_rest(plain, state)


def _read_rest(plain: State, state: Any) -> State:
    for name in _NUMBERS:
        setattr(plain, name, int(getattr(state, name)))
    plain.step_active = bool(state.step_active)
    history = state.history
    for _ in range(int(history.count)):
        plain.history.insert(0, Snapshot(**_read_restorable(history.latest())))
        history = history.pop(True)
    return plain


def _read_restorable(state: Any) -> dict[str, Any]:
    return {
        "player": Player(**{each.name: int(getattr(state.player, each.name)) for each in fields(Player)}),
        "turn": int(state.turn),
        "owned": {PROGRAMS[slot] for slot in np.flatnonzero(np.asarray(state.owned)).tolist()},
        "enemies": _read_entries(Enemy, state.enemies),
        "transmissions": _read_entries(Transmission, state.transmissions),
        "cells": _read_cells(state.grid),
        "show": bool(state.show),
        "calm": bool(state.calm),
        "atk_uses": int(state.atk_uses),
    }


def _read_entries(kind: type[Entry], entries: Any) -> list[Entry]:
    count = int(entries.count)
    columns = {each.name: np.asarray(getattr(entries, each.name))[:count].tolist() for each in fields(kind)}
    columns["type"] = [ENEMIES[number] for number in columns["type"]]
    return [kind(**{name: column[slot] for name, column in columns.items()}) for slot in range(count)]


def _read_cells(grid: Any) -> dict[Place, Cell]:
    layers = [np.asarray(getattr(grid, name)).reshape(-1).tolist() for name in (*_BLOCK, *_CELL)]
    return {
        place: Cell(_read_block(*values[: len(_BLOCK)]), *values[len(_BLOCK) :])
        for place, values in zip(PLACES, zip(*layers, strict=True), strict=True)
    }


def _read_block(kind: int, is_data: bool, points: int, slot: int, spawn: int) -> Block | None:
    if kind == NO_BLOCK:
        return None
    data = is_data if kind == QUESTION else kind == DATA
    program = None if data or slot < 0 else PROGRAMS[slot]
    return Block(points if program is None else 0, program, spawn, question=kind == QUESTION)


def _find_exit(grid: Any) -> Place:
    found = np.flatnonzero(np.asarray(grid.exit).reshape(-1))
    return PLACES[found[0]] if found.size else CORNERS[-1]
