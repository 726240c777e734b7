"""What single steps show: each flaw is planted, and an honest history beside it raises no alarm."""

import sys

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, Task, fact, term
from plaudit.analysis import Thresholds, audit
from support.histories import record_episodes

STEPS = 4000
RNG = np.random.default_rng(0)
DISTANCE = Field("distance", low=0, high=100)
SPEED = Field("speed", low=0, high=30)


@term(high=1.0)
def gap(distance, *, wanted=10.0):
    """Keep a distance."""
    return distance / wanted


@term
def speed_pay(speed):
    """Go fast."""
    return speed


@term(weight=-1.0, kind="penalty")
def crash(hit):
    """Do not crash."""
    return 10.0 if hit else 0.0


def find(tmp_path, reward, columns, *, recorded_by=None):
    """Return what is found in steps of one long episode, by code."""
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episodes(ledger, recorded_by or reward, [columns])
        return {finding.code: finding for finding in audit(ledger, reward)}


@pytest.mark.parametrize(("lowest", "bound"), [(20.0, True), (0.0, False)])
def test_a_clamp_that_binds_in_every_step(tmp_path, lowest, bound):
    reward = Reward("car", version="1", terms=[gap], fields=[DISTANCE])
    found = find(tmp_path, reward, {"distance": RNG.uniform(lowest, 100, STEPS)})
    assert ("clamp-bound" in found) == bound
    if bound:
        assert "clamped at its cap of 1 in 4,000 of 4,000 steps (100.0 %)" in found["clamp-bound"].message
        assert found["clamp-bound"].witness[0].record == 1


@pytest.mark.parametrize(("top", "bound"), [(1.0, True), (25.0, False)])
def test_a_clamp_of_the_total_that_binds_in_every_step(tmp_path, top, bound):
    reward = Reward("car", version="1", terms=[speed_pay], fields=[SPEED], high=top)
    found = find(tmp_path, reward, {"speed": RNG.uniform(5, 30, STEPS)})
    assert ("clamp-bound" in found) == bound


def test_a_score_that_lies_on_its_clamp_is_not_held_by_it(tmp_path):
    reward = Reward("car", version="1", terms=[gap], fields=[DISTANCE])
    assert "clamp-bound" not in find(tmp_path, reward, {"distance": np.full(STEPS, 10.0)})


@term
def zones(distance):
    """Keep away."""
    if distance < 5:
        return -5.0
    if distance < 20:
        return 0.5
    return 1.0


@pytest.mark.parametrize(("lowest", "left"), [(6.0, "return -5.0"), (0.0, "")])
def test_a_branch_that_no_step_takes(tmp_path, lowest, left):
    reward = Reward("car", version="1", terms=[zones], fields=[DISTANCE])
    found = find(tmp_path, reward, {"distance": RNG.uniform(lowest, 100, STEPS)})
    assert ("branch-not-taken" in found) == bool(left)
    if left:
        assert found["branch-not-taken"].message == f"none of 4,000 steps reached `{left}` in 'zones'."
        assert found["branch-not-taken"].place.text == left


def test_a_ledger_keeps_no_source_and_so_no_branches(tmp_path):
    reward = Reward("car", version="1", terms=[zones], fields=[DISTANCE])
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(reward, {"distance": RNG.uniform(6, 100, STEPS)})
    report = audit(tmp_path / "rewards.db")
    assert report.skipped["branch-not-taken"].startswith("a ledger stores no source code of zones")


@term(kind="goal")
def arrival(arrived):
    """Arrive."""
    return 10.0 if arrived else 0.0


@pytest.mark.parametrize("arrived", [False, True])
def test_a_term_that_never_paid(tmp_path, arrived):
    fields = [SPEED, Field("arrived", flag=True)]
    reward = Reward("car", version="1", terms=[speed_pay, arrival], fields=fields)
    columns = {"speed": RNG.uniform(0, 30, STEPS), "arrived": np.arange(STEPS) == (7 if arrived else -1)}
    found = find(tmp_path, reward, columns)
    assert ("constant-in-practice" in found) != arrived
    if not arrived:
        assert found["constant-in-practice"].message == "'arrival' paid nothing: it was 0 in all 4,000 steps."


@term
def cruising(speed):
    """Be on the move."""
    return 2.0 if speed > 1 else 0.0


@pytest.mark.parametrize(
    ("weight", "standing", "message"),
    [
        (0.5, 0, "'cruising' paid 1 in all 4,000 steps, whatever the agent did."),
        (-1.5, 0, "'cruising' paid -3 in all 4,000 steps, whatever the agent did."),
        (0.5, 3, None),
    ],
)
def test_a_term_that_paid_every_step_alike(tmp_path, weight, standing, message):
    reward = Reward("car", version="1", terms=[cruising], fields=[SPEED]).with_weights(cruising=weight)
    found = find(tmp_path, reward, {"speed": np.where(np.arange(STEPS) < standing, 0.0, 20.0)})
    assert ("constant-in-practice" in found) == (message is not None)
    if message is not None:
        assert found["constant-in-practice"].message == message
        assert "reads nothing" in found["constant-in-practice"].advice


def test_a_price_that_never_had_to_be_paid_is_good_news(tmp_path):
    reward = Reward("car", version="1", terms=[speed_pay, crash], fields=[SPEED, Field("hit", flag=True)])
    found = find(tmp_path, reward, {"speed": RNG.uniform(0, 30, STEPS), "hit": np.zeros(STEPS, bool)})
    assert "constant-in-practice" not in found


@pytest.mark.parametrize(("weight", "drowned"), [(0.001, True), (0.5, False)])
def test_a_term_that_is_never_heard(tmp_path, weight, drowned):
    reward = Reward("car", version="1", terms=[gap, speed_pay], fields=[DISTANCE, SPEED]).with_weights(gap=weight)
    columns = {"distance": RNG.uniform(0, 30, STEPS), "speed": RNG.uniform(5, 30, STEPS)}
    assert ("drowned-in-practice" in find(tmp_path, reward, columns)) == drowned


def test_a_rare_price_that_is_heard_when_it_is_paid_is_not_drowned(tmp_path):
    reward = Reward("car", version="1", terms=[speed_pay, crash], fields=[SPEED, Field("hit", flag=True)])
    columns = {"speed": RNG.uniform(0, 30, STEPS), "hit": np.arange(STEPS) % 20 == 0}
    assert "drowned-in-practice" not in find(tmp_path, reward, columns)


@term
def speed_again(speed):
    """Go fast, once more."""
    return 2.0 * speed + 0.01 * speed * speed


@pytest.mark.parametrize(("twin", "redundant"), [(speed_again, True), (gap, False)])
def test_two_terms_that_go_together(tmp_path, twin, redundant):
    fields = [SPEED, DISTANCE] if twin is gap else [SPEED]
    reward = Reward("car", version="1", terms=[speed_pay, twin], fields=fields)
    columns = {"speed": RNG.uniform(0, 30, STEPS), "distance": RNG.uniform(0, 100, STEPS)}
    found = find(tmp_path, reward, {name: columns[name] for name in reward.inputs})
    assert ("redundant-terms" in found) == redundant


@term
def force(torque):
    """Push."""
    return torque


@pytest.mark.parametrize("blown_up", [True, False])
def test_a_spike(tmp_path, blown_up):
    reward = Reward("arm", version="1", terms=[force], fields=[Field("torque")])
    torque = RNG.normal(0, 1, STEPS)
    torque[1234] = 1e6 if blown_up else 5.0
    found = find(tmp_path, reward, {"torque": torque})
    assert ("spike" in found) == blown_up
    if blown_up:
        assert found["spike"].witness[0].record == 1235
        assert found["spike"].message == (
            "'force' reached 1,000,000 in size, but at least 99.9 % of its payments were below 4; it was 128 or more "
            "in 1 "
            "of 4,000 steps (0.025 %)."
        )


def test_how_many_steps_are_spikes_is_counted_from_a_bound_that_is_said(tmp_path):
    reward = Reward("arm", version="1", terms=[force], fields=[Field("torque")])
    torque = 2.0 + np.arange(STEPS) / STEPS
    torque[:2] = 70.0, 100.0  # usual: below 4, and 20 times as much is 80
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(reward, {"torque": torque})
        (finding,) = audit(ledger, reward, only="spike", thresholds=Thresholds(spike=20.0))
    assert finding.message.endswith("it was 64 or more in 2 of 4,000 steps (0.05 %).")


def test_a_high_price_on_a_list_of_prices_is_no_spike(tmp_path):
    walk = Reward("cliff", version="1", terms=[force, crash], fields=[Field("torque"), Field("hit", flag=True)])
    columns = {"torque": np.ones(STEPS), "hit": np.arange(STEPS) == 17}
    assert "spike" not in find(tmp_path, walk.with_weights(crash=-100.0), columns)


@pytest.mark.parametrize(
    ("declared", "said", "record"),
    [
        ({"low": 0, "high": 30}, "0 to 30 but was outside in 40 of 4,000 steps (1.0 %): 50.", 1),
        ({"high": 30}, "at most 30 but was outside in 40 of 4,000 steps (1.0 %): 50.", 1),
        ({"low": 30}, "at least 30 but was outside in 3,960 of 4,000 steps (99.0 %): lowest 20, highest 25.", 41),
        ({"values": (20.0, 25.0)}, "one of 20, 25 but was outside in 40 of 4,000 steps (1.0 %): 50.", 1),
    ],
)
def test_values_outside_the_range_that_is_declared_now(tmp_path, declared, said, record):
    wide = Reward("car", version="1", terms=[speed_pay], fields=[Field("speed", low=0, high=100)])
    narrow = Reward("car", version="1", terms=[speed_pay], fields=[Field("speed", **declared)])
    columns = {"speed": np.where(np.arange(STEPS) < 40, 50.0, np.where(np.arange(STEPS) % 2, 20.0, 25.0))}
    found = find(tmp_path, narrow, columns, recorded_by=wide)
    assert found["outside-range"].message == f"speed is declared to be {said}"
    assert found["outside-range"].witness[0].record == record


def test_values_within_their_range_are_fine(tmp_path):
    reward = Reward("car", version="1", terms=[speed_pay], fields=[SPEED])
    assert "outside-range" not in find(tmp_path, reward, {"speed": np.linspace(0, 30, STEPS)})


@fact
def slow_when_near(distance, speed):
    """Who is near is slow."""
    return speed <= distance


CAREFUL = Task(facts=[slow_when_near])


@pytest.mark.parametrize("broken", [True, False])
def test_a_fact_that_is_false(tmp_path, broken):
    reward = Reward("car", version="1", terms=[gap, speed_pay], fields=[DISTANCE, SPEED], task=CAREFUL)
    distance = RNG.uniform(30, 100, STEPS)
    distance[99] = 1.0 if broken else 50.0
    found = find(tmp_path, reward, {"distance": distance, "speed": np.full(STEPS, 10.0)})
    assert ("fact-broken" in found) == broken
    if broken:
        assert found["fact-broken"].message == "the fact 'slow_when_near' was false in 1 of 4,000 steps (0.025 %)."
        assert found["fact-broken"].witness[0].record == 100
        assert found["fact-broken"].place.text.startswith("def slow_when_near")


def test_a_rule_that_fails_stops_no_other_of_its_family(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules["plaudit.analysis.audit.declared"].__dict__, "locate_source")
    wide = Reward("car", version="1", terms=[gap, speed_pay], fields=[DISTANCE, Field("speed", low=0, high=100)])
    narrow = Reward("car", version="1", terms=[gap, speed_pay], fields=[DISTANCE, SPEED], task=CAREFUL)
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(wide, {"distance": np.full(STEPS, 40.0), "speed": np.full(STEPS, 50.0)})
        report = audit(ledger, narrow)
    assert [(each.code, each.error.partition(":")[0]) for each in report.failed] == [("fact-broken", "NameError")]
    assert report.by_code("outside-range")


def test_what_is_allowed_is_told_apart(tmp_path):
    reward = Reward("car", version="1", terms=[gap], fields=[DISTANCE], allow={"clamp-bound": "a switch"})
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(reward, {"distance": RNG.uniform(20, 100, STEPS)})
        report = audit(ledger, reward)
    assert not report.by_code("clamp-bound")
    assert [(each.finding.code, each.reason) for each in report.suppressed] == [("clamp-bound", "a switch")]
