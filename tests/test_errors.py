"""The errors: the tree in the docstring is the tree there is."""

import builtins
import re

import pytest

import plaudit
from plaudit import errors

DRAWN = re.compile(r"^(?P<indent>[ │├└─]*)(?P<name>[A-Z]\w+)(?: \((?P<base>\w+)\))?(?:\s{2,}(?P<what>.*))?$")


def drawn():
    """Return each error of the docstring with the parent it is drawn under, the builtin beside it and its line."""
    stack: list[tuple[int, str]] = []
    for line in errors.__doc__.splitlines()[1:]:
        match = DRAWN.match(line)
        if match is None:
            continue
        depth = len(match["indent"])
        while stack and stack[-1][0] >= depth:
            stack.pop()
        yield match["name"], stack[-1][1] if stack else None, match["base"], match["what"]
        stack.append((depth, match["name"]))


def defined():
    return {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, Exception) and value.__module__ == errors.__name__
    }


def test_the_tree_in_the_docstring_is_the_tree_there_is():
    names = [name for name, *_ in drawn()]
    assert sorted(names) == sorted(defined())
    assert len(names) == len(set(names)) > 15
    for name, parent, base, what in drawn():
        error = defined()[name]
        own = [cls.__name__ for cls in error.__bases__ if cls.__name__ in defined()]
        foreign = [cls.__name__ for cls in error.__bases__ if cls.__name__ not in defined()]
        assert own == ([] if parent is None else [parent]), name
        assert foreign == (["Exception"] if parent is None else [base] if base else []), name
        assert parent is None or what, f"{name} is drawn without a word on what it means"


def test_every_error_is_a_plaudit_error_and_a_builtin_that_a_caller_would_catch():
    for name, error in defined().items():
        assert issubclass(error, errors.PlauditError)
        builtin = [
            cls
            for cls in error.__mro__
            if cls.__name__ in vars(builtins) and cls not in (Exception, BaseException, object)
        ]
        assert builtin or name in ("PlauditError", "TargetError"), f"{name} is caught by no builtin of its own"
        assert error.__doc__


def test_what_the_package_exports_of_them_is_what_is_here_and_includes_the_roots():
    exported = {name for name in defined() if hasattr(plaudit, name)}
    assert exported >= {"PlauditError", "DefinitionError", "InputError", "TargetError", "SpecError", "LedgerError"}
    assert all(getattr(plaudit, name) is defined()[name] for name in exported)


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("distnce", ["distance", "action"], " Did you mean 'distance'?"),
        ("zzz", ["distance"], ""),
        ("x", [], ""),
        ("", ["a"], ""),
    ],
)
def test_a_near_name_is_suggested_and_a_far_one_is_not(name, known, hint):
    assert errors.did_you_mean(name, known) == hint


def test_of_very_many_names_some_are_compared_and_of_very_long_ones_none():
    asked = []

    def names():
        for n in range(10**6):
            asked.append(n)
            yield f"distance {n}"

    assert errors.did_you_mean("distance 3", names()) == " Did you mean 'distance 3'?"
    assert len(asked) <= 1_001
    assert errors.did_you_mean("x" * 10**6, ["x" * (10**6 - 1)]) == ""
