"""The random numbers of a radio: drawn in bulk, they are still those of the generator, each used once."""

from dataclasses import replace

import numpy as np

from plaudit.systems.roadsense.radio import PARAMETERS
from plaudit.systems.roadsense.radio.chance import MANY, Chance
from plaudit.systems.roadsense.radio.channel import Channel

DEFAULT = PARAMETERS["default"]


def chance(seed: int = 0, **episode: float) -> Chance:
    return Chance(np.random.default_rng(seed), Channel(DEFAULT, episode=replace(DEFAULT, **episode)))


def test_numbers_come_one_by_one_and_go_on_for_ever():
    drawn, rng = chance(), np.random.default_rng(0)
    assert [drawn.uniform() for _ in range(3 * MANY)] == rng.random(3 * MANY).tolist()


def test_noise_comes_in_rows_as_wide_as_the_channel_says():
    drawn, rng = chance(position_noise=2.0), np.random.default_rng(0)
    expected = rng.standard_normal((2 * MANY, 5)) * (2.0, 2.0, 0.5, 0.2, 3.0)
    assert [drawn.noise() for _ in range(2 * MANY)] == expected.tolist()


def test_what_is_drawn_of_one_kind_leaves_what_was_drawn_of_another():
    drawn = chance()
    numbers = {drawn.uniform(), drawn.jitter(), *drawn.noise(), drawn.uniform(), drawn.jitter(), *drawn.noise()}
    assert len(numbers) == 14


def test_a_packet_is_late_by_the_jitter_and_takes_a_millisecond_at_least():
    taken = [chance(jitter=0.0).taken(latency) for latency in (0.0, 0.9, 1.0, 25.0)]
    assert taken == [1.0, 1.0, 1.0, 25.0]
    drawn, rng = chance(jitter=8.0), np.random.default_rng(0)
    assert [drawn.taken(15.0) for _ in range(MANY)] == np.maximum(1.0, 15.0 + 8.0 * rng.standard_normal(MANY)).tolist()
