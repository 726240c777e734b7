"""A reward as verifiers calls it: by the names of parameters, awaited, with weights that add up to the total.

`recorded/rubric.json` and `recorded/task.json` say what a real `Rubric` and a real `Task` hand over.
"""

import asyncio
import inspect
import json
import math
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest

from plaudit import DefinitionError, OutOfRange
from plaudit.adapters.verifiers import rubric_func, rubric_funcs, task_reward
from plaudit.errors import MissingField, WrongType
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
    assert list(signature.parameters) == ["completion", "answer"]
    assert signature.return_annotation is inspect.Signature.empty  # a list would make it a function of a group


def test_an_input_that_cannot_be_scored_raises_or_is_nan():
    def features(completion):
        return {"right": True, "words": -1, "style": "bare"}

    with pytest.raises(OutOfRange, match="field 'words': -1"):
        called(rubric_func(REWARD, features), RUBRIC)
    with pytest.raises(OutOfRange, match="field 'words': -1"):
        called(task_reward(REWARD, features), RUBRIC)
    assert math.isnan(called(rubric_func(REWARD, features, on_bad="mask"), RUBRIC))
    assert all(math.isnan(called(func, RUBRIC)) for func in rubric_funcs(REWARD, features, on_bad="mask").funcs)
    unreadable = {**RUBRIC, "completion": None}  # which the features themselves refuse
    with pytest.raises(WrongType, match="a completion is a string or a list of messages, not None"):
        called(rubric_func(REWARD, sums.features), unreadable)
    assert math.isnan(called(rubric_func(REWARD, sums.features, on_bad="mask"), unreadable))
    with pytest.raises(MissingField, match="asks for 'trace'"):
        called(rubric_func(REWARD, lambda trace: {}), RUBRIC)
    with pytest.raises(DefinitionError, match="on_bad='zero' is not one of raise, mask, clip"):
        rubric_func(REWARD, features, on_bad="zero")


def test_mask_and_clip_mean_what_they_mean_elsewhere(capsys):
    def fails(completion):
        raise RuntimeError("the judge was down")

    func = rubric_func(REWARD, fails, on_bad="mask")
    assert math.isnan(called(func, RUBRIC))
    assert func.masked == 1
    assert "could not be scored" in capsys.readouterr().err
    clipped = rubric_func(REWARD, lambda completion: {"right": True, "words": -1, "style": "bare"}, on_bad="clip")
    assert called(clipped, RUBRIC) == REWARD.score(right=True, words=0, style="bare").total
    with pytest.raises(MissingField, match="asks for 'trace'"):
        called(rubric_func(REWARD, lambda trace: {}, on_bad="mask"), RUBRIC)


def test_the_functions_travel_to_another_process():
    for func in (rubric_func(CLAMPED, sums.features), *rubric_funcs(CLAMPED, sums.features).funcs):
        assert called(pickle.loads(pickle.dumps(func)), RUBRIC) == called(func, RUBRIC)
