"""Imports point one way: the contracts of `pyproject.toml`, walked by import-linter."""

from pathlib import Path

from importlinter.cli import lint_imports

ROOT = Path(__file__).parent.parent


def test_imports_point_one_way(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    status = lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert status == 0, capsys.readouterr().out
