"""README and docs: every block runs and shows what it prints; every public name and command is mentioned."""

import re
import runpy
import shlex
from contextlib import nullcontext
from pathlib import Path

import click
import pytest

import plaudit
from plaudit.cli import main
from plaudit.cli.demo import NEXT
from support import pages, training

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)

# Languages that run, and languages that are only read: a block in any other would escape the tests unseen.
RUN = {"console", "python", "text"}
READ = {"c", "csharp", "csv", "js", "json", "latex", "markdown", "rust", "sh", "sql", "toml", "yaml"}

SLOW = (
    "docs/how-to/export-from-pytorch.md",
    "docs/systems/deepthinker.md",
    "docs/systems/hackmatrix-game.md",
    "docs/systems/roadsense-experiment.md",
)
"""Half of the time of all pages; what their commands and functions do, tests of their own see."""


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


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=pytest.mark.slow) if name(path) in SLOW else path for path in PAGES], ids=name
)
def test_the_page_runs_and_shows_what_it_prints(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for key, value in pages.ENVIRONMENT.items():
        monkeypatch.setenv(key, value)
    replayed = training.replayed() if path == training.PAGE else nullcontext()
    try:
        with replayed:
            pages.run_page(path, tmp_path)
    except plaudit.MissingExtra as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "plaudit").partition(".")[0] == "plaudit":
            raise
        pytest.skip(f"{name(path)} imports {error.name}, which is not installed")


@pytest.mark.slow
def test_the_tutorial_trains_the_agents_that_it_describes(tmp_path, monkeypatch):
    pytest.importorskip("stable_baselines3")
    monkeypatch.chdir(tmp_path)
    pages.run_page(ROOT / "docs" / "tutorial" / "train.md", tmp_path, whole=True)
    driven, paid = {}, {}
    with plaudit.Ledger("training.db") as ledger:
        for run in ("version 1", "version 2"):
            steps = [record.signal for record in ledger.history(run=run)]
            driven[run] = sum(abs(step.inputs["prev.gap"] - step.inputs["curr.gap"]) for step in steps)
            paid[run] = sum(step["closer"].value for step in steps)
    assert driven["version 1"] > driven["version 2"]
    assert paid["version 1"] / 10 > 60 > paid["version 2"] / 10  # going to the flag once is worth 50


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ("rng.random() < 0.7", "rng.random() < 0.6"),
        ("learning_rate=3e-4", "learning_rate=1e-3"),
        ("@term(weight=0.5)", "@term(weight=0.4)"),
    ],
    ids=["examples", "settings", "reward"],
)
def test_a_tutorial_that_would_train_otherwise_is_no_longer_the_recorded_one(tmp_path, monkeypatch, given, changed):
    monkeypatch.chdir(tmp_path)
    text = training.PAGE.read_text(encoding="utf-8")
    assert given in text
    page = tmp_path / training.PAGE.name
    page.write_text(
        text.replace(given, changed).replace("```text", "```csv"), encoding="utf-8"
    )  # which is not compared
    with training.replayed(), pytest.raises(AssertionError, match="renew it"):
        pages.run_page(page, tmp_path)


def missing(words: list[str]) -> list[str]:
    """Return those of `words` that neither the README nor the docs mention."""
    return [word for word in words if not re.search(rf"\b{re.escape(word)}\b", TEXT)]


def test_every_public_name_is_in_the_docs():
    assert missing(plaudit.__all__) == []


def test_every_command_is_in_the_docs():
    assert missing(command_names(main, "plaudit")) == []


def test_the_reference_of_the_command_line_is_what_the_commands_say():
    made = runpy.run_path(str(ROOT / "scripts" / "command_line.py"))
    page = made["PAGE"].read_text(encoding="utf-8")
    assert page == made["write_reference"](page), (
        "docs/reference/command-line.md is stale; renew it: python scripts/command_line.py"
    )


@pytest.mark.slow
def test_the_table_of_targets_is_what_the_targets_say():
    made = runpy.run_path(str(ROOT / "scripts" / "targets.py"))
    page = made["PAGE"].read_text(encoding="utf-8")
    assert page == made["write_table"](page), "docs/reference/targets.md is stale; renew it: python scripts/targets.py"


def test_the_table_of_targets_has_every_target_and_law():
    made = runpy.run_path(str(ROOT / "scripts" / "targets.py"))
    page = made["PAGE"].read_text(encoding="utf-8")
    assert made["format_header"]() in page.splitlines(), (
        "docs/reference/targets.md is stale; renew it: python scripts/targets.py"
    )
    assert page.endswith(made["format_laws"]()), (
        "docs/reference/targets.md is stale; renew it: python scripts/targets.py"
    )


def test_every_option_is_in_the_reference():
    reference = TEXT.partition("## Every command")[2]
    found = [option for _, command in walk(main, "plaudit") for option in command.params if not is_hidden(option)]
    assert [name for option in found for name in option.opts if name.startswith("--") and name not in reference] == []


def is_hidden(option: click.Parameter) -> bool:
    return isinstance(option, click.Option) and option.hidden


def walk(group: click.Group, prefix: str) -> list[tuple[str, click.Command]]:
    """Return every command below `group` with its name."""
    found: list[tuple[str, click.Command]] = []
    for name, command in group.commands.items():
        found.append((f"{prefix} {name}", command))
        if isinstance(command, click.Group):
            found += walk(command, f"{prefix} {name}")
    return found


def parse(line: str) -> None:
    """Parse a command line as a shell and plaudit would, and run nothing; UsageError where it cannot be."""
    words = [*shlex.split(re.sub(r"\$\w+", "1", line), comments=True), ";"]  # a variable is a number here
    words = words[1 : min(words.index(end) for end in ("|", ">", ">>", "&&", ";") if end in words)]
    command: click.Command = main
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        assert words[0] in command.commands, f"there is no command {words[0]!r} in {line!r}"
        command = command.commands[words.pop(0)]
    if not isinstance(command, click.Group):
        command.make_context("plaudit", words, **main.context_settings)


def shown_lines() -> list[str]:
    """Return the whole command lines that are shown and not run: in help, in the demo and in blocks of the shell."""
    lines = [(command.epilog or "").removeprefix("Example: ") for _, command in walk(main, "plaudit")]
    lines += [line for line, _ in NEXT]
    for path in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for block in pages.blocks(path.read_text(encoding="utf-8")):
            if block.language in ("sh", "yaml"):
                lines += re.findall(r"^\s*(?:- run: |\$ )?(plaudit .*)", block.text.replace("\\\n", " "), re.MULTILINE)
    return sorted({line.strip() for line in lines if line.strip()})


@pytest.mark.parametrize("line", shown_lines())
def test_every_command_line_that_is_shown_can_be_parsed(line):
    parse(line)


def test_a_command_line_that_cannot_be_parsed_fails():
    for line in ("plaudit rescore roadsense rows.csv --out x", "plaudit ledger export rewards.db x.csv"):
        with pytest.raises(click.UsageError):
            parse(line)


def mentioned_options() -> list[tuple[str, str]]:
    """Return each command that is mentioned in a sentence, with the options that it is given there."""
    mentions = re.findall(r"`(plaudit [a-z][^`\n]*)`", TEXT)
    return sorted({(line, option) for line in mentions for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", line)})


def test_every_option_that_is_mentioned_exists():
    known = {name: {opt for option in command.params for opt in (*option.opts, *option.secondary_opts)}
             for name, command in walk(main, "plaudit")}  # fmt: skip
    unknown = []
    for line, option in mentioned_options():
        names = [name for name in known if f"{line} ".startswith(f"{name} ")]
        if not names or option not in known[max(names, key=len)] | {"--help"}:
            unknown.append(line)
    assert unknown == []


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


def test_every_path_in_the_guide_for_contributors_exists():
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"(?<![\w/])(?:src|tests|docs|\.ci)/[\w./-]*\w", guide)
    named += re.findall(r"`([\w.-]+\.(?:js|md|py|toml|txt)|Makefile)`", guide)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_commands_have_one_grammar():
    for name, command in walk(main, "plaudit"):
        arguments = [each.human_readable_name for each in command.params if isinstance(each, click.Argument)]
        if any("REWARD" in argument for argument in arguments):
            assert "REWARD" in arguments[0], f"{name}: the REWARD comes first"
        for option in command.params:
            if isinstance(option, click.Option) and {"-o", "--output"} & set(option.opts):
                assert option.opts == ["-o", "--output"], name
            assert "--out" not in option.opts, name
        writes = {"plaudit score", "plaudit ledger export", "plaudit ledger backup", "plaudit check"}
        if name in writes or name.startswith(("plaudit run ", "plaudit train ", "plaudit experiment ")):
            assert any("--output" in option.opts for option in command.params), name
