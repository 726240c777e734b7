"""Each system's page maps its specification to names that exist."""

import importlib
import re
from pathlib import Path

import pytest

PAGES = Path(__file__).resolve().parent.parent / "docs" / "systems"
HEADING = "## The specification, line by line"
SYSTEMS = ("apex", "deepthinker", "hackmatrix", "roadsense")


def rows(page: str) -> list[list[str]]:
    """The cells of the table under the heading, without its two head lines."""
    section = page.split(HEADING + "\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def find(name: str) -> object:
    """The object of a dotted name: the longest part that is a module, then its attributes."""
    parts = name.split(".")
    full = ["plaudit", "systems", *parts] if parts[0] in SYSTEMS else parts
    for end in range(len(full), 0, -1):
        try:
            found: object = importlib.import_module(".".join(full[:end]))
        except ModuleNotFoundError as missing:
            if missing.name is None or not ".".join(full).startswith(missing.name):
                raise
            continue
        for attribute in full[end:]:
            found = getattr(found, attribute)
        return found
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_name_on_the_right_of_the_map_can_be_imported(system: str) -> None:
    table = rows((PAGES / f"{system}.md").read_text())
    assert table
    for row in table:
        assert len(row) == 3, f"{system}: {row} has not three cells"
        names = re.findall(r"`([A-Za-z_][\w.]*)`", row[1])
        assert names, f"{system}: {row[0]} names nothing of ours"
        for name in names:
            find(name)


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_line_of_the_specification_stands_twice_in_a_map(system: str) -> None:
    first = [row[0] for row in rows((PAGES / f"{system}.md").read_text())]
    assert len(first) == len(set(first))
