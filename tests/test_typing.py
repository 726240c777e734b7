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
    revealed = {int(number): re.split(r"[.\[]", kind.partition("[")[0].removesuffix("?"))[-1] for number, kind in notes}
    assert revealed == wanted
