"""A reward as verifiers calls it: by the names of parameters, awaited, with weights that add up to the total.

`recorded/rubric.json` and `recorded/task.json` say what a real `Rubric` and a real `Task` hand over.
"""

import asyncio
import inspect
import json
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest

from plaudit import DefinitionError, Field, InputError, OutOfRange, Reward, term
from plaudit.adapters.verifiers import rubric_func, rubric_funcs, task_reward
from plaudit.errors import Abstained, MissingField, TooManyMasked, WrongType
from plaudit.llm import Feature, Scoring, feature
from plaudit.schedules import linear
from support import sums

FOLDER = Path(__file__).parent / "recorded"
RUBRIC, TASK = (
    json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["calls"][0] for name in ("rubric", "task")
)
REWARD, CLAMPED = sums.reward(), sums.reward(low=-0.25, high=1.0)
TOTALS = [max(total, -0.25) for total in sums.TOTALS[:3]]


def called(func, known):
    """Return what a function gives that is called with those of its parameters that are known."""
    parameters = inspect.signature(func).parameters
    everything = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    return asyncio.run(func(**{name: part for name, part in known.items() if everything or name in parameters}))


def rollout(at):
    """Return a rollout as the recorded one, about another sum."""
    return {**RUBRIC, "completion": sums.said(sums.COMPLETIONS[at]), "answer": sums.COLUMNS["answer"][at]}


def test_a_recorded_rollout_is_scored():
    assert called(rubric_func(Scoring(REWARD, sums.features)), RUBRIC) == sums.TOTALS[0]
    assert called(
        rubric_func(Scoring(REWARD, lambda completion, **others: sums.features(completion, others["answer"]))), RUBRIC
    )


def test_the_terms_of_a_rubric_add_up_to_the_total():
    funcs = rubric_funcs(Scoring(CLAMPED, sums.features))
    assert [func.__name__ for func in funcs.funcs] == ["correct", "length", "form", "total.clamp"]
    for at, total in enumerate(TOTALS):
        scores = [called(func, rollout(at)) for func in funcs.funcs]
        assert sum(w * s for w, s in zip(funcs.weights, scores, strict=True)) == pytest.approx(total)
        assert called(rubric_func(Scoring(CLAMPED, sums.features)), rollout(at)) == pytest.approx(total)
    assert rubric_funcs(Scoring(REWARD, sums.features)).weights == [1.0, -0.5, 0.25]


class Trace:
    """What of a trace is read: the messages that the model wrote."""

    def __init__(self, *said):
        self.assistant_messages = [Message(each) for each in said]


class Message:
    def __init__(self, said):
        self.said = said

    def model_dump(self, exclude_none):
        calls = [{"id": "c1", "type": "function", "name": "add", "arguments": "{}"}]
        return {"role": "assistant", "content": self.said, **({"tool_calls": calls} if self.said == "calls" else {})}


class Data:
    """What of the data of a task is read: its fields, as pydantic has them."""

    model_fields = {"answer": None}  # noqa: RUF012

    def __init__(self, answer):
        self.answer = answer


def test_a_task_gets_what_each_term_adds():
    assert sorted(TASK) == ["task", "trace"]
    quality = task_reward(Scoring(CLAMPED, sums.features), name="quality")
    assert quality.__name__ == "quality"
    for at, total in enumerate(TOTALS):
        known = {"task": Data(sums.COLUMNS["answer"][at]), "trace": Trace(sums.COMPLETIONS[at]), "runtime": None}
        added = called(quality, known)
        assert list(added) == ["correct", "length", "form", "total.clamp"]
        assert sum(added.values()) == pytest.approx(total)


def test_features_of_a_task_see_its_data_and_what_was_written_and_the_runtime_where_they_name_it():
    def features(task, trace, answer, text, tool_calls, runtime):
        assert tool_calls == ({"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}},)
        return {"right": task.answer == answer == "5", "words": len(trace.assistant_messages), "style": text + runtime}

    func = task_reward(Scoring(REWARD, features))
    assert inspect.signature(func).parameters["runtime"].default is inspect.Parameter.empty  # verifiers leaves it out
    known = {"task": Data("5"), "trace": Trace("calls", ""), "runtime": ""}
    with pytest.raises(InputError, match="'calls'"):
        called(func, known)

    def offline(text, runtime=None):
        return {"right": runtime is None, "words": 0, "style": "bare"}

    func = task_reward(Scoring(REWARD, offline))
    assert inspect.signature(func).parameters["runtime"].default is None
    assert called(func, {"task": Data("5"), "trace": Trace("5")})["correct"] == 1.0
    assert "runtime" not in inspect.signature(task_reward(Scoring(REWARD, sums.features))).parameters


class State(dict):
    """As that of verifiers: a dictionary of which one can tell that it is gone."""


def concurrently(funcs, parts):
    async def run():
        return await asyncio.gather(*(func(**parts) for func in funcs), return_exceptions=True)

    return asyncio.run(run())


@pytest.mark.parametrize("kind", [dict, State])
def test_a_rollout_is_scored_once_for_all_functions_and_anew_when_it_comes_again(kind):
    asked = []

    async def features(completion, answer):
        asked.append(completion)
        await asyncio.sleep(0.01)
        return sums.features(completion, answer)

    funcs, weights = rubric_funcs(Scoring(CLAMPED, features))
    states = [kind(RUBRIC["state"]) for _ in range(3)]
    parts = [{**rollout(at), "state": state} for at, state in enumerate(states)]
    for at, total in enumerate(TOTALS):
        scores = concurrently(funcs, parts[at])
        assert sum(w * s for w, s in zip(weights, scores, strict=True)) == pytest.approx(total)
    assert len(asked) == 3

    async def by_function():  # as `score_group` calls them
        return [await asyncio.gather(*(func(**each) for each in parts)) for func in funcs]

    columns = asyncio.run(by_function())
    totals = [sum(w * s for w, s in zip(weights, row, strict=True)) for row in zip(*columns, strict=True)]
    assert totals == pytest.approx(TOTALS)
    assert len(asked) == 6
    called(funcs[0], parts[0])
    called(funcs[0], parts[0])
    assert len(asked) == 8
    traces = {"task": Data("2"), "trace": Trace("2")}
    assert concurrently(funcs, traces) == [1.0, 0.25, 0.0, 0.0]
    assert len(asked) == 9


def test_a_rollout_that_is_gone_is_not_taken_for_another():
    func = rubric_funcs(Scoring(REWARD, sums.features)).funcs[0]
    for _ in range(20):  # the next state may well be where the last one was
        for at in (0, 2):
            state = State(RUBRIC["state"])
            assert called(func, {**rollout(at), "state": state}) == (1.0 if at == 0 else 0.0)
            del state
    assert len(func._rollouts._runs) <= 1


def test_a_function_that_is_cancelled_does_not_end_the_scoring_for_the_others():
    async def features(completion, answer):
        await asyncio.sleep(0.05)
        return sums.features(completion, answer)

    funcs = rubric_funcs(Scoring(REWARD, features)).funcs

    async def run():
        parts = {**RUBRIC, "state": State(RUBRIC["state"])}
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(funcs[0](**parts), 0.01)
        return await funcs[1](**parts)

    assert asyncio.run(run()) == 0.25


@pytest.mark.parametrize("kind", [dict, State])
def test_when_nobody_waits_any_more_judges_are_cancelled(kind):
    asked, judged = [], []

    async def features(completion, answer):
        asked.append(completion)
        await asyncio.sleep(0.05 if len(asked) > 1 else 60)
        judged.append(completion)
        return sums.features(completion, answer)

    funcs = rubric_funcs(Scoring(REWARD, features)).funcs

    async def run():
        parts = {**RUBRIC, "state": kind(RUBRIC["state"])}
        waiting = [asyncio.ensure_future(func(**parts)) for func in funcs[:2]]
        while not asked:
            await asyncio.sleep(0.01)
        waiting[0].cancel()
        await asyncio.wait(waiting[:1])
        assert len(asyncio.all_tasks()) > 2  # the other function still waits
        waiting[1].cancel()
        await asyncio.wait(waiting)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert (len(asked), judged) == (1, [])
        return await asyncio.gather(*(func(**parts) for func in funcs))  # as if it had not been asked before

    assert asyncio.run(run())[1] == 0.25
    assert len(asked) == 2


@term(weight=linear(0.0, 1.0, over=10))
def growing(words):
    return words


SCHEDULED = Reward("scheduled", version="1", terms=[growing], fields=[Field("words", low=0)])


@pytest.mark.parametrize("made", [rubric_func, task_reward])
def test_a_schedule_without_a_step_is_refused_and_a_feature_can_read_one(made):
    message = r"growing.weight follows 'step', and verifiers does not say.*Add a feature called 'step'.*with_params\(\{"
    with pytest.raises(DefinitionError, match=message):
        made(Scoring(SCHEDULED, [words]))
    func = made(Scoring(SCHEDULED, [words, Feature(lambda: 5, name="step")]))
    given = RUBRIC if made is rubric_func else {"task": Data("2"), "trace": Trace("2")}
    told = called(func, given)
    assert (told if made is rubric_func else told["growing"]) == 0.5
    assert made(Scoring(SCHEDULED, lambda completion: {"words": 1, "step": 5}))


@feature
def words(text):
    return len(text.split())


@feature(group=True)
def rank(words):
    return [sorted(words).index(own) for own in words]


@term(weight=2.0)
def short(rank):
    return 1 - rank / 2


@term
def brief(words):
    return 1 if words < 4 else 0


RANKED = Reward("ranked", version="1", terms=[short, brief], fields=[Field("rank", low=0), Field("words", low=0)])


def group(*said):
    """Return the arguments of a function of a group."""
    states = [State(completion=each, input={"prompt": "", "answer": "5"}) for each in said]
    return {"states": states, "completions": list(said), "prompts": [""] * len(said)}


def test_rollouts_of_a_group_are_scored_together_by_functions_that_a_rubric_takes_for_such():
    whole, parts = rubric_func(Scoring(RANKED, [words, rank])), rubric_funcs(Scoring(RANKED, [words, rank]))
    plural = {"prompts", "completions", "answers", "states", "tasks", "infos"}
    assert {*inspect.signature(whole).parameters} == plural
    given = group("a b c d e", "a", "a b")
    assert asyncio.run(whole(**given)) == [0.0, 3.0, 2.0]
    columns = concurrently(parts.funcs, given)
    assert columns == [[0.0, 1.0, 0.5], [0.0, 1.0, 1.0]]
    assert parts.weights == [2.0, 1.0]
    assert asyncio.run(whole(**group())) == []
    with pytest.raises(DefinitionError, match="feature 'rank' needs a group, but a verifiers Task scores one sample"):
        task_reward(Scoring(RANKED, [words, rank]))


@pytest.mark.parametrize("on_bad", ["raise", "mask"])
def test_a_rollout_of_a_group_without_a_reward_is_marked(on_bad):
    def abstains(text, answer):
        if text == "a":
            raise Abstained("no reference answer")
        return len(text.split())

    given = group("a b", "a", "a b c")
    func = rubric_func(Scoring(RANKED, [Feature(abstains, name="words"), rank], on_bad=on_bad))
    assert asyncio.run(func(**given)) == [3.0, 0.0, 2.0]
    assert [type(state.get("error")) for state in given["states"]] == [type(None), Abstained, type(None)]
    assert func.masked == 0


def test_an_error_fails_the_whole_group_where_it_is_raised_and_one_rollout_where_it_is_masked():
    for on_bad, failed in (("raise", [0, 1, 2]), ("mask", [1])):
        given = group("a b", None, "a b c")
        func = rubric_func(Scoring(RANKED, [words, rank], on_bad=on_bad))
        if on_bad == "raise":
            with pytest.raises(WrongType, match="a completion is a string"):
                asyncio.run(func(**given))
        else:
            assert asyncio.run(func(**given)) == [3.0, 0.0, 2.0]
        assert [at for at, state in enumerate(given["states"]) if "error" in state] == failed


def test_a_feature_may_give_no_reward_to_a_rollout():
    def abstains(text):
        raise Abstained("no reference answer")

    for on_bad in ("raise", "mask"):
        scoring = Scoring(REWARD, abstains, on_bad=on_bad)
        assert str(failed(rubric_func(scoring))) == "no reference answer"
        with pytest.raises(Abstained, match="no reference answer"):
            called(task_reward(scoring), {"task": Data("5"), "trace": Trace("5")})
        assert scoring.masked == 0


def test_it_can_be_marked_and_bound_as_verifiers_does():
    func = task_reward(Scoring(REWARD, sums.features))
    func.reward, func._vf_weight = True, 2.0
    holder = type("Task", (), {"quality": func})()
    assert holder.quality is func  # not bound: there is no self to pass


def annotated(completion, answer) -> list:
    return []


def test_its_signature_asks_for_everything_and_promises_no_list():
    signature = inspect.signature(rubric_func(Scoring(REWARD, annotated)))
    assert list(signature.parameters) == ["state", "task", "trace", "more"]
    assert signature.return_annotation is inspect.Signature.empty  # a list would make it a function of a group


def test_the_state_is_a_part_of_a_rollout_only_where_a_feature_reads_it():
    def features(state, **sample):
        return {"right": state["answer"] == sample["answer"], "words": 0, "style": "bare"}

    assert called(rubric_func(Scoring(REWARD, features)), RUBRIC) == 1.0
    everything = rubric_func(
        Scoring(REWARD, lambda **sample: {"right": "state" in sample, "words": 0, "style": "bare"})
    )
    assert called(everything, RUBRIC) == 0.0


def failed(func, known=RUBRIC):
    """Return the error that a rollout is marked with, which is also raised: a Rubric takes NaN for a reward."""
    state = {**RUBRIC["state"], "error": None}
    with pytest.raises(Exception) as raised:  # noqa: PT011  whatever the function raises
        called(func, {**known, "state": state})
    assert state["error"] is raised.value
    return raised.value


@pytest.mark.parametrize("on_bad", ["raise", "mask"])
def test_a_rollout_that_cannot_be_scored_raises_and_is_marked_as_failed(on_bad):
    def features(completion):
        return {"right": True, "words": -1, "style": "bare"}

    scoring = Scoring(REWARD, features, on_bad=on_bad)
    for func in (rubric_func(scoring), *rubric_funcs(scoring).funcs):
        error = failed(func)
        assert isinstance(error, OutOfRange)
        assert "field 'words': -1" in str(error)
    unreadable = {**RUBRIC, "completion": None}  # which the features themselves refuse
    error = failed(rubric_func(Scoring(REWARD, sums.features, on_bad=on_bad)), unreadable)
    assert isinstance(error, WrongType)
    assert "a completion is a string or a list of messages, not None" in str(error)
    assert "asks for 'trace'" in str(failed(rubric_func(Scoring(REWARD, lambda trace: {}, on_bad=on_bad))))
    everything = rubric_func(Scoring(REWARD, lambda completion, **others: features(completion), on_bad=on_bad))
    assert isinstance(failed(everything), OutOfRange)
    with pytest.raises(OutOfRange):  # a task has no such state
        called(task_reward(Scoring(REWARD, features, on_bad=on_bad)), {"task": SimpleNamespace(), "trace": Trace("")})


def test_an_error_from_before_the_scoring_is_kept():
    state = {"error": RuntimeError("the sandbox died")}
    with pytest.raises(WrongType):
        called(rubric_func(Scoring(REWARD, sums.features)), {**RUBRIC, "completion": None, "state": state})
    assert str(state["error"]) == "the sandbox died"


def test_a_word_or_a_share_that_is_none_is_refused():
    for made in (rubric_func, rubric_funcs, task_reward):
        with pytest.raises(DefinitionError, match="on_bad='zero' is not one of raise, mask, clip"):
            made(Scoring(REWARD, sums.features, on_bad="zero"))
        with pytest.raises(DefinitionError, match="max_masked=2 must be a fraction"):
            made(Scoring(REWARD, sums.features, max_masked=2))


def test_masked_rollouts_are_counted_and_logged(capsys):
    def fails(completion):
        raise RuntimeError("the judge was down")

    func = rubric_func(Scoring(REWARD, fails, on_bad="mask"))
    assert str(failed(func)) == "the judge was down"
    assert func.masked == 1
    assert "sums: 1 of 1 samples could not be scored" in capsys.readouterr().err
    failed(rubric_func(Scoring(REWARD, fails)))
    assert capsys.readouterr().err == ""


def test_numbers_are_clipped_where_that_is_asked_for():
    def features(completion):
        return {"right": True, "words": -1, "style": "bare"}

    whole = REWARD.score(right=True, words=0, style="bare").total
    assert called(rubric_func(Scoring(REWARD, features, on_bad="clip")), RUBRIC) == whole
    assert sum(called(task_reward(Scoring(REWARD, features, on_bad="clip")), RUBRIC).values()) == whole


def test_every_rollout_fails_while_too_many_could_not_be_scored():
    def fails(completion, answer):
        if completion == "lost":
            raise RuntimeError("the judge was down")
        return sums.features(completion, answer)

    func = rubric_func(Scoring(REWARD, fails, on_bad="mask"))
    lost = {**RUBRIC, "completion": "lost"}
    for _ in range(9):
        assert isinstance(failed(func, lost), RuntimeError)
    for known in (lost, RUBRIC):
        assert isinstance(failed(func, known), TooManyMasked)
    assert "10 of 12 samples so far could not be scored" in str(failed(func))


def test_fields_that_no_rollout_has_are_an_error_from_the_second_one_on():
    func = rubric_func(Scoring(REWARD, lambda completion: {"right": True}, on_bad="mask"))
    assert "None of" not in str(failed(func))
    for _ in range(2):
        error = failed(func)
        assert isinstance(error, MissingField)
        assert "samples has the right fields, so none is masked" in str(error)


def test_the_functions_travel_to_another_process():
    for func in (rubric_func(Scoring(CLAMPED, sums.features)), *rubric_funcs(Scoring(CLAMPED, sums.features)).funcs):
        assert called(pickle.loads(pickle.dumps(func)), RUBRIC) == called(func, RUBRIC)
