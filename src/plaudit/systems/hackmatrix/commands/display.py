"""A game in a terminal: board, moves and rewards, for people or scripts, and the parsing of moves."""

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.playing import render
from plaudit.systems.hackmatrix.playing.game import Game, Move
from plaudit.systems.hackmatrix.rules import ACTION_NAMES, ACTION_PROGRAM_START, ACTION_SIPHON
from plaudit.terminal import Screen, build_table, draw_bar

PLAYER = {
    "hp": "hp",
    "credits": "credits",
    "energy": "energy",
    "data_siphons": "siphons",
    "score": "score",
    "attack": "attack",
}
"""Values that are shown when they change, and their names."""
TERM = 16
"""Column width for the names of terms, so that moves line up."""


class Pictures:
    """A game for a person: the board, and the reward of each move, term by term."""

    def __init__(self, reward: Reward, screen: Screen) -> None:
        """Draw on `screen`, and explain what `reward` pays."""
        self._screen = screen
        self._version = f"{reward.name}@{reward.version}"
        self._what = {term.name: re.split(r"[;.\n]", term.doc)[0] for term in reward.terms}
        self._ascii = not _can_encode(screen.encoding, render.CHARACTERS)
        self._earned = 0.0
        self._before: dict[str, int] = {}
        self._drawn = -1
        """The number of moves when a board was last drawn."""

    def start(self, game: Game, *, asking: bool) -> None:
        """Show the version and seed; if no moves will be asked for, draw the board."""
        text = Text.assemble((self._version, "bold"), f", seed {game.seed}")
        if asking:
            text.append("   ? shows the symbols and moves, q quits", "dim")
        self._screen.print(text)
        self._before = _describe_player(game)
        if not asking:
            self._draw(game)

    def ask(self, game: Game) -> None:
        """Draw the board if it changed, with the allowed moves, and print a prompt."""
        if self._draw(game):
            self._screen.print()
            self._screen.print(Text("   ").join(_format_choice(action) for action in _list_allowed(game)))
        if sys.stdin.isatty():
            self._screen.print(f"move {game.moves + 1}> ", style="bold", end="")

    def refuse(self, why: str) -> None:
        """Print why a move was not made."""
        self._screen.print(Text(why, style="yellow"))

    def explain(self) -> None:
        """Print the legend."""
        legend = render.to_ascii(render.LEGEND) if self._ascii else render.LEGEND
        self._screen.print(f"\n{legend}\n\n{WORDS}\n")

    def move(self, game: Game, move: Move) -> None:
        """Print what changed and what each term paid."""
        self._earned += move.reward
        what = Text.assemble((f"{game.moves}. {ACTION_NAMES[move.action]}", "bold"))
        if changes := self._list_changes(game, move):
            what.append(f"   {', '.join(changes)}")
        paid = Table.grid(padding=(0, 2))
        paid.add_column(justify="right", min_width=9, no_wrap=True)
        paid.add_column(no_wrap=True, min_width=TERM)
        for name, value in move.components.items():
            if value:
                paid.add_row(_format_amount(value), name, Text(self._what[name], style="dim"))
        total = Text("total", style="bold")
        paid.add_row(_format_amount(move.reward, "bold"), total, f"return so far {self._earned:+.3f}")
        self._screen.print()
        self._screen.print(what)
        self._screen.print(paid)

    def end(self, game: Game, moves: Sequence[Move], *, unplayed: int) -> None:
        """Draw the last board if it changed, and print what each term paid in total."""
        self._draw(game)
        self._screen.print()
        self._screen.print(Text(_describe_outcome(game, moves, unplayed), style="bold"))
        if moves:
            self._screen.print()
            self._screen.print(self._build_summary(moves))

    def _draw(self, game: Game) -> bool:
        if self._drawn == game.moves:
            return False
        self._drawn = game.moves
        self._screen.print()
        self._screen.print(render.to_rich(game.state, ascii=self._ascii), no_wrap=True, overflow="crop")
        return True

    def _list_changes(self, game: Game, move: Move) -> list[str]:
        before, self._before = self._before, _describe_player(game)
        now = self._before
        changes = [f"{PLAYER[name]} {before[name]} → {now[name]}" for name in PLAYER if now[name] != before[name]]
        if move.stage_completed:
            return [f"stage {move.stage} completed", *changes]
        stayed = (before["row"], before["col"]) == (now["row"], now["col"])
        return ["a shot", *changes] if move.action < ACTION_SIPHON and stayed else changes

    def _build_summary(self, moves: Sequence[Move]) -> Table:
        sums = {name: sum(move.components[name] for move in moves) for name in self._what}
        longest = max(map(abs, sums.values())) or 1.0
        table = build_table("term", "moves", "sum", "", right=("moves", "sum"))
        for name, total in sums.items():
            if count := sum(move.components[name] != 0 for move in moves):
                table.add_row(name, str(count), f"{total:+.3f}", draw_bar(total / longest))
        table.add_section()
        table.add_row("total", str(len(moves)), f"{self._earned:+.3f}")
        return table


class Lines:
    """A game for a script: one JSON object a line, the start first, then each move."""

    def __init__(self, reward: Reward) -> None:
        """Tell what `reward` pays."""
        self._reward = f"{reward.name}@{reward.version}"
        self._earned = 0.0

    def start(self, game: Game, *, asking: bool) -> None:
        """Print the initial state."""
        _print_line({"move": 0, "paid_by": self._reward, "seed": game.seed, **_describe_game(game)})

    def ask(self, game: Game) -> None:
        """Print nothing: the last line says what is allowed."""

    def refuse(self, why: str) -> None:
        """Print on stderr why a move was not made."""
        click.echo(why, err=True)

    def explain(self) -> None:
        """Print on stderr how to write moves."""
        click.echo(WORDS, err=True)

    def move(self, game: Game, move: Move) -> None:
        """Print the reward of a move and the new state."""
        self._earned += move.reward
        parts = {name: round(value, 6) for name, value in move.components.items()}
        earned = {"reward": round(move.reward, 6), "return": round(self._earned, 6), "components": parts}
        happened = {name: getattr(move, name) for name in ("stage_completed", "won", "died")}
        action = ACTION_NAMES[move.action]
        _print_line({"move": game.moves, "action": action, **earned, **happened, **_describe_game(game)})

    def end(self, game: Game, moves: Sequence[Move], *, unplayed: int) -> None:
        """Print on stderr if some given moves were not made."""
        if unplayed:
            click.echo(_describe_outcome(game, moves, unplayed), err=True)


def _print_line(row: dict[str, Any]) -> None:
    click.echo(json.dumps(row))  # which flushes: the other program is waiting for it


def _describe_game(game: Game) -> dict[str, Any]:
    names = [ACTION_NAMES[action] for action in _list_allowed(game)]
    stage, turn = game.state.stage, game.state.turn
    return {"stage": stage, "turn": turn, "player": _describe_player(game), "ended": game.ended, "allowed": names}


def _describe_player(game: Game) -> dict[str, int]:
    return {name: getattr(game.state.player, name) for name in ("row", "col", *PLAYER)}


def _list_allowed(game: Game) -> list[int]:
    return [] if game.ended else [action for action, allowed in enumerate(game.allowed.tolist()) if allowed]


def _format_choice(action: int) -> Text:
    key, _, name = format_action(action).partition(" ")
    if action > ACTION_SIPHON:
        name = render.format_cost(action - ACTION_PROGRAM_START)
    return Text.assemble((key, "bold"), (f" {name}", "dim"))


def _format_amount(value: float, style: str = "") -> Text:
    return Text(f"{value:+.3f}", style=style or ("green" if value > 0 else "red"))


def _describe_outcome(game: Game, moves: Sequence[Move], unplayed: int) -> str:
    count = "1 move" if len(moves) == 1 else f"{len(moves)} moves"
    if moves and moves[-1].won:
        text = f"You won after {count}, with a score of {game.state.player.score}."
    elif moves and moves[-1].died:
        text = f"You died on stage {moves[-1].stage} after {count}."
    else:
        text = f"The game is on stage {game.state.stage} after {count}."
    if not unplayed:
        return text
    return f"{text} {unplayed} {'move was' if unplayed == 1 else 'moves were'} not played."


def _can_encode(encoding: str, characters: str) -> bool:
    try:
        characters.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


KEYS = ("w", "s", "a", "d", "f")
"""One key for each direction and for the siphon, in the order of the actions."""

WORDS = """\
w up   s down   a left   d right: shoot if anything is in line, else step
f siphon: collect from the five cells around you, and open blocks
Type the name of a program, such as `undo`, to run it. A line can hold several moves."""
"""How to write moves."""

_ACTIONS = {
    **{name.lower(): action for action, name in enumerate(ACTION_NAMES)},
    **{key: action for action, key in enumerate(KEYS)},
    **{str(action): action for action in range(len(ACTION_NAMES))},
}


def parse_moves(text: str) -> list[int]:
    """Return the actions in a line: words, keys or numbers, separated by spaces or commas.

    >>> parse_moves("up w RIGHT, f 27")
    [0, 0, 3, 4, 27]
    """
    return [_parse_action(word) for word in text.replace(",", " ").split()]


def _parse_action(word: str) -> int:
    if word.lower() not in _ACTIONS:
        near = did_you_mean(word.lower(), [name.lower() for name in ACTION_NAMES])
        raise DefinitionError(f"there is no move {word!r}.{near}")
    return _ACTIONS[word.lower()]


def format_action(action: int) -> str:
    """Return how to type an action: a direction's key and name, or the name of a program.

    >>> format_action(0), format_action(5)
    ('w up', 'push')
    """
    name = ACTION_NAMES[action].lower()
    return f"{KEYS[action]} {name}" if action <= ACTION_SIPHON else name
