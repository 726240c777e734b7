"""Imports point one way: the contracts of `pyproject.toml`, walked by import-linter, and no circle between modules."""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
ALLOWED = {frozenset({"plaudit.reward.reward", "plaudit.reward.spec_reader"})}
"""A reward writes itself, and what was written becomes a reward."""


def test_imports_point_one_way():
    # in a process of its own: it sets logging up anew, upon which absl's handler would close pytest's own stream
    script = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def imports_of(tree: ast.AST, modules: set[str]) -> set[str]:
    """Return which of `modules` a file imports: at its top, inside a function, or for types alone."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & modules or {str(node.module)}
    return found & modules


def test_no_circle_of_imports():
    paths = {module_of(path): path for path in SOURCE.rglob("*.py")}
    graph = {
        name: imports_of(ast.parse(path.read_text(encoding="utf-8")), set(paths)) - {name}
        for name, path in paths.items()
    }
    for circle in ALLOWED:
        one, other = sorted(circle)
        assert other in graph[one], f"{one} no longer needs {other}: allow this circle no more"
        assert one in graph[other], f"{other} no longer needs {one}: allow this circle no more"
        graph[other].discard(one)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle of imports: {' -> '.join(reversed(error.args[1]))}") from None
