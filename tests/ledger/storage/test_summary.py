"""What is known of a block without opening it follows from the block."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Entry, Ledger
from plaudit.ledger.storage.summary import find_fork, list_forks, number_episode
from support.ledgers import REWARD, columns, signal

NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-40, 40)


def divisions(number):
    """Return how often a number can be halved; 0 always can."""
    return 64 if number == 0 else (number & -number).bit_length()


@given(st.lists(NUMBERS, min_size=3, max_size=3).map(sorted))
def test_the_fork_of_an_interval_is_on_the_way_to_each_of_its_points(numbers):
    low, point, high = numbers
    fork = find_fork(low, high)
    assert low <= fork <= high
    assert fork in list_forks(point)
    assert fork == low if low == high else divisions(fork) >= max(map(divisions, numbers))


@given(st.integers(-100, 100), st.integers(0, 100))
def test_the_fork_is_the_number_that_can_be_halved_most_often(low, more):
    found = find_fork(low, low + more)
    assert divisions(found) == max(divisions(number) for number in range(low, low + more + 1))


@given(st.integers(0, 10**18 - 1), st.sampled_from(["{}", "ep{}", "night-3/ep-{}", "episode_{}", "a b {}"]))
def test_numbered_episodes_lie_side_by_side(number, name):
    assert number_episode(name.format(number)) == number


@given(st.text(min_size=1))
def test_every_episode_has_a_number_of_64_bits(name):
    assert 0 <= number_episode(name) < 2**63


def read_rows(path, statement):
    connection = sqlite3.connect(path)
    rows = connection.execute(statement).fetchall()
    connection.commit()
    connection.close()
    return rows


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("UPDATE summaries SET step_fork = step_fork + 1 WHERE first = 2", "record 2: its summary"),
        ("UPDATE summaries SET episode_high = episode_high - 1 WHERE first = 4", "record 4: its summary"),
        ("UPDATE summaries SET time_fork = 0 WHERE first = 1", "record 1: its summary"),
        ("UPDATE summaries SET total = total + 1 WHERE first = 4", "record 4: its summary"),
        ("UPDATE summaries SET total = NULL, low = NULL, high = NULL WHERE first = 4", "record 4: its summary"),
        ("UPDATE summaries SET high = high + 1e-9 WHERE first = 3", "record 3: its summary"),
        ("DELETE FROM summaries WHERE first = 3", "record 3: its summary"),
        ("INSERT INTO summaries (first, time_fork, telling) VALUES (77, 5, 0)", "5 summaries of 4 blocks"),
    ],
)
def test_verify_finds_a_summary_that_does_not_follow_from_its_block(tmp_path, change, what):
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        for at in range(3):
            ledger.record(signal(at), step=at, episode=at)
        ledger.record_batch(REWARD, columns(0, 50), step=range(50), episode=[*range(50)])
        assert ledger.verify().ok
        read_rows(path, change)
        found = ledger.verify()
    assert {problem.kind for problem in found.problems} == {"edited"}
    assert what in str(found)


def test_a_block_that_was_edited_is_one_problem(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        ledger.record_many([Entry(signal=signal(at), step=at) for at in range(3)])
        for steps in ("'[0, 1, 5]'", "'nonsense'"):
            read_rows(path, f"UPDATE blocks SET steps = {steps}")
            assert ledger.verify().found == 1
