"""What is allowed and is not there."""

from plaudit import Field, Reward, term
from plaudit.checks.check import check

CODE = "unused-allow"
UNIT = Field("x", low=0, high=1)


@term(weight=-1)
def effort(x):
    return x - 0.5


@term(weight=-1, allow={"wrong-sign": "downhill pays"})
def slope(x):
    return x - 0.5


@term(weight=-1, allow={"wrong-sign": "it used to pay"})
def level(x):
    return x


def reward(*terms, **options):
    return Reward("r", version="1", terms=terms, fields=[UNIT], **options)


def stale(made, **options):
    report = check(made, **options)
    return [(finding.term, finding.message) for finding in report.coded(CODE)]


def test_a_term_that_was_repaired():
    made = reward(level)
    assert stale(made) == [("level", "'level' allows wrong-sign ('it used to pay'), and there is nothing to allow.")]
    (finding,) = check(made).coded(CODE)
    assert finding.severity == "advice"
    assert finding.place is not None


def test_a_reward_that_was_repaired():
    made = reward(level, allow={"zone-gap": "a gap is meant"})
    told = ("total", "the reward allows zone-gap ('a gap is meant'), and there is nothing to allow.")
    assert told in stale(made)


def test_what_allows_something_is_not_stale():
    assert stale(reward(slope)) == []
    assert stale(reward(effort, allow={"wrong-sign": "downhill pays"})) == []


def test_a_reason_of_the_reward_that_its_term_gives_already():
    made = reward(slope, allow={"wrong-sign": "downhill pays"})
    assert [term for term, _ in stale(made)] == ["total"]


def test_a_reason_of_one_term_is_not_used_by_another():
    assert [term for term, _ in stale(reward(effort, level))] == ["level"]


def test_a_rule_that_did_not_run_says_nothing():
    assert stale(reward(level), ignore=["wrong-sign"]) == []
    assert stale(reward(level), only=[CODE]) == []
    assert stale(reward(level), only=[CODE, "wrong-sign"]) != []
    assert stale(reward(effort, allow={"outcome-order": "no matter"})) == []
    assert stale(reward(level), limit=1e-9) == []


def test_a_rule_that_left_something_undecided_says_nothing():
    @term(kind="shaping")
    def shaped(prev, curr):
        return (curr.x - prev.x) + (prev.y - curr.y)

    fields = [UNIT, Field("y", low=0, high=1)]
    made = Reward("r", version="1", terms=[shaped], fields=fields, allow={"not-potential-based": "soon"})
    report = check(made, z3=False)
    assert "not-potential-based" in {each.code for each in report.undecided}
    assert not report.coded(CODE)


def test_a_stale_reason_can_itself_be_allowed():
    report = check(reward(level, allow={CODE: "kept for the next release"}))
    assert not report.coded(CODE)
    assert [each.reason for each in report.suppressed] == ["kept for the next release"]
    assert stale(reward(effort, allow={CODE: "kept for the next release"})) == []
