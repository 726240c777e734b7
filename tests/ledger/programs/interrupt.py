"""Interrupts a writer at random moments, as Ctrl-C does, and lets it go on with the same ledger.

interrupt.py LEDGER TIMES
"""

import json
import random
import signal as signals
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plaudit import Ledger
from support.ledgers import signal


def main(where, times):
    """Record with keys; what was interrupted is recorded again."""
    draw = random.Random(3)
    step = interrupted = 0
    with Ledger(where, timeout=5) as ledger:
        ledger.record(signal(0), run="run", step=0, key="step 0")
        for _ in range(int(times)):
            try:
                signals.setitimer(signals.ITIMER_REAL, draw.random() * (0.06 if ":" in where else 0.012) + 1e-5)
                while signals.getitimer(signals.ITIMER_REAL)[0]:  # else a Ctrl-C was swallowed
                    ledger.record(signal(step), run="run", step=step, key=f"step {step}")
                    step += 1
            except KeyboardInterrupt:
                interrupted += 1
                signals.setitimer(signals.ITIMER_REAL, 0)
        ledger.record(signal(step), run="run", step=step, key=f"step {step}")
        step += 1
    print(json.dumps({"acknowledged": step, "interrupted": interrupted}))


if __name__ == "__main__":
    signals.signal(signals.SIGALRM, signals.default_int_handler)
    main(*sys.argv[1:])
