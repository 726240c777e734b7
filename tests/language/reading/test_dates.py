"""Dates that are known when a term is read are constants; what depends on the row is compared by its parts."""

import datetime
import re

import pytest

from plaudit import Field, PlauditError, Reward, term
from support.strategies import load

HEADER = """
import datetime as dt
from datetime import date, datetime, time, timedelta
START = datetime(2020, 5, 17, 13, 30)
END = date(2021, 2, 3)
"""
PANDAS = HEADER + "import pandas as pd\nSTAMP = pd.Timestamp('2022-07-01 08:00')\n"
FIELDS = {name: Field(name) for name in ("x", "year", "month", "day", "now")}


def read(text, header=HEADER, **shared):
    """Return the plain function of an expression, and its reward."""
    names = [name for name in FIELDS if re.search(rf"(?<![\w.]){name}\b(?!=)", text)]
    function = load(f"{header}def f({', '.join([*names, *shared])}): return {text}\n")["f"]
    fields = [FIELDS[name] for name in names]
    return function, Reward("r", version="1", terms=[term(function)], fields=fields, shared=shared)


MEANT = [
    "x if START < datetime(2020, 6, 1) else -x",
    "x * START.month + START.hour + START.weekday() + dt.date(2021, 3, 4).isoweekday()",
    "x if date(2020, 1, 1) <= END < date(year=2022, month=1, day=1) else 0",
    "x if START.date() == date(2020, 5, 17) and time(8, 30) < START.time() else 0",
    "x * timedelta(days=2, hours=1).total_seconds() + START.replace(day=3).toordinal()",
    "x * datetime.fromisoformat('2020-01-02').day + datetime.strptime('2020-02-03', '%Y-%m-%d').month",
    "x if END in (date(2020, 1, 2), date(2021, 2, 3)) else -x",
]


@pytest.mark.parametrize("text", MEANT)
def test_dates_of_constants_are_constants(text):
    function, reward = read(text)
    assert reward.score(x=1.5).total == function(1.5)


def test_timestamps_of_constants_are_constants():
    pytest.importorskip("pandas")
    text = "x * (pd.Timestamp('2020-03-01', tz=None) < STAMP) + pd.Timestamp(2020, 3, 4).day + STAMP.weekday()"
    function, reward = read(text, PANDAS)
    assert reward.score(x=1.5).total == function(1.5)


def test_the_parts_of_dates_are_compared_as_tuples():
    function, reward = read("1.0 if (year, month, day) < (START.year, START.month, START.day) else 0.0")
    for row in [(2020, 5, 16), (2020, 5, 17), (2020, 5, 18), (2019, 12, 31), (2021, 1, 1), (2020, 4, 30)]:
        assert reward.score(**dict(zip(("year", "month", "day"), row, strict=True))).total == function(*row)


def test_a_shared_date_is_a_constant():
    function, reward = read("x if since < datetime(2020, 6, 1) else -x", since=datetime.datetime(2020, 1, 1))
    assert reward.score(x=2.0).total == function(2.0, datetime.datetime(2020, 1, 1)) == 2.0


REFUSED = {
    "today": ("x * (date.today() > END)", "`date.today`", "pass the time in as a field"),
    "now": ("x * (datetime.now() > START)", "`datetime.now`", "pass the time in as a field"),
    "a time zone of the machine": ("x * START.timestamp()", "`START.timestamp`", "pass the time in as a field"),
    "no date": ("x * (datetime(2020, 13, 1) > START)", "this is no date: month must be in 1..12", "the month"),
    "a date of fields": ("1.0 * (datetime(int(year), int(month), int(day)) < START)", "a date", "month * 100 + day"),
    "parts of the row": ("1.0 * (END <= date(2020, int(month), day=1))", "depends on the row", "(month, day)"),
    "a field and a date": ("1.0 * (now < START)", "a date cannot be compared with what depends", "(month, day) < (6"),
    "a date and a time": ("x * (START < END)", "have no order", ""),
}


@pytest.mark.parametrize(("text", "what", "advice"), REFUSED.values(), ids=REFUSED)
def test_a_date_that_depends_on_something_is_refused(text, what, advice):
    with pytest.raises(PlauditError) as caught:
        read(text)
    assert what in str(caught.value)
    assert advice in str(caught.value)


@pytest.mark.parametrize("text", ["pd.Timestamp('today')", "pd.Timestamp('12:30')"])
def test_a_timestamp_of_today_is_refused(text):
    pytest.importorskip("pandas")
    with pytest.raises(PlauditError, match="may be another date tomorrow"):
        read(f"x * ({text} > STAMP)", PANDAS)
