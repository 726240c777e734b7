"""Commands on object storage: score, diff and audit take addresses, and every process ends by itself."""

import json

import numpy as np
import pytest

from support.object_storage import SECRET

pa = pytest.importorskip("pyarrow", reason="needs plaudit[data]")
import pyarrow.parquet as pq  # noqa: E402

REWARDS = """
from plaudit import Field, Reward, Task, term

@term
def closer(prev, curr):
    return max(0.0, prev.left - curr.left)

one = Reward("maze", version="1", terms=[closer], fields=[Field("left", low=0, high=40)])
two = one.with_weights(closer=2.0).with_version("2")
"""


@pytest.fixture
def rewards(tmp_path):
    (tmp_path / "maze.py").write_text(REWARDS)
    return "maze.py"


def walk(count=30):
    """Return steps of an agent that goes to and fro."""
    episodes = [np.tile([10.0, 9.0], 51) for _ in range(count)]
    return pa.table(
        {
            "episode": np.repeat(np.arange(count), 101),
            "step": np.tile(np.arange(101), count),
            "prev.left": np.concatenate([each[:-1] for each in episodes]),
            "curr.left": np.concatenate([each[1:] for each in episodes]),
            "terminated": np.tile(np.arange(101) == 100, count),
        }
    )


@pytest.fixture
def steps(storage, tmp_path):
    pq.write_table(walk(), tmp_path / "steps.parquet")
    return storage.upload(tmp_path / "steps.parquet", "steps/part-0.parquet").rpartition("/")[0]


def test_every_command_takes_addresses(plaudit, rewards, storage, steps, tmp_path):
    done = plaudit("score", f"{rewards}:one", steps, "-o", f"{storage.address}/out", "--json")
    assert (done.exit_code, json.loads(done.stdout)["rows"]) == (0, 3030), done.stderr
    assert storage.list("out") == ["_plaudit.json", "part-0.parquet"]
    done = plaudit("diff", f"{rewards}:one", f"{rewards}:two", "--data", f"{steps}/part-0.parquet")
    assert done.exit_code == 1, done.stderr
    assert "30 episodes" in done.stdout
    done = plaudit("audit", steps, "--reward", f"{rewards}:one", "--only", "walked-laps")
    assert done.exit_code == 0, done.stderr  # it is advice
    assert f"Read: 3,030 steps of 30 episodes in {steps}." in done.stdout
    assert "walked-laps" in done.stdout


def test_an_audit_of_a_local_file_needs_its_reward(plaudit, rewards, tmp_path):
    pq.write_table(walk(), tmp_path / "steps.parquet")
    assert "name it with --reward" in plaudit("audit", "steps.parquet").stderr
    done = plaudit("audit", "steps.parquet", "--reward", f"{rewards}:one", "--only", "walked-laps", "--episode", "3")
    assert "Read: 101 steps of 1 episode in steps.parquet." in done.stdout, done.stderr
    done = plaudit("rescore", f"{rewards}:one", "steps.parquet")
    assert (done.exit_code, "plaudit score maze.py:one steps.parquet" in done.stderr) == (2, True)


def test_bad_rows_are_kept_beside_the_scores(plaudit, rewards, storage, tmp_path):
    text = "prev.left,curr.left\n4,3\n4,\n"
    source, target = storage.put("steps.csv", text.encode()), f"{storage.address}/scores.csv"
    done = plaudit("score", f"{rewards}:one", source, "-o", target)
    assert (done.exit_code, storage.list()) == (3, ["scores.bad.jsonl", "scores.csv", "steps.csv"]), done.stderr
    storage.put("steps.csv", b"prev.left,curr.left\n4,3\n")
    assert plaudit("score", f"{rewards}:one", source, "-o", target, "--force").exit_code == 0
    assert storage.list() == ["scores.csv", "steps.csv"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("s3://no-such-bucket-here/steps.csv", "there is no bucket"),
        (f"s3://key:{SECRET}@bucket/steps.csv", "Leave them out of the address"),
        ("{steps}/none.csv", "does not exist"),
        ("hdfs://host/steps.csv", "hdfs:// is not supported"),
    ],
)
def test_what_cannot_be_read_is_one_message(plaudit, rewards, steps, source, message):
    for command in (
        ["score", f"{rewards}:one", source, "-o", "out.csv"],
        ["diff", f"{rewards}:one", f"{rewards}:two", "--data", source],
    ):
        done = plaudit(*(part.replace("{steps}", steps) for part in command))
        assert (done.exit_code, message in done.stderr) == (2, True), done.stderr
        assert SECRET not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def finish(running):
    """Return the exit code, and what a process printed; one that hangs fails the test."""
    out, err = running.communicate(timeout=60)
    return running.returncode, (out + err).decode()


def test_processes_that_used_a_storage_end_with_their_exit_code(process, rewards, storage, steps, tmp_path):
    """Arrow hangs or aborts ("terminate called without an active exception") where a stream is open at the end."""
    deltalake = pytest.importorskip("deltalake", reason="needs plaudit[lake]")
    deltalake.write_deltalake(tmp_path / "table", walk(3))
    table, out = storage.upload(tmp_path / "table", "table"), f"{storage.address}/out"
    for _ in range(2):  # the second finds everything done
        code, told = finish(process("score", f"{rewards}:one", table, "-o", out))
        assert (code, "303 rows" in told, SECRET in told) == (0, True, False), told
    storage.fail("ExpiredToken", method="PUT")
    code, told = finish(process("score", f"{rewards}:one", steps, "-o", f"{storage.address}/parts"))
    assert (code, "credentials have expired" in told, SECRET in told) == (2, True, False), told
    storage.heal()
    code, told = finish(process("score", f"{rewards}:one", f"{steps}/part-0.parquet"))
    assert code == 0, told[-500:]
    assert not [name for name in storage.list() if SECRET.encode() in storage.get(name)]
