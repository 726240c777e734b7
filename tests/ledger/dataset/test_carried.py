"""Rewards that carry state, and `prev` from the row before: over files, over parts, and over pieces of parts."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plaudit import Field, Reward, State, term
from plaudit.errors import BrokenEpisode, MissingField
from plaudit.ledger.dataset import score_file
from support.tables import read
from support.task_engines import InOrder, score_in_order

ROWS, ACTORS, LENGTH = 600, 4, 37


def count_air(contact, prev, *, dt=0.02):
    return 0.0 if contact else min(prev.air + dt, 10.0)


@term
def hang(air):
    return -air


@term
def closer(prev, curr):
    return prev.x - curr.x


@term
def planned(prev, phase):
    return 1.0 if prev.phase == "plan" and phase == "act" else 0.0


CONTACT, X, PHASE = Field("contact", flag=True), Field("x", low=0, high=9), Field("phase", values=("plan", "act"))
AIR = State("air", reset=0.0, low=0, high=10, update=count_air)
HANGING = Reward("hanging", version="1", terms=[hang], fields=[CONTACT, AIR])
CLOSING = Reward("closing", version="1", terms=[closer, planned], fields=[X, PHASE])


@pytest.fixture
def rows():
    """Make steps of actors that take turns, in episodes that begin here and there."""
    rng = np.random.default_rng(0)
    actor, time = np.tile(np.arange(ACTORS), ROWS // ACTORS), np.repeat(np.arange(ROWS // ACTORS), ACTORS)
    later = time + 9 * actor
    episode = later // LENGTH
    return pa.table({
        "actor": [f"a{at}" for at in actor],
        "episode": episode,
        "step": np.where(episode == 0, time, later % LENGTH),
        "contact": pa.array(rng.random(ROWS) < 0.3, mask=np.arange(ROWS) == 77),
        "x": pa.array(rng.uniform(0, 9, ROWS), mask=np.arange(ROWS) == 88),
        "phase": rng.choice(["plan", "act"], ROWS),
    })  # fmt: skip


@pytest.fixture
def folder(rows, tmp_path):
    place = tmp_path / "rows"
    place.mkdir()
    for at in range(3):
        pq.write_table(rows.slice(200 * at, 200), place / f"{at}.parquet", row_group_size=40)
    return place


def whole(folder):
    return pa.concat_tables([read(folder / f"{at}.parquet") for at in range(3)])


def test_states_are_those_of_score_episodes(rows, folder, tmp_path):
    done = score_file(HANGING, folder, tmp_path / "out", batch_rows=23)
    assert "computed from the first step" in str(done)
    keys = [
        f"{actor}-{episode}"
        for actor, episode in zip(*(rows[n].to_pylist() for n in ("actor", "episode")), strict=True)
    ]
    columns = {"contact": np.array(rows["contact"].to_pylist(), float)}
    known = HANGING.score_episodes(columns, episode=keys, step=rows["step"].to_numpy(), on_bad="mask")
    found = whole(tmp_path / "out")
    assert found["ok"].to_pylist() == known.scores.ok.tolist()
    assert (done.bad, done.reasons) == (1, {"contact is NULL": 1})
    assert [total for total in found["total"].to_pylist() if total is not None] == known.scores.total[
        known.scores.ok
    ].tolist()


def test_prev_is_the_row_before_of_the_same_episode(rows, folder, tmp_path):
    done = score_file(CLOSING, folder, tmp_path / "out", batch_rows=23, bad_rows=None)
    last, expected = {}, []
    for row in rows.to_pylist():
        before = last.get((row["actor"], row["episode"]))
        last[row["actor"], row["episode"]] = row
        ready = before is not None and before["x"] is not None and row["x"] is not None
        paid = ready and CLOSING.score(
            prev={"x": before["x"], "phase": before["phase"]}, curr={"x": row["x"], "phase": row["phase"]}
        )
        expected.append(paid.total if paid else None)
    assert whole(tmp_path / "out")["total"].to_pylist() == expected
    assert done.reasons == {"prev.x is NULL": len(last) + 1, "curr.x is NULL": 1}


def list_returns(changes):
    return dict(zip(changes.episodes.keys, changes.episodes.new.tolist(), strict=True))


@pytest.mark.parametrize(
    ("reward", "slots"),
    [
        pytest.param(reward, slots, id=f"{name}-{slots}", marks=() if slots == first else pytest.mark.slow)
        for name, reward, first in (("state", HANGING, 50), ("prev", CLOSING, 4))
        for slots in (1, 4, 50)
    ],
)
def test_pieces_catch_up_on_episodes_that_began_before_them(folder, tmp_path, reward, slots):
    here = score_file(reward, folder, tmp_path / "here", against=reward.with_weights(**{reward.terms[0].name: 2.0}))
    there = score_in_order(
        reward, folder, tmp_path / "there", InOrder(slots), against=reward.with_weights(**{reward.terms[0].name: 2.0})
    )
    assert whole(tmp_path / "there").equals(whole(tmp_path / "here"))
    assert (there.bad, there.reasons) == (here.bad, here.reasons)
    assert there.changes.records == here.changes.records
    assert list_returns(there.changes) == pytest.approx(list_returns(here.changes))
    assert len(there.changes.episodes) == 20
    at_once = score_in_order(reward, folder / "0.parquet", tmp_path / "0.parquet", InOrder(slots))
    assert at_once.rows == 200
    assert read(tmp_path / "0.parquet").equals(read(tmp_path / "here/0.parquet"))


def test_parts_of_text_catch_up_too(rows, tmp_path):
    (tmp_path / "rows").mkdir()
    listed = [{k: v for k, v in row.items() if v is not None} for row in rows.to_pylist()]
    for at in range(3):
        lines = [json.dumps(row) + "\n" for row in listed[200 * at : 200 * at + 200]]
        (tmp_path / f"rows/{at}.jsonl").write_text("".join(lines))
    (tmp_path / "all.jsonl").write_text("".join((tmp_path / f"rows/{at}.jsonl").read_text() for at in range(3)))
    for reward in (HANGING, CLOSING):
        score_file(reward, tmp_path / "all.jsonl", tmp_path / "here.jsonl", overwrite=True)
        score_in_order(reward, tmp_path / "rows", tmp_path / reward.name)
        parts = [(tmp_path / reward.name / f"{at}.jsonl").read_text() for at in range(3)]
        assert "".join(parts) == (tmp_path / "here.jsonl").read_text()


def test_a_part_before_that_changed_lets_those_behind_it_be_scored_again(folder, tmp_path):
    score_in_order(HANGING, folder, tmp_path / "out")
    changed = read(folder / "1.parquet")
    contact = pa.array([not flag for flag in changed["contact"].to_pylist()])
    pq.write_table(changed.set_column(3, "contact", contact), folder / "1.parquet")
    engine = InOrder(1)
    score_in_order(HANGING, folder, tmp_path / "out", engine)
    assert {name for name, _ in engine.done} == {"1.parquet", "2.parquet"}
    score_file(HANGING, folder, tmp_path / "here")
    assert whole(tmp_path / "out").equals(whole(tmp_path / "here"))


class Stopped(Exception):
    pass


def test_a_local_run_that_was_stopped_carries_through_its_finished_parts(folder, tmp_path):
    def stop(done, total):
        if done > 210:
            raise Stopped

    with pytest.raises(Stopped):
        score_file(HANGING, folder, tmp_path / "out", progress=stop)
    assert score_file(HANGING, folder, tmp_path / "out").resumed == 1
    score_file(HANGING, folder, tmp_path / "here")
    assert whole(tmp_path / "out").equals(whole(tmp_path / "here"))


@pytest.mark.parametrize("score", [score_file, score_in_order], ids=["local", "tasks"])
def test_an_episode_that_lacks_a_step_is_told(rows, tmp_path, score):
    pq.write_table(rows.filter(np.arange(ROWS) != 301), tmp_path / "rows.parquet", row_group_size=50)
    with pytest.raises(BrokenEpisode, match=r"rows\.parquet, row 305: step 11 of episode 2 does not follow"):
        score(HANGING, tmp_path / "rows.parquet", tmp_path / "out.parquet")
    pq.write_table(rows.slice(300), tmp_path / "late.parquet", row_group_size=50)
    with pytest.raises(BrokenEpisode, match=r"late\.parquet, row 1: the first row of episode 2 is step 1, and|begin"):
        score(HANGING, tmp_path / "late.parquet", tmp_path / "out.parquet")
    pq.write_table(rows.drop_columns(["step"]), tmp_path / "no.parquet")
    with pytest.raises(MissingField, match=r"lacks 'prev\.air'"):
        score(HANGING, tmp_path / "no.parquet", tmp_path / "out.parquet")


def test_a_bad_row_is_explained_with_what_was_carried_to_it(folder, tmp_path):
    score_file(CLOSING, folder / "0.parquet", tmp_path / "out.parquet", bad_rows=tmp_path / "bad.jsonl")
    told = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert told[0]["line"] == 1
    assert "needs 'prev.x', which was not given" in told[0]["error"]
