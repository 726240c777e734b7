"""An engine of tasks in this process, for tests of what is done with their results."""

import os
import pickle
from concurrent.futures import Future
from contextlib import contextmanager

from plaudit.ledger.dataset.cluster import score_on_engine
from plaudit.ledger.dataset.job import Job


class InOrder:
    """Does each task at once, after a journey through pickle as to another process."""

    def __init__(self, slots=2, *, stop_after=None, fails=None):
        self.slots, self.stop_after, self.fails = slots, stop_after, fails
        self.done = []
        """The names of the files that tasks were of, and what they were."""

    def submit(self, work, task):
        future = Future()
        name = os.path.basename(task.part)
        try:
            if self.stop_after is not None and len(self.done) >= self.stop_after:
                raise KeyboardInterrupt
            if name == self.fails:
                raise RuntimeError("worker died\nSIGKILL")
            future.set_result(work(pickle.loads(pickle.dumps(task))))
            self.done.append((name, type(task).__name__))
        except (Exception, KeyboardInterrupt) as error:
            future.set_exception(error)
        return future

    @contextmanager
    def open(self):
        yield self


def score_in_order(reward, source, target, engine=None, *, on_bad="mask", keep=None, **options):
    """Score with `InOrder`, or the given one."""
    own = {name: options.pop(name) for name in ("overwrite", "progress", "bad_rows", "format") if name in options}
    own |= {"bad_rows": os.fspath(own["bad_rows"])} if "bad_rows" in own else {}
    job = Job(reward, masks=on_bad == "mask", keep=keep and tuple(keep), **options)
    return score_on_engine(job, os.fspath(source), os.fspath(target), "in order", (engine or InOrder()).open(), **own)
