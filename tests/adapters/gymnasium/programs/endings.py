"""Four environments that record into one ledger until something ends their process; says what became of their steps.

    endings.py FOLDER ENDING ...

Processes are forked from this one, which has imported everything and opened nothing. Each notes the time of every step
in a file that survives any death.
"""

import gc
import json
import os
import random
import signal
import sys
import threading
import time
from itertools import count
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))

from plaudit import Ledger
from plaudit.adapters import termination
from plaudit.adapters.gymnasium import RewardWrapper
from support import walks

ENVS, MOST = 4, 500_000
NEVER = 600.0
READY, DURABLE = 100, 500  # steps before the end, and where some of them are to be durable before it
LEDGER = "rewards.db"

# what is done, the signal that is sent, and flush_every
ENDINGS = {
    "killed": ("go on", signal.SIGKILL, 1.0),
    "killed in a pause": ("pause", signal.SIGKILL, 1.0),
    "terminated": ("go on", signal.SIGTERM, NEVER),
    "hung up": ("go on", signal.SIGHUP, NEVER),
    "terminated while locked": ("lock", signal.SIGTERM, NEVER),
    "terminated while asleep": ("pause", signal.SIGTERM, NEVER),
    "terminated from a thread": ("thread", signal.SIGTERM, NEVER),
    "handler before": ("handler before", signal.SIGTERM, NEVER),
    "handler after": ("handler after", signal.SIGTERM, NEVER),
    "ignored": ("ignore", signal.SIGHUP, NEVER),
    "exited": ("exit", None, NEVER),
    "failed": ("raise", None, NEVER),
    "forked": ("fork", None, NEVER),
}


def record(folder, run, way, flush_every, ready, say):
    """Take steps in four environments until the process ends."""
    times = np.memmap(folder / run, np.float64, mode="w+", shape=(ENVS, MOST))
    ledger = Ledger(folder / LEDGER)

    def wrap(at):
        actor = None if way == "fork" else str(at)
        where = {"ledger": ledger, "run": run, "actor": actor, "flush_every": flush_every}
        return RewardWrapper(walks.Walk(), walks.reward(), walks.features, **where)

    def handle(number, frame):
        say("handled")
        sys.exit(7)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # whatever this process was started with
    if way.startswith("handler"):
        gc.disable()  # Python drops what a handler raises while a weak reference's callback runs, as SQLAlchemy has them
    if way == "handler before":
        signal.signal(signal.SIGTERM, handle)
    elif way == "ignore":
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    envs = []
    making = threading.Thread(target=lambda: envs.extend(map(wrap, range(ENVS))))
    if way == "thread":
        making.start()
        making.join()
    else:
        making.run()
    if way == "handler after":
        signal.signal(signal.SIGTERM, handle)
    for env in envs:
        env.reset()
    for n in count():
        for at, env in enumerate(envs):
            *_, terminated, truncated, _ = env.step(n % 3)
            times[at, n] = time.time()
            if terminated or truncated:
                env.reset()
        if n == ready:
            say("ready")
            if finish(way, ledger, envs[0]):
                return
        elif n > ready:
            time.sleep(0.002)  # whoever looks reads every step


def finish(way, ledger, env):
    """Do what ends the process, or what it does when a signal comes; return whether it is to end."""
    if way == "pause":
        time.sleep(NEVER)
    elif way == "exit":
        sys.exit(3)
    elif way == "raise":
        raise ArithmeticError("as it should")
    elif way == "fork":
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
        else:
            env.step(1)
    elif way == "lock":  # the signal strikes while a lock is held that writing needs
        termination._HELD = 0.05
        with ledger._lock:
            end = time.monotonic() + 0.3
            while time.monotonic() < end:
                time.sleep(0.01)
    elif way == "ignore":
        wait = time.monotonic() + 0.1
        while time.monotonic() < wait:
            time.sleep(0.01)
    return way in ("fork", "ignore")


def end(folder, run, name, pause):
    """Fork a process, end it after a pause, and return how it ended and which steps are left."""
    way, number, flush_every = ENDINGS[name]
    ready = READY if flush_every == NEVER else DURABLE
    ear, mouth = os.pipe()
    child = os.fork()
    if not child:
        os.close(ear)
        if way == "raise":
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        record(folder, run, way, flush_every, ready, lambda said: os.write(mouth, f"{said}\n".encode()))
        sys.exit(0)
    os.close(mouth)
    heard = os.read(ear, 100)
    if name == "killed in a pause":
        with Ledger(folder / LEDGER, read_only=True) as ledger:
            wait = time.monotonic() + 60
            while ledger.history(run=run).count() < ENVS * (ready + 1) and time.monotonic() < wait:
                time.sleep(0.02)
    time.sleep(pause)
    if number is not None:
        os.kill(child, number)
    _, status = os.waitpid(child, 0)
    heard += os.read(ear, 100)
    os.close(ear)
    return {"name": name, "code": os.waitstatus_to_exitcode(status), "said": heard.decode().split()}


def look(ledger, folder, run, name):
    """Return how many steps were taken and are recorded, and how long before the last the oldest lost one was."""
    times = np.fromfile(folder / run).reshape(ENVS, MOST)
    taken = np.count_nonzero(times, axis=1).tolist()
    kept, oldest = [], 0.0
    for at in range(ENVS):
        actor = f"env{at}" if name == "forked" else str(at)
        ats = [record.at.timestamp() for record in ledger.history(run=run, actor=actor)]
        noted = times[at, : min(len(ats), taken[at])]
        assert np.all(ats[: len(noted)] <= noted + 1e-6), "a step was dated after it had been taken"
        assert np.all(ats[1 : len(noted)] >= noted[:-1] - 1e-6), "a step was dated before the one before it was taken"
        kept.append(len(ats))
        if len(ats) < taken[at]:
            oldest = max(oldest, float(times.max() - times[at, len(ats)]))
    return {"taken": taken, "kept": kept, "oldest": oldest, "forked": ledger.history(run=run, actor="env4").count()}


def main():
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    Ledger(folder / LEDGER).close()
    moments = random.Random(5)
    gc.freeze()  # or each process that ends by itself would look through all that was imported
    found = [
        end(folder, str(n), name, moments.uniform(0.5, 2.5) if name == "killed" else 0) for n, name in enumerate(names)
    ]
    with Ledger(folder / LEDGER) as ledger:
        for n, each in enumerate(found):
            each.update(look(ledger, folder, str(n), each["name"]))
        assert ledger.verify().ok
    print(json.dumps(found))


if __name__ == "__main__":
    main()
