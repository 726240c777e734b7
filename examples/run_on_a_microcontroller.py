"""Export a reward to C for a processor without a heap or doubles, test it, and measure its size.

Run it: `python examples/run_on_a_microcontroller.py`. It compiles for a Cortex-M4 if `arm-none-eabi-gcc` is
installed, otherwise for this machine.
"""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from plaudit import Field, Reward, term
from plaudit.checks.parity.golden import list_golden_rows
from plaudit.targets.c import write_harness


@term
def level(tilt, *, calm=0.1):
    """Stay level: 1 within `calm`, less the more it tilts."""
    return 1.0 if abs(tilt) < calm else max(0.0, 1.0 - abs(tilt))


@term(weight=-0.01)
def effort(current):
    """Use little current in the four motors."""
    return sum(c * c for c in current)


reward = Reward(
    "hover",
    version="1",
    terms=[level, effort],
    fields=[Field("tilt", low=-1.6, high=1.6, unit="rad"), Field("current", length=4, low=0, high=20, unit="A")],
)
compiled = reward.compile("c", real="float")
CALLER = """#include "hover.h"
hover_status score(const hover_inputs *in, hover_outputs *out);
hover_status score(const hover_inputs *in, hover_outputs *out) { return hover_score(in, out); }
"""
CORTEX_M4 = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
FLAGS = [
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wdouble-promotion",
    "-pedantic",
    "-Werror",
    "-ffp-contract=off",
]

with TemporaryDirectory() as folder:
    Path(folder, "hover.h").write_text(compiled.header)
    Path(folder, "caller.c").write_text(CALLER)
    Path(folder, "hover_test.c").write_text(write_harness(compiled, "hover.h", list_golden_rows(reward, float32=True)))
    cross = shutil.which("arm-none-eabi-gcc")
    small = [cross, *CORTEX_M4] if cross else ["cc"]
    subprocess.run([*small, *FLAGS, "-Os", "-c", "caller.c"], cwd=folder, check=True)
    size = subprocess.run(
        [cross.replace("gcc", "size") if cross else "size", "caller.o"], cwd=folder, capture_output=True
    )
    code, data, bss = size.stdout.split()[6:9]
    print(
        f"code on {'a Cortex-M4' if cross else 'this machine'}: {int(code)} bytes, data: {int(data) + int(bss)} bytes"
    )
    print(f"operations per row at most: {dict(compiled.operations)}")
    subprocess.run(["cc", *FLAGS, "hover_test.c", "-o", "tests", "-lm"], cwd=folder, check=True)
    print(subprocess.run(["./tests"], cwd=folder, capture_output=True, text=True, check=True).stdout, end="")
