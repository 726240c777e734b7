"""A reward as a scorer of Inspect: totals and terms, what a model thought apart, and no number where there is none.

Inspect itself is stood in for by what of it is used here; `recorded/inspect.json` is what the real one gave.
"""

import asyncio
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from plaudit import DefinitionError, Field, MissingExtra, OutOfRange, Reward, term
from plaudit.adapters.inspect_ai import scorer
from plaudit.errors import Abstained
from plaudit.llm import Answer, Feature, Scoring, feature
from support import sums

RECORDED = json.loads((Path(__file__).parent / "recorded" / "inspect.json").read_text(encoding="utf-8"))
CLAMPED = sums.reward(low=-0.25, high=1.0)


class Score(SimpleNamespace):
    @classmethod
    def unscored(cls, **about):
        return cls(value=None, **about)


@pytest.fixture
def library(monkeypatch):
    made = ModuleType("inspect_ai.scorer")
    made.Score, made.mean, made.stderr, made.registered = Score, lambda: "mean", lambda: "stderr", []

    def register(metrics, name):
        made.registered.append((metrics, name))
        return lambda factory: factory

    made.scorer = register
    monkeypatch.setitem(sys.modules, "inspect_ai", ModuleType("inspect_ai"))
    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", made)
    return made


class Part(SimpleNamespace):
    def model_dump(self, exclude_none):
        return vars(self)


def said(content, *, source="generate", **more):
    return SimpleNamespace(role="assistant", content=content, source=source, **more)


def asked(content):
    return SimpleNamespace(role="user", content=content, source="input")


def scored(scoring, *messages, answer="2", **about):
    """Return the score of a sample in which these messages followed the question."""
    state = SimpleNamespace(input="1 + 1", messages=[asked("1 + 1"), *messages], metadata={"kind": "sum"})
    state.output = SimpleNamespace(choices=[])
    vars(state).update(about)
    return asyncio.run(scorer(scoring)(state, SimpleNamespace(text=answer)))


def test_a_sample_gives_what_the_real_package_gave(library):
    parts = [Part(type="reasoning", reasoning="Well."), Part(type="text", text="2")]
    found = scored(Scoring(CLAMPED, sums.features, applies=sums.is_sum), said(parts))
    assert (found.value, found.answer) == (RECORDED["score"]["value"], RECORDED["score"]["answer"])
    assert found.metadata["inputs"] == RECORDED["score"]["metadata"]["inputs"]
    assert found.metadata["reward_fingerprint"] == CLAMPED.fingerprint
    assert library.registered == [({"*": ["mean", "stderr"]}, "sums")]


def test_parts_of_a_sample_are_named_as_in_trainers(library):
    def features(prompt, text, reasoning, tool_calls, answer, target, kind, state):
        assert (prompt, text, reasoning, answer, target, kind) == ("1 + 1", "2", "Well.", "2", "2", "sum")
        assert tool_calls == ({"id": "c", "type": "function", "function": {"name": "add", "arguments": {"to": 1}}},)
        return {"right": state.metadata["kind"] == kind, "words": 1, "style": "bare"}

    called = said("", tool_calls=[SimpleNamespace(id="c", function="add", arguments={"to": 1})])
    told = SimpleNamespace(role="tool", content="2", source=None)
    thought = said([Part(type="reasoning", reasoning="Well."), Part(type="text", text="2")])
    example = said("an example", source="input")
    assert scored(Scoring(CLAMPED, features), example, called, told, thought).value["correct"] == 1.0
    rows = [asked("Add."), asked("1 + 1")]
    one = Scoring(CLAMPED, lambda prompt, text: {"right": text == prompt[1]["content"], "words": 0, "style": "bare"})
    output = SimpleNamespace(choices=[SimpleNamespace(message=said("1 + 1"))])
    assert scored(one, input=rows, output=output).value["correct"] == 1.0


def test_what_judges_said_is_kept(library):
    @feature(judge=True)
    async def met(text):
        return Answer(True, "Yes, it is.")

    @term
    def right(met):
        return 1 if met else 0

    made = Reward("judged", version="1", terms=[right], fields=[Field("met", flag=True)])
    assert scored(Scoring(made, [met]), said("2")).metadata["answers"] == {"met": "Yes, it is."}


def test_what_has_no_reward_is_unscored_or_an_error(library):
    def abstains(text):
        raise Abstained("no reference answer")

    def lengthless(text):
        return {"right": True, "words": -1, "style": "bare"}

    for on_bad in ("raise", "mask"):
        found = scored(Scoring(CLAMPED, abstains, on_bad=on_bad), said("2"))
        assert found.reason == "abstained"
        assert found.explanation.startswith("Abstained: no reference answer")
    scoring = Scoring(CLAMPED, lengthless, on_bad="mask")
    found = scored(scoring, said("2"))
    assert (found.value, found.reason, scoring.masked) == (None, "scoring_failed", 1)
    with pytest.raises(OutOfRange):
        scored(Scoring(CLAMPED, lengthless), said("2"))


def test_what_a_scorer_cannot_say_is_refused_when_made(library, monkeypatch):
    group = Feature(lambda text: ["bare" for _ in text], name="style", scope="group")
    with pytest.raises(DefinitionError, match="feature 'style' needs a group, but Inspect scores one sample at a time"):
        scorer(Scoring(CLAMPED, [group]))

    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", None)
    with pytest.raises(MissingExtra, match="pip install inspect-ai"):
        scorer(Scoring(CLAMPED, sums.features))
