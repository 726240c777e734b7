"""Examples in docstrings are tests too; a file without any is not imported to look for them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[Any]:
    """Leave out the doctests of a file that has none."""
    collectors = yield
    if file_path.suffix == ".py" and ">>>" not in file_path.read_text(encoding="utf-8"):
        return [each for each in collectors if type(each).__name__ != "DoctestModule"]
    return collectors
