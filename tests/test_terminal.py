"""What a command shows in a terminal: tables whose names and numbers stay whole, progress if watched; and signals."""

import gc
import io
import logging
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.analysis import attribute, diff
from plaudit.terminal import Screen, Terminated, build_table, draw_bar, handle_signals, show_progress, show_status

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


@pytest.fixture
def printed(monkeypatch):
    """Print to a terminal of so many columns, and return the lines."""

    def run(*objects, width: int = 80) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr("sys.stdout", io.StringIO())
        Screen().print(*objects)
        return sys.stdout.getvalue().splitlines()

    return run


@pytest.mark.parametrize("width", [12, 40, 80])
def test_numbers_stay_whole_however_narrow_the_terminal(printed, width):
    table = build_table("name", "number", "what it is", right=["number"])
    table.add_row("first", "-123456.789", "a text that gives way where there is no room for it")
    shown = printed(table, width=width)
    assert any("-123456.789" in line for line in shown)


@pytest.mark.parametrize("others", [(), ("what it is",)], ids=["no other text", "another text"])
@pytest.mark.parametrize("width", [12, 40, 80])
def test_the_name_of_a_row_stays_whole_however_narrow_the_terminal(printed, width, others):
    numbers = [f"number {at}" for at in range(12)]
    table = build_table("the name of it", *others, *numbers, right=numbers)
    table.add_row("a rather long name", *("a text that gives way" for _ in others), *("-1234.5" for _ in numbers))
    shown = printed(table, width=width)
    assert any(line.startswith("the name of it ") for line in shown)  # other headings may take several lines
    assert any(line.startswith("a rather long name ") for line in shown)
    assert any(line.count("-1234.5") == 12 for line in shown)


def test_texts_are_broken_between_words_alone(printed):
    table = build_table("name", "kind", "what it is")
    table.add_row("first", "potential_based", "a text that gives way where there is no room for it")
    shown = printed(table, width=35)
    assert any("potential_based" in line for line in shown)
    assert max(map(len, shown)) <= 35
    assert max(map(len, printed(table, width=12))) < 30  # there is no room for whole words


def test_a_row_becomes_a_list_where_the_terminal_is_too_narrow_for_its_words(printed):
    table = build_table("name", "range", "description")
    table.add_row("first", "", "an uninterruptible demonstration of hyphenated-compounds")
    table.add_row("second", "0 … 5", "short")
    assert printed(table, width=30) == [
        "first",
        "  description: an",
        "    uninterruptible",
        "    demonstration of",
        "    hyphenated-compounds",
        "second",
        "  range: 0 … 5",
        "  description: short",
    ]


PIPED = """
from plaudit.terminal import Screen, build_table
table = build_table("name", "what it is")
table.add_row("first", "a text " * 40)
Screen().print(table)
Screen().print("a sentence " * 40)
"""


@pytest.mark.parametrize(("columns", "lines"), [(None, 4), ("", 4), ("80", 12)])
def test_nothing_is_wrapped_in_a_pipe_unless_asked_for(columns, lines):
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"COLUMNS": columns} if columns is not None else {}
    done = subprocess.run(
        [sys.executable, "-c", PIPED], env=environment, capture_output=True, encoding="utf-8", check=True
    )
    assert len(done.stdout.splitlines()) == lines


def test_a_table_can_be_printed_twice(printed):
    table = build_table("name", "number", right=["number"])
    table.add_row("first", "1")
    assert printed(table) == printed(table)


def test_a_table_without_columns_prints_nothing(printed):
    assert "".join(printed(build_table())).strip() == ""


def test_text_is_printed_as_it_is(printed):
    assert printed("[bold]x[/bold] :smile:") == ["[bold]x[/bold] :smile:"]


def test_a_bar_says_how_much_and_which_way():
    assert [len(draw_bar(share)) for share in (1.0, -0.5, 1e-9, 0.0)] == [16, 8, 1, 0]
    assert [draw_bar(share).style for share in (1.0, -1.0)] == ["green", "red"]


def test_progress_is_shown_only_where_somebody_looks(monkeypatch, capsys):
    with show_progress("counting") as progress, show_status("waiting") as update:
        update("still waiting")
        assert progress is None
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("plaudit.terminal._is_watched", lambda: True)
    with show_progress("[counting]") as progress:
        progress(3, 10)
    assert "[counting]" in capsys.readouterr().err


def test_rich_is_imported_when_something_is_drawn():
    script = "import sys, plaudit.terminal; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "rich" not in done.stdout.split()


@term(weight=-1.0)
def cost(x):
    return x


@term(weight=-1e-9)
def trifle(x):
    return x


@term
def gain(x):
    return 1 + x


def test_no_table_shows_a_zero_below_zero(tmp_path):
    """Neither a negative zero nor a share that rounds to zero."""
    free = Reward("free", version="1", terms=[cost], fields=[Field("x")])
    cheap = Reward("cheap", version="1", terms=[gain, trifle], fields=[Field("x")])
    with Ledger(tmp_path / "rewards.db") as ledger:
        for episode in range(4):
            ledger.record(free.score(x=0.0), run="r", episode=episode, step=1)
            ledger.record(cheap.score(x=episode / 2), run="s", episode=episode, step=1)
        shown = {
            "signal": f"{free.score(x=0.0)!r} {free.score(x=0.0).explain()}",
            "stats": str(ledger.stats()),
            "episodes": ledger.episodes()._repr_html_(),
            "attribution": f"{attribute(ledger.episodes(run='r'))} {attribute(ledger.episodes(run='s'), bins=2)}",
            "effect": str(diff(free, free.with_params({"cost.weight": -2.0}), ledger=ledger, run="r")),
        }
    assert "0.0%" in shown["attribution"]
    for name, text in shown.items():
        assert re.search(r"-0(?:\.0*)?(?![.\de-])", text.replace(str(tmp_path), "")) is None, (name, text)


# -- signals ----------------------------------------------------------------------------------------------------------


@posix
def test_a_pool_of_connections_prints_nothing_of_a_signal():
    pool = logging.getLogger("sqlalchemy.pool.impl.QueuePool")
    with pytest.raises(Terminated), handle_signals():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            assert not pool.isEnabledFor(logging.ERROR)
    assert pool.isEnabledFor(logging.ERROR)


@posix
@pytest.mark.usefixtures("heed_ctrl_c")
@pytest.mark.parametrize(("number", "error"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
def test_a_signal_that_got_lost_comes_again(number, error):
    def lose(phase, details):
        gc.callbacks.remove(lose)
        signal.raise_signal(number)

    gc.callbacks.append(lose)
    with pytest.raises(error), handle_signals():
        gc.collect()
        until = time.monotonic() + 300
        while time.monotonic() < until:
            time.sleep(0.01)  # one long sleep would sleep through a signal that comes right before it
        raise AssertionError("it got lost")


@posix
@pytest.mark.usefixtures("heed_ctrl_c")
@pytest.mark.parametrize(("number", "error"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
def test_what_goes_wrong_after_a_signal_is_its_doing(number, error):
    with pytest.raises(error), handle_signals():
        with suppress(error):
            signal.raise_signal(number)
        raise ValueError("a consequence")


@posix
def test_a_ctrl_c_that_is_ignored_stays_ignored_and_what_was_there_comes_back(heed_ctrl_c):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated), handle_signals():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == (signal.SIG_IGN, before)
