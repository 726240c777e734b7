"""`assert_reward_ok`: a line in somebody's test."""

import subprocess
import sys

import pytest

from plaudit import DefinitionError
from plaudit.checks.gate import assert_reward_ok, failing
from plaudit.systems import load
from reports import CLEAN, FULL, REWARD, finding, instead_of_check, report

ADVICE = report(finding())


@pytest.mark.parametrize(
    ("found", "fail_on", "fails"),
    [
        (CLEAN, "advice", False),
        (ADVICE, "never", False),
        (ADVICE, "warning", False),
        (ADVICE, "advice", True),
        (FULL, "never", False),
        (FULL, "warning", True),
        (FULL, "advice", True),
    ],
)
def test_the_gate_opens_and_shuts_by_severity(monkeypatch, found, fail_on, fails):
    instead_of_check(monkeypatch, lambda reward, **asked: found)
    assert bool(failing(found, fail_on)) is fails
    if fails:
        with pytest.raises(AssertionError):
            assert_reward_ok(REWARD, fail_on=fail_on)
    else:
        assert assert_reward_ok(REWARD, fail_on=fail_on) is found


def test_the_error_is_the_report(monkeypatch):
    instead_of_check(monkeypatch, lambda reward, **asked: FULL)
    with pytest.raises(AssertionError) as raised:
        assert_reward_ok(REWARD)
    said = str(raised.value)
    assert said.startswith("reaching@1  ")
    assert "warning  loop-that-pays  total\n  It falls by 1 at distance = 2.\n" in said
    assert said.endswith("1 allowed")
    assert "\x1b" not in said


def test_what_is_asked_reaches_the_check(monkeypatch):
    asked = {}
    instead_of_check(monkeypatch, lambda reward, **options: asked.update(options, reward=reward) or CLEAN)
    assert_reward_ok(
        REWARD,
        only=["jump"],
        ignore={"unbounded"},
        outcomes={"idle": [{"distance": 1.0}]},
        timeout=0.5,
    )
    assert asked == {
        "reward": REWARD,
        "only": ("jump",),
        "ignore": ("unbounded",),
        "outcomes": {"idle": [{"distance": 1.0}]},
        "timeout": 0.5,
    }


def test_a_gate_that_does_not_exist_is_refused():
    with pytest.raises(DefinitionError, match=r"fail_on='warnings' is not one of .* Did you mean 'warning'\?"):
        assert_reward_ok(REWARD, fail_on="warnings")


def test_pytest_shows_the_report_and_the_line_of_the_test(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        "import reports\n"
        "from plaudit.checks.gate import assert_reward_ok\n"
        "def test_mine(monkeypatch):\n"
        "    reports.instead_of_check(monkeypatch, lambda reward, **asked: reports.FULL)\n"
        "    assert_reward_ok(reports.REWARD)\n",
        encoding="utf-8",
    )
    folders = [path for path in sys.path if path]
    script = f"import sys; sys.path[:0] = {folders!r}; import pytest; sys.exit(pytest.main(['-p', 'no:cacheprovider']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert ">       assert_reward_ok(reports.REWARD)\nE" in done.stdout
    assert "E       AssertionError: reaching@1" in done.stdout
    assert "E       warning  loop-that-pays  total" in done.stdout
    assert "__tracebackhide__" not in done.stdout


def test_a_real_reward_with_a_flaw_does_not_pass():
    with pytest.raises(AssertionError, match="loop-that-pays"):
        assert_reward_ok(load("hackmatrix"))
    assert assert_reward_ok(load("hackmatrix"), ignore=["loop-that-pays"]).ok


def test_a_text_is_one_code():
    assert assert_reward_ok(REWARD, fail_on="never", only="jump").undecided == ()
