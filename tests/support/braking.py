"""A reward full of comparisons, its golden rows, and generated text in which one comparison is off by its end."""

import re
from functools import cache

from plaudit import Field, Reward, term
from plaudit.checks.parity.golden import list_golden_rows
from support.strategies import load

BRAKING = """\
def safety(distance, *, near=5.0, far=40.0):
    if distance < near:
        return -100
    if distance < 15:
        return -5
    return 1.0 if distance <= far else 0.5


def comfort(force):
    return -10 if force > 4.5 else -2 * (force >= 3)


def fits(distance, action):
    return -2 if distance > 35 and action == "brake" else 0
"""


@cache
def braking():
    space = load(BRAKING)
    fields = [
        Field("distance", low=0, high=100),
        Field("force", low=-9, high=9),
        Field("action", values=("go", "brake")),
    ]
    return Reward("braking", version="1", terms=[term(space[n]) for n in ("safety", "comfort", "fits")], fields=fields)


@cache
def braking_rows():
    return list_golden_rows(braking())


def flip_comparisons(text, start, end, *, without):
    """Return `text` once for each comparison between `start` and `end`, with `<=` for `<` and so on, and what changed."""
    found = []
    for place in re.finditer(r" (<=|>=|<|>) ", text):
        first, last = place.span()
        line = text[text.rindex("\n", 0, first) : text.index("\n", last)]
        if text.index(start) < first < text.index(end) and not any(each in line for each in without):
            other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[place[1]]
            found.append((f"{text[:first]} {other} {text[last:]}", line.strip()))
    return found
