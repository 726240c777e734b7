"""Facts that are true of no step: they are told of, and nothing else is."""

from asking import told, undecided
from plaudit import Field, Reward, fact, term
from plaudit.checks.check import check
from plaudit.checks.rules import RULES

CODE = "contradictory-facts"
SPEED = Field("speed", low=0, high=30)


@term
def drive(speed):
    return 1 if speed > 20 else 0


@fact
def fast(speed):
    return speed > 50


@fact
def moving(speed):
    return speed > 0


def reward(*facts, **options):
    return Reward("r", version="1", terms=[drive], fields=[SPEED], facts=facts, **options)


def test_a_fact_beyond_the_declared_range():
    (finding,) = told(reward(moving, fast), CODE)
    assert (finding.severity, finding.term, finding.facts) == ("warning", "total", ("fast",))
    assert finding.message == (
        "no step that the declared ranges allow makes the fact 'fast' true: whatever is proved of such steps says nothing."
    )
    assert finding.place is not None
    assert finding.place.text == "def fast(speed):"


def test_no_other_rule_is_asked():
    report = check(reward(fast))
    assert [finding.code for finding in report] == [CODE]
    assert report.skipped == {code: "the facts contradict one another" for code in RULES if code != CODE}
    assert check(reward(fast), only=["dead-term"]).skipped == {"dead-term": "the facts contradict one another"}
    assert not check(reward(fast), ignore=[CODE]).findings


def test_it_can_be_allowed_and_still_nothing_else_is_asked():
    report = check(reward(fast, allow={CODE: "the car comes next year"}))
    assert not report.findings
    assert [each.reason for each in report.suppressed] == ["the car comes next year"]
    assert "dead-term" in report.skipped


def test_facts_that_can_be_true_are_left_alone():
    assert told(reward(), CODE) == []
    assert told(reward(moving), CODE) == []
    assert CODE not in check(reward(moving)).skipped


def test_whether_they_can_may_be_left_undecided():
    @term
    def add(a, b, c):
        return a + b + c

    @fact
    def third(a, b, c):
        return c == (a + b) / 3

    @fact
    def mixed(a, b, c):
        return c == 0.1 * a + 0.7 * b + 0.3

    fields = [Field(name, low=0, high=9) for name in "abc"]
    made = Reward("r", version="1", terms=[add], fields=fields, facts=[third, mixed])
    assert undecided(made, CODE, z3=False) == ["whether the facts can all be true: z3 was not to be used"]
    assert "dead-term" not in check(made, z3=False).skipped
