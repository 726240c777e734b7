"""`plaudit play`: a game at the terminal, and what each move earns."""

import click


@click.command(epilog='Example: plaudit play hackmatrix --seed 7 --moves "up up siphon"')
@click.argument("game", type=click.Choice(["hackmatrix"]), metavar="GAME")
@click.option(
    "--seed", metavar="NUMBER", type=click.IntRange(0, 2**32 - 1), help="Play this game; without it, a new one."
)
@click.option(
    "--stage", type=click.IntRange(1, 8), default=1, show_default=True, help="Begin on this stage of the game."
)
@click.option("--reward", metavar="VERSION", help="The version of the reward that pays: the default one unless given.")
@click.option("--moves", metavar="WORDS", help="Play these moves, and ask for none.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a move, the first for the start.")
def play(game: str, seed: int | None, stage: int, reward: str | None, moves: str | None, as_json: bool) -> None:
    """Play a GAME: see the board, choose a move, see what it earned and why.

    GAME is hackmatrix. A move is up, down, left or right (w s a d), siphon (f), or the name of a program; several can
    be written in one line. A move that is not allowed is refused with the reason, and nothing happens. `?` explains
    the signs, `q` ends.
    """
    from random import randrange

    from plaudit.cli.play.loop import play_on
    from plaudit.cli.play.show import Lines, Pictures
    from plaudit.cli.play.words import moves_of
    from plaudit.cli.screen import Screen
    from plaudit.systems import load

    paid = load(game, reward)
    given = None if moves is None else moves_of(moves)
    screen = Screen(stderr=as_json)
    with screen.status("Setting up the board …"):
        from plaudit.systems.hackmatrix.playing.game import Game

        begun = Game(randrange(2**32) if seed is None else seed, stage=stage, reward=paid)
        begun.prepare()
    play_on(begun, Lines(paid) if as_json else Pictures(paid, screen), given)
