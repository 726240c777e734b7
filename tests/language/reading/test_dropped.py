"""What makes no difference to the number is dropped with a note; what may make one is read, or refused."""

from collections import defaultdict, deque
from types import SimpleNamespace

import numpy as np
import pytest

from plaudit import Field, PlauditError, Reward, check, term
from plaudit.errors import UnknownParameter
from support.written import module

HEADER = """\
import copy, logging, math, warnings
import numpy as np

logger = logging.getLogger("rewards")


def put(box, value):
    box["put"] = value


def double(value):
    return 2 * value


class Env:
    def log(self, value):
        self.seen = value + 1

    def watch(self, value):
        self.extras["watched"] = value

    def f(self, x, y, info):
"""
ROWS = [(x, y) for x in (-2.0, 0.5, 3.0) for y in (-1.0, 4.0)]
FIELDS = [Field("x"), Field("y")]

DROPPED = {
    "print": ("print(x, f'{x:.2f}')\nreturn x + y", ["print(x, f'{x:.2f}')"]),
    "a logger": ("logger.info('x is %s', x)\nreturn x + y", ["logger.info('x is %s', x)"]),
    "logging": ("logging.debug(str(x))\nreturn x + y", ["logging.debug(str(x))"]),
    "a warning on one path": (
        "if x < 0:\n    warnings.warn('below')\n    y = y - 1\nreturn x + y",
        ["warnings.warn('below')"],
    ),
    "an if that only prints": (
        "if info['verbose'] or x / y > 1:\n    print(x)\nelse:\n    print(y)\nreturn x + y",
        ["print(x)", "print(y)"],
    ),
    "a logger that self has": ("self.logger.warning(x)\nreturn x + y", ["self.logger.warning(x)"]),
    "an item of a parameter": ("info['seen'] = x / y\nreturn x + y", ["info['seen'] = x / y"]),
    "an item of a part": ("self.extras['log'] = x\nreturn x + y", ["self.extras['log'] = x"]),
    "an item of an item": (
        "self.extras['a'] = {}\nself.extras['a']['b'] = x\nself.extras['a'].update(c=y)\nreturn x + y",
        ["self.extras['a'] = {}", "self.extras['a']['b'] = x", "self.extras['a'].update(c=y)"],
    ),
    "a sum over steps": (
        "for name in ('near', 'calm'):\n    self.sums[name] += x\nreturn x + y",
        ["self.sums[name] += x"],
    ),
    "all parts": (
        "parts = {'near': x, 'calm': y}\nfor name, part in parts.items():\n    info[f'reward/{name}'] = part\n"
        "return sum(parts.values())",
        ["info[f'reward/{name}'] = part"],
    ),
    "a loop over what is not declared": (
        "for name in self.names:\n    self.sums[name] = x\nreturn x + y",
        ["self.sums[name] = x"],
    ),
    "a counter": ("self.count += 1\nreturn x + y", ["self.count += 1"]),
    "what cannot be read": (
        "self.last = np.unique([x, y])\nreturn x + y",
        ["self.last = np.unique([x, y])"],
    ),
    "a message": ("text = f'x is {x}'\nprint(text)\nreturn x + y", ["text = f'x is {x}'", "print(text)"]),
    "a history": ("self.history.append(x)\nreturn x + y", ["self.history.append(x)"]),
    "del": ("del info\nreturn x + y", ["del info"]),
    "del of an item": ("del info['verbose']\nreturn x + y", ["del info['verbose']"]),
    "what a helper puts": ("put(info, x)\nreturn x + y", ["box['put'] = value"]),
    "what a method puts": ("self.watch(x)\nreturn x + y", ["self.extras['watched'] = value"]),
    "other items": ("info['a'] = x\ninfo['b'] = y\nreturn x * info['gain'] + y", ["info['a'] = x", "info['b'] = y"]),
    "a string that an if chooses": (
        "if x > 1:\n    why = 'far'\nelse:\n    why = ''\nprint(why)\ninfo['why'] = why\nreturn x + y",
        ["print(why)", "info['why'] = why"],
    ),
    "a string or None": (
        "why = None\nif x > 1: why = 'far'\nelif y > 1: why = 'wide'\nself.history.extend([why, ''])\nreturn x + y",
        ["self.history.extend([why, ''])"],
    ),
    "a string beside a number": (
        "if x > 1: z, why = 1.0, 'far'\nelse: z, why = y, 'near'\nwhy += '!'\nlogging.info(why)\nreturn x + z",
        ["why += '!'", "logging.info(why)"],
    ),
    "strings in a dict and in a list": (
        "if x > 1: told = {'why': 'far', 'z': x}\nelse: told = {'why': 'near', 'z': y}\n"
        "whys = []\nwhys.append(told['why'])\nprint(whys)\nreturn told['z'] + len(whys)",
        ["told['why']", "print(whys)"],
    ),
    "a list that grows on one path": (
        "whys = []\nif x > 1: whys.append('far')\nprint(whys)\nreturn x + y",
        ["print(whys)"],
    ),
    "a string that nothing reads": ("if x > 1: why = 'far'\nelse: why = 'near'\nreturn x + y", []),
    "a copy": ("info['z'] = copy.deepcopy(self.buffer)\nreturn x + y", ["info['z'] = copy.deepcopy(self.buffer)"]),
    "a string": ("'''Not a docstring.'''\nreturn x + y", []),
}


def load_method(body):
    return module(HEADER + "\n".join(f"        {line}" for line in body.splitlines()) + "\n")["Env"]


def make_env(kind):
    env = kind()
    env.extras, env.sums, env.names, env.count, env.history = {}, defaultdict(float), ["a"], 0, deque()
    env.logger = SimpleNamespace(warning=lambda text: None)
    env.buffer, env.cfg = np.zeros(3), SimpleNamespace(verbose=True)
    return env


def reward_of(kind, *fields, **options):
    return Reward("tried", version="1", terms=[term(name="f")(kind.f)], fields=[*FIELDS, *fields], **options)


def assert_equals_original(kind, reward, **more):
    for x, y in ROWS:
        wanted = make_env(kind).f(x, y, {"verbose": False, **more})
        assert reward.score(x=x, y=y, **more).total == wanted


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("body", "noted"), DROPPED.values(), ids=DROPPED)
def test_what_makes_no_difference_is_dropped_with_a_note(body, noted):
    kind = load_method(body)
    more = {"gain": 2.0} if "gain" in body else {}
    reward = reward_of(kind, *map(Field, more))
    assert_equals_original(kind, reward, **more)
    dropped = [note.what.removeprefix("`").partition("` is dropped") for note in reward.notes]
    assert [text for text, found, _ in dropped if found] == noted
    for note in reward.notes:
        assert note.term == "f"
        assert note.place.text in str(note)


READ = {
    "what a call that is dropped assigns": "print(z := x * 2)\nreturn z + y",
    "what a dropped item assigns": "info['seen'] = (z := x * 2)\nreturn z + y",
    "what a method of the name of a report assigns": "self.log(x)\nreturn self.seen + y",
    "what was assigned to a part": "self.last = x\nself.last += y\nreturn self.last",
    "a dict made here": "info = {'a': x}\ninfo['b'] = y\ndel info['a']\nreturn sum(info.values()) + x",
    "a part that was made here": "self.extras = {}\nself.extras['a'] = x\nreturn self.extras['a'] + y",
    "entries from the second on": "v = np.array([x, y, 1.0])\nv[1:] += 1.0\nreturn v[0] + v[1] * v[2]",
}


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_what_makes_a_difference_is_read(body):
    kind = load_method(body)
    assert_equals_original(kind, reward_of(kind))


REFUSED = {
    "an item read back": ("info['seen'] = x\nreturn info['seen'] + y", "`info.seen` is changed by `info['seen'] = x`"),
    "an item got back": ("info['seen'] = x\nreturn info.get('seen', 0) + y", "`info.seen` is changed by"),
    "an item read by a helper": (
        "info['a'] = x\ndef g(box):\n    return box['a']\nreturn g(info) + y",
        "`info.a` is changed by",
    ),
    "an item under a name that is not known": (
        "for name in self.names:\n    info[name] = x\nreturn info['a'] + y",
        "`info.a` is changed by `info[name] = x`",
    ),
    "all items": ("info['seen'] = x\nreturn sum(info.values()) + y", "`info.values()` lists what is not known"),
    "a history read back": (
        "self.history.append(x)\nreturn len(self.history) + y",
        'declare State("history", reset=0.0, update=...) and read `prev.history`',
    ),
    "a counter read back": ("self.count += 1\nreturn x + y + self.count", "reads 'self.count', which"),
    "an entry read back by another index": (
        "self.buffer[0] = x\nreturn self.buffer[-3] + y",
        "`self.buffer` is changed by",
    ),
    "a value kept in two places": (
        "log = {'a': y}\nself.extras['log'] = log\nself.extras['log']['a'] = x\nreturn log['a'] + y",
        "goes on to read",
    ),
    "an array kept in two places": (
        "v = np.array([x, y])\nself.history.append(v)\nself.history[-1][0] = 7.0\nreturn v[0] + y",
        "goes on to read",
    ),
    "an array that may be changed and cannot be read": (
        "v = np.array([x, y])\nw = v\nv += np.unique(w)\nreturn w[0] + x",
        "np.unique",
    ),
    "a name that was deleted": ("z = x\ndel z\nreturn z + y", "`z` is deleted above"),
    "a name of a dropped loop": (
        "for name in self.names:\n    self.sums[name] = x\nreturn x + y + name",
        "'name' is assigned by a loop",
    ),
    "a message that is used": ("text = f'{x}'\nreturn (x if text == '1' else y)", "build strings"),
    "a call that may change anything": ("self.robot.step(x)\nreturn x + y", "has no effect on the score"),
    "a call in a report that may change anything": ("print(next(self.names))\nreturn x + y", "next"),
}


@pytest.mark.parametrize(("body", "why"), REFUSED.values(), ids=REFUSED)
def test_what_a_dropped_line_may_have_changed_is_not_read(body, why):
    with pytest.raises(PlauditError) as caught:
        reward_of(load_method(body))
    assert why in str(caught.value)


@pytest.mark.parametrize("line", ["self.v[0] = x", "self.v[0] += x", "self.v.append(x)", "self.v[0:2] = x"])
def test_an_array_that_is_a_field_is_never_changed_by_a_line_that_is_dropped(line):
    with pytest.raises(PlauditError):
        reward_of(load_method(f"{line}\nreturn x + y"), Field("v", length=3))


def test_a_field_that_only_a_dropped_line_mentions_is_a_note():
    kind = load_method("self.extras['watts'] = self.watts\nreturn x + y")
    reward = reward_of(kind, Field("watts"))
    assert reward.inputs == ("x", "y")
    assert reward.score(x=1.0, y=2.0).total == reward.score(x=1.0, y=2.0, watts=7.0).total == 3.0
    batch = reward.compile("numpy")({"x": np.ones(2), "y": np.ones(2), "watts": np.ones(2)})
    assert list(batch.total) == [2.0, 2.0]
    assert "reads the field 'watts', but it does not affect any score" in reward.notes[-1].what
    assert Reward.from_json(reward.to_json()) == reward


def test_a_shared_number_that_only_a_dropped_line_mentions_is_a_note():
    kind = load_method("if self.cfg.verbose:\n    print(x)\nreturn x + y")
    reward = reward_of(kind, shared={"verbose": True})
    assert_equals_original(kind, reward)
    assert "reads the shared parameter 'verbose', but it does not" in reward.notes[-1].what
    assert not check(reward, only="unused-knob").findings


def test_a_shared_number_that_only_another_method_reads_is_a_note():
    kind = module("class Env:\n    def f(self, x, y): return x + y\n    def g(self, x): return x * self.gain\n")["Env"]
    reward = reward_of(kind, shared={"gain": 2.0})
    assert [note.what for note in reward.notes] == [
        "reads the shared parameter 'gain', but it does not affect any score."
    ]
    assert Reward.from_json(reward.to_json()) == reward
    with pytest.raises(UnknownParameter, match="nor reads it from a record"):
        reward_of(kind, shared={"gain": 2.0, "again": 1.0})


CHANGES = """\
import functools, logging

logger = logging.getLogger("rewards")


def move(env):
    env.k = env.k + 1
    return env.k


def half(value):
    return value / 2


class Env:
    def bump(self):
        self.k = self.k + 1
        return self.k

    def twice(self):
        return self.bump() + self.bump()

    def helped(self):
        return move(self)

    @property
    def prop(self):
        self.k = self.k + 1
        return self.k

    @property
    def above(self):
        return self.prop + 1

    @property
    def calm(self):
        return half(self.k)

    @functools.cached_property
    def kept(self):
        self.k = self.k + 1
        return self.k

    def f(self, x, info):
        self.k = 1.0
        BODY
        return self.k * x
"""


class Anything(dict):
    """Holds whatever is asked for, and takes whatever is put there."""

    def __missing__(self, key):
        return Anything()

    def __delitem__(self, key):
        pass

    def __setitem__(self, key, value):
        pass

    def __add__(self, other):
        return self

    def info(self, text):
        pass

    def append(self, value):
        pass


def read_changing(body, *fields):
    kind = module(CHANGES.replace("BODY", body.replace("\n", "\n        ")))["Env"]
    reward = Reward("tried", version="1", terms=[term(name="f")(kind.f)], fields=[Field("x"), *fields])
    env = kind()
    env.logs, env.sensor = Anything(), lambda value: value
    return reward, [env.f(x, Anything()) for x in (2.0, -3.0)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "body",
    [
        "del self.logs[self.bump()]",
        "self.logs[self.bump()] = 3",
        "self.logs[self.bump()] += 3",
        "self.logs[self.bump(), 1] = self.logs[self.prop] = 3",
        "self.logs[self.bump():] = 3",
        "info[f'{self.bump()}'] = x",
        "info[move(self)] = x",
        "print(self.prop)",
        "print(self.above, end='')",
        "print(f'{x} {self.bump()} {self.prop}')",
        "print(self.twice(), self.helped(), half(self.prop))",
        "print(self.sensor(self.bump()))",
        "print(getattr(self, 'prop'), hasattr(self, 'above'))",
        "text = f'{self.prop}'",
        "q = self.sensor(self.bump())",
        "self.logs['a'] = self.prop",
        "self.logs['a']['b'] = self.prop",
        "self.logs.append(self.prop)",
        "self.logs[self.bump()].info('x')",
        "logger.info('%s', self.prop + 1)",
        "if self.prop > 1:\n    print('x')",
        "if x > 0:\n    print(self.prop)",
        "for _ in range(3):\n    self.logs['a'] = self.prop",
        "print(self.calm)",
    ],
)
def test_what_a_dropped_line_assigns_is_read(body):
    reward, wanted = read_changing(body)
    assert [reward.score(x=x).total for x in (2.0, -3.0)] == wanted


@pytest.mark.parametrize(
    "body",
    [
        "info['a'] = [self.bump() for _ in range(2)]",
        "parts = [self.bump() for _ in range(2)]",
        "print([self.prop for _ in range(2)])",
        "print(x > 0 and self.bump())",
        "print(self.bump() if x > 0 else 0)",
        "print(self.__setattr__('k', 9.0))",
        "print(self.kept, self.kept)",
        "q = self.kept + self.kept",
        "vars(self)['k'] = 9.0",
    ],
)
def test_what_a_dropped_line_assigns_is_refused_where_it_is_not_clear(body):
    with pytest.raises(PlauditError):
        read_changing(body)


def test_what_stands_before_the_score_is_read_for_what_it_assigns():
    kind = module(CHANGES.replace("BODY", "return self.bump(), self.k * x"))["Env"]
    made = term(name="f", part=1)(kind.f)
    assert Reward("tried", version="1", terms=[made], fields=[Field("x")]).score(x=3.0).total == kind().f(3.0, {})[1]
