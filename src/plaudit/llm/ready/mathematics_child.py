"""Compares answers by math-verify, in a process that can be killed; run as a file, never imported.

It is sent one line of JSON with the folders to import from and the bytes of memory it may have, then lines with a
number, what an answer has to be, and the answer. It answers each with a line that has the same number.
"""

import contextlib
import json
import logging
import os
import sys
from functools import lru_cache
from typing import Any


def main() -> None:
    """Answer until nothing is asked any more."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    folders, memory = json.loads(sys.stdin.readline())
    sys.path[:] = folders
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    logging.disable()
    import math_verify

    @lru_cache(maxsize=1000)
    def parse(text: str) -> Any:
        return math_verify.parse(text, parsing_timeout=None, raise_on_error=True)

    def compare(wanted: str, found: str) -> bool | str:
        """Return whether two are equal; "wanted" if the first is not mathematics, "failed" without an answer."""
        try:
            goals = parse(wanted)
            if not goals:
                return "wanted"
            pairs = [(goal, each) for goal in goals for each in parse(found)]
        except (MemoryError, RecursionError):
            return "failed"
        for goal, each in pairs:
            try:
                if math_verify.verify(goal, each, timeout_seconds=None, raise_on_error=True):
                    return True
            except (MemoryError, RecursionError):
                return "failed"
            except Exception:  # SymPy cannot compare things of such different kinds
                continue
        return False

    print(json.dumps("ready"), file=answers, flush=True)
    for line in sys.stdin:
        number, wanted, found = json.loads(line)
        print(json.dumps([number, compare(wanted, found)]), file=answers, flush=True)


if __name__ == "__main__":
    main()
