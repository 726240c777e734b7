"""EPIC of two rewards against the same by hand in NumPy, in turns, and how much memory it takes.

`python bench/compare.py [steps]`. 512 actions and next states for each mean. Both draw the same number of steps. By
hand every start is scored with every one of the 512 draws; `compare` takes a sum apart, and pairs only what reads both
sides of a step. Of a total that is clamped nothing can be taken apart: there it does the same work.
"""

import tracemalloc

import numpy as np
from timing import QUICK, compare, size, table

from plaudit import Field, Reward, Task, analysis, term

GAMMA = 0.99
MEANS = 16 if QUICK else 512
BLOCK = 32_768


@term
def near(curr, *, reach=0.5):
    return 1 if abs(curr.position) < reach else 0


@term
def towards(prev, curr, *, gain=10.0):
    return gain * (abs(prev.position) - GAMMA * abs(curr.position))


@term(weight=-0.1)
def effort(force):
    return force * force


@term
def smooth(prev, curr):
    return -abs(curr.position - prev.position)


FIELDS = [Field("position", low=-5, high=5), Field("force", low=-1, high=1)]
TASK = Task(discount=GAMMA)
ONE = Reward("one", version="1", terms=[near, towards, effort], fields=FIELDS, task=TASK)
OTHER = Reward("other", version="1", terms=[near, towards, effort, smooth], fields=FIELDS, task=TASK)
CLAMP = 5.0
CLAMPED = [
    Reward(each.name, version="clamped", terms=each.terms, fields=FIELDS, task=TASK, high=CLAMP)
    for each in (ONE, OTHER)
]


def pay(prev, curr, force, smoothly):
    """Return what a step pays by hand."""
    paid = np.where(np.abs(curr) < 0.5, 1.0, 0.0) + 10.0 * (np.abs(prev) - GAMMA * np.abs(curr)) - 0.1 * (force * force)
    return paid - np.abs(curr - prev) if smoothly else paid


def pay_clamped(*step):
    """Return the same, held below a number."""
    return np.minimum(pay(*step), CLAMP)


def measure_by_hand(samples, pay=pay):
    """Return EPIC by hand: block by block, so that it fits into the cache as ours does."""
    rng = np.random.default_rng(0)
    products = np.zeros((2, 2))
    for start in range(0, samples, BLOCK):
        count = min(BLOCK, samples - start)
        prev, curr = rng.uniform(-5, 5, (2, count))
        force = rng.uniform(-1, 1, count)
        after, actions = rng.uniform(-5, 5, MEANS), rng.uniform(-1, 1, MEANS)
        forms = []
        for smoothly in (False, True):
            starts = np.concatenate((prev, curr, after))
            mean = np.zeros(len(starts))
            for position, action in zip(after, actions, strict=True):
                mean += pay(starts, position, action, smoothly)
            mean /= MEANS
            canonical = pay(prev, curr, force, smoothly) + GAMMA * mean[count : 2 * count] - mean[:count]
            forms.append(canonical - canonical.mean())
        products += np.stack(forms) @ np.stack(forms).T
    return np.sqrt((1 - products[0, 1] / np.sqrt(products[0, 0] * products[1, 1])) / 2)


def main(samples):
    for what, rewards, by_hand in (("a sum", (ONE, OTHER), pay), ("a clamped sum", CLAMPED, pay_clamped)):
        ours = analysis.compare(*rewards, samples=samples, means=MEANS)["epic"]
        theirs = measure_by_hand(samples, by_hand)
        assert abs(ours.value - theirs) < 0.05
        contenders = {
            "by hand": lambda by_hand=by_hand: measure_by_hand(samples, by_hand),
            "compare": lambda rewards=rewards: analysis.compare(*rewards, samples=samples, means=MEANS),
        }
        result = compare(contenders, calls=1, rounds=2)
        print(f"EPIC of {what}, {samples:,} steps, {MEANS} draws for each mean: {ours}, by hand {theirs:.4f}")
        best = result.best.items()
        rows = [(name, f"{seconds:.2f}", f"{1 / result.ratio(name, 'by hand'):.2f}x") for name, seconds in best]
        table([("what", "seconds", "against by hand"), *rows])
    peaks = []
    for count in (samples // 4, samples):
        tracemalloc.start()
        analysis.compare(ONE, OTHER, samples=count, means=2)
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    print(f"memory: {peaks[0]:.0f} MB for {samples // 4:,} steps, {peaks[1]:.0f} MB for {samples:,}")


if __name__ == "__main__":
    main(size(1_000_000, quick=4_000))
