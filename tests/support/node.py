"""One process of Node that evaluates modules of the `javascript` target, for all tests of a worker."""

import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from plaudit import Scores, errors

SERVER = Path(__file__).with_name("node_server.mjs")
MISSING = "no Node.js here (Debian: apt-get install nodejs)"


class JavaScriptError(Exception):
    """An error of a module that is none of plaudit's."""


class Node:
    """Runs modules; what they throw is raised as the error of plaudit's of that name."""

    def __init__(self):
        self._process = subprocess.Popen(
            ["node", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def call(self, compiled, *calls):
        """Return what each call of a module gave: `(name, argument, ...)`; an error is returned, not raised."""
        request = {"module": compiled.module, "calls": [[name, *map(encode, given)] for name, *given in calls]}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert isinstance(answer, list), answer
        return [_read_answer(each) for each in answer]

    def run(self, compiled, name, *given):
        """Return what one call gave; raise what it threw."""
        [found] = self.call(compiled, (name, *given))
        if isinstance(found, Exception):
            raise found
        return found

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=300)
        self._process.stdout.close()


def need_node():
    """Return the path of Node; skip the test, loudly, where it is not installed."""
    found = shutil.which("node")
    if found is None:
        pytest.skip(MISSING)
    return found


@pytest.fixture(scope="session")
def node():
    """Give a running Node; skip where it is not installed."""
    need_node()
    running = Node()
    yield running
    running.close()


def _read_answer(answer):
    if "error" not in answer:
        return decode(answer.get("value"))
    kind = getattr(errors, answer["error"], JavaScriptError)
    return kind(answer["message"])


def encode(value):
    """Return a Python value as the server takes it; an array of NumPy is a typed array."""
    if isinstance(value, np.ndarray):
        tags = {"float64": "f64", "float32": "f32", "int32": "i32", "uint8": "u8", "bool": "u8", "int64": "i64"}
        kind = tags[value.dtype.name]
        entries = value.reshape(-1).tolist()
        return {f"${kind}": [encode(str(each) if kind == "i64" else each) for each in entries]}
    if isinstance(value, dict):
        return {name: encode(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [encode(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"$number": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if type(value) is int and abs(value) > 2**53:
        return {"$bigint": str(value)}
    return value


def decode(value):
    """Return a value of the server's as Python has it."""
    if isinstance(value, list):
        return [decode(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "$number" in value:
        return float(value["$number"])
    if "$typed" in value:
        return np.array([decode(part) for part in value["values"]], np.float64)
    return {name: decode(part) for name, part in value.items()}


def to_scores(found):
    """Return what `score` or `scoreBatch` gave as `Scores`."""
    ok = found["ok"] != 0 if isinstance(found["ok"], np.ndarray) else found["ok"]
    return Scores(found["total"], found["values"], found["scores"], ok)
