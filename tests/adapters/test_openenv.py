"""A reward as a dictionary of components, and as an OpenEnv rubric whose children are its terms.

OpenEnv's own `Rubric` is stood in for by what of it is used here; `recorded/openenv.json` is what the real one gave.
"""

import asyncio
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError, Field, MissingExtra, Reward, Signal, SpecError, term
from plaudit.adapters.openenv import components, rubric
from plaudit.errors import Abstained, MissingField, OutOfRange, TooManyMasked
from plaudit.llm import Scoring, feature
from plaudit.schedules import linear
from support import sums

RECORDED = json.loads((Path(__file__).parent / "recorded" / "openenv.json").read_text(encoding="utf-8"))
REWARD, CLAMPED = sums.reward(), sums.reward(low=-0.25, high=1.0)


class Rubric:
    """Children are the rubrics among its attributes; a call keeps the score."""

    def __init__(self):
        self.last_score = None

    def __call__(self, action, observation):
        self.last_score = self.forward(action, observation)
        return self.last_score

    def named_rubrics(self, prefix=""):
        for name, child in vars(self).items():
            if isinstance(child, Rubric):
                yield f"{prefix}{name}", child
                yield from child.named_rubrics(f"{prefix}{name}.")


class RubricDict(Rubric):
    def __init__(self, rubrics):
        super().__init__()
        vars(self).update(rubrics)

    def __getitem__(self, name):
        return vars(self)[name]


@pytest.fixture
def openenv(monkeypatch):
    library = ModuleType("openenv.core.rubrics")
    library.Rubric, library.RubricDict = Rubric, RubricDict
    for name in ("openenv", "openenv.core"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "openenv.core.rubrics", library)


def features(action, observation):
    return sums.features(action.text, observation.metadata["answer"])


STEP = SimpleNamespace(text="2 + 3 = 5"), SimpleNamespace(metadata={"answer": "5"})


@given(text=st.lists(st.sampled_from(["2", "5", "=", "roses"]), max_size=8).map(" ".join), clamp=st.booleans())
def test_the_components_add_up_to_the_reward_under_the_same_keys(text, clamp):
    reward = CLAMPED if clamp else REWARD
    signal = reward.score(**sums.features(text, "5"))
    told = components(signal)
    assert told["reward"] == signal.total
    assert list(told["reward_components"]) == ["correct", "length", "form", *(["total.clamp"] if clamp else [])]
    assert sum(told["reward_components"].values()) == pytest.approx(told["reward"])
    assert json.loads(json.dumps(told)) == told
    read = components(Signal.from_dict(signal.to_dict()))  # of a signal that was read back, no clamp is known
    assert sum(read["reward_components"].values()) == pytest.approx(told["reward"])


@pytest.mark.parametrize("limits", [{}, {"high": 1.0}], ids=["plain", "clamped"])
def test_the_end_by_itself_has_the_same_components(limits):
    @term
    def pace(speed):
        return speed

    @term(weight=2.0, terminal=True)
    def arrived(there):
        return 1 if there else 0

    reward = Reward(
        "trip", version="1", terms=[pace, arrived], fields=[Field("speed"), Field("there", flag=True)], **limits
    )
    told, whole = components(reward.score_terminal(there=True)), components(reward.score(speed=0.5))
    assert list(told["reward_components"]) == list(whole["reward_components"])
    assert told["reward_components"]["pace"] == 0.0
    assert sum(told["reward_components"].values()) == told["reward"]


def test_an_async_feature_is_awaited(openenv):
    async def later(action, observation):
        return features(action, observation)

    async def step():
        return rubric(Scoring(REWARD, later))(*STEP)

    assert rubric(Scoring(REWARD, later))(*STEP) == asyncio.run(step()) == 0.75


def test_features_of_a_group_are_refused(openenv):
    @feature(group=True)
    def style(action):
        return ["bare" for _ in action]

    with pytest.raises(DefinitionError, match="feature 'style' needs a group, but OpenEnv scores one sample at a time"):
        rubric(Scoring(REWARD, [style]))
    with pytest.raises(DefinitionError, match="on_lost_term='group' needs a group, but OpenEnv scores one sample"):
        rubric(Scoring(REWARD, features, on_bad="mask", on_lost_term="group"))
    with pytest.raises(DefinitionError, match="is not a Scoring"):
        rubric(REWARD)


def test_a_schedule_without_a_step_is_refused(openenv):
    scheduled = REWARD.with_weights(correct=linear(0.0, 1.0, over=10))
    with pytest.raises(DefinitionError, match="correct.weight follows 'step', and OpenEnv does not say"):
        rubric(Scoring(scheduled, [feature(name=name)(lambda action: 0) for name in REWARD.inputs]))


@pytest.mark.parametrize("on_bad", ["raise", "mask"])
def test_a_feature_may_give_no_reward(openenv, on_bad):
    def abstains(action):
        raise Abstained("no reference answer")

    made = rubric(Scoring(REWARD, abstains, on_bad=on_bad))
    assert made(*STEP) is None
    assert made.scored.abstained == {0: "Abstained: no reference answer in feature 'abstains' of sample 0"}
    assert made.masked == 0


def test_a_step_gives_what_the_real_package_gave(openenv):
    made = rubric(Scoring(REWARD, features))
    assert made(*STEP) == RECORDED["observation"]["reward"]
    assert {"answer": "5", **components(made.signal)} == RECORDED["observation"]["metadata"]
    assert {name: child.last_score for name, child in made.named_rubrics()} == RECORDED["named_rubrics"]
    assert dict(made.named_rubrics())["terms.form"](*STEP) == 0.25


def lengthless(action, observation):
    return {**features(action, observation), **({"words": -1} if action.text == "roses" else {})}


ROSES = SimpleNamespace(text="roses"), STEP[1]


def test_a_step_that_cannot_be_scored_raises_or_has_no_reward(openenv, capsys):
    with pytest.raises(OutOfRange, match="field 'words': -1"):
        rubric(Scoring(REWARD, lengthless))(*ROSES)
    masked = rubric(Scoring(REWARD, lengthless, on_bad="mask"))
    assert masked(*STEP) == 0.75
    assert masked(*ROSES) is None
    assert (masked.signal, masked.masked) == (None, 1)
    assert {child.last_score for _, child in masked.named_rubrics()} == {None}
    assert dict(masked.named_rubrics())["terms.form"](*ROSES) is None
    assert "sums: 1 of 1 samples could not be scored" in capsys.readouterr().err
    assert rubric(Scoring(REWARD, lengthless, on_bad="clip"))(*ROSES) == 0.0
    with pytest.raises(MissingField, match="asks for 'reward'"):
        rubric(Scoring(REWARD, lambda reward: {}, on_bad="mask"))(*STEP)


def test_too_many_steps_without_a_reward_and_fields_that_no_step_has_are_errors(openenv):
    masked = rubric(Scoring(REWARD, lengthless, on_bad="mask", max_masked=0.2))
    for _ in range(7):
        masked(*STEP)
    assert [masked(*ROSES), masked(*ROSES)] == [None, None]
    with pytest.raises(
        TooManyMasked, match="3 of 10 samples so far could not be scored.*max_masked=0.2. The first: OutOf"
    ):
        masked(*ROSES)
    forgetful = rubric(Scoring(REWARD, lambda action: {"right": True}, on_bad="mask"))
    assert forgetful(*STEP) is None
    with pytest.raises(MissingField, match="None of 2 samples has the right fields"):
        forgetful(*STEP)
    with pytest.raises(DefinitionError, match="max_masked=0 must be a fraction"):
        rubric(Scoring(REWARD, features, max_masked=0))


def test_its_state_says_which_reward_it_is(openenv):
    made = rubric(Scoring(REWARD, features))
    made.load_state_dict(made.state_dict())
    assert made.state_dict()["fingerprint"] == REWARD.fingerprint
    with pytest.raises(SpecError, match="this state belongs to another reward"):
        made.load_state_dict(rubric(Scoring(REWARD.with_weights(form=1.0), features)).state_dict())


def test_without_openenv_the_rubric_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "openenv", None)
    with pytest.raises(MissingExtra, match="pip install openenv"):
        rubric(Scoring(REWARD, features))
