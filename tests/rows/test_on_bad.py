"""One vocabulary for inputs that cannot be scored: raise, mask, clip."""

import importlib.util
import pickle
from inspect import signature
from typing import get_args

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.adapters import ray, spark
from plaudit.cli.evaluate import evaluate as evaluate_command
from plaudit.cli.score import score as score_command
from plaudit.errors import DefinitionError, NotEvaluable, NotFinite, OutOfRange, TooManyMasked
from plaudit.learn import off_policy
from plaudit.ledger.dataset import score_file
from plaudit.llm import Scoring
from plaudit.rows.on_bad import MaskCount, validate_on_bad
from plaudit.targets import OnBad

WORDS = ("raise", "mask", "clip")


@term
def pace(speed, *, cruise=10.0):
    """Drive."""
    return speed / cruise


@term(terminal=True)
def arrival(late):
    """Be in time."""
    return 1.0 if late < 0.5 else 0.0


@term
def grip(load, gear):
    """Keep the wheels down."""
    return load[0] + load[1] if gear == 1 else 0.0


REWARD = Reward(
    "drive",
    version="1",
    terms=[pace, arrival, grip],
    fields=[
        Field("speed", low=0, high=30),
        Field("late", low=0, high=9, infinite=True),
        Field("load", length=2, low=-1),
        Field("gear", values=(1, 2)),
    ],
)
ROW = {"speed": 12.0, "late": 0.0, "load": (0.5, 0.5), "gear": 1, "terminal": True}


def test_the_words_are_the_same_everywhere():
    assert get_args(OnBad) == WORDS
    assert signature(Scoring).parameters["on_bad"].default == "raise"
    assert signature(Scoring).parameters["max_masked"].default == 0.5
    for function in (score_file, spark.score_with_spark, ray.score_with_ray):
        assert signature(function).parameters["on_bad"].default == "mask"
    assert signature(off_policy.evaluate).parameters["on_bad"].default == "raise"
    for command in (score_command, evaluate_command):
        (option,) = (each for each in command.params if each.name == "on_bad")
        assert tuple(option.type.choices) == WORDS
    for word in WORDS:
        validate_on_bad(word)
    with pytest.raises(DefinitionError, match="on_bad='masks' is not one of raise, mask, clip. Did you mean 'mask'?"):
        validate_on_bad("masks")


def test_more_masked_samples_of_a_batch_than_allowed_are_an_error_with_the_first_reason():
    count = MaskCount("drive", 0.5, unit="steps")
    count.add(6, 12, "OutOfRange: -1")
    with pytest.raises(TooManyMasked) as raised:
        count.add(7, 12, "RuntimeError: the judge was down")
    assert str(raised.value).splitlines() == [
        "reward 'drive': 7 of 12 steps could not be scored, which is more than max_masked=0.5. "
        "The first: RuntimeError: the judge was down",
        "Fix what makes them fail, or raise max_masked; max_masked=1 allows any number.",
    ]
    assert (count.masked, count.seen) == (13, 24)


def test_small_batches_are_counted_together_and_judged_from_ten_samples_on():
    count = MaskCount("drive", 0.5)
    for _ in range(9):
        count.add(1, 1, "RuntimeError: down")
    with pytest.raises(
        TooManyMasked, match="9 of 10 samples so far could not be scored.*The first: RuntimeError: down"
    ):
        count.add(0, 1)
    for _ in range(7):  # 9 of 17 are still too many
        with pytest.raises(TooManyMasked):
            count.add(0, 1)
    count.add(0, 1)


def test_a_share_that_is_exactly_reached_is_allowed():
    for limit in (0.29, 0.57, 1, 1.0):
        MaskCount("drive", limit).add(round(100 * limit), 100, "OutOfRange: -1")


@pytest.mark.parametrize("limit", [0, -0.1, 1.01, 50, float("nan"), "0.5", None], ids=repr)
def test_a_limit_that_is_not_a_share_is_refused(limit):
    with pytest.raises(DefinitionError, match="max_masked=.* must be a fraction above 0 and at most 1"):
        MaskCount("drive", limit)


@pytest.mark.parametrize(
    ("bad", "held"),
    [
        ({"speed": -4.0}, {"speed": 0.0}),
        ({"speed": 99.0}, {"speed": 30.0}),
        ({"load": (-3.0, 2.0)}, {"load": (-1.0, 2.0)}),
    ],
)
def test_clip_scores_a_row_as_if_its_numbers_were_at_the_end_of_their_range(bad, held):
    with pytest.raises(OutOfRange):
        REWARD.score(**{**ROW, **bad})
    expected = REWARD.score(**{**ROW, **held}).total
    assert REWARD._with_clipped_inputs().score(**{**ROW, **bad}).total == expected
    assert REWARD.compile("python", on_bad="clip")({**ROW, **bad}).total == expected
    columns = {name: np.array([value]) for name, value in {**ROW, **bad}.items()}
    assert REWARD.compile("numpy", on_bad="clip")(columns).total.tolist() == [expected]


def test_clip_raises_for_what_no_range_holds():
    clipped = REWARD._with_clipped_inputs()
    with pytest.raises(NotFinite):
        clipped.score(**{**ROW, "speed": float("nan")})
    with pytest.raises(OutOfRange):
        clipped.score(**{**ROW, "gear": 3})
    with pytest.raises(OutOfRange):  # 10 to infinity is a gap, and infinity is no end to hold it to
        clipped.score(**{**ROW, "late": 20.0})
    assert clipped.score(**{**ROW, "late": float("inf")}).total == REWARD.score(**{**ROW, "late": float("inf")}).total


def test_a_clipped_reward_is_another_formula_that_travels_and_is_clipped_once():
    clipped = REWARD._with_clipped_inputs()
    assert clipped.fingerprint != REWARD.fingerprint
    assert clipped._with_clipped_inputs() == clipped
    assert pickle.loads(pickle.dumps(clipped)) == clipped
    loaded = Reward.from_json(REWARD.to_json())._with_clipped_inputs()
    assert loaded.score(**{**ROW, "speed": 99.0}).total == clipped.score(**{**ROW, "speed": 99.0}).total
    assert {name: field.outside for name, field in clipped.fields.items()} == {
        "speed": "clip",
        "late": "raise",
        "load": "clip",
        "gear": "raise",
    }


@pytest.mark.skipif(not importlib.util.find_spec("pyarrow"), reason="needs pyarrow")
def test_a_data_set_is_scored_with_its_numbers_clipped(tmp_path):
    alone = REWARD.select_terms("pace")
    (tmp_path / "rows.csv").write_text("speed\n12\n99\n")
    with pytest.raises(OutOfRange):
        score_file(alone, tmp_path / "rows.csv", tmp_path / "out.csv", on_bad="raise")
    done = score_file(alone, tmp_path / "rows.csv", tmp_path / "out.csv", on_bad="clip")
    assert (done.rows, done.bad) == (2, 0)
    assert "99,3.0,3.0,true" in (tmp_path / "out.csv").read_text()


def test_decisions_are_scored_with_their_numbers_clipped(tmp_path):
    wide = Reward("pace", version="1", terms=[pace], fields=[Field("speed", low=0, high=1000)])
    narrow = Reward("pace", version="2", terms=[pace], fields=[Field("speed", low=0, high=30)])
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(
            wide,
            {"speed": np.arange(200.0)},
            decision_class="gear",
            context=[{"decision": {"action": "ab"[at % 2], "probability": 0.5}} for at in range(200)],
        )
        with pytest.raises(NotEvaluable, match="refuses the inputs of 169 decisions"):
            off_policy.read_decisions(ledger, decision_class="gear", reward=narrow)
        read = off_policy.read_decisions(ledger, decision_class="gear", reward=narrow, on_bad="clip")
        assert read.decisions.rewards.max() == 3.0
        assert len(read.decisions) == 200
