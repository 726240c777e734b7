"""Branches and zones: out of reach, overlapping, with a gap between them, with a jump."""

import pytest

from plaudit import Field, Reward, Task, fact, term
from plaudit.checks.branches import mark_branches
from plaudit.checks.check import check
from plaudit.checks.solver.boxes import evaluate
from plaudit.checks.solver.question import Question
from plaudit.language import nodes as n
from support.asking import really, told, undecided
from support.written import reward_from

WIDE = Field("x", low=0, high=10)


def test_a_branch_beyond_the_declared_range_is_never_reached():
    text = """
        def f(x):
            if x > 10:
                return -5
            return x
    """
    (finding,) = told(reward_from(text, WIDE), "unreachable-branch")
    assert (finding.severity, finding.term) == ("warning", "f")
    assert finding.message == "'f' never reaches `return -5`: no step within the declared ranges leads there."
    assert finding.place.text == "return -5"
    assert finding.place.line == 5  # the module begins with an import and a blank line
    assert finding.facts == ()


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("1 if x >= 0 else 2", "2"),
        ("1 if x < 3 else 2 if x < 2 else 3", "2"),
        ("1 if x < 3 and x > 3 else 2", "1"),
        ("1 if 2 * x + 1 > 22 else 2", "1"),
        ("1 if x * x < 0 else 2", "1"),
        ("1 if x > 4 and x + 1 < 5 else 2", "1"),
    ],
)
def test_a_choice_in_an_expression_is_a_branch_too(text, dead):
    (finding,) = told(reward_from(f"def f(x): return {text}", WIDE), "unreachable-branch")
    assert finding.term == "f"
    assert f"`{dead}`" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "1 if x >= 10 else 2",
        "1 if x <= 0 else 2",
        "1 if x == 3.3 else 2",
        "1 if x < 3 else 2 if x <= 3 else 3",
        "1 if x * x * x > 999 else 2",
        "1 if math.sin(x) > 0.99 else 2",
        "1 if x % 3 == 1 else 2",
        "1 if x > 3 or x < 1 else 2",
    ],
)
def test_a_branch_that_a_single_row_reaches_is_left_alone(text):
    assert told(reward_from(f"def f(x): return {text}", WIDE), "unreachable-branch") == []


def brakes_with(*facts):
    @term
    def comfort(action, deceleration):
        if deceleration > 4.5:
            return -10
        return 0.1 * action

    fields = [Field("action", values=(0, 1)), Field("deceleration", low=0, high=9)]
    return Reward("road", version="1", terms=[comfort], fields=fields, task=Task(facts=facts))


def test_a_fact_can_rule_a_branch_out_and_is_named():
    @fact
    def gentle(action, deceleration):
        return deceleration == (0.0, 3.0)[action]

    (finding,) = told(brakes_with(gentle), "unreachable-branch")
    assert finding.facts == ("gentle",)
    assert "no step within the declared ranges and facts leads there" in finding.message
    assert told(brakes_with(), "unreachable-branch") == []


def test_facts_that_contradict_each_other_leave_nothing_to_ask():
    @fact
    def low(deceleration):
        return deceleration < 1

    @fact
    def high(deceleration):
        return deceleration > 2

    report = check(brakes_with(low, high), only=["unreachable-branch"])
    assert not report.findings
    assert report.skipped == {"unreachable-branch": "the facts contradict one another"}


def test_a_step_that_is_too_short_to_cross_is_never_taken():
    @term
    def leap(prev, curr):
        if abs(curr.x - prev.x) > 2:
            return -1
        return 0

    assert told(Reward("r", version="1", terms=[leap], fields=[WIDE]), "unreachable-branch") == []
    slow = Task(max_change={"x": 1})
    (finding,) = told(Reward("r", version="1", terms=[leap], fields=[WIDE], task=slow), "unreachable-branch")
    assert finding.facts == ("x changes by at most 1 in a step",)


def test_a_branch_for_infinity_is_reached_where_infinity_is_allowed():
    text = "def f(x): return 5 if math.isinf(x) else 1"
    assert told(reward_from(text, Field("x", low=0, infinite=True)), "unreachable-branch") == []
    (finding,) = told(reward_from(text, Field("x", low=0)), "unreachable-branch")
    assert "`5`" in finding.message


def test_categories_with_others_and_missing_are_what_is_listed():
    text = """
        def f(mood):
            if mood == "calm":
                return 1
            if mood == "other":
                return 2
            return 3
    """
    field = Field("mood", values=("calm", "other"), other="other", missing="other")
    (finding,) = told(reward_from(text, field), "unreachable-branch")
    assert "`return 3`" in finding.message


def test_a_flag_that_is_a_knob_is_a_switch_and_both_its_sides_are_reached():
    text = """
        def f(x, *, strict=False, far=20.0):
            if strict:
                return 1
            if x > far:
                return 2
            return 3
    """
    reward = reward_from(text, WIDE)
    (finding,) = told(reward, "unreachable-branch")
    assert "`return 2`" in finding.message
    assert told(reward.with_params(f={"far": 5.0}), "unreachable-branch") == []


def test_a_helper_that_is_called_twice_is_reached_if_it_is_once():
    text = """
        def band(x):
            if x > 15:
                return 1
            return 0

        def f(x):
            return band(x) + band({})
    """
    assert told(reward_from(text.format("2 * x"), WIDE), "unreachable-branch") == []
    (finding,) = told(reward_from(text.format("x + 1"), WIDE), "unreachable-branch")
    assert "`return 1`" in finding.message


def test_a_terminal_term_has_branches_too():
    @term(terminal=True)
    def end(x):
        if x > 11:
            return 1
        return 0

    (finding,) = told(Reward("r", version="1", terms=[end], fields=[WIDE]), "unreachable-branch")
    assert finding.term == "end"


def test_a_reward_without_source_or_ranges():
    text = "def f(x): return 1 if x > 1e12 else 2"
    assert told(reward_from(text), "unreachable-branch") == []
    reward = reward_from("def f(x): return 1 if x > 11 else 2", WIDE)
    assert told(Reward.from_json(reward.to_json()), "unreachable-branch") == []  # it has no lines to point at


def test_what_is_not_decided_is_said():
    text = "def f(x, y): return 1 if 3 * x * y - 2 * x * y - y * x > 0.5 else 2"
    reward = reward_from(text, WIDE, Field("y", low=0, high=1))
    (why,) = undecided(reward, "unreachable-branch", z3=False)
    assert why.startswith("whether line 2 is ever reached: z3 is turned off")
    assert [finding.term for finding in told(reward, "unreachable-branch")] == ["f"]
    hard = """
        def f(x, y, z):
            if x ** 7 * y - z ** 5 * x + y ** 3 * z == 1.2345 and x * y * z == 0.77 and x < y < z:
                return 1
            return 2
    """
    hard = reward_from(hard, *(Field(name, low=-9, high=9) for name in "xyz"))
    (why,) = undecided(hard, "unreachable-branch", timeout=2)
    assert why.endswith("z3 ran out of time")


# -- zones that overlap ------------------------------------------------------------------------------------------------


def zones(second, *, first="x < 5"):
    return reward_from(
        f"""
        def f(x):
            if {first}:
                return 1
            if {second}:
                return 2
            return 3
        """,
        WIDE,
    )


def test_a_zone_that_begins_before_the_last_one_ended_is_told():
    reward = zones("4 <= x < 8")
    (finding,) = told(reward, "zone-overlap")
    assert (finding.severity, finding.term) == ("advice", "f")
    assert finding.message == "`if 4 <= x < 8` in 'f' claims x = 4.5, which an earlier test has already taken."
    assert finding.place.text == "if 4 <= x < 8:"
    assert really(reward, finding) == [1.0]
    assert finding.witness[0].inputs == {"x": 4.5}


@pytest.mark.parametrize("second", ["5 <= x < 8", "5 < x <= 8", "x < 8", "x > 3", "5 <= x and x <= 8"])
def test_zones_that_touch_and_tests_of_one_side_are_left_alone(second):
    assert told(zones(second), "zone-overlap") == []


def test_zones_that_go_down_are_looked_at_too():
    assert told(zones("3 <= x <= 7", first="x > 7"), "zone-overlap") == []
    (finding,) = told(zones("3 <= x <= 8", first="x > 7"), "zone-overlap")
    assert "x = 7.5" in finding.message


def test_zones_of_other_inputs_are_another_matter():
    text = """
        def f(x, y):
            if x < 5:
                return 1
            if 4 <= y < 8:
                return 2
            return 3
    """
    assert told(reward_from(text, WIDE, Field("y", low=0, high=10)), "zone-overlap") == []


def test_a_zone_that_is_allowed_to_overlap_is_not_told():
    @term(allow={"zone-overlap": "the first zone has its own colour"})
    def bands(x):
        if x < 5:
            return 1
        if 4 <= x < 8:
            return 2
        return 3

    report = check(Reward("r", version="1", terms=[bands], fields=[WIDE]), only=["zone-overlap"])
    assert report.findings == ()
    assert [each.reason for each in report.suppressed] == ["the first zone has its own colour"]


BANDS = """
    def f(x, *, strict=True, edge=3.0):
        if x < edge:
            return 1
        if strict and x > 7:
            return 2
        return 3
"""


def reached(read, at, row):
    """Return whether a row gets to a place."""
    question = Question()
    flag = question.copy(read.program)[f"reached {at}"]
    program = question.program(question.builder.add(n.Number(flag)))
    return evaluate(program, {name: row[name] for name in program.inputs}) == 1


def test_every_return_and_every_test_is_a_place():
    reward = reward_from(BANDS, WIDE)
    read = mark_branches(reward, reward.terms[0])
    texts = {read.locate(at).text: at for at, mark in enumerate(read.marks) if mark.test is None}
    assert {"return 1", "return 2", "return 3"} <= set(texts)
    row = {"x": 8.0, "f.strict": 1.0}
    assert not reached(read, texts["return 1"], row)
    assert reached(read, texts["return 2"], row)
    assert reached(read, texts["return 3"], row | {"x": 5.0})
    tests = [read.locate(at).text for at, mark in enumerate(read.marks) if mark.test is not None]
    assert tests[0].startswith("if x < edge")


def test_a_flag_that_is_a_knob_is_left_open():
    reward = reward_from(BANDS, WIDE)
    read = mark_branches(reward, reward.terms[0])
    assert read.program.inputs["f.strict"].kind == "flag"
    assert "f.edge" not in read.program.inputs


def test_knobs_have_the_values_of_the_reward():
    reward = reward_from(BANDS, WIDE)
    other = reward.with_params(f={"edge": 5.0})
    at = {}
    for each in (reward, other):
        read = mark_branches(each, each.terms[0])
        first = next(at for at, mark in enumerate(read.marks) if read.locate(at).text == "return 1")
        at[each.params["f.edge"]] = reached(read, first, {"x": 4.0, "f.strict": 1.0})
    assert at == {3.0: False, 5.0: True}


def test_a_term_that_was_loaded_has_no_places():
    loaded = Reward.from_dict(reward_from(BANDS, WIDE).to_dict())
    assert mark_branches(loaded, loaded.terms[0]) is None


def test_shared_parameters_and_terminal_terms_are_read_too():
    @term(terminal=True)
    def end(x, *, far):
        if x > far:
            return 1
        return 0

    reward = Reward("r", version="1", terms=[end], fields=[WIDE], shared={"far": 4.0})
    read = mark_branches(reward, reward.terms[0])
    texts = {read.locate(at).text: at for at in range(len(read.marks))}
    assert reached(read, texts["return 1"], {"x": 5.0, "terminal": 1.0})
    assert not reached(read, texts["return 1"], {"x": 3.0, "terminal": 1.0})


EDGED = Field("x", low=-10, high=10)


def edged(text, *fields, **options):
    return reward_from(
        f"def f(x{''.join(f', {field.name}' for field in fields)}): return {text}", EDGED, *fields, **options
    )


# -- gaps -------------------------------------------------------------------------------------------------------------


def test_a_value_that_neither_zone_takes_is_told():
    reward = edged("1 if x < 5 else 2 if x > 5 else -100")
    (finding,) = told(reward, "zone-gap")
    assert (finding.severity, finding.term) == ("warning", "f")
    assert finding.message == "'f' is -100 at exactly x = 5, but 1 just below it and 2 just above."
    assert really(reward, finding) == [1, -100, 2]
    below, here, above = (step.inputs["x"] for step in finding.witness)
    assert (below, here, above) == (4.999, 5, 5.001)
    assert [step.note for step in finding.witness] == ["just below", "here", "just above"]


@pytest.mark.parametrize(
    "text",
    [
        "1 if x < 5 else 2",
        "1 if x <= 5 else 2 if x > 5 else 3",
        "1 if x > 0 else -1 if x < 0 else 0",  # the sign of x
        "abs(x - 5)",
        "1 if x < 5 else 7 if x == 5 else 2",  # 5 is named
        "7 if x in (2, 5) else 1 if x < 5 else 2",
        "1 if x == 5 else 0",
        "x if x < 5 else 5 if x > 5 else 5",
    ],
)
def test_zones_without_a_gap_are_left_alone(text):
    assert told(edged(text), "zone-gap") == []


def test_a_gap_that_only_some_settings_show():
    mood = Field("mood", values=("calm", "wild"))
    reward = edged('0 if mood == "calm" else 1 if x < 5 else 2 if x > 5 else 3', mood)
    (finding,) = told(reward, "zone-gap")
    assert {step.inputs["mood"] for step in finding.witness} == {"wild"}
    assert really(reward, finding) == [1, 3, 2]


def test_a_gap_of_a_scaled_or_clamped_input():
    (finding,) = told(edged("1 if 2 * x - 1 < 5 else 2 if 2 * x - 1 > 5 else 9"), "zone-gap")
    assert "at exactly x = 3" in finding.message
    both = told(edged("1 if abs(x) < 5 else 2 if abs(x) > 5 else 9"), "zone-gap")
    assert [finding.message.partition(", but")[0] for finding in both] == [
        "'f' is 9 at exactly x = -5",
        "'f' is 9 at exactly x = 5",
    ]


def test_a_gap_in_a_terminal_term():
    reward = edged("1 if x < 5 else 2 if x > 5 else 9", terminal=True)
    (finding,) = told(reward, "zone-gap")
    assert all(step.inputs["terminal"] for step in finding.witness)
    assert really(reward, finding) == [1, 9, 2]


def test_a_gap_at_the_very_end_of_the_range_or_among_listed_numbers_is_none():
    assert told(edged("1 if x < 10 else 2"), "zone-gap") == []
    levels = Field("level", values=(0, 5, 9))
    text = "def f(level): return 1 if level < 5 else 2 if level > 5 else 3"
    assert told(reward_from(text, levels), "zone-gap") == []


# -- jumps ------------------------------------------------------------------------------------------------------------


def test_the_largest_jump_is_told_with_how_many_others_there_are():
    reward = edged("-100 if x < 1 else -5 if x < 2 else 1 if x < 4 else 0.5")
    (finding,) = told(reward, "jump")
    assert (finding.severity, finding.term) == ("note", "f")
    assert finding.message == (
        "the score of 'f' jumps by 95 at x = 1: from -100 just below to -5 just above. It also jumps in 2 other places."
    )
    assert really(reward, finding) == [-100, -5, -5]


@pytest.mark.parametrize(
    "text", ["abs(x)", "min(x, 3)", "x if x < 3 else 3", "x * x if x > 0 else 0", "2 * x + 1", "round(x)"]
)
def test_what_has_no_threshold_with_a_jump_is_left_alone(text):
    assert told(edged(text), "jump") == []


def test_one_other_place_is_one():
    (finding,) = told(edged("0 if x < 1 else 5 if x < 2 else 6"), "jump")
    assert finding.message.endswith("It also jumps in 1 other place.")


def test_a_jump_under_a_condition_on_another_input_is_found():
    lit = Field("lit", flag=True)
    reward = edged("(3 if x > 2 else 0) if lit else 0", lit)
    (finding,) = told(reward, "jump")
    assert all(step.inputs["lit"] for step in finding.witness)
    assert really(reward, finding) == [0, 0, 3]


def test_a_term_without_weight_may_jump():
    @term(weight=0)
    def watched(x):
        return 1 if x > 2 else 0

    @term
    def pay(x):
        return x

    assert told(Reward("r", version="1", terms=[watched, pay], fields=[EDGED]), "jump") == []


def test_a_jump_that_facts_rule_out_is_not_told():
    @term
    def step(prev, curr):
        return -5 if curr.x > 3 else prev.x

    @fact
    def low(curr):
        return curr.x < 2

    assert told(Reward("r", version="1", terms=[step], fields=[EDGED]), "jump")
    assert told(Reward("r", version="1", terms=[step], fields=[EDGED], task=Task(facts=[low])), "jump") == []


def test_a_jump_to_what_cannot_be_scored_is_another_matter():
    assert told(edged("math.sqrt(x) if x >= 0 else math.sqrt(x)"), "jump") == []


def test_a_loaded_reward_jumps_too():
    reward = Reward.from_json(edged("1 if x < 5 else 2 if x > 5 else -100").to_json())
    assert [finding.place for finding in (*told(reward, "jump"), *told(reward, "zone-gap"))] == [None, None]


def test_a_value_that_stands_alone_is_a_gap_and_no_jump():
    alone = edged("1 if x < 5 else 1 if x > 5 else -100")
    assert len(told(alone, "zone-gap")) == 1
    assert told(alone, "jump") == []
    (finding,) = told(edged("1 if x < 5 else 4 if x > 5 else -100"), "jump")
    assert "jumps by 3 at x = 5: from 1 just below to 4 just above" in finding.message
