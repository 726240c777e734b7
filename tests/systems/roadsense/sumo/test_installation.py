"""SUMO that is not installed, or only in part: one line that says how to install it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from plaudit.errors import MissingExtra
from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.sumo import build_simulation, subprocess_engine
from plaudit.systems.roadsense.sumo.installation import build_environment, find_home, find_program
from plaudit.systems.roadsense.world import World
from support.forking import run_python

BLOCKED = """
import importlib.metadata, importlib.util, sys, warnings

warnings.simplefilter("error")

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {parts!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

found, version = importlib.util.find_spec, importlib.metadata.version

def no_version(name):
    if name in {parts!r}:
        raise importlib.metadata.PackageNotFoundError(name)
    return version(name)

sys.meta_path.insert(0, Blocked())
importlib.util.find_spec = lambda name, package=None: None if name in {parts!r} else found(name, package)
importlib.metadata.version = no_version
"""
ASKED = """
from plaudit.errors import MissingExtra
from plaudit.systems.roadsense.sumo import build_simulation
from plaudit.systems.roadsense.world import Departure, World
for binding in ("traci", "process", "libsumo"):  # the last one imports what is there
    try:
        build_simulation(binding).begin(World("straight", (Departure("V001", 0.0, 15.0),)))
    except MissingExtra as error:
        print(binding, error)
"""
PARTS = {
    "all of it": (("libsumo", "traci", "sumo", "eclipse-sumo"), {"libsumo", "process", "traci"}),
    "libsumo": (("libsumo",), {"libsumo", "process"}),
    "traci": (("traci",), {"libsumo", "traci"}),
    "the programs": (("sumo", "eclipse-sumo"), {"libsumo", "process", "traci"}),
}
"""What is missing, and which bindings need it; the child of `process` is not blocked, and libsumo imports traci."""


@pytest.mark.parametrize("part", PARTS)
def test_a_missing_sumo_is_one_line_with_the_command(part: str) -> None:
    """Whatever part of it is missing, where that part is needed."""
    parts, needing = PARTS[part]
    code = BLOCKED.format(parts=set(parts)) + ASKED
    done = run_python([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert sorted(line.partition(" ")[0] for line in lines) == sorted(needing)
    assert all("pip install 'plaudit[sumo]'" in line for line in lines)


def test_a_child_that_cannot_import_libsumo_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is this process's error, not a death without a reason."""
    (tmp_path / "libsumo.py").write_text("raise ImportError('broken')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(MissingExtra, match=r"pip install 'plaudit\[sumo\]'"):
        build_simulation("process").begin(World("straight", ()))


def test_a_child_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the words it left on its standard error."""
    monkeypatch.setattr(subprocess_engine, "CHILD_ARGUMENTS", ("-c", "raise SystemExit('no such luck')"))
    with pytest.raises(SimulatorError, match="it ended with 1 \\(no such luck\\)"):
        build_simulation("process").begin(World("straight", ()))


def test_a_child_reads_no_reward_and_no_numpy() -> None:
    """Reading all rewards took a third of the time in which it starts, NumPy a quarter."""
    _, _, program = subprocess_engine.CHILD_ARGUMENTS
    loaded = program.replace("\nmain()", "import libsumo\nprint(*(name for name, it in sys.modules.items() if it))")
    done = subprocess.run([sys.executable, "-P", "-c", loaded], capture_output=True, text=True, check=True)
    names = done.stdout.split()
    assert {"plaudit.systems.roadsense.sumo.subprocess_engine", "libsumo"} <= set(names)
    left_out = ("plaudit.language", "plaudit.reward", "plaudit.checks", "numpy")
    assert not [name for name in names if name.startswith(left_out)]


def test_programs_get_the_sumo_of_the_package_and_the_user_keeps_the_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """SUMO_HOME and PATH are set for the programs alone."""
    monkeypatch.setenv("SUMO_HOME", "/somewhere/else")
    before = dict(os.environ)
    theirs = build_environment()
    assert theirs["SUMO_HOME"] == str(find_home())
    assert theirs["PATH"].split(os.pathsep)[0] == str(find_home() / "bin")
    assert theirs["PATH"].endswith(before["PATH"])
    assert dict(os.environ) == before
    assert os.access(find_program("sumo"), os.X_OK)
