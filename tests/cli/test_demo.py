"""`plaudit demo`: the tour, on any terminal."""

import os
import sys
from functools import cache

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, check, term
from plaudit.analysis import audit
from plaudit.cli.demo import build_columns, record_runs
from plaudit.systems import BUILT_IN
from support.command_line import built_in
from support.forking import PythonProcess, run_python

FEW_RULES = "import plaudit.cli.demo as tour; tour.GRAVE = tour.GRAVE[:1]\nfrom plaudit.cli import main; main()"
"""A tour that asks one rule of each reward: all of them take a second."""


@pytest.fixture
def checked(monkeypatch):
    """Check each reward once for all tests of this file: what the tour says of it is the same each time."""
    monkeypatch.setattr("plaudit.cli.demo.check", check_once)


@cache
def check_once(reward, only):
    return check(reward, only=only)


@pytest.mark.usefixtures("checked")
def test_the_tour_shows_the_rewards_their_terms_a_rate_and_what_to_try_next(plaudit):
    result = plaudit("demo", "--rows", "2000")
    assert result.exit_code == 0
    for name in BUILT_IN:
        assert f"{name}@{built_in(name).version}" in result.stdout
        assert all(each.name in result.stdout for each in built_in(name).terms)
    assert "2,000 synthetic transitions" in result.stdout
    assert "per second" in result.stdout
    assert "What to try next" in result.stdout
    assert "plaudit score roadsense" in result.stdout
    assert "2.75" in result.stdout  # what the episode of apex earns
    assert "\x1b" not in result.stdout


@pytest.mark.usefixtures("checked")
def test_the_tour_remembers_an_episode_and_leaves_nothing_behind(plaudit, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shown = plaudit("demo", "--rows", "1").stdout
    assert "where: run='tour', episode='1', step=10" in shown
    assert "from distance=4, deceleration=4.5, action=3" in shown
    assert "12 records in 12 blocks of 1 writer; 12 compared bit for bit. No problems found." in " ".join(shown.split())
    assert list(tmp_path.iterdir()) == []


def test_the_tour_ends_with_a_report_and_says_where_it_lies(plaudit, tmp_path, monkeypatch):
    monkeypatch.setattr("plaudit.cli.demo.show_tour", lambda screen, rows: None)
    monkeypatch.setattr("plaudit.cli.demo.EPISODES", 2)
    monkeypatch.setattr("plaudit.page.report.MOST_SINGLE", 0)  # explaining steps takes the longest
    report = tmp_path / "tour.html"
    shown = plaudit("demo", "-o", str(report)).stdout
    assert f"Report written to {report}" in " ".join(shown.split())
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_what_the_report_shows_keeps_what_the_reward_declares(tmp_path):
    with Ledger(tmp_path / "tour.db") as ledger:
        record_runs(ledger)
        for run in ("tour", "made-up driver"):
            assert audit(ledger, built_in("roadsense"), run=run).at_least("warning") == ()


def test_a_million_transitions_are_the_default(plaudit, monkeypatch):
    asked = []
    monkeypatch.setattr("plaudit.cli.demo.show_tour", lambda screen, rows: asked.append(rows))
    assert plaudit("demo").exit_code == 0
    assert asked == [1_000_000]


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("rows", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_many_transitions_are_scored_in_parts(plaudit, monkeypatch, rows):
    monkeypatch.setattr("plaudit.cli.demo.CHUNK", 40_000)
    shown = plaudit("demo", "--rows", str(rows)).stdout
    assert f"{rows:,} synthetic transitions each" in shown
    assert "million" in shown


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("width", ["10", "30", "64", "200"])
def test_any_width_will_do(plaudit, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    assert plaudit("demo", "--rows", "1").exit_code == 0


@pytest.mark.parametrize(
    "encoding", ["ascii", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cp1252", "utf-8"))]
)
def test_any_encoding_will_do(tmp_path, encoding):
    environment = os.environ | {"PYTHONIOENCODING": encoding, "NO_COLOR": "1"}
    command = [sys.executable, "-c", FEW_RULES, "demo", "--rows", "1000"]
    done = run_python(command, cwd=tmp_path, env=environment, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"hackmatrix" in done.stdout
    assert b"\x1b" not in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")
@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_without_colours_gets_none(tmp_path, no_color):
    import pty
    from contextlib import suppress

    master, slave = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {"TERM": "xterm-256color", **({"NO_COLOR": no_color} if no_color else {})}
    command = [sys.executable, "-c", FEW_RULES, "demo", "--rows", "2000"]
    running = PythonProcess(command, cwd=tmp_path, env=environment, stdout=slave)
    os.close(slave)
    printed = b""
    with suppress(OSError):
        while piece := os.read(master, 65_536):
            printed += piece
    os.close(master)
    assert running.wait() == 0
    assert (b"\x1b[32m" in printed) == (not no_color)


@pytest.mark.parametrize("name", BUILT_IN)
def test_made_up_transitions_are_within_what_the_fields_allow(name):
    reward = built_in(name)
    batch = build_columns(reward, 500, np.random.default_rng(1))
    assert tuple(batch) == reward.inputs
    assert reward.compile("numpy")(batch).ok.all()


def test_made_up_transitions_of_any_field():
    @term
    def all_of_them(a, b, c, d, e):
        return a + b + c + (1 if d == "x" else 0) + sum(v for v in e)

    fields = [
        Field("a"),
        Field("b", high=-500),
        Field("c", low=1000, infinite=True),
        Field("d", values=("x", "y")),
        Field("e", length=3, low=0, high=0),
    ]
    reward = Reward("all", version="1", terms=[all_of_them], fields=fields)
    assert reward.compile("numpy")(build_columns(reward, 100, np.random.default_rng(1))).ok.all()
