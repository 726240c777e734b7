"""A signal: one reward and everything that made it, to read, to keep and to carry elsewhere."""

import json
import math

import pytest

from plaudit import Field, Reward, Signal, SpecError, TermScore, term


@term(weight=-0.5, high=4.0)
def far(distance):
    return distance / 2


@term(weight=3)
def calm(mood, lit):
    return mood == "calm" and lit


@term(weight=0.25)
def open_road(headway, force):
    return 8 if math.isinf(headway) else sum(force)


REWARD = Reward(
    "drive",
    version="1.2",
    terms=[far, calm, open_road],
    fields=[
        Field("distance", low=0),
        Field("mood", values=("calm", "wild"), missing="wild"),
        Field("lit", flag=True),
        Field("headway", low=0, infinite=True),
        Field("force", length=2),
    ],
)
INPUTS = {"distance": 10, "mood": "calm", "lit": True, "headway": math.inf, "force": (1.5, 0.1)}


def scored(**changes):
    return REWARD.score(**{**INPUTS, **changes})


def test_it_carries_the_total_every_term_the_inputs_and_where_it_came_from():
    signal = scored()
    assert signal.total == -2.0 + 3.0 + 2.0
    assert signal.terms == (
        TermScore("far", 5.0, 4.0, -0.5, -2.0),
        TermScore("calm", 1.0, 1.0, 3.0, 3.0),
        TermScore("open_road", 8.0, 8.0, 0.25, 2.0),
    )
    assert signal["far"].clamped == 4.0
    assert signal.values == {"far": -2.0, "calm": 3.0, "open_road": 2.0}
    assert signal.inputs == {
        "distance": 10.0,
        "mood": "calm",
        "lit": True,
        "headway": math.inf,
        "force[0]": 1.5,
        "force[1]": 0.1,
    }
    assert (signal.reward, signal.version) == ("drive", "1.2")
    assert (signal.fingerprint, signal.domain_fingerprint) == (REWARD.fingerprint, REWARD.domain_fingerprint)


def test_the_inputs_are_those_after_defaults():
    signal = REWARD.score(**{name: value for name, value in INPUTS.items() if name != "mood"})
    assert signal.inputs["mood"] == "wild"


def test_an_unknown_term_is_named_with_the_near_one():
    with pytest.raises(KeyError, match="has no term 'clam'. Did you mean 'calm'"):
        scored()["clam"]


def test_it_explains_itself_in_a_table():
    assert scored().explain() == (
        "drive 1.2\n"
        "term       score  clamped  weight  value\n"
        "─────────  ─────  ───────  ──────  ─────\n"
        "far            5        4    -0.5     -2\n"
        "calm           1        1       3      3\n"
        "open_road      8        8    0.25      2\n"
        "─────────  ─────  ───────  ──────  ─────\n"
        "total                                  3\n"
        "from distance=10, mood=calm, lit=True, headway=inf, force=(1.5, 0.1)"
    )


def test_it_shows_what_counts_in_one_line():
    assert repr(scored(lit=False)) == "Signal(drive@1.2, total=0, far=-2, open_road=2)"
    assert repr(scored(lit=False, distance=0, headway=1, force=(0, 0))) == "Signal(drive@1.2, total=0)"


def test_it_comes_back_from_json_with_every_bit():
    for signal in (scored(), scored(distance=0.1, headway=3.3, force=(1e-300, 1e300)), scored(distance=1 / 3)):
        again = Signal.from_dict(json.loads(json.dumps(signal.to_dict(), allow_nan=False)))
        assert again == signal
        assert hash(again) == hash(signal)
        assert again.explain() == signal.explain()
        assert again.terms == signal.terms
        assert again.inputs == signal.inputs
        assert again.to_dict() == signal.to_dict()
        assert again.total.hex() == signal.total.hex()


def test_as_data_it_is_plain_and_named():
    data = scored().to_dict()
    assert list(data) == ["reward", "version", "fingerprint", "domain_fingerprint", "total", "terms", "inputs"]
    assert data["terms"][0] == {"name": "far", "score": 5.0, "clamped": 4.0, "weight": -0.5, "value": -2.0}
    assert data["inputs"]["headway"] == {"number": "inf"}


def test_signals_differ_when_anything_in_them_does():
    assert scored() == scored()
    assert scored() != scored(distance=11)
    assert scored() != REWARD.with_version("2").score(**INPUTS)
    assert scored() != REWARD.with_weights(far=-0.4).score(**INPUTS)
    assert scored() != "signal"


@pytest.mark.parametrize(
    "change",
    [
        {"total": "five"},
        {"total": None},
        {"total": True},
        {"terms": None},
        {"terms": [{"name": "far"}]},
        {"terms": [5]},
        {"inputs": []},
        {"inputs": {"x": None}},
        {"inputs": {"x": [1]}},
        {"inputs": 5},
    ],
    ids=str,
)
def test_what_is_no_signal_is_refused(change):
    with pytest.raises(SpecError, match="this is not a signal"):
        Signal.from_dict({**scored().to_dict(), **change})


@pytest.mark.parametrize("key", ["reward", "version", "fingerprint", "domain_fingerprint", "total", "terms", "inputs"])
def test_a_signal_with_a_part_missing_is_refused(key):
    data = scored().to_dict()
    del data[key]
    with pytest.raises(SpecError, match="this is not a signal"):
        Signal.from_dict(data)
    with pytest.raises(SpecError):
        Signal.from_dict([])


def test_the_end_alone_is_a_signal_of_the_same_reward():
    @term(terminal=True)
    def won(success):
        return 10 if success else -10

    @term
    def same(x):
        return x

    reward = Reward("ends", version="1", terms=[same, won], fields=[Field("x"), Field("success", flag=True)])
    signal = reward.score_terminal(success=False)
    assert signal.to_dict()["fingerprint"] == reward.fingerprint
    assert signal.total == -10.0
    assert signal.inputs == {"terminal": True, "success": False}
    assert Signal.from_dict(json.loads(json.dumps(signal.to_dict()))) == signal
