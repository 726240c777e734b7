"""Gates and overrides that do nothing; and no rule takes the rows of a total, or a counter, for what they are not."""

import pytest

from plaudit import Field, Reward, bounds, check, term
from plaudit.schedules import exponential, linear, piecewise
from support.asking import told
from support.composed import training, walker, walking
from support.written import reward_from

X = Field("x", low=0, high=1)


@term
def plain(x):
    return x


def reward(*terms, fields=(X,), **options):
    return Reward("r", version="1", terms=terms or (plain,), fields=fields, **options)


def open_always(x):
    return 1.0 if x <= 1 else 0.0


def closed(x):
    return x > 2


def half(x):
    return 0.5 if x > 0.5 else 1.0


def never(x):
    return x < 0


def always(x):
    return x >= 0


def at_the_end(x):
    return x >= 1


@pytest.mark.parametrize(("gate", "is_"), [(open_always, "1"), (closed, "0")])
def test_a_gate_that_never_changes_is_told(gate, is_):
    (finding,) = told(reward(gate=gate), "dead-gate")
    assert (finding.severity, finding.term) == ("warning", "gate")
    assert finding.message == f"the gate is {is_} in every step, whatever x is."
    assert finding.place is not None


def test_a_gate_that_changes_is_not_told():
    assert not told(reward(gate=half), "dead-gate")
    assert not told(reward(), "dead-gate")


@pytest.mark.parametrize(("condition", "says"), [(never, "never holds"), (always, "always holds")])
def test_an_override_that_does_nothing_or_everything_is_told(condition, says):
    (finding,) = told(reward(override=[(condition, -1.0)]), "dead-override")
    assert (finding.severity, finding.term) == ("warning", condition.__name__)
    assert says in finding.message


def test_an_override_that_may_hold_is_not_told():
    assert not told(reward(override=[(at_the_end, -1.0)]), "dead-override")


@pytest.mark.parametrize("made", [walking(), training(), walker], ids=["composed", "scheduled", "walker"])
def test_a_sound_reward_is_not_blamed_for_being_composed(made):
    found = {(each.code, each.term) for each in check(made).findings if each.severity != "advice"}
    assert not found


def test_an_unreachable_branch_of_a_gate_is_told():
    def gate(x):
        if x > 3:
            return 0.0
        return 1.0 if x > 0.5 else 0.5

    (finding,) = told(reward(gate=gate), "unreachable-branch")
    assert finding.term == "gate"


def test_a_field_that_only_a_gate_reads_is_used():
    made = reward(fields=(X, Field("lit", flag=True)), gate=lit)
    assert not told(made, "unused-field")


def lit(lit):
    return lit


def test_units_of_terms_may_differ_above_them():
    fields = (Field("x", low=0, high=1, unit="m"), Field("v", low=0, high=1, unit="m/s"))
    moving = reward_from("def f(v): return v", fields[1]).terms[0]
    assert not told(reward(plain, moving, fields=fields, scale=0.5, low=0.1), "unit-mismatch")


def test_a_counter_is_no_event_no_open_range_and_no_jump():
    weights = piecewise([1, 2], at=[10])
    made = reward(plain, fields=(X,)).with_weights(plain=weights)
    found = {each.code for each in check(made).findings}
    assert found.isdisjoint({"pays-per-event", "missing-range", "unbounded", "jump", "unused-field"})
    heavier = term(name="heavier", weight=weights)(plain.__wrapped__)
    declared = reward(heavier, fields=(X, Field("step", low=0)))
    assert "missing-range" not in {each.code for each in check(declared).findings}


def test_a_penalty_whose_weight_follows_a_schedule_is_still_one():
    @term(weight=exponential(-1, -0.1, over=10))
    def cost(x):
        return x - 0.5

    (finding,) = told(reward(cost), "wrong-sign")
    assert "its weight is exponential(-1, -0.1, over=10)" in finding.message


def test_a_lap_that_pays_only_late_in_training_is_not_proved_away():
    @term(weight=linear(0, 1, over=100))
    def up(prev, curr):
        return max(curr.x - prev.x, 0.0)

    made = reward(up)
    found = check(made)
    assert [each.code for each in found.findings if each.code == "loop-that-pays"] or any(
        each.code == "loop-that-pays" for each in found.undecided
    )


def test_shaping_under_a_gate_is_not_left_out_of_a_lap():
    @term(kind="shaping")
    def closer(prev, curr):
        return curr.x - prev.x

    def forward_only(prev, curr):
        return curr.x > prev.x

    assert not told(reward(closer), "loop-that-pays")
    assert told(reward(closer, gate=forward_only), "loop-that-pays")


def test_bounds_have_every_row():
    found = bounds(walking())
    assert found.values["fell"].low < 0
    assert (found.scores["gate"].low, found.scores["gate"].high) == (0.0, 1.0)
    assert (found.total.low, found.total.high) == (-2.5, 2.0)
