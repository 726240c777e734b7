"""Commands, each in a process of its own that need not import everything once more."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.forking import run_python

LONGEST = 300
"""Seconds that a command may take."""
QUICK_JAX = {
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "XLA_FLAGS": "--xla_cpu_use_fusion_emitters=false",
}
"""JAX compiles in a third of the time what runs for a moment, and does not say on stderr when a machine is slow."""


def run_command(
    arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str], apart: bool
) -> tuple[int, str, str]:
    """Return the exit code of `plaudit` with `arguments`, and what it printed; errors stand in it unless `apart`."""
    done = run_python(
        [sys.executable, "-c", "from plaudit.cli import main; main(prog_name='plaudit')", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if apart else subprocess.STDOUT,
        timeout=LONGEST,
    )
    return done.returncode, _decode(done.stdout), _decode(done.stderr or b"")


def _decode(printed: bytes) -> str:
    return printed.decode().replace("\r\n", "\n")
