"""Find the policy that an argument names: a saved learner, a simple one, or a function of the user's."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plaudit.cli.errors import unreadable
from plaudit.cli.rewards import load_module
from plaudit.errors import DefinitionError, PlauditError, did_you_mean

if TYPE_CHECKING:
    from plaudit.learn.off_policy import Policy

_FORMS = "A policy is uniform, always:ACTION, the JSON file of a saved learner, file.py:name or package.module:name."


def find_policy(text: str) -> "Policy":
    """Return the policy that `text` names; an error says what was looked for.

    >>> find_policy("always:star").actions
    ('star',)
    """
    from plaudit.learn.off_policy import always, saved, uniform

    if text == "uniform":
        return uniform()
    place, colon, name = text.rpartition(":")
    if text.startswith("always:"):
        action = text.removeprefix("always:")
        if not action:
            raise DefinitionError(f"{text!r} names no action after the colon. {_FORMS}")
        return always(action)
    if colon and re.fullmatch(r"[A-Za-z_]\w*", name):
        return _function(place, name)
    path = Path(text)
    if not path.is_file():
        if text.endswith(".json") or "/" in text:
            raise unreadable(path, FileNotFoundError())
        raise DefinitionError(f"there is no policy {text!r}.{did_you_mean(text, ['uniform', 'always'])} {_FORMS}")
    return saved(path)


def _function(place: str, name: str) -> "Policy":
    module = load_module(place)
    found = getattr(module, name, None)
    if not callable(found) or isinstance(found, type):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        what = f"is a {type(found).__name__}" if hasattr(module, name) else "is not there"
        raise DefinitionError(
            f"{place}:{name} {what}; a policy is a function from contexts to probabilities.{did_you_mean(name, known)}"
        )
    return _Told(f"{place}:{name}", found, getattr(found, "actions", None))


class _Told:
    """A function of the user's, whose failures are told in a sentence."""

    def __init__(self, name: str, function: Callable[[Any], Any], actions: Any) -> None:
        self.name = name
        self.actions = actions
        self._function = function

    def __call__(self, contexts: Any) -> Any:
        try:
            return self._function(contexts)
        except PlauditError:
            raise
        except Exception as error:
            raise DefinitionError(f"{self.name} raised {type(error).__name__}: {error}") from None
