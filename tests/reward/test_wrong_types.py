"""Arguments and files of the wrong type: refused by an error of plaudit's own, never by one from inside."""

import json
import math

import pytest

from plaudit import DefinitionError, Field, FileError, PlauditError, Reward, Signal, SpecError
from support.written import reward_from

REWARD = reward_from("def f(x, *, gain=2.0): return x * gain", Field("x", low=0))
SIGNAL = json.loads(json.dumps(REWARD.score(x=1.5).to_dict()))


def test_a_signal_comes_back_and_one_that_lacks_a_part_does_not():
    assert Signal.from_dict(SIGNAL).to_dict() == SIGNAL
    for key in ("reward", "total", "terms", "inputs"):
        with pytest.raises(SpecError):
            Signal.from_dict({name: part for name, part in SIGNAL.items() if name != key})


GAPS = {
    "a number beyond floats": {"total": 10**400},
    "a text that is a number": {"total": "12"},
    "a text that is no number": {"total": "nan"},
    "NaN": {"total": math.nan},
    "a name that is a number": {"reward": 5},
    "a version that is nothing": {"version": None},
    "a fingerprint that is a list": {"fingerprint": [1]},
    "a term twice": {"terms": SIGNAL["terms"] * 2},
    "a term whose name is a number": {"terms": [{**SIGNAL["terms"][0], "name": 5}]},
}


@pytest.mark.parametrize("change", GAPS.values(), ids=GAPS)
def test_what_a_signal_never_holds_is_refused(change):
    with pytest.raises(SpecError):
        Signal.from_dict({**SIGNAL, **change})


def test_a_category_called_inf_comes_back_as_a_text():
    reward = reward_from("def f(x): return x == 'inf'", Field("x", values=("inf", "zero")))
    signal = reward.score(x="inf")
    assert Signal.from_dict(signal.to_dict()).inputs == signal.inputs == {"x": "inf"}


def test_a_range_is_the_same_range_as_a_whole_number():
    one, other = (reward_from("def f(x): return x", Field("x", low=low)) for low in (0, 0.0))
    assert one.fields == other.fields
    assert one.domain_fingerprint == other.domain_fingerprint


def test_a_toml_file_that_is_too_deep_is_refused(tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text(f"a = {'[' * 5000}{']' * 5000}")
    with pytest.raises(DefinitionError, match="TOML file"):
        REWARD.with_file(path)


def test_a_path_that_no_file_can_have_is_a_file_error():
    with pytest.raises(FileError):
        REWARD.with_file("a\0b")


WRONG = {
    "an override by a number": lambda: REWARD.with_params({1: 2.0}),
    "an action that is a number": lambda: Reward("r", version="1", terms=REWARD.terms, fields=[Field("x")], action=5),
    "shared knobs in a list": lambda: Reward("r", version="1", terms=REWARD.terms, fields=[Field("x")], shared=[1]),
    "JSON that is nothing": lambda: Reward.from_json(None),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_an_argument_of_the_wrong_type_is_refused_by_name(call):
    with pytest.raises(PlauditError):
        call()
