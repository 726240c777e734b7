"""Every benchmark runs, at a size of seconds: a script that nobody runs stops working unnoticed."""

import os
import runpy
import sys
from pathlib import Path

import pytest

from support.commands import QUICK_JAX
from support.forking import run_python

BENCH = Path(__file__).parent.parent / "bench"
SCRIPTS = sorted(path for path in BENCH.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))
NEEDS = {
    "cuda_kernel": ["torch"],
    "false_alarms": ["gymnasium"],
    "gpu": ["jax"],
    "gpu_record": ["jax"],
    "hackmatrix": ["jax"],
    "lake": ["deltalake", "pyarrow"],
    "observe": ["gymnasium"],
    "off_policy": ["scipy"],
    "page": ["starlette", "uvicorn"],
    "prove": ["z3"],
    "rescore": ["pyarrow"],
    "roadsense": ["libsumo", "gymnasium"],
    "state": ["gymnasium", "jax"],
    "trust": ["gymnasium"],
    "wrapper": ["gymnasium"],
    "writers": ["psycopg"],
}
"""Libraries without which a script has nothing to measure."""


SLOW = {
    "bandits", "batch", "check", "compare", "cuda_kernel", "false_alarms", "gpu", "gpu_record", "hackmatrix", "learn_task",
    "ledger", "observe", "page", "rescore", "router", "trust", "vectors", "wrapper", "writers",
}  # fmt: skip
"""Scripts that take longest even so: `make test` imports them, and `make soak` runs them."""


@pytest.mark.parametrize("script", [path for path in SCRIPTS if path.stem in SLOW], ids=lambda path: path.stem)
def test_a_slow_benchmark_can_be_imported(script, monkeypatch):
    for library in NEEDS.get(script.stem, []):
        pytest.importorskip(library)
    monkeypatch.syspath_prepend(BENCH)
    runpy.run_path(str(script), run_name=script.stem)


@pytest.mark.parametrize(
    "script",
    [pytest.param(path, marks=pytest.mark.slow) if path.stem in SLOW else path for path in SCRIPTS],
    ids=lambda path: path.stem,
)
def test_a_benchmark_runs_and_prints_its_figures(script, tmp_path):
    for library in NEEDS.get(script.stem, []):
        pytest.importorskip(library)
    command = [sys.executable, script, "--quick"]
    environment = {**os.environ, **QUICK_JAX}
    done = run_python(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert any(character.isdigit() for character in done.stdout)


def test_no_script_is_left_out():
    assert len(SCRIPTS) >= 12
