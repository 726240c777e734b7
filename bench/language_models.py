"""Rewards of language models: the whole adapter for TRL, with its logging hooks, against the bare features.

`python bench/language_models.py [completions]`. A batch of completions in groups of eight, scored by four features
written here: a number in a box, its equality with the answer, the length, and repeated words. "bare" calls the four
functions for each completion and nothing else. The second table is what recording every rollout adds, durable when the
reward is returned; the third a judge of 50 ms, against what so many calls side by side can take at best.
"""

import asyncio
import re
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import QUICK, compare, size, table

from plaudit import Field, Ledger, Reward, term
from plaudit.adapters.trl import reward_func
from plaudit.llm import Scoring, feature

GROUP = 8
BOXED = re.compile(r"\\boxed\{([^{}]*)\}")
HOOKS = {"log_extra": lambda name, values: None, "log_metric": lambda name, value: None}


@feature
def boxed(text):
    return bool(BOXED.search(text))


@feature
def right(text, answer):
    found = BOXED.findall(text)
    return bool(found) and found[-1] == answer


@feature
def words(text):
    return len(text.split())


@feature
def repeated(text):
    listed = text.split()
    grams = list(zip(listed, listed[1:], listed[2:], strict=False))
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


FEATURES = [boxed, right, words, repeated]


@term
def correct(right):
    return 1 if right else 0


@term(weight=0.1)
def form(boxed):
    return 1 if boxed else 0


@term(weight=-0.2, high=1.0)
def length(words, *, budget=300.0):
    return words / budget


@term(weight=-0.5)
def loops(repeated):
    return repeated


REWARD = Reward(
    "answers",
    version="1",
    terms=[correct, form, length, loops],
    fields=[
        Field("boxed", flag=True),
        Field("right", flag=True),
        Field("words", low=0),
        Field("repeated", low=0, high=1),
    ],
)


def draw(count: int, length: int) -> dict[str, list[str]]:
    """Return a batch as TRL passes it."""
    rng = np.random.default_rng(0)
    known = [f"word{at}" for at in range(500)]
    texts = [" ".join(rng.choice(known, length)) + rf" so \boxed{{{at % 5}}}" for at in range(count)]
    return {
        "prompts": [f"question {at // GROUP}" for at in range(count)],
        "completions": texts,
        "answer": [str(at % 3) for at in range(count)],
    }


def run_bare(batch: dict[str, list[str]]) -> None:
    for text, answer in zip(batch["completions"], batch["answer"], strict=True):
        boxed.function(text)
        right.function(text, answer)
        words.function(text)
        repeated.function(text)


def measure_adapter(count: int) -> None:
    rows: list[tuple[str, ...]] = [("words", "bare", "whole adapter", "against bare")]
    for length in (20, 200):
        batch = draw(count, length)
        score = reward_func(Scoring(REWARD, FEATURES, timeout=None))
        ways = {"bare": lambda: run_bare(batch), "adapter": lambda: score(**batch, **HOOKS)}  # noqa: B023
        found = compare(ways, calls=3, rounds=30)
        bare, whole = (1e3 * found.best[way] for way in ways)
        rows.append((str(length), f"{bare:.2f} ms", f"{whole:.2f} ms", f"{whole / bare:.2f}x"))
    table(rows)


def measure_recording(count: int) -> None:
    batch = draw(count, 200)
    rows: list[tuple[str, ...]] = [("what", "a batch", "more than without")]
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder, Ledger(Path(folder) / "r.db") as ledger:
        ways = {
            "not recorded": reward_func(Scoring(REWARD, FEATURES)),
            "recorded, texts kept": reward_func(Scoring(REWARD, FEATURES, ledger=ledger, run="a")),
            "recorded, ids of texts": reward_func(Scoring(REWARD, FEATURES, ledger=ledger, run="b", texts="hash")),
        }
        found = compare({name: lambda way=way: way(**batch) for name, way in ways.items()}, calls=1, rounds=20)
    without = found.best["not recorded"]
    rows += [(name, f"{1e3 * best:.1f} ms", f"{1e3 * (best - without):.1f} ms") for name, best in found.best.items()]
    table(rows)


def measure_judge(count: int, *, concurrency: int = 64, seconds: float = 0.05) -> None:
    @feature(judge=True, name="repeated")
    async def judge(text):
        await asyncio.sleep(seconds)
        return 0.5

    scoring = Scoring(REWARD, [boxed, right, words, judge], concurrency=concurrency)
    batch = draw(count, 20)
    samples = [
        {"prompt": prompt, "completion": text, "answer": answer}
        for prompt, text, answer in zip(*batch.values(), strict=True)
    ]
    start = time.perf_counter()
    scoring.score(samples)
    spent = time.perf_counter() - start
    ideal = -(-count // concurrency) * seconds
    rows = [("calls", "at once", "spent", "at best", "against that")]
    rows.append((str(count), str(concurrency), f"{spent:.3f} s", f"{ideal:.3f} s", f"{spent / ideal:.2f}x"))
    table(rows)


def main(count: int) -> None:
    print(f"{count} completions, four features, logging hooks")
    measure_adapter(count)
    print(f"\nRecording {count} rollouts of 200 words")
    measure_recording(count)
    print("\nA judge of 50 ms")
    measure_judge(8 if QUICK else count)


if __name__ == "__main__":
    main(size(512, quick=32))
