"""How a policy drives: every figure on drives that were made up for it, and on real ones."""

import numpy as np
import pytest

from plaudit import Ledger, Reward
from plaudit.systems.roadsense import version
from plaudit.systems.roadsense.measurement import Measurement
from plaudit.systems.roadsense.training.config import build_config
from plaudit.systems.roadsense.training.drives import BUCKETS, Bucket, Drive, drive_episode, record_drives
from plaudit.systems.roadsense.training.envs import build_env
from plaudit.systems.roadsense.training.evaluation import (
    evaluate_by_bucket,
    evaluate_drives,
    measure_reaction,
    rescore_drives,
)

R8 = version("R8")


def drive(distances, *, requested=None, speeds=None, bucket=(1, 1), **facts):
    """Return a drive that keeps these distances."""
    length = len(distances)
    still = dict.fromkeys(Measurement._fields, np.zeros(length))
    measured = {
        **still,
        "distance": np.array(distances, float),
        "action": np.zeros(length, int),
        "ego_speed": np.full(length, 10.0) if speeds is None else np.array(speeds, float),
    }
    facts = {"collision": False, "truncated": "limit", "hazard": 1, "failed": None, "warned": True, **facts}
    return Drive(
        Bucket(*bucket),
        measured,
        np.array(distances, float),
        np.zeros(length) if requested is None else np.array(requested, float),
        facts.pop("terms", {"safety": 1.0}),
        **facts,
    )


def test_there_are_fifteen_kinds_of_convoy():
    assert len(BUCKETS) == 15
    assert {str(bucket) for bucket in BUCKETS if bucket.peers == 3} == {"3/1", "3/2", "3/3"}


def test_a_reaction_is_the_first_braking_after_the_hazard_while_moving():
    late = drive([30] * 6, requested=[4.0, 0.0, 0.5, 0.6, 4.0, 0.0], hazard=1)
    assert measure_reaction(late) == pytest.approx(0.2)
    assert measure_reaction(drive([30] * 4, requested=[4.0, 0.0, 0.0, 0.5], hazard=1)) is None
    standing = drive([30] * 4, requested=[4.0] * 4, speeds=[0.0] * 4, hazard=1)
    assert measure_reaction(standing) is None
    assert evaluate_drives([standing]).standing_rate == 1.0
    assert evaluate_drives([late]).standing_rate == 0.0


def test_a_version_is_compiled_once_for_all_policies(monkeypatch):
    compiled, compile_reward = [], Reward.compile
    monkeypatch.setattr(
        Reward, "compile", lambda *given, **options: compiled.append(1) or compile_reward(*given, **options)
    )
    own = R8.with_params({"comfort.weight": 2.0})  # which no other test has scored
    assert [rescore_drives([drive([30, distance])], own) for distance in (30, 20, 10)]
    assert len(compiled) == 1


def test_figures_are_those_of_the_drives():
    found = evaluate_drives(
        [
            drive([30, 20, 8, 4.0], collision=True, truncated=None, terms={"safety": -60.0, "comfort": -3.0}),
            drive([30, 30, 30, 12], requested=[0, 0, 3, 3], terms={"safety": 10.0, "comfort": -4.0}),
            drive([30, 30], hazard=None, failed="no car ahead", terms={"safety": -2000.0, "comfort": 0.0}),
        ]
    )
    assert (found.episodes, found.hazards, found.failures) == (3, 2, {"no car ahead": 1})
    assert found.mean_return == pytest.approx((-63 + 6 - 2000) / 3)
    assert (found.least_return, found.most_return) == (-2000, 6)
    assert found.deviation == pytest.approx(np.std([-63, 6, -2000], ddof=1))
    assert found.mean_length == pytest.approx(10 / 3)
    assert found.collision_rate == pytest.approx(1 / 3)
    assert found.truncation_rate == pytest.approx(2 / 3)
    assert found.success_rate == pytest.approx(1 / 3)
    assert found.close_share == pytest.approx(2 / 10)
    assert found.least_distance == pytest.approx((4 + 12) / 2)
    assert (found.reaction_rate, found.reaction_time) == (0.5, pytest.approx(0.1))
    assert found.terms == {"safety": pytest.approx(-2050 / 3), "comfort": pytest.approx(-7 / 3)}


def test_without_a_hazard_there_is_nothing_to_say_of_reactions():
    found = evaluate_drives([drive([float("inf")] * 3, hazard=None, failed="no car ahead")])
    assert found.hazards == 0
    assert [found.reaction_rate, found.reaction_time, found.warned_rate, found.least_distance] == [None] * 4
    assert found.mean_distance is None


def test_the_same_drives_are_scored_by_every_version():
    drives = [drive([30, 30, 4.0]), drive([50, 50])]
    assert rescore_drives(drives, R8) == [pytest.approx(4 + 4 - 100), pytest.approx(-4)]
    assert rescore_drives(drives, version("R0")) == [pytest.approx(1 + 1 - 103), pytest.approx(1)]
    assert evaluate_drives(drives, versions=["R8"]).by_version == {"R8": pytest.approx((-92 - 4) / 2)}


def test_buckets_are_told_apart():
    found = evaluate_by_bucket([drive([30], bucket=(2, 1)), drive([30], bucket=(2, 1)), drive([30], bucket=(5, 3))])
    assert {name: each.episodes for name, each in found.items()} == {"2/1": 2, "5/3": 1}


@pytest.fixture(scope="module")
def env(lent_sumo):
    """Return the road that runs of R8 are evaluated on."""
    with lent_sumo():
        made = build_env(R8, build_config(R8))
    yield made
    made.close()


def nothing(seen):
    """Never brake."""
    return 0.0


def prudent(seen):
    """Brake hard when some peer warns, and until the car stands."""
    return 0.9 if seen.measured.peer_warned_ever else 0.0


def seeded(*numbers):
    return np.random.SeedSequence(numbers)


def test_who_never_brakes_collides_and_who_heeds_the_warning_does_not(env):
    careless = drive_episode(env, nothing, Bucket(3, 2), seed=seeded(1))
    careful = drive_episode(env, prudent, Bucket(3, 2), seed=seeded(1))
    assert (careless.collision, careless.truncated) == (True, None)
    assert careless.true_distance[-1] < 5
    assert measure_reaction(careless) is None
    assert careful.collision is False
    assert careful.truncated == "limit of 500 steps"
    assert 0 < measure_reaction(careful) < 3
    assert careless.hazard == careful.hazard  # the same convoy and the same hazard, whoever drives
    assert careless.warned
    assert careful.warned


def test_the_car_of_the_rank_brakes_in_a_convoy_of_so_many(env):
    first = drive_episode(env, nothing, Bucket(5, 1), seed=seeded(2))
    assert first.hazard is not None
    assert 150 <= first.hazard <= 350
    braking = np.diff(first.measured["closing_rate"][first.hazard :]).max()
    assert braking > 0.2  # the car right ahead slows down at once


def test_a_drive_pays_what_its_steps_pay_and_is_the_same_again(env):
    one, two = (drive_episode(env, prudent, Bucket(2, 1), seed=seeded(3)) for _ in range(2))
    np.testing.assert_array_equal(one.true_distance, two.true_distance)
    assert one.returned == two.returned
    assert rescore_drives([one], R8) == [pytest.approx(one.returned)]


def test_drives_in_a_ledger_are_explained_and_verified(env, tmp_path):
    found = drive_episode(env, nothing, Bucket(1, 1), seed=seeded(4))
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_drives(ledger, R8, [found], run="runs/r8", actor="trained", steps=1000)
        assert ledger.verify().ok
        steps = list(ledger.history(run="runs/r8", actor="trained", phase="evaluation", episode="1/1"))
        assert len(steps) == len(found.requested)
        assert sum(record.signal.total for record in steps) == pytest.approx(found.returned)
        assert steps[0].context == {"trained_steps": 1000}
