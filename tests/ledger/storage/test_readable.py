"""The view `readable`: what a person with only an SQL shell reads is what history gives, to the last bit."""

import json
import math
import os
import shutil
import sqlite3
import struct
import subprocess
from datetime import UTC, datetime

import pytest

from plaudit import Entry, Field, Ledger, Reward, term
from support.ledgers import REWARD, columns
from support.samples import EPISODES, SAMPLES

NUMBERS = [0.0, -0.0, 1.0, -1.5, 0.1, 1 / 3, -2 / 3, 5e-324, -5e-324, 2.2250738585072014e-308, 2.225073858507201e-308,
           1.7976931348623157e308, -1.7976931348623157e308, math.pi, 1e-7, 123456789.123456789, 2.0**53 + 2, 9007199254740993.0,
           4.35, 1e22, 1e23, 5e-310, math.inf]  # fmt: skip


@term
def half(x):
    """Half of it, or nothing where there is no end."""
    return 0.5 * x if x < 1e308 and x > -1e308 else 0.0


@term
def whole(x, on):
    """All of it, or nothing where there is no end."""
    return x if x < 1e300 and x > -1e300 and on else -0.0


ECHO = Reward("echo", version="1", terms=[half, whole], fields=[Field("x", infinite=True), Field("on", flag=True)])
MOMENTS = [datetime(2026, 2, 28, 23, 59, 59, 999_999, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC),
           datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)]  # fmt: skip


def fill(ledger):
    """Record something of everything."""
    for n, number in enumerate(NUMBERS):
        ledger.record(ECHO.score(x=number, on=n % 3 > 0), run="numbers", step=n)
    ledger.record_batch(
        ECHO,
        {"x": NUMBERS, "on": [True] * len(NUMBERS)},
        step=range(len(NUMBERS)),
        episode=[*map(str, range(len(NUMBERS)))],
    )
    ledger.record_many(
        Entry(signal=ECHO.score(x=float(n), on=True), key=f"k{n}", at=at, context={"n": [n, "é\n'\""]})
        for n, at in enumerate(MOMENTS)
    )
    for name, reward in SAMPLES.items():
        ledger.record_many(
            Entry(signal=reward.score(**row), run=name, phase="p", decision_class="d", actor="a", episode=7)
            for row in EPISODES[name]
        )
    ledger.record(ECHO.score(x=1.0, on=True), context="a\0b")
    ledger.record_batch(REWARD, columns(0, 50), run="rescored", step=range(50))
    ledger.rescore(REWARD.with_params(comfort={"harsh": 5.0}).with_version("2"), run="rescored")


def bits(value):
    return struct.pack("<d", value)


def expected(ledger):
    """Return the columns of `readable` by number, from history."""
    found = {}
    for choice in ({}, {"job": 1}):
        for record in ledger.history(**choice):
            signal = record.signal
            terms = {}
            for each in signal.terms:
                terms |= {f"{each.name}.score": each.score, f"{each.name}.value": each.value}
            inputs = dict(zip(signal.frame.inputs, signal.row, strict=True))
            labels = dict(zip(signal.frame.inputs, signal.frame.labels, strict=True))
            inputs = {name: labels[name][int(v)] if labels[name] else v for name, v in inputs.items()}
            found[record.id] = (record, signal.total, terms, inputs)
    return found


def number_of(value):
    return {"inf": math.inf, "-inf": -math.inf}.get(value, value) if isinstance(value, str) else value


def check(rows, wanted, shown=bits):
    """Compare rows of the view, as dicts, with history."""
    assert [row["id"] for row in rows] == sorted(wanted)
    for row in rows:
        record, total, terms, inputs = wanted[row["id"]]
        assert shown(float(row["total"])) == shown(total), (row["id"], row["total"], total)
        for name in ("run", "phase", "decision_class", "actor", "episode", "step", "key"):
            assert row[name] == getattr(record, name), (row["id"], name)
        assert (row["reward"], row["version"]) == (record.signal.reward, record.signal.version)
        assert bool(row["rescored"]) == (record.job is not None)
        assert row["context"] in (record.context, "a␀b" if record.context == "a\0b" else record.context)
        assert row["at"] == record.at.isoformat(timespec="microseconds").replace("+00:00", "Z"), row["id"]
        assert list(row["terms"]) == list(terms)
        for name, value in row["terms"].items():
            assert bits(float(number_of(value))) == bits(terms[name]), (row["id"], name, value, terms[name])
        assert list(row["inputs"]) == list(inputs)
        for name, value in row["inputs"].items():
            if isinstance(inputs[name], float):
                assert bits(float(number_of(value))) == bits(inputs[name]), (row["id"], name, value, inputs[name])
            else:
                assert (value, type(value)) == (inputs[name], type(inputs[name])), (row["id"], name)


def whole_number(text):
    return -0.0 if text == "-0" else int(text)


def decoded(row):
    """Return a row of SQLite's with its JSON read."""
    parsed = {name: json.loads(row[name], parse_int=whole_number) for name in ("terms", "inputs")}
    return {**row, **parsed, "context": None if row["context"] is None else json.loads(row["context"])}


def test_what_sqlite_shows_is_what_history_gives(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        fill(ledger)
        wanted = expected(ledger)
    connection = sqlite3.connect(tmp_path / "ledger.db")
    connection.row_factory = sqlite3.Row
    rows = [decoded(dict(row)) for row in connection.execute("SELECT * FROM readable ORDER BY id")]
    connection.close()
    check(rows, wanted)


def test_what_the_sqlite_shell_shows_is_what_history_gives(tmp_path):
    if shutil.which("sqlite3") is None:
        pytest.skip("the sqlite3 shell is not installed")
    with Ledger(tmp_path / "ledger.db") as ledger:
        fill(ledger)
        wanted = expected(ledger)
    # The shell shows 15 digits of a number and no -0; the JSON in the other columns has every bit.
    query = "SELECT *, printf('%!.20g', total) AS total FROM readable ORDER BY id"
    done = subprocess.run(
        ["sqlite3", "-readonly", "-json", tmp_path / "ledger.db", query], capture_output=True, text=True, check=True,
        env={**os.environ, "TZ": "Asia/Kathmandu"},
    )  # fmt: skip
    check([decoded(row) for row in json.loads(done.stdout)], wanted, shown=lambda number: number + 0.0)


def test_what_postgresql_shows_is_what_history_gives(postgres_url):
    import psycopg
    from psycopg.rows import dict_row

    with Ledger(postgres_url) as ledger:
        fill(ledger)
        wanted = expected(ledger)
    with psycopg.connect(postgres_url, row_factory=dict_row) as connection:
        connection.execute("SET timezone = 'UTC'")
        stamp = """to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
        names = (
            "id, reward, version, run, episode, step, phase, decision_class, actor, key, context::text, total, rescored"
        )
        query = f"SELECT {names}, {stamp} AS at, inputs::text, terms::text FROM readable ORDER BY id"
        rows = [decoded(row) for row in connection.execute(query)]
    check(rows, wanted)
