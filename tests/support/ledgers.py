"""What tests of ledgers share: signals that differ, programs that write until they die, and what must hold after."""

import hashlib
import json
import os
import re
import signal as signals
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from plaudit import Ledger
from support.forking import PythonProcess, run_python
from support.samples import following, handover

PROGRAMS = Path(__file__).parents[1] / "ledger" / "programs"
REWARD = following


def end(success=True):
    """Return the signal of the end of an episode."""
    return handover.score_terminal(curr={"tokens_used": 4000}, success=success)


def signal(n=0):
    """Return the signal of step `n`: neighbours differ."""
    return REWARD.score(distance=5.0 + n * 0.37 % 60, deceleration=n * 0.11 % 9, action=n % 4)


def columns(start, end):
    """Return the steps from `start` to before `end` as the columns of a batch; equal to `signal` row by row."""
    steps = range(start, end)
    return {
        "distance": [5.0 + n * 0.37 % 60 for n in steps],
        "deceleration": [n * 0.11 % 9 for n in steps],
        "action": [n % 4 for n in steps],
    }


def seal_export(lines):
    """Return the lines of an exported file with an end whose checksum fits."""
    body = "".join(f"{line}\n" for line in lines)
    count = sum(line.startswith('{"record"') for line in lines)
    return body + json.dumps({"end": {"records": count, "sha256": hashlib.sha256(body.encode()).hexdigest()}}) + "\n"


def command(program, *arguments):
    """Return the command line of one of the programs beside these tests."""
    return [sys.executable, PROGRAMS / f"{program}.py", *map(str, arguments)]


def run(program, *arguments, before=(), **options):
    """Run a program to its end and return what its last line of JSON says."""
    done = run_python([*before, *command(program, *arguments)], capture_output=True, text=True, timeout=900, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def verified(ledger):
    """Return the verification of a ledger that must be as it was written."""
    found = ledger.verify()
    assert found.ok, str(found)
    return found


def steps_by_run(ledger):
    """Return the steps of each run in order of recording, after checking numbers, order and every signal."""
    found = defaultdict(list)
    seen = set()
    for record in ledger.history():
        assert record.id not in seen, "records have one number"
        assert "://" in ledger.name or record.id > max(seen, default=0), "records changed places"
        seen.add(record.id)
        assert record.signal.to_dict() == signal(record.step).to_dict(), f"record {record.id} is not what was recorded"
        found[record.run].append(record.step)
    return found


def check_kept(path, acknowledged, *, most=None, **options):
    """Check that every run is a prefix of what was sent, no shorter than what was acknowledged; return the count.

    `acknowledged` is how many steps of each run were; `most` is by how many the ledger may be ahead.
    """
    with Ledger(path, **options) as ledger:
        verified(ledger)
        found = steps_by_run(ledger)
        for name, steps in found.items():
            assert steps == list(range(len(steps))), f"run {name}: a gap, a double or another order: {steps[:50]}"
            if most is not None:
                assert len(steps) <= acknowledged.get(name, 0) + most, f"run {name}: more is there than was sent"
        lost = {name: (count, len(found.get(name, ()))) for name, count in acknowledged.items()}
        lost = {name: pair for name, pair in lost.items() if pair[0] > pair[1]}
        assert not lost, f"acknowledged and lost: {lost}"
        return sum(map(len, found.values()))


class Writing:
    """A program that records until it is ended, and what it has acknowledged so far."""

    def __init__(self, *arguments, before=(), stderr=None):
        self.process = PythonProcess(
            [*before, *command("write", *arguments)], stdout=subprocess.PIPE, stderr=stderr, bufsize=0
        )
        os.set_blocking(self.process.stdout.fileno(), False)
        self._text = b""
        self.pid = self.process.pid

    def lines(self):
        """Return every whole line said so far."""
        while not self.process.stdout.closed and (chunk := self.process.stdout.read(1 << 20)):
            self._text += chunk
        return self._text.decode().split("\n")[:-1]

    @property
    def acknowledged(self):
        """How many steps were called durable."""
        return max((int(line) for line in self.lines() if line.isdigit()), default=0)

    def wait_for(self, enough, seconds=300):
        """Wait until `enough(self)` holds."""
        end = time.monotonic() + seconds
        while not enough(self):
            assert time.monotonic() < end, f"waited {seconds} s in vain: {self.lines()[-5:]}"
            assert self.process.poll() is None or enough(self), f"it ended: {self.lines()[-5:]}"
            time.sleep(0.002)
        return self

    def wait_until_open(self):
        """Wait until the ledger is open."""
        return self.wait_for(lambda writing: "open" in writing.lines())

    def send(self, number):
        """Send a signal to the program."""
        os.kill(self.pid, number)

    def freeze(self):
        """Stop the program and wait until it stands still."""
        self.send(signals.SIGSTOP)
        status = Path(f"/proc/{self.pid}/status")
        while not re.search(r"^State:\s+T", status.read_text(), re.MULTILINE):
            time.sleep(0.001)

    def end(self):
        """Kill the program, if it still runs, and return what it said."""
        if self.process.poll() is None:
            self.send(signals.SIGCONT)
            self.process.kill()
        self.process.wait()
        said = self.lines()
        self.process.stdout.close()
        return said

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()
