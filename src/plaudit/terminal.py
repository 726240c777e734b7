"""What a command shows in a terminal, and how it ends: text in any encoding, tables, progress, signals, exit codes.

Rich is imported when something is drawn, so that a command which prints a line starts without it.
"""

import _thread
import codecs
import os
import signal
import sys
import textwrap
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import IntEnum
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.progress import Progress, TaskID
    from rich.table import Table
    from rich.text import Text

_SPELLINGS = dict(zip("×−–—·’█─━│", "x---.'#--|", strict=True))
_SPELLINGS |= {"…": "...", "→": "->", "²": "^2", "±": "+/-", "≤": "<=", "≥": ">="}
"""What stands for a character that an encoding lacks."""
_LONGEST_WORD = 20
"""How many characters of a word stand side by side in a table where there is room: only what is longer is broken."""
_UNLIMITED = 1_000_000
"""Characters in a line where nothing says how many there is room for: in a pipe or a file nothing is wrapped."""
_GAP = 3
"""Characters between two columns."""
_LONGEST_BAR = 16


# -- exit codes -----------------------------------------------------------------------------------------------------


class ExitCode(IntEnum):
    """Exit codes, the same as those of grep and ruff; `python scripts/command_line.py` documents them."""

    meaning: str

    def __new__(cls, number: int, meaning: str) -> Self:
        """Return the code with what it means."""
        code = int.__new__(cls, number)
        code._value_ = number
        code.meaning = meaning
        return code

    DONE = 0, "success, no findings"
    FOUND = 1, "findings, differences, or records that changed after they were written"
    FAILED = (
        2,
        "error: wrong usage, data that do not fit, a missing record or file, a damaged ledger, a server that does not "
        "answer, a full disk",
    )
    INCOMPLETE = 3, "incomplete or undecided: rows were skipped, or not everything could be proved"
    FAULT = 4, "a bug in plaudit; the output says what to report"
    INTERRUPTED = 130, "interrupted by Ctrl-C"
    BROKEN_PIPE = 141, "the reader of its output closed the pipe"
    TERMINATED = 143, "stopped by SIGTERM"


# -- text -----------------------------------------------------------------------------------------------------------


def accept_any_text() -> None:
    """Let stdout and stderr take any text, whatever their encoding; one that is closed takes it and forgets it."""
    codecs.register_error("plaudit.spelled", _spell)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # Python's way of saying that the caller closed it
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # for as long as we run
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="plaudit.spelled")


def _spell(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(_SPELLINGS.get(character, "?") for character in lacking), error.end


def escape_controls(text: str) -> str:
    r"""Return a text with its control characters made visible: what comes from a file cannot steer a terminal.

    >>> escape_controls("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    if text.replace("\n", "").isprintable():  # as nearly all are; to look at each character takes 50 times as long
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def escape_line(text: str) -> str:
    r"""Return a text in one line, its control characters made visible, those that end a line among them.

    >>> escape_line("red: \x1b[31m\n")
    'red: \\x1b[31m\\n'
    """
    return escape_controls(text).replace("\n", "\\n")


def format_value(value: float | bool | str) -> str:
    """Return a value as people write it: six digits, no trailing zeros, and no zero below zero (`z`).

    >>> format_value(0.1 + 0.2), format_value(-100.0), format_value(True), format_value(1e6), format_value(-0.0)
    ('0.3', '-100', 'true', '1e+06', '0')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:z.6g}" if isinstance(value, int | float) else escape_controls(value)


# -- tables ---------------------------------------------------------------------------------------------------------


class Screen:
    """A terminal that prints text as it is: `[x]` is no markup and `:x:` no picture."""

    def __init__(self, *, stderr: bool = False) -> None:
        """Draw on stdout, or on stderr."""
        self._console = _build_console(stderr)

    @property
    def width(self) -> int:
        """How many characters stand side by side."""
        return self._console.width

    @property
    def encoding(self) -> str:
        """The encoding of what is printed."""
        return self._console.encoding

    @property
    def is_terminal(self) -> bool:
        """Whether a person may be looking."""
        return self._console.is_terminal

    def print(self, *objects: Any, **options: Any) -> None:
        """Print text, tables and whatever else Rich draws; a line that is too long is wrapped and loses nothing."""
        from rich.table import Table

        # without a box it is a grid, which has no names of rows
        shown = [
            _fit(each, self._console) if isinstance(each, Table) and each.box is not None and each.columns else each
            for each in objects
        ]
        self._console.print(*shown, **({"crop": False} | options))

    def status(self, text: str) -> AbstractContextManager[Any]:
        """Show a text as long as something is going on; `update` of what is yielded changes it."""
        return self._console.status(text)

    @contextmanager
    def show_bars(self, *, as_bytes: bool = False) -> Iterator["Bars"]:
        """Show progress bars while something is going on; they count things, or bytes."""
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        count = DownloadColumn() if as_bytes else MofNCompleteColumn()
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), count, TimeRemainingColumn())
        hidden = not self.is_terminal
        with Progress(*columns, console=self._console, transient=True, disable=hidden) as progress:
            yield Bars(progress)


class Bars:
    """Progress bars by name."""

    def __init__(self, progress: "Progress") -> None:
        """Draw on what Rich calls a progress."""
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def update(self, name: str, done: int, total: int | None = None, *, text: str | None = None) -> None:
        """Move the bar called `name`, which is begun where there is none; `text` stands beside it, if not the name."""
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total)
        self._progress.update(self._tasks[name], completed=done, total=total, description=text)


def build_table(*headers: str, right: Sequence[str] = ()) -> "Table":
    """Return an empty table; the first column names a row, and those in `right` hold numbers.

    Names, numbers and words stay whole in a terminal of any width: other texts are wrapped. In a narrow terminal each
    row becomes a list of its cells; if not even names and numbers fit, lines are longer than the terminal is wide.
    """
    from rich.box import Box
    from rich.table import Table

    # Lines below the header and between sections. "ascii" says that no other box is needed where the encoding lacks
    # the line: it is spelled then.
    box = Box("    \n    \n ── \n    \n ── \n ── \n    \n    \n", ascii=True)
    table = Table(box=box, pad_edge=False, show_edge=False, header_style="dim", border_style="dim")
    for at, header in enumerate(headers):
        number = header in right
        justify: Literal["left", "right"] = "right" if number else "left"
        table.add_column(header, justify=justify, no_wrap=number or at == 0, overflow="fold")
    return table


def draw_bar(share: float) -> "Text":
    """Return a bar of up to 16 characters: green for a share above 0, red for one below."""
    from rich.text import Text

    return Text("█" * max(1, round(_LONGEST_BAR * abs(share))) if share else "", style="red" if share < 0 else "green")


def _fit(table: "Table", console: "Console") -> "Table | Group":
    """Return a table whose names, numbers and words are whole: narrow columns, or else a list of cells for each row."""
    from rich.measure import Measurement

    unlimited = console.options.update(max_width=_UNLIMITED)
    sizes = [
        [Measurement.get(console, unlimited, cell) for cell in (column.header, *column.cells)]
        for column in table.columns
    ]
    least = [
        max(size.maximum for size in cells)
        if column.no_wrap
        else min(_LONGEST_WORD, max(size.minimum for size in cells))
        for column, cells in zip(table.columns, sizes, strict=True)
    ]
    needed = sum(least) + _GAP * (len(least) - 1)
    if needed > console.width and not all(column.no_wrap for column in table.columns):
        whole = [width for column, width in zip(table.columns, least, strict=True) if column.no_wrap]
        if sum(whole) + _GAP * (len(whole) - 1) <= console.width:
            return _stack(table, console.width)
    table.width = needed if needed > console.width else None  # Rich would leave columns out
    whole = [max(size.maximum for size in cells) for cells in sizes]
    room = max(needed, console.width) - _GAP * (len(least) - 1)
    for column, width in zip(table.columns, _share_room(whole, least, room), strict=True):
        column.min_width = column.max_width = width
    return table


def _stack(table: "Table", width: int) -> "Group":
    """Return the rows of a table below one another: the name of a row, then its other cells with their headers."""
    from rich.console import Group
    from rich.text import Text

    lines: list[Text] = []
    for name, *cells in zip(*(column.cells for column in table.columns), strict=True):
        lines.append(Text.assemble(name))
        for column, cell in zip(table.columns[1:], cells, strict=True):
            header = f"  {column.header}: " if column.header else "  "
            for line in textwrap.wrap(
                f"{header}{cell}", width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
            ):
                if str(cell):
                    style = cell.style if isinstance(cell, Text) else ""
                    lines.append(Text.assemble((line[: len(header)], "dim"), (line[len(header) :], style)))
                    header = ""
    for each in lines:
        each.no_wrap, each.overflow = True, "ignore"
    return Group(*lines)


def _share_room(whole: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return how wide columns are: none wider than it is whole or narrower than its least, and the widest alike.

    >>> _share_room([4, 30, 9], [4, 6, 5], room=20)
    [4, 8, 8]
    """
    most = min(room, max(whole))
    at = bisect_right(range(most + 1), room, key=lambda top: sum(_limit(whole, least, top)))
    return _limit(whole, least, max(at - 1, 0))


def _limit(whole: Sequence[int], least: Sequence[int], top: int) -> list[int]:
    return [min(full, max(low, top)) for full, low in zip(whole, least, strict=True)]


def _build_console(stderr: bool) -> "Console":
    from rich.console import Console

    class QuietConsole(Console):
        def on_broken_pipe(self) -> NoReturn:
            """Leave a reader that has gone to the caller, as with any other output."""
            raise BrokenPipeError

    known = (sys.stderr if stderr else sys.stdout).isatty() or os.environ.get("COLUMNS", "").isdigit()
    width = None if known else _UNLIMITED
    return QuietConsole(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


# -- progress on stderr ---------------------------------------------------------------------------------------------


@contextmanager
def show_progress(
    doing: str, *, screen: Screen | None = None, as_bytes: bool = False
) -> Iterator[Callable[[int, int | None], None] | None]:
    """Yield what moves a bar: how much is done, of how much. None if stderr is not a terminal, to save the counting.

    Who prints meanwhile gives the `screen` of stderr that they print on, and the bar stays below.
    """
    if not _is_watched():
        yield None
        return
    with (screen or Screen(stderr=True)).show_bars(as_bytes=as_bytes) as bars:
        yield lambda done, total: bars.update(doing, done, total)


@contextmanager
def show_stages() -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield what moves the bar of a stage by its name; None if stderr is not a terminal."""
    if not _is_watched():
        yield None
        return
    with Screen(stderr=True).show_bars() as bars:
        yield bars.update


@contextmanager
def show_status(text: str) -> Iterator[Callable[[str], None]]:
    """Show a text while something goes on, where there is no telling how far it is; what is yielded changes it."""
    if not _is_watched():
        yield lambda text: None
        return
    with Screen(stderr=True).status(text) as status:
        yield lambda text: status.update(text)


def _is_watched() -> bool:
    return sys.stderr.isatty()


# -- signals --------------------------------------------------------------------------------------------------------


class Terminated(BaseException):
    """The command was asked to end. It is no Exception, so that nothing on the way takes it for a failure."""


def _log_errors_of_pools(wanted: bool) -> None:
    """Let SQLAlchemy print what strikes while a connection goes back to its pool: a signal is no error of its own."""
    if (logging := sys.modules.get("logging")) is not None:
        logging.getLogger("sqlalchemy.pool").setLevel(logging.NOTSET if wanted else logging.CRITICAL)


@contextmanager
def install_handlers(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call `handle` at SIGTERM and at Ctrl-C, as every command does; a Ctrl-C that is ignored stays so.

    A shell starts `command &` in a script with SIGINT ignored: a Ctrl-C in that terminal is for somebody else. Only the
    main thread can install handlers; in another one this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ctrl_c = signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None)  # None: not Python's, it cannot be put back
    wanted = [signal.SIGTERM, signal.SIGINT] if ctrl_c else [signal.SIGTERM]
    before = {number: signal.signal(number, handle) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def handle_signals() -> Iterator[None]:
    """Let SIGTERM end a command like Ctrl-C does: with nothing left behind.

    An exception that a signal raises within a callback of the garbage collector goes nowhere; so the signal comes once
    more, a moment later.
    """
    stopped: dict[type[BaseException], signal.Signals] = {}
    hook = sys.unraisablehook

    def leave(number: int, frame: object) -> NoReturn:
        error = Terminated if number == signal.SIGTERM else KeyboardInterrupt
        stopped[error] = signal.Signals(number)
        _log_errors_of_pools(False)
        raise error

    def report(lost: "sys.UnraisableHookArgs") -> None:
        if lost.exc_type in stopped:
            _thread.start_new_thread(repeat, (stopped[lost.exc_type],))  # no lock: the interrupted code may hold it
        else:
            hook(lost)

    def repeat(number: signal.Signals) -> None:
        time.sleep(0.01)
        if signal.getsignal(number) is not leave:
            return  # the command has ended
        if os.name == "posix":
            os.kill(os.getpid(), number)  # also wakes what waits
        else:
            _thread.interrupt_main(number)

    with install_handlers(leave):
        sys.unraisablehook = report
        try:
            yield
        except Exception as failure:
            if getattr(failure, "exit_code", None) in (ExitCode.INTERRUPTED, ExitCode.TERMINATED):
                raise  # the command has said what it leaves behind
            for error in stopped:  # what goes wrong after a signal is its doing
                raise error from None
            raise
        finally:
            sys.unraisablehook = hook
            if stopped:
                _log_errors_of_pools(True)


def format_count(count: int, noun: str) -> str:
    """Return how many there are of something.

    >>> format_count(1, "row"), format_count(1200, "bad row")
    ('1 row', '1,200 bad rows')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_table(rows: Sequence[tuple[str, ...]], *, total: tuple[str, ...] | None = None) -> str:
    """Return rows as columns, the first row above a line and a total below one; names stand left, numbers right.

    >>> print(format_table([("reward", "records"), ("maze", "12")]))
    reward  records
    ──────  ───────
    maze         12
    """
    every = [*rows, total] if total else [*rows]
    widths = [max(len(row[at]) for row in every) for at in range(len(rows[0]))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in every
    ]
    rule = "  ".join("─" * width for width in widths)
    body = [*lines[1:-1], rule, lines[-1]] if total else lines[1:]
    return "\n".join([lines[0], rule, *body])
