"""Scoring rollouts again: what was found is found again, with its type; who abstained abstains; one bad sample is one."""

import asyncio
import signal

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.errors import MissingField, OutOfRange, VersionConflict
from plaudit.llm import Answer, Scoring, feature, read_rollouts, rescore_rollouts

asked: list[str] = []


@feature
def right(text, answer):
    return text == answer


@feature(judge=True)
def opinion(text):
    asked.append(text)
    return Answer((len(text), "well"), f"said of {text}")


@feature
def clear(opinion):
    count, how = opinion
    return count / 10 if how == "well" else 0.0


@feature(judge=True)
def both(text):
    asked.append(text)
    return {"right": text == "5", "clear": 0.25}


@term
def correct(right):
    return 1 if right else 0


@term(weight=0.5)
def clarity(clear):
    return clear


REWARD = Reward(
    "sums", version="1", terms=[correct, clarity], fields=[Field("right", flag=True), Field("clear", low=0, high=1)]
)
NEXT = REWARD.with_version("2")
SAMPLES = [{"prompt": "2 + 3", "completion": text, "answer": "5"} for text in ("5", "6", "five")]


@pytest.fixture
def ledger(tmp_path):
    asked.clear()
    with Ledger(tmp_path / "rewards.db") as ledger:
        yield ledger


def record(ledger, features, samples=SAMPLES, **options):
    options = {"on_bad": "mask", "max_masked": 1, "run": "a", **options}
    return Scoring(REWARD, features, ledger=ledger, **options).score(samples)


def count_ran(found):
    return {name: each.ran for name, each in found.features.items() if each.ran}


def list_totals(ledger, found):
    return [record.total for record in ledger.history(job=found.rescoring.job)]


def test_a_judge_that_only_another_feature_reads_is_not_asked_again(ledger):
    totals = record(ledger, [right, opinion, clear]).totals
    assert len(asked) == 3
    changed = feature(name="clear")(lambda opinion: opinion[0] / 5)
    found = rescore_rollouts(ledger, NEXT, [right, opinion, changed])
    assert len(asked) == 3
    assert count_ran(found) == {"clear": 3}
    assert list_totals(ledger, found) == [1.1, 0.1, 0.4]
    same = rescore_rollouts(ledger, NEXT, [right, opinion, clear])
    assert (count_ran(same), list_totals(ledger, same)) == ({}, totals)
    assert count_ran(rescore_rollouts(ledger, NEXT, [right, opinion, changed], ask=True)) == {"opinion": 3, "clear": 3}
    assert len(asked) == 6


def test_a_judge_that_returns_a_mapping_is_not_asked_again(ledger):
    totals = record(ledger, [both]).totals
    found = rescore_rollouts(ledger, NEXT, [both])
    assert (len(asked), list_totals(ledger, found), count_ran(found)) == (3, totals, {})


@pytest.mark.parametrize("texts", ["hash", lambda text: text.replace("six", "…")])
def test_what_judges_found_is_kept_where_texts_are_not(ledger, texts):
    totals = record(ledger, [both], texts=texts).totals
    found = rescore_rollouts(ledger, NEXT, [both])
    assert (len(asked), list_totals(ledger, found)) == (3, totals)


def test_what_quotes_a_text_that_is_redacted_is_not_kept(ledger, tmp_path):
    @feature(judge=True)
    def quote(text):
        return [text, len(text)]

    @feature
    def clear(quote):
        return quote[1] / 10

    samples = [{**SAMPLES[0], "completion": "Ann"}]
    record(ledger, [right, quote, clear], samples, texts=lambda text: text.replace("Ann", "…"))
    record(ledger, [right, quote, clear], samples, texts="hash")
    assert [sorted(each.found) for each in read_rollouts(ledger, ledger.history())] == [["clear", "right"]] * 2
    assert b"Ann" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_the_judge_of_a_rollout_without_a_reward_is_not_asked_again(ledger):
    divided = feature(name="clear")(lambda opinion: 1 / (opinion[0] - 4))
    assert record(ledger, [right, opinion, divided]).totals[2] is None
    assert len(asked) == 3
    found = rescore_rollouts(ledger, NEXT, [right, opinion, clear])
    assert len(asked) == 3
    assert list_totals(ledger, found) == [1.05, 0.05, 0.2]
    assert (found.rescoring.changes.gained, count_ran(found)) == (3, {"clear": 3})


def test_an_answer_of_another_judge_is_not_taken_for_that_of_this_one(ledger):
    record(ledger, [right, opinion, clear])
    other = feature(judge=True, name="opinion", version="other")(opinion.function)
    found = rescore_rollouts(ledger, NEXT, [right, other, clear])
    assert len(asked) == 6
    job = found.rescoring.job
    assert [each.found for each in read_rollouts(ledger, ledger.history(job=job))] == [
        {"opinion": (len(text), "well")} for text in ("5", "6", "five")
    ]


def test_what_was_found_comes_back_with_its_type(ledger):
    @feature
    def words(text):
        return len(text.split())

    @feature
    def right(words):
        return "x" * words == "x"

    seen = []

    @feature
    def clear(words):
        seen.append(words)
        return ["a", "b"][words - 1] == "a"

    @term
    def brief(words):
        return -words / 10

    fields = [Field("right", flag=True), Field("clear", flag=True), Field("words", low=0)]
    reward = Reward("typed", version="1", terms=[correct, clarity, brief], fields=fields)
    Scoring(reward, [words, right, clear], ledger=ledger).score(SAMPLES)
    changed = feature(name="clear")(lambda words: seen.append(words) or [True, False][words - 1])
    found = rescore_rollouts(ledger, reward.with_version("2"), [words, right, changed])
    assert not found.reasons
    assert [type(each) for each in seen] == [int] * 6


# -- which term changed -------------------------------------------------------------------------------------------


def test_the_terms_that_pay_something_else_are_named(ledger):
    record(ledger, [right, opinion, clear])
    same = rescore_rollouts(ledger, NEXT, [right, opinion, clear])
    assert [each.changed for each in same.terms.values()] == [0, 0]
    assert "term" not in str(same)
    heavier = REWARD.with_weights(correct=2.0, clarity=1.0).with_version("3")
    found = rescore_rollouts(ledger, heavier, [right, opinion, clear])
    assert list(found.terms) == ["clarity", "correct"]  # which changed in 3 rollouts and in 1
    assert [each.changed for each in found.features.values()] == [0, 0]
    table = str(found)[str(found).index("term") :].splitlines()
    assert [line.split() for line in (table[0], *table[2:4])] == [
        ["term", "changed", "mean", "before", "mean", "after"],
        ["clarity", "3", "of", "3", "0.1", "0.2"],
        ["correct", "1", "of", "3", "0.3333", "0.6667"],
    ]
    told = found.to_dict()["terms"]
    assert told["correct"] == {
        "rollouts": 3,
        "changed": 1,
        "before": pytest.approx(1 / 3),
        "after": pytest.approx(2 / 3),
    }


def test_a_term_that_only_one_of_the_rewards_has_pays_nothing_in_the_other(ledger):
    record(ledger, [right, opinion, clear])
    found = rescore_rollouts(ledger, REWARD.select_terms("clarity").with_version("3"), [opinion, clear])
    (name, change), _ = found.terms.items()
    assert (name, change.changed, change.before, change.after) == ("correct", 1, pytest.approx(1 / 3), None)
    assert "correct   1 of 3       0.3333           -" in str(found)


# -- who abstains -------------------------------------------------------------------------------------------------


def is_sum(answer):
    return answer != "none"


def test_a_sample_that_the_reward_is_not_about_stays_without_one(ledger):
    samples = [SAMPLES[0], {**SAMPLES[1], "answer": "none"}, SAMPLES[2]]
    assert record(ledger, [both], samples, applies=is_sum).totals[1] is None
    assert len(asked) == 2
    found = rescore_rollouts(ledger, NEXT, [both])
    assert (found.rescoring.records, dict(found.reasons)) == (2, {"Abstained: the reward does not apply": 1})
    assert [each.applies for each in read_rollouts(ledger, ledger.history(run="a"))] == [True, False, True]
    assert len(asked) == 2


def test_another_function_can_say_whether_the_reward_applies(ledger):
    samples = [SAMPLES[0], {**SAMPLES[1], "answer": "none"}, SAMPLES[2]]
    record(ledger, [both], samples, applies=is_sum)
    found = rescore_rollouts(ledger, NEXT, [both], applies=lambda completion: completion != "five")
    assert [each.total == each.total for each in ledger.history(job=found.rescoring.job)] == [True, True]
    assert asked == ["5", "five", "6"]
    ledger.forget(run="a")
    left = rescore_rollouts(ledger, REWARD.with_version("3"), [right], applies=lambda completion: True)
    assert sorted(left.reasons) == [
        "Abstained: its texts were not kept, or were forgotten",
        "Abstained: the reward does not apply",
    ]


# -- samples that lack something ----------------------------------------------------------------------------------


def test_one_sample_without_a_column_is_the_only_one_without_a_reward(ledger):
    samples = [{"prompt": "2 + 3", "completion": "5"}, *SAMPLES]
    constant = feature(name="clear")(lambda text: 0.5)
    record(ledger, [feature(name="right")(lambda text: False), constant], samples)
    found = rescore_rollouts(ledger, NEXT, [right, constant])
    assert list_totals(ledger, found) == [1.25, 0.25, 0.25]
    ((why, count),) = found.reasons.items()
    assert (why.startswith("MissingField: right asks for 'answer'"), count) == (True, 1)
    assert found.examples[why] == 1
    assert "(record 1)" in str(found)
    alone = rescore_rollouts(ledger, NEXT, [feature(name="right")(lambda text: True), constant])
    assert (alone.rescoring.records, alone.reasons) == (4, {})


def test_a_part_that_no_rollout_has_is_said_before_anything_is_written(ledger):
    record(ledger, [right, feature(name="clear")(lambda text: 0.5)])
    with pytest.raises(MissingField, match="clear asks for 'hint'") as raised:
        rescore_rollouts(ledger, NEXT, [right, feature(name="clear")(lambda hint: 0.5)])
    assert raised.value.__notes__ == ["in record 1"]
    assert ledger.jobs() == []


def test_a_batch_is_scored_where_the_first_sample_lacks_a_column(ledger):
    samples = [{"prompt": "2 + 3", "completion": "5"}, *SAMPLES]
    constant = feature(name="clear")(lambda text: 0.5)
    scored = record(ledger, [right, constant], samples)
    assert scored.totals == [None, 1.25, 0.25, 0.25]
    with pytest.raises(MissingField, match="right asks for 'answer'") as raised:
        Scoring(REWARD, [right, constant]).score(samples)
    assert raised.value.__notes__ == ["in feature 'right' of sample 0"]
    about = Scoring(REWARD, [right, constant], applies=lambda completion, answer=None: answer is not None)
    assert about.score(samples).totals == [None, 1.25, 0.25, 0.25]


# -- what is recorded of samples ----------------------------------------------------------------------------------


def test_columns_are_recorded_whatever_their_names_and_types(ledger):
    row = {
        **SAMPLES[0],
        "user_ids": [1, 2],
        "count": np.int64(3),
        "limits": np.array([0.5, 1.5]),
        "names": {3: "three"},
        "span": (1, 2),
        "raw": b"\0",
    }
    record(ledger, [both], [{**row, "completion_ids": [7], "pixels": np.zeros(5000), "trainer_state": object()}])
    (rollout,) = read_rollouts(ledger, ledger.history())
    kept = dict(rollout.sample)
    np.testing.assert_array_equal(kept.pop("limits"), row.pop("limits"))
    assert kept == row
    assert type(kept["span"]) is tuple
    assert rollout.left_out == ("trainer_state",)


def test_what_a_feature_reads_is_recorded_or_named(ledger, capsys):
    @feature
    def right(completion_ids, pixels, state):
        return len(completion_ids) == pixels.size

    row = {**SAMPLES[0], "completion_ids": [7] * 5000, "pixels": np.zeros(5000), "state": object()}
    constant = feature(name="clear")(lambda text: 0.5)
    record(ledger, [right, constant], [row, row])
    said = capsys.readouterr().err
    assert said.count("the part 'state' of samples is not recorded, as it contains an object of type 'object'") == 1
    (rollout, _) = read_rollouts(ledger, ledger.history())
    assert len(rollout.sample["completion_ids"]) == rollout.sample["pixels"].size
    fewer = feature(name="right")(lambda completion_ids, pixels: len(completion_ids) == pixels.size)
    assert rescore_rollouts(ledger, NEXT, [fewer, constant]).rescoring.records == 2
    record(ledger, [right, constant], [{**row, "state": "plain"}])
    other = feature(name="right")(lambda state: True)
    found = rescore_rollouts(ledger, REWARD.with_version("3"), [other, constant])
    assert found.rescoring.records == 1
    (why,) = found.reasons
    assert why.startswith("state: not recorded, as it is not plain data. MissingField: right asks for 'state'")


def test_a_sample_without_a_prompt_has_none_when_it_is_read(ledger):
    record(ledger, [both], [{"completion": "5", "answer": "5"}])
    (rollout,) = read_rollouts(ledger, ledger.history())
    assert "prompt" not in rollout.sample


def test_a_record_shows_what_judges_found_that_the_reward_does_not_read(ledger):
    record(ledger, [right, opinion, clear])
    shown = str(ledger.why(1))
    assert 'opinion, found:\n{"$tuple": [1, "well"]}' in shown
    assert "clear, found" not in shown


# -- numbers out of range -----------------------------------------------------------------------------------------


def test_numbers_out_of_range_are_treated_as_they_were(ledger):
    far = feature(name="clear")(lambda text: 7.0 if text == "6" else 0.5)
    assert record(ledger, [right, far], on_bad="clip").totals == [1.25, 0.5, 0.25]
    with pytest.raises(VersionConflict, match="The one in the ledger clips numbers: use on_bad='clip'"):
        rescore_rollouts(ledger, REWARD, [right, far])
    same = rescore_rollouts(ledger, REWARD, [right, far], on_bad="clip")
    assert (list_totals(ledger, same), count_ran(same)) == ([1.25, 0.5, 0.25], {})
    masked = rescore_rollouts(ledger, NEXT, [right, far])
    assert (masked.rescoring.records, masked.examples) == (2, {next(iter(masked.reasons)): 2})
    with pytest.raises(OutOfRange) as raised:
        rescore_rollouts(ledger, REWARD.with_version("3"), [right, far], on_bad="raise")
    assert raised.value.__notes__ == ["in record 2"]
    with pytest.raises(VersionConflict, match="The one in the ledger does not clip numbers"):
        rescore_rollouts(ledger, NEXT, [right, far], on_bad="clip")


# -- judges that were asked after a rollout was recorded ------------------------------------------------------------


def build_judge(answer):
    """Return a judge that is not the recorded one, and the texts that it is asked about."""
    seen: list[str] = []

    @feature(judge=True, name="clear", version="later")
    async def clear(text):
        seen.append(text)
        return Answer(answer(text), f"heard {text}")

    return clear, seen


def test_what_a_judge_said_in_one_rescoring_is_known_in_the_next(ledger):
    record(ledger, [both])
    judge, seen = build_judge(lambda text: 0.5)
    assert count_ran(rescore_rollouts(ledger, NEXT, [right, judge])) == {"right": 3, "clear": 3}
    other = feature(name="right")(lambda text: False)
    found = rescore_rollouts(ledger, REWARD.with_version("3"), [other, judge])
    assert (count_ran(found), len(seen)) == ({"right": 3}, 3)
    assert list_totals(ledger, found) == [0.25] * 3
    new = list(read_rollouts(ledger, ledger.history(job=found.rescoring.job)))
    assert [each.answers["clear"] for each in new] == ["heard 5", "heard 6", "heard five"]
    rescore_rollouts(ledger, REWARD.with_version("4"), [other, judge], ask=True)
    assert len(seen) == 6


@pytest.mark.usefixtures("heed_ctrl_c")
@pytest.mark.parametrize("ask", [False, True])
def test_what_judges_said_before_a_rescoring_is_stopped_is_not_lost(ledger, ask):
    samples = [{"prompt": f"{n}", "completion": f"{n}", "answer": "5"} for n in range(40)]
    record(ledger, [both], samples[:30])
    record(ledger, [both], samples[30:], actor="other")
    seen: list[str] = []
    stops = {"25", "35"}

    @feature(judge=True, name="clear")
    async def judge(text):
        if text in stops:
            stops.discard(text)
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
            await asyncio.sleep(60)
        seen.append(text)
        return Answer(int(text) / 100, f"heard {text}")

    for count in (25, 35):
        with pytest.raises(KeyboardInterrupt):
            rescore_rollouts(ledger, NEXT, [right, judge], ask=ask, concurrency=1)
        assert len(seen) == count
    found = rescore_rollouts(ledger, NEXT, [right, judge], ask=ask, concurrency=1)
    assert sorted(map(int, seen)) == list(range(40))
    wanted = Scoring(REWARD, [right, judge]).score(samples).totals
    assert list_totals(ledger, found) == wanted
    texts = [each.answers["clear"] for each in read_rollouts(ledger, ledger.history(job=found.rescoring.job))]
    assert texts == [f"heard {n}" for n in range(40)]
    assert [(job.finished is not None, "stopped" in job.chosen) for job in ledger.jobs()] == [
        (True, False),
        (True, True),
        (True, True),
    ]
    assert ledger.verify().ok
    assert ledger.forget(run="a") > 0
    assert not any(each.sample or each.answers for each in read_rollouts(ledger, ledger.history(job=2)))


def test_a_judge_of_which_a_group_lies_in_two_batches_is_asked_once(ledger, monkeypatch):
    monkeypatch.setattr("plaudit.llm.rescoring._TOGETHER", 2)
    monkeypatch.setattr("plaudit.ledger.storage.codec.INLINE_RECORDS", 3)
    samples = [{"prompt": "one", "completion": f"{n}", "answer": "5"} for n in range(8)]
    record(ledger, [both], samples)
    judge, seen = build_judge(lambda text: int(text) / 10)
    first = feature(group=True, name="right")(lambda clear: [each == min(clear) for each in clear])
    found = rescore_rollouts(ledger, NEXT, [first, judge])
    assert sorted(seen) == [f"{n}" for n in range(8)]
    assert [each.signal.inputs["right"] for each in ledger.history(job=found.rescoring.job)] == [True, *[False] * 7]
