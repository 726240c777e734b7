"""Plain states as states of the compiled game, and back, in batches."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.plain.convert import to_plain
from plaudit.systems.hackmatrix.plain.state import State
from plaudit.systems.hackmatrix.rules import DATA, ENEMIES, PROGRAM, PROGRAMS, QUESTION, SLOTS
from plaudit.systems.hackmatrix.state import Enemies, EnvState, Grid, History, Player, Transmissions
from plaudit.systems.hackmatrix.state import Snapshot as SnapshotState

BATCH = 64
"""How many games are looked at or take a step at once, whatever the test: each program is traced and compiled once."""


def compiled_state(game: State) -> EnvState:
    """Return a plain state as one of the compiled game."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), states_of([game]))


def states_of(games: list[State]) -> EnvState:
    """Return plain states as a batch of the compiled game."""
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


def games_of(states: EnvState) -> list[State]:
    """Return a batch of the compiled game as plain states; what is left in unused slots and cells is an error."""
    states = jax.device_get(states)
    _check_unused(states)
    history = states.history
    none = _batched(History(), len(states.stage))
    games = [to_plain(_entry(states.replace(history=none), index)) for index in range(len(states.stage))]
    for _ in range(int(history.count.max(initial=0))):
        latest, popped = _by_batches(_TAKEN_OFF, history)
        for index in np.flatnonzero(history.count > 0):
            games[index].history.insert(0, to_plain(_entry(latest, index)).take_snapshot())
        history = popped
    return games


def _entry(tree: Any, index: int) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[index], tree)


def _check_unused(states: EnvState) -> None:
    for entries in (states.enemies, states.transmissions):
        unused = np.arange(SLOTS) >= entries.count[:, None]
        assert not any((column * unused).any() for column in jax.tree.leaves(entries.replace(count=0))[1:])
    grid = states.grid
    bare = grid.block_kind == 0
    left = [grid.block_is_data, grid.block_points, grid.block_program + 1, grid.block_spawn]
    assert not any((layer * bare).any() for layer in left), "there is something of a block where none is"
    exits = np.zeros_like(grid.exit)
    exits[np.arange(len(exits)), states.exit_row, states.exit_col] = True
    np.testing.assert_array_equal(grid.exit, exits, "the exit's cell and position differ")


def _batched(tree: Any, count: int) -> Any:
    return jax.tree.map(lambda leaf: np.broadcast_to(np.asarray(leaf), (count, *leaf.shape)), tree)


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


def _numbers(games: list[Any], name: str) -> np.ndarray:
    return np.array([getattr(game, name) for game in games], np.int32)


def _flags(games: list[Any], name: str) -> np.ndarray:
    return np.array([getattr(game, name) for game in games], bool)


def _parts(games: list[Any], exits: list[Any] | None = None) -> dict[str, Any]:
    """Return what states and snapshots have in common."""
    players = [game.player for game in games]
    return {
        "player": Player(**{name: _numbers(players, name) for name in Player.__dataclass_fields__}),
        "turn": _numbers(games, "turn"),
        "owned": np.array([[name in game.owned for name in PROGRAMS] for game in games], bool),
        "enemies": _list(Enemies, [game.enemies for game in games]),
        "transmissions": _list(Transmissions, [game.transmissions for game in games]),
        "grid": _grid(games, exits or [game.exit for game in games]),
        "show": _flags(games, "show"),
        "calm": _flags(games, "calm"),
        "atk_uses": _numbers(games, "atk_uses"),
    }


def _list(kind: Any, lists: list[list[Any]]) -> Any:
    empty = kind()
    names = [name for name in kind.__dataclass_fields__ if name != "count"]
    columns = {name: np.zeros((len(lists), SLOTS), getattr(empty, name).dtype) for name in names}
    for index, entries in enumerate(lists):
        for slot, entry in enumerate(entries):
            for name in names:
                value = getattr(entry, name)
                columns[name][index, slot] = ENEMIES.index(value) if name == "type" else value
    return kind(count=np.array([len(entries) for entries in lists], np.int32), **columns)


def _grid(games: list[Any], exits: list[Any]) -> Grid:
    empty = Grid()
    layers = {
        name: np.full((len(games), 6, 6), np.asarray(getattr(empty, name)).flat[0], getattr(empty, name).dtype)
        for name in Grid.__dataclass_fields__
    }
    for index, game in enumerate(games):
        layers["exit"][(index, *exits[index])] = True
        for place, cell in game.cells.items():
            at = (index, *place)
            for name in ("credits", "energy", "data_siphon", "siphoned", "siphon_center"):
                layers[name][at] = getattr(cell, name)
            if block := cell.block:
                data = block.program is None
                layers["block_kind"][at] = QUESTION if block.question else DATA if data else PROGRAM
                layers["block_is_data"][at] = data
                layers["block_points"][at] = block.points
                layers["block_program"][at] = -1 if data else PROGRAMS.index(block.program)
                layers["block_spawn"][at] = block.spawn
    return Grid(**layers)


def _history(games: list[State]) -> Any:
    """Return the games' snapshots, pushed one after the other as the environment does."""
    history = _batched(History(), len(games))
    for depth in range(max((len(game.history) for game in games), default=0)):
        held = np.array([len(game.history) > depth for game in games])
        snapshots = [game.history[depth] if len(game.history) > depth else game for game in games]
        parts = _parts(snapshots, [game.exit for game in games])
        history = _by_batches(_PUSHED, history, SnapshotState(**parts), held)
    return history
