"""The names of `plaudit.analysis`: each is there, and loads no more than it needs."""

import subprocess
import sys

import plaudit.analysis

SCRIPT = """
import plaudit.analysis.diff.effect, sys
from plaudit.analysis import diff
print(diff.__name__, type(diff).__name__, *(room for room in sys.argv[1:] if room in sys.modules))
"""
ROOMS = ("plaudit.learn", "plaudit.checks.rules", "plaudit.analysis.audit", "plaudit.analysis.compare.compare")


def test_every_public_name_is_there_and_listed():
    names = plaudit.analysis.__all__
    assert names == sorted(names) == sorted(name for each in plaudit.analysis._HOMES.values() for name in each.split())
    assert all(callable(getattr(plaudit.analysis, name)) for name in names)
    assert set(names) <= set(dir(plaudit.analysis))
    assert not hasattr(plaudit.analysis, "dif")


def test_a_name_loads_what_it_needs_and_is_the_function_though_a_folder_is_called_so():
    done = subprocess.run([sys.executable, "-c", SCRIPT, *ROOMS], capture_output=True, text=True)
    assert done.stdout.split() == ["diff", "function"], done.stdout + done.stderr
