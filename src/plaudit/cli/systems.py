"""`plaudit run`, `play`, `train` and `experiment`: the commands that systems bring."""

from plaudit.cli._support.groups import SystemGroup

run = SystemGroup(
    "run",
    help="Run an agent system: see what it decides, what that earns, and what it learns.",
    epilog="Example: plaudit run apex --seed 7 --output runs/apex",
)
play = SystemGroup(
    "play",
    help="Play a GAME: see the board, choose a move, see what it earned and why.",
    epilog='Example: plaudit play hackmatrix --seed 7 --moves "up up siphon"',
)
train = SystemGroup(
    "train",
    help="Train an agent on a GAME with PPO, and report how well it plays.",
    epilog="Example: plaudit train hackmatrix --steps 5_000_000 --reward potential --output runs/first",
)
experiment = SystemGroup(
    "experiment",
    help="Put every version of a reward to the test: which policies does it pay best?",
    epilog="Example: plaudit experiment roadsense --only R0,R8",
)
