"""`plaudit parity`."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from plaudit.checks.parity import Command, Function, Recorded
from plaudit.cli.parity import find_program
from plaudit.terminal import ExitCode
from support.command_line import built_in

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX processes")

PARKING = """\
from plaudit import Field, Reward, term

@term
def gap(metres, *, near=0.5):
    return 1.0 if metres < near else 0.0

@term(weight=-0.1)
def haste(speed):
    return speed

fields = [Field("metres", low=0, high=9), Field("speed", low=0, high=5)]
reward = Reward("parking", version="1", terms=[gap, haste], fields=fields)
"""

RIGHT = "1.0 if row['metres'] < 0.5 else 0.0"
WRONG = "1.0 if row['metres'] <= 0.5 else 0.0"


@pytest.fixture
def parking(tmp_path):
    """Write a reward, and other implementations of it."""
    (tmp_path / "parking.py").write_text(PARKING, encoding="utf-8")

    def write(name, gap, *, before="", answered="{'total': gap - 0.1 * row['speed'], 'values': {'gap': gap}}"):
        lines = f"""\
import json, sys, time
{before}
for line in sys.stdin:
    row = json.loads(line)
    gap = {gap}
    print(json.dumps({answered}), flush=True)
"""
        (tmp_path / name).write_text(lines, encoding="utf-8")
        return f"{sys.executable} -I {name}"

    return write


def test_agreement_is_a_line_and_exit_code_0(plaudit, parking):
    command = parking("other.py", RIGHT)
    result = plaudit("parity", "parking.py:reward", "--against", command, "--examples", "100")
    assert result.stdout == f"parking@1 and {command} agree on 100 rows.\n"
    assert (result.exit_code, result.stderr) == (0, "")


def test_agreement_that_leaves_branches_out_has_an_exit_code_of_its_own(plaudit, parking):
    arguments = ["parity", "parking.py:reward", "--against", parking("other.py", RIGHT), "--examples", "1"]
    result = plaudit(*arguments)
    assert result.exit_code == ExitCode.INCOMPLETE
    assert "agree on 1 row, which reach 1 of 2 branches.\n" in result.stdout
    assert "\n  gap: `metres < 0.5` is " in result.stdout
    data = json.loads(plaudit(*arguments, "--json").stdout)
    assert (data["ok"], data["complete"], data["branches"], len(data["unreached"])) == (True, False, 2, 1)


def test_a_difference_is_shown_with_the_guilty_term(plaudit, parking):
    result = plaudit("parity", "parking.py:reward", "--against", parking("other.py", WRONG))
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert result.exit_code == 1
    assert lines[0].endswith("other.py differ in gap.")
    assert "this is the simplest row that shows it." in lines[1]
    assert "metres 0.5" in lines
    assert "speed 0.0" in lines
    assert "gap 0.0 1.0 <- differs" in lines
    assert "haste -0.0" in lines  # the program gives no value of it
    assert lines[-1] == 'The row: {"metres": 0.5, "speed": 0.0}'
    assert "\x1b" not in result.stdout


def test_a_difference_is_data_for_a_script(plaudit, parking):
    result = plaudit("parity", "parking.py:reward", "--against", parking("other.py", WRONG), "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 1
    assert data["ok"] is False
    assert data["reward"] == "parking"
    assert data["mismatch"]["inputs"] == {"metres": 0.5, "speed": 0.0}
    assert data["mismatch"]["terms"] == ["gap"]
    assert data["mismatch"]["expected"] == {"total": 0.0, "values": {"gap": 0.0, "haste": -0.0}}
    assert data["mismatch"]["got"] == {"total": 1.0, "values": {"gap": 1.0}}


def test_a_total_without_values_names_no_term(plaudit, parking):
    command = parking("other.py", WRONG, answered="{'total': gap - 0.1 * row['speed']}")
    shown = plaudit("parity", "parking.py:reward", "--against", command).stdout
    assert "differ in total (the program gives no values, so the term is unknown)." in shown
    assert "<- differs" not in shown


def test_a_failure_is_shown_with_the_row(plaudit, parking):
    command = parking("other.py", "sys.exit('out of \\x1b[31m fuel') if row['speed'] == 5 else " + RIGHT)
    result = plaudit("parity", "parking.py:reward", "--against", command)
    assert result.exit_code == 1
    assert "other.py failed: it ended with exit code 1 instead of answering." in result.stdout
    assert r"    out of \x1b[31m fuel" in result.stdout
    assert '"speed": 5.0}' in result.stdout
    data = json.loads(plaudit("parity", "parking.py:reward", "--against", command, "--json").stdout)
    assert data["mismatch"]["kind"] == "ended"
    assert data["mismatch"]["got"] is None


def test_a_program_that_hangs_is_told_in_time(plaudit, parking):
    command = parking("other.py", "time.sleep(600)")
    began = time.monotonic()
    result = plaudit("parity", "parking.py:reward", "--against", command, "--timeout", "0.3")
    assert time.monotonic() - began < 300
    assert result.exit_code == 1
    assert "gave no answer within 0.3 s" in result.stdout
    assert "simplest" not in result.stdout


def test_functions_are_asked_in_this_process(plaudit, tmp_path, monkeypatch):
    source = "def total(distance, deceleration, action):\n    print('asked')\n    return 0.0\n"
    (tmp_path / "own_parity_module.py").write_text(source, encoding="utf-8")
    for text in ("own_parity_module.py:total", "own_parity_module:total"):
        result = plaudit("parity", "roadsense", "--against", text, "--json")
        assert result.exit_code == 1
        assert json.loads(result.stdout)["against"] == text
        assert "asked" in result.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("own.py:totl", "own.py has no 'totl'. Did you mean 'total'?"),
        ("own.py:NUMBER", "own.py:NUMBER is not a function; its type is int."),
        ("own.py", "name a function in it, own.py:NAME, or run it: --against 'python own.py'."),
        ("own.py:not a name", "name a function in it, own.py:NAME"),
    ],
)
def test_what_is_no_function_is_told(plaudit, tmp_path, text, told):
    (tmp_path / "own.py").write_text("def total():\n    pass\n\n\nNUMBER = 3\n", encoding="utf-8")
    result = plaudit("parity", "roadsense", "--against", text)
    assert result.exit_code == 2
    assert told in result.stderr


def test_recorded_pairs_are_compared(plaudit, write):
    pairs = [{"inputs": row, "total": built_in("roadsense").score(**row).total} for row in rows()]
    write("pairs.jsonl", *pairs)
    result = plaudit("parity", "roadsense", "--against", "pairs.jsonl")
    headline, *missed = result.stdout.splitlines()
    assert re.fullmatch(r"roadsense@R0 and pairs.jsonl agree on 4 rows, which reach \d+ of 24 branches.", headline)
    assert (result.exit_code, result.stderr) == (ExitCode.INCOMPLETE, "")
    assert missed[0] == "Not compared, because no row reached these branches:"
    assert missed[-1] == "  appropriateness: `action == 0` is true"
    write("pairs.jsonl", *pairs, {**pairs[0], "total": 3}, {**pairs[1], "total": 3})
    result = plaudit("parity", "roadsense", "--against", "pairs.jsonl")
    assert result.exit_code == 1
    assert result.stdout.startswith("roadsense@R0 and pairs.jsonl differ in 2 of 6 rows, first in line 5: total")
    write("pairs.jsonl", pairs[0], {"inputs": {**pairs[0]["inputs"], "distance": -1}, "total": 1})
    assert (
        "1 row that the reward refuses was left out."
        in plaudit("parity", "roadsense", "--against", "pairs.jsonl").stdout
    )


def rows():
    return [{"distance": distance, "deceleration": 0.0, "action": 1} for distance in (4.0, 15.0, 30.0, 50.0)]


def test_a_fact_that_the_row_breaks_is_told(plaudit, tmp_path):
    (tmp_path / "r.json").write_text(built_in("roadsense").to_json(), encoding="utf-8")
    source = "from pathlib import Path\nfrom plaudit import Reward\n\nREWARD = Reward.from_json(Path('r.json').read_text())\n"
    source += "\n\ndef total(**row):\n    return REWARD.score(**row).total + (row['deceleration'] < -1)\n"
    (tmp_path / "other.py").write_text(source, encoding="utf-8")
    shown = plaudit("parity", "roadsense", "--against", "other.py:total").stdout
    assert "The row breaks a declared fact: brakes." in shown


def test_other_numbers_in_the_reward_are_compared(plaudit, parking):
    command = parking("other.py", "1.0 if row['metres'] < 0.75 else 0.0")
    arguments = ["parity", "parking.py:reward", "--against", command, "--examples", "60"]
    assert plaudit(*arguments).exit_code == 1
    assert plaudit(*arguments, "--set", "gap.near=0.75").exit_code == 0


def test_a_tolerance_and_a_seed_can_be_given(plaudit, parking):
    command = parking("other.py", RIGHT, answered="{'total': gap - 0.1 * row['speed'] + 0.01}")
    arguments = ["parity", "parking.py:reward", "--against", command, "--examples", "60"]
    assert plaudit(*arguments).exit_code == 1
    assert plaudit(*arguments, "--tolerance", "0.02", "--seed", "7").exit_code == 0


@posix
def test_a_shell_runs_the_command_when_asked_to(plaudit, parking):
    command = parking("other.py", RIGHT) + " | cat"
    arguments = ["parity", "parking.py:reward", "--against", command, "--examples", "50"]
    assert plaudit(*arguments, "--shell").exit_code == 0


@pytest.mark.parametrize(
    ("against", "told"),
    [
        ("no-such-program --fast", "there is no program 'no-such-program'."),
        ("no_such_module:function", "There is no module 'no_such_module' in this folder"),
        ("nothing.jsonl", "nothing.jsonl does not exist."),
        ("pears.jsonl", "Did you mean 'pairs.jsonl'?"),
        ("nothing.py:function", "nothing.py does not exist."),
        ("'", "not a valid command line"),
        ("", "the command line is empty"),
    ],
)
def test_what_is_asked_for_wrongly_is_told_and_exit_code_2(plaudit, write, against, told):
    write("pairs.jsonl", {"inputs": rows()[0], "total": -100}, "{")
    result = plaudit("parity", "roadsense", "--against", against)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert told in result.stderr


def test_pairs_that_cannot_be_read_are_no_wrong_usage(plaudit, write):
    write("pairs.jsonl", {"inputs": rows()[0], "total": -100}, "{")
    result = plaudit("parity", "roadsense", "--against", "pairs.jsonl")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "pairs.jsonl, line 2 is not JSON" in result.stderr


@pytest.mark.parametrize(
    "options",
    [["--timeout", "0"], ["--timeout", "nan"], ["--examples", "0"], ["--tolerance", "-1"], ["--tolerance", "nan"]],
)
def test_options_that_make_no_sense_are_refused(plaudit, options):
    result = plaudit("parity", "roadsense", "--against", "cat", *options)
    assert (result.exit_code, result.stdout) == (2, "")


def test_the_kind_of_what_is_compared_is_told_from_its_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "with space.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "mine.py").write_text("def f():\n    return 0\n", encoding="utf-8")
    assert find_program("./program") == Command("./program")
    assert find_program("./replay drive.jsonl") == Command("./replay drive.jsonl")
    assert find_program("with space.jsonl") == Recorded("with space.jsonl")
    assert isinstance(find_program("mine.py:f"), Function)
    assert isinstance(find_program("json:dumps"), Function)
    assert find_program("C:\\program.exe") == Command("C:\\program.exe")
    assert find_program("echo a:b") == Command("echo a:b")
    assert find_program("mine.py:f", shell=True) == Command("mine.py:f", shell=True)


def test_the_program_in_c_is_found_out(plaudit, tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source = Path(__file__).parents[2] / "examples" / "parity" / "roadsense.c"
    for name, *bug in (("right",), ("wrong", "-DBUG_BOUNDARY")):
        subprocess.run([compiler, "-std=c99", *bug, "-o", tmp_path / name, source], check=True)
    assert plaudit("parity", "roadsense", "--against", "./right", "--examples", "200").exit_code == 0
    result = plaudit("parity", "roadsense", "--against", "./wrong")
    assert result.exit_code == 1
    assert "differ in safety." in result.stdout
    assert 'The row: {"distance": 15.0, "deceleration": 0.0, "action": 0}' in result.stdout


# -- real processes -----------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize(
    ("number", "code"),
    [pytest.param(signal.SIGTERM, ExitCode.TERMINATED, marks=pytest.mark.slow), (signal.SIGINT, ExitCode.INTERRUPTED)],
)
def test_a_stopped_command_leaves_no_program_behind(process, parking, tmp_path, number, code):
    before = "import os\nopen('pid', 'w').write(str(os.getpid()))"
    command = parking("other.py", f"time.sleep(0.01) or ({RIGHT})", before=before)
    running = process("parity", "parking.py:reward", "--against", command, "--examples", "100000")
    pid = tmp_path / "pid"
    until = time.monotonic() + 300
    while not (pid.exists() and pid.read_text(encoding="utf-8")) and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.05)
    running.send_signal(number)
    printed, told = running.communicate(timeout=300)
    assert running.returncode == code
    assert printed == b""
    assert b"Traceback" not in told
    until = time.monotonic() + 300
    with suppress(ProcessLookupError):
        while time.monotonic() < until:
            os.kill(int(pid.read_text(encoding="utf-8")), 0)
            time.sleep(0.01)
        pytest.fail("the program is still there")


def test_a_terminal_shows_progress(parking, terminal):
    against = parking("other.py", RIGHT)
    code, printed, drawn = terminal("parity", "parking.py:reward", "--json", "--against", against, "--examples", "50")
    assert code == 0
    assert json.loads(printed)["ok"] is True
    assert b"50/50" in drawn
