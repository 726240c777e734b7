"""Honest training runs of Gymnasium environments, random at first: an audit warns of none of them."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("gymnasium")
SCRIPT = Path(__file__).parents[3] / "bench" / "false_alarms.py"


@pytest.fixture(scope="module")
def runs():
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        spec = importlib.util.spec_from_file_location("false_alarms", SCRIPT)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(SCRIPT.parent))
    return module


@pytest.mark.parametrize("name", ["FrozenLake", "CliffWalking", "CartPole-v1"])
def test_an_honest_training_run_is_no_alarm(runs, name):
    episodes, steps, warnings, advice = runs.count_alarms(name, seed=0, many=5)
    assert episodes >= 20
    assert steps >= 1000
    assert not warnings
    assert not advice


@pytest.mark.slow
def test_twenty_five_honest_training_runs_are_no_alarm():
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
