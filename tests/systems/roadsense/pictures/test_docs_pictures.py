"""The pictures in the docs are small, and a command draws them from drives on SUMO."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

DOCS = Path(__file__).parents[4] / "docs"
LIMITS = {"roadsense.gif": 300_000, "roadsense-parking.png": 150_000}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    command = [sys.executable, DOCS.parent / "scripts" / "roadsense_pictures.py", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(("name", "limit"), LIMITS.items())
def test_a_picture_in_the_docs_is_small(name, limit):
    assert (DOCS / "pictures" / name).stat().st_size <= limit


@pytest.mark.slow  # the drawing itself is tested beside this
@pytest.mark.parametrize("name", LIMITS)
def test_the_command_draws_what_is_in_the_docs(drawn, name):
    with Image.open(drawn / name) as made, Image.open(DOCS / "pictures" / name) as kept:
        assert made.size == kept.size
        assert getattr(made, "n_frames", 1) == getattr(kept, "n_frames", 1)
