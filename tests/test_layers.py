"""Imports point one way: the contracts of `pyproject.toml`, walked by import-linter, and no circle between modules."""

import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
ALLOWED = {
    frozenset({"plaudit.reward.reward", "plaudit.reward.spec_reader"}),
    frozenset({"plaudit.reward.task.file", "plaudit.reward.task.task"}),
    frozenset({"plaudit.reward.describe", "plaudit.reward.task.task"}),
}
"""A reward and a task write themselves, and what was written becomes one again; a task shows itself in a notebook."""


def test_imports_point_one_way():
    # in a process of its own: it sets logging up anew, upon which absl's handler would close pytest's own stream
    script = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_circle_of_imports():
    modules = grimp.build_graph("plaudit", cache_dir=None)
    graph = {name: modules.find_modules_directly_imported_by(name) for name in modules.modules}
    for circle in ALLOWED:
        one, other = sorted(circle)
        assert other in graph[one], f"{one} no longer needs {other}: allow this circle no more"
        assert one in graph[other], f"{other} no longer needs {one}: allow this circle no more"
        graph[other].discard(one)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle of imports: {' -> '.join(reversed(error.args[1]))}") from None
