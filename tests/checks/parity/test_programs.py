"""Programs that misbehave: each is told as what it is, with the row, in time, and nothing is left behind."""

import json
import os
import signal
import sys
import threading
import time
from functools import partial
from textwrap import dedent

import pytest

from plaudit import DefinitionError, Field, FileError, Reward, term
from plaudit.checks.parity import Command, parity

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX processes")
slow = partial(pytest.param, marks=pytest.mark.slow)


@term
def near(distance):
    return 1.0 if distance < 2 else 0.0


REWARD = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])

HEAD = """\
import json, os, signal, sys, time
def right(row):
    return 1.0 if row["distance"] < 2 else 0.0
def say(text, end="\\n"):
    sys.stdout.write(text + end)
    sys.stdout.flush()
def answer(total):
    say(json.dumps({"total": total, "values": {"near": total}}))
"""


@pytest.fixture
def program(tmp_path):
    """Write a program: what it does with each `row`, and perhaps what it does before."""

    def write(body, before="pass", after="pass"):
        path = tmp_path / "program.py"
        loop = "for number, line in enumerate(sys.stdin, start=1):\n    row = json.loads(line)\n"
        parts = [
            HEAD,
            dedent(before),
            loop + "\n".join(f"    {line}" for line in dedent(body).splitlines()),
            dedent(after),
        ]
        path.write_text("\n".join(parts) + "\n", encoding="utf-8")
        return Command([sys.executable, "-I", "-S", str(path)])

    return write


@pytest.fixture
def short_grace(monkeypatch):
    """Wait less for a program that will not end by itself."""
    monkeypatch.setattr("plaudit.checks.parity.conversation.GRACE", 0.1)


@pytest.fixture(autouse=True)
def _nothing_stays():
    before = set(threading.enumerate())
    yield
    until = time.monotonic() + 300
    while (started := set(threading.enumerate()) - before) and time.monotonic() < until:
        time.sleep(0.01)
    assert not started


def is_alive(pid):
    """Return whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return os.path.isdir("/proc/self")


def is_gone(pid):
    until = time.monotonic() + 300
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_alive(pid)


@pytest.mark.parametrize(
    "body",
    [
        "answer(right(row))",
        "say(json.dumps({'total': right(row)}))",  # values are optional
        "say('  ' + json.dumps({'total': right(row)}), end=' \\r\\n')",
        "sys.stderr.write('x' * 10_000 + chr(10))\nanswer(right(row))",  # standard error is no answer
    ],
)
def test_a_right_program_agrees(program, body):
    report = parity(REWARD, program(body), examples=50)
    assert report.ok
    assert report.tested == 50


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        ("sys.exit(3)", "ended", "ended with exit code 3 instead of answering."),
        slow("sys.exit(0)", "ended", "ended with exit code 0 instead of answering."),
        ("print('too far', file=sys.stderr)\nsys.exit(3)", "ended", "The end of its standard error:\n    too far"),
        ("1 / 0", "ended", "ZeroDivisionError: division by zero"),
        ("os.abort()", "ended", "was killed by signal 6 (SIGABRT)"),
        slow("os.kill(os.getpid(), signal.SIGSEGV)", "ended", "was killed by signal 11 (SIGSEGV)"),
        ("say('{\"total\": 1', end='')\nsys.exit(0)", "partial line", """in the middle of a line, '{"total": 1'"""),
        ("say('hello')", "garbage", "answered with something that is not JSON: 'hello'"),
        slow("say('')", "garbage", "not JSON: ''"),
        ("say('\\x1b[31mred')", "garbage", r"'\x1b[31mred'"),
        ("sys.stdout.buffer.write(bytes([255, 10]))\nsys.stdout.flush()", "garbage", "not UTF-8"),
        ("say('[' * 100_000)", "garbage", "not JSON"),
        slow("say('1' * 5_000)", "garbage", "not JSON"),
        ("say('x' * (1 << 21))", "too long", "a line of more than 1,048,576 bytes: 'xxx"),
        ("say('x' * (1 << 21), end='')", "too long", "a line of more than 1,048,576 bytes: 'xxx"),
        ("say('[1]')", "wrong keys", "[1] instead of an object with a 'total'"),
        ("say('{}')", "wrong keys", "without a 'total'"),
        ('say(\'{"total": 1, "total": 2}\')', "wrong keys", "'total' twice"),
        ("say('{\"total\": NaN}')", "no number", "total nan"),
        slow("say('{\"total\": Infinity}')", "no number", "total inf"),
        ("say('{\"total\": 1e999}')", "no number", "total inf"),
        slow("say('{\"total\": null}')", "no number", "total None"),
    ],
)
def test_a_failure_is_told_as_what_it_is(program, body, kind, told):
    failing = program(f"if row['distance'] != 2:\n    answer(right(row))\n    continue\n{body}")
    report = parity(REWARD, failing, timeout=60)
    mismatch = report.mismatch
    assert mismatch.kind == kind
    assert told in mismatch.failure
    assert mismatch.inputs == {"distance": 2.0}
    assert mismatch.got is None
    assert mismatch.note == ""
    assert mismatch.expected.total == 0.0


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        ("time.sleep(600)", "timeout", "gave no answer within 0.4 s. Does it flush"),
        ("say('{\"total\": 0', end='')\ntime.sleep(600)", "partial line", "part of a line"),
        ("say('{\"total\": 0}', end='')\ntime.sleep(600)", "partial line", "The newline at its end is missing."),
        ("sys.stdin.close()\ntime.sleep(600)", "timeout", "gave no answer"),
        (
            "sys.stdout.close()\nos.close(1)\ntime.sleep(600)",
            "ended",
            "closed its standard output instead of answering",
        ),
        ("print('stuck', file=sys.stderr, flush=True)\ntime.sleep(600)", "timeout", "    stuck"),
    ],
)
@pytest.mark.usefixtures("short_grace")
def test_a_program_that_hangs_is_left_in_time(program, body, kind, told):
    hanging = program(f"if row['distance'] != 2:\n    answer(right(row))\n    continue\n{body}")
    began = time.monotonic()
    mismatch = parity(REWARD, hanging, timeout=0.4).mismatch
    assert time.monotonic() - began < 300
    assert mismatch.kind == kind
    assert told in mismatch.failure
    assert mismatch.inputs == {"distance": 2.0}


def test_a_program_that_never_flushes_is_told_to(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import sys\nfor line in sys.stdin:\n    print('{\"total\": 0}')\n", encoding="utf-8")
    mismatch = parity(REWARD, Command([sys.executable, "-I", "-S", str(path)]), timeout=0.3).mismatch
    assert "flush its output after every line" in mismatch.failure
    assert not mismatch.simplest


@pytest.mark.usefixtures("short_grace")
def test_a_program_that_closes_its_input_is_told(program):
    deaf = program("if number == 3:\n    os.close(0)\nanswer(right(row))\nif number == 3:\n    time.sleep(600)")
    mismatch = parity(REWARD, deaf, timeout=60).mismatch
    assert "closed its standard input instead of answering" in mismatch.failure


@pytest.mark.parametrize(
    "body",
    [
        "answer(right(row))\nanswer(right(row))",
        "answer(right(row))\nsay('done')",
        "answer(right(row))\ntime.sleep(0.02)\nanswer(1 - right(row))",
        "say(chr(10).join([json.dumps({'total': right(row)})] * 3))",
    ],
)
def test_more_than_one_line_for_a_row_is_told(program, body):
    mismatch = parity(REWARD, program(body), timeout=60).mismatch
    assert mismatch.kind == "extra output"
    assert "more than one line for a row" in mismatch.failure


def test_a_line_after_the_last_row_is_told(program):
    report = parity(REWARD, program("answer(right(row))", after="say('bye')"), examples=20)
    assert report.mismatch.kind == "extra output"
    assert "'bye'" in report.mismatch.failure
    assert report.tested == 20


def test_a_greeting_is_told(program):
    mismatch = parity(REWARD, program("answer(right(row))", before="say('ready')"), timeout=60).mismatch
    assert mismatch.kind in ("garbage", "extra output")
    assert "'ready'" in mismatch.failure


def test_a_flood_of_output_does_not_fill_the_memory(program):
    flood = program("pass", before="while True:\n    say('{\"total\": 0}' * 1000)")
    mismatch = parity(REWARD, flood, timeout=60).mismatch
    assert mismatch.kind in ("extra output", "garbage")


def test_a_program_that_reads_nothing_does_not_block(program):
    @term
    def large(torque):
        return torque[0]

    fields = [Field("torque", length=64, low=0, high=1)]
    reward = Reward("large", version="1", terms=[large], fields=fields)
    mismatch = parity(reward, program("pass", before="time.sleep(600)"), timeout=0.3).mismatch
    assert mismatch.kind == "timeout"


def test_a_program_that_remembers_rows_is_told(program):
    mismatch = parity(REWARD, program("answer(right(row) if number < 30 else 7.0)")).mismatch
    assert mismatch.got.total == 7.0
    assert "For this row alone it gives the right answer" in mismatch.note


def test_a_program_that_crashes_after_a_while_is_told(program):
    report = parity(REWARD, program("answer(right(row) if number < 30 else sys.exit(4))"))
    assert report.tested == 30
    assert "exit code 4" in report.mismatch.failure
    assert "For this row alone" in report.mismatch.note


def test_a_random_program_is_told(program):
    mismatch = parity(REWARD, program("answer(time.perf_counter())")).mismatch
    assert mismatch.kind == "different"
    assert "Is it random?" in mismatch.note


def test_a_mistake_is_not_mistaken_for_a_crash(program):
    """The first flaw that is met is the one that is told, though a simpler row shows another."""
    mixed = program("answer(sys.exit(1) if row['distance'] == 0 else 5.0 if row['distance'] > 2 else right(row))")
    for seed in range(4):
        mismatch = parity(REWARD, mixed, seed=seed).mismatch
        assert mismatch.kind in ("ended", "different")
        assert (mismatch.kind == "ended") == (mismatch.inputs["distance"] == 0)


# -- starting and ending ------------------------------------------------------------------------------------------


def test_a_program_that_does_not_exist_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match="there is no program 'nothing-here'"):
        parity(REWARD, Command("nothing-here --fast"))
    (tmp_path / "nothing-here").write_text("", encoding="utf-8")
    with pytest.raises(FileError, match=r"The file in this folder is \./nothing-here\."):
        parity(REWARD, Command("nothing-here --fast"))


@posix
def test_a_program_that_cannot_be_started_is_told(tmp_path):
    path = tmp_path / "program"
    path.write_text("no program", encoding="utf-8")
    with pytest.raises(FileError, match="cannot be started: Permission denied"):
        parity(REWARD, Command([str(path)]))
    path.chmod(0o755)
    with pytest.raises(FileError, match="cannot be started: Exec format error"):
        parity(REWARD, Command([str(path)]))
    path.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    with pytest.raises(FileError, match="cannot be started: No such file or directory"):
        parity(REWARD, Command([str(path)]))


@pytest.mark.parametrize("command", ["", "  ", [], "'unclosed"])
def test_a_command_line_that_is_none_is_refused(command):
    with pytest.raises(DefinitionError, match="command line"):
        parity(REWARD, Command(command))


@posix
def test_a_shell_is_used_only_when_asked_for(program, tmp_path):
    script = program("answer(right(row))").command[-1]
    line = f"exec {sys.executable} -I {script} | cat"
    with pytest.raises(FileError, match="there is no program 'exec'"):
        parity(REWARD, Command(line))
    assert parity(REWARD, Command(line, shell=True), examples=20).ok


def test_a_program_is_started_once(program, tmp_path):
    log = str(tmp_path / "log")
    once = program("answer(right(row))", before=f"open({log!r}, 'a').write('started ')")
    assert parity(REWARD, once, examples=30).ok
    with open(log, encoding="utf-8") as file:
        assert file.read() == "started "


@posix
@pytest.mark.usefixtures("short_grace")
@pytest.mark.parametrize("body", ["answer(right(row))", "answer(3.0)", "sys.exit(1)", "time.sleep(600)", "say('x')"])
def test_no_child_outlives_the_call(program, tmp_path, body):
    log = str(tmp_path / "pids")
    before = f"""
    import subprocess
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    kept = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL)
    with open({log!r}, "a") as file:
        file.write(f"{{os.getpid()}} {{kept.pid}} ")
    """
    after = "time.sleep(600)  # though its input has ended"
    parity(REWARD, program(body, before=before, after=after), examples=20, timeout=0.4)
    with open(log, encoding="utf-8") as file:
        pids = [int(pid) for pid in file.read().split()]
    assert len(pids) >= 2
    assert all(is_gone(pid) for pid in pids)


@posix
@pytest.mark.usefixtures("short_grace")  # once for every row that is tried
def test_a_stranger_who_keeps_a_pipe_open_does_not_hold_up_the_call(program, tmp_path):
    log = str(tmp_path / "pid")
    before = f"""
    import subprocess
    other = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
    with open({log!r}, "a") as file:
        file.write(f"{{other.pid}} ")
    """
    began = time.monotonic()
    try:
        mismatch = parity(REWARD, program("sys.exit(5)", before=before), timeout=400).mismatch
        assert time.monotonic() - began < 300
        assert "ended with exit code 5" in mismatch.failure
    finally:
        with open(log, encoding="utf-8") as file:
            for pid in file.read().split():  # which this test has started
                os.kill(int(pid), signal.SIGKILL)


def test_an_interrupted_call_leaves_no_child(program, tmp_path):
    log = str(tmp_path / "pid")
    asked = []

    def interrupt(tested):
        asked.append(tested)
        if tested == 5:
            raise KeyboardInterrupt

    running = program("answer(right(row))", before=f"open({log!r}, 'w').write(str(os.getpid()))")
    with pytest.raises(KeyboardInterrupt):
        parity(REWARD, running, progress=interrupt)
    assert asked == [1, 2, 3, 4, 5]
    with open(log, encoding="utf-8") as file:
        assert is_gone(int(file.read()))


def test_the_row_that_is_shown_is_the_row_that_was_sent(program, tmp_path):
    log = tmp_path / "rows"
    logged = program(f"open({str(log)!r}, 'a').write(line)\nanswer(5.0)")
    mismatch = parity(REWARD, logged).mismatch
    assert mismatch.row in log.read_text(encoding="utf-8").splitlines()
    assert json.loads(mismatch.row) == mismatch.inputs
