"""How often the contract of targets is checked: with few rewards, always the same, and in `make soak` with many new ones."""

import random

import pytest

TIMES = [1, pytest.param(40, marks=pytest.mark.slow)]
"""How many times as many random rewards as a quick test draws; a failure names the seed."""

WRITTEN = {"raised_errors": "nothing is raised where it runs"}
"""What is not asked of a target whose text runs where there is no Python."""


def draw(rewards: int, times: int) -> dict[str, int]:
    """Return how many rewards `check_target` draws, and from which seed."""
    return {"rewards": rewards * times, "seed": 0 if times == 1 else random.SystemRandom().getrandbits(32)}
