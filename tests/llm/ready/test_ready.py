"""All ready-made features: their names, their fingerprints, and texts that are long and mean."""

import pickle
import time

import pytest

from plaudit.llm import Feature, Sample, ready

PIECES = (
    "\\boxed{",
    "<think>",
    "9",
    "1,234",
    "1 1/",
    "{",
    "[",
    "`",
    "```\n",
    "a ",
    "\n",
    "\ud800",
    "\\frac{1",
    "\ufdfa",
)

FEATURES = [
    ready.tags("think", "answer"),
    ready.valid_json(),
    ready.last_number(),
    ready.boxed_number(),
    ready.matches(ignore_articles=True),
    ready.length(),
    ready.repetition(),
    ready.runs_code(run=lambda code, tests: 0),
]


def test_all_names_are_there_in_order():
    assert ready.__all__ == sorted(ready.__all__)
    assert all(callable(getattr(ready, name)) for name in ready.__all__)


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
@pytest.mark.parametrize("piece", PIECES, ids=ascii)
@pytest.mark.parametrize("size", [500_000, pytest.param(5_000_000, marks=pytest.mark.slow)])
def test_long_texts_take_seconds_at_most(feature, piece, size):
    text = piece * (size // len(piece))
    given = {"text": text, "completion": text, "reasoning": "", "answer": "5", "tests": "pass"}
    began = time.process_time()
    feature(**{name: given[name] for name in feature.reads})
    assert time.process_time() - began < 5  # about 1 s; a machine may be slower


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_a_message_without_text_has_a_result(feature):
    message = {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [{"id": "1"}]}
    sample = Sample(completion=[message], answer="5", tests="pass")
    assert isinstance(feature, Feature)
    assert feature(**feature.collect(sample)) in (False, 0, 3)


def test_a_fingerprint_is_that_of_the_name_the_column_and_the_settings():
    fingerprint = ready.last_number().fingerprint
    assert ready.last_number().fingerprint == fingerprint
    assert ready.last_number(relative_tolerance=0.0).with_(name="right").fingerprint == fingerprint
    others = [
        ready.last_number("gold"),
        ready.last_number(relative_tolerance=0.1),
        ready.last_number(tag="answer"),
        ready.boxed_number(),
        ready.tags("think"),
        ready.tags("answer"),
    ]
    assert len({fingerprint, *(each.fingerprint for each in others)}) == 7


def test_a_feature_can_be_sent_to_another_process():
    feature = pickle.loads(pickle.dumps(ready.last_number("gold")))
    assert feature("It is 5.", "5") is True
