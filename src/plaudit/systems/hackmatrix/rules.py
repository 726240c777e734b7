"""The numbers of the game, and the points on which its specification and its later rules disagree."""

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from plaudit.errors import did_you_mean

SIZE = 6
"""Rows and columns of the board; row 0 is the bottom."""
CELLS = SIZE * SIZE
SLOTS = CELLS
"""How many enemies, and how many transmissions, the state has room for."""
STAGES = 8
MAX_HP = 3
SNAPSHOTS = 8
"""How many ends of enemy turns UNDO can go back to; the newest is often the present."""
ATTACK_UPGRADES = 2
"""How often ATK+ can be run on a stage."""

FEWEST_BLOCKS, MOST_BLOCKS = 5, 11
LAYOUT_ATTEMPTS = 100
"""Layouts of blocks that are tried for a board; if none of them will do, it has no blocks."""
BONUS_CREDITS, BONUS_ENERGY, BONUS_SIPHONS = 10, 11, 1
"""One of these is what a game starts with."""
EXCHANGED_ENERGY = 4
DELAYED_TURNS = 3
SHORTEST_INTERVAL = 4
POSTPONED_TURNS = 5
"""Turns by which a siphon puts the scheduled task off."""

CORNERS = ((0, 0), (0, 5), (5, 0), (5, 5))
DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1))
"""Row and column steps of up, down, left and right, the order of everything that has one."""

ENEMIES = ("virus", "daemon", "glitch", "cryptog")
VIRUS, DAEMON, GLITCH, CRYPTOG = range(len(ENEMIES))
ENEMY_HP = (2, 3, 2, 2)

NO_BLOCK, DATA, PROGRAM, QUESTION = range(4)
"""Kinds of block; what a question block holds is hidden until it is siphoned."""

ACTIONS = 28
ACTION_SIPHON = 4
"""The action that siphons the blocks around the player."""
ACTION_PROGRAM_START = 5
"""The action that runs the first of `PROGRAMS`; the others follow in order."""

PROGRAMS = (
    "PUSH",
    "PULL",
    "CRASH",
    "WARP",
    "POLY",
    "WAIT",
    "DEBUG",
    "ROW",
    "COL",
    "UNDO",
    "STEP",
    "SIPH+",
    "EXCH",
    "SHOW",
    "RESET",
    "CALM",
    "D_BOM",
    "DELAY",
    "ANTI-V",
    "SCORE",
    "REDUC",
    "ATK+",
    "HACK",
)
"""The names of the programs, in the order of their actions."""
PROGRAM_CREDITS = (0, 0, 3, 2, 1, 0, 3, 3, 3, 1, 0, 5, 4, 2, 0, 2, 3, 1, 3, 0, 2, 4, 2)
PROGRAM_ENERGY = (2, 2, 2, 2, 1, 1, 0, 1, 1, 0, 3, 0, 0, 0, 4, 4, 0, 2, 0, 5, 1, 4, 2)
PROGRAM_SPAWN = (4, 4, 6, 5, 3, 1, 4, 2, 2, 3, 4, 7, 3, 2, 2, 6, 4, 4, 4, 5, 3, 8, 4)
"""Transmissions that siphoning a block with the program releases."""
PROGRAM_RESET = PROGRAMS.index("RESET")
"""The position of RESET in `PROGRAMS`."""

ACTION_NAMES = ("UP", "DOWN", "LEFT", "RIGHT", "SIPHON", *PROGRAMS)
"""The names of all actions, by number."""


def interval_of(stage: Any) -> Any:
    """Return the turns between two scheduled tasks on a stage, before siphoning shortens them.

    >>> interval_of(1), interval_of(8)
    (12, 5)
    """
    return 13 - stage


def action_of(name: str) -> int:
    """Return the number of an action.

    Args:
        name: A name in `ACTION_NAMES`.

    Returns:
        The action, from 0 to 27.

    Raises:
        ValueError: There is no such action.

    >>> action_of("RESET")
    19
    """
    if name not in ACTION_NAMES:
        raise ValueError(f"no action is called {name!r}.{did_you_mean(name, ACTION_NAMES)}")
    return ACTION_NAMES.index(name)


NoPath = Literal["manhattan", "zero"]
SiphonCandidates = Literal["values", "same_blocks"]
QuestionBlocks = Literal["ignored", "counted"]
SiphonedCells = Literal["counted", "skipped"]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Where the specification and the later rules of the game disagree, what holds.

    >>> Rules.seed().no_path, Rules.reference().no_path
    ('manhattan', 'zero')
    """

    no_path: NoPath = "zero"
    """How far the exit is when no path leads to it: the direct distance, or 0."""
    siphon_candidates: SiphonCandidates = "same_blocks"
    """Which cells a siphon is compared with: all that yield equal values, or those that reach the same blocks."""
    question_blocks: QuestionBlocks = "counted"
    """Whether what a question block hides counts in a cell's yield."""
    siphoned_cells: SiphonedCells = "skipped"
    """Whether credits and energy on a cell that was siphoned count in a yield; siphoned blocks never do."""

    def __post_init__(self) -> None:
        for option, choices in _CHOICES.items():
            given = getattr(self, option)
            if given not in choices:
                wanted = " or ".join(repr(choice) for choice in choices)
                raise ValueError(f"{option}={given!r} must be {wanted}.")

    @classmethod
    def seed(cls) -> "Rules":
        """Return the rules of the specification.

        Returns:
            The rules.
        """
        return cls(**{option: choices[0] for option, choices in _CHOICES.items()})

    @classmethod
    def reference(cls) -> "Rules":
        """Return the rules of the finished game, which are the defaults.

        Returns:
            The rules.
        """
        return cls(**{option: choices[1] for option, choices in _CHOICES.items()})


_CHOICES = {
    option.name: get_args(choices)
    for option, choices in zip(fields(Rules), (NoPath, SiphonCandidates, QuestionBlocks, SiphonedCells), strict=True)
}
