"""Configs from outside: objects with attributes, mappings with keys, both at once, and the indices that they hold."""

import pytest

from support.arrays import HEADER, assert_means, refusal

CONFIGS = (
    HEADER
    + '''
from dataclasses import dataclass, field
from enum import IntEnum
from types import SimpleNamespace

@dataclass
class Config:
    name: str
    joint_ids: object = field(default_factory=lambda: slice(None))
    names: object = None
    scale: float = 2.0
    weights: dict = field(default_factory=lambda: {"lift": 1.5, "foot": {"swing": 2.5}})

    def scaled(self, value):
        return value * self.scale

    @property
    def twice(self):
        return self.scale * 2

ALL = Config("robot")
SOME = Config("robot", [0, 2])
ONE = Config("robot", 1)
PAIR = Config("robot", (0, 2))
ARRAY = Config("robot", np.array([0, 2]))
NAMED = Config("robot", names=["hip", "knee", "foot"])
FIRST = slice(0, 2)
SPACE = SimpleNamespace(inner=SimpleNamespace(far=3.0), behind=np.s_[..., 1:], column=np.s_[:, 0])
PARTS = {"position": slice(0, 2), "speed": slice(2, 3)}
EVERY_SECOND = range(0, 3, 2)

class Attributes(dict):
    __getattr__ = dict.__getitem__

BOTH = Attributes(lift=2.0, foot=Attributes(swing=3.0))

class Box:
    """Looks like a mapping, and is none."""

    def __init__(self, inner):
        self._inner = inner

    def __getitem__(self, key):
        return self._inner[key]

    def __getattr__(self, key):
        if key.startswith("_") or key not in self._inner:
            raise AttributeError(key)
        return self._inner[key]

    def __iter__(self):
        return iter(self._inner)

    def keys(self):
        return self._inner.keys()

    def items(self):
        return self._inner.items()

    def get(self, key, default=None):
        return self._inner.get(key, default)

BOX = Box({"lift": 2.0, "foot": Box({"swing": 4.0}), "names": ["hip", "foot"]})

class Joint(IntEnum):
    HIP = 0
    FOOT = 2
'''
)

READ = [
    "v[ALL.joint_ids].sum() + v[SOME.joint_ids].sum() + v[ONE.joint_ids] + v[ARRAY.joint_ids].sum() + v[PAIR.joint_ids,].sum()",
    "m[:, ALL.joint_ids].sum() + m[:, SOME.joint_ids].max() + m[:, ONE.joint_ids].sum() + m[:, ARRAY.joint_ids].min()",
    "m[:, PAIR.joint_ids].sum() + m[ALL.joint_ids, 0].sum() + m[0, SOME.joint_ids].sum() + m[1, PAIR.joint_ids].max()",
    "v[FIRST].sum() + m[SPACE.behind].sum() + m[SPACE.column].sum() + v[PARTS['position']].sum() + v[PARTS['speed']][0]",
    "v[slice(0, 2)].sum() + v[slice(None)].sum() + v[np.s_[:2]].sum() + v[EVERY_SECOND].sum()",
    "sum(v[at] for at in EVERY_SECOND) + v[Joint.HIP] * v[Joint.FOOT]",
    "x * SPACE.inner.far + ALL.scaled(x) + ALL.twice + PARTS['position'].stop",
    "v[NAMED.names.index('foot')] + NAMED.names.count('hip') + ('knee' in NAMED.names) + len(NAMED.names)",
    "sum(v[at] for at, name in enumerate(NAMED.names) if name.startswith('f')) + v[[NAMED.names.index('knee')]].sum()",
    "v[np.array([NAMED.names.index(name) for name in ('hip', 'foot')])].sum()",
    "x * ALL.weights['lift'] + ALL.weights['foot']['swing'] + ALL.weights.get('far', 3.0)",
    "sum(v[at] * one for at, one in enumerate(ALL.weights.values()) if not isinstance(one, dict))",
    "x * BOTH.lift + BOTH.foot.swing + BOTH['lift'] + BOTH.get('foot')['swing'] + hasattr(BOTH, 'lift')",
    "x * BOX['lift'] + BOX.foot.swing + BOX['foot']['swing'] + BOX.get('lift', 0.0) + ('lift' in BOX) + len(BOX.names)",
    "v[BOX.names.index('foot')] + sum(key == 'lift' for key, _ in BOX.items()) + sum(1 for key in BOX)",
    "x * getattr(ALL, 'scale') + getattr(ALL, 'far', 5.0) + hasattr(ALL, 'scale') + hasattr(ALL, 'far') + vars(SPACE.inner)['far']",
    "x * (1.0 if ALL.name == 'robot' else 2.0) * {'robot': 3.0}[ALL.name]",
    "(x if ALL.weights else 2 * x) + (x if NAMED.names else 2 * x) + (x if ALL.names else 2 * x) + (x if not ALL.name else 3.0)",
    "x * (ALL.names or [1.0, 5.0])[1] + (ALL.weights.get('far') or 4.0) + (ALL.scale or 5.0) + (ALL.names and 3.0 or 2.0)",
    "x if NAMED.names is not None and 'foot' in NAMED.names and x > 0 else -x",
    "(x > 0 and ALL.scale > 1) + 1.0 * (None or x > 0.5) + (x if ALL.name and x > 0 else 0.0)",
]  # fmt: skip


@pytest.mark.parametrize("text", READ)
def test_a_config_is_read_as_python_reads_it(text):
    assert_means(text, CONFIGS)


REFUSED = {
    "a name that is not listed": (
        "v[NAMED.names.index('fot')]",
        "the string 'fot' is not in the list",
        "'hip', 'knee'",
    ),
    "a list of data": ("[x, 1.0].index(x)", "`.index()` of a list needs constants", "Compare the entries"),
    "an attribute that is not there": ("x * ALL.scal", "'ALL.scal' does not exist. Did you mean 'scale'?", ""),
    "a key that is not there": ("x * ALL.weights['lft']", "is not a key of the dict. Did you mean 'lift'?", "'lift'"),
    "a slice of data": ("v[slice(0, x)].sum()", "a slice takes one to three constants", "v[0:3]"),
    "an object that has no items": (
        "x * ALL['scale']",
        "object of the class Config cannot be indexed",
        "Field('scale')",
    ),
    "an attribute of a plain dict": ("x * PARTS.speed", "`.speed` of a dict of 2 cannot be read", ""),
    "the attributes of a number": ("x * vars(x)['a']", "takes an object from outside", ""),
}


@pytest.mark.parametrize(("text", "what", "advice"), REFUSED.values(), ids=REFUSED)
def test_what_a_config_does_not_hold_is_refused(text, what, advice):
    message = refusal(text, CONFIGS)
    assert what in message
    assert advice in message
