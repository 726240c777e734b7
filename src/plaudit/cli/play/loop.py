"""The course of a game: a move is asked for, refused or made, and what it earned is told, until the game ends."""

import sys
from collections.abc import Iterator, Sequence
from typing import Protocol

import click

from plaudit.cli.errors import INTERRUPTED, Failure
from plaudit.cli.play.words import moves_of
from plaudit.errors import DefinitionError
from plaudit.systems.hackmatrix.playing.game import Game, Move
from plaudit.systems.hackmatrix.playing.refusal import refusal
from plaudit.systems.hackmatrix.rules import ACTION_NAMES

LEAVE = ("q", "quit", "exit")
EXPLAIN = ("?", "h", "help")


class Show(Protocol):
    """Where a game is shown."""

    def start(self, game: Game, *, asking: bool) -> None:
        """Show a game before its first move; `asking` says that moves will be asked for."""

    def ask(self, game: Game) -> None:
        """Show where the game stands, and ask for a move."""

    def refuse(self, why: str) -> None:
        """Say why a move was not made."""

    def explain(self) -> None:
        """Say what the signs mean."""

    def move(self, game: Game, move: Move) -> None:
        """Show what a move earned."""

    def end(self, game: Game, moves: Sequence[Move], *, unplayed: int) -> None:
        """Show how the game ended and what it earned; `unplayed` moves were given and not made."""


def play_on(game: Game, show: Show, given: Sequence[int] | None) -> None:
    """Play the moves that are given; where none are, ask for moves until the game ends or the person leaves."""
    made: list[Move] = []
    show.start(game, asking=given is None)
    try:
        for action in _asked(game, show) if given is None else _checked(game, given):
            made.append(game.play(action))
            show.move(game, made[-1])
    except KeyboardInterrupt:
        click.echo(err=True)  # the summary comes after the terminal's ^C
        show.end(game, made, unplayed=0)
        raise click.exceptions.Exit(INTERRUPTED) from None
    show.end(game, made, unplayed=0 if given is None else len(given) - len(made))


def _checked(game: Game, given: Sequence[int]) -> Iterator[int]:
    """Yield the moves that are given until the game ends; one that is not allowed is an error."""
    for number, action in enumerate(given, start=1):
        if game.ended:
            return
        if why := _refused(game, action):
            raise Failure(f"move {number}: {why}")
        yield action


def _asked(game: Game, show: Show) -> Iterator[int]:
    """Yield the moves that a person types, those that are allowed."""
    while not game.ended:
        show.ask(game)
        line = sys.stdin.readline()
        words = line.strip().lower()
        if not line or words in LEAVE:
            return
        if words in EXPLAIN:
            show.explain()
        else:
            yield from _typed(game, show, words)


def _typed(game: Game, show: Show, words: str) -> Iterator[int]:
    """Yield the moves of one line, up to the first that is not allowed."""
    try:
        wanted = moves_of(words)
    except DefinitionError as error:
        show.refuse(f"{error} ? explains the moves.")
        return
    for action in wanted:
        if game.ended:
            return
        if why := _refused(game, action):
            show.refuse(why)
            return
        yield action


def _refused(game: Game, action: int) -> str | None:
    if game.allowed[action]:
        return None
    return f"{ACTION_NAMES[action]} is not allowed: {refusal(game.state, action)}."
