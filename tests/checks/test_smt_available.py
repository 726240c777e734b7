"""Whether z3 is at hand: installed, and such that it can be imported."""

import sys

import pytest

from plaudit.checks.smt import available


@pytest.fixture
def asked_anew(monkeypatch):
    """Forget what is known of z3, before and after."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "z3"]:
        monkeypatch.delitem(sys.modules, name)
    available.cache_clear()
    yield available
    available.cache_clear()


@pytest.mark.parametrize(
    "text", ["import no_such_library", "print('Could not find libz3')\nraise OSError('libz3.so')", "raise Exception"]
)
def test_what_cannot_be_imported_is_not_available(asked_anew, monkeypatch, tmp_path, capsys, text):
    (tmp_path / "z3.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert asked_anew() is False
    assert capsys.readouterr().out == ""  # a report may go there


def test_the_answer_is_kept(asked_anew, monkeypatch, tmp_path):
    (tmp_path / "z3.py").write_text("import sys\nsys.tried_z3 += 1\nraise OSError", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "tried_z3", 0, raising=False)
    assert asked_anew() is asked_anew() is False
    assert sys.tried_z3 == 1


def test_what_is_not_installed_is_not_imported(asked_anew, monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert asked_anew() is False
    assert "z3" not in sys.modules
