"""Random rewards for Hypothesis, which makes those that fail smaller; how they are drawn is `plaudit.testing`'s."""

from functools import cache

from hypothesis import strategies as st

from plaudit.testing.cases import BAD, LABELS, Case, load
from plaudit.testing.random_rewards import draw_case
from plaudit.testing.rows import draw_rows as rows

__all__ = ["BAD", "LABELS", "Case", "cases", "load", "rows"]


@st.composite
def cases(draw, depth: int = 2):
    """Return a random reward."""
    return draw_case(lambda options: options[draw(positions(len(options)))], depth=depth)


@cache
def positions(count: int):
    """Return a strategy for positions below `count`: one for all, since Hypothesis looks at each new one anew."""
    return st.sampled_from(range(count))
