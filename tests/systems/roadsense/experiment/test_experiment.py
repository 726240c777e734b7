"""The experiment on real SUMO: what was found about the versions by hand is found again."""

import os

import numpy as np
import pytest

from plaudit import DefinitionError, Ledger
from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.experiment import STUDIES, driving, run_experiment
from plaudit.systems.roadsense.experiment.driving import drive_cases
from plaudit.systems.roadsense.experiment.study import Case
from plaudit.systems.roadsense.versions import VERSIONS

HISTORIC = [label for label in VERSIONS if label.startswith("R")]
PARKED = ("R0", "R1", "R2", "R3", "R5")
"""Versions under which a car that comes to a stand on the road earns most when there is a hazard."""

# Policy and situation, and what the versions paid: no number here was computed by this code.
TABLE = {
    ("nothing", "calm"): (356, 356, 329, 329, 328, 646, 134, -50, -50, -50, -50, -50, -50),
    ("nothing", "hazard"): (-1616, -1616, -926, -926, -2214, -657, -588, -546, -791, -1058, -875, -835, -870),
    ("full", "calm"): (-235, -293, -318, -292, -166, -81, -816, -1297, -1297, -1297, -1297, -1297, -1297),
    ("full", "hazard"): (-235, -293, -318, -292, -166, -81, -816, -1297, -1542, -1297, -1297, -1297, -1297),
    ("late", "hazard"): (-1366, -1543, -327, -135, -537, 37, -269, -181, -426, -538, -470, -443, -467),
}
SCORED = ("R0", "R1", "R2", "R3", "R4", "R6", "R7", "R8", "R9", "R10", "R11", "R12a", "R12b")


@pytest.mark.parametrize(("policy", "situation"), TABLE)
def test_the_continuous_drives_earn_what_they_did_when_the_versions_were_compared(found, policy, situation):
    earned = [found["continuous"].mean_return(version, policy, situation) for version in SCORED]
    assert earned == pytest.approx(TABLE[policy, situation], abs=0.6)


def test_braking_when_warned_keeps_its_distance_and_comes_within_a_few_points(found):
    # The rule was fitted to these figures, which do not say what it was: this keeps it, and proves nothing more.
    continuous = found["continuous"]
    assert continuous.driven["warned", True].nearest == pytest.approx(17.9, abs=0.05)
    earned = [continuous.mean_return(version, "warned", "hazard") for version in SCORED]
    assert earned == pytest.approx((130, -345, -373, -23, 319, 314, -67, -53, 32, 292, 59, 64, 59), abs=4)


def test_parking_wins_up_to_r3_and_again_under_r5(found):
    best = {version: found["continuous"].rank_policies(version, "hazard")[0] for version in HISTORIC}
    assert [version for version in HISTORIC if best[version] == "park"] == list(PARKED)
    assert all(best[version] == "warned" for version in HISTORIC if version not in PARKED)


def name_hacks(result, version, situation="hazard"):
    return {hack.policy: hack.kind for hack in result.find_hacks(version, situation)}


def test_who_looks_at_nothing_wins_under_graded_and_not_under_following_where_sumo_keeps_the_gap(found):
    continuous = found["continuous"]
    assert name_hacks(continuous, "graded") == dict.fromkeys(("park", "full", "random"), "parking")
    assert name_hacks(continuous, "following") == {}
    assert continuous.rank_policies("following", "hazard")[0] == "warned"
    assert name_hacks(found["discrete"], "following") == {}


def test_on_the_road_of_training_following_pays_for_crashing(found):
    discrete, continuous = found["discrete-training"], found["continuous-training"]
    assert discrete.driven["maintain", True].collisions == continuous.driven["nothing", True].collisions == 3
    assert name_hacks(discrete, "following") == {"maintain": "crash"}
    assert name_hacks(continuous, "R9L")["nothing"] == "crash"
    assert discrete.judge("following") == {"crash": True}


def test_keep_gap_pays_for_neither_parking_nor_crashing_on_either_road(found):
    for result in found.values():
        assert result.judge("keep_gap") == {}
        collided = [policy for policy in result.policies if result.driven[policy, True].collisions]
        paid = {policy: result.mean_return("keep_gap", policy, "hazard") for policy in result.policies}
        best_crashing = max((paid[policy] for policy in collided), default=-np.inf)
        assert min(paid[policy] for policy in result.study.wanted) > best_crashing


def test_the_policies_that_are_wanted_never_collide(found):
    assert all(result.count_collisions(policy) == 0 for result in found.values() for policy in result.study.wanted)


def test_the_whole_order_holds_from_r7_on_and_not_before(found):
    def ordered(version):
        warned, nothing, park = (
            found["continuous"].mean_return(version, policy, "hazard") for policy in ("warned", "nothing", "park")
        )
        return warned > nothing > park

    assert [version for version in HISTORIC if ordered(version)] == HISTORIC[HISTORIC.index("R7") :]


def test_always_caution_stands_on_the_road_and_out_earns_driving_under_r0(found):
    discrete = found["discrete"]
    calm, hazard, expected = (discrete.mean_return("R0", "caution", each) for each in ("calm", "hazard", "expected"))
    assert calm == hazard == expected == pytest.approx(508.3, abs=0.5)
    assert discrete.rank_policies("R0", "hazard")[0] == discrete.rank_policies("R0", "expected")[0] == "caution"
    assert name_hacks(discrete, "R0") == name_hacks(discrete, "R0", "expected") == {"caution": "parking"}


def test_maintain_and_the_sensible_rule_are_ruined_by_a_hazard_under_r0(found):
    discrete = found["discrete"]
    assert discrete.mean_return("R0", "maintain", "calm") == discrete.mean_return("R0", "sensible", "calm") > 500
    assert discrete.mean_return("R0", "maintain", "hazard") < -6900
    assert -4400 < discrete.mean_return("R0", "sensible", "hazard") < -4200
    assert discrete.driven["maintain", True].nearest == pytest.approx(7.5, abs=0.05)
    assert discrete.driven["sensible", True].nearest == pytest.approx(14.0, abs=0.15)


def test_the_three_brakes_are_one_on_the_road_and_differ_in_what_they_are_charged(found):
    drives = drive_cases(Case("discrete", policy, True, 0) for policy in ("caution", "brake", "emergency"))
    caution, brake, emergency = (drive.rows for drive in drives)
    physical = [0, 3, 4]  # distance, closing rate, own speed
    assert np.array_equal(caution[:, physical], brake[:, physical])
    assert np.array_equal(caution[:, physical], emergency[:, physical])
    assert [rows[0, 1] for rows in (caution, brake, emergency)] == [0.5, 2.0, 4.5]


def test_nobody_touches_the_car_ahead_where_sumo_keeps_the_gap(found):
    driven = [each for name in ("discrete", "continuous") for each in found[name].driven.values()]
    assert sum(each.collisions for each in driven) == 0


def test_what_the_ledger_has_is_scored_again_and_not_driven_again(found, place, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a drive was to be simulated")

    monkeypatch.setattr(driving, "_open_pool", refuse)
    with Ledger(place) as ledger:
        before = ledger.history().count()
        again = run_experiment(ledger, studies=["continuous"], seeds=5, checks=False)
        assert ledger.history().count() == before
    assert again.simulated == 0
    assert again.studies["continuous"].to_dict() == found["continuous"].to_dict()


def test_more_seeds_drive_only_what_lacks(place, found, lent_workers, tmp_path):
    with Ledger(place) as ledger:
        ledger.backup(tmp_path / "more.db")
    with Ledger(tmp_path / "more.db") as ledger, lent_workers():
        more = run_experiment(ledger, studies=["discrete"], policies=["late"], seeds=2, checks=False, workers=2)
    assert more.simulated == 3 * 2  # the one seed that is new, of the policy asked for and of the two it is measured by
    assert more.studies["discrete"].policies == ("sensible", "warned", "late")


@pytest.mark.parametrize("study", ["continuous", "discrete-training"])
def test_a_seed_gives_the_same_drive_to_the_bit(study):
    case = Case(study, "random", True, 3)
    first, again, other = drive_cases([case, case, case._replace(seed=4)])
    assert np.array_equal(first.rows, again.rows)
    assert not np.array_equal(first.rows, other.rows)


LOADED = """(
    __import__("plaudit.systems.roadsense.experiment.driving", fromlist=["_"])._drive_all({}, [CASE]),
    sorted({"pyarrow", "pandas", "torch", "jax", "sqlalchemy"} & set(__import__("sys").modules)),
)[1]"""


@pytest.mark.parametrize("study", ["continuous", "continuous-training"])
def test_a_worker_drives_without_pyarrow_and_without_a_ledger(study):
    case = f'__import__("plaudit.systems.roadsense.experiment.study", fromlist=["_"]).Case("{study}", "full", False, 0)'
    with driving.Workers(1) as workers:
        assert list(workers.run(eval, [LOADED.replace("CASE", case)])) == [[]]


def test_a_worker_that_dies_is_an_error():
    with pytest.raises(SimulatorError, match="a worker process died"), driving.Workers(1) as workers:
        list(workers.run(os._exit, [3]))


def test_what_comes_later_is_done_by_the_same_worker():
    with driving.Workers(1) as workers:
        assert len({process for _ in range(2) for process in workers.run(eval, ["__import__('os').getpid()"])}) == 1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"studies": ["discreet"]}, "Did you mean 'discrete'"),
        ({"versions": ["R13"]}, "R13"),
        ({"policies": ["warnd"]}, "Did you mean 'warned'"),
    ],
)
def test_an_unknown_name_is_an_error_before_anything_is_driven(tmp_path, asked, message):
    with Ledger(tmp_path / "rewards.db") as ledger, pytest.raises(DefinitionError, match=message):
        run_experiment(ledger, **asked)


@pytest.mark.slow
def test_the_whole_experiment_finds_what_was_found_by_hand(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        whole = run_experiment(ledger, seeds=10)
        assert ledger.verify().ok
    discrete = whole.studies["discrete"]
    for policy, calm, hazard in (
        ("maintain", 515.6, -6961.6),
        ("caution", 508.3, 508.3),
        ("brake", -1458.5, -1458.5),
        ("emergency", -1512.5, -1512.5),
        ("sensible", 515.6, -4313.2),
    ):
        earned = [discrete.mean_return("R0", policy, situation) for situation in ("calm", "hazard")]
        assert earned == pytest.approx([calm, hazard], abs=0.06), policy
    assert list(whole.summaries) == list(VERSIONS)
    assert "dominated-action" in whole.summaries["R0"].codes
    assert list(whole.studies) == list(STUDIES)
    assert {version for version in VERSIONS if not any(each.judge(version) for each in whole.studies.values())} == {
        "R10",
        "keep_gap",
    }
