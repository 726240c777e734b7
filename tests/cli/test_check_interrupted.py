"""`plaudit check` stopped in the middle."""

import os
import signal
import time
from contextlib import suppress

import pytest

SLOW = """
import time
from plaudit import Field, Reward, term

@term
def pay(x):
    return x

class Slow(Reward):
    @property
    def _facts_program(self):
        open("begun", "w").close()
        while True:
            time.sleep(0.01)  # a signal that comes right before a long sleep is seen only after it

reward = Slow("slow", version="1", terms=[pay], fields=[Field("x", low=0, high=1)])
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("before", [None, b"as it was"])
def test_what_is_interrupted_leaves_nothing_behind(process, tmp_path, number, code, before):
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    if before:
        (tmp_path / "report.txt").write_bytes(before)
    running = process("check", "slow.py:reward", "--output", "report.txt", PYTHONDONTWRITEBYTECODE="1")
    while not (tmp_path / "begun").exists():
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    assert any(name.endswith(".part") for name in os.listdir(tmp_path))
    running.send_signal(number)
    assert running.wait(timeout=300) == code
    for stream in (running.stdin, running.stdout, running.stderr):
        with suppress(BrokenPipeError):
            stream.close()
    assert sorted(os.listdir(tmp_path)) == ["begun", *["report.txt"] * bool(before), "slow.py"]
    assert before is None or (tmp_path / "report.txt").read_bytes() == before
