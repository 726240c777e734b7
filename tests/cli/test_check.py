"""`plaudit check`."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest
from click.testing import CliRunner

from plaudit.checks.rules import RULES
from plaudit.cli import main
from plaudit.systems import BUILT_IN
from plaudit.terminal import ExitCode
from support.command_line import built_in
from support.forking import run_python

CARS = """\
from plaudit import Field, Reward, Task, term


@term
def closer(prev, curr):
    return max(0.0, prev.left - curr.left)


@term
def near(distance, *, far=9.0):
    return 1 - distance / far


left = Field("left", low=0, high=9)
paid = Reward("paid", version="1", terms=[closer], fields=[left], task=Task(max_change={"left": 1}))
plain = Reward("plain", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
"""
PAID, PLAIN = "my car.py:paid", "my car.py:plain"


@pytest.fixture(autouse=True)
def cars(tmp_path):
    """A file with two rewards: a loop in the first pays, and the second has no flaw."""
    (tmp_path / "my car.py").write_text(CARS, encoding="utf-8")


def checked(result) -> list[dict]:
    """Return the reports that were printed as JSON."""
    return json.loads(result.stdout)["rewards"]


LOGGED = """\
from plaudit import Field, Reward, term


@term
def near(distance, info):
    print(distance)
    info["seen"] = distance
    return 1 - distance / 9


reward = Reward("logged", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
"""


def test_what_makes_no_difference_in_a_function_is_shown(plaudit, tmp_path):
    (tmp_path / "logged.py").write_text(LOGGED, encoding="utf-8")
    shown = plaudit("check", "logged.py").stdout
    assert "as read    near: `print(distance)` is dropped: it makes no difference to the" in shown
    (one,) = checked(plaudit("check", "logged.py", "--json"))
    assert [(note["term"], note["line"], note["text"]) for note in one["notes"]] == [
        ("near", 6, "print(distance)"),
        ("near", 7, 'info["seen"] = distance'),
    ]


def test_a_clean_reward_is_a_line_and_exit_code_0(plaudit):
    result = plaudit("check", PLAIN)
    assert (result.exit_code, result.stderr) == (0, "")
    assert re.match(r"plain@1  [0-9a-f]{12}  no findings\n", result.stdout)


def test_a_warning_is_exit_code_1(plaudit):
    result = plaudit("check", PAID)
    assert result.exit_code == ExitCode.FOUND
    assert "warning  loop-that-pays  closer  my car.py:5\n" in result.stdout
    assert "\x1b" not in result.stdout


def test_several_rewards_are_checked_in_order_each_once(plaudit):
    result = plaudit("check", PAID, PLAIN, PAID)
    assert result.exit_code == ExitCode.FOUND
    assert result.stdout.index("paid@1") < result.stdout.index("plain@1")
    assert result.stdout.count("paid@1") == 1
    assert "\n2 rewards: 1 warning" in result.stdout
    assert result.stderr == ""  # progress is for terminals


def test_all_are_the_built_in_ones(plaudit):
    found = checked(plaudit("check", "--all", "roadsense@R8", "--only", "unused-field", "--json"))
    names = [f"{each['reward']}@{each['version']}" for each in found]
    assert names == [*(f"{name}@{built_in(name).version}" for name in BUILT_IN), "roadsense@R8"]


@pytest.mark.parametrize(("fail_on", "code"), [("warning", 1), ("advice", 1), ("never", 0)])
def test_fail_on_decides_the_exit_code(plaudit, fail_on, code):
    assert plaudit("check", PAID, "--fail-on", fail_on).exit_code == code


def test_a_note_changes_the_exit_code_only_where_it_is_asked_for(plaudit, tmp_path):
    shaped = CARS.replace("@term\ndef closer", '@term(kind="shaping")\ndef closer')
    (tmp_path / "my car.py").write_text(shaped, encoding="utf-8")
    only = "check", PAID, "--only", "not-potential-based"
    assert [plaudit(*only, "--fail-on", each).exit_code for each in ("warning", "advice", "note")] == [0, 0, 1]
    assert "\nnote       not-potential-based  closer: 'closer' is declared shaping" in plaudit(*only).stdout


def test_rules_are_chosen_and_left_out(plaudit):
    assert plaudit("check", PAID, "--only", "jump", "--only", "unbounded").exit_code == 0
    assert plaudit("check", PAID, "--ignore", "loop-that-pays").exit_code == 0
    assert plaudit("check", PAID, "--only", "loop-that-pays", "--only", "jump").exit_code == ExitCode.FOUND


def test_a_reward_is_checked_with_other_numbers(plaudit, write):
    write("tuned.toml", "[comfort]", "weight = 3.0")
    (found,) = checked(
        plaudit("check", "roadsense", "--only", "jump", "--params", "tuned.toml", "--set", "safety.weight=2", "--json")
    )
    assert found["fingerprint"] == built_in("roadsense").with_weights(comfort=3.0, safety=2.0).fingerprint


def test_what_there_is_no_time_for_is_said(plaudit):
    assert "out of time" in plaudit("check", "hackmatrix", "--only", "loop-that-pays", "--timeout", "1e-6").stdout


def test_a_row_of_outcomes_that_gives_a_name_twice_is_refused(plaudit, write):
    row = {"prev.tokens_used": 1, "prev": {"tokens_used": 2}}
    write("ends.json", json.dumps({"worse": [row], "better": [row]}))
    done = plaudit("check", "apex", "--outcomes", "ends.json")
    assert done.exit_code == 2
    assert "'prev.tokens_used' is given twice" in done.stderr


def test_flat_and_nested_rows_of_outcomes_are_the_same(plaudit, write):
    prev = {"phase": "planning", "test_pass_rate": 0.5, "tokens_used": 0}
    curr = {"phase": "coding", "test_pass_rate": 0.5, "tokens_used": 9, "switch_committed": False}
    flat = {f"{record}.{name}": each for record, row in (("prev", prev), ("curr", curr)) for name, each in row.items()}
    write("ends.json", {"flat": [flat], "nested": [{"prev": prev, "curr": curr}]})
    (found,) = checked(plaudit("check", "apex", "--only", "outcome-order", "--outcomes", "ends.json", "--json"))
    assert found["findings"][0]["message"].startswith("'flat' earns 0.2991, the same as 'nested' with 0.2991")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "a JSON object from names to lists of rows"),
        ("{}", "a JSON object from names to lists of rows"),
        ('{"idle": []}', "the outcome 'idle' must be a list of rows"),
        ('{"idle": [1]}', "the outcome 'idle' must be a list of rows"),
        ('{"idle": [{}], "idle": [{}]}', "'idle' is given twice"),
        ("{", "is not JSON"),
        (b"\xff", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_outcomes_that_are_none_are_refused(plaudit, write, content, told):
    write("ends.json", content)
    result = plaudit("check", "roadsense", "--outcomes", "ends.json")
    assert result.exit_code == ExitCode.FAILED
    assert result.stderr.startswith("Error: ends.json")
    assert told in result.stderr


def test_a_missing_file_of_outcomes_is_told(plaudit, write):
    write("ends.json", "{}")
    assert "Did you mean 'ends.json'?" in plaudit("check", "roadsense", "--outcomes", "end.json").stderr


# -- formats ----------------------------------------------------------------------------------------------------------


def test_json_is_for_scripts(plaudit):
    result = plaudit("check", PAID, PLAIN, "--json")
    assert result.exit_code == ExitCode.FOUND
    both = checked(result)
    assert [one["reward"] for one in both] == ["paid", "plain"]
    assert (both[0]["findings"][0]["file"], both[1]["findings"]) == ("my car.py", [])
    assert plaudit("check", PAID, PLAIN, "--format", "json").stdout == result.stdout
    assert plaudit("check", PAID, PLAIN, "--format", "json", "--json").stdout == result.stdout


def test_sarif_is_for_code_scanning(plaudit):
    (run,) = json.loads(plaudit("check", PAID, PLAIN, "--format", "sarif").stdout)["runs"]
    assert run["tool"]["driver"]["version"]
    (found,) = run["results"]
    assert found["properties"]["reward"] == "paid"
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20car.py"


def test_github_is_for_workflow_logs(plaudit, monkeypatch, tmp_path):
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    shown = plaudit("check", PAID, "--format", "github").stdout
    assert shown.startswith("::warning file=my car.py,line=5,title=paid@1%3A loop-that-pays::")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path.parent))
    shown = plaudit("check", PAID, "--format", "github").stdout
    assert shown.startswith(f"::warning file={tmp_path.name}/my car.py,line=5,")


def test_a_finding_without_a_place_stands_in_the_file_that_was_named(plaudit, write):
    write("r.json", plaudit("show", PAID, "--spec").stdout)
    (run,) = json.loads(plaudit("check", "r.json", "--format", "sarif").stdout)["runs"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "r.json"}


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_the_output_is_a_complete_file_or_none(plaudit, tmp_path, form):
    result = plaudit("check", PAID, "--format", form, "--output", "report")
    assert (result.exit_code, result.stdout) == (ExitCode.FOUND, "")
    assert result.stderr == "paid@1: 1 warning; 2 rules not run. Report written to report.\n"
    printed = plaudit("check", PAID, "--format", form, "--output", "-")
    assert (tmp_path / "report").read_text(encoding="utf-8") == printed.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"my car.py", "report"}


def test_a_file_that_cannot_be_written_is_told(plaudit):
    result = plaudit("check", PAID, "--output", "nowhere/report")
    assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
    assert "Error: nowhere/report cannot be written: there is no folder" in result.stderr


def test_a_check_that_fails_leaves_the_file_as_it_was(plaudit, write, tmp_path):
    write("ends.json", {"worse": [{"distance": "near"}], "better": [{"distance": 1}]})
    (tmp_path / "report").write_text("old", encoding="utf-8")
    result = plaudit("check", PLAIN, "--outcomes", "ends.json", "--output", "report")
    assert result.exit_code == ExitCode.FAILED
    assert result.stderr.startswith("Error: ")
    assert (tmp_path / "report").read_text(encoding="utf-8") == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"my car.py", "ends.json", "report"}


@pytest.mark.parametrize("width", ["8", "20", "40", "300"])
def test_any_width_will_do(plaudit, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    result = plaudit("check", PAID)
    assert result.exit_code == ExitCode.FOUND
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_terminal_gets_colours_and_a_file_none(plaudit, monkeypatch, tmp_path):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;33mwarning\x1b[0m" in plaudit("check", PAID).stdout
    plaudit("check", PAID, "--output", "report")
    assert "\x1b" not in (tmp_path / "report").read_text(encoding="utf-8")


def test_progress_is_told_on_a_terminal(plaudit, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("plaudit.terminal._is_watched", lambda: True)
    assert f"checking {PAID} (2 of 2)" in plaudit("check", PLAIN, PAID).stderr
    assert plaudit("check", PAID).stderr == ""


# -- what cannot run --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name a REWARD, or use --all"),
        (["roadsense", "--only", "jmp"], "there is no rule 'jmp'. Did you mean 'jump'?"),
        (["roadsense", "--ignore", "zone_gap"], "there is no rule 'zone_gap'. Did you mean 'zone-gap'?"),
        (["--explain", "unbound"], "there is no rule 'unbound'. Did you mean 'unbounded'?"),
        (["roadsense", "--json", "--format", "sarif"], "--json and --format sarif cannot be combined"),
        (["roadsense", "--timeout", "0"], "0 is not in the range"),
        (["roadsense", "--timeout", "nan"], "nan is not in the range"),
        (["roadsense", "--timeout", "inf"], "inf is not in the range"),
        (["--rules", "--format", "sarif"], "rules can be listed as text or json, not sarif"),
        (["roadsense", "--fail-on", "error"], "'error' is not one of"),
        (["apex", "rodsense"], "there is no reward 'rodsense'. Did you mean 'roadsense'?"),
        (["roadsense", "missing.py:reward"], "missing.py does not exist."),
        (["roadsense", "apex", "--set", "comfort.weight=2"], "comfort"),
    ],
)
def test_what_cannot_run_is_exit_code_2_and_one_message(plaudit, arguments, told):
    result = plaudit("check", *arguments)
    assert result.exit_code == ExitCode.FAILED
    assert result.stdout == ""
    assert told in " ".join(result.stderr.split())
    assert result.stderr.count("Error: ") == 1


# -- rules ------------------------------------------------------------------------------------------------------------


def test_every_rule_is_listed(plaudit):
    shown = plaudit("check", "--rules").stdout
    assert all(code in shown for code in RULES)
    rows = json.loads(plaudit("check", "--rules", "--json").stdout)
    assert [row["code"] for row in rows] == list(RULES)
    assert rows[0]["why"] == RULES["loop-that-pays"].why


@pytest.mark.parametrize("code", RULES)
def test_every_rule_is_explained(plaudit, code):
    shown = plaudit("check", "--explain", code).stdout
    assert shown.startswith(f"{code}  {RULES[code].severity}\n")
    assert RULES[code].why in " ".join(shown.split())
    assert f"docs/reference/check-rules/{code}.md" in shown
    (row,) = json.loads(plaudit("check", "--explain", code, "--json").stdout)
    assert row == {
        "code": code,
        "severity": RULES[code].severity,
        "why": RULES[code].why,
        "page": f"docs/reference/check-rules/{code}.md",
    }


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("cp1252", marks=pytest.mark.slow)])
def test_any_encoding_will_do(process, encoding):
    done = process("check", "--rules", PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    printed, told = done.communicate()
    assert (done.returncode, told) == (0, b"")
    assert b"loop-that-pays" in printed


def test_listing_rules_needs_no_solver():
    script = "import sys; from plaudit.cli import main; main(['check', '--rules'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()[-1].split()) & {"z3", "hypothesis", "numpy"} == set()


# -- the built-in rewards ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built_in_reports():
    """What is printed of the built-in rewards as JSON, and of one of them as text."""
    run = partial(CliRunner(env={"COLUMNS": "100"}).invoke, main, catch_exceptions=False)
    return run(["check", "--all", "--json"]), run(["check", "roadsense"]).stdout


def test_the_built_in_rewards_have_the_flaws_they_are_known_for(built_in_reports):
    result, _ = built_in_reports
    assert result.exit_code == ExitCode.FOUND
    warnings = {
        one["reward"]: {each["code"] for each in one["findings"] if each["severity"] == "warning"}
        for one in checked(result)
    }
    assert "loop-that-pays" in warnings["apex"]
    assert "loop-that-pays" in warnings["hackmatrix"]
    assert {"saturated-clamp", "clamp-never-binds"} <= warnings["deepthinker"]
    assert {"dominated-action", "unreachable-branch"} <= warnings["roadsense"]


def test_the_text_of_a_real_report_fits_eighty_columns(built_in_reports):
    _, shown = built_in_reports
    assert max(map(len, shown.splitlines())) <= 80


def test_every_total_of_a_witness_is_what_the_reward_gives(built_in_reports):
    (roadsense,) = [one for one in checked(built_in_reports[0]) if one["reward"] == "roadsense"]
    for step in [step for each in roadsense["findings"] for step in each["witness"]]:
        inputs = {name: float(value) for name, value in step["inputs"].items()}
        if len(inputs) == 3:  # a witness may leave out what makes no difference to its term
            assert built_in("roadsense").score(**inputs).total == pytest.approx(step["total"])


def test_without_z3_the_command_works_and_says_what_stays_open():
    script = "import sys; sys.modules['z3'] = None; from plaudit.cli import main; main(['check', 'apex', 'hackmatrix@potential'])"
    done = run_python([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (ExitCode.FOUND, "")
    assert "loop-that-pays" in done.stdout
    assert "z3 is not installed" in " ".join(done.stdout.split())


def test_outcomes_are_compared(plaudit, write):
    crash = {"distance": 0.0, "deceleration": 0.5, "action": 1}
    good = {"distance": 30.0, "deceleration": 0.5, "action": 1}
    write("right.json", {"crash": [crash], "good": [good]})
    write("wrong.json", {"good": [good], "crash": [crash]})
    assert plaudit("check", "roadsense", "--only", "outcome-order", "--outcomes", "right.json").exit_code == 0
    result = plaudit("check", "roadsense", "--only", "outcome-order", "--outcomes", "wrong.json")
    assert result.exit_code == ExitCode.FOUND
    assert "warning  outcome-order  total" in result.stdout


@pytest.mark.parametrize("fail_on", ["warning", "never"])
def test_a_rule_that_failed_has_an_exit_code_of_its_own(plaudit, monkeypatch, fail_on):
    def find(context):
        raise ValueError("odd")

    monkeypatch.setattr("plaudit.checks.rules.RULES", {**RULES, "jump": replace(RULES["jump"], find=find)})
    result = plaudit("check", PAID, "--fail-on", fail_on)
    assert result.exit_code == ExitCode.FAULT
    assert "failed     jump: ValueError: odd" in result.stdout
    assert "loop-that-pays" in result.stdout


HELPER = """\
LIMIT = 3.0


def per_second(metres, seconds):
    # a line of its own, so that numbers differ
    return metres / seconds


def is_fast(speed):
    return speed > LIMIT
"""
PACE = """\
from plaudit import Field, Reward, term
import helper_of_pace


@term
def pace(metres, seconds):
    return 1.0 if helper_of_pace.is_fast(helper_of_pace.per_second(metres, seconds)) else 0.0


fields = [Field("metres", low=0, high=9), Field("seconds", low=0, high=9)]
reward = Reward("pace", version="1", terms=[pace], fields=fields)
helper_of_pace.LIMIT = 4.0
"""


def test_a_finding_about_a_helper_stands_in_the_file_of_the_helper(plaudit, tmp_path, monkeypatch):
    (tmp_path / "helper_of_pace.py").write_text(HELPER, encoding="utf-8")
    (tmp_path / "pace.py").write_text(PACE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)

    def check(form, code):
        monkeypatch.delitem(sys.modules, "helper_of_pace", raising=False)
        return plaudit("check", "pace.py:reward", "--only", code, "--format", form).stdout

    assert "pace  helper_of_pace.py:6\n" in check("text", "may-divide-by-zero")
    (found,) = json.loads(check("json", "may-divide-by-zero"))["rewards"][0]["findings"]
    assert (found["file"], found["line"]) == ("helper_of_pace.py", 6)
    (result,) = json.loads(check("sarif", "may-divide-by-zero"))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "helper_of_pace.py"
    assert place["region"] == {"startLine": 6, "snippet": {"text": "return metres / seconds"}}
    assert check("github", "may-divide-by-zero").startswith("::warning file=helper_of_pace.py,line=6,")
    assert "pace  helper_of_pace.py:9\n" in check("text", "changed-since-read")


def test_help_says_that_a_python_file_is_executed(plaudit):
    assert "Checking a FILE.py executes it" in " ".join(plaudit("check", "--help").stdout.split())


SLOW = """
import time
from plaudit import Field, Reward, term

@term
def pay(x):
    return x

class Slow(Reward):
    @property
    def allow(self):
        open("begun", "w").close()
        while True:
            time.sleep(0.01)  # a signal that comes right before a long sleep is seen only after it

reward = Slow("slow", version="1", terms=[pay], fields=[Field("x", low=0, high=1)])
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("before", [None, b"as it was"])
def test_what_is_interrupted_leaves_nothing_behind(process, tmp_path, number, code, before):
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    if before:
        (tmp_path / "report.txt").write_bytes(before)
    running = process("check", "slow.py:reward", "--output", "report.txt", PYTHONDONTWRITEBYTECODE="1")
    while not (tmp_path / "begun").exists():
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    assert any(name.endswith(".part") for name in os.listdir(tmp_path))
    running.send_signal(number)
    assert running.wait(timeout=300) == code
    for stream in (running.stdin, running.stdout, running.stderr):
        with suppress(BrokenPipeError):
            stream.close()
    assert sorted(os.listdir(tmp_path)) == ["begun", "my car.py", *["report.txt"] * bool(before), "slow.py"]
    assert before is None or (tmp_path / "report.txt").read_bytes() == before
