"""Random states of the game in batches: any board, legal in play or not, that the state can describe."""

from typing import Any

import jax
import numpy as np

from plaudit.systems.hackmatrix.state import Before, Enemies, EnvState, Grid, Player, Transmissions


def random_states(count: int, *, seed: int = 0) -> EnvState:
    """Return states with much on few cells, so that things meet: stacked enemies, resources under blocks."""
    rng = np.random.default_rng(seed)

    def numbers(low: int, high: int, *shape: int, dtype: Any = np.int32) -> Any:
        return rng.integers(low, high + 1, (count, *shape)).astype(dtype)

    def flags(share: float, *shape: int) -> Any:
        return rng.random((count, *shape)) < share

    player = Player(
        row=numbers(0, 5),
        col=numbers(0, 5),
        hp=numbers(0, 3),
        credits=numbers(0, 80),
        energy=numbers(0, 80),
        data_siphons=numbers(0, 12),
        score=numbers(0, 60),
        attack=numbers(1, 6),
    )
    exit_row, exit_col = 5 * numbers(0, 1), 5 * numbers(0, 1)  # on a corner
    alike = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (count, *leaf.shape)), EnvState())
    return alike.replace(
        player=player,
        grid=_grid(rng, count, exit_row, exit_col),
        enemies=Enemies(**_list(rng, count, hp=(0, 3, np.int8), disabled=(0, 1, np.int8), stunned=(0, 1, bool))),
        transmissions=Transmissions(**_list(rng, count, turns=(0, 7, np.int32))),
        stage=numbers(1, 8),
        turn=numbers(0, 30),
        owned=flags(0.3, 23),
        show=flags(0.3),
        calm=flags(0.3),
        step_active=flags(0.3),
        atk_uses=numbers(0, 2),
        exit_row=exit_row,
        exit_col=exit_col,
        interval=numbers(4, 12),
        next_task=numbers(4, 40),
        pending=numbers(0, 9),
        before=Before(
            score=numbers(0, 60),
            hp=numbers(0, 3),
            credits=numbers(0, 80),
            energy=numbers(0, 80),
            exit_distance=numbers(-1, 12),
            kills=numbers(0, 5),
            picked_up=flags(0.3),
            missed_credits=numbers(0, 9),
            missed_energy=numbers(0, 9),
        ),
    )


def entry(states: EnvState, at: int) -> EnvState:
    """Return one state of a batch, in NumPy: plain code reads single cells of it, which is slow on a device."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[at], states)


def _grid(rng: np.random.Generator, count: int, exit_row: Any, exit_col: Any) -> Grid:
    shape = (count, 6, 6)
    few = rng.random((count, 1, 1))  # some boards are bare, some full
    kind = np.where(rng.random(shape) < few * 0.6, rng.integers(1, 4, shape), 0)
    is_data = np.where(kind == 3, rng.random(shape) < 0.5, kind == 1)
    data, program = (kind > 0) & is_data, (kind > 0) & ~is_data
    most = rng.integers(1, 10, (count, 1, 1))  # equal blocks are common where there are few kinds of them
    amount = np.where(rng.random(shape) < 1.3 - few, rng.integers(1, 4, shape), 0)
    exits = np.zeros(shape, bool)
    exits[np.arange(count), exit_row, exit_col] = True
    in_credits = rng.random(shape) < 0.5
    return Grid(
        block_kind=kind.astype(np.int8),
        block_is_data=is_data,
        block_points=np.where(data, rng.integers(1, most + 1, shape), 0).astype(np.int8),
        block_program=np.where(program, rng.integers(0, most * 2 + 5, shape), -1).astype(np.int8),
        block_spawn=np.where(kind > 0, rng.integers(0, 10, shape), 0).astype(np.int8),
        credits=np.where(in_credits, amount, 0).astype(np.int8),
        energy=np.where(in_credits, 0, amount).astype(np.int8),
        data_siphon=rng.random(shape) < 0.1,
        exit=exits,
        siphoned=rng.random(shape) < 0.2,
        siphon_center=rng.random(shape) < 0.1,
    )


def _list(rng: np.random.Generator, count: int, **fields: tuple[int, int, Any]) -> dict[str, Any]:
    length = rng.integers(0, 37, count)
    length[rng.random(count) < 0.3] //= 6
    used = np.arange(36) < length[:, None]
    columns = {"type": (0, 3, np.int8), "row": (0, 5, np.int8), "col": (0, 5, np.int8), **fields}
    columns |= {"from_siphon": (0, 1, bool), "from_task": (0, 1, bool)}
    drawn = {name: rng.integers(low, high + 1, used.shape) for name, (low, high, _) in columns.items()}
    return {"count": length.astype(np.int32)} | {
        name: np.where(used, drawn[name], 0).astype(dtype) for name, (*_, dtype) in columns.items()
    }
