"""Moments: kept in UTC to the microsecond, whatever the zone and whatever the clock does."""

import itertools
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from plaudit import Entry, Ledger
from plaudit.errors import InputError, WrongType
from support.ledgers import REWARD, columns, signal, verified

NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def test_a_clock_that_goes_backwards_changes_no_order(where):
    ticks = itertools.cycle([NOON, NOON - timedelta(days=400), NOON + timedelta(days=400), NOON - MICROSECOND])
    with Ledger(where, clock=lambda: next(ticks)) as ledger:
        for step in range(20):
            ledger.record(signal(step), step=step, run="run")
        ledger.record_many(Entry(signal=signal(step), step=step, run="run") for step in range(20, 40))
        found = list(ledger.history())
        assert [record.step for record in found] == list(range(40))
        seqs = [record.seq for record in found]
        assert seqs == sorted(seqs)
        assert seqs[:20] == list(range(1, 21))
        assert {record.at for record in found} <= {
            NOON,
            NOON - timedelta(days=400),
            NOON + timedelta(days=400),
            NOON - MICROSECOND,
        }
        before = [record.step for record in ledger.history(until=NOON)]
        after = [record.step for record in ledger.history(since=NOON)]
        assert sorted(before + after) == list(range(40))
        verified(ledger)


def test_zones_are_one_time_line(where):
    zones = [UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=12, minutes=30)), ZoneInfo("Europe/Zurich")]
    zones.append(timezone(timedelta(hours=5, minutes=53, seconds=28, microseconds=7)))
    with Ledger(where) as ledger:
        for step, zone in enumerate(zones):
            ledger.record(signal(step), step=step, at=NOON.astimezone(zone))
        assert {record.at for record in ledger.history()} == {NOON}
        assert all(record.at.tzinfo is UTC for record in ledger.history())
        for zone in zones:
            assert ledger.history(since=NOON.astimezone(zone)).count() == len(zones)
            assert ledger.history(until=NOON.astimezone(zone)).count() == 0
            assert ledger.history(since=(NOON + MICROSECOND).astimezone(zone)).count() == 0
        verified(ledger)


def test_an_hour_that_comes_twice_is_two_hours(where):
    zurich = ZoneInfo("Europe/Zurich")
    first = datetime(2026, 10, 25, 2, 30, tzinfo=zurich, fold=0)
    second = datetime(2026, 10, 25, 2, 30, tzinfo=zurich, fold=1)
    with Ledger(where) as ledger:
        ledger.record(signal(0), step=0, at=first)
        ledger.record(signal(1), step=1, at=second)
        one, two = (record.at for record in ledger.history())
        assert two - one == timedelta(hours=1)
        assert [record.step for record in ledger.history(since=second)] == [1]


def test_a_time_without_a_zone_is_local(where):
    naive = datetime(2026, 7, 1, 12, 30)
    with Ledger(where, clock=lambda: naive) as ledger:
        ledger.record(signal())
        ledger.record(signal(), at=naive)
        assert {record.at for record in ledger.history()} == {naive.astimezone(UTC)}
        assert ledger.history(since=naive).count() == 2
        assert ledger.history(until=naive).count() == 0


def test_since_is_inclusive_and_until_is_not(where):
    moments = [NOON + n * MICROSECOND for n in (0, 1, 5, 1000)]
    with Ledger(where) as ledger:
        ledger.record_batch(REWARD, columns(0, 4), step=range(4), at=moments)
        ledger.record_many(Entry(signal=signal(n), step=n, at=at) for n, at in enumerate(moments))
        for since, until in itertools.product([None, *moments, NOON + 3 * MICROSECOND], repeat=2):
            wanted = [
                n for n, at in enumerate(moments) if (since is None or at >= since) and (until is None or at < until)
            ]
            chosen = ledger.history(since=since, until=until)
            assert [record.step for record in chosen] == wanted * 2
            assert chosen.count() == 2 * len(wanted)


FAR = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC) + MICROSECOND,
    datetime(1582, 10, 10, 1, 2, 3, 4, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC),
    datetime(2262, 4, 12, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]


def test_far_moments_come_back_to_the_microsecond(where):
    with Ledger(where) as ledger:
        for step, at in enumerate(FAR):
            ledger.record(signal(step), step=step, at=at)
        ledger.record_batch(REWARD, columns(0, len(FAR)), step=range(len(FAR)), at=FAR)
        assert [record.at for record in ledger.history()] == FAR * 2
        assert [record.step for record in ledger.history(since=FAR[3], until=FAR[5])] == [3, 4] * 2
        assert ledger.stats().first == FAR[0]
        assert ledger.stats().last == FAR[-1]
        verified(ledger)


def test_moments_that_are_none_in_utc_are_refused(where):
    wrong = [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=3))),
    ]
    with Ledger(where) as ledger:
        for at in wrong:
            with pytest.raises(InputError, match="outside the range"):
                ledger.record(signal(), at=at)
            with pytest.raises(InputError, match="outside the range"):
                ledger.record_batch(REWARD, columns(0, 2), at=[NOON, at])
        for at in (0, 1.5, "2026-01-01", NOON.date(), np.datetime64("2026-01-01")):
            with pytest.raises(WrongType):
                ledger.record(signal(), at=at)
        assert ledger.history().count() == 0


def test_a_clock_that_fails_records_nothing(where):
    def broken():
        raise RuntimeError("no time")

    with Ledger(where, clock=broken) as ledger:
        with pytest.raises(RuntimeError, match="no time"):
            ledger.record(signal())
        with pytest.raises(RuntimeError, match="no time"):
            ledger.record(signal(), at=NOON)  # a writer's own beginning needs the clock too
        assert ledger.history().count() == 0
