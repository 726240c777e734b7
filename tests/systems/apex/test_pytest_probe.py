"""Probes: a project's tests run for real, and what can go wrong with that."""

import asyncio
import hmac
import json
import os
import signal
import sys
import time
from contextlib import nullcontext
from importlib.util import find_spec

import pytest

from plaudit import errors
from plaudit.systems import apex
from plaudit.systems.apex import pytest_probe, pytest_server
from plaudit.systems.apex.coding import run_episodes
from plaudit.systems.apex.pytest_probe import KEPT_VARIABLES
from plaudit.systems.apex.pytest_results import Failure, read_results

MIXED = """
import pytest

@pytest.fixture
def late():
    yield
    raise RuntimeError("while clearing up")

@pytest.fixture
def early():
    raise RuntimeError("while setting up")

def test_passes(): pass
def test_fails(): assert "red" == "green"
def test_errs_late(late): pass
def test_fails_and_errs(late): assert 0
def test_errs_early(early): pass
@pytest.mark.skip
def test_skipped(): pass
@pytest.mark.xfail
def test_expected_to_fail(): assert 0
class TestGroup:
    @pytest.mark.parametrize("number", [1, 2])
    def test_each(self, number): assert number == 1
"""


@pytest.fixture
def project(started_project, forked_pytest):
    """Write a project of files, and return a probe of it."""
    return started_project


@pytest.fixture
def started_project(tmp_path):
    """Write a project of files, and return a probe of it that starts a Python of its own."""

    def write(files, **options):
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return apex.PytestProbe(folder, **({"plugins": False, "timeout": 300.0} | options))

    return write


def test_what_passes_fails_and_is_skipped_is_counted(started_project):
    probe = started_project({"test_mixed.py": MIXED})
    run = probe.run()
    assert (run.passed, run.total, run.skipped) == (2, 7, 2)
    assert run.rate == 2 / 7
    assert not run.success
    assert [failure.test for failure in run.failures] == [
        "test_mixed.test_fails",
        "test_mixed.test_errs_late",
        "test_mixed.test_fails_and_errs",
        "test_mixed.test_errs_early",
        "test_mixed.TestGroup.test_each[2]",
    ]
    assert run.failures[0].message == "AssertionError: assert 'red' == 'green'"
    assert sorted(os.listdir(probe.folder)) == ["pytest.ini", "test_mixed.py"]  # no cache, nothing compiled
    assert asyncio.run(probe.arun()) == run


def test_a_project_goes_from_red_to_green_however_quickly_it_is_edited(project):
    tests = "from thing import thing\ndef test_thing(): assert thing() == 1\n"
    for text, passed in (("0", 0), ("1", 1)):  # files of one size, within one second
        run = project({"thing.py": f"def thing(): return {text}\n", "test_thing.py": tests}).run()
        assert (run.passed, run.total, run.success) == (passed, 1, passed == 1)


def test_a_file_that_cannot_be_imported_counts_as_failing_and_is_named(project):
    run = project({"test_good.py": "def test_it(): pass\n", "test_bad.py": "def test_it(:\n"}).run()
    assert (run.passed, run.total, run.failures) == (1, 2, ())
    assert run.broken == (Failure("test_bad", "SyntaxError: invalid syntax"),)


def test_a_conftest_that_cannot_be_imported_fails_everything_and_is_named(project):
    files = {"conftest.py": "import nothing_of_this_name\n", "test_good.py": "def test_it(): pass\n"}
    run = project(files, expected=4).run()
    assert (run.passed, run.total, run.missing) == (0, 4, 3)
    assert run.broken == (Failure("conftest", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),)


def test_a_test_that_was_deleted_counts_as_failing(project):
    run = project({"test_one.py": "def test_it(): pass\n"}, expected=3).run()
    assert (run.passed, run.total, run.missing, run.success) == (1, 3, 2, False)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "pytest found no tests, so there is no pass rate"),
        ({"test_a.py": "import pytest\n@pytest.mark.skip\ndef test_it(): pass\n"}, "no tests but 1 that are skipped"),
    ],
)
def test_without_a_test_there_is_no_pass_rate(project, files, message):
    with pytest.raises(errors.InputError, match=message):
        project(files).run()


def test_a_process_that_leaves_no_report_is_no_result(project):
    files = {"test_leaves.py": "import os\ndef test_it():\n    os._exit(0)\n"}
    with pytest.raises(errors.InputError, match="pytest ended with code 0 and no result"):
        project(files).run()


def test_what_pytest_does_not_understand_is_told(project):
    with pytest.raises(
        errors.InputError, match=r"code 4 and no result.\n(.*\n)*.*unrecognized arguments: --frobnicate"
    ):
        project({}, arguments=["--frobnicate"]).run()


HANGING = """
import os, subprocess, sys, time

def test_hangs():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    open("child.pid", "w").write(str(child.pid))
    time.sleep(600)
"""


def gone(pid, within=300.0):
    """Return whether a process ends in time; one that nobody has asked for its exit code has ended too."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return False


def child_of(probe):
    return int((probe.folder / "child.pid").read_text(encoding="utf-8"))


needs_processes = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks at processes in /proc")


@needs_processes
def test_tests_that_do_not_end_are_stopped_with_all_they_started(project):
    probe = project({"test_hangs.py": HANGING}, timeout=2.0)
    with pytest.raises(apex.ProbeTimeout, match="did not end within 2 seconds and were stopped") as raised:
        probe.run()
    assert isinstance(raised.value, TimeoutError)
    assert isinstance(raised.value, errors.InputError)
    if not (probe.folder / "child.pid").exists():
        pytest.xfail("the machine was too busy to start the tests in time")
    assert gone(child_of(probe))


@needs_processes
def test_a_probe_that_is_cancelled_stops_its_tests_and_lets_others_work_meanwhile(project):
    probe = project({"test_hangs.py": HANGING})
    worked = 0

    async def run():
        nonlocal worked
        running = asyncio.create_task(probe.arun())
        while not (probe.folder / "child.pid").exists() or not (probe.folder / "child.pid").read_text():
            await asyncio.sleep(0.01)
            worked += 1
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(asyncio.wait_for(run(), 60))
    assert worked > 3
    assert gone(child_of(probe))


def test_the_time_limit_holds_for_tasks_too(project):
    with pytest.raises(apex.ProbeTimeout, match="within 0.05 seconds"):
        asyncio.run(project({}, timeout=0.05).arun())


def test_a_python_without_pytest_is_told(started_project, tmp_path):
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    with pytest.raises(errors.MissingExtra, match="has no pytest to run tests with"):
        started_project({}, python=script).run()


def test_what_is_not_there_is_told(project, tmp_path):
    with pytest.raises(errors.FileError, match="nowhere is not a folder"):
        apex.PytestProbe(tmp_path / "nowhere").run()
    with pytest.raises(errors.FileError, match="no-python cannot be started: No such file or directory"):
        project({}, python=tmp_path / "no-python").run()
    with pytest.raises(errors.FileError, match="no-python cannot be started"):
        asyncio.run(project({}, python=tmp_path / "no-python").arun())


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": float("nan")}, {"expected": 0}])
def test_limits_that_are_none_are_refused(tmp_path, options):
    with pytest.raises(errors.OutOfRange):
        apex.PytestProbe(tmp_path, **options)


KEY = b"a key"


def sign(*lines, key=KEY):
    """Return lines as the process that runs the tests writes them."""
    bodies = [json.dumps([number, *line]).encode() for number, line in enumerate(lines)]
    return b"".join(hmac.new(key, body, "sha256").hexdigest().encode() + b" " + body + b"\n" for body in bodies)


ONE = (
    ("collected", "test_a.py::test_it"),
    ("report", "test_a.py::test_it", "call", "passed", ""),
    ("finished", "test_a.py::test_it"),
    ("end", 0),
)


def test_results_that_were_cut_short_are_none():
    assert read_results(b"", KEY) is None
    assert read_results(sign(*ONE[:3]), KEY) is None
    assert read_results(sign(*ONE), KEY).summarize() == apex.PytestRun(1, 1)


@pytest.mark.parametrize(
    "written",
    [
        sign(*ONE, key=b"another"),
        sign(*ONE) + sign(ONE[0]),
        b"".join(sign(*ONE).splitlines(keepends=True)[1:]),
        sign(*ONE).replace(b"test_it", b"test_of"),
        sign(*ONE)[:-2],
        b"nonsense",
    ],
    ids=["signed by another", "a line more", "a line less", "an altered line", "a torn line", "no line at all"],
)
def test_results_that_were_changed_are_refused(written):
    with pytest.raises(errors.InputError, match=r"line \d of the results has the wrong signature"):
        read_results(written, KEY)


def test_a_report_about_a_test_that_was_not_collected_is_refused():
    with pytest.raises(errors.InputError, match="test_a.py::test_it, which it had not collected"):
        read_results(sign(*ONE[1:]), KEY)


STOPPED = "def test_a(): pass\ndef test_b():\n    {}\ndef test_c(): pass\n"


@pytest.mark.parametrize(
    "stop",
    [
        pytest.param("raise KeyboardInterrupt", marks=pytest.mark.slow),
        pytest.param("import pytest; pytest.exit('enough')", marks=pytest.mark.slow),
        "import pytest; pytest.exit('enough', returncode=0)",
    ],
)
def test_tests_that_one_of_them_stopped_are_failing(project, stop):
    run = project({"test_stopped.py": STOPPED.format(stop)}).run()
    assert (run.passed, run.total, run.success) == (1, 3, False)
    never = "it never finished"
    assert run.failures == (Failure("test_stopped.test_b", never), Failure("test_stopped.test_c", never))


def test_tests_that_a_session_left_out_are_failing_and_those_that_were_deselected_are_not_there(project):
    stop = (
        "def pytest_runtest_logfinish(nodeid): pass\ndef pytest_runtest_teardown(item): item.session.shouldstop = 'x'\n"
    )
    files = {"conftest.py": stop, "test_stopped.py": STOPPED.format("pass")}
    assert project(files).run()[:2] == (1, 3)
    assert project(files, arguments=["-k", "test_a"]).run()[:2] == (1, 1)


@pytest.mark.skipif(not find_spec("xdist"), reason="needs pytest-xdist")
def test_tests_that_other_processes_run_are_watched_too(started_project):
    probe = started_project({"test_stopped.py": STOPPED.format("pass")}, arguments=["-p", "xdist.plugin", "-n", "1"])
    assert probe.run() == apex.PytestRun(3, 3)


def test_a_file_that_ends_the_process_when_it_is_imported_is_broken(project):
    leaving = {
        "test_a.py": "import sys; sys.exit(3)",
        "test_b.py": "import pytest; pytest.exit('enough', 0)",
        "test_c.py": "raise KeyboardInterrupt",
    }
    run = project({"test_good.py": "def test_it(): pass\n", **leaving}).run()
    assert (run.passed, run.total) == (1, 4)
    assert run.broken == (
        Failure("test_a", "SystemExit: 3"),
        Failure("test_b", "_pytest.outcomes.Exit: enough"),
        Failure("test_c", "KeyboardInterrupt:"),
    )


def test_a_project_may_count_on_the_cache_and_none_is_left(project):
    settings = "[pytest]\naddopts = --lf --ff --strict-config\ncache_dir = here\n"
    probe = project({"test_one.py": "def test_it(): pass\n", "pytest.ini": settings})
    assert probe.run().success
    assert sorted(os.listdir(probe.folder)) == ["pytest.ini", "test_one.py"]


def test_a_python_is_found_from_where_we_are(project, monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    probe = project({}, python="bin/python")
    assert probe.python == str(tmp_path / "bin" / "python")
    assert project({}, python="python3").python == "python3"


def test_a_folder_may_have_brackets_in_its_name(tmp_path):
    folder = tmp_path / "a[1] b"
    folder.mkdir()
    (folder / "test_one.py").write_text("def test_it(): pass\n")
    assert apex.PytestProbe(folder, plugins=False).run().success


def test_a_long_message_is_cut():
    failed = ("report", "test_a.py::test_it", "call", "failed", "x" * 9999)
    run = read_results(sign(ONE[0], failed, ONE[2], ("end", 1)), KEY).summarize()
    assert len(run.failures[0].message) == 2000


LEAVING = HANGING.replace("    time.sleep(600)\n", "", 1).replace("test_hangs", "test_leaves")


@needs_processes
@pytest.mark.parametrize("way", [pytest.param("run", marks=pytest.mark.slow), "arun"])
def test_what_tests_leave_running_is_ended(project, way):
    probe = project({"test_leaves.py": LEAVING})
    found = asyncio.run(probe.arun()) if way == "arun" else probe.run()
    assert found.success
    assert gone(child_of(probe))


FAILING = "def test_a(): assert 0\ndef test_b(): assert 0\n"

REWRITE = """
import atexit, glob, os, sys

def forge():
    for folder in {folder for folder in sys.path if "plaudit-" in folder} | set(glob.glob("/tmp/plaudit-*")):
        cases = "".join(f'<testcase classname="test_it" name="test_{name}"/>' for name in "ab")
        for name in ("report.xml", "results"):
            path = os.path.join(folder, name)
            if os.path.exists(path):
                open(path, "w").write(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")

atexit.register(forge)
"""

MAKE_PASS = """
import pytest

@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome, report.longrepr = "passed", None
"""


def test_results_cannot_be_rewritten_when_the_process_ends(project):
    probe = project({"test_it.py": REWRITE + FAILING})
    with pytest.raises(errors.InputError, match="line 1 of the results has the wrong signature"):
        probe.run()


def test_a_report_that_passes_although_the_test_raised_is_failing(project):
    run = project({"conftest.py": MAKE_PASS, "test_it.py": FAILING}).run()
    assert (run.passed, run.total) == (0, 2)
    assert run.failures[0] == Failure("test_it.test_a", "AssertionError: assert 0")


@pytest.mark.parametrize(
    ("conftest", "says"),
    [
        ("import atexit, os\natexit.register(os._exit, 0)\n", "ended with code 1, its process with 0, and 0 of 2"),
        ("def pytest_sessionfinish(session): session.exitstatus = 1\n", "code 1, its process with 1, and 2 of 2"),
    ],
)
def test_results_that_contradict_how_the_process_ends_are_refused(project, conftest, says):
    tests = FAILING if "atexit" in conftest else FAILING.replace("assert 0", "pass")
    with pytest.raises(errors.InputError, match=says):
        project({"conftest.py": conftest, "test_it.py": tests}).run()


def test_a_file_of_the_project_does_not_stand_in_for_what_runs_it(started_project):
    forged = dict.fromkeys(("pytest.py", "json.py", "hmac.py", "sitecustomize.py"), "import os\nos._exit(0)\n")
    assert started_project({**forged, "test_it.py": FAILING}).run()[:2] == (0, 2)


def test_a_project_cannot_switch_the_recording_off(project):
    probe = project({"pytest.ini": "[pytest]\naddopts = -p no:plaudit_pytest_plugin\n", "test_it.py": FAILING})
    assert probe.run()[:2] == (0, 2)


def test_the_key_is_gone_before_anything_of_the_project_is_imported(started_project):
    look = "import os, sys\nfound = [os.listdir(f) for f in sys.path if 'plaudit-' in f]\n"
    run = started_project(
        {"test_it.py": f"{look}def test_it(): assert found and not any('key' in each for each in found)\n"}
    ).run()
    assert run.success, run.failures


def test_a_test_that_forks_and_goes_on_is_counted_once(project):
    forking = "import os\ndef test_a(): os.fork()\ndef test_b(): pass\n"
    assert project({"test_it.py": forking}).run() == apex.PytestRun(2, 2)


def test_no_setting_or_secret_of_ours_reaches_the_tests(started_project, monkeypatch):
    for name in ("OPENAI_API_KEY", "PYTEST_ADDOPTS", "PYTHONPATH", "PYTHONWARNINGS"):
        monkeypatch.setenv(name, "default")
    sees = (
        "import os\ndef test_it():\n    assert sorted(set(os.environ) - {names}) == ['PYTEST_CURRENT_TEST', 'SHOP']\n"
        "    assert os.environ['SHOP'] == 'open'\n"
    )
    kept = {*KEPT_VARIABLES, "PYTHONDONTWRITEBYTECODE", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_VERSION"}
    run = started_project({"test_it.py": sees.replace("{names}", repr(kept))}, environment={"SHOP": "open"}).run()
    assert run.success, run.failures


# -- one process for many runs ----------------------------------------------------------------------------------------

TELLING = """
import json, os
import thing

def test_thing():
    open("parents", "a").write(f"{os.getppid()} ")
    assert not hasattr(json, "left_behind")
    json.left_behind = True
    thing.calls += 1
    assert thing.calls == thing.EXPECTED
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="one process serves many runs where there is fork")


def parents(probe):
    return [int(each) for each in (probe.folder / "parents").read_text(encoding="utf-8").split()]


@needs_fork
@needs_processes
def test_one_process_serves_every_run_and_each_run_sees_the_project_as_it_is_now(project):
    with project({"thing.py": "calls, EXPECTED = 0, 1\n", "test_thing.py": TELLING}) as probe:
        assert probe.run().success
        project({"thing.py": "calls, EXPECTED = 0, 2\n"})  # of the same size, within the same second
        assert probe.run()[:2] == (0, 1)
        project({"thing.py": "calls, EXPECTED = 1, 2\n"})
        assert asyncio.run(probe.arun()).success
        served = {*parents(probe)}
        assert len(served) == 1
    assert gone(served.pop())
    assert not probe.run().failures  # and without the block it starts one again
    assert len({*parents(probe)}) == 2


@needs_fork
def test_runs_at_the_same_time_do_not_wait_for_each_other_or_mix(project):
    meet = (
        "import os, time\ndef test_it():\n    open(str(os.getpid()), 'w')\n"
        "    while sum(map(str.isdigit, os.listdir())) < 2: time.sleep(0.01)\n"
    )

    async def run(probe):
        return await asyncio.gather(probe.arun(), probe.arun())

    with project({"test_it.py": meet}) as probe:
        assert asyncio.run(run(probe)) == [apex.PytestRun(1, 1)] * 2


@needs_fork
@needs_processes
def test_a_process_that_died_is_replaced(project):
    with project({"thing.py": "calls, EXPECTED = 0, 1\n", "test_thing.py": TELLING}) as probe:
        assert probe.run().success
        (first,) = parents(probe)
        os.kill(first, signal.SIGKILL)  # and at once: whether it is dead already or dies a little later
        assert probe.run().success
        murder = (
            "import os, signal, time\ndef test_it():\n    os.kill(os.getppid(), signal.SIGKILL)\n    time.sleep(600)\n"
        )
        project({"test_thing.py": murder})
        with pytest.raises(errors.InputError, match="the process that runs pytest ended before the tests did"):
            probe.run()
        project({"test_thing.py": TELLING})
        assert probe.run().success
    assert len({*parents(probe)}) == 3


@needs_fork
@needs_processes
def test_a_run_that_is_stopped_ends_the_process_and_the_next_has_another(project, monkeypatch):
    with project({"thing.py": "calls, EXPECTED = 0, 1\n", "test_thing.py": TELLING}) as probe:
        probe.run()
        monkeypatch.setattr(probe, "timeout", 1.0)
        project({"test_thing.py": "import time\ndef test_it(): time.sleep(600)\n"})
        with pytest.raises(apex.ProbeTimeout):
            probe.run()
        assert gone(parents(probe)[0])
        monkeypatch.setattr(probe, "timeout", 300.0)
        project({"test_thing.py": TELLING})
        assert probe.run().success


@needs_fork
def test_another_environment_is_another_process(project, monkeypatch):
    with project({"test_it.py": "import os\ndef test_it(): assert os.environ['TZ'] == 'one'\n"}) as probe:
        monkeypatch.setenv("TZ", "one")
        assert probe.run().success
        monkeypatch.setenv("TZ", "two")
        assert not probe.run().success


@pytest.mark.parametrize("ending", [None, KeyboardInterrupt, OSError])
def test_a_run_of_episodes_starts_one_process_and_ends_it_however_it_ends(forked_pytest, monkeypatch, ending):
    started = []

    class Counted(pytest_server.PytestServer):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            started.append(self)

    def on_step(episode, step):
        if ending is not None and episode == 2:
            raise ending

    monkeypatch.setattr(pytest_probe, "PytestServer", Counted)
    with pytest.raises(ending) if ending else nullcontext():
        asyncio.run(run_episodes(2, max_steps=2, on_step=on_step))
    assert len(started) == 1
    assert not started[0].alive
