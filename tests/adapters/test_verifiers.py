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

from plaudit import DefinitionError, OutOfRange
from plaudit.adapters.verifiers import rubric_func, rubric_funcs, task_reward
from plaudit.errors import MissingField, TooManyMasked, WrongType
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
    assert called(rubric_func(REWARD, sums.features), RUBRIC) == sums.TOTALS[0]
    assert called(rubric_func(REWARD, lambda completion, **others: sums.features(completion, others["answer"])), RUBRIC)


def test_the_terms_of_a_rubric_add_up_to_the_total():
    funcs = rubric_funcs(CLAMPED, sums.features)
    assert [func.__name__ for func in funcs.funcs] == ["correct", "length", "form", "total.clamp"]
    for at, total in enumerate(TOTALS):
        scores = [called(func, rollout(at)) for func in funcs.funcs]
        assert sum(w * s for w, s in zip(funcs.weights, scores, strict=True)) == pytest.approx(total)
        assert called(rubric_func(CLAMPED, sums.features), rollout(at)) == pytest.approx(total)
    assert rubric_funcs(REWARD, sums.features).weights == [1.0, -0.5, 0.25]


def test_a_task_gets_what_each_term_adds():
    assert sorted(TASK) == ["task", "trace"]

    async def features(task, trace):
        return sums.features(trace.said, task.answer)

    quality = task_reward(CLAMPED, features, name="quality")
    assert quality.__name__ == "quality"
    for at, total in enumerate(TOTALS):
        known = {
            "task": SimpleNamespace(answer=sums.COLUMNS["answer"][at]),
            "trace": SimpleNamespace(said=sums.COMPLETIONS[at]),
            "runtime": None,
        }
        added = called(quality, known)
        assert list(added) == ["correct", "length", "form", "total.clamp"]
        assert sum(added.values()) == pytest.approx(total)


def test_it_can_be_marked_and_bound_as_verifiers_does():
    func = task_reward(REWARD, sums.features)
    func.reward, func._vf_weight = True, 2.0
    holder = type("Task", (), {"quality": func})()
    assert holder.quality is func  # not bound: there is no self to pass


def annotated(completion, answer) -> list:
    return []


def test_its_signature_asks_for_what_the_features_name_and_promises_no_list():
    signature = inspect.signature(rubric_func(REWARD, annotated))
    assert list(signature.parameters) == ["completion", "answer", "state"]  # the last to say that scoring failed
    assert signature.return_annotation is inspect.Signature.empty  # a list would make it a function of a group


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

    functions = [rubric_func(REWARD, features, on_bad=on_bad), task_reward(REWARD, features, on_bad=on_bad)]
    for func in (*functions, *rubric_funcs(REWARD, features, on_bad=on_bad).funcs):
        error = failed(func)
        assert isinstance(error, OutOfRange)
        assert "field 'words': -1" in str(error)
    unreadable = {**RUBRIC, "completion": None}  # which the features themselves refuse
    error = failed(rubric_func(REWARD, sums.features, on_bad=on_bad), unreadable)
    assert isinstance(error, WrongType)
    assert "a completion is a string or a list of messages, not None" in str(error)
    assert "asks for 'trace'" in str(failed(rubric_func(REWARD, lambda trace: {}, on_bad=on_bad)))
    everything = rubric_func(REWARD, lambda completion, **others: features(completion), on_bad=on_bad)
    assert isinstance(failed(everything), OutOfRange)
    with pytest.raises(OutOfRange):  # a task has no such state
        called(functions[1], {"completion": ""})


def test_an_error_from_before_the_scoring_is_kept():
    state = {"error": RuntimeError("the sandbox died")}
    with pytest.raises(WrongType):
        called(rubric_func(REWARD, sums.features), {**RUBRIC, "completion": None, "state": state})
    assert str(state["error"]) == "the sandbox died"


def test_a_word_or_a_share_that_is_none_is_refused():
    for made in (rubric_func, rubric_funcs, task_reward):
        with pytest.raises(DefinitionError, match="on_bad='zero' is not one of raise, mask, clip"):
            made(REWARD, sums.features, on_bad="zero")
        with pytest.raises(DefinitionError, match="max_masked=2 must be a fraction"):
            made(REWARD, sums.features, max_masked=2)


def test_masked_rollouts_are_counted_and_logged(capsys):
    def fails(completion):
        raise RuntimeError("the judge was down")

    func = rubric_func(REWARD, fails, on_bad="mask")
    assert str(failed(func)) == "the judge was down"
    assert func.masked == 1
    assert "sums: 1 of 1 samples could not be scored" in capsys.readouterr().err
    failed(rubric_func(REWARD, fails))
    assert capsys.readouterr().err == ""


def test_numbers_are_clipped_where_that_is_asked_for():
    def features(completion):
        return {"right": True, "words": -1, "style": "bare"}

    whole = REWARD.score(right=True, words=0, style="bare").total
    assert called(rubric_func(REWARD, features, on_bad="clip"), RUBRIC) == whole
    assert sum(called(task_reward(REWARD, features, on_bad="clip"), RUBRIC).values()) == whole


def test_every_rollout_fails_while_too_many_could_not_be_scored():
    def fails(completion, answer):
        if completion == "lost":
            raise RuntimeError("the judge was down")
        return sums.features(completion, answer)

    func = rubric_func(REWARD, fails, on_bad="mask")
    lost = {**RUBRIC, "completion": "lost"}
    for _ in range(9):
        assert isinstance(failed(func, lost), RuntimeError)
    for known in (lost, RUBRIC):
        assert isinstance(failed(func, known), TooManyMasked)
    assert "10 of 12 samples so far could not be scored" in str(failed(func))


def test_fields_that_no_rollout_has_are_an_error_from_the_second_one_on():
    func = rubric_func(REWARD, lambda completion: {"right": True}, on_bad="mask")
    assert "None of" not in str(failed(func))
    for _ in range(2):
        error = failed(func)
        assert isinstance(error, MissingField)
        assert "samples has the right fields, so none is masked" in str(error)


def test_the_functions_travel_to_another_process():
    for func in (rubric_func(CLAMPED, sums.features), *rubric_funcs(CLAMPED, sums.features).funcs):
        assert called(pickle.loads(pickle.dumps(func)), RUBRIC) == called(func, RUBRIC)
