"""Records until it is ended, saying on standard output how many steps are durable.

    write.py LEDGER RUN (single | batch | buffered | keyed) [careless] [wait] [limit=N] [timeout=S] [pause=S]

`careless` leaves out fsync; `wait` lets strace attach first, and goes on when a line is read. After an error it says so, tries once more, says how that ended, and stops.
"""

import ctypes
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plaudit import Ledger
from support.ledgers import REWARD, columns, signal


def say(text):
    """Write a line at once."""
    print(text, flush=True)


def groups(ledger, run, mode):
    """Yield functions that record something durably, with how many steps there are after each."""
    step = 0
    writer = ledger.writer(max_records=20, max_delay=0.001) if mode == "buffered" else None
    while True:
        if mode == "single":
            yield step + 1, lambda step=step: ledger.record(signal(step), run=run, step=step)
            step += 1
        elif mode == "keyed":
            yield step + 1, lambda step=step: ledger.record(signal(step), run=run, step=step, key=f"{run}/{step}")
            step += 1
        elif mode == "batch":
            steps = range(step, step + 30)
            yield (
                step + 30,
                lambda steps=steps: ledger.record_batch(
                    REWARD, columns(steps.start, steps.stop), run=run, step=list(steps)
                ),
            )
            step += 30
        else:
            steps = range(step, step + 10)

            def buffered(steps=steps):
                receipts = [writer.record(signal(n), run=run, step=n) for n in steps]
                receipts[-1].wait()
                assert all(receipt.durable for receipt in receipts)

            yield step + 10, buffered
            step += 10


def wait_for_strace():
    """Wait for a line on standard input; meanwhile anybody may trace this process, not only who started it."""
    ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)  # PR_SET_PTRACER, PR_SET_PTRACER_ANY
    say("waiting")
    sys.stdin.readline()


def main(path, run, mode, *options):
    """Record, and say so."""
    given = dict(option.split("=") for option in options if "=" in option)
    if "wait" in options:
        wait_for_strace()
    ledger = Ledger(path, timeout=float(given.get("timeout", 30)))
    if "careless" in options:
        ledger._store.backend.writer.execute("PRAGMA synchronous = OFF")
    say("open")
    for done, work in groups(ledger, run, mode):
        try:
            work()
        except Exception as error:
            say(f"error {type(error).__name__}: {' '.join(str(error).split())}")
            try:
                work()
                say("again fine")
            except Exception as second:
                say(f"again {type(second).__name__}: {' '.join(str(second).split())}")
            break
        say(done)
        if done >= int(given.get("limit", 10**9)):
            break
        time.sleep(float(given.get("pause", 0)))
    try:
        ledger.close()
        say("closed")
    except Exception as error:
        say(f"close {type(error).__name__}: {' '.join(str(error).split())}")


if __name__ == "__main__":
    main(*sys.argv[1:])
