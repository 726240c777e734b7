"""One scorer for all adapters: features run once a sample, side by side where they wait; a failure stays its own."""

import asyncio
import math
import pickle
import threading
import time

import pytest

from plaudit import DefinitionError, Field, Reward, term
from plaudit.errors import (
    Abstained,
    FeatureTimeout,
    MissingField,
    NotFinite,
    OutOfRange,
    ShapeMismatch,
    TooManyMasked,
    UnknownInput,
    WrongType,
)
from plaudit.llm import Answer, Sample, Scoring, feature, ready
from plaudit.schedules import linear


@feature
def right(text, answer):
    return text.strip() == answer


@feature
def words(text):
    return len(text.split())


@term
def correct(right):
    return 1 if right else 0


@term(weight=-0.1)
def length(words):
    return words


@term(weight=0.5)
def clarity(clear):
    return clear


PLAIN = Reward("plain", version="1", terms=[correct, length], fields=[Field("right", flag=True), Field("words", low=0)])
JUDGED = Reward(
    "judged",
    version="1",
    terms=[correct, length, clarity],
    fields=[Field("right", flag=True), Field("words", low=0), Field("clear", low=0, high=1)],
)


def samples(count, **columns):
    return [{"prompt": f"{at // 4}", "completion": f"word {at}", "answer": f"word {at}"} for at in range(count)]


def judge(answer, **options):
    """Return a judge that gives every text what `answer` says of it."""

    @feature(judge=True, name="clear", **options)
    async def clear(text):
        await asyncio.sleep(0)
        return answer(text)

    return clear


def test_a_batch_is_scored_as_each_sample_alone():
    scoring = Scoring(PLAIN, [right, words])
    batch = scoring.score(samples(20))
    alone = [scoring.score([sample]) for sample in samples(20)]
    assert batch.totals == [each.totals[0] for each in alone] == [0.8] * 20
    for at, each in enumerate(alone):
        assert batch.build_signal(at).values == each.build_signal(0).values
        assert {name: values[at] for name, values in batch.values.items()} == each.build_signal(0).values
    assert scoring.score([]).totals == []


def test_a_feature_is_called_once_a_sample_however_many_read_it():
    called = []

    @feature
    def parsed(text):
        called.append(text)
        return text.split()

    @feature
    def right(parsed):
        return len(parsed) == 2

    @feature
    def words(parsed):
        return len(parsed)

    assert Scoring(PLAIN, [right, words, parsed]).score(samples(5)).totals == [0.8] * 5
    assert len(called) == 5


def test_a_plain_function_that_returns_a_mapping_still_works():
    def features(completion, answer):
        return {"right": completion == answer, "words": len(completion.split())}

    assert Scoring(PLAIN, features).score(samples(9)).totals == [0.8] * 9
    with pytest.raises(UnknownInput, match="does not read 'wrods'"):
        Scoring(PLAIN, lambda completion: {"right": True, "words": 1, "wrods": 2}).score(samples(1))
    with pytest.raises(WrongType, match="returned 3, and reward 'plain' does not read '<lambda>'"):
        Scoring(PLAIN, lambda completion: 3).score(samples(1))


def test_batch_and_group_features_get_lists():
    seen = []

    @feature(batch=True)
    def words(text):
        seen.append(len(text))
        return [len(each.split()) for each in text]

    @feature(group=True, name="clear")
    def rank(prompt, words):
        seen.append(tuple(prompt))
        return [at / len(words) for at in range(len(words))]

    found = Scoring(JUDGED, [right, words, rank]).score(samples(8))
    assert seen == [8, ("0",) * 4, ("1",) * 4]
    assert found.values["clarity"] == [0.0, 0.125, 0.25, 0.375] * 2
    given = Scoring(JUDGED, [right, words, rank]).score(samples(4), groups=[0, 1, 0, 1])
    assert given.values["clarity"] == [0.0, 0.0, 0.25, 0.25]
    with pytest.raises(ShapeMismatch, match="groups has 1 entries for 4 samples"):
        Scoring(JUDGED, [right, words, rank]).score(samples(4), groups=[0])


@pytest.mark.parametrize("how", ["async", "threads"])
def test_judges_are_asked_side_by_side(how):
    busy = most = 0
    lock = threading.Lock()

    def enter(change):
        nonlocal busy, most
        with lock:
            busy += change
            most = max(most, busy)

    if how == "async":

        @feature(judge=True)
        async def clear(text):
            enter(1)
            await asyncio.sleep(0.02)
            enter(-1)
            return 1.0
    else:

        @feature(judge=True)
        def clear(text):
            enter(1)
            time.sleep(0.02)
            enter(-1)
            return 1.0

    found = Scoring(JUDGED, [right, words, clear], concurrency=4).score(samples(16))
    assert found.totals == [1.3] * 16
    assert most == 4


def test_it_scores_inside_a_running_loop_too():
    async def main():
        scoring = Scoring(JUDGED, [right, words, judge(lambda text: 1.0)])
        return scoring.score(samples(3)).totals, (await scoring.score_async(samples(3))).totals

    assert asyncio.run(main()) == ([1.3] * 3, [1.3] * 3)


def test_what_a_judge_said_is_kept():
    found = Scoring(JUDGED, [right, words, judge(lambda text: Answer(0.5, f"fine: {text}"))]).score(samples(2))
    assert found.answers == {0: {"clear": "fine: word 0"}, 1: {"clear": "fine: word 1"}}
    assert found.values["clarity"] == [0.25, 0.25]


def fail(error):
    def answer(text):
        if text == "word 2":
            raise error
        return 1.0

    return answer


@pytest.mark.parametrize(
    ("answer", "error", "reason"),
    [
        (fail(ConnectionError("the judge is down")), ConnectionError, "the judge is down"),
        (lambda text: None if text == "word 2" else 1.0, WrongType, "'clear' returned None"),
        (lambda text: math.nan if text == "word 2" else 1.0, NotFinite, "NaN"),
        (lambda text: "nonsense" if text == "word 2" else 1.0, WrongType, "nonsense"),
        (lambda text: 7.0 if text == "word 2" else 1.0, OutOfRange, "7"),
    ],
    ids=["raises", "None", "NaN", "nonsense", "out of range"],
)
def test_a_sample_that_fails_has_no_reward_and_a_reason(answer, error, reason, capsys):
    features = [right, words, judge(answer)]
    with pytest.raises(error, match=reason) as raised:
        Scoring(JUDGED, features).score(samples(20))
    assert any("sample 2" in note for note in raised.value.__notes__)
    scoring = Scoring(JUDGED, features, on_bad="mask")
    found = scoring.score(samples(20))
    assert found.totals == [1.3, 1.3, None, *[1.3] * 17]
    assert list(found.reasons) == [2]
    assert reason in found.reasons[2]
    assert all(values[2] is None for values in found.values.values())
    assert scoring.masked == 1
    assert "1 of 20 samples could not be scored" in capsys.readouterr().err


def test_a_feature_abstains_whatever_is_done_with_bad_samples():
    def answer(text):
        if text == "word 2":
            raise Abstained("it is in another language")
        return 1.0

    for on_bad in ("raise", "mask", "clip"):
        scoring = Scoring(JUDGED, [right, words, judge(answer)], on_bad=on_bad)
        found = scoring.score(samples(4))
        assert found.totals == [1.3, 1.3, None, 1.3]
        assert "another language" in found.abstained[2]
        assert (found.reasons, scoring.masked) == ({}, 0)
    applies = Scoring(PLAIN, [right, words], applies=lambda answer: answer != "word 1").score(samples(2))
    assert applies.totals == [0.8, None]


def test_a_term_that_is_lost_is_lost_for_the_whole_group(capsys):
    scoring = Scoring(JUDGED, [right, words, judge(fail(OSError("down")))], on_bad="mask", on_lost_term="group")
    found = scoring.score(samples(8))
    assert found.totals == [0.8] * 4 + [1.3] * 4
    assert found.values["clarity"] == [None] * 4 + [0.5] * 4
    assert found.rewards[0].version == "1 without clarity"
    assert found.rewards[4] is JUDGED
    assert found.reasons == {}
    assert found.lost_terms == dict.fromkeys(range(4), ("clarity",))
    warning = capsys.readouterr().err
    assert "4 of 8 samples are scored without a term" in warning
    assert "OSError: down in feature 'clear' of sample" in warning
    assert list(found.lost_reasons) == [0, 1, 2, 3]
    assert {reason[:40] for reason in found.lost_reasons.values()} == {"OSError: down in feature 'clear' of samp"}
    assert (found.share_lost, found.share_masked, scoring.lost, scoring.masked) == (0.5, 0.0, 4, 0)


def test_more_lost_terms_than_max_masked_stop_the_run():
    away = judge(lambda text: 1 / 0)
    scoring = Scoring(JUDGED, [right, words, away], on_bad="mask", on_lost_term="group")
    message = "(?s)12 of 12 samples could not be given a term, .* max_masked=0.5. The first: ZeroDivisionError.*raise max_masked"
    with pytest.raises(TooManyMasked, match=message):
        scoring.score(samples(12))
    rare = judge(lambda text: 1 / (text not in ("word 0", "word 4")))
    scoring = Scoring(JUDGED, [right, words, rare], on_bad="mask", on_lost_term="group")
    assert scoring.score(samples(16)).share_lost == 0.5
    assert scoring.score(samples(16)).totals == [0.8] * 8 + [1.3] * 8  # 4 of 32 failed, and 12 lost a term with them
    assert scoring.lost == 16
    allowed = Scoring(JUDGED, [right, words, away], on_bad="mask", on_lost_term="group", max_masked=1)
    assert allowed.score(samples(12)).totals == [0.8] * 12
    assert allowed.lost == 12


def test_a_schedule_needs_a_step_unless_its_term_is_lost():
    scheduled = JUDGED.with_weights(clarity=linear(0.0, 1.0, over=10))
    fine, away = judge(lambda text: 1.0), judge(lambda text: 1 / 0)
    message = "follow 'step', and no step was given.*from a feature called 'step', or pass step= to Scoring.score"
    with pytest.raises(MissingField, match=message):
        Scoring(scheduled, [right, words, fine]).score(samples(1))
    stepped = feature(name="step")(lambda: 5)
    assert Scoring(scheduled, [right, words, fine, stepped]).score(samples(1)).totals == [1.3]
    assert Scoring(scheduled, [right, words, fine]).score(samples(9), step=5).totals == [1.3] * 9
    lost = Scoring(scheduled, [right, words, away], on_bad="mask", on_lost_term="group")
    assert lost.score(samples(1)).totals == [0.8]


def test_terms_that_are_lost_by_abstaining_are_no_failures():
    def abstain(text):
        raise Abstained("no rubric")

    scoring = Scoring(JUDGED, [right, words, judge(abstain)], on_bad="mask", on_lost_term="group")
    found = scoring.score(samples(12))
    assert found.lost_reasons[11] == "Abstained: no rubric in feature 'clear' of sample 11"
    assert (scoring.lost, found.share_lost, found.totals) == (0, 0.0, [0.8] * 12)


def test_a_term_without_which_nothing_is_left_is_not_dropped():
    only = JUDGED.select_terms("clarity")
    scoring = Scoring(only, [judge(fail(OSError("down")))], on_bad="mask", on_lost_term="group", max_masked=1)
    assert scoring.score(samples(4)).totals == [0.5, 0.5, None, 0.5]


def slow(text):
    while text == "word 2":
        pass
    return 1


@pytest.mark.parametrize("where", ["main thread", "thread"])
def test_a_plain_feature_that_hangs_is_ended(where):
    found = []

    def run():
        scoring = Scoring(PLAIN, [right, feature(name="words")(slow)], on_bad="mask", timeout=0.2)
        found.append(scoring.score(samples(4)))

    if where == "thread":
        thread = threading.Thread(target=run)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
    else:
        run()
    assert found[0].totals == [0.9, 0.9, None, 0.9]
    assert "no result within 0.2 s in feature 'words' of sample 2" in found[0].reasons[2]


def test_an_async_feature_that_hangs_is_cancelled():
    cancelled = []

    @feature(judge=True)
    async def clear(text):
        try:
            await asyncio.sleep(60 if text == "word 2" else 0)
        except asyncio.CancelledError:
            cancelled.append(text)
            raise
        return 1.0

    with pytest.raises(FeatureTimeout, match="no result within 0.1 s"):
        Scoring(JUDGED, [right, words, clear], timeout=0.1).score(samples(4))
    assert cancelled == ["word 2"]


def test_whoever_is_cancelled_leaves_nothing_running():
    async def main():
        @feature(judge=True)
        async def clear(text):
            await asyncio.sleep(60)

        scoring = Scoring(JUDGED, [right, words, clear])
        task = asyncio.ensure_future(scoring.score_async(samples(8)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]

    assert asyncio.run(main()) == []
    assert not [each for each in threading.enumerate() if each.name.startswith("plaudit")]


def test_lists_of_another_length_or_kind_are_named():
    def score(found):
        features = [right, words, feature(group=True, name="clear")(lambda text: found)]
        return Scoring(JUDGED, features).score(samples(4))

    with pytest.raises(ShapeMismatch, match="feature 'clear' returned 1 results for 4 samples"):
        score([1.0])
    with pytest.raises(WrongType, match="must return a list with one result for each sample, not 'abcd'"):
        score("abcd")
    with pytest.raises(WrongType, match="'clear' returned None"):
        score([1.0, None, 1.0, 1.0])


def test_mistakes_in_the_definition_are_never_masked():
    with pytest.raises(MissingField, match="right asks for 'anwser'") as raised:
        Scoring(PLAIN, [feature(name="right")(lambda anwser: True), words], on_bad="mask").score(samples(4))
    assert "Did you mean 'answer'" in str(raised.value)
    with pytest.raises(UnknownInput, match="None of 4 samples has the right fields"):
        Scoring(PLAIN, lambda completion: {"rihgt": True, "words": 1}, on_bad="mask").score(samples(4))
    with pytest.raises(TooManyMasked, match="20 of 20 samples could not be scored"):
        Scoring(JUDGED, [right, words, judge(lambda text: 7.0)], on_bad="mask").score(samples(20))
    with pytest.raises(DefinitionError, match="neither reward 'plain' nor a feature reads 'clear'"):
        Scoring(PLAIN, [right, words, judge(lambda text: 1.0)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_bad": "masked"}, "on_bad='masked' is not one of"),
        ({"on_lost_term": "grup"}, "Did you mean 'group'"),
        ({"concurrency": 0}, "concurrency=0 is not a number of calls"),
        ({"timeout": 0}, "timeout=0 is not a number of seconds"),
        ({"timeout": math.inf}, "timeout=inf is not a number of seconds"),
        ({"timeout": math.nan}, "timeout=nan is not a number of seconds"),
        ({"timeout": 1e12}, "None allows any time"),
        ({"max_masked": 2}, "max_masked=2 must be a fraction"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(DefinitionError, match=message):
        Scoring(PLAIN, [right, words], **options)
    with pytest.raises(DefinitionError, match="is not a Reward"):
        Scoring([right], PLAIN)


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "word " * 1_000_000, "日本語"])
def test_any_text_is_scored(text):
    found = Scoring(PLAIN, [right, words]).score([{"prompt": text, "completion": text, "answer": text.strip()}])
    assert found.values["correct"] == [1.0]


def test_a_scoring_goes_to_other_processes():
    scoring = pickle.loads(pickle.dumps(Scoring(PLAIN, [right.with_(name="right"), words])))
    assert scoring.score(samples(3)).totals == [0.8] * 3
    assert scoring.fingerprints == Scoring(PLAIN, [right, words]).fingerprints
    ready_made = pickle.loads(pickle.dumps(ready.length()))
    assert (ready_made.name, ready_made.fingerprint) == (ready.length().name, ready.length().fingerprint)


def test_an_async_feature_of_a_group_that_hangs_says_so():
    @feature(group=True, name="clear")
    async def slow(text):
        await asyncio.sleep(60)

    with pytest.raises(FeatureTimeout, match="no result within 0.2 s"):
        Scoring(JUDGED, [right, words, slow], timeout=0.05).score(samples(4))


def test_what_only_says_how_to_record_needs_a_ledger():
    for options in ({"run": "a"}, {"actor": "me"}, {"texts": "hash"}):
        with pytest.raises(
            DefinitionError, match=f"{next(iter(options))}= says what to record, and there is no ledger"
        ):
            Scoring(PLAIN, [right, words], **options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (samples(1)[0], r"not one sample; write \[sample\]"),
        ("abc", "samples are a list of mappings, not 'abc'"),
        (5, "samples are a list of mappings, not 5"),
        ([*samples(1), "abc"], "sample 1 is not a mapping .* but 'abc'"),
        ([None], "sample 0 is not a mapping .* but None"),
    ],
)
def test_what_is_no_list_of_samples_is_refused(given, message):
    scoring = Scoring(PLAIN, [right, words])
    with pytest.raises(WrongType, match=message):
        scoring.score(given)
    with pytest.raises(WrongType, match=message):
        asyncio.run(scoring.score_async(given))


class Unspeakable(Exception):
    def __str__(self):
        raise KeyError("message")


def test_an_error_without_a_message_is_masked_too():
    found = Scoring(JUDGED, [right, words, judge(fail(Unspeakable()))], on_bad="mask").score(samples(4))
    assert found.totals[2] is None
    assert found.reasons[2] == "Unspeakable: (its message cannot be made) in feature 'clear' of sample 2"


def test_prompts_of_any_data_tell_groups_apart():
    circle = {}
    circle[1] = circle
    rank = feature(group=True, name="clear")(lambda text: [len(text) / 10] * len(text))
    prompts = [{1: "a", "b": 2}, {1: "a", "b": 2}, {("a",): 1}, circle]
    rows = [{**sample, "prompt": prompt} for sample, prompt in zip(samples(4), prompts, strict=True)]
    assert Scoring(JUDGED, [right, words, rank]).score(rows).values["clarity"] == [0.1, 0.1, 0.05, 0.05]


def test_names_of_parts_that_are_no_strings_are_left_alone():
    rows = [{**sample, 1: "first", ("a",): 2} for sample in samples(2)]
    assert Scoring(PLAIN, [right, words]).score(rows).totals == [0.8, 0.8]
    seen = []

    def features(**parts):
        seen.append(set(parts))
        return {"right": True, "words": 1}

    Scoring(PLAIN, features).score(rows[:1])
    assert seen == [{"prompt", "completion", "answer"}]
    assert repr(Sample(rows[0])) == "Sample(prompt, completion, answer, 1, ('a',))"
    with pytest.raises(MissingField, match="It has: prompt, completion, answer, 1"):
        Scoring(PLAIN, [feature(name="right")(lambda hint: True), words]).score(rows)
    with pytest.raises(WrongType, match="groups=5 is not a list"):
        Scoring(PLAIN, [right, words]).score(rows, groups=5)
