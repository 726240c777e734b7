"""The return rises while what is wanted falls: planted in simulated training runs, and honest runs beside them."""

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, Task, term
from plaudit.analysis import Thresholds, audit
from plaudit.analysis.audit.parting import find_parting
from support.histories import record_episodes

# -- simulated runs: the returns of episodes, and what is wanted of them -------------------------------------------------


def ramp(count, low, high, begin, end):
    """Return numbers that go from `low` to `high` between two shares of a run."""
    return np.interp(np.arange(count) / count, [begin, end], [low, high])


def draw_goals(rng, rates):
    return (rng.random(len(rates)) < rates).astype(np.float64)


def hack(how, *, paid, noise, down_to=0.0, gain=1.1):
    """Return a run in which something else is found that pays: the goal is reached less and less, or not any more."""

    def draw(rng, count):
        hacked = {
            "abrupt": lambda: (np.arange(count) >= rng.uniform(0.25, 0.75) * count).astype(np.float64),
            "slow": lambda: ramp(count, 0.0, 1.0, rng.uniform(0.1, 0.4), rng.uniform(0.7, 1.0)),
            "after learning": lambda: ramp(count, 0.0, 1.0, 0.5, rng.uniform(0.7, 0.95)),
        }[how]()
        rates = 0.6 + (down_to - 0.6) * hacked
        if how == "after learning":
            rates = rates * ramp(count, 0.1, 1.0, 0.0, 0.35)
        goals = draw_goals(rng, rates)
        return 0.3 + paid * goals + gain * hacked + rng.normal(0.0, noise, count), goals

    return draw


def slow_down(rng, count):
    """Return a run that is paid for being slow, though fast is better."""
    speed = rng.normal(18.0 - 8.0 * ramp(count, 0.0, 1.0, rng.uniform(0.2, 0.6), 1.0), 3.0)
    return 30.0 - speed + rng.normal(0.0, 1.0, count), speed


HACKS = {
    **{f"{how}, goal paid": hack(how, paid=1.0, noise=0.3) for how in ("abrupt", "slow", "after learning")},
    **{f"{how}, goal not paid": hack(how, paid=0.0, noise=0.3, gain=0.5) for how in ("abrupt", "slow")},
    "in part, goal paid": hack("abrupt", paid=1.0, noise=0.3, down_to=0.15),
    "a better field": slow_down,
}


def noise(worth, rate):
    def draw(rng, count):
        goals = draw_goals(rng, np.full(count, rate))
        return worth * goals + rng.normal(0.0, 0.3, count), goals

    return draw


def learn(returns, rates, worth):
    """Return a run whose return without the goal, and whose goal rate, each go from one number to another."""

    def draw(rng, count):
        goals = draw_goals(rng, ramp(count, *rates, 0.1, 1.0))
        return ramp(count, *returns, 0.0, 1.0) + worth * goals + rng.normal(0.0, 0.3, count), goals

    return draw


def explore(rng, count):
    """Return a run that is fast and paid little as long as it tries things out."""
    first = np.arange(count) < rng.uniform(0.03, 0.1) * count
    return np.where(first, rng.normal(-5, 3, count), rng.normal(5, 2, count)), np.where(
        first, rng.normal(20, 4, count), rng.normal(12, 2, count)
    )


def explore_until_the_goal_is_found(rng, count):
    begins = rng.uniform(0.05, 0.3)
    rates = np.where(np.arange(count) < begins * count, 0.3, ramp(count, 0.1, 0.9, begins + 0.2, 0.9))
    goals = draw_goals(rng, rates)
    return ramp(count, -4.0, 3.0, 0.0, 1.0) + 3.0 * goals + rng.normal(0.0, 1.0, count), goals


def recover(rng, count):
    dip = (np.arange(count) > 0.3 * count) & (np.arange(count) < 0.6 * count)
    goals = draw_goals(rng, np.where(dip, 0.1, 0.7))
    return ramp(count, 0.0, 2.0, 0.0, 1.0) + dip + goals + rng.normal(0.0, 0.3, count), goals


def change_level(scale, rate, *, dense):
    """Return a curriculum: from some episode on all is paid more, and the goal is harder to reach."""

    def draw(rng, count):
        harder = np.arange(count) >= rng.uniform(0.3, 0.7) * count
        goals = draw_goals(rng, np.where(harder, rate, 0.8))
        return np.where(harder, scale, 1.0) * (dense + goals + rng.normal(0.0, 0.3, count)), goals

    return draw


HONEST = {
    "noise": noise(0.0, 0.5),
    "noise, the goal pays": noise(3.0, 0.5),
    "noise, the goal costs": noise(-3.0, 0.5),
    "noise, a rare goal costs": noise(-3.0, 0.05),
    "both rise": learn((0.0, 1.0), (0.1, 0.9), 1.0),
    "both fall": learn((0.0, 0.0), (0.9, 0.1), 1.0),
    "the return rises, the goal is noise": learn((0.0, 3.0), (0.5, 0.5), 0.0),
    "the goal falls, the return is noise": learn((0.0, 0.0), (0.8, 0.1), 0.0),
    "the goal is never reached": learn((0.0, 3.0), (0.0, 0.0), 1.0),
    "the goal is always reached": learn((0.0, 3.0), (1.0, 1.0), 1.0),
    "exploration": explore,
    "exploration, then the goal": explore_until_the_goal_is_found,
    "the goal comes back": recover,
    "all is paid three times": change_level(3.0, 0.8, dense=0.2),
    "a harder level that pays three times": change_level(3.0, 0.4, dense=0.0),
    "a harder level that pays five times": change_level(5.0, 0.4, dense=0.5),
}


def count_alarms(draw, count, seeds):
    """Return in how many simulated runs a parting is found."""
    runs = (draw(np.random.default_rng([seed, count]), count) for seed in seeds)
    return sum(find_parting(*run, late=0.2, chance=0.005) is not None for run in runs)


@pytest.mark.parametrize("name", HACKS)
def test_a_hack_is_found_in_a_run_of_600_episodes(name):
    assert count_alarms(HACKS[name], 600, range(10)) >= 9


@pytest.mark.slow
@pytest.mark.parametrize("name", HACKS)
def test_a_hack_is_found_in_28_of_30_runs(name):
    assert count_alarms(HACKS[name], 600, range(30)) >= 28


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_run_is_no_alarm(name):
    assert sum(count_alarms(HONEST[name], count, range(20)) for count in (20, 60, 200)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_honest_runs_are_hardly_ever_an_alarm(name):
    alarms = [count_alarms(HONEST[name], count, range(50)) for count in (20, 60, 200, 1000)]
    assert sum(alarms) <= 4  # of 200; 1 is to be expected by chance where only one of the two is noise


@pytest.mark.parametrize("count", [200, 2000])
def test_an_abrupt_turn_is_located(count):
    misses = []
    for seed in range(10):
        rng = np.random.default_rng([seed, count])
        hacked = (np.arange(count) >= 0.55 * count).astype(np.float64)
        goals = draw_goals(rng, 0.6 * (1 - hacked))
        found = find_parting(goals + 1.1 * hacked, goals, late=0.2, chance=0.005)
        misses.append(abs(found.turn - 0.55 * count) / count)
    assert np.median(misses) < 0.02


def test_numbers_of_any_size_can_be_compared():
    returns, goals = HACKS["abrupt, goal paid"](np.random.default_rng(0), 600)
    found = find_parting(returns, goals, late=0.2, chance=0.005)
    assert found == find_parting(1e300 * returns, 1e-300 * goals, late=0.2, chance=0.005)
    assert find_parting(np.full(600, 0.1), goals, late=0.2, chance=0.005) is None


# -- recorded runs, with figures to work out by hand ---------------------------------------------------------------------


@term
def extra(bonus):
    """Something else that pays."""
    return bonus


@term(kind="goal")
def arrival(arrived):
    """Arrive."""
    return 1.0 if arrived else 0.0


def has_arrived(arrived):
    """Return whether it has arrived."""
    return arrived


FIELDS = [Field("bonus", low=-100, high=100), Field("arrived", flag=True)]
REWARD = Reward("walk", version="1", terms=[extra, arrival], fields=FIELDS, task=Task(goal=has_arrived))


def walk(arrived, bonus):
    return {"bonus": [bonus, 0.0], "arrived": [False, arrived]}


HONESTLY = [walk(at % 5 < 3, 0.3) for at in range(50)]
"""Of five episodes, three return 1.3 and two 0.3: 0.9 on average."""
HACKED = [walk(False, 1.4)] * 50


def find(ledger, **how):
    return list(audit(ledger, REWARD, only="parted-from-goal", **how))


@pytest.fixture
def ledger(tmp_path):
    """An empty ledger."""
    with Ledger(tmp_path / "rewards.db") as opened:
        yield opened


def test_a_paid_goal_that_is_given_up_for_something_that_pays_more(ledger):
    record_episodes(ledger, REWARD, HONESTLY + HACKED)
    (finding,) = find(ledger)
    assert finding.severity == "warning"
    assert finding.message == (
        "from about episode night/48 (record 97) on, the mean return rises from 0.9 to 1.4 while the share of episodes "
        "that reach the goal falls from 60.0 % to 0.0 % (40 complete episodes from night/10 to night/49, compared with "
        "the last 50)."
    )
    before, after = finding.witness
    assert (before.record, before.total, after.record, after.total) == (96, 1.0, 200, 0.0)


def test_a_threshold_says_how_often_chance_may_raise_it(ledger):
    record_episodes(ledger, REWARD, HONESTLY[:20] + HACKED[:20])
    assert not find(ledger, thresholds=Thresholds(chance=1e-9))
    assert find(ledger, thresholds=Thresholds(chance=1.0))


@pytest.mark.parametrize("count", [5, 10])
def test_few_episodes_say_nothing(ledger, count):
    record_episodes(ledger, REWARD, HONESTLY[:count] + HACKED[:count])
    assert not find(ledger)


def test_runs_are_not_compared_with_each_other(ledger):
    record_episodes(ledger, REWARD, HONESTLY, run="a")
    record_episodes(ledger, REWARD, HACKED, run="b")
    assert not find(ledger)


def test_runs_that_part_are_told_together(ledger):
    for run in "abc":
        record_episodes(ledger, REWARD, HONESTLY if run == "b" else HONESTLY + HACKED, run=run)
    (finding,) = find(ledger)
    assert "from about episode a/48" in finding.message
    assert finding.message.endswith(" The same happens in c.")


def test_too_few_episodes_of_each_run_are_said_to_be(ledger):
    for run in "abc":
        record_episodes(ledger, REWARD, HONESTLY[:10], run=run)
    report = audit(ledger, REWARD)
    assert (
        report.skipped["parted-from-goal"]
        == "at least 20 complete episodes of one run are needed; the longest run has 10"
    )


def test_an_actor_that_comes_later_is_no_change_in_training(ledger):
    record_episodes(ledger, REWARD, HONESTLY, actor="left")
    record_episodes(ledger, REWARD, HACKED, actor="right")
    assert not find(ledger)


def test_actors_that_part_one_after_the_other_are_found(ledger):
    record_episodes(ledger, REWARD, HONESTLY + HACKED, actor="left")
    record_episodes(ledger, REWARD, HONESTLY + HACKED, actor="right")
    (finding,) = find(ledger)
    assert "rises from 0.9 to 1.4" in finding.message
    assert (
        "(80 complete episodes from night/left/10 to night/right/49, compared with the last 100; each"
        in finding.message
    )


def test_unfinished_episodes_do_not_count(ledger):
    record_episodes(ledger, REWARD, HONESTLY)
    for at, episode in enumerate(HACKED):
        ledger.record_batch(REWARD, episode, run="night", episode=f"broken off {at}", step=range(2))
    assert not find(ledger)


def test_a_run_that_says_nothing_of_ends_counts_beside_one_that_does(ledger):
    record_episodes(ledger, REWARD, HONESTLY, run="ended")
    record_episodes(ledger, REWARD, HONESTLY + HACKED, run="by hand", ends=None)
    (finding,) = find(ledger)
    assert "from about episode by hand/48" in finding.message


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"better": {"angle": "low"}}, "while angle (better low) rises from 1 to 3"),
        ({"aim": {"angle": -1.0}}, "while the distance of angle from -1 rises from 2 to 4"),
    ],
)
def test_a_measure_that_is_better_low_rises(ledger, said, told):
    @term
    def lean(angle):
        """Lean."""
        return angle

    reward = Reward("pole", version="1", terms=[lean], fields=[Field("angle", low=-9, high=9)], task=Task(**said))
    record_episodes(ledger, reward, [{"angle": [1.0, 1.0]}] * 30 + [{"angle": [3.0, 3.0]}] * 30)
    (finding,) = audit(ledger, reward, only="parted-from-goal")
    assert "the mean return rises from 2 to 6 " + told in finding.message
