"""SUMO's own window, on a display that nobody looks at."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from plaudit.systems.roadsense import RoadSenseEnv

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("Xvfb") is None, reason="Xvfb, a display in memory, is not installed"),
]
DISPLAY = f":{90 + os.getpid() % 400}"


@pytest.fixture
def display(monkeypatch) -> Iterator[str]:
    server = subprocess.Popen(["Xvfb", DISPLAY, "-screen", "0", "1280x800x24"], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if Path(f"/tmp/.X11-unix/X{DISPLAY[1:]}").exists():
                break
            time.sleep(0.1)
        monkeypatch.setenv("DISPLAY", DISPLAY)
        yield DISPLAY
    finally:
        server.terminate()
        server.wait()


def test_the_window_shows_the_convoy_and_begins_again(display):
    from PIL import ImageGrab

    def pictured():
        return np.asarray(ImageGrab.grab(xdisplay=display).convert("RGB"))

    env = RoadSenseEnv(render_mode="human", hazard="none")
    plain = RoadSenseEnv(binding="process", hazard="none")
    try:
        for _ in range(2):  # the second world is loaded into the same window
            env.reset(seed=1)
            plain.reset(seed=1)
            before = time.perf_counter()
            for _ in range(10):
                assert env.step(1)[0].tolist() == plain.step(1)[0].tolist()
            assert time.perf_counter() - before >= 1.0  # as fast as on a road
            assert env.render() is None
            yellow = (pictured() == (255, 255, 0)).all(axis=2)
            assert yellow.sum() > 100  # a car, near enough to be seen
    finally:
        env.close()
        plain.close()
