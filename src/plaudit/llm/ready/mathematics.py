r"""Whether an answer is equal to another as mathematics: `\frac{1}{2}` and 0.5, `x + 1` and `1 + x`."""

import atexit
import importlib.util
import os
import sys
import threading
import time
from typing import Any

from plaudit.errors import FeatureTimeout, InputError, MissingExtra
from plaudit.llm.feature import Feature
from plaudit.llm.ready.boxes import list_boxed
from plaudit.llm.ready.building import build_feature, check_number
from plaudit.llm.ready.processes import Child, NoAnswer

_READ = 1_000
"""Characters of an answer that are looked at, from its end: math-verify is slow on long ones."""
_MOST_BOXES = 10
_START = 120.0
"""Seconds within which SymPy can be imported on a busy machine."""
_MEMORY = 4 * 1024**3
_MARKS = ("$", "\\(", "\\[", "\\boxed")


def equal_mathematics(answer: str = "answer", *, seconds: float = 5.0) -> Feature:
    r"""Say whether the answer is equal to the one in a column as mathematics, by math-verify.

    What stands in `\boxed{}` is the answer: if there are several boxes, each of them has to be right, so that trying
    out many answers does not pay. Without a box, math-verify looks for the answer in the last 1,000 characters. What
    the model thought before its answer is not looked at. A box of more than 1,000 characters is wrong, and so are more
    than ten different boxes.

    math-verify runs in a process of its own, started once, so it can be stopped at any point and from any thread.

    Args:
        answer: The column with the right answer, as LaTeX or plain text.
        seconds: How long one comparison may take. Longer ones raise FeatureTimeout, and those that need too much memory
            InputError: with `on_bad="mask"`, the sample has no reward.

    Returns:
        A feature of `text` and the column, called "equal_mathematics": True or False. It raises InputError for a column
        in which math-verify finds no mathematics.

    Raises:
        DefinitionError: `seconds` is not a positive number.
        MissingExtra: math-verify is not installed.

    >>> right = equal_mathematics()
    >>> right(r"So it is \boxed{\frac{1}{2}}.", "0.5"), right(r"\boxed{x + 1}", "1 + x"), right(r"\boxed{2}", "0.5")
    (True, True, False)
    """
    check_number("seconds", seconds, low=0, exclusive=True)
    if importlib.util.find_spec("math_verify") is None:
        raise MissingExtra("equal_mathematics needs math-verify. Install it: pip install 'plaudit[llm]'")
    settings = {"seconds": seconds}
    return build_feature(_is_equal, name="equal_mathematics", columns={"answer": answer}, settings=settings)


def _is_equal(text: str, answer: Any, *, seconds: float = 5.0) -> bool:
    check_number("seconds", seconds, low=0, exclusive=True)
    wanted = _write_wanted(answer)
    boxes = list(dict.fromkeys(list_boxed(text)))
    if len(boxes) > _MOST_BOXES or any(len(box) > _READ for box in boxes):
        return False
    found = [f"\\boxed{{{box}}}" for box in boxes] or [text[-_READ:]]
    return all(_WORKER.compare(wanted, each, seconds) for each in found)


def _write_wanted(answer: Any) -> str:
    """Return the right answer so that math-verify sees that it is one."""
    if hasattr(answer, "item") and not isinstance(answer, str):  # a number of NumPy or PyTorch
        answer = answer.item()
    if isinstance(answer, bool) or not isinstance(answer, str | int | float) or not str(answer).strip():
        raise InputError(f"the column with the answer is not mathematics: {answer!r:.60}")
    written = str(answer).strip()
    return written if any(mark in written for mark in _MARKS) else f"\\boxed{{{written}}}"


class _Worker:
    """The process that compares, for all threads; started when it is needed first, and again after it was killed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._asked = 0
        self._of_parents: list[Child | None] = []

    def forget(self) -> None:
        """Leave the process to the parent that this one was forked from."""
        self._of_parents.append(self._child)  # Popen would warn of one that is still running
        self._lock, self._child = threading.Lock(), None

    def compare(self, wanted: str, found: str, seconds: float) -> bool:
        """Return whether two answers are equal, or raise FeatureTimeout or InputError."""
        with self._lock:
            child = self._child or self._start()
            until = time.monotonic() + seconds  # without the time for others, or for SymPy to be imported
            self._asked = number = self._asked + 1
            try:
                child.send([number, wanted, found])
                while (answered := child.receive(until) or (number, None))[0] != number:
                    pass  # that is the answer to a question whose asker was interrupted
            except NoAnswer:
                self._end()
                raise FeatureTimeout(f"math-verify did not compare the answers within {seconds:g} s") from None
            except BaseException:
                self._end()
                raise
            if (said := answered[1]) is None:
                self._end()
        if said is None or said == "failed":
            raise InputError(f"math-verify could not compare the answer, it may need too much memory: {found!r:.60}")
        if said == "wanted":
            raise InputError(f"math-verify finds no mathematics in the column with the answer: {wanted!r:.60}")
        return bool(said)

    def _start(self) -> Child:
        self._child = child = Child("mathematics_child.py")
        try:
            child.send([sys.path, _MEMORY])
            ready = child.receive(time.monotonic() + _START)
        except BaseException:
            self._end()
            raise
        if ready is None:
            self._end()
            raise RuntimeError("the process that runs math-verify ended before it was asked anything")
        return child

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()

    def close(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            self._end()


_WORKER = _Worker()
atexit.register(_WORKER.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_WORKER.forget)
