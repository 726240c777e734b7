"""Numbers of a reward that follow a counter: weights, knobs, clamps, scales; one formula, one fingerprint."""

import pytest

from plaudit import (
    DefinitionError,
    Field,
    Reward,
    SpecError,
    bounds,
    term,
)
from plaudit.errors import MissingField, UnknownParameter
from plaudit.schedules import cosine, exponential, linear, piecewise
from support.composed import FIELDS, STEP, by_hand, effort, forward, rows, training, walking

REACH = exponential(8, 2, over=100, counter="epoch")


@term(weight=linear(0, 2, over=100), high=linear(1, 3, over=100), low=-5)
def near(distance, *, reach=REACH, strict=True):
    """Come near."""
    return reach - distance if strict else 0.0


REWARD = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=10)])


@pytest.mark.parametrize(("step", "epoch"), [(0, 0), (25, 50), (50, 100), (100, 30), (500, 500)])
def test_every_number_is_the_one_in_force(step, epoch):
    reach = exponential(8, 2, over=100)(epoch)
    score = reach - 1.0
    clamped = min(score, linear(1, 3, over=100)(step))
    signal = REWARD.score(distance=1.0, step=step, epoch=epoch)
    assert signal["near"] == ("near", score, clamped, linear(0, 2, over=100)(step), clamped * signal["near"].weight)
    assert signal.inputs == {"distance": 1.0, "epoch": epoch, "step": step}


@pytest.mark.parametrize("row", rows(), ids=range(7))
@pytest.mark.parametrize("step", [0, 40, 100])
def test_a_composed_reward_follows_its_schedules(row, step):
    weight, gain = linear(0, 2, over=100)(step), linear(0.5, 0.125, over=8)(4)
    wanted = by_hand(row, weight=weight, gain=gain)
    assert training().score(**row, step=step, epoch=4).total == pytest.approx(wanted, abs=1e-12)


def test_its_numbers_are_parameters():
    assert REWARD.params["near.weight.start"] == 0.0
    assert REWARD.params["near.reach.over"] == 100.0
    assert "near.weight" not in REWARD.params
    changed = REWARD.with_params({"near.weight.end": 4.0, "near.reach.start": 16.0})
    assert changed.terms[0].weight == linear(0, 4, over=100)
    assert changed.terms[0].knobs["reach"] == exponential(16, 2, over=100, counter="epoch")
    assert changed.fingerprint != REWARD.fingerprint


def test_a_number_becomes_a_schedule_and_a_schedule_a_number():
    plain = REWARD.with_params(near={"weight": 1.0, "high": 3.0, "reach": 4.0})
    assert plain.inputs == ("distance",)
    assert plain.score(distance=2.0).total == 2.0
    again = plain.with_weights(near=piecewise([1, 2], at=[10]))
    assert again.score(distance=2.0, step=10).total == 4.0
    assert plain.with_params({"near.reach": {"cosine": [8, 2], "over": 10}}).terms[0].knobs["reach"] == cosine(
        8, 2, over=10
    )


def test_numbers_of_lists_are_changed_whole_or_one_by_one():
    reward = REWARD.with_weights(near=piecewise([1, 2], at=[10]))
    assert reward.with_params({"near.weight.values": [3, 4]}).terms[0].weight == piecewise([3, 4], at=[10])
    assert reward.with_params({"near.weight.values[1]": 5}).terms[0].weight == piecewise([1, 5], at=[10])
    assert reward.with_params({"near.weight.at[0]": 7}).terms[0].weight == piecewise([1, 2], at=[7])


def test_a_toml_file_says_the_same(tmp_path):
    file = tmp_path / "numbers.toml"
    file.write_text(
        "[near]\nweight = {linear = [0, 1], over = 100_000}\nhigh = 2\nreach = {piecewise = [4, 2], at = [9]}\n"
    )
    wanted = REWARD.with_params(
        near={"weight": linear(0, 1, over=100_000), "high": 2, "reach": piecewise([4, 2], at=[9])}
    )
    assert REWARD.with_file(file) == wanted
    file.write_text("dt = {linear = [0.5, 1], over = 10}\n")
    assert walking().with_file(file).score(**STEP, step=5)["forward"].weight == 1.5


def test_scale_clamp_and_override_follow_too():
    reward = walking(shared={}, scale=linear(1, 2, over=10), low=linear(-10, 0, over=10), override=[], fields=FIELDS)
    assert reward.score(**STEP, step=5)["forward"].weight == 3.0
    down = {**STEP, "speed": -5.0}
    assert reward.score(**down, step=5).total == -5.0
    assert reward.score(**down, step=5)["clamp"].value == pytest.approx(10.375)
    only = Reward("r", version="1", terms=[forward], fields=FIELDS[:1], low=linear(-10, 0, over=10))
    assert list(only.score(speed=-5, step=10).values.items()) == [("forward", -10.0), ("clamp", 10.0)]


def test_the_fingerprint_covers_the_schedule_and_not_the_count():
    assert REWARD.score(distance=1.0, step=0, epoch=0).fingerprint == REWARD.fingerprint
    kinds = [kind(1, 2, over=10) for kind in (linear, cosine, exponential)]
    counted = [*kinds, linear(1, 2, over=10, counter="epoch"), piecewise([1, 2], at=[10])]
    assert len({REWARD.with_weights(near=each).fingerprint for each in counted}) == 5


def test_a_declared_counter_keeps_its_range():
    fields = [Field("distance", low=0, high=10), Field("step", low=0, high=1000)]
    reward = Reward("r", version="1", terms=[near], fields=fields)
    with pytest.raises(ValueError, match="outside its declared range"):
        reward.score(distance=1.0, step=1001, epoch=0)
    assert Reward.from_json(reward.to_json()) == reward
    free = reward.with_params(near={"weight": 1.0, "high": 1.0})
    assert list(free.fields) == ["distance"]
    assert Reward.from_json(free.to_json()) == free


def test_a_counter_that_terms_read_as_the_step_before_and_after():
    @term(weight=linear(0, 1, over=10))
    def going(prev, curr):
        return curr.step - prev.step

    reward = Reward("r", version="1", terms=[going], fields=[Field("step", low=0)])
    assert reward.score(prev={"step": 4}, curr={"step": 5}).total == 0.5


def test_a_counter_below_zero_is_refused():
    with pytest.raises(ValueError, match="'step'"):
        REWARD.score(distance=1.0, step=-1, epoch=0)


def test_a_schedule_without_its_counter_says_what_is_missing():
    with pytest.raises(MissingField, match=r"needs 'step', which was not given: its schedules depend on it\. Pass the"):
        REWARD.score(distance=1.0, epoch=3)
    with pytest.raises(MissingField, match="its schedules depend on it"):
        REWARD.compile("numpy")({"distance": [1.0], "epoch": [3.0]})


def test_terms_alone_keep_their_own_counters():
    both = Reward("r", version="1", terms=[near, effort], fields=[Field("distance", low=0), FIELDS[1]])
    assert both.select_terms("effort").inputs == ("torque",)
    assert set(both.select_terms("near").inputs) == {"distance", "epoch", "step"}


def test_bounds_hold_at_every_count():
    found = bounds(REWARD)
    assert found.values["near"].low == -10.0
    assert found.values["near"].high == 6.0
    assert found.total.exact


def test_the_plain_function_is_told_what_its_knob_is():
    assert near(1.0, reach=3.0) == 2.0
    with pytest.raises(DefinitionError, match="the knob 'reach' follows exponential"):
        near(1.0)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"near.weight.over": 0}, DefinitionError, "near.weight: linear: over=0 must be above 0"),
        ({"near.weight.ovr": 3}, UnknownParameter, "Did you mean 'over'?"),
        ({"near.weight": 1.0, "near.weight.end": 3.0}, DefinitionError, "near.weight is given as 1.0"),
        ({"near.strict": linear(0, 1, over=3)}, DefinitionError, "near.strict is a bool"),
        ({"near.weight": {"linear": [0, 1]}}, DefinitionError, "near.weight: linear needs 'over'"),
        ({"near.weight": {"end": 1}}, DefinitionError, "near.weight: a schedule is one of"),
        ({"near.high": linear(-6, 3, over=3)}, DefinitionError, "low=-5.0 is above high=-6.0 at step=0"),
    ],
)
def test_what_cannot_work_is_refused(changes, error, message):
    with pytest.raises(error) as caught:
        REWARD.with_params(changes)
    assert message in str(caught.value)


@pytest.mark.parametrize("field", [Field("step", flag=True), Field("step", length=2), Field("step", values=("a", "b"))])
def test_a_counter_is_a_single_number(field):
    with pytest.raises(DefinitionError, match=r"near\.weight follows 'step', which is declared as a"):
        Reward("r", version="1", terms=[near], fields=[Field("distance"), field])


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["terms"][0].update(weight={"linear": [0, 1]}),
        lambda data: data["terms"][0].update(weight={"linear": [0, 1], "over": -1}),
        lambda data: data["terms"][0].update(weight={"linear": [0, 1], "over": 5, "counter": "a b"}),
        lambda data: data["terms"][0].update(weight=[0, 1]),
        lambda data: data["terms"][0]["knobs"].update(reach={"linear": "ab", "over": 5}),
        lambda data: data["terms"][0]["knobs"].update(reach={"piecewise": {}, "at": []}),
        lambda data: data.update(low={"linear": [0, 1], "over": "long"}),
    ],
)
def test_a_specification_that_was_tampered_with_is_refused(change):
    data = REWARD.to_dict()
    change(data)
    with pytest.raises(SpecError):
        Reward.from_dict(data)
