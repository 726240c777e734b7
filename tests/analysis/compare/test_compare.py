"""`compare`: published figures, what measures promise, and input that cannot be compared."""

import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, Ledger, Reward, Task, fact, term
from plaudit.analysis import compare
from plaudit.analysis.compare.tabular import (
    canonicalise_dard,
    canonicalise_minimal,
    canonicalise_value,
    measure_normalised,
)
from plaudit.errors import DefinitionError, InputError, MissingField, NotInLedger
from support.examples import examples

GAMMA = 0.99
X, Y = (Field(name, values=(0, 1, 2)) for name in "xy")
ACTION = Field("action", values=(0, 1, 2, 3, 4))


@term
def sparse(prev, curr):
    return 1 if prev.x == 2 and prev.y == 2 else 0


@term
def center(prev, curr):
    return 1 if prev.x == 1 and prev.y == 1 else 0


@term
def penalty(prev, curr):
    return -1 if prev.x == 2 and prev.y == 2 else 0


@term
def dirt(prev, curr):
    if prev.x == 2 and prev.y == 2:
        return 4
    if prev.x == 0:
        return -1 if prev.y > 0 else 0
    return -1 if prev.x == 2 else 0


@term
def cliff(prev, curr):
    if prev.x == 2 and prev.y == 2:
        return 4
    if prev.x == 0:
        return -1 if prev.y > 0 else 0
    return -4 if prev.x == 2 else 0


@term
def shaping(prev, curr, *, gamma=GAMMA):
    return gamma * -(abs(curr.x - 2) + abs(curr.y - 2)) + abs(prev.x - 2) + abs(prev.y - 2)


@term
def four(prev, curr):
    return (4 if prev.x == 2 and prev.y == 2 else 0) - 1


@term(weight=3)
def shaping_3(prev, curr, *, gamma=GAMMA):
    return gamma * -(abs(curr.x - 2) + abs(curr.y - 2)) + abs(prev.x - 2) + abs(prev.y - 2)


@term(weight=0)
def moving(action, prev, curr):
    return action + prev.x + prev.y + curr.x + curr.y


def grid(name, *terms):
    """Return a reward of the grid world; it knows of the action, whatever its terms read."""
    task = Task(discount=GAMMA)
    return Reward(name, version="1", terms=[*terms, moving], fields=[X, Y, ACTION], action="action", task=task)


GRID = {
    "sparse": grid("sparse", sparse),
    "dense": grid("dense", sparse, shaping),
    "transformed": grid("transformed", four, shaping_3),
    "dirt": grid("dirt", dirt),
    "cliff": grid("cliff", cliff),
    "center": grid("center", center),
    "penalty": grid("penalty", penalty),
}
MOVES = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))


def walk_grid():
    """Return every transition of the grid world twice, as columns."""
    rows = [
        (x, y, a, min(max(x + dx, 0), 2), min(max(y + dy, 0), 2))
        for x in range(3)
        for y in range(3)
        for a, (dx, dy) in enumerate(MOVES)
    ]
    columns = np.array(rows * 2, np.float64).T
    return dict(zip(("prev.x", "prev.y", "action", "curr.x", "curr.y"), columns, strict=True))


PAIRS = [
    ("sparse", "dense", 0.0),
    ("sparse", "transformed", 0.0),
    ("sparse", "dirt", 0.1602),
    ("sparse", "cliff", 0.3676),
    ("dirt", "cliff", 0.2672),
    ("sparse", "center", 0.75),
    ("sparse", "penalty", 1.0),
    ("center", "penalty", 0.6614),
    ("dirt", "penalty", 0.9871),
    ("cliff", "penalty", 0.9300),
]


def test_every_step_of_a_grid_gives_the_known_distances():
    found = compare(*GRID.values())
    assert found.coverage.exact
    names = list(GRID)
    for one, other, wanted in PAIRS:
        estimate = found.get("epic", names.index(one), names.index(other))
        assert estimate.value == pytest.approx(wanted, abs=6e-5)
        assert estimate.low == estimate.value == estimate.high


def test_transitions_give_the_known_distances_of_starc():
    found = compare(*GRID.values(), transitions=walk_grid(), means=8)
    names = list(GRID)
    for one, other, wanted in [
        ("sparse", "dense", 0.0),
        ("sparse", "transformed", 0.0),
        ("sparse", "dirt", 0.258499),
        ("sparse", "cliff", 0.840610),
        ("dirt", "cliff", 0.705760),
        ("sparse", "penalty", 2.0),
    ]:
        assert 2 * found.get("starc", names.index(one), names.index(other)).value == pytest.approx(wanted, abs=1e-6)
    for measure in ("epic", "dard", "starc-potential", "starc-minimal"):
        assert found.get(measure, 0, 1).value == pytest.approx(0.0, abs=1e-6)
        assert found.get(measure, 0, names.index("penalty")).value == pytest.approx(1.0, abs=1e-6)


def tables():
    """Return the grid world as tables: state rewards, shaping and dynamics, without a reward of ours."""
    dynamics = np.zeros((9, 5, 9))
    columns = walk_grid()
    at = (
        (3 * columns["prev.x"] + columns["prev.y"]).astype(int),
        (3 * columns["curr.x"] + columns["curr.y"]).astype(int),
    )
    dynamics[at[0], columns["action"].astype(int), at[1]] = 1.0
    paid = {
        "sparse": [0] * 8 + [1],
        "dirt": [0, -1, -1, 0, 0, 0, -1, -1, 4],
        "cliff": [0, -1, -1, 0, 0, 0, -4, -4, 4],
    }
    rewards = {name: np.broadcast_to(np.array(each, float)[:, None, None], (9, 5, 9)) for name, each in paid.items()}
    return rewards, dynamics


@pytest.mark.parametrize(
    ("canonicalise", "wanted"),
    [(canonicalise_dard, (0.304736, 0.760946, 0.577664)), (canonicalise_value, (0.258499, 0.840610, 0.705760))],
)
def test_canonical_tables_are_as_published(canonicalise, wanted):
    rewards, dynamics = tables()
    forms = {name: canonicalise(reward, dynamics, GAMMA) for name, reward in rewards.items()}
    pairs = (("sparse", "dirt"), ("sparse", "cliff"), ("dirt", "cliff"))
    assert [measure_normalised(forms[one], forms[other]) for one, other in pairs] == pytest.approx(wanted, abs=1e-6)


def test_the_smallest_reward_of_all_shapings_is_as_published():
    rewards, _ = tables()
    forms = {name: canonicalise_minimal(reward, None, GAMMA) for name, reward in rewards.items()}
    found = [
        measure_normalised(forms[one], forms[other])
        for one, other in (("sparse", "dirt"), ("sparse", "cliff"), ("dirt", "cliff"))
    ]
    assert found == pytest.approx((0.320364, 0.735122, 0.534430), abs=1e-3)  # theirs is found by descent


def test_shaping_without_the_discount_is_not_shaping():
    wrong = GRID["dense"].with_params(shaping={"gamma": 1.0})
    paid = np.array([0.0] * 8 + [1.0])
    potential = np.array([-(abs(x - 2) + abs(y - 2)) for x in range(3) for y in range(3)])
    correlation = np.corrcoef(GAMMA * paid, GAMMA * paid + (1 - GAMMA) * potential)[0, 1]
    assert compare(GRID["sparse"], wrong)["epic"].value == pytest.approx(np.sqrt((1 - correlation) / 2), abs=1e-9)
    assert correlation < 0.9999


POSITION = Field("position", low=-5, high=5)
GOAL = Field("goal", low=-5, high=5)


@term
def hit(curr):
    return 1 if abs(curr.position - curr.goal) < 0.05 else 0


@term(weight=-1)
def control(effort):
    return effort * effort


@term
def towards(prev, curr, *, gamma=GAMMA):
    return 10 * (abs(prev.position - prev.goal) - gamma * abs(curr.position - curr.goal))


@term
def near(curr):
    return -abs(curr.position - curr.goal)


@term(weight=0)
def started(prev, curr, effort):
    return prev.position + prev.goal + curr.position + curr.goal + effort


def test_point_mass_has_the_distances_of_the_closed_form():
    rng = np.random.default_rng(0)
    names = ("prev.position", "prev.goal", "curr.position", "curr.goal")
    columns = {name: rng.normal(size=20_000) for name in names} | {"effort": rng.uniform(-1, 1, 20_000)}
    fields = [Field("position"), Field("goal"), Field("effort", low=-1, high=1)]
    made = {"sparse": [hit, control], "dense": [hit, control, towards], "free": [hit], "near": [near, control]}
    rewards = [Reward(name, version="1", terms=[*terms, started], fields=fields) for name, terms in made.items()]
    found = compare(*rewards, transitions=columns, discount=GAMMA, means=64)
    assert found.get("epic", 0, 1).value == pytest.approx(0.0, abs=1e-6)
    assert found.get("epic", 0, 2).value == pytest.approx(0.5090, abs=0.03)
    assert found.get("epic", 2, 3).value == pytest.approx(0.6292, abs=0.03)
    assert found.get("epic", 0, 3).value == pytest.approx(0.5525, abs=0.03)


@term
def forward(prev, curr, *, a=1.0, b=0.0):
    return a * curr.position + b * prev.position * curr.position


@term(weight=1.0)
def potential(prev, curr, *, c=0.0, d=0.0, gamma=GAMMA):
    after, before = c * curr.position * curr.position + d * curr.position, c * prev.position**2 + d * prev.position
    return gamma * after - before


def moving_reward(a, b, c=0.0, d=0.0, scale=1.0):
    made = Reward("moving", version="1", terms=[forward, potential], fields=[POSITION], scale=scale)
    return made.with_params(forward={"a": a, "b": b}, potential={"c": c, "d": d})


size = st.floats(0.1, 10)


@examples(0.1)
@given(a=size, b=size, c=st.floats(-10, 10), d=st.floats(-10, 10), scale=size)
def test_shaping_and_a_positive_factor_are_no_distance(a, b, c, d, scale):
    one, other = moving_reward(a, b), moving_reward(a, b, c, d, scale)
    assert compare(one, other, samples=1000, means=4)["epic"].value < 1e-6
    assert compare(one, moving_reward(-a, -b, c, d, scale), samples=1000, means=4)["epic"].value > 1 - 1e-6
    rng = np.random.default_rng(0)
    columns = {"prev.position": rng.integers(-2, 3, 200).astype(float), "curr.position": rng.integers(-2, 3, 200) * 1.0}
    assert compare(one, other, transitions=columns, means=4)["epic"].value < 1e-6


@given(a=size, b=size, c=st.floats(-10, 10), scale=size, seed=st.integers(0, 9))
def test_tables_are_the_same_after_shaping_and_a_positive_factor(a, b, c, scale, seed):
    rng = np.random.default_rng(seed)
    dynamics = rng.dirichlet(np.ones(4), size=(4, 3))
    reward, worth = a * rng.normal(size=(4, 3, 4)) + b, c * rng.normal(size=4)
    shaped = scale * (reward + GAMMA * worth[None, None, :] - worth[:, None, None])
    for canonicalise in (canonicalise_value, canonicalise_dard, canonicalise_minimal):
        forms = [canonicalise(each, dynamics, GAMMA) for each in (reward, shaped, -shaped)]
        assert measure_normalised(forms[0], forms[1]) < 1e-6
        assert measure_normalised(forms[0], forms[2]) == pytest.approx(2.0)
    for canonicalise in (canonicalise_value, canonicalise_minimal):  # and where what cancels among next states is moved
        noise = rng.normal(size=reward.shape)
        noise -= (noise * dynamics).sum(axis=2, keepdims=True)
        forms = [canonicalise(each, dynamics, GAMMA) for each in (reward, reward + noise)]
        assert measure_normalised(*forms) < 1e-6


# -- other measures -----------------------------------------------------------------------------------------------------


SPEED = Field("speed", low=0, high=9)
GEAR = Field("gear", values=("low", "high"))


@term
def suits(speed, gear, *, at=4.0):
    return speed - at if gear == "high" else at - speed


def driving(at, name="driving"):
    made = Reward(name, version=f"{at:g}", terms=[suits], fields=[SPEED, GEAR], action="gear")
    return made.with_params(suits={"at": at})


def test_another_gear_is_best_between_the_two_thresholds():
    found = compare(driving(4.0), driving(5.8), samples=20_000)
    estimate = found["argmax"]
    assert estimate.value == pytest.approx(0.2, abs=0.02)
    assert estimate.low <= 0.2 <= estimate.high
    assert compare(driving(4.0), driving(4.0), samples=1000)["argmax"].value == 0.0


@term
def pays(braking, gear):
    return braking + (1 if gear == "high" else 0)


@fact
def high_gear_does_not_brake(braking, gear):
    return braking == 0 if gear == "high" else braking == 2


def test_a_fact_that_leaves_single_numbers_is_kept_and_comes_with_the_action():
    fields, task = [Field("braking", low=0, high=9), GEAR], Task(facts=[high_gear_does_not_brake])
    one = Reward("one", version="1", terms=[pays], fields=fields, action="gear", task=task)
    other = one.with_weights(pays=-1.0).with_version("2")
    found = compare(one, other, samples=2000)
    assert 0.5 < found.coverage.rejected < 0.95
    assert "broke a fact" in str(found)
    assert found["argmax"].value == 1.0  # low pays 2 and high 1; braking follows the gear
    assert found["epic"].value == pytest.approx(1.0)


def test_correlations_are_those_of_numpy_and_of_ranks():
    rng = np.random.default_rng(1)
    speed, gear = rng.uniform(0, 9, 3000), rng.integers(0, 2, 3000)
    episodes = np.repeat(np.arange(300), 10)
    found = compare(driving(4.0), driving(6.0), transitions={"speed": speed, "gear": gear}, episodes=episodes)
    paid = [np.where(gear == 1, speed - at, at - speed) for at in (4.0, 6.0)]
    returns = [each.reshape(300, 10).sum(axis=1) for each in paid]
    assert found["pearson"].value == pytest.approx(np.corrcoef(*paid)[0, 1])
    assert found["pearson-returns"].value == pytest.approx(np.corrcoef(*returns)[0, 1])
    ranks = [np.argsort(np.argsort(each)) for each in returns]
    assert found["spearman-returns"].value == pytest.approx(np.corrcoef(*ranks)[0, 1])
    for name in ("pearson", "spearman", "pearson-returns", "spearman-returns"):
        assert found[name].low < found[name].value < found[name].high


@pytest.mark.parametrize(("seeds", "least"), [(5, 4), pytest.param(10, 7, marks=pytest.mark.slow)])
def test_an_interval_holds_what_many_more_samples_tell(seeds, least):
    one, other = moving_reward(1, 0.2), moving_reward(0.3, 1)
    truth = compare(one, other, samples=20_000, means=32)["epic"].value
    held = 0
    for seed in range(seeds):
        found = compare(one, other, samples=1000, means=32, seed=seed)["epic"]
        held += found.low <= truth <= found.high
    assert held >= least


def test_changes_are_drawn_within_what_the_task_says():
    position = Field("position", low=0, high=9)
    climbing = Task(max_change={"position": 0.5}, monotone={"position": "up"})
    made = Reward("climbing", version="1", terms=[forward, potential], fields=[position], task=climbing)
    found = compare(made, made.with_params(forward={"b": 2.0}), samples=1000, means=4)
    for block in found.coverage:
        change = block.steps.after["position"] - block.steps.before["position"]
        assert change.min() >= 0
        assert change.max() <= 0.5 + 1e-12
    assert found.coverage.rejected == 0.0


# -- input that cannot be compared ----------------------------------------------------------------------------------------


@term
def heavy(load):
    return -load


def test_rewards_over_different_fields_are_refused_or_compared_as_asked():
    load = Field("load", low=0, high=1)
    other = Reward("loaded", version="1", terms=[suits, heavy], fields=[SPEED, GEAR, load], action="gear")
    with pytest.raises(DefinitionError, match=r"loaded@1 reads load\.\n.*fields='shared'"):
        compare(driving(4.0), other)
    shared = compare(driving(4.0), other, fields="shared", samples=1000)
    assert shared["epic"].value == pytest.approx(0.0, abs=1e-6)
    assert "left out: loaded@1: heavy" in str(shared)
    assert 0.01 < compare(driving(4.0), other, fields="all", samples=1000)["epic"].value < 0.2


def speeding(field, name, *, high):
    @term
    def fast(speed, *, limit=high):
        return min(speed, limit)

    return Reward("speeding", version=name, terms=[fast], fields=[field])


def test_rewards_are_compared_where_the_declarations_of_all_allow():
    """min(x, 5) and min(x, 9) are the same up to 5; between 5 and 9 the first is constant."""
    wide, low = Field("speed", low=0, high=9), Field("speed", low=-3, high=5)
    listed, far = Field("speed", values=(1.0, 4.0, 7.0)), Field("speed", low=8, high=9)
    assert compare(speeding(wide, "5", high=5.0), speeding(wide, "9", high=9.0), samples=1000)["epic"].value > 0.05
    assert compare(speeding(low, "5", high=5.0), speeding(wide, "9", high=9.0), samples=1000)["epic"].value < 1e-6
    found = compare(speeding(low, "5", high=5.0), speeding(listed, "9", high=9.0), samples=1000)
    assert (found.coverage.exact, found["pearson"].value) == (True, pytest.approx(1.0))  # 1 and 4 alone are left
    for other in (far, Field("speed", values=(7.0, 8.0))):
        with pytest.raises(DefinitionError, match="no number satisfies the declarations of all rewards"):
            compare(speeding(low, "5", high=5.0), speeding(other, "9", high=9.0), samples=1000)


def test_more_than_two_rewards_are_a_table_of_every_pair():
    rewards = [speeding(Field("speed", low=0, high=9), name, high=9.0) for name in ("1", "2")]
    opposed = rewards[0].with_weights(fast=-2.0).with_version("3")
    found = compare(*rewards, opposed, samples=1000)
    assert found.matrix() == pytest.approx(np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]]), abs=1e-6)
    told = [line.split() for line in str(found).splitlines()]
    assert ["3", "1.000", "1.000", "0.000"] in told
    assert "1.000" in found._repr_html_()


def test_a_constant_reward_has_no_distance_and_that_is_said():
    nothing = driving(4.0).with_weights(suits=0.0).with_version("nothing")
    found = compare(driving(4.0), nothing, samples=1000)
    for name in ("epic", "pearson", "spearman"):
        assert np.isnan(found[name].value)
        assert found.to_dict()["measures"][name]["value"][0][1] is None
    assert "driving@nothing pays the same for every step here" in str(found)
    assert "undefined" in str(found)


def test_pure_shaping_has_no_distance_and_that_is_said():
    found = compare(moving_reward(0, 0, 1, 1), moving_reward(1, 1), samples=1000, means=8)
    assert np.isnan(found["epic"].value)
    assert np.isfinite(found["pearson"].value)
    assert "is pure potential shaping" in str(found)


def test_a_heavy_tail_makes_a_wide_interval_and_that_is_said():
    rng = np.random.default_rng(0)
    columns = {"speed": rng.uniform(0, 9, 640), "gear": rng.integers(0, 2, 640), "load": rng.uniform(0, 1, 640)}
    columns["load"][7] = 1e6
    fields = [SPEED, GEAR, Field("load", low=0)]
    heavier = Reward("heavier", version="1", terms=[suits, heavy], fields=fields)
    lighter = heavier.with_weights(heavy=0.5)
    opposed = heavier.with_weights(heavy=-1e-7)
    found = compare(lighter, opposed, transitions=columns)
    assert found["pearson"].high - found["pearson"].low > 0.2
    assert "interval is wider than 0.2" in str(found)


def test_what_is_missing_is_named():
    one, other = moving_reward(1, 0), moving_reward(1, 1)
    with pytest.raises(MissingField, match=r"lacks 'prev\.position', the value of position before each step"):
        compare(one, other, transitions={"curr.position": np.zeros(100)})
    few = {"prev.position": np.zeros(9), "curr.position": np.zeros(9)}
    with pytest.raises(InputError, match="9 transitions are too few"):
        compare(one, other, transitions=few)
    open_ended = Reward("open", version="1", terms=[forward, potential], fields=[Field("position")])
    with pytest.raises(DefinitionError, match="'position' has no low=, .*ranges="):
        compare(open_ended, open_ended)
    assert compare(open_ended, open_ended, ranges={"position": (0, 1)}, samples=1000, means=2)["epic"].value < 1e-6
    with pytest.raises(DefinitionError, match="is not a valid range of that field"):
        compare(one, other, ranges={"position": (0, 99)})


def test_different_discounts_are_refused():
    impatient = GRID["sparse"].with_task(Task(discount=0.5))
    with pytest.raises(DefinitionError, match=r"different discounts \(0\.5, 0\.99\)"):
        compare(GRID["dirt"], impatient)
    assert compare(GRID["dirt"], impatient, discount=0.9).discount == 0.9


def test_measures_of_dynamics_are_refused_without_them_and_say_why():
    found = compare(GRID["sparse"], GRID["dirt"])
    with pytest.raises(DefinitionError, match="'starc' was not measured: no transitions show where actions lead"):
        found["starc"]
    columns = walk_grid()
    some = np.flatnonzero(columns["prev.x"] + columns["action"] != 2)
    partial = {name: np.tile(column[some], 2) for name, column in columns.items()}
    found = compare(GRID["sparse"], GRID["dirt"], transitions=partial, means=8)
    assert "state-action pairs were never seen" in found.left_out["dard"]


def test_an_end_of_the_episode_is_no_part_of_epic():
    @term(terminal=True)
    def finished(speed):
        return 100 - speed

    one = Reward("one", version="1", terms=[suits, finished], fields=[SPEED, GEAR])
    found = compare(one, driving(4.0), samples=1000)
    assert found["epic"].value == pytest.approx(0.0, abs=1e-6)
    assert "rewards with terminal terms: one@1" in str(found)


def test_memory_does_not_grow_with_the_samples(monkeypatch):
    monkeypatch.setattr(sys.modules["plaudit.analysis.compare.draws"], "LARGEST_BLOCK", 1024)
    monkeypatch.setattr(sys.modules["plaudit.analysis.compare.compare"], "MOST_RANKED", 1000)
    one, other = moving_reward(1, 0), moving_reward(1, 1)

    def peak(samples):
        tracemalloc.start()
        compare(one, other, samples=samples, means=2)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(1000)
    assert peak(75_000) < 1.5 * peak(25_000)


def test_transitions_out_of_range_are_left_out_and_that_is_said():
    rng = np.random.default_rng(3)
    speed, gear = rng.uniform(0, 9, 400), rng.integers(0, 2, 400)
    wanted = compare(driving(4.0), driving(6.0), transitions={"speed": speed[4:], "gear": gear[4:]}, means=8)
    speed[:4] = 1e9
    found = compare(driving(4.0), driving(6.0), transitions={"speed": speed, "gear": gear}, means=8)
    assert found["epic"].value == pytest.approx(wanted["epic"].value)
    assert "1.0% of the steps cannot be scored by all rewards" in str(found)


def test_without_what_was_before_epic_is_the_distance_of_steps():
    rng = np.random.default_rng(4)
    found = compare(
        driving(4.0), driving(6.0), transitions={"speed": rng.uniform(0, 9, 400), "gear": rng.integers(0, 2, 400)}
    )
    assert found["epic"].value == pytest.approx(np.sqrt((1 - found["pearson"].value) / 2))


def test_measures_of_dynamics_have_intervals_that_hold_the_true_ones():
    rng = np.random.default_rng(5)
    every = walk_grid()
    rows = rng.integers(45, size=2000)
    found = compare(
        GRID["sparse"], GRID["dirt"], transitions={name: each[rows] for name, each in every.items()}, means=8
    )
    exact = compare(GRID["sparse"], GRID["dirt"], transitions=every, means=8)
    for name in ("starc", "starc-potential", "starc-minimal", "dard"):
        assert found[name].low <= exact[name].value + 1e-9
        assert found[name].high >= exact[name].value - 1e-9
    assert found["dard"].low < found["dard"].high
    assert np.isnan(exact["dard"].low)  # of two times each transition, draws leave some out
    assert "No intervals for STARC and DARD" in str(exact)


def test_without_a_discount_states_have_no_value():
    found = compare(GRID["sparse"], GRID["dirt"], transitions=walk_grid(), means=8, discount=1)
    assert "discount below 1" in found.left_out["starc"]


LEVEL = Field("level", values=(0, 1, 2, 3, 4, 5))


@term
def rises(prev, curr, gear):
    return (curr.level - prev.level) * (2 if gear == "high" else 1)


@fact
def only_high_gear_climbs(prev, curr, gear):
    return gear == "high" or curr.level <= prev.level


@fact
def unread(speed, gear):
    return speed < 5 or gear == "low"


def test_every_step_and_every_draw_keeps_facts_and_steps_of_listed_numbers():
    made = Reward(
        "rising",
        version="1",
        terms=[rises],
        fields=[LEVEL, GEAR, SPEED],
        action="gear",
        task=Task(max_change={"level": 1}, facts=[only_high_gear_climbs, unread]),
    )
    other = made.with_weights(rises=-1.0).with_version("2")
    exact, drawn = compare(made, other, means=64), compare(made, other, samples=1000, means=2)
    assert exact.coverage.exact
    assert not drawn.coverage.exact
    for found in (exact, drawn):
        for block in found.coverage:
            change = block.steps.after["level"] - block.steps.before["level"]
            assert np.abs(change).max() == 1
            assert not (change[block.steps.after["gear"] == 0] > 0).any()
        assert 0 < found.coverage.rejected < 1
        assert "no term reads their inputs: unread" in str(found)
    # climbing leaves no choice, so only standing (tied) and falling are left: 6 and 5 states, in two gears each
    assert exact["argmax"].value == pytest.approx(5 / 11)


# -- recorded steps -------------------------------------------------------------------------------------------------------


def test_recorded_steps_are_what_the_same_columns_are(tmp_path):
    rng = np.random.default_rng(2)
    speed, gear = rng.uniform(0, 9, 120), rng.integers(0, 2, 120)
    one, other = driving(4.0), driving(6.0)
    with Ledger(tmp_path / "rewards.db") as ledger:
        for at in range(120):
            signal = one.score(speed=speed[at], gear=GEAR.labels[gear[at]])
            about = {"actor": "ab"[at // 60], "episode": str(at % 60 // 10)}  # each actor has episodes 0 to 5
            ledger.record(signal, run="night", step=at % 10, **about)
        ledger.record(GRID["sparse"].score(action=0, prev={"x": 0, "y": 0}, curr={"x": 1, "y": 0}), run="night")
        found = compare(one, other, ledger=ledger, run="night", means=8)
        with pytest.raises(NotInLedger):
            compare(one, other, ledger=ledger, run="day")
        with pytest.raises(MissingField, match="120 lack"):
            compare(GRID["dirt"], GRID["cliff"], ledger=ledger, version="4")
    given = {"speed": speed, "gear": gear}
    wanted = compare(one, other, transitions=given, episodes=np.arange(120) // 10, means=8)
    for measure in ("epic", "argmax", "pearson", "spearman-returns"):
        assert found[measure].value == pytest.approx(wanted[measure].value)
    assert "On 120 steps recorded in" in str(found)
    assert "1 record excluded for lack of gear, speed." in str(found)


def test_categories_that_were_recorded_in_another_order_are_the_same_categories(tmp_path):
    turned = Field("gear", values=("high", "low"))
    one, other = (
        Reward("turned", version=str(at), terms=[suits], fields=[SPEED, turned]).with_params(suits={"at": at})
        for at in (4.0, 6.0)
    )
    speed, gear = np.linspace(0, 9, 90), np.arange(90) % 2
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(driving(4.0), {"speed": speed, "gear": gear}, run="night")
        found = compare(one, other, ledger=ledger, run="night", means=8)
    totals = [np.where(gear == 1, speed - at, at - speed) for at in (4.0, 6.0)]
    assert found["pearson"].value == pytest.approx(np.corrcoef(*totals)[0, 1])


def test_canonical_rewards_of_norm_1_are_between_0_and_2_apart_and_one_that_is_0_nowhere():
    right, up, nothing = np.array([3.0, 0.0]), np.array([0.0, 0.5]), np.zeros(2)
    assert measure_normalised(right, 2 * right) == 0.0
    assert measure_normalised(right, up) == pytest.approx(np.sqrt(2))
    assert measure_normalised(right, -right) == pytest.approx(2.0)
    assert np.isnan(measure_normalised(right, nothing))


def test_rewards_that_no_draw_tells_from_a_constant_have_no_distance():
    """Both vary, and so rarely that none of the draws shows it: that is said, and is no error."""

    @term
    def nearly_always(speed):
        return 1.0 if speed > 1e-9 else 0.0

    reward = Reward("rare", version="1", terms=[nearly_always], fields=[Field("speed", low=0, high=1e6)])
    found = compare(reward, reward.with_params({"nearly_always.weight": 2.0}).with_version("2"), samples=1000)
    assert np.isnan(found["epic"].value)
    assert np.isnan(found["epic"].low)
