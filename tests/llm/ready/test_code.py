"""Code and its tests: what passes, what does not, and that nothing is left of either."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from plaudit import DefinitionError, Field, InputError, Reward, term
from plaudit.errors import FeatureTimeout
from plaudit.llm import Sample, Scoring, ready

SQUARE = "def f(x):\n    return x * x\n"
TESTS = ["assert f(2) == 4", "assert f(3) == 9"]
IN_A_BLOCK = (
    f"First:\n```python\ndef f(x): return 0\n```\nBetter:\n```python\n{SQUARE}```\nIt prints:\n```text\n4\n```\n"
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these limits")


@pytest.mark.parametrize(
    ("text", "share"),
    [
        (SQUARE, 1.0),
        (IN_A_BLOCK, 1.0),
        (f"```\n{SQUARE}```", 1.0),
        (f"~~~py\n{SQUARE}", 1.0),
        (f"{SQUARE}if __name__ == '__main__':\n    print(input())", 1.0),
        (f"# 計算 é\n{SQUARE}", 1.0),
        (f"import dataclasses, math\n@dataclasses.dataclass\nclass A:\n    a: 'int'\n{SQUARE}", 1.0),
        ("def f(x): return 4", 0.5),
        ("def f(x):\n  import os\n  return 4 if x == 2 else os._exit(0)", 0.5),
        ("def f(x): raise SystemExit(0)", 0.0),
        ("", 0.0),
        ("I cannot do that.", 0.0),
        ("def f(x): return", 0.0),
        (f"```python\n{SQUARE}```\n```python\ndef f(x): return 0\n```", 0.0),
        (f"{SQUARE}import sys\nsys.exit(0)", 0.0),
        (f"{SQUARE}import os\nos._exit(0)", 0.0),
        (f"{SQUARE}raise KeyboardInterrupt", 0.0),
        ("print('\"ready\"\\n0\\n1\\n', flush=True)\nimport os\nos._exit(0)", 0.0),
        (f"{SQUARE}input()", 0.0),
        ("\x00", 0.0),
        ("\ud800", 0.0),
        ("(" * 100_000, 0.0),
    ],
)
def test_the_share_of_tests_that_pass(text, share):
    assert ready.runs_code()(text, TESTS) == share


def test_a_string_of_tests_is_one_test():
    run = ready.runs_code("checks")
    sample = Sample(completion=IN_A_BLOCK, checks="for x in range(9):\n    assert f(x) == x ** 2")
    assert run(**run.collect(sample)) == 1.0
    assert run(SQUARE, "assert f(2) == 4\nassert f(3) == 8") == 0.0


def test_code_in_the_thinking_alone_is_not_run():
    run = ready.runs_code()
    sample = Sample(completion=f"<think>```python\n{SQUARE}```</think>I cannot.", tests=TESTS)
    assert run(**run.collect(sample)) == 0.0


@pytest.mark.parametrize("loop", ["while True: pass", "import time; time.sleep(100)", "while True: print('x' * 1000)"])
def test_what_never_ends_is_ended(loop):
    began = time.monotonic()
    assert ready.runs_code(seconds=0.5)(loop, TESTS) == 0.0
    assert time.monotonic() - began < 20


def test_tests_that_pass_before_time_is_up_count():
    endless = "def f(x):\n    while x == 3: pass\n    return x * x"
    assert ready.runs_code(seconds=0.5)(endless, TESTS) == 0.5


def test_nothing_of_this_process_is_given_to_the_code(monkeypatch):
    monkeypatch.setenv("SECRET", "5")
    look = "import os, sys\nassert os.listdir() == [] and 'SECRET' not in os.environ and sys.stdin.read() == ''\n"
    assert ready.runs_code()(look + SQUARE, TESTS) == 1.0


@linux
def test_memory_and_files_have_limits():
    run = ready.runs_code(memory=128 * 1024**2)
    assert run("x = [0] * 10**8\n" + SQUARE, TESTS) == 0.0
    assert run("open('x', 'w').write('x' * 10**8)\n" + SQUARE, TESTS) == 0.0
    assert run("open('x', 'w').write('x' * 10**6)\n" + SQUARE, TESTS) == 1.0


def list_sleepers(mark):
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


def wait_for_end(mark):
    for _ in range(600):
        if not list_sleepers(mark):
            return
        time.sleep(0.05)
    raise AssertionError(f"still running: {list_sleepers(mark)}")


SLEEP = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)', {!r}], start_new_session={})\n"
FORK = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(99)\n"


@linux
@pytest.mark.parametrize("alone", [False, True])
def test_no_process_and_no_folder_is_left(alone, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mark = f"sleep_{os.getpid()}_{alone}"
    ready.runs_code()(SLEEP.format(mark, alone) + SQUARE, TESTS)
    wait_for_end(mark)
    assert list(tmp_path.iterdir()) == []


REPLACED = """
import os, subprocess, sys
last = "import time; time.sleep(99)"
first = "import os, sys, time; time.sleep(0.5); os.execve(sys.executable, [sys.executable, '-c'] + sys.argv[1:3], {'PLAUDIT_MARK': sys.argv[3]})"
subprocess.Popen([sys.executable, "-c", first, last, SEEN, os.environ["PLAUDIT_MARK"]], env={}, start_new_session=True)
"""


@linux
def test_a_process_whose_environment_cannot_be_seen_yet_is_waited_for():
    """As for a moment while a process replaces its program."""
    mark = f"replaced_{os.getpid()}"
    assert ready.runs_code()(REPLACED.replace("SEEN", repr(mark)) + SQUARE, TESTS) == 1.0
    wait_for_end(mark)


@linux
def test_what_forks_and_leaves_its_group_is_ended_too():
    began = time.monotonic()
    ready.runs_code()(FORK + SQUARE, TESTS)
    assert time.monotonic() - began < 20


@linux
@pytest.mark.parametrize("in_thread", [False, True])
def test_a_scoring_that_gives_up_earlier_leaves_no_process(in_thread):
    @term
    def good(runs_code):
        return runs_code

    mark = f"wait_{os.getpid()}_{in_thread}"
    reward = Reward("code", version="1", terms=[good], fields=[Field("runs_code", low=0, high=1)])
    scoring, errors = Scoring(reward, [ready.runs_code(seconds=3)], timeout=1), []

    def score():
        try:
            scoring.score([{"completion": SLEEP.format(mark, True) + "while True: pass", "tests": TESTS}])
        except FeatureTimeout as error:
            errors.append(error)

    if in_thread:
        thread = threading.Thread(target=score)
        thread.start()
        thread.join()
    else:
        score()
    assert len(errors) == 1
    wait_for_end(mark)


def test_a_sandbox_of_yours_runs_it_instead():
    asked = []
    run = ready.runs_code(run=lambda code, tests: asked.append((code, tests)) or 0.25)
    assert run(IN_A_BLOCK, "assert f(2) == 4") == 0.25
    assert asked == [(SQUARE, ["assert f(2) == 4"])]
    with pytest.raises(InputError, match="not a number"):
        ready.runs_code(run=lambda code, tests: None)(SQUARE, TESTS)


@pytest.mark.parametrize("tests", [[], "", [""], [1], None, {}, 5])
def test_a_column_without_tests_is_an_error(tests):
    with pytest.raises(InputError, match="tests"):
        ready.runs_code()(SQUARE, tests)


def test_that_python_cannot_be_started_is_an_error_and_not_a_zero(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(OSError, match="nowhere"):
        ready.runs_code()(SQUARE, TESTS)
    ends = subprocess.run(["which", "false"], capture_output=True, text=True, check=False).stdout.strip()
    if ends:
        monkeypatch.setattr(sys, "executable", ends)
        with pytest.raises(RuntimeError, match="ended before"):
            ready.runs_code()(SQUARE, TESTS)


@pytest.mark.parametrize("settings", [{"seconds": 0}, {"memory": -1}, {"run": 5}, {"seconds": "5"}])
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(DefinitionError):
        ready.runs_code(**settings)
