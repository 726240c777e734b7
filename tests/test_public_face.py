"""The names a user imports: few, sorted, documented, and free of every extra."""

import ast
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import plaudit

SOURCE = Path(plaudit.__file__).parent

# What the extras bring, by the name it is imported under.
EXTRAS = {
    "duckdb", "gymnasium", "hypothesis", "jax", "jaxlib", "libsumo", "numba", "polars", "psycopg",
    "pyarrow", "pyspark", "ray", "scipy", "sklearn", "sqlalchemy", "sqlglot", "stable_baselines3", "starlette",
    "sumo", "tensorboard", "torch", "traci", "transformers", "trl", "uvicorn", "z3",
}  # fmt: skip

IMPORTED = [
    "plaudit",
    "plaudit.cli",
    "plaudit.systems.apex",
    "plaudit.systems.deepthinker",
    "plaudit.systems.hackmatrix",
    "plaudit.systems.roadsense",
]

# Parts of the standard library that only some operating systems have.
ONE_SYSTEM_ONLY = {
    "crypt", "curses", "fcntl", "grp", "msvcrt", "nt", "posix", "pty", "pwd", "readline",
    "resource", "spwd", "syslog", "termios", "tty", "winreg", "winsound",
}  # fmt: skip


def test_the_public_names_are_sorted_and_are_what_is_exported():
    exported = [
        name for name, value in vars(plaudit).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    ]
    assert list(plaudit.__all__) == sorted(plaudit.__all__)
    assert sorted({*exported, *plaudit._LATER}) == sorted(name for name in plaudit.__all__ if not name.startswith("_"))


@pytest.mark.parametrize("name", [name for name in plaudit.__all__ if not name.startswith("_")])
def test_every_public_name_has_a_docstring(name):
    assert getattr(plaudit, name).__doc__


def test_a_reward_shows_its_arguments_and_what_people_do_with_it():
    @plaudit.term
    def near(distance):
        return 1 if distance < 2 else 0

    reward = plaudit.Reward("reach", version="1", terms=[near], fields=[plaudit.Field("distance", low=0)])
    arguments = [name for name in inspect.signature(plaudit.Reward).parameters if name != "unknown"]
    assert {name for name in dir(reward) if not name.startswith("_")} == {
        *arguments,  # so that `evolve` can be given what there is and more
        *("states", "params", "constants", "inputs", "program", "notes", "fingerprint", "domain_fingerprint"),
        *("score", "score_episodes", "score_terminal", "compile", "encode", "initial_state"),
        *(
            "formula",
            "source",
            "gradients",
            "to_dict",
            "from_dict",
            "to_json",
            "from_json",
            "to_python",
            "from_functions",
        ),
        *("evolve", "select_terms", "with_params", "with_weights", "with_file", "with_version", "with_task"),
    }


@pytest.fixture(scope="module")
def loaded():
    """Return what is loaded after importing each module of a list, one after the other in a process of its own."""
    script = f"import importlib, json, sys\nfor name in {IMPORTED}:\n"
    script += "    importlib.import_module(name); print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(zip(IMPORTED, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("module", IMPORTED)
def test_importing_it_imports_no_extra(loaded, module):
    assert module in loaded[module]
    assert {name.partition(".")[0] for name in loaded[module]} & EXTRAS == set()


def imported_by(text: str) -> set[str]:
    """Return the first part of the name of every module that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found


def test_no_module_needs_one_operating_system():
    children = set(SOURCE.rglob("*_child.py"))  # programs of their own, which do without it where it is not
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if path not in children}
    assert texts
    named = re.compile(rf"\b({'|'.join(ONE_SYSTEM_ONLY)})\b")  # parsing every file takes seconds
    needing = {path: imported_by(text) & ONE_SYSTEM_ONLY for path, text in texts.items() if named.search(text)}
    assert {str(path): names for path, names in needing.items() if names} == {}
