"""A tiny project with real tests: what is to be written, and how a coder writes it, a first attempt and its repair."""

import os
from pathlib import Path
from types import MappingProxyType

TASKS = ("minutes", "written", "total")
"""The functions to be written, in this order."""

_HEADER = '"""Durations as people write them."""\n'

_STUB = """
def {name}(given):
    raise NotImplementedError
"""

_MINUTES = '''
def minutes(given):
    """Return a duration like "1h 30m" in minutes."""
    units = {"h": 60, "m": 1}
    return sum(int(part[:-1]) * units[part[-1]] for part in given.split())
'''

_MINUTES_REPAIRED = '''
def minutes(given):
    """Return a duration like "1h 30m" in minutes."""
    units = {"h": 60, "m": 1}
    if not given.strip():
        raise ValueError("an empty text is no duration")
    return sum(int(part[:-1]) * units[part[-1]] for part in given.split())
'''

_WRITTEN = '''
def written(given):
    """Return minutes as a duration like "1h 30m"."""
    hours, rest = divmod(given, 60)
    parts = [f"{hours}h"] * bool(hours) + [f"{rest}m"] * bool(rest or not hours)
    return " ".join(parts)
'''

_TOTAL = '''
def total(given):
    """Return the sum of durations as a duration."""
    return written(sum(minutes(each) for each in given))
'''

ATTEMPTS = MappingProxyType({"minutes": (_MINUTES, _MINUTES_REPAIRED), "written": (_WRITTEN,), "total": (_TOTAL,)})
"""What the coder writes for each task: the first attempt, then what comes after each review."""

_TESTS = '''\
"""What durations are to do."""

import pytest

from durations import minutes, total, written


@pytest.mark.parametrize(("text", "expected"), [("45m", 45), ("2h", 120), ("1h 30m", 90)])
def test_minutes(text, expected):
    assert minutes(text) == expected


def test_minutes_of_nothing_are_refused():
    with pytest.raises(ValueError):
        minutes(" ")


@pytest.mark.parametrize(("number", "expected"), [(0, "0m"), (45, "45m"), (120, "2h"), (90, "1h 30m")])
def test_written(number, expected):
    assert written(number) == expected


@pytest.mark.parametrize(("texts", "expected"), [([], "0m"), (["45m", "1h 15m"], "2h")])
def test_total(texts, expected):
    assert total(texts) == expected
'''

TESTS = 10
"""How many tests there are."""


class Project:
    """The project in a folder: a module whose functions are stubs until they are written, and its tests.

    >>> import tempfile
    >>> project = Project(Path(tempfile.mkdtemp(), "durations"))
    >>> project.write("total")
    'durations.py: total'
    >>> "def total" in (project.folder / "durations.py").read_text()
    True
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Make the folder with nothing but stubs and tests in it."""
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._functions = {name: _STUB.format(name=name) for name in TASKS}
        self._attempts = dict.fromkeys(TASKS, 0)
        (self.folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (self.folder / "test_durations.py").write_text(_TESTS, encoding="utf-8")
        self._save()

    def write(self, name: str) -> str:
        """Write the next attempt at a function, and say what was edited."""
        attempts = ATTEMPTS[name]
        self._functions[name] = attempts[min(self._attempts[name], len(attempts) - 1)]
        self._attempts[name] += 1
        self._save()
        return f"durations.py: {name}"

    def _save(self) -> None:
        text = "\n".join([_HEADER, *self._functions.values()])
        (self.folder / "durations.py").write_text(text, encoding="utf-8")
