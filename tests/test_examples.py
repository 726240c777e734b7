"""The examples run from top to bottom."""

import shutil
import sys
from pathlib import Path

import pytest

from support.forking import run_python

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
SHOWS = {
    "find_flaws": "loop-that-pays",
    "first_reward": "following 1",
    "learn_from_rewards": "snips",
    "pay_an_environment": "against the fall",
    "run_on_a_microcontroller": "rows, 0 differ",
    "remember_and_rescore": "No problems found.",
}
"""A word that each of them prints."""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    if path.stem == "pay_an_environment":
        pytest.importorskip("gymnasium")
    if path.stem == "run_on_a_microcontroller" and shutil.which("cc") is None:
        pytest.skip("needs cc")
    done = run_python([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert SHOWS[path.stem] in done.stdout
    assert not any(tmp_path.iterdir())
