"""`plaudit run`, `play`, `train` and `experiment`: the commands that systems provide."""

from plaudit.cli._support.groups import SystemGroup

run = SystemGroup(
    "run",
    help="Run an agent system and see what it earns.\n\nShows its decisions, their rewards and what it learns.",
    epilog="Example: plaudit run apex --seed 7 --output runs/apex",
)
play = SystemGroup(
    "play",
    help="Play a game and see what each move earns.\n\nShows the board, asks for moves and explains their rewards.",
    epilog='Example: plaudit play hackmatrix --seed 7 --moves "up up siphon"',
)
train = SystemGroup(
    "train",
    help="Train an agent with PPO and report the results.",
    epilog="Example: plaudit train hackmatrix --steps 5_000_000 --reward potential --output runs/first",
)
experiment = SystemGroup(
    "experiment",
    help="Test every reward version on fixed policies.\n\nShows which policies each version pays best.",
    epilog="Example: plaudit experiment roadsense --only R0,R8",
)
