"""The numbers of a radio: the three sets as they were measured, what is refused, and what an episode draws."""

from dataclasses import fields, replace
from math import inf, nan

import numpy as np
import pytest
from scipy import stats

from plaudit.errors import DefinitionError
from plaudit.systems.roadsense.radio import PARAMETERS, RadioParameters

# name, then default, bench and field
TABLE = [
    ("base_latency", 15.0, 3.05, 3.84),
    ("latency_per_metre", 0.1, 0.0, 0.0),
    ("jitter", 8.0, 1.05, 1.04),
    ("base_loss", 0.02, 0.19, 0.058),
    ("near_loss", 0.05, 0.67, 0.116),
    ("middle_loss", 0.15, 0.94, 0.124),
    ("far_loss", 0.40, 1.0, 0.186),
    ("near", 50.0, 50.0, 50.0),
    ("far", 100.0, 100.0, 100.0),
    ("bins", (), (), ((20.0, 0.058), (50.0, 0.116))),
    ("reach", inf, inf, 50.0),
    ("bursts", False, True, True),
    ("burst_length", 1.0, 4.60, 1.606),
    ("burst_factor", 3.0, 4.95, 2.5),
    ("burst_cap", 0.8, 0.95, 0.186),
    ("position_noise", 5.0, 5.49, 2.96),
    ("speed_noise", 0.5, 0.067, 0.43),
    ("acceleration_noise", 0.2, 0.088, 0.39),
    ("heading_noise", 3.0, 3.0, 4.71),
    ("gyro_noise", 0.01, 0.01, 0.023),
    ("latency_range", (10.0, 80.0), (1.5, 6.1), (1.9, 7.7)),
    ("loss_range", (0.0, 0.15), (0.095, 0.38), (0.029, 0.25)),
    ("jitter_range", (5.0, 12.0), (0.52, 2.1), (0.52, 2.09)),
    ("position_range", (2.0, 8.0), (2.7, 11.0), (0.5, 4.44)),
]
DRAWN = {
    "base_latency": "latency_range",
    "base_loss": "loss_range",
    "jitter": "jitter_range",
    "position_noise": "position_range",
}


def test_the_three_sets_are_those_that_were_measured():
    assert list(PARAMETERS) == ["default", "bench", "field"]
    assert {name for name, *_ in TABLE} == {each.name for each in fields(RadioParameters)}
    for name, *values in TABLE:
        assert [getattr(each, name) for each in PARAMETERS.values()] == values, name


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"position_noise": 33_310.0}, "position_noise=33310.0 m must be a number from 0 to 100 m."),
        ({"base_latency": -1}, "base_latency=-1 ms must be a number from 0 to 1000 ms."),
        ({"base_loss": 1.01}, "base_loss=1.01 must be a number from 0 to 1."),
        ({"jitter": nan}, "jitter=nan ms must be a number from 0 to 500 ms."),
        ({"far_loss": "much"}, "far_loss='much' must be a number from 0 to 1."),
        ({"burst_factor": True}, "burst_factor=True must be a number from 1 to 100."),
        ({"burst_length": 0.5}, "burst_length=0.5 must be a number from 1 to 1000."),
        ({"reach": -5.0}, "reach=-5.0 m must be a number of 0 m or more."),
        ({"near": 100.0}, "near=100.0 m must be a number below far=100.0 m."),
        ({"bursts": 1}, "bursts=1 must be True or False."),
        ({"loss_range": (0.1, 1.5)}, "loss_range=1.5 must be a number from 0 to 1."),
        ({"loss_range": (0.3, 0.1)}, "loss_range=(0.3, 0.1) must be a pair, the lowest value first."),
        ({"jitter_range": 3.0}, "jitter_range=3.0 must be a pair, the lowest and the highest value."),
        ({"position_range": (0.5, 33_310.0)}, "position_range=33310.0 m must be a number from 0 to 100 m."),
        ({"bins": ((50.0, 0.1), (20.0, 0.2))}, "their upper ends must rise."),
        ({"bins": ((20.0, 1.2),)}, "bins=1.2 must be a number from 0 to 1."),
        ({"bins": (20.0, 0.2)}, "must be a tuple of pairs (upper end in m, loss)."),
    ],
)
def test_a_number_out_of_its_range_is_refused_with_the_range(given, message):
    with pytest.raises(DefinitionError) as refused:
        RadioParameters(**given)
    assert message in str(refused.value)


@pytest.mark.parametrize("name", PARAMETERS)
def test_an_episode_draws_four_numbers_evenly_from_their_ranges_and_leaves_the_rest(name):
    nominal = PARAMETERS[name]
    rng = np.random.default_rng(7)
    episodes = [nominal.sample(rng) for _ in range(400)]
    for drawn, source in DRAWN.items():
        low, high = getattr(nominal, source)
        values = [getattr(each, drawn) for each in episodes]
        assert low <= min(values) <= max(values) <= high
        assert stats.kstest(values, stats.uniform(low, high - low).cdf).pvalue > 1e-4
    back = {drawn: getattr(nominal, drawn) for drawn in DRAWN}
    assert {replace(each, **back) for each in episodes} == {nominal}


def test_the_same_generator_draws_the_same_episode():
    field = PARAMETERS["field"]
    assert field.sample(np.random.default_rng(3)) == field.sample(np.random.default_rng(3))
    assert field.sample(np.random.default_rng(3)) != field.sample(np.random.default_rng(4))
