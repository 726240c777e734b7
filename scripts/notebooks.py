"""Write every tutorial as a notebook beside its page: `python scripts/notebooks.py`. A test fails when one is stale."""

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "docs" / "tutorial"
BLOCK = re.compile(r"^```(?P<language>\w+)[ ]?(?P<file>\S*)\n(?P<text>.*?)^```\n", re.MULTILINE | re.DOTALL)


def list_tutorials() -> list[Path]:
    """Return the pages that are notebooks too."""
    return sorted(path for path in FOLDER.glob("*.md") if path.stem != "index")


def write_notebook(page: str) -> str:
    """Return the notebook of a page as JSON."""
    return json.dumps(build_notebook(page), ensure_ascii=False, indent=1) + "\n"


def build_notebook(markdown: str) -> dict[str, Any]:
    """Turn a page into a notebook: Python and `$ plaudit` lines become cells, without their output."""
    cells = []
    position = 0
    for block in BLOCK.finditer(markdown):
        cells.append(("markdown", markdown[position : block.start()]))
        position = block.end()
        if block["language"] == "python":
            cells.append(("code", f"%%writefile {block['file']}\n{block['text']}" if block["file"] else block["text"]))
        elif block["language"] == "console":
            commands = [f"!{line[2:]}" for line in block["text"].splitlines() if line.startswith("$ plaudit ")]
            cells.append(("code", "\n".join(commands)))
    cells.append(("markdown", markdown[position:]))
    return {
        "cells": [build_cell(*cell, number) for number, cell in enumerate(cells) if cell[1].strip()],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def build_cell(kind: str, text: str, number: int) -> dict[str, Any]:
    """Return a cell as notebooks keep it."""
    cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.strip().splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


if __name__ == "__main__":
    for tutorial in list_tutorials():
        text = write_notebook(tutorial.read_text(encoding="utf-8"))
        tutorial.with_suffix(".ipynb").write_text(text, encoding="utf-8")
