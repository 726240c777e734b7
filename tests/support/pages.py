"""Documentation that runs: a Markdown page, its fenced blocks in order, compared with what it shows.

- The `python` blocks of a page are one script. Its lines stand where they stand on the page, so a traceback
  names the page's own lines and `inspect.getsource` finds every function.
- A `text` block right after a `python` block is what that block prints.
- In a `console` block every `$ plaudit …` line runs, and the lines below it, if any, are what it prints. It
  ends with exit code 0 unless `$ echo $?` below it shows another. Other commands are only read.
- A block whose fence names a file (```` ```json rows.jsonl ````) is saved under that name.
- A line of just `…` stands for any number of lines; trailing white space is ignored.
"""

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path
from types import ModuleType

from click.testing import CliRunner

from plaudit.cli import main
from plaudit.targets import registry
from support.commands import QUICK_JAX, run_command

ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1", "TERM": "dumb"}
HERE = ("play",)
"""Commands that run in this process: what other tests have traced here, JAX would trace for ten seconds in another."""
TRAINING = re.compile(r"^STEPS = [0-9_]+$", re.MULTILINE)
FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>[\w-]*)[ ]*(?P<file>[^`\n]*)$")


@dataclass(frozen=True)
class Block:
    """One fenced block: `first` is the line it opens in; `adjoins` says that no prose comes before it."""

    language: str
    file: str
    text: str
    first: int
    adjoins: bool


def blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order."""
    lines = page.splitlines()
    opening, first, adjoins = None, 0, False
    for number, line in enumerate(lines, start=1):
        if opening is not None:
            if line.rstrip() == opening["fence"]:
                text = "".join(f"{line}\n" for line in lines[first : number - 1])
                yield Block(opening["language"], opening["file"].strip(), text, first, adjoins)
                opening, adjoins = None, True
        elif match := FENCE.match(line):
            opening, first = match, number
        else:
            assert not line.lstrip().startswith("```"), f"line {number}: an indented block does not run"
            adjoins = adjoins and not line.strip()
    assert opening is None, f"line {first}: the block is never closed"


def matches(shown: str, printed: str) -> bool:
    """Say whether what the page shows is what was printed."""
    lines = (line.rstrip() for line in shown.strip("\n").split("\n"))
    pattern = "".join(r"(?:.*\n)*" if line == "…" else re.escape(line) + r"\n" for line in lines)
    text = "".join(line.rstrip() + "\n" for line in printed.strip("\n").split("\n"))
    return re.fullmatch(pattern, text) is not None


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Yield each command of a `console` block with the output shown below it."""
    joined = block.text.replace("\\\n", " ")
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def compare(shown: str, printed: str, where: str) -> None:
    """Fail with both texts unless the page shows what was printed."""
    assert matches(shown, printed), f"{where} shows\n\n{shown}\nbut this was printed:\n\n{printed}"


def run_page(path: Path, folder: Path, *, whole: bool = False) -> None:
    """Run every block of the page at `path` in `folder`, which is the current one; training is cut short unless `whole`."""
    text = path.read_text(encoding="utf-8")
    page = list(blocks(text if whole else TRAINING.sub("STEPS = 2_000", text)))
    script = _script(path, page, folder)
    sys.modules[script.__name__] = script  # dataclasses and inspect look there
    sys.path.insert(0, str(folder))  # as for any script
    registry.list_registered.cache_clear()
    try:
        for block, following in zip_longest(page, page[1:]):
            where = f"{path.name}, line {block.first},"
            if block.file:
                Path(folder, block.file).write_text(block.text, encoding="utf-8")
            if block.language == "python":
                printed = _run_python(block, script)
                if following and following.language == "text" and following.adjoins:
                    compare(following.text, printed, where)
            elif block.language == "console":
                _run_console(block, folder, where)
    finally:
        del sys.modules[script.__name__]
        _forget_modules(page, folder)
        sys.path.remove(str(folder))
        registry.list_registered.cache_clear()


def _forget_modules(page: list[Block], folder: Path) -> None:
    """Forget what was imported from files of the page: another page may have files of the same names."""
    for block in page:
        found = sys.modules.get(Path(block.file).stem)
        if found is not None and Path(getattr(found, "__file__", None) or ".").parent == folder:
            del sys.modules[found.__name__]


def _script(path: Path, page: list[Block], folder: Path) -> ModuleType:
    """Return an empty module whose file holds the page's Python, every line where it stands on the page."""
    lines: list[str] = []
    for block in page:
        if block.language == "python":
            lines += [""] * (block.first - len(lines)) + block.text.splitlines()
    module = ModuleType("page_" + re.sub(r"\W", "_", path.stem))
    module.__file__ = str(folder / f"{module.__name__}.py")
    Path(module.__file__).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return module


def _run_python(block: Block, script: ModuleType) -> str:
    """Run one block in the page's namespace and return what it printed."""
    code = compile("\n" * block.first + block.text, str(script.__file__), "exec", dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, vars(script))
    return printed.getvalue()


def _run_console(block: Block, folder: Path, where: str) -> None:
    """Run the `plaudit` commands of one block and compare what they print."""
    code = 0
    for (command, shown), (following, _) in pairwise([*commands(block), ("", "")]):
        if command == "echo $?":
            compare(shown, str(code), where)
        elif command.split()[0] == "plaudit":
            code, printed = _run_command(command, folder)
            if shown.strip():
                compare(shown, printed, where)
            assert code == 0 or following == "echo $?", f"{where} {command!r} ended with {code}:\n{printed}"


def _run_command(command: str, folder: Path) -> tuple[int, str]:
    """Run one command line, which may end in `> file`, and return its exit code and what it printed."""
    _, *arguments = shlex.split(command, comments=True)
    if arguments[0] in HERE:
        done = CliRunner().invoke(main, arguments, prog_name="plaudit", catch_exceptions=False)
        return done.exit_code, done.output
    target = None
    if len(arguments) > 1 and arguments[-2] == ">":
        *arguments, _, target = arguments
    code, printed, errors = run_command(
        arguments, folder=folder, environment=ENVIRONMENT | QUICK_JAX, apart=target is not None
    )
    if target is None:
        return code, printed
    Path(folder, target).write_text(printed, encoding="utf-8")
    return code, errors
