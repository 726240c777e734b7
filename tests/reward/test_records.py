"""What a step may be handed over as: keywords, records of any make, whole states."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.errors import MissingField, ShapeMismatch, UnknownInput, WrongType
from support.written import module, reward_from

LEVEL = Field("level", low=0)
MOOD = Field("mood", values=("calm", "wild"))
FORCE = Field("force", length=2)
SPACE = module(
    """
    def moved(prev, curr): return curr.level - prev.level + (prev.mood == "wild") + sum(curr.force)
    def scaled(gain): return 100 * gain
    """
)
REWARD = Reward("steps", version="1", terms=[term(f) for f in (SPACE["moved"], SPACE["scaled"])], fields=[
    LEVEL, MOOD, FORCE, Field("gain"),
])  # fmt: skip
BEFORE = {"level": 1, "mood": "wild"}
AFTER = {"level": 4, "force": (1, 2)}


@dataclass(frozen=True)
class State:
    level: float
    mood: str = "wild"
    force: tuple = (1, 2)
    unknown: float = 7


@dataclass(slots=True)
class Slots:
    level: float
    mood: str
    force: tuple


class Lazy:
    def __init__(self, level):
        self._level = level
        self.mood = "wild"
        self.force = [1, 2]

    @property
    def level(self):
        return self._level


Named = namedtuple("Named", ["force", "mood", "level"])
TYPE = np.dtype([("level", float), ("mood", "U4"), ("force", float, 2)])

MAKES = {
    "a dict": lambda level: {"level": level, "mood": "wild", "force": (1, 2)},
    "a proxy": lambda level: MappingProxyType({"level": level, "mood": "wild", "force": [1, 2]}),
    "an ordered dict": lambda level: OrderedDict(force=(1, 2), level=level, mood="wild"),
    "a dataclass": State,
    "a dataclass with slots": lambda level: Slots(level, "wild", (1, 2)),
    "a named tuple": lambda level: Named((1, 2), "wild", level),
    "a namespace": lambda level: SimpleNamespace(level=level, mood="wild", force=np.array([1.0, 2.0])),
    "an object with properties": Lazy,
    "a structured scalar": lambda level: np.array([(level, "wild", (1, 2))], TYPE)[0],
}


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_a_record_may_be_anything_with_the_names(make):
    signal = REWARD.score(prev=make(1), curr=make(4), gain=0)
    assert signal.total == 7.0
    assert signal.inputs["prev.mood"] == "wild"


def test_a_whole_state_may_hold_fields_that_this_end_does_not_read():
    assert REWARD.score(prev=BEFORE, curr=AFTER, gain=0).total == 7.0
    whole = {"level": 4, "mood": "calm", "force": (1, 2)}
    assert REWARD.score(prev={**BEFORE, "force": (9, 9)}, curr=whole, gain=0).total == 7.0


def test_what_a_state_holds_and_no_field_declares_is_refused():
    with pytest.raises(UnknownInput, match=r"reward 'steps' does not read 'curr.levle'. Did you mean 'curr.level'\?"):
        REWARD.score(prev=BEFORE, curr={**AFTER, "levle": 3}, gain=0)


def test_an_object_may_hold_more_than_is_declared():
    assert REWARD.score(prev=State(1), curr=State(4), gain=0).total == 7.0


@pytest.mark.parametrize("name", ["prev", "curr", "gain"])
def test_what_is_not_given_is_named(name):
    row = {"prev": BEFORE, "curr": AFTER, "gain": 0}
    del row[name]
    with pytest.raises(MissingField, match=rf"reward 'steps' needs '{name}"):
        REWARD.score(**row)


def test_what_a_record_lacks_is_named():
    with pytest.raises(MissingField, match=r"reward 'steps' needs 'prev.mood'"):
        REWARD.score(prev={"level": 1}, curr=AFTER, gain=0)
    with pytest.raises(MissingField, match=r"reward 'steps' needs 'curr.force'"):
        REWARD.score(prev=BEFORE, curr=SimpleNamespace(level=2), gain=0)


@pytest.mark.parametrize("value", [None, 5, "text", (1, 2)], ids=repr)
def test_what_is_no_record_lacks_everything(value):
    with pytest.raises((MissingField, WrongType), match="reward 'steps'"):
        REWARD.score(prev=value, curr=AFTER, gain=0)


def test_the_order_of_keywords_and_keys_makes_no_difference():
    one = REWARD.score(gain=1, curr=AFTER, prev=BEFORE)
    other = REWARD.score(prev=dict(reversed(BEFORE.items())), gain=1, curr=dict(reversed(AFTER.items())))
    assert one == other
    assert hash(one) == hash(other)
    assert list(one.inputs) == list(other.inputs) == list(REWARD.inputs)


def test_what_is_given_and_not_read_is_refused_with_the_near_name():
    with pytest.raises(UnknownInput, match=r"'steps' does not read 'gian'. Did you mean 'gain'\?\nIt reads: "):
        REWARD.score(prev=BEFORE, curr=AFTER, gain=0, gian=0)


def test_a_positional_argument_is_refused():
    with pytest.raises(TypeError):
        REWARD.score({"gain": 0})


@pytest.mark.parametrize("force", [(1,), (1, 2, 3), (), 5, "ab", {1, 2}, {"a": 1, "b": 2}, np.float64(1)], ids=repr)
def test_a_vector_of_another_length_or_kind_is_refused(force):
    with pytest.raises(ShapeMismatch, match=r"reward 'steps', field 'curr.force': 2 values are needed"):
        REWARD.score(prev=BEFORE, curr={**AFTER, "force": force}, gain=0)


@pytest.mark.parametrize("force", [(1, 2), [1, 2], np.array([1, 2]), np.float32([1, 2]), range(1, 3)], ids=repr)
def test_a_vector_may_be_any_sequence(force):
    assert REWARD.score(prev=BEFORE, curr={**AFTER, "force": force}, gain=0).total == 7.0


def test_records_by_their_whole_names_are_for_compiled_rewards_too():
    flat = {"prev.level": 1, "prev.mood": "wild", "curr.level": 4, "curr.force": (1, 2), "gain": 0}
    assert REWARD.compile("python")(flat).total == 7.0
    assert REWARD.score(**flat).total == 7.0
    with pytest.raises(UnknownInput, match=r"'prev.level' is given twice"):
        REWARD.compile("python")({**flat, "prev": {"level": 1}})


def test_a_record_is_only_read():
    before, after = dict(BEFORE), dict(AFTER)
    REWARD.score(prev=before, curr=after, gain=0)
    assert (before, after) == (BEFORE, AFTER)


@pytest.mark.parametrize("name", ["self", "inputs", "extra", "x0", "y0", "absent", "record", "slow", "k", "len"])
def test_a_field_may_have_any_name(name):
    reward = reward_from(f"def f({name}, other): return {name} - 2 * other")
    assert reward.score(**{name: 7, "other": 1}).total == 5.0
    with pytest.raises(UnknownInput, match=rf"does not read '{name}_'"):
        reward.score(**{name: 7, "other": 1, f"{name}_": 0})
