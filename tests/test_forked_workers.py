"""Tests that are run by forked processes: all of them, each once, and what becomes of those that die."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
from support.forked_workers import ForkedWorkers

def pytest_configure(config):
    config.pluginmanager.register(ForkedWorkers(2, lambda nodeid: nodeid.split("::")[0]))
"""
ENDINGS = """
import os, pytest, signal, warnings

@pytest.fixture
def clumsy():
    yield
    raise ValueError("too late")

@pytest.mark.parametrize("number", range(20))
def test_passes(number, tmp_path):
    (tmp_path / "mine").touch(exist_ok=False)

def test_fails():
    print("seen")
    assert 1 == 2

def test_is_killed():
    os.kill(os.getpid(), signal.SIGKILL)

def test_leaves():
    os._exit(3)

def test_is_skipped():
    pytest.skip("not here")

def test_warns():
    warnings.warn("careful", UserWarning)

def test_fails_afterwards(clumsy):
    pass
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="tests are forked on Linux")


@pytest.fixture
def run_tests(tmp_path):
    """Return what pytest prints of the tests in some files."""
    support = Path(__file__).parent

    def run(files, *options):
        for name, text in {"conftest.py": CONFTEST, **files}.items():
            (tmp_path / name).write_text(text)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", f"pythonpath={support}", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        return re.sub(r" in [\d.]+s", "", done.stdout + done.stderr)

    return run


def test_every_test_is_told_of_and_a_process_that_dies_takes_nothing_with_it(run_tests):
    dies_last = "import os\ndef test_passes(): pass\ndef test_dies(): os._exit(4)\n"
    more = {f"test_more_{i}.py": "def test_one(): pass\ndef test_two(): pass\n" for i in range(5)}
    printed = run_tests({"test_endings.py": ENDINGS, "test_dies_last.py": dies_last, **more})
    assert "4 failed, 33 passed, 1 skipped, 1 warning, 1 error" in printed
    assert "The process that ran this test was killed by SIGKILL." in printed
    assert "The process that ran this test ended with exit code 3." in printed
    assert "The process that ran this test ended with exit code 4." in printed
    assert "Captured stdout call" in printed
    assert "UserWarning: careful" in printed
    assert "ValueError: too late" in printed


def test_nothing_more_is_begun_after_as_many_failures_as_are_allowed(run_tests):
    waits = "import time\ndef test_fails(): assert False\ndef test_waits(): time.sleep(100)\n"
    printed = run_tests({"test_one.py": waits, "test_two.py": waits}, "-x")
    assert re.search(r"stopping after [12] failures", printed)  # both may have failed by then
    assert re.search(r"= [12] failed", printed)


def test_what_computes_with_jax_while_it_is_imported_cannot_be_forked(run_tests):
    pytest.importorskip("jax", reason="needs plaudit[jax]")
    printed = run_tests({"test_early.py": "import jax.numpy as jnp\nONE = jnp.ones(1)\ndef test_one(): pass\n"})
    assert "ERROR: A test module computes with JAX while it is imported" in printed
