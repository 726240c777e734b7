"""`plaudit play hackmatrix`: ask for moves and show what each one earned, until the game ends."""

import sys
from collections.abc import Iterator, Sequence
from random import randrange
from typing import Protocol

import click

from plaudit.errors import DefinitionError
from plaudit.plugins.options import SEED
from plaudit.plugins.registry import load
from plaudit.systems.hackmatrix.commands.display import Lines, Pictures, parse_moves
from plaudit.systems.hackmatrix.plain.legality import explain_refusal
from plaudit.systems.hackmatrix.playing.game import Game, Move
from plaudit.systems.hackmatrix.rules import ACTION_NAMES
from plaudit.terminal import ExitCode, Screen

LEAVE = ("q", "quit", "exit")
EXPLAIN = ("?", "h", "help")


@click.command("hackmatrix", epilog='Example: plaudit play hackmatrix --seed 7 --moves "up up siphon"')
@click.option("--seed", metavar="NUMBER", type=SEED, help="Random seed of the game.  [default: a new one]")
@click.option("--stage", type=click.IntRange(1, 8), default=1, show_default=True, help="Stage to start on.")
@click.option("--reward", metavar="VERSION", help="Version of the reward.  [default: the first]")
@click.option("--moves", metavar="WORDS", help="Play these moves instead of asking.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line: the start, then each move.")
def play(seed: int | None, stage: int, reward: str | None, moves: str | None, as_json: bool) -> None:
    """Play the tactical game in the terminal.

    Shows the board and what each move earned, term by term. A move is up, down, left or right (w s a d), siphon (f),
    or the name of a program; a line can hold several. A move that is not allowed is refused with the reason, and
    nothing happens. `?` explains the symbols, `q` quits.
    """
    paid = load("hackmatrix", reward)
    given = None if moves is None else parse_moves(moves)
    screen = Screen(stderr=as_json)
    begun = Game(randrange(2**32) if seed is None else seed, stage=stage, reward=paid)
    play_game(begun, Lines(paid) if as_json else Pictures(paid, screen), given)


class Display(Protocol):
    """The output of a game."""

    def start(self, game: Game, *, asking: bool) -> None:
        """Show a game before its first move; `asking` is true if moves will be asked for."""

    def ask(self, game: Game) -> None:
        """Show the state of the game and ask for a move."""

    def refuse(self, why: str) -> None:
        """Show why a move was not made."""

    def explain(self) -> None:
        """Show what the symbols mean."""

    def move(self, game: Game, move: Move) -> None:
        """Show what a move earned."""

    def end(self, game: Game, moves: Sequence[Move], *, unplayed: int) -> None:
        """Show how the game ended and its return; `unplayed` moves were given but not made."""


def play_game(game: Game, display: Display, given: Sequence[int] | None) -> None:
    """Play the given moves, or ask for moves until the game ends or the player quits."""
    made: list[Move] = []
    display.start(game, asking=given is None)
    try:
        for action in _ask_for_moves(game, display) if given is None else _check_moves(game, given):
            made.append(game.play(action))
            display.move(game, made[-1])
    except KeyboardInterrupt:
        click.echo(err=True)  # the summary comes after the terminal's ^C
        display.end(game, made, unplayed=0)
        raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
    display.end(game, made, unplayed=0 if given is None else len(given) - len(made))


def _check_moves(game: Game, given: Sequence[int]) -> Iterator[int]:
    """Yield the given moves until the game ends; a move that is not allowed is an error."""
    for number, action in enumerate(given, start=1):
        if game.ended:
            return
        if why := _explain_refusal(game, action):
            raise DefinitionError(f"move {number}: {why}")
        yield action


def _ask_for_moves(game: Game, display: Display) -> Iterator[int]:
    while not game.ended:
        display.ask(game)
        line = sys.stdin.readline()
        words = line.strip().lower()
        if not line or words in LEAVE:
            return
        if words in EXPLAIN:
            display.explain()
        else:
            yield from _parse_line(game, display, words)


def _parse_line(game: Game, display: Display, words: str) -> Iterator[int]:
    try:
        wanted = parse_moves(words)
    except DefinitionError as error:
        display.refuse(f"{error} Type ? for the moves.")
        return
    for action in wanted:
        if game.ended:
            return
        if why := _explain_refusal(game, action):
            display.refuse(why)
            return
        yield action


def _explain_refusal(game: Game, action: int) -> str | None:
    """Return why a move is not allowed, or None if it is."""
    if game.allowed[action]:
        return None
    return f"{ACTION_NAMES[action]} is not allowed: {explain_refusal(game.state, action)}."
