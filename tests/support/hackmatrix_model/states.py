"""The environment's states as plain games, and back."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.state import Enemies, EnvState, Grid, History, Transmissions
from plaudit.systems.hackmatrix.state import Player as PlayerState
from plaudit.systems.hackmatrix.state import Snapshot as SnapshotState
from support.hackmatrix_model.game import (
    PLACES,
    PROGRAMS,
    TYPES,
    Block,
    Cell,
    Enemy,
    Game,
    Player,
    Snapshot,
    Transmission,
)

BATCH = 64
"""How many games are looked at or take a step at once, whatever the test: each program is traced and compiled once."""
SLOTS = 36
KINDS = [None, "data", "program", "question"]
SLOT_OF = {name: slot for slot, name in enumerate(PROGRAMS)}
NAME_OF = list(PROGRAMS)


def state_of_game(game: Game) -> EnvState:
    """Return a game as the environment's state."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), states_of([game]))


def states_of(games: list[Game]) -> EnvState:
    """Return a batch of games as the environment's state."""
    parts = _parts(games)
    player, bare = parts["player"], _batched(EnvState(), len(games))
    before = bare.before.replace(score=player.score, hp=player.hp, credits=player.credits, energy=player.energy)
    return bare.replace(
        **parts,
        **{name: _numbers(games, name) for name in ("stage", "interval", "next_task", "pending")},
        step_active=_flags(games, "step_active"),
        exit_row=np.array([game.exit[0] for game in games], np.int32),
        exit_col=np.array([game.exit[1] for game in games], np.int32),
        history=_history(games),
        before=before,
    )


def _batched(tree: Any, count: int) -> Any:
    return jax.tree.map(lambda leaf: np.broadcast_to(np.asarray(leaf), (count, *leaf.shape)), tree)


def games_of(states: EnvState) -> list[Game]:
    """Return a batch of the environment's states as games."""
    plain = jax.device_get(states)
    count = len(plain.stage)
    games = [_game(plain, index) for index in range(count)]
    history = plain.history
    for _ in range(int(history.count.max(initial=0))):
        latest, popped = _by_batches(_TAKEN_OFF, history)
        for index in np.flatnonzero(history.count > 0):
            exit_ = games[index].exit
            games[index].history.insert(0, Snapshot(**_restored(latest, index, exit_)))
        history = popped
    return games


def game_of_state(state: EnvState) -> Game:
    """Return one of the environment's states as a game."""
    return games_of(jax.tree.map(lambda leaf: leaf[None], state))[0]


def _by_batches(function: Any, *given: Any) -> Any:
    """Return what a function of batches gives, on as many as there are; the last batch is filled up."""
    count = len(jax.tree.leaves(given)[0])
    lacking = -count % BATCH
    filled = (
        jax.tree.map(lambda leaf: np.pad(leaf, [(0, lacking)] + [(0, 0)] * (leaf.ndim - 1)), given)
        if lacking
        else given
    )
    parts = [
        jax.device_get(function(*jax.tree.map(lambda leaf: leaf[start : start + BATCH], filled)))  # noqa: B023
        for start in range(0, count, BATCH)
    ]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *parts)


_TAKEN_OFF = jax.jit(jax.vmap(lambda history: (history.latest(), history.pop(history.count > 0))))
_PUSHED = jax.jit(jax.vmap(History.push))
_PLAYER = {name: name for name in ("row", "col", "hp", "credits", "energy", "score", "attack")} | {
    "data_siphons": "siphons"
}
_BLOCK = ("block_kind", "block_is_data", "block_points", "block_program", "block_spawn")
_CELL = ("credits", "energy", "data_siphon", "siphoned", "siphon_center")
_ENEMY = ("row", "col", "hp", "disabled", "stunned", "from_siphon", "from_task")
_TRANSMISSION = ("row", "col", "turns", "from_siphon", "from_task")


def _numbers(games: list[Any], name: str) -> np.ndarray:
    return np.array([getattr(game, name) for game in games], np.int32)


def _flags(games: list[Any], name: str) -> np.ndarray:
    return np.array([getattr(game, name) for game in games], bool)


def _parts(games: list[Any], exits: list[Any] | None = None) -> dict[str, Any]:
    """Return what games and snapshots have in common."""
    players = [game.player for game in games]
    return {
        "player": PlayerState(**{ours: _numbers(players, theirs) for ours, theirs in _PLAYER.items()}),
        "turn": _numbers(games, "turn"),
        "owned": np.array([[name in game.owned for name in PROGRAMS] for game in games], bool),
        "enemies": _list(Enemies, [game.enemies for game in games], _ENEMY),
        "transmissions": _list(Transmissions, [game.transmissions for game in games], _TRANSMISSION),
        "grid": _grid(games, exits or [game.exit for game in games]),
        "show": _flags(games, "show"),
        "calm": _flags(games, "calm"),
        "atk_uses": _numbers(games, "atk_uses"),
    }


def _list(kind: Any, lists: list[list[Any]], names: tuple[str, ...]) -> Any:
    empty = kind()
    columns = {name: np.zeros((len(lists), SLOTS), getattr(empty, name).dtype) for name in ("type", *names)}
    for index, entries in enumerate(lists):
        for slot, entry in enumerate(entries):
            columns["type"][index, slot] = TYPES.index(entry.type)
            for name in names:
                columns[name][index, slot] = getattr(entry, name)
    return kind(count=np.array([len(entries) for entries in lists], np.int32), **columns)


def _grid(games: list[Any], exits: list[Any]) -> Grid:
    empty = Grid()
    names = list(empty.__dataclass_fields__)
    layers = {
        name: np.full((len(games), 6, 6), np.asarray(getattr(empty, name)).flat[0], getattr(empty, name).dtype)
        for name in names
    }
    for index, game in enumerate(games):
        layers["exit"][(index, *exits[index])] = True
        for place, cell in game.cells.items():
            at = (index, *place)
            layers["credits"][at], layers["energy"][at] = cell.credits, cell.energy
            layers["data_siphon"][at], layers["siphoned"][at] = cell.siphon, cell.siphoned
            layers["siphon_center"][at] = cell.center
            if block := cell.block:
                layers["block_kind"][at] = KINDS.index(block.kind)
                layers["block_is_data"][at] = block.hidden == "data"
                layers["block_points"][at] = block.points
                layers["block_program"][at] = -1 if block.program is None else SLOT_OF[block.program]
                layers["block_spawn"][at] = block.spawn
    return Grid(**layers)


def _history(games: list[Game]) -> Any:
    """Return the games' snapshots, pushed one after the other as the environment does."""
    history = _batched(History(), len(games))
    for depth in range(max((len(game.history) for game in games), default=0)):
        held = np.array([len(game.history) > depth for game in games])
        snapshots = [game.history[depth] if len(game.history) > depth else game for game in games]
        parts = _parts(snapshots, [game.exit for game in games])
        history = _by_batches(_PUSHED, history, SnapshotState(**parts), held)
    return history


def _game(states: Any, index: int) -> Game:
    exit_ = (int(states.exit_row[index]), int(states.exit_col[index]))
    game = Game(**_restored(states, index, exit_), exit=exit_)
    for name in ("stage", "interval", "next_task", "pending"):
        setattr(game, name, int(getattr(states, name)[index]))
    game.step_active = bool(states.step_active[index])
    return game


def _restored(states: Any, index: int, exit_: tuple[int, int]) -> dict[str, Any]:
    assert np.argwhere(states.grid.exit[index]).tolist() == [list(exit_)], "the exit's cell and position differ"
    return {
        "player": Player(**{theirs: int(getattr(states.player, ours)[index]) for ours, theirs in _PLAYER.items()}),
        "turn": int(states.turn[index]),
        "owned": {NAME_OF[slot] for slot in np.flatnonzero(states.owned[index])},
        "enemies": _entries(Enemy, states.enemies, index, _ENEMY),
        "transmissions": _entries(Transmission, states.transmissions, index, _TRANSMISSION),
        "cells": _cells(states.grid, index),
        "show": bool(states.show[index]),
        "calm": bool(states.calm[index]),
        "atk_uses": int(states.atk_uses[index]),
    }


def _entries(kind: Any, entries: Any, index: int, names: tuple[str, ...]) -> list[Any]:
    count = int(entries.count[index])
    columns = {name: getattr(entries, name)[index] for name in ("type", *names)}
    unused = {name: column[count:].tolist() for name, column in columns.items() if column[count:].any()}
    assert not unused, f"slots behind the list are not 0: {unused}"
    rows = {name: column[:count].tolist() for name, column in columns.items()}
    rows["type"] = [TYPES[number] for number in rows["type"]]
    return [kind(**{name: column[slot] for name, column in rows.items()}) for slot in range(count)]


def _cells(grid: Any, index: int) -> dict[tuple[int, int], Cell]:
    layers = [getattr(grid, name)[index].reshape(-1).tolist() for name in (*_BLOCK, *_CELL)]
    return {
        place: Cell(_block(*at[: len(_BLOCK)]), *at[len(_BLOCK) :])
        for place, at in zip(PLACES, zip(*layers, strict=True), strict=True)
    }


def _block(kind: int, is_data: bool, points: int, slot: int, spawn: int) -> Block | None:
    if not kind:
        left = (is_data, points, slot, spawn)
        assert left == (False, 0, -1, 0), f"there is no block, and yet {left}"
        return None
    hidden = "data" if is_data else "program"
    return Block(KINDS[kind], hidden, points, None if slot < 0 else NAME_OF[slot], spawn)
