"""The errors of apex: each is one of plaudit's, a builtin that a caller would catch, and on the page."""

from pathlib import Path

import pytest

from plaudit import PlauditError
from plaudit.errors import InputError
from plaudit.systems import apex
from plaudit.systems.apex import errors

PAGE = Path(__file__).parents[3] / "docs" / "systems" / "apex.md"
DEFINED = {
    name: error
    for name, error in vars(errors).items()
    if isinstance(error, type) and error.__module__ == errors.__name__
}


def test_each_is_one_of_plaudits_and_a_builtin():
    bases = {name: error.__bases__ for name, error in DEFINED.items()}
    assert bases == {
        "ProbeTimeout": (InputError, TimeoutError),
        "MessageRefused": (PlauditError, RuntimeError),
        "SwitchInFlight": (PlauditError, RuntimeError),
        "SwitchNotPrepared": (PlauditError, RuntimeError),
    }


@pytest.mark.parametrize("name", DEFINED)
def test_each_is_documented_and_can_be_imported_from_the_system(name):
    assert getattr(apex, name) is DEFINED[name]
    assert DEFINED[name].__doc__
    assert f"| `{name}` |" in PAGE.read_text(encoding="utf-8")
