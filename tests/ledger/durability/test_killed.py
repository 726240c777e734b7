"""Writers killed at a random moment: what was acknowledged is there, and nothing is there by half."""

import os

import pytest

from support.ledgers import run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")

# mode of recording, kills in `make test`, kills in `make soak`
MODES = [("single", 3, 400), ("keyed", 2, 150), ("many", 2, 100), ("batch", 2, 100), ("buffered", 3, 150),
         ("checkpoints", 2, 100), ("segments", 2, 200)]  # fmt: skip


def kill(path, mode, kills, counted):
    found = run("kill", path, kills, mode, 7)
    counted("writers killed (kill -9)", kills=kills, acknowledged=found["acknowledged"], lost=0, doubled=0)
    assert found["acknowledged"] > 0  # how many, depends on how busy the machine is
    assert found["recovery"] < 1


@pytest.mark.parametrize(("mode", "kills"), [(mode, few) for mode, few, _ in MODES])
def test_nothing_acknowledged_is_lost_and_nothing_is_half_there(tmp_path, mode, kills, counted):
    kill(tmp_path / "ledger.db", mode, kills, counted)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "kills"), [(mode, many) for mode, _, many in MODES])
def test_nothing_acknowledged_is_lost_in_1000_kills(tmp_path, mode, kills, counted):
    kill(tmp_path / "ledger.db", mode, kills, counted)


def kill_jobs(folder, rounds, records, job, counted):
    found = run("kill_jobs", folder, rounds, records, 11, job)
    counted(f"{job} killed and begun again until done", rounds=rounds, kills=found["kills"], wrong=0)
    assert found["kills"] > 0


def test_a_rescoring_that_is_killed_and_resumed_scores_each_record_once(tmp_path, counted):
    kill_jobs(tmp_path, 1, 200, "rescore", counted)


def test_an_import_that_is_killed_is_all_there_or_not_at_all(tmp_path, counted):
    kill_jobs(tmp_path, 1, 200, "import", counted)


@pytest.mark.slow
@pytest.mark.parametrize("job", ["rescore", "import"])
def test_jobs_killed_100_times(tmp_path, job, counted):
    kill_jobs(tmp_path, 60, 1500, job, counted)
