"""The worked examples of the game's rules, as plain states and as states of the compiled game."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from plaudit.systems.hackmatrix.plain.state import Block, Cell, Enemy, Player, State, Transmission
from plaudit.systems.hackmatrix.state import EnvState
from support.hackmatrix_model.states import compiled_state


@cache
def examples() -> dict[str, Any]:
    """Return the worked examples; every step's reward has all components."""
    told = json.loads((Path(__file__).parent / "examples.json").read_text())
    for example in told["transitions"]:
        for step in example["steps"]:
            step["reward"] = {key: step["reward"].get(key, 0.0) for key in told["reward_keys"]}
    return told


COMPONENTS = tuple(examples()["reward_keys"])
"""The components of a reward, in the order in which they are summed."""


def transition(name: str) -> dict[str, Any]:
    """Return the example of a step or more with a name, `E01` to `E79`."""
    return next(example for example in examples()["transitions"] if example["id"] == name)


def game_of(description: dict[str, Any]) -> State:
    """Return the game that an example describes; what it does not name has its default."""
    described = dict(description)
    player = dict(described.pop("player", {}))
    game = State(player=Player(data_siphons=player.pop("siphons", 0), **player))
    for place, things in described.pop("cells", {}).items():
        row, col = map(int, place.split(","))
        renamed = {_CELL.get(name, name): value for name, value in things.items()}
        game.cells[row, col] = Cell(**{**renamed, "block": _block(things.get("block"))})
    game.exit = tuple(described.pop("exit", (5, 5)))
    game.owned = {name.upper() for name in described.pop("owned", ())}
    game.enemies = [Enemy(**each) for each in described.pop("enemies", ())]
    game.transmissions = [Transmission(**each) for each in described.pop("transmissions", ())]
    for name, value in described.items():
        setattr(game, name, value)
    return game


_CELL = {"siphon": "data_siphon", "center": "siphon_center"}


def _block(told: dict[str, Any] | None) -> Block | None:
    if told is None:
        return None
    program = told["program"] and told["program"].upper()
    assert (program is None) == (told["hidden"] == "data")
    return Block(told["points"], program, told["spawn"], question=told["kind"] == "question")


def state_of(description: dict[str, Any]) -> EnvState:
    """Return the state that an example describes; what it does not name has its default.

    >>> state_of({"player": {"row": 2}, "cells": {"3,3": {"credits": 2}}}).grid.credits[3, 3].item()
    2
    """
    return compiled_state(game_of(description))


def seen(game: State, what: str) -> Any:
    """Return what an example says of a game after a step, by the example's own name for it."""
    kind, *place = what.split("_")
    if len(place) == 2:
        cell = game.cells[int(place[0]), int(place[1])]
        return {
            "block": lambda: _kind(cell.block),
            "spawn": lambda: cell.block.spawn,
            "pickup": lambda: cell.data_siphon,
        }[kind]()
    by_name = {
        "pos": lambda: list(game.player.place),
        "step": lambda: game.step_active,
        "siphons": lambda: game.player.data_siphons,
        "owned": lambda: sorted(name.lower() for name in game.owned),
        "enemies": lambda: [[e.type, e.row, e.col, e.hp, e.stunned, e.disabled] for e in game.enemies],
        "trans": lambda: [[t.type, t.row, t.col, t.turns] for t in game.transmissions],
        "n_enemies": lambda: len(game.enemies),
        "n_trans": lambda: len(game.transmissions),
        "n_blocks": lambda: sum(cell.block is not None for cell in game.cells.values()),
        "n_siphoned": lambda: sum(cell.siphoned for cell in game.cells.values()),
    }
    if what in by_name:
        return by_name[what]()
    return getattr(game.player if hasattr(game.player, what) else game, what)


def _kind(block: Block) -> str:
    return "question" if block.question else "data" if block.program is None else "program"
