"""Parts of episodes: packed as documented, read as they were packed, and refused where they are damaged."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.ledger.storage.parts import NO_STEP, get_part_type, pack_parts, pack_record, parse_number, unpack_parts

PAID = [np.array([1.0, 2.0, np.nan, 8.0]), np.array([1.0, 0.5, 5.0, 4.0])]
TIMES = np.array([10, 30, 20, 40])


def read(packed, terms=1):
    rows, length, names = unpack_parts(packed, terms)
    found = np.frombuffer(rows, get_part_type(terms))
    assert len(found) == length
    return found, names


def test_a_part_has_what_its_records_have():
    ends = np.array([0, 2, 1, 2], np.int8)
    stepped = np.array([True, False, True, False])
    about = {"times": TIMES, "steps": np.array([5, 0, -3, 0]), "stepped": stepped, "ends": ends}
    found, names = read(pack_parts(np.array([7, 4, 7, 4]), PAID, **about))
    assert names is None
    assert found["episode"].tolist() == [4, 7]
    assert found["position"].tolist() == [1, 0]
    assert found["last"].tolist() == [3, 2]
    assert found["records"].tolist() == [2, 2]
    assert found["end"].tolist() == [2, 1]
    assert (found["earliest"].tolist(), found["latest"].tolist()) == ([30, 10], [40, 20])
    assert (found["step_low"].tolist(), found["step_high"].tolist()) == ([NO_STEP.max, -3], [NO_STEP.min, 5])
    assert found["sums"].tolist() == [[10.0, 4.5], [1.0, 1.0]]  # what is masked adds nothing

    blank, _ = read(pack_parts(np.array([7, 4, 4, 7]), [np.full(4, np.nan)] * 2, times=TIMES))
    assert np.isnan(blank["sums"]).all()


def test_names_stand_beside_the_parts_and_records_can_be_left_out():
    chosen = np.array([True, False, True, True])
    found, names = read(pack_parts(np.array([1, 0, 0, 1]), PAID, times=TIMES, names=["é", "b"], chosen=chosen))
    assert names == ["é", "b"]
    assert (found["episode"].tolist(), found["records"].tolist(), found["end"].tolist()) == ([0, 1], [1, 2], [0, 0])
    nothing, _ = read(pack_parts(np.array([0] * 4), PAID, times=TIMES, chosen=np.zeros(4, np.bool_)))
    assert len(nothing) == 0


def test_integers_that_are_too_large_are_names():
    large = 10**18
    found, names = read(pack_parts(np.array([large, 1, large, -large]), PAID, times=TIMES))
    assert [names[at] for at in found["episode"]] == [str(-large), "1", str(large)]
    assert [parse_number(name) for name in names] == [None, 1, None]


def test_a_record_is_packed_as_a_block_of_one_is():
    about = {"times": TIMES[:1], "steps": np.array([3]), "ends": np.array([2], np.int8)}
    whole = unpack_parts(pack_parts(np.array([9]), [each[:1] for each in PAID], **about), 1)
    assert whole.rows == pack_record(9, 10, 3, 2, (1.0, 1.0))


@given(at=st.integers(0, 200), value=st.integers(0, 255), named=st.booleans())
def test_changed_bytes_are_refused(at, value, named):
    packed = pack_parts(np.array([0, 1, 0, 1]), PAID, times=TIMES, names=["a", "b"] if named else None)
    changed = bytearray(packed)
    changed[at % len(packed)] = value
    if changed != packed:
        with pytest.raises(ValueError, match="episode sums"):
            unpack_parts(bytes(changed), 1)
    with pytest.raises(ValueError, match="episode sums"):
        unpack_parts(packed[: at % len(packed)], 1)
    with pytest.raises(ValueError, match="not 2 of 2 terms"):
        unpack_parts(packed, 2)


@given(number=st.integers(-(2**70), 2**70))
def test_names_that_are_integers_are_found(number):
    assert parse_number(str(number)) == (number if abs(number) < 10**18 else None)
    for other in (f"+{number}", f"0{number}", f"{number} ", json.dumps(f"{number}"), f"{number}\n"):
        assert parse_number(other) is None
