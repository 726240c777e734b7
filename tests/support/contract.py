"""How often the contract of targets is checked: few random rewards where compiling takes long, many in `make soak`."""

from hypothesis import settings


def rewards(share: float) -> int:
    """Return how many random rewards are drawn: a share of the examples that the profile draws."""
    return max(1, round(settings.default.max_examples * share))


WRITTEN = {"raised_errors": "nothing is raised where it runs"}
"""What is not asked of a target whose text runs where there is no Python."""
