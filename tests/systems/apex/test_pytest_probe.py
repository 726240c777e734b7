"""Probes: a project's tests run for real, and what can go wrong with that."""

import asyncio
import os
import signal
import sys
import time
from importlib.util import find_spec

import pytest

from plaudit import errors
from plaudit.systems import apex
from plaudit.systems.apex.pytest_probe import Failure, read_report

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
def project(tmp_path):
    """Write a project of files, and return a probe of it."""

    def write(files, **options):
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return apex.PytestProbe(folder, **({"plugins": False, "timeout": 60.0} | options))

    return write


def test_what_passes_fails_and_is_skipped_is_counted(project):
    probe = project({"test_mixed.py": MIXED})
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
    for text, passed in (("0", 0), ("1", 1), ("2", 0)):  # files of one size, within one second
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
        ({}, "pytest found no tests, and without one there is no pass rate"),
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


def gone(pid, within=10.0):
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
    probe = project({"test_hangs.py": HANGING}, timeout=4.0)
    with pytest.raises(apex.ProbeTimeout, match="did not end within 4 seconds and were stopped") as raised:
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


def test_a_python_without_pytest_is_told(project, tmp_path):
    script = tmp_path / "python"
    script.write_text(
        f"#!/bin/sh\nexec {sys.executable} -S -c 'import runpy; runpy.run_module(\"pytest\")' \n", encoding="utf-8"
    )
    script.chmod(0o755)
    with pytest.raises(errors.MissingExtra, match="has no pytest to run tests with"):
        project({}, python=script).run()


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


def test_a_report_that_was_cut_short_is_none(tmp_path):
    path = tmp_path / "report.xml"
    assert read_report(path) is None
    path.write_text("<testsuites><testsuite><testcase name='test_a'", encoding="utf-8")
    assert read_report(path) is None
    path.write_text("<testsuites><testsuite><testcase name='test_a'/></testsuite></testsuites>", encoding="utf-8")
    assert read_report(path) == apex.PytestRun(1, 1)


STOPPED = "def test_a(): pass\ndef test_b():\n    {}\ndef test_c(): pass\n"


@pytest.mark.parametrize(
    "stop",
    [
        "raise KeyboardInterrupt",
        "import pytest; pytest.exit('enough')",
        "import pytest; pytest.exit('enough', returncode=0)",
    ],
)
def test_tests_that_one_of_them_stopped_are_failing(project, stop):
    run = project({"test_stopped.py": STOPPED.format(stop)}).run()
    assert (run.passed, run.total, run.success) == (1, 3, False)
    never = "it never came to its end"
    assert run.failures == (Failure("test_stopped.test_b", never), Failure("test_stopped.test_c", never))


def test_tests_that_a_session_left_out_are_failing_and_those_that_were_deselected_are_not_there(project):
    stop = (
        "def pytest_runtest_logfinish(nodeid): pass\ndef pytest_runtest_teardown(item): item.session.shouldstop = 'x'\n"
    )
    files = {"conftest.py": stop, "test_stopped.py": STOPPED.format("pass")}
    assert project(files).run()[:2] == (1, 3)
    assert project(files, arguments=["-k", "test_a"]).run()[:2] == (1, 1)


@pytest.mark.skipif(not find_spec("xdist"), reason="needs pytest-xdist")
def test_tests_that_other_processes_run_are_watched_too(project):
    probe = project({"test_stopped.py": STOPPED.format("pass")}, arguments=["-p", "xdist.plugin", "-n", "1"])
    assert probe.run() == apex.PytestRun(3, 3)


@pytest.mark.parametrize(
    ("leave", "message"),
    [
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("import pytest; pytest.exit('enough', 0)", "_pytest.outcomes.Exit: enough"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt:"),
    ],
)
def test_a_file_that_ends_the_process_when_it_is_imported_is_broken(project, leave, message):
    run = project({"test_good.py": "def test_it(): pass\n", "test_bad.py": leave}).run()
    assert (run.passed, run.total, run.broken) == (1, 2, (Failure("test_bad", message),))


@pytest.mark.parametrize(
    "settings", ["addopts = --lf", "addopts = --ff", "addopts = --strict-config\ncache_dir = here"]
)
def test_a_project_may_count_on_the_cache_and_none_is_left(project, settings):
    probe = project({"test_one.py": "def test_it(): pass\n", "pytest.ini": f"[pytest]\n{settings}\n"})
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


def test_a_long_message_is_cut(tmp_path):
    path = tmp_path / "report.xml"
    path.write_text(f"<testsuite><testcase name='test_a'><failure message='{'x' * 9999}'/></testcase></testsuite>")
    assert len(read_report(path).failures[0].message) == 2000


LEAVING = HANGING.replace("    time.sleep(600)\n", "", 1).replace("test_hangs", "test_leaves")


@needs_processes
@pytest.mark.parametrize("way", ["run", "arun"])
def test_what_tests_leave_running_is_ended(project, way):
    probe = project({"test_leaves.py": LEAVING})
    found = asyncio.run(probe.arun()) if way == "arun" else probe.run()
    assert found.success
    assert gone(child_of(probe))
