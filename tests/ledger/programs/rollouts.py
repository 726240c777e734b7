"""Scores rollouts and records them until it is killed.

    rollouts.py LEDGER RUN

It prints each step whose rewards are returned.
"""

import sys
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plaudit import Ledger
from plaudit.llm import Scoring
from support.rollouts import REWARD, build_samples, clear, words


def main(path, run):
    """Record until killed."""
    with Ledger(path) as ledger:
        scoring = Scoring(REWARD, [words, clear], ledger=ledger, run=run)
        for step in count():
            scoring.score(build_samples(run, step), step=step)
            print(step, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
