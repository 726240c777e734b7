"""An editor knows what the public functions give back: mypy reveals it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FACE = ROOT / "tests" / "typing" / "face.py"


def test_the_public_face_is_typed():
    pytest.importorskip("mypy")
    wanted = {
        number: found[1]
        for number, line in enumerate(FACE.read_text(encoding="utf-8").splitlines(), start=1)
        if (found := re.search(r"reveal_type\(.*# (\w+)$", line))
    }
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(FACE)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    notes = re.findall(r'face\.py:(\d+): note: Revealed type is "([^"]*)"', done.stdout)
    revealed = {int(number): name_of(kind) for number, kind in notes}
    assert revealed == wanted


def name_of(kind: str) -> str:
    """Return the last name of a type as mypy writes it: a named tuple says its own at the end."""
    whole = kind.partition("fallback=")[2].rstrip("]") or kind.partition("[")[0]
    return whole.removesuffix("?").rpartition(".")[2]
