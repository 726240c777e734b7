"""How often another action would be best: each step scored under every action that could have been taken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.compare.coverage import Coverage, Steps, list_entries
from plaudit.analysis.compare.measures import CONFIDENCE, RESAMPLES, Scorer
from plaudit.reward.declared import find_fact_inputs
from plaudit.reward.reward import Reward

Numbers = NDArray[np.float64]

MOST_ACTIONS = 64
MOST_STEPS = 100_000


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The share of steps in which no action is best under both rewards, for every pair."""

    value: Numbers
    low: Numbers
    high: Numbers
    steps: int
    """Steps that leave a choice between two actions at least."""
    tied: float
    """The share of choices in which a reward finds several actions best."""


def find_action(rewards: Sequence[Reward]) -> str | None:
    """Return the field that all rewards which name one call the action."""
    named = {reward.action for reward in rewards if reward.action is not None}
    return next(iter(named)) if len(named) == 1 else None


def measure_disagreement(rewards: Sequence[Reward], coverage: Coverage, seed: int) -> Disagreement | str:
    """Return how often another action would be best, or why this is unknown."""
    action = find_action(rewards)
    entries = list_entries(rewards)
    if action is None:
        return "no reward names its action field, or they name different ones"
    if action not in entries or (choices := entries[action].choices) is None:
        return f"the field {action} does not list its values"
    if len(choices) > MOST_ACTIONS:
        return f"there are {len(choices)} actions; at most {MOST_ACTIONS} are tried"
    tied_to = _find_tied(rewards, action)
    keeps = coverage.keeps_facts
    scorers = [Scorer(reward, guard=keeps is None) for reward in rewards]
    rng = np.random.default_rng([seed, 4])
    counts, differs, ties, seen = [], [], 0, 0
    for block in coverage:
        steps = block.steps
        scores = np.stack([_score_action(scorers, steps, action, choice, tied_to, keeps, rng) for choice in choices])
        possible = np.all(np.isfinite(scores), axis=1)  # [action, step]
        scores = np.where(possible[:, None, :], scores, -np.inf)
        free = possible.sum(axis=0) >= 2
        best = (scores == scores.max(axis=0)) & possible[:, None, :]  # [action, reward, step]
        best = best[:, :, free]
        shared = np.einsum("ais,ajs->ijs", best, best)  # bools: whether some action is best under both
        counts.append(int(free.sum()))
        differs.append((~shared).sum(axis=2).astype(np.float64))
        ties += int((best.sum(axis=0) > 1).sum())
        seen += len(steps)
        if seen >= MOST_STEPS:
            break
    total = sum(counts)
    if not total:
        return "no step leaves a choice between actions"
    value = sum(differs) / total
    low = high = value
    if not coverage.exact:
        low, high = _resample(np.array(counts), np.stack(differs), rng)
    return Disagreement(value, np.minimum(low, value), np.maximum(high, value), total, ties / (total * len(rewards)))


def _resample(counts: NDArray[Any], differs: Numbers, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    blocks = len(counts)
    if blocks < 2:
        return (np.full(differs.shape[1:], np.nan),) * 2
    weights = rng.multinomial(blocks, np.full(blocks, 1 / blocks), size=RESAMPLES)
    found = np.tensordot(weights, differs, 1) / np.maximum(weights @ counts, 1)[:, None, None]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(found, (tail, 1 - tail), axis=0)
    return low, high


def _find_tied(rewards: Sequence[Reward], action: str) -> list[str]:
    """Return what a fact ties to the action: it comes with it, as braking comes with the brake."""
    found: dict[str, None] = {}
    for reward in rewards:
        for fact in reward._bound.facts_program.outputs:
            inputs = find_fact_inputs(reward._bound.facts_program, fact)
            if action in inputs:
                others = {name: reward.task.find_role(each.name) for name, each in inputs.items() if name != action}
                found |= {name: None for name, role in others.items() if role != "state"}
    return [name for name in found if "." not in name]


def _score_action(
    scorers: Sequence[Scorer],
    steps: Steps,
    action: str,
    choice: Any,
    tied_to: Sequence[str],
    keeps: Callable[[Steps], NDArray[np.bool_]] | None,
    rng: np.random.Generator,
) -> Numbers:
    """Return what each reward pays if `choice` had been taken; NaN where it could not have been."""
    taken = steps.after[action] == choice
    after = {**steps.after, action: np.full(len(steps), choice, steps.after[action].dtype)}
    if tied_to and taken.any():
        donors = rng.choice(np.flatnonzero(taken), size=len(steps))
        for name in tied_to:
            if name in after:
                after[name] = np.where(taken, after[name], after[name][donors])
    moved = Steps(steps.before, after, steps.terminal)
    scores = np.stack([scorer.score(moved) for scorer in scorers])
    if keeps is not None:
        scores = np.where(keeps(moved), scores, np.nan)
    elif tied_to and not taken.any():
        scores = np.full_like(scores, np.nan)
    return scores
