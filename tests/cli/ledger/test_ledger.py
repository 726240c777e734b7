"""What every command of `plaudit ledger` has in common: help, ledgers that are none, servers."""

import json
import sqlite3

import click
import pytest

from plaudit import Ledger
from plaudit.cli.ledger import ledger
from plaudit.terminal import ExitCode

COMMANDS = {name: [name, "LEDGER"] for name in ledger.commands}
COMMANDS |= {"why": ["why", "LEDGER", "1"], "export": ["export", "LEDGER", "-o", "x.jsonl"]}
COMMANDS |= {"import": ["import", "LEDGER", "x.jsonl"], "backup": ["backup", "LEDGER", "-o", "x.db"]}
COMMANDS |= {"archive": ["archive", "LEDGER", "--to", "lake"]}
COMMANDS |= {"forget": ["forget", "LEDGER", "--since", "2000-01-01"]}


def arguments(name: str, where: str) -> list[str]:
    return ["ledger", *(where if part == "LEDGER" else part for part in COMMANDS[name])]


@pytest.mark.parametrize("name", ledger.commands)
def test_every_command_has_help_with_an_example(plaudit, name):
    result = plaudit("ledger", name, "--help")
    assert result.exit_code == 0
    assert f"Example: plaudit ledger {name}" in " ".join(result.stdout.split())
    options = [option for option in ledger.commands[name].params if isinstance(option, click.Option)]
    assert all(option.help for option in options)
    assert any(option.name == "as_json" for option in options)


@pytest.mark.parametrize("name", [name for name in ledger.commands if name != "import"])
def test_a_ledger_that_is_not_there_is_told_and_not_made(plaudit, rewards, names, name):
    result = plaudit(*arguments(name, "reward.db"))
    assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
    assert result.stderr == "Error: reward.db does not exist. Did you mean 'rewards.db'?\n"
    assert names() == ["rewards.db"]


@pytest.mark.parametrize("name", ledger.commands)
@pytest.mark.parametrize("kind", ["text", "directory", "another database", "unknown server"])
def test_what_is_no_ledger_is_told_and_left_as_it_was(plaudit, write, tmp_path, name, kind):
    if name == "import":
        write("x.jsonl", "{}")
    where = "odd"
    if kind == "text":
        write("odd", "step,reward\n1,2\n" * 1000)
    elif kind == "directory":
        (tmp_path / "odd").mkdir()
    elif kind == "another database":
        with sqlite3.connect(tmp_path / "odd") as connection:
            connection.execute("CREATE TABLE songs (title TEXT)")
        connection.close()
    else:
        where = "mysql://root:secret@127.0.0.1/odd"
    before = (tmp_path / "odd").read_bytes() if (tmp_path / "odd").is_file() else None
    result = plaudit(*arguments(name, where))
    assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
    assert result.stderr.startswith("Error: ")
    assert "secret" not in result.stderr
    assert before is None or (tmp_path / "odd").read_bytes() == before


@pytest.mark.parametrize("command", [["history"], ["why", "13"], ["verify"], ["stats"], ["backup", "-o", "copy.db"]])
def test_reading_leaves_the_ledger_as_it_was(plaudit, rewards, command):
    before = rewards.read_bytes()
    name, *rest = command
    assert plaudit("ledger", name, "rewards.db", *rest).exit_code == 0
    assert rewards.read_bytes() == before


def test_a_ledger_on_a_server_is_read_like_a_file(plaudit, fill, postgres_url):
    fill(postgres_url)
    rows = [json.loads(line) for line in plaudit("ledger", "history", postgres_url, "--json").stdout.splitlines()]
    assert len(rows) == 13
    last = plaudit("ledger", "history", postgres_url, "--limit", "1", "--json").stdout
    assert [json.loads(last)] == rows[-1:]
    assert "key='crash'" in plaudit("ledger", "why", postgres_url, "crash").stdout
    assert "13 records in 2 blocks of 1 writer" in plaudit("ledger", "verify", postgres_url).stdout
    assert json.loads(plaudit("ledger", "stats", postgres_url, "--json").stdout)["records"] == 13
    assert plaudit("ledger", "export", postgres_url, "-o", "all.jsonl").exit_code == 0
    assert plaudit("ledger", "import", postgres_url, "all.jsonl").exit_code == 0
    assert plaudit("ledger", "backup", postgres_url, "-o", "copy.db").exit_code == 0
    assert plaudit("ledger", "verify", "copy.db").exit_code == 0
    assert plaudit("ledger", "compact", postgres_url).exit_code == 0


def test_a_database_without_a_ledger_is_told(plaudit, postgres_url):
    result = plaudit("ledger", "stats", postgres_url)
    assert result.exit_code == ExitCode.FAILED
    assert "contains no ledger" in result.stderr


@pytest.mark.parametrize(
    ("kind", "form"), [("?application_name=x", []), pytest.param("", ["--json"], marks=pytest.mark.slow)]
)
def test_the_password_of_a_server_is_never_printed(plaudit, fill, postgres_url, kind, form):
    fill(postgres_url)
    with_password = postgres_url.replace("postgres@", "postgres:s3cret@") + kind
    for name in ledger.commands:
        result = plaudit(*arguments(name, with_password), *form, *["--force"] * (name in ("backup", "export")))
        assert result.exit_code == 0
        assert "s3cret" not in result.output


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://root:s3cret@127.0.0.1:1/none",
        "postgresql://127.0.0.1:1/none?user=root&password=s3cret",
        "postgresql://root:s3cret@127.0.0.1:port/none",
        "postgresql://root:an@s3cret@127.0.0.1:1/none",
        "postgresql:/root:s3cret@127.0.0.1:1/none",
        "postgres:root:s3cret@127.0.0.1",
    ],
)
def test_the_password_in_an_address_that_fails_is_not_printed(plaudit, write, address, monkeypatch):
    pytest.importorskip("psycopg")
    monkeypatch.setitem(Ledger.__init__.__kwdefaults__, "timeout", 0.01)  # nobody will listen
    monkeypatch.setattr("plaudit.ledger.backends.postgres_wait.LEAST_WAIT", 0.01)
    write("x.jsonl", "{}")
    for name in ledger.commands:
        result = plaudit(*arguments(name, address))
        assert result.exit_code == ExitCode.FAILED
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert "s3cret" not in result.stderr


@pytest.mark.parametrize(("name", "meant"), [("worst", "rank"), ("best", "rank --best"), ("histry", "history")])
def test_a_command_that_is_not_there_is_guessed(plaudit, name, meant):
    result = plaudit("ledger", name, "rewards.db")
    assert result.exit_code == 2
    assert f"No such command '{name}'. Did you mean '{meant}'?" in result.stderr
