"""Hostile content: kept as it was given, or refused with a clear error, on both engines."""

import enum
import itertools
import json
import unicodedata
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from plaudit import Entry, Ledger
from plaudit.errors import InputError, WrongType
from support.examples import examples
from support.ledgers import REWARD, columns, signal, verified

PLACES = ("key", "run", "episode", "phase", "decision_class", "actor")

NASTY = [
    "'; DROP TABLE blocks; --",
    "quote \" and ' and `",
    "%s %d %% {} {0} :name ?1 $1 @x",
    "back\\slash \\u0000 \\n",
    "line\nbreak\r\ttab",
    "NULL",
    "None",
    "null",
    "\\x00",
    "<script>alert(1)</script>",
    "ünïcödé 漢字 🚗 \U0010ffff",
    unicodedata.normalize("NFC", "é") + "/" + unicodedata.normalize("NFD", "é"),
    "\u202eright to left\u202c \ufeff \u00a0 \u2028",
    " leading and trailing ",
    "0",
    "1e999",
    "[1, 2]",
    '{"a": 1}',
    "x" * 100_000,
]


@pytest.fixture
def ledger(where):
    with Ledger(where) as opened:
        yield opened


def test_texts_come_back_as_they_were(ledger):
    for n, text in enumerate(NASTY):
        given_ = dict.fromkeys(PLACES, text) | ({"key": f"long {n}" + "y" * 1000} if len(text) > 9999 else {})
        number = ledger.record(signal(n), **given_, step=n, context={text: [text]})
        found = ledger[number]
        assert {name: getattr(found, name) for name in PLACES} == given_
        assert found.context == {text: [text]}
        for name in PLACES:
            assert [record.id for record in ledger.history(**{name: given_[name]})] == [number], name
        assert ledger[given_["key"]].id == number
        assert ledger.record(signal(n), **given_, step=n, context={text: [text]}) == number
    assert ledger.history().count() == len(NASTY)
    verified(ledger)


def test_texts_in_many_and_in_batches_come_back_as_they_were(ledger):
    texts = NASTY[:-1]
    given_ = [dict.fromkeys(PLACES, text) for text in texts]
    ledger.record_many(Entry(signal=signal(n), **each) for n, each in enumerate(given_))
    parts = {name: [f"{text} again" for text in texts] for name in PLACES}
    ledger.record_batch(REWARD, columns(0, len(texts)), **parts, context=[{"t": text} for text in texts])
    found = list(ledger.history())
    assert [{name: getattr(r, name) for name in PLACES} for r in found[: len(texts)]] == given_
    assert [r.run for r in found[len(texts) :]] == parts["run"]
    assert [r.context for r in found[len(texts) :]] == [{"t": text} for text in texts]
    verified(ledger)


def test_texts_that_a_database_cannot_keep_are_refused(ledger):
    for name, text in itertools.product(PLACES, ["a\0b", "\0", "\ud800", "ok \udfff", ""]):
        given_ = {name: text}
        with pytest.raises(InputError, match=name):
            ledger.record(signal(), **given_)
        with pytest.raises(InputError, match=name):
            ledger.record_many([signal(), Entry(signal=signal(), **given_)])
        with pytest.raises(InputError, match=name):
            ledger.record_batch(REWARD, columns(0, 2), **{name: ["fine", text]})
        with pytest.raises(InputError, match=name):
            ledger.history(**given_)
    assert ledger.history().count() == 0


KEPT = [
    "a\0b",
    {"\0": "\0"},
    None,
    [],
    {},
    "",
    0,
    -0.0,
    True,
    2**63,
    -(2**200),
    10**400,
    5e-324,
    1.7976931348623157e308,
    0.1 + 0.2,
    [1, 1.0, True, "1", None, [1], {"1": 1}],
    {"": "", "a": {"b": {"c": [[[]]]}}},
    [[[[[["deep"]]]]]] * 3,
    {"é": 1, "e\u0301": 2},
    {"a": 1, "A": 2, " a": 3},
]


def test_contexts_come_back_as_they_were(ledger):
    for context in KEPT:
        number = ledger.record(signal(), context=context)
        many = ledger.record_many([Entry(signal=signal(), context=context), Entry(signal=signal(1), context={"o": 1})])
        batch = ledger.record_batch(REWARD, columns(0, 3), context=[context, 7, context])
        for one in (number, many[0], batch[0], batch[2]):
            found = ledger[one].context
            assert found == context
            assert told(found) == told(context)
    verified(ledger)


def told(value):
    """Return a value with every type and sign in it."""
    return json.dumps(value, sort_keys=True)


REFUSED = [
    float("nan"),
    float("inf"),
    [1, -float("inf")],
    {"a": {"b": float("nan")}},
    {1: 2},
    {None: 1},
    {"a": {1, 2}},
    b"bytes",
    object(),
    np.float32("inf"),
    np.array([1, 2]),
    10**5000,
    {"a": 1j},
    "\ud800",
    {"\udfff": ["\ud800\ud800"]},
    "\ud83d\ude97",  # two halves that JSON would join
    {"a": ["\ud83d\ude97"]},
]


def test_contexts_that_json_cannot_hold_are_refused(ledger):
    for context in REFUSED:
        with pytest.raises(InputError):
            ledger.record(signal(), context=context)
        with pytest.raises(InputError):
            ledger.record_batch(REWARD, columns(0, 2), context=[None, context])
    assert ledger.history().count() == 0
    ledger.record(signal())


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_that_is_kept_can_be_read_from_deep_inside_a_program(ledger):
    depth = 199
    number = ledger.record(signal(), context=nested(depth))

    def deeper(levels):
        return ledger[number].context if not levels else deeper(levels - 1)

    assert deeper(300) == nested(depth)
    assert ledger.why(number).to_dict()["context"] == nested(depth)


def test_nesting_too_deep_to_be_read_everywhere_is_refused(ledger):
    for depth in (201, 1000, 100_000):
        with pytest.raises(InputError, match="nested"):
            ledger.record(signal(), context=nested(depth))
    itself = []
    itself.append(itself)
    with pytest.raises(InputError, match="nested"):
        ledger.record(signal(), context=itself)


@pytest.mark.parametrize("megabytes", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_a_context_of_megabytes_comes_back(ledger, megabytes):
    context = {
        "text": "é\0" * 20_000 * megabytes,
        "numbers": list(range(7_000 * megabytes)),
        "more": ["x" * 1000] * 800 * megabytes,
    }
    assert len(json.dumps(context)) > megabytes << 20
    number = ledger.record(signal(), context=context, key="large")
    assert ledger[number].context == context
    assert ledger.record(signal(), context=context, key="large") == number
    assert [record.context == context for record in ledger.history()] == [True]
    verified(ledger)


def test_mappings_and_tuples_come_back_as_json_has_them(ledger):
    number = ledger.record(signal(), context=MappingProxyType({"a": (1, 2), "b": MappingProxyType({})}))
    assert ledger[number].context == {"a": [1, 2], "b": {}}


class Phase(str, enum.Enum):  # noqa: UP042  # its str() is not its value
    DRIVE = "drive"


class Step(int, enum.Enum):
    THREE = 3


def test_members_of_enumerations_are_kept_as_their_values(ledger):
    number = ledger.record(
        signal(), phase=Phase.DRIVE, step=Step.THREE, episode=Step.THREE, context=[Phase.DRIVE, Step.THREE]
    )
    batch = ledger.record_batch(REWARD, columns(0, 2), phase=[Phase.DRIVE] * 2, step=[Step.THREE, 4])
    found = ledger[number]
    assert (found.phase, found.step, found.episode, found.context) == ("drive", 3, "3", ["drive", 3])
    assert [(ledger[one].phase, ledger[one].step) for one in batch] == [("drive", 3), ("drive", 4)]
    verified(ledger)


def test_steps_of_64_bits_come_back(ledger):
    for step in (0, -1, 2**63 - 1, -(2**63) + 1, np.int64(5), np.uint8(200)):
        assert ledger[ledger.record(signal(), step=step, episode=step)].step == int(step)
        assert ledger.history(episode=int(step)).count() == 1
        assert ledger[ledger.record_batch(REWARD, columns(0, 2), step=[step, 0])[0]].step == int(step)
    verified(ledger)


def test_steps_that_are_no_whole_numbers_of_64_bits_are_refused(ledger):
    for step in (2**63, -(2**70), 1.0, "1", True, np.float64(1), int):
        with pytest.raises(InputError):
            ledger.record(signal(), step=step)
        with pytest.raises(InputError):
            ledger.record_batch(REWARD, columns(0, 2), step=[1, step])
    assert ledger.history().count() == 0


def test_what_is_no_text_is_refused(ledger):
    for name, value in itertools.product(PLACES, [b"x", 1.5, ["x"], {"x": 1}]):
        with pytest.raises(WrongType, match=name):
            ledger.record(signal(), **{name: value})
    assert ledger.history().count() == 0


def test_what_is_no_signal_is_refused(where):
    with Ledger(where) as ledger:
        for wrong in (None, 1.0, {"total": 1}, REWARD):
            with pytest.raises(WrongType, match="not a Signal"):
                ledger.record(wrong)
            with pytest.raises(WrongType, match="a Signal"):
                ledger.record_many([signal(), wrong])
            with pytest.raises(WrongType, match="not a Signal"):
                ledger.record_many([signal(), Entry(signal=wrong)])
        assert ledger.history().count() == 0


anything = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | anything,
    lambda part: st.lists(part, max_size=4) | st.dictionaries(anything, part, max_size=4),
    max_leaves=20,
)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)


@examples(0.6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.lists(st.tuples(texts, texts, st.integers(-(2**62), 2**62), json_values), min_size=1, max_size=6))
def test_any_text_and_any_json_comes_back(ledger, entries):
    numbers = ledger.record_many(
        Entry(signal=signal(n), run=run, episode=episode, step=step, context=context)
        for n, (run, episode, step, context) in enumerate(entries)
    )
    found = [ledger[number] for number in numbers]
    assert [(r.run, r.episode, r.step, told(r.context)) for r in found] == [(*e[:3], told(e[3])) for e in entries]


class WithoutRepr:
    """Something that cannot even be shown."""

    def __repr__(self):
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    "value",
    [10**400, -(10**400), 10**5000, [10**5000], WithoutRepr(), np.arange(3)],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_even_be_shown_is_refused(tmp_path, value):
    with Ledger(tmp_path / "ledger.db") as ledger:
        for name in ("key", "run", "episode", "step", "phase", "decision_class", "actor", "at"):
            with pytest.raises(InputError):
                ledger.record(signal(0), **{name: value})
        for name in ("run", "episode", "step", "since", "until", "id", "after", "job"):
            with pytest.raises(InputError):
                ledger.history(**{name: value})
        for use in (ledger.record_many, ledger.history().last):
            with pytest.raises(InputError):
                use(value if not isinstance(value, int) else [value])
        assert ledger.history().count() == 0
