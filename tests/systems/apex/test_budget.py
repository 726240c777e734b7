"""Tokens: what clients report is counted, and a call beyond the budget is denied."""

import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.systems import apex

OBJECT = SimpleNamespace


@pytest.mark.parametrize(
    ("usage", "prompt", "completion"),
    [
        ({"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}, 120, 30),
        ({"input_tokens": 120, "output_tokens": 30}, 120, 30),
        ({"prompt_tokens": 8, "total_tokens": 8}, 8, 0),  # of embeddings
        (OBJECT(prompt_tokens=5, completion_tokens=6), 5, 6),
        (OBJECT(input_tokens=5, output_tokens=6, cache_read_input_tokens=None), 5, 6),
        (OBJECT(usage=OBJECT(input_tokens=5, output_tokens=6)), 5, 6),
        ({"usage": {"prompt_tokens": 1, "completion_tokens": 2}}, 1, 2),
        (
            {"input_tokens": 20, "output_tokens": 1, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7},
            127,
            1,
        ),
        ({"prompt_tokens": 120, "completion_tokens": 1, "cache_read_input_tokens": 100}, 120, 1),
        ({"prompt_tokens": 9, "input_tokens": 9, "completion_tokens": 1, "output_tokens": 1}, 9, 1),
        ({"prompt_tokens": 12.0, "completion_tokens": 0}, 12, 0),
    ],
)
def test_usage_is_read_as_clients_report_it(usage, prompt, completion):
    assert apex.Usage.parse(usage) == (prompt, completion)
    meter = apex.TokenMeter()
    assert meter.count(usage).total == prompt + completion == meter.used


@pytest.mark.parametrize(
    ("usage", "error", "message"),
    [
        ({"prompt_tokens": -1, "completion_tokens": 2}, errors.OutOfRange, "'prompt_tokens': -1 is below 0"),
        ({"prompt_tokens": 1, "completion_tokens": math.nan}, errors.NotFinite, "'completion_tokens': nan"),
        ({"input_tokens": math.inf}, errors.NotFinite, "'input_tokens': inf"),
        ({"input_tokens": 1.5}, errors.WrongType, "1.5 is not an integer"),
        ({"input_tokens": "12"}, errors.WrongType, "'12' is not a number"),
        ({"input_tokens": True}, errors.WrongType, "True is not a number"),
        ({"prompt_tokens": 1, "input_tokens": 2}, errors.InputError, "prompt_tokens=1 and input_tokens=2"),
        ({}, errors.MissingField, "has none of prompt_tokens"),
        (None, errors.MissingField, "usage None has none of"),
        (OBJECT(usage=None), errors.MissingField, "has none of"),
        (apex.Usage(-1, 1), errors.OutOfRange, "-1 is below 0"),
    ],
)
def test_what_is_no_usage_is_refused_and_counts_nothing(usage, error, message):
    meter = apex.TokenMeter()
    meter.count({"prompt_tokens": 3, "completion_tokens": 4})
    with pytest.raises(error) as raised:
        meter.count(usage)
    assert message in str(raised.value)
    assert (meter.used, meter.calls, meter.sum) == (7, 1, (3, 4))


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))))
def test_the_meter_only_rises(calls):
    meter = apex.TokenMeter()
    before = 0
    for prompt, completion in calls:
        meter.count({"prompt_tokens": prompt, "completion_tokens": completion})
        assert meter.used == before + prompt + completion
        before = meter.used
    assert meter.calls == len(calls)


def test_threads_may_share_a_meter():
    meter = apex.TokenMeter()
    threads = [
        threading.Thread(target=lambda: [meter.count({"input_tokens": 1, "output_tokens": 2}) for _ in range(500)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (meter.used, meter.calls) == (6000, 2000)


@pytest.mark.parametrize(
    ("used", "prompt", "most", "allowed"),
    [(0, 4000, 6000, True), (0, 4000, 6001, False), (9999, 1, 0, True), (9999, 1, 1, False), (10_000, 0, 0, True)],
)
def test_a_call_is_allowed_when_what_is_used_and_its_estimate_are_within_the_budget(used, prompt, most, allowed):
    budget = apex.TokenBudget()
    budget.meter.count({"prompt_tokens": used, "completion_tokens": 0})
    assert budget.allow(prompt=prompt, max_completion=most, caller="coder") is allowed
    assert budget.denials == (() if allowed else (apex.Denial("coder", used, prompt + most, 10_000),))
    assert budget.used == used


def test_an_estimate_that_is_none_is_refused():
    with pytest.raises(errors.OutOfRange, match="'max_completion': -1"):
        apex.TokenBudget().allow(prompt=1, max_completion=-1)
    with pytest.raises(errors.NotFinite, match="'limit': nan"):
        apex.TokenBudget(math.nan)


def test_numbers_of_numpy_are_numbers_and_none_is_too_large_to_be_refused():
    meter = apex.TokenMeter()
    meter.count({"prompt_tokens": np.int64(7), "completion_tokens": np.float32(2)})
    assert meter.used == 9
    with pytest.raises(errors.NotFinite, match="not a finite number"):
        meter.count({"prompt_tokens": 10**400})
