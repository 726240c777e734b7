"""Rollouts: each kept with its texts, read again and scored again, and forgotten without a trace in the checksums."""

import json
import pickle
import sqlite3
import threading

import numpy as np
import pytest

from plaudit import Field, InputError, Ledger, Reward, term
from plaudit.errors import Abstained, ActorInUse, LedgerError, VersionConflict, WrongType
from plaudit.llm import Answer, Scoring, feature, read_rollouts, rescore_rollouts

ODD = ["", "nul \0 here", "half \ud800 character", "日本語", "long " * 200_000]


@feature
def right(text, answer):
    return text.strip() == answer


@feature
def words(text):
    return len(text.split())


@term
def correct(right):
    return 1 if right else 0


@term(weight=-0.001, high=100.0)
def length(words):
    return words


@term(weight=0.5)
def clarity(clear):
    return clear


REWARD = Reward(
    "answers",
    version="1",
    terms=[correct, length, clarity],
    fields=[Field("right", flag=True), Field("words", low=0), Field("clear", low=0, high=1)],
)
asked = []


@feature(judge=True)
async def clear(text):
    asked.append(text)
    if text == "bad":
        raise ConnectionError(f"the judge is down: {text}\0")
    return Answer(0.5, f"said of {text[:20]}")


FEATURES = [right, words, clear]


def samples(count):
    return [
        {"prompt": f"question {at // 4}", "completion": "bad" if at == 5 else f"word {at % 3}", "answer": "word 1"}
        for at in range(count)
    ]


def read_everything(folder):
    """Return the bytes of every file in a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def scoring(ledger, **options):
    return Scoring(REWARD, FEATURES, on_bad="mask", ledger=ledger, run="a", **options)


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    return tmp_path / "rewards.db" if request.param == "sqlite" else request.getfixturevalue("postgres_ledger")


def test_every_rollout_is_durable_when_its_reward_is_returned(where):
    with Ledger(where) as ledger:
        found = scoring(ledger).score(samples(12), step=7, policy="step-7")
        with Ledger(where, read_only=True) as reader:
            rollouts = list(read_rollouts(reader, reader.history(run="a", step=7)))
    assert [rollout.record.total for rollout in rollouts if rollout.record.masked is None] == [
        total for total in found.totals if total is not None
    ]
    assert [dict(rollout.sample) for rollout in rollouts] == samples(12)
    assert rollouts[0].answers == {"clear": "said of word 0"}
    assert rollouts[0].features == Scoring(REWARD, FEATURES).fingerprints
    assert {rollout.policy for rollout in rollouts} == {"step-7"}
    numbers = {group: number for number, group in enumerate(dict.fromkeys(rollout.group for rollout in rollouts))}
    assert [numbers[rollout.group] for rollout in rollouts] == [0] * 4 + [1] * 4 + [2] * 4
    assert {rollout.group_size for rollout in rollouts} == {4}
    assert len({rollout.prompt_id for rollout in rollouts}) == 3
    masked = rollouts[5].record
    assert "the judge is down: bad" in masked.masked
    assert masked.total != masked.total


def test_any_string_comes_back_as_it_was(where):
    rows = [{"prompt": text, "completion": text, "answer": text} for text in ODD]
    with Ledger(where) as ledger:
        scoring(ledger).score(rows)
        assert [dict(rollout.sample) for rollout in read_rollouts(ledger, ledger.history())] == rows
        assert ledger.verify().ok
        assert "forgotten" not in str(ledger.why(1))


def test_conversations_come_back_and_what_is_no_plain_data_is_left_out(tmp_path):
    said = [{"role": "assistant", "content": "5", "reasoning_content": "hm", "tool_calls": [{"name": "add"}]}]
    row = {"prompt": [{"role": "user", "content": "2 + 3"}], "completion": said, "answer": "5"}
    with Ledger(tmp_path / "rewards.db") as ledger:
        scoring(ledger).score([{**row, "trainer_state": object(), "completion_ids": [1, 2]}])
        (rollout,) = read_rollouts(ledger, ledger.history())
        shown = str(ledger.why(1))
    assert dict(rollout.sample) == row
    assert "completion, assistant, reasoning_content:\nhm" in shown
    assert "prompt, user:\n2 + 3" in shown


@pytest.mark.parametrize(("texts", "said"), [("keep", "OSError: Ann is down in"), ("hash", "OSError in")])
def test_a_rollout_says_without_which_term_it_was_scored_and_why(tmp_path, texts, said):
    @feature(judge=True, name="clear")
    def away(text):
        if text == "word 0":
            raise OSError("Ann is down")
        return 1.0

    with Ledger(tmp_path / "rewards.db") as ledger:
        found = Scoring(
            REWARD, [right, words, away], on_bad="mask", on_lost_term="group", ledger=ledger, run="r", texts=texts
        ).score([*samples(2), {**samples(1)[0], "prompt": "other", "completion": "fine"}])
        assert list(found.lost_terms) == [0, 1]
        lost = f"clarity: {said} feature 'clear' of sample 0"
        rollouts = list(read_rollouts(ledger, ledger.history(run="r")))
        assert [rollout.lost_terms for rollout in rollouts] == [lost, lost, None]
        assert [rollout.record.masked for rollout in rollouts] == [None] * 3
        assert f"scored without {lost}" in str(ledger.why(2))
        assert "scored without" not in str(ledger.why(3))
        if texts == "keep":
            done = rescore_rollouts(ledger, REWARD.with_version("2"), FEATURES, run="r").rescoring
            again = read_rollouts(ledger, ledger.history(job=done.job))
            assert [rollout.lost_terms for rollout in again] == [None] * 3


def test_texts_can_be_redacted_or_left_out(tmp_path):
    rows = [{"prompt": "I am Ann", "completion": "Hello Ann", "answer": "x"}]
    with Ledger(tmp_path / "rewards.db") as ledger:
        scoring(ledger, actor="one", texts=lambda text: text.replace("Ann", "…")).score(rows)
        scoring(ledger, actor="two", texts="hash").score(rows * 2)
        redacted, *hashed = read_rollouts(ledger, ledger.history())
        assert (redacted.sample["prompt"], redacted.sample["completion"]) == ("I am …", "Hello …")
        assert redacted.answers == {"clear": "said of Hello …"}
        assert [rollout.sample for rollout in hashed] == [None, None]
        assert len({rollout.record.context["text_id"] for rollout in hashed}) == 1
        assert ledger.verify().ok
    assert b"Ann" not in read_everything(tmp_path)
    with Ledger(tmp_path / "other.db") as ledger:
        with pytest.raises(WrongType, match="texts='drop' is not 'keep', 'hash' or a function"):
            scoring(ledger, texts="drop")
        with pytest.raises(LedgerError, match="the function for texts returned None"):
            scoring(ledger, texts=lambda text: None).score(rows)
        assert ledger.history().count() == 0


# -- ids of prompts -----------------------------------------------------------------------------------------------


def list_ids(ledger, **query):
    return [each.prompt_id for each in read_rollouts(ledger, ledger.history(**query))]


def test_a_prompt_has_one_id_in_all_steps_and_processes_of_a_run(where):
    row = samples(1)
    for _ in range(2):  # the second time, the run is resumed
        with Ledger(where) as one, Ledger(where) as other:
            scorings = [scoring(ledger, actor=f"rank {at}") for at, ledger in enumerate((one, other))]
            threads = [threading.Thread(target=each.score, args=(row,)) for each in scorings]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
    with Ledger(where) as ledger:
        Scoring(REWARD, FEATURES, ledger=ledger, run="b").score(row)
        assert (len(list_ids(ledger, run="a")), len(set(list_ids(ledger, run="a")))) == (4, 1)
        assert list_ids(ledger, run="a")[0] != list_ids(ledger, run="b")[0]
        assert "id_key" not in str(ledger.why(1))
        assert ledger.verify().ok


def test_what_ids_are_made_with_goes_with_the_first_text_that_is_forgotten(tmp_path):
    rows = [{"prompt": f"question {at}", "completion": f"word {at}", "answer": "word 1"} for at in range(3)]
    with Ledger(tmp_path / "rewards.db") as ledger:
        first = scoring(ledger, actor="rank 0")
        first.score(rows)
        secret = first._recorder._packer.key.secret.hex().encode()
        assert secret in read_everything(tmp_path)
        rescore_rollouts(ledger, REWARD.with_version("2"), FEATURES)
        before = list_ids(ledger)
        assert ledger.forget(actor="rank 0", episode="1") == 2  # a prompt and a completion
        assert secret not in read_everything(tmp_path)
        assert list_ids(ledger) == before
        assert [each.sample is None for each in read_rollouts(ledger, ledger.history())] == [True, False, False]
        first.score(rows)
        assert secret not in read_everything(tmp_path)
        assert list_ids(ledger) == before * 2
        scoring(ledger, actor="rank 1").score(rows)
        assert set(list_ids(ledger, actor="rank 1")).isdisjoint(before)
        assert ledger.verify().ok


@pytest.mark.parametrize("texts", ["hash", lambda text: text.replace("Ann", "…")])
def test_no_id_can_be_guessed_from_what_is_kept_where_a_text_is_not(tmp_path, texts):
    rows = [{"prompt": f"I am {name}", "completion": "Hello", "answer": "x"} for name in ("Ann", "…", "Bob")]
    with Ledger(tmp_path / "rewards.db") as ledger:
        made = scoring(ledger, texts=texts)
        made.score(rows)
        ann, dots, bob = list_ids(ledger)
        assert ann != bob
        if texts == "hash":
            assert made._recorder._packer.key is None
            assert "id_key" not in ledger[1].context["texts"]
        else:
            assert ann == dots


def test_features_that_are_the_same_are_not_run_again_and_no_judge_is_asked(where):
    @feature
    def words(text):
        return 2 * len(text.split())

    with Ledger(where) as ledger:
        scoring(ledger).score(samples(12))
        asked.clear()
        found = rescore_rollouts(ledger, REWARD.with_version("2"), [right, words, clear], run="a")
        assert asked == ["bad"]  # it has no answer that could be reused
        assert {name: each.ran for name, each in found.features.items()} == {"right": 0, "words": 12, "clear": 1}
        assert found.features["words"].changed == 11
        assert found.rescoring.scored == 12
        assert [*found.reasons.values()] == [1]
        old = {record.id: record for record in ledger.history(run="a") if record.job is None}
        for record in ledger.history(job=found.rescoring.job):
            before = old[record.origin]
            if before.masked is None:
                assert record.signal.inputs["words"] == 2 * before.signal.inputs["words"]
                assert record.signal.inputs["clear"] == before.signal.inputs["clear"]
        again = rescore_rollouts(ledger, REWARD.with_version("2"), [right, words, clear], run="a")
        assert (again.rescoring.scored, asked) == (0, ["bad"])
        rescore_rollouts(ledger, REWARD.with_version("2"), [right, words, clear], ask=True, run="a")
        assert len(asked) == 13
        assert ledger.verify().ok


def test_a_rescoring_that_is_stopped_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr("plaudit.llm.rescoring._TOGETHER", 4)
    new = []

    @feature(judge=True)
    def clear(text):
        new.append(text)
        return 1.0

    def stop(done, total):
        if done >= 8:
            raise KeyboardInterrupt

    with Ledger(tmp_path / "rewards.db") as ledger:
        for _ in range(4):
            scoring(ledger, actor=f"{len(new)}{ledger.history().count()}").score(samples(4))
        with pytest.raises(KeyboardInterrupt):
            rescore_rollouts(ledger, REWARD.with_version("2"), [right, words, clear], progress=stop)
        assert len(new) == 8
        found = rescore_rollouts(ledger, REWARD.with_version("2"), [right, words, clear])
        assert len(new) == 16
        assert found.rescoring.records == 16
        assert ledger.verify().ok


def test_groups_that_change_are_counted(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        scoring(ledger).score([{"prompt": "q", "completion": text, "answer": "b b"} for text in ("a", "b b", "c", "d")])
        turned = feature(name="right")(lambda text: text == "a")
        found = rescore_rollouts(ledger, REWARD.with_version("2"), [turned, words, clear])
        assert (found.groups, found.flipped, found.gained, found.lost) == (1, 2, 0, 0)
        none = rescore_rollouts(
            ledger,
            REWARD.with_version("3"),
            [feature(name="right")(lambda text: True), feature(name="words")(lambda text: 1), clear],
        )
        assert (none.gained, none.lost) == (0, 1)
        assert none.features["right"].after == 1.0
        assert "0 gained a gradient, 1 lost it" in str(none)
        assert json.loads(json.dumps(none.to_dict(), default=str))["features"]["right"]["before"] == 0.25


def test_group_features_read_whole_groups_again(tmp_path, monkeypatch):
    monkeypatch.setattr("plaudit.llm.rescoring._TOGETHER", 2)
    monkeypatch.setattr("plaudit.ledger.storage.codec.INLINE_RECORDS", 3)

    @feature(group=True, name="clear")
    def share(text):
        return [text.count(each) / len(text) for each in text]

    with Ledger(tmp_path / "rewards.db") as ledger:
        scoring(ledger).score(samples(12)[8:] + samples(4))
        found = rescore_rollouts(ledger, REWARD.with_version("2"), [right, words, share])
        new = [record.signal.inputs["clear"] for record in ledger.history(job=found.rescoring.job)]
    wanted = Scoring(REWARD, [right, words, share]).score(samples(12)[8:] + samples(4))
    assert new == [row["clear"] for row in wanted.inputs]


def test_forgotten_texts_are_gone_and_the_ledger_is_whole(where, tmp_path):
    with Ledger(where) as ledger:
        scoring(ledger).score(samples(12), step=1)
        scoring(ledger, actor="other").score(samples(12), step=2)
        before = [(record.id, record.total) for record in ledger.history()]
        with pytest.raises(InputError, match="forget needs to know what"):
            ledger.forget()
        assert ledger.forget(run="a", step=1) == 15
        assert ledger.forget(run="a", step=1) == 0
        assert ledger.verify().ok
        kept = list(read_rollouts(ledger, ledger.history()))
        assert [rollout.sample is None for rollout in kept] == [True] * 12 + [False] * 12
        assert [str(pair) for pair in before] == [str((r.id, r.total)) for r in ledger.history()]
        assert ledger.read_texts(1)["prompt"] is None
        assert "prompt: forgotten" in str(ledger.why(1))
        found = rescore_rollouts(ledger, REWARD.with_version("2"), FEATURES, run="a", step=1)  # all is known
        assert found.rescoring.records == 11
        other = rescore_rollouts(
            ledger, REWARD.with_version("3"), [feature(name="right")(lambda text: False), words, clear], step=1
        )
        assert other.rescoring.records == 0
        assert "its texts were not kept, or were forgotten" in str(other)


def test_what_is_forgotten_is_not_in_the_file(tmp_path):
    secret = "a secret nobody should read"
    with Ledger(tmp_path / "rewards.db") as ledger:
        scoring(ledger).score([{"prompt": secret, "completion": secret, "answer": "x"}])
        assert secret.encode() in read_everything(tmp_path)
        ledger.forget(run="a")
        assert secret.encode() not in read_everything(tmp_path)


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ("UPDATE texts SET content = CAST('pHello' AS BLOB) WHERE salt <> X''", "was changed after being written"),
        ("UPDATE texts SET salt = X'00' WHERE salt <> X''", "was changed after being written"),
        ("DELETE FROM texts WHERE salt <> X''", "that it names is not in the ledger"),
        ("DELETE FROM texts", "that it names is not in the ledger"),
        ("INSERT INTO forgotten (digest, at) SELECT digest, 1 FROM texts", "forgotten"),
    ],
)
def test_texts_that_are_edited_are_named(tmp_path, edit, found):
    with Ledger(tmp_path / "rewards.db") as ledger:
        scoring(ledger).score(samples(4))
    with sqlite3.connect(tmp_path / "rewards.db") as connection:
        connection.execute(edit)
    connection.close()
    with Ledger(tmp_path / "rewards.db", read_only=True) as ledger:
        result = ledger.verify()
    assert not result.ok
    assert found in str(result)


def test_texts_go_with_exports_backups_and_segments(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        scoring(ledger).score(samples(12), step=1)
        scoring(ledger, actor="other").score([{"prompt": t, "completion": t, "answer": t} for t in ODD], step=2)
        ledger.forget(run="a", step=1)
        ledger.export(tmp_path / "out.jsonl")
        ledger.backup(tmp_path / "copy.db")
        ledger.compact()
        assert ledger.verify().ok
    with Ledger(tmp_path / "new.db") as new:
        new.import_file(tmp_path / "out.jsonl")
    for name in ("new.db", "copy.db"):
        with Ledger(tmp_path / name) as other:
            assert other.verify().ok
            kept = list(read_rollouts(other, other.history()))
            assert [rollout.sample and rollout.sample["prompt"] for rollout in kept] == [None] * 12 + ODD


def test_a_ledger_that_cannot_take_it_says_so_before_scoring(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        first = scoring(ledger, actor="me")
        with pytest.raises(ActorInUse):
            scoring(ledger, actor="me")
        with pytest.raises(VersionConflict):
            Scoring(REWARD.with_weights(correct=3.0), FEATURES, ledger=ledger)
        with pytest.raises(WrongType, match="is not a Ledger"):
            Scoring(REWARD, FEATURES, ledger=tmp_path / "rewards.db")
        assert first.score(samples(1)).totals
        ledger.record(REWARD.score(right=True, words=1, clear=1), run="b")
        with pytest.raises(LedgerError, match="record 2 is not a rollout"):
            rescore_rollouts(ledger, REWARD.with_version("2"), FEATURES, run="b")


def test_a_copy_in_another_process_records_as_another_actor(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        first = scoring(ledger)
        first.score(samples(2))
        copy = pickle.loads(pickle.dumps(first))
        copy.score(samples(2))
        first.score(samples(2))
        actors = [(record.actor, record.episode) for record in ledger.history()]
    assert actors == [
        *(("scorer0", "1"), ("scorer0", "2")),
        *(("scorer1", "1"), ("scorer1", "2")),
        *(("scorer0", "3"), ("scorer0", "4")),
    ]


def test_threads_that_share_a_scoring_lose_nothing(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        shared = scoring(ledger)
        threads = [threading.Thread(target=lambda: shared.score(samples(4))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(int(record.episode) for record in ledger.history()) == list(range(1, 25))
        assert ledger.verify().ok


def test_what_judges_said_when_they_were_asked_again_is_forgotten_too(tmp_path):
    @feature(name="right")
    def failing(text):
        raise ValueError("no")

    @feature(judge=True, name="clear")
    def other(text):
        return Answer(1.0, f"a quotation of {text}")

    with Ledger(tmp_path / "rewards.db") as ledger:
        scoring(ledger).score([{"prompt": "q", "completion": "private words", "answer": "x"}])
        rescore_rollouts(ledger, REWARD.with_version("2"), [right, words, other])
        rescore_rollouts(ledger, REWARD.with_version("3"), [words, other, failing])  # has no score
        assert b"a quotation of private words" in read_everything(tmp_path)
        ledger.forget(run="a")
        assert b"private words" not in read_everything(tmp_path)
        assert ledger.verify().ok


@pytest.mark.parametrize("texts", ["hash", lambda text: text.replace("private", "…")])
def test_reasons_do_not_tell_what_is_not_kept(tmp_path, texts):
    @feature(judge=True, name="clear")
    def quoting(text):
        raise ValueError(f"cannot judge {text}")

    with Ledger(tmp_path / "rewards.db") as ledger:
        options = {"on_bad": "mask", "max_masked": 1, "ledger": ledger, "texts": texts}
        Scoring(REWARD, [right, words, quoting], **options).score([{"completion": "private words", "answer": "x"}])
        (record,) = ledger.history()
        assert "ValueError" in record.masked
        assert "in feature 'clear' of sample 0" in record.masked
    assert b"private" not in read_everything(tmp_path)


@pytest.mark.parametrize("together", [True, False])
def test_a_rollout_without_a_reward_has_no_return(where, together):
    @feature
    def words(text):
        if text == "skip":
            raise Abstained("nothing to count")
        return len(text.split())

    reward = Reward("counted", version="1", terms=[length], fields=[Field("words", low=0)])
    rows = [{"prompt": "?", "completion": text} for text in ("a b", "skip", None, "a b c d")]
    with Ledger(where) as ledger:
        scored = Scoring(reward, [words], on_bad="mask", max_masked=1, ledger=ledger, run="a")
        for batch in [rows] if together else [[row] for row in rows]:
            scored.score(batch)
        for _ in range(2):
            episodes, (run,) = ledger.episodes(), ledger.runs()
            assert [each.is_scored for each in episodes] == [True, False, False, True]
            assert [each.to_dict()["total"] for each in episodes] == [-0.002, None, None, -0.004]
            assert [dict(each.terms) for each in episodes] == [{"length": -0.002}, {}, {}, {"length": -0.004}]
            assert [each.episode for each in episodes.best()] == ["1", "4"]
            assert (len(episodes.finished), len(episodes.unfinished)) == (2, 0)
            assert (run.episodes, run.unfinished, run.returns.masked) == (2, 0, 2)
            assert run.returns.mean == pytest.approx(-0.003)
            ledger.compact()
        assert ledger.verify().ok


def test_prompts_of_any_data_are_recorded(tmp_path):
    row = {**samples(1)[0], "prompt": {1: "a", "b": 2}}
    odd = {3: "three", ("a", "b"): 4, None: object()}
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert scoring(ledger).score([{**row, **odd}]).totals[0] is not None
        (rollout,) = read_rollouts(ledger, ledger.history())
    assert dict(rollout.sample) == row


def test_a_step_is_an_integer_and_checked_before_a_judge_is_asked(tmp_path):
    asked.clear()
    with Ledger(tmp_path / "rewards.db") as ledger:
        recording = scoring(ledger)
        for step, message in (("a", "must be an integer"), (2**70, "does not fit into 64 bits"), (1.5, "an integer")):
            with pytest.raises(InputError, match=message):
                recording.score(samples(1), step=step)
        with pytest.raises(InputError, match="policy=7 must be a string"):
            recording.score(samples(1), policy=7)
        assert asked == []
        recording.score(samples(1), step=np.int64(3))
        assert [record.step for record in ledger.history()] == [3]
