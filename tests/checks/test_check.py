"""`check` and `assert_reward_ok`."""

import inspect
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from plaudit import DefinitionError, Field, Reward, Task, fact, prefer, term
from plaudit.checks.check import assert_reward_ok, check, list_failing
from plaudit.checks.finding import SEVERITIES
from plaudit.checks.rules import RULES
from plaudit.checks.solver.z3 import is_available
from support import reports
from support.asking import really
from support.forking import run_python
from support.played import make_steps
from support.reports import CLEAN, FULL, REWARD, instead_of_check
from support.samples import maze
from support.strategies import load
from support.written import reward_from

UNIT = Field("x", low=0, high=1)


@term(weight=-1)
def effort(x):
    return x - 0.5


@term
def ratio(x):
    return 1 / x


def reward(**options):
    return Reward("r", version="1", terms=[effort, ratio], fields=[UNIT], **options)


def codes(report):
    return {finding.code for finding in report}


# -- which rules run --------------------------------------------------------------------------------------------------


def test_only_the_rules_that_are_named_run():
    assert codes(check(reward(), only=["wrong-sign"])) == {"wrong-sign"}
    assert codes(check(reward(), only=["wrong-sign", "may-divide-by-zero"])) == {"wrong-sign", "may-divide-by-zero"}
    assert codes(check(reward(), only=["not-a-number"])) == set()  # its twin is looked for in the same breath


def test_a_rule_that_is_ignored_does_not_speak():
    everything = codes(check(reward()))
    assert {"wrong-sign", "may-divide-by-zero", "unbounded"} <= everything
    assert codes(check(reward(), ignore=["wrong-sign"])) == everything - {"wrong-sign"}
    assert codes(check(reward(), only=["wrong-sign"], ignore=["wrong-sign"])) == set()


@pytest.mark.parametrize("options", [{"only": ["wrong-sing"]}, {"ignore": ["wrong-sing"]}])
def test_a_rule_that_does_not_exist_is_an_error_with_a_hint(options):
    with pytest.raises(DefinitionError, match="there is no rule 'wrong-sing'. Did you mean 'wrong-sign'?"):
        check(reward(), **options)


def test_a_text_is_one_code():
    assert codes(check(reward(), only="wrong-sign")) == {"wrong-sign"}
    assert "wrong-sign" not in codes(check(reward(), ignore="wrong-sign"))
    with pytest.raises(DefinitionError, match="there is no rule 'wrong-sing'"):
        check(reward(), only="wrong-sing")


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), "3", None, True])
def test_a_timeout_is_a_positive_number(timeout):
    with pytest.raises(DefinitionError, match="must be a positive, finite number of seconds"):
        check(reward(), timeout=timeout)


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ([[{"x": 1.0}], [{"x": 0.5}]], "not a list"),
        ({}, "but it has none"),
        ({"idle": [{"x": 1.0}]}, "but it has 1"),
        ({"idle": [{"x": 1.0}], "win": 3}, "but it maps 'win' to a int"),
        ({"idle": [{"x": 1.0}], "win": "x"}, "but it maps 'win' to a str"),
        ({"idle": [{"x": 1.0}], "win": {"x": 1.0}}, "but it maps 'win' to a dict"),
        ({"idle": [{"x": 1.0}], 2: [{"x": 1.0}]}, "but it maps 2 to a list"),
    ],
)
def test_outcomes_are_episodes_by_name(outcomes, words):
    wanted = "must be a mapping from at least two names to lists of rows, from the worst to the best, "
    with pytest.raises(DefinitionError, match=wanted + words):
        check(reward(), outcomes=outcomes)


def test_only_a_reward_can_be_checked():
    with pytest.raises(DefinitionError, match="check takes a Reward, not a function"):
        check(lambda x: x)


def test_the_gravest_come_first():
    severities = [finding.severity for finding in check(reward())]
    assert severities == sorted(severities, key=SEVERITIES.index, reverse=True)
    assert {"warning", "note"} == set(severities)


def test_a_report_names_its_reward():
    report = check(reward(), only=["wrong-sign"])
    assert (report.reward, report.version, report.fingerprint) == ("r", "1", reward().fingerprint)
    assert report.seconds > 0
    assert not report.ok
    assert report.at_least("warning") == report.findings


# -- what is allowed --------------------------------------------------------------------------------------------------


def test_a_reward_allows_a_rule_for_all_of_its_terms():
    report = check(reward(allow={"wrong-sign": "downhill pays"}), only=["wrong-sign"])
    assert report.findings == ()
    assert [(each.finding.term, each.reason) for each in report.suppressed] == [("effort", "downhill pays")]


def test_a_term_allows_a_rule_for_itself_alone():
    @term(weight=-1, allow={"wrong-sign": "downhill pays"})
    def one(x):
        return x - 0.5

    @term(weight=-1)
    def two(x):
        return x - 0.5

    made = Reward("r", version="1", terms=[one, two], fields=[UNIT])
    report = check(made, only=["wrong-sign"])
    assert [finding.term for finding in report] == ["two"]
    assert [each.finding.term for each in report.suppressed] == ["one"]


def test_the_reason_of_a_term_goes_before_that_of_its_reward():
    @term(weight=-1, allow={"wrong-sign": "mine"})
    def one(x):
        return x - 0.5

    made = Reward("r", version="1", terms=[one], fields=[UNIT], allow={"wrong-sign": "ours"})
    assert [each.reason for each in check(made, only=["wrong-sign"]).suppressed] == ["mine"]


def test_to_allow_what_is_no_rule_is_an_error_with_a_hint():
    with pytest.raises(
        DefinitionError, match="reward allows 'wrong-sing', which is not a rule. Did you mean 'wrong-sign'?"
    ):
        check(reward(allow={"wrong-sing": "a slip"}))

    @term(allow={"wrong-sing": "a slip"})
    def one(x):
        return x

    with pytest.raises(DefinitionError, match="term 'one' allows 'wrong-sing', which is not a rule"):
        check(Reward("r", version="1", terms=[one], fields=[UNIT]))


def test_what_is_allowed_is_still_allowed_after_a_journey_through_json():
    made = Reward.from_json(reward(allow={"wrong-sign": "downhill pays"}).to_json())
    assert [each.reason for each in check(made, only=["wrong-sign"]).suppressed] == ["downhill pays"]


# -- rewards of every kind --------------------------------------------------------------------------------------------


def test_a_reward_without_any_range_is_checked_as_far_as_it_goes():
    @term(kind="shaping")
    def closer(prev, curr):
        return prev.x - curr.x

    @term(weight=-1, low=0, high=5)
    def effort(force):
        return force * force

    @term
    def zones(y):
        return 1 if y > 3 else 0

    fields, task = [Field("x"), Field("force"), Field("y")], Task(states=["y"], discount=1.0)
    made = Reward("r", version="1", terms=[closer, effort, zones], fields=fields, task=task)
    report = check(made)
    assert report.ok or codes(report) <= {"missing-range", "unbounded", "jump"}
    assert {"missing-range", "unbounded", "jump"} <= codes(report)
    assert not report.undecided or not is_available()
    for finding in report:
        assert all(total is not None for total in really(made, finding))
        assert all(abs(v) <= 1e6 for step in finding.witness for v in step.inputs.values())


def test_a_reward_of_constants_alone():
    @term(weight=-0.01)
    def step():
        return 1

    report = check(Reward("r", version="1", terms=[step], fields=[]))
    assert report.ok
    assert not report.undecided


def test_a_reward_with_everything_at_once():
    source = """
import math

def zones(x, mood, lit, force, ahead, *, reach=2.0):
    if math.isinf(ahead):
        return 0
    if mood == "other" and lit:
        return -1
    return min(1, max(force) + x / reach)

def gain(prev, curr):
    return max(0, curr.level - prev.level)

def used(prev, curr):
    return curr.tokens - prev.tokens

def end(level_at_end):
    return 10 * level_at_end
"""
    space = load(source)
    made = Reward(
        "whole",
        version="1",
        terms=[
            term(low=-1, high=1)(space["zones"]),
            term(kind="shaping", weight=0.5)(space["gain"]),
            term(kind="penalty", weight=-1e-3)(space["used"]),
            term(terminal=True)(space["end"]),
        ],
        fields=[
            Field("x", low=0, high=2),
            Field("mood", values=("calm", "wild", "other"), other="other", missing="calm"),
            Field("lit", flag=True),
            Field("force", length=4, low=-1, high=1),
            Field("ahead", low=0, infinite=True),
            Field("level", low=0, high=9),
            Field("tokens", low=0),
            Field("level_at_end", low=0, high=9),
        ],
        task=Task(
            max_change={"level": 1},
            monotone={"tokens": "up"},
            discount=0.99,
            prefer=[prefer({"x": 2.0}, over={"x": 0.0}, because="further is better")],
        ),
    )
    report = check(made, timeout=1)
    assert "loop-that-pays" in codes(report)
    assert "not-potential-based" in codes(report)
    for finding in report:
        really(made, finding)
        assert finding.code in RULES
        assert finding.message.endswith(".")
        assert finding.advice


def test_without_z3_every_rule_runs_and_what_it_cannot_prove_is_said():
    @term(kind="shaping")
    def shaped(prev, curr):
        return (curr.x - prev.x) + (prev.y - curr.y)

    fields = [UNIT, Field("y", low=0, high=1)]
    report = check(Reward("r", version="1", terms=[shaped], fields=fields), z3=False)
    assert {each.why.rpartition(": ")[2] for each in report.undecided} == {"z3 is turned off"}
    assert len(set(report.undecided)) == len(report.undecided)


def test_facts_that_contradict_each_other_crash_nothing():
    @term
    def pay(x):
        return 1 if x > 0.5 else 0

    @fact
    def low(x):
        return x < 0.3

    @fact
    def high(x):
        return x > 0.7

    report = check(Reward("r", version="1", terms=[pay], fields=[UNIT], task=Task(facts=[low, high])))
    assert codes(report) == {"contradictory-facts"}


def test_a_reward_with_other_parameters_is_another_reward():
    made = reward_from("def f(x, *, far=2.0): return 1 if x > far else 0", UNIT)
    assert {"dead-term", "unreachable-branch"} <= codes(check(made))
    assert check(made.with_params(f={"far": 0.5})).ok


ADVICE = reports.report(reports.finding())
NOTE = reports.report(reports.finding(severity="note"))


@pytest.mark.parametrize(
    ("found", "fail_on", "fails"),
    [
        (CLEAN, "advice", False),
        (ADVICE, "never", False),
        (ADVICE, "warning", False),
        (ADVICE, "advice", True),
        (ADVICE, "note", True),
        (NOTE, "never", False),
        (NOTE, "advice", False),
        (NOTE, "note", True),
        (FULL, "never", False),
        (FULL, "warning", True),
        (FULL, "advice", True),
    ],
)
def test_the_gate_opens_and_shuts_by_severity(monkeypatch, found, fail_on, fails):
    instead_of_check(monkeypatch, lambda reward, **asked: found)
    assert bool(list_failing(found, fail_on)) is fails
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
    given = {
        "task": Task(discount=0.9),
        "only": ["jump"],
        "ignore": {"unbounded"},
        "outcomes": {"idle": [{"distance": 1.0}]},
        "steps": make_steps({"distance": [1.0, 2.0]}),
        "timeout": 0.5,
        "z3": False,
    }
    asked = {}
    instead_of_check(monkeypatch, lambda reward, **options: asked.update(options, reward=reward) or CLEAN)
    assert_reward_ok(REWARD, **given)
    assert asked == {"reward": REWARD, **given}


def test_the_gate_takes_whatever_the_check_takes():
    of_check, of_gate = (dict(inspect.signature(each).parameters) for each in (check, assert_reward_ok))
    assert of_gate.pop("fail_on").default == "warning"
    assert of_gate == of_check


def test_a_gate_that_does_not_exist_is_refused():
    with pytest.raises(DefinitionError, match=r"fail_on='warnings' is not one of .* Did you mean 'warning'\?"):
        assert_reward_ok(REWARD, fail_on="warnings")


def test_pytest_shows_the_report_and_the_line_of_the_test(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        "from support import reports\n"
        "from plaudit.checks.check import assert_reward_ok\n"
        "def test_mine(monkeypatch):\n"
        "    reports.instead_of_check(monkeypatch, lambda reward, **asked: reports.FULL)\n"
        "    assert_reward_ok(reports.REWARD)\n",
        encoding="utf-8",
    )
    folders = [path for path in sys.path if path]
    script = f"import sys; sys.path[:0] = {folders!r}; import pytest; sys.exit(pytest.main(['-p', 'no:cacheprovider']))"
    done = run_python([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert ">       assert_reward_ok(reports.REWARD)\nE" in done.stdout
    assert "E       AssertionError: reaching@1" in done.stdout
    assert "E       warning  loop-that-pays  total" in done.stdout
    assert "__tracebackhide__" not in done.stdout


def test_a_real_reward_with_a_flaw_does_not_pass():
    with pytest.raises(AssertionError, match="loop-that-pays"):
        assert_reward_ok(maze)
    assert assert_reward_ok(maze, ignore=["loop-that-pays"]).ok


def test_a_string_is_one_code_of_the_gate():
    assert assert_reward_ok(REWARD, fail_on="never", only="jump").undecided == ()


SCRIPT = """
from concurrent.futures import ThreadPoolExecutor
from plaudit import check
from support.samples import handover, maze, research

with ThreadPoolExecutor(3) as pool:
    reports = list(pool.map(check, [maze, handover, research] * 2))
print([[finding.code for finding in report] for report in reports[:3]] == [[f.code for f in r] for r in reports[3:]])
"""


def test_checks_in_threads_give_the_same_reports_and_keep_stdout():
    tests = str(Path(__file__).parent.parent)
    script = f"import sys; sys.path.insert(0, {tests!r})\n{SCRIPT}"
    done = run_python([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


# -- a rule that fails ------------------------------------------------------------------------------------------------


@pytest.fixture
def broken_rules(monkeypatch):
    """Let rules fail: `broken_rules("jump")`."""

    def fail(context):
        yield context.undecided("ratio", reason="it was asked")
        raise OverflowError("too much")

    def breaking(*codes):
        rules = {code: replace(rule, find=fail) if code in codes else rule for code, rule in RULES.items()}
        monkeypatch.setattr("plaudit.checks.rules.RULES", rules)

    return breaking


def test_a_rule_that_fails_is_named_and_the_others_still_run(broken_rules):
    whole = check(reward())
    broken_rules("unbounded")
    report = check(reward())
    assert [each.code for each in report.failed] == ["unbounded"]
    assert re.fullmatch(r"OverflowError: too much \(test_check.py, line \d+\)", report.failed[0].error)
    assert codes(report) == codes(whole) - {"unbounded"}
    assert [each.why for each in report.undecided] == ["it was asked"]  # what it said before it failed is kept


def test_rules_that_share_a_function_fail_together(broken_rules):
    broken_rules("may-divide-by-zero", "not-a-number")
    assert [each.code for each in check(reward()).failed] == ["may-divide-by-zero", "not-a-number"]
    assert [each.code for each in check(reward(), only="not-a-number").failed] == ["not-a-number"]


def test_facts_that_cannot_be_compared_are_a_failed_rule_and_the_others_run(monkeypatch):
    def fail(model, solver):
        raise RecursionError("too deep")

    monkeypatch.setattr("plaudit.checks.rules.registry.find_contradiction", fail)
    report = check(reward())
    assert [each.code for each in report.failed] == ["contradictory-facts"]
    assert "wrong-sign" in codes(report)


def test_a_reason_for_a_rule_that_failed_is_not_called_unused(broken_rules):
    made = reward(allow={"dead-term": "later"})
    assert "unused-allow" in codes(check(made))
    broken_rules("dead-term")
    assert "unused-allow" not in codes(check(made))


def test_a_reward_is_not_ok_where_a_rule_failed(broken_rules):
    broken_rules("jump")
    report = check(reward(), only="jump")
    assert (report.ok, report.findings) == (False, ())
    with pytest.raises(AssertionError, match="failed     jump: OverflowError: too much"):
        assert_reward_ok(reward(), only="jump")
    assert assert_reward_ok(reward(), only="jump", fail_on="never").failed == report.failed
