"""What a person types, as actions of the game."""

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.systems.hackmatrix.rules import ACTION_NAMES, ACTION_SIPHON

KEYS = ("w", "s", "a", "d", "f")
"""One key for each direction and for the siphon, in the order of the actions."""

WORDS = """\
w up   s down   a left   d right: a shot, if anything is in line, else a step
f siphon: takes what lies on the five cells around you, and opens blocks
A program is run by its name; `undo` is one. Several moves can be in a line."""
"""How moves are written."""

_ACTIONS = {
    **{name.lower(): action for action, name in enumerate(ACTION_NAMES)},
    **{key: action for action, key in enumerate(KEYS)},
    **{str(action): action for action in range(len(ACTION_NAMES))},
}


def moves_of(text: str) -> list[int]:
    """Return the actions that are named in a line: words, keys or numbers, between spaces or commas.

    >>> moves_of("up w RIGHT, f 27")
    [0, 0, 3, 4, 27]
    """
    return [_action(word) for word in text.replace(",", " ").split()]


def _action(word: str) -> int:
    if word.lower() not in _ACTIONS:
        near = did_you_mean(word.lower(), [name.lower() for name in ACTION_NAMES])
        raise DefinitionError(f"no move is called {word!r}.{near}")
    return _ACTIONS[word.lower()]


def label(action: int) -> str:
    """Return how an action can be typed: a direction's key and name, or the name of a program.

    >>> label(0), label(5)
    ('w up', 'push')
    """
    name = ACTION_NAMES[action].lower()
    return f"{KEYS[action]} {name}" if action <= ACTION_SIPHON else name
