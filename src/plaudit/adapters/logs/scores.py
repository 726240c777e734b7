"""What another tool paid, as a reward: a term for each of its scores."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache

from plaudit.language.field import RESERVED
from plaudit.reward.reward import Reward
from plaudit.reward.spec_writer import FORMAT

_LONGEST = 100
"""Characters of a version."""
_UNSCORED = "score"
"""The term of a log without any score: every record has a reward."""


def name_terms(scores: Iterable[str]) -> dict[str, str]:
    """Return the name of a term for each score: its own where that is a plain name.

    >>> name_terms(["right", "org/judge-7b", "org_judge_7b", "total", "7"])
    {'right': 'right', 'org/judge-7b': 'org_judge_7b', 'org_judge_7b': 'org_judge_7b_2', 'total': 'total_2', '7': '_7'}
    """
    found: dict[str, str] = {}
    for score in scores:
        plain = re.sub(r"[^A-Za-z0-9_]|^(?=[0-9])", "_", score) or "_"
        name, count = plain, 1
        while name in RESERVED or name in found.values():
            count += 1
            name = f"{plain}_{count}"
        found[score] = name
    return found


def build_reward(tool: str, terms: Mapping[str, tuple[str, float]]) -> Reward:
    """Return the reward of a tool: by term, the score that it is, and its weight.

    >>> reward = build_reward("trl", {"right": ("right", 1.0), "brief": ("brief", 0.5)})
    >>> reward.version, reward.score(right=1.0, brief=0.5).total
    ('right + 0.5 brief', 1.25)
    """
    return _build(tool, tuple((name, *about) for name, about in terms.items()) or ((_UNSCORED, _UNSCORED, 1.0),))


@cache
def _build(tool: str, terms: tuple[tuple[str, str, float], ...]) -> Reward:
    return Reward.from_dict(
        {
            "plaudit": FORMAT,
            "name": tool,
            "version": _describe(terms),
            "doc": f"What {tool} paid.",
            "action": None,
            "fields": [{"name": name} for name, _, _ in terms],
            "terms": [
                {
                    "name": name,
                    "weight": weight,
                    "low": None,
                    "high": None,
                    "terminal": False,
                    "kind": None,
                    "doc": f"The score {score!r}.",
                    "knobs": {},
                    "shared": [],
                    "reads": [name],
                    "allow": {},
                }
                for name, score, weight in terms
            ],
            "params": {},
            "low": None,
            "high": None,
            "nodes": [["Input", name] for name, _, _ in terms],
            "scores": {name: at for at, (name, _, _) in enumerate(terms)},
            "guards": [],
            "allow": {},
        }
    )


def _describe(terms: tuple[tuple[str, str, float], ...]) -> str:
    """Return the sum as the version: another sum is another version."""
    text = " + ".join(name if weight == 1 else f"{weight!r} {name}" for name, _, weight in terms)
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}… {hashlib.sha256(repr(terms).encode()).hexdigest()[:8]}"
