"""Members of Enums: those that are numbers or strings, and `.value` of any; a plain member is never a number."""

from types import SimpleNamespace

import pytest

from plaudit import Field, ReadError, Reward, term
from support.strategies import load

ENUMS = """
from enum import Enum, IntEnum

class Move(IntEnum):
    UP = 0
    DOWN = 2

class Mode(Enum):
    SLOW = 0
    FAST = 2

class Tile(str, Enum):
    GRASS = "grass"
    ROCK = "rock"

class Plain(Enum):
    GRASS = "grass"
    ROCK = "rock"

WORTH = {Move.UP: 1.5, Move.DOWN: -2.0}
"""
FIELDS = {"k": Field("k", values=(0, 2)), "tile": Field("tile", values=("grass", "rock")), "x": Field("x")}
ROWS = [{"k": k, "tile": tile, "x": x} for k, tile, x in ((0, "grass", 1.5), (2, "rock", -3.0))]


def read(body):
    function = load(f"{ENUMS}\ndef f(k, tile, x, mode=Mode.FAST):\n    {body}\n")["f"]
    given = {name: FIELDS[name] for name in FIELDS}
    return function, Reward.from_functions({term()(function): 1.0}, example=given, name="r")


READ = {
    "an IntEnum": "return x if k == Move.DOWN else 1.0",
    "its value": "return x if k == Move.DOWN.value else 1.0",
    "the value of a plain Enum": "return x if k == Mode.FAST.value else 1.0",
    "by its name": "return x * Move['DOWN'] + Mode['FAST'].value - Move['DOWN'].value",
    "among several": "return x if k in (Move.DOWN, Move.UP) else 1.0",
    "a match": "match k:\n        case Move.UP:\n            return x\n        case Move.DOWN:\n            return 2 * x",
    "the keys of a dict": "return WORTH[k] * x",
    "a string": "return x if tile == Tile.ROCK else 1.0",
    "the value of a string": "return x if tile != Tile.ROCK.value else 1.0",
    "the value of a plain string": "return x if tile == Plain.ROCK.value else 1.0",
    "a default": "return x if mode == Mode.FAST else 1.0",
    "identity": "return x if mode is Mode.FAST and mode is not Mode.SLOW else 1.0",
    "arithmetic": "return x * Move.DOWN + Move.UP",
    "all members": "return sum(x * each.value for each in Mode) / len(Move)",
    "a name": "return x if Move.DOWN.name == 'DOWN' else 1.0",
}


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_a_member_is_its_value(body):
    function, reward = read(body)
    for row in ROWS:
        needed = {name: row[name] for name in reward.fields}
        assert reward.score(**needed).total == function(**row)


REFUSED = {
    "a plain member": ("return x if k == Mode.FAST else 1.0", "the Enum member Mode.FAST", "Write `Mode.FAST.value`"),
    "on the left": ("return x if Mode.FAST == k else 1.0", "the Enum member Mode.FAST", "Write `Mode.FAST.value`"),
    "in a tuple": ("return x if k in (Mode.FAST,) else 1.0", "the Enum member Mode.FAST", "Write `Mode.FAST.value`"),
    "by identity": ("return x if k is not Mode.FAST else 1.0", "a row holds no members of an Enum", "pass in shared="),
    "for a category": ("return x if tile == Plain.ROCK else 1.0", "the Enum member Plain.ROCK", "`Plain.ROCK.value`"),
    "in arithmetic": ("return x * Mode.FAST", "the Enum member Mode.FAST", "Write `Mode.FAST.value`"),
    "made of data": ("return x if Mode(k) == Mode.FAST else 1.0", "makes a member of an Enum", "Mode.SLOW.value"),
    "no such member": ("return x * Move['LEFT']", "'LEFT' is not a member of Move", "Its members: UP, DOWN"),
}


@pytest.mark.parametrize(("body", "what", "advice"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_value_is_refused(body, what, advice):
    with pytest.raises(ReadError) as caught:
        read(body)
    assert what in str(caught.value)
    assert advice in str(caught.value)


COMPARED = {
    "equal": "x if self.mode == Mode.FAST else 1.0",
    "not equal": "x if self.mode != Mode.FAST else 1.0",
    "identical": "x if self.mode is Mode.SLOW else 1.0",
    "not identical": "x if self.mode is not Mode.SLOW else 1.0",
    "on the left": "x if Mode.FAST == self.mode else 1.0",
    "in a tuple": "x if self.mode in (Mode.SLOW, Mode.FAST) else 1.0",
    "not in a list": "x if self.mode not in [Mode.FAST] else 1.0",
    "of another class": "x if self.mode in (Plain.ROCK, 2) or self.mode == Plain.GRASS else 1.0",
    "a member of strings": "x if self.tile == Plain.ROCK or self.tile is Tile.ROCK else 1.0",
    "its value": "x * self.mode.value + (self.mode.name == 'FAST')",
    "a string": "x if self.mode == 'FAST' or self.mode in ('FAST', 2) else 1.0",
}


@pytest.mark.parametrize("body", COMPARED.values(), ids=COMPARED)
@pytest.mark.parametrize("name", ["SLOW", "FAST"])
def test_a_member_that_the_reward_shares_is_compared_as_it_is(body, name):
    parts = load(f"{ENUMS}\ndef f(self, x):\n    return {body}\n")
    given = {"mode": parts["Mode"][name], "tile": parts["Tile"].ROCK}
    shared = {each: value for each, value in given.items() if f"self.{each}" in body}
    reward = Reward("r", version="1", terms=[term(parts["f"])], fields=[FIELDS["x"]], shared=shared)
    assert reward.score(x=2.5).total == parts["f"](SimpleNamespace(**given), 2.5)
