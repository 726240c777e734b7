"""README and docs: every block runs and shows what it prints; every public name and command is mentioned."""

import re
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

import plaudit
from plaudit.cli import main
from support import pages

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)

# Languages that run, and languages that are only read: a block in any other would escape the tests unseen.
RUN = {"console", "python", "text"}
READ = {"c", "csharp", "csv", "json", "latex", "markdown", "rust", "sh", "sql", "toml", "yaml"}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def command_names(group: click.Group, prefix: str) -> list[str]:
    """Return every command line below `group`, without its arguments."""
    found = []
    for name, command in group.commands.items():
        found.append(f"{prefix} {name}")
        if isinstance(command, click.Group):
            found += command_names(command, f"{prefix} {name}")
    return found


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_every_block_says_its_language(path):
    languages = {block.language for block in pages.blocks(path.read_text(encoding="utf-8"))}
    assert languages <= RUN | READ


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_the_page_runs_and_shows_what_it_prints(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for key, value in pages.ENVIRONMENT.items():
        monkeypatch.setenv(key, value)
    try:
        with compiling(path):
            pages.run_page(path, tmp_path)
    except plaudit.MissingExtra as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "plaudit").partition(".")[0] == "plaudit":
            raise
        pytest.skip(f"{name(path)} imports {error.name}, which is not installed")


def compiling(path: Path) -> AbstractContextManager[None]:
    """Let JAX compile a page about the game in half the time, as tests of the game do."""
    if "hackmatrix" not in path.name or find_spec("jax") is None:
        return nullcontext()
    from support.hackmatrix_model.steps import hasty_compiler

    return hasty_compiler()


def missing(words: list[str]) -> list[str]:
    """Return those of `words` that neither the README nor the docs mention."""
    return [word for word in words if not re.search(rf"\b{re.escape(word)}\b", TEXT)]


def test_every_public_name_is_in_the_docs():
    assert missing(plaudit.__all__) == []


def test_every_command_is_in_the_docs():
    assert missing(command_names(main, "plaudit")) == []


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb\n", "a  \nb\n\n", True),
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\nd\n", "a\nd\n", True),
        ("a\n…\n", "a\nb\n", True),
        ("a\n", "a\nb\n", False),
        ("a.c\n", "abc\n", False),
        ("…\nb\n", "a\nc\n", False),
    ],
)
def test_shown_output_is_compared_line_by_line(shown, printed, same):
    assert pages.matches(shown, printed) is same


def test_a_page_that_shows_something_else_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "wrong.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"wrong\.md, line 1, shows"):
        pages.run_page(page, tmp_path)
