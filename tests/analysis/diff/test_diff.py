"""Two versions of a reward on recorded steps: totals, terms, episodes and the steps that changed most."""

import json

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, State, term
from plaudit.analysis import diff
from plaudit.errors import BrokenEpisode, DefinitionError, MissingField, NotInLedger, UnusableFile
from plaudit.ledger.rescore.changes import correlate_ranks

FIELDS = [Field("distance", low=0, high=60), Field("speed", low=0, high=30)]


@term
def near(distance, *, reach=20.0):
    return 1.0 if distance < reach else 0.0


@term(weight=-0.1)
def haste(speed):
    return speed


ONE = Reward("moving", version="1", terms=[near, haste], fields=FIELDS)
TWO = ONE.with_params({"near.reach": 30.0, "haste.weight": -0.05}).with_version("2")


def draw(rows, seed=0):
    rng = np.random.default_rng(seed)
    return {"distance": rng.uniform(0, 60, rows), "speed": rng.uniform(0, 30, rows)}


@pytest.fixture
def ledger(tmp_path):
    """A ledger of four episodes of five steps."""
    with Ledger(tmp_path / "rewards.db") as opened:
        for episode in range(4):
            opened.record_batch(ONE, draw(5, episode), run="night", episode=str(episode), step=range(5))
        yield opened


@pytest.fixture
def file(tmp_path):
    """The same steps in a file."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parts = [draw(5, episode) for episode in range(4)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    context = {"run": ["night"] * 20, "episode": np.repeat(np.arange(4), 5), "step": np.tile(np.arange(5), 4)}
    path = tmp_path / "steps.parquet"
    pq.write_table(pa.table({**context, **columns}), path)
    return path


def compute_returns(reward):
    score = reward.compile("numpy")
    return np.array([score(draw(5, episode)).total.sum() for episode in range(4)])


def test_returns_and_ranks_of_episodes_are_those_computed_one_by_one(ledger):
    effect = diff(ONE, TWO, ledger=ledger, run="night").effect
    old, new = compute_returns(ONE), compute_returns(TWO)
    returns = effect.changes.episodes
    assert returns.keys == [("night", None, str(episode)) for episode in range(4)]
    assert returns.old == pytest.approx(old)
    assert returns.new == pytest.approx(new)
    assert returns.rank_correlation == pytest.approx(correlate_ranks(old, new))
    changed = np.flatnonzero(np.argsort(np.argsort(-old)) != np.argsort(np.argsort(-new)))
    assert sorted(each.episode[-1] for each in effect.moved) == [str(at) for at in changed]
    for each in effect.moved:
        assert each.rank_before == 1 + (old > old[int(each.episode[-1])]).sum()
        assert each.rank_after == 1 + (new > new[int(each.episode[-1])]).sum()


def test_a_file_and_a_ledger_of_the_same_steps_give_the_same(ledger, file):
    by_ledger, by_file = diff(ONE, TWO, ledger=ledger).effect, diff(ONE, TWO, data=file).effect
    assert by_file.terms == by_ledger.terms
    ours, theirs = (each.changes.to_dict() for each in (by_file, by_ledger))
    assert ours["episodes"] == theirs["episodes"]
    assert ours["old"] == theirs["old"]
    assert [each.after.total for each in by_file.steps] == [each.after.total for each in by_ledger.steps]
    assert [each.number + 1 for each in by_file.steps] == [each.number for each in by_ledger.steps]


def test_terms_add_up_and_say_in_how_many_steps_they_changed(ledger):
    terms = diff(ONE, TWO, ledger=ledger).effect.terms
    rows = (
        [ONE.compile("numpy")(draw(5, at)) for at in range(4)],
        [TWO.compile("numpy")(draw(5, at)) for at in range(4)],
    )
    for name in ("near", "haste"):
        old, new = (np.concatenate([each.values[name] for each in side]) for side in rows)
        assert terms[name].before == pytest.approx(old.sum())
        assert terms[name].after == pytest.approx(new.sum())
        assert terms[name].changed == (old != new).sum()


def test_the_steps_that_changed_most_are_explained_by_both(ledger):
    steps = diff(ONE, TWO, ledger=ledger).effect.steps
    assert len(steps) == 10
    old, new = (np.concatenate([r.compile("numpy")(draw(5, at)).total for at in range(4)]) for r in (ONE, TWO))
    largest = np.sort(np.abs(new - old))[::-1][:10]
    assert [each.size for each in steps] == pytest.approx(largest.tolist())
    first = steps[0]
    recorded = ledger[first.number]
    assert first.before.total == recorded.total
    assert first.before["haste"].weight == -0.1
    assert first.after["haste"].weight == -0.05
    assert (first.episode, first.step) == (("night", None, recorded.episode), recorded.step)


def test_nothing_is_written(ledger):
    diff(ONE, TWO, ledger=ledger)
    assert ledger.jobs() == []
    assert ledger.history().count() == 20


def test_a_re_scoring_tells_the_same_of_episodes(ledger):
    found = diff(ONE, TWO, ledger=ledger).effect.changes.episodes.to_dict()
    done = ledger.rescore(TWO)
    assert done.changes.episodes.to_dict() == found
    assert done.to_dict()["changes"]["episodes"]["rank_correlation"] == found["rank_correlation"]
    assert "4 episodes: mean return" in str(done)


def test_a_renamed_term_is_one_row(ledger):
    @term(weight=-0.1)
    def hurry(speed):
        return speed

    found = diff(ONE, Reward("moving", version="2", terms=[near, hurry], fields=FIELDS), ledger=ledger)
    assert list(found.effect.terms) == ["near", "hurry"]
    assert found.effect.terms["hurry"].changed == 0
    assert found.effect.changes.unchanged == 20
    assert found.effect.steps == []
    assert found.verdict == "equal"
    assert "Terms of only one of them" not in str(found)


def test_what_is_the_same_is_proved_and_what_is_not_has_a_row_that_was_run():
    assert diff(ONE, ONE.with_version("2")).verdict == "equal"
    largest = diff(ONE, TWO).largest
    assert (ONE.score(**largest.inputs).total, TWO.score(**largest.inputs).total) == (largest.left, largest.right)
    assert largest.size == pytest.approx(2.5, abs=0.01), "between 20 and 30 m and at full speed"


def test_rewards_that_cannot_be_proved_equal_or_not_say_why():
    @term(name="near")
    def touching(distance):
        return 1.0 if distance else 0.0

    other = Reward("moving", version="2", terms=[touching], fields=[Field("distance", flag=True)])
    found = diff(ONE, other)
    assert found.verdict == "undecided"
    assert "'distance' is a number" in found.unproved
    assert found.unproved in str(found)


@term
def calm(noise):
    return -noise


NOISY = Reward("moving", version="3", terms=[near, calm], fields=[FIELDS[0], Field("noise", low=0, high=1)])


def test_rewards_over_different_fields_say_which_and_compare_on_what_both_read_if_asked(ledger):
    assert diff(ONE, NOISY).definition.only_after == ("noise",)
    with pytest.raises(MissingField, match="lack noise") as error:
        diff(ONE, NOISY, ledger=ledger)
    assert "--shared" in str(error.value)
    found = diff(ONE, NOISY, ledger=ledger, shared=True)
    assert found.left_out == ("haste", "calm")
    assert found.verdict == "equal"
    assert found.effect.changes.unchanged == 20


def test_a_file_that_lacks_a_column_says_which_and_what_to_do(file):
    with pytest.raises(MissingField, match="lacks 'noise'") as error:
        diff(ONE, NOISY, data=file)
    assert "--shared" in str(error.value)


def test_rewards_with_nothing_in_common_are_refused():
    other = Reward("other", version="1", terms=[calm], fields=[Field("noise", low=0, high=1)])
    with pytest.raises(DefinitionError, match="nothing to compare"):
        diff(ONE, other, shared=True)


def test_an_empty_ledger_is_an_error_and_one_episode_has_no_rank(tmp_path):
    with Ledger(tmp_path / "empty.db") as ledger:
        with pytest.raises(NotInLedger, match="has no record"):
            diff(ONE, TWO, ledger=ledger)
        ledger.record_batch(ONE, draw(3), run="night", episode="0", step=range(3))
        with pytest.raises(NotInLedger, match="Did you mean run='night'"):
            diff(ONE, TWO, ledger=ledger, run="nigth")
        found = diff(ONE, TWO, ledger=ledger)
    assert found.effect.changes.episodes.rank_correlation is None
    assert "Rank correlation needs at least two episodes." in str(found)
    assert "nan" not in str(found)


def test_records_without_episodes_are_compared_by_step_alone(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(ONE, draw(4))
        found = diff(ONE, TWO, ledger=ledger)
    assert found.effect.changes.records == 4
    assert len(found.effect.changes.episodes) == 0
    assert found.effect.changes.to_dict()["episodes"] is None
    assert found.effect.steps[0].episode is None


def test_missing_steps_are_said(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(ONE, draw(3), run="night", episode="a", step=[0, 1, 5])
        ledger.record_batch(ONE, draw(3), run="night", episode="b", step=range(3))
        found = diff(ONE, TWO, ledger=ledger)
    assert found.effect.changes.episodes.gaps == [("night", None, "a")]
    assert "1 episode has missing step numbers; their returns cover the recorded steps only: night/a." in str(found)


def test_a_state_that_has_to_be_computed_again_needs_every_step(tmp_path):
    @term
    def idle_long(idle):
        return -idle

    def count(prev, speed):
        return min(prev.idle + 1.0, 99.0) if speed < 5.0 else 0.0

    carried = State("idle", reset=0.0, low=0, high=99, update=count)
    resting = Reward("moving", version="4", terms=[near, idle_long], fields=[*FIELDS, carried])
    with Ledger(tmp_path / "rewards.db") as ledger:
        columns = {"distance": [1.0] * 3, "speed": [0.0] * 3}
        ledger.record_batch(ONE, columns, run="night", episode="0", step=range(3))
        assert diff(ONE, resting, ledger=ledger).effect.terms["idle_long"].after == -6.0
        ledger.record_batch(ONE, columns, run="night", episode="1")
        with pytest.raises(BrokenEpisode, match="no episode or no step"):
            diff(ONE, resting, ledger=ledger)


def test_a_terminal_term_that_was_taken_out_pays_nothing_now(tmp_path):
    @term(terminal=True, weight=50.0)
    def arrived(success):
        return success

    ending = Reward("moving", version="0", terms=[near, haste, arrived], fields=[*FIELDS, Field("success", flag=True)])
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(ending.score(distance=1.0, speed=0.0), run="night", episode="0", step=0)
        ledger.record(ending.score_terminal(success=True), run="night", episode="0", step=1)
        found = diff(ending, ONE, ledger=ledger)
    returns = found.effect.changes.episodes
    assert (returns.old.tolist(), returns.new.tolist()) == ([51.0], [1.0])
    assert (found.effect.terms["arrived"].before, found.effect.terms["arrived"].after) == (50.0, None)
    assert found.effect.steps[0].after is None
    assert "nothing is paid at the end of an episode" in str(found)
    assert found.effect.remarks == ()
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_rows_that_cannot_be_scored_are_counted_and_their_episodes_left_out(file):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(file)
    distance = table["distance"].to_numpy().copy()
    distance[7] = np.nan
    pq.write_table(table.set_column(table.schema.get_field_index("distance"), "distance", pa.array(distance)), file)
    found = diff(ONE, TWO, data=file)
    returns = found.effect.changes.episodes
    assert returns.broken == [("night", None, 1)]
    assert len(returns.old) == 3
    assert np.isfinite(returns.new).all()
    assert all(np.isfinite([each.before, each.after]).all() for each in found.effect.terms.values())
    assert "moving@1 cannot score 1 row: 1 × distance is NaN" in str(found)
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_a_file_without_rows_or_without_episodes_says_so(file):
    pq = pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(file)
    pq.write_table(table.slice(0, 0), file)
    with pytest.raises(UnusableFile, match="no rows"):
        diff(ONE, TWO, data=file)
    pq.write_table(table.drop_columns(["episode"]), file)
    found = diff(ONE, TWO, data=file)
    assert "episodes are not compared" in str(found)
    assert len(found.effect.changes.episodes) == 0


def test_candidates_of_one_step_are_a_decision_across_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("plaudit.ledger.rescore.scored._BATCH", 1)
    columns = {"distance": [25.0, 10.0, 25.0, 10.0], "speed": [0.0, 5.0, 0.0, 5.0]}
    with Ledger(tmp_path / "rewards.db") as ledger:
        for at in range(4):
            one = {name: column[at : at + 1] for name, column in columns.items()}
            ledger.record_batch(ONE, one, run="night", episode="0", step=[at // 2], decision_class="route")
        flips = diff(ONE, TWO, ledger=ledger).effect.changes.by_class["route"]
    assert (flips.decisions, flips.best_changed) == (2, 2)


def test_without_z3_the_verdict_says_what_is_undecided(monkeypatch):
    monkeypatch.setattr("plaudit.checks.solver.solver.is_available", lambda: False)

    @term(name="haste", weight=-0.1)
    def squared(speed):
        return (speed - 1.0) * (speed + 1.0) + 1.0

    @term(name="haste", weight=-0.1)
    def product(speed):
        return speed * speed

    one, other = (Reward("moving", version="1", terms=[t], fields=FIELDS[1:]) for t in (squared, product))
    found = diff(one, other, examples=50)
    assert found.verdict == "undecided"
    assert "Nothing could be proved" in str(found)


@pytest.mark.parametrize("asked", [{"ledger": "a", "data": "b"}, {"run": "night"}, {"data": "b", "run": "night"}])
def test_what_makes_no_sense_is_refused(asked):
    with pytest.raises(DefinitionError):
        diff(ONE, TWO, **asked)
