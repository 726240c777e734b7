"""What a run came to: how well its policy plays, by which reward, and whether the run was healthy."""

import os
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import jax
import numpy as np

from plaudit import __version__
from plaudit.ledger.ledger import Ledger
from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.playing.board import describe_board
from plaudit.systems.hackmatrix.rewards import reward as standard
from plaudit.systems.hackmatrix.training.evaluation import NETWORK, Evaluation, Inputs, build_evaluator, pay_with_all
from plaudit.systems.hackmatrix.training.games import BASELINES
from plaudit.systems.hackmatrix.training.ppo import Environment
from plaudit.systems.hackmatrix.training.run import Run
from plaudit.systems.training.journal import replace_non_finite

SEED = 1_000_003
"""Evaluations of all runs play the same games, which no run was trained on."""


class RunEvaluation(NamedTuple):
    """How well a policy plays, and some of what it did."""

    results: dict[str, dict[str, Evaluation]]
    """By the version of the reward that paid, and by policy; the standard reward is the first."""
    episodes: dict[str, list[Inputs]]
    """What the reward read in some episodes of each policy."""
    boards: dict[str, list[Any]]
    """What lay on the board before each step of these episodes."""


def evaluate_run(
    run: Run,
    reward: Reward,
    paid_by: Callable[[Reward], Environment],
    *,
    episodes: int,
    baselines: bool = False,
    keep: int = 0,
) -> RunEvaluation:
    """Play `episodes` games with the policy of a run, paid by the standard reward, and by its own if that is another.

    `paid_by` makes the game for a reward. With `baselines` policies that need no training play too. What the reward
    read in the first `keep` episodes is kept.
    """
    key = jax.random.key(SEED)
    policies = {**NETWORK, **(BASELINES if baselines else {})}
    rewards = {standard.version: standard}
    if reward.fingerprint != standard.fingerprint:
        own = reward.version if reward.version not in rewards else f"{reward.version}, {reward.fingerprint[:12]}"
        rewards[own] = reward
    game = pay_with_all(paid_by(standard), tuple(rewards.items()))
    evaluate = build_evaluator(game, episodes=episodes, policies=policies, precision=run.config.precision, keep=keep)
    played = {name: evaluate(name, run.params, key) for name in policies}
    results = {label: {name: found.evaluation(label) for name, found in played.items()} for label in rewards}
    inputs, boards = ({name: getattr(found, part) for name, found in played.items()} for part in ("inputs", "boards"))
    return RunEvaluation(results, inputs, boards)


def build_report(run: Run, reward: Reward, evaluation: RunEvaluation) -> dict[str, Any]:
    """Return the report of a run, as JSON has it."""
    results = evaluation.results.items()
    return {
        "system": "hackmatrix",
        "plaudit": __version__,
        "reward": {"version": reward.version, "fingerprint": reward.fingerprint},
        "config": run.config.to_dict(),
        "device": jax.devices()[0].device_kind,
        "cores": os.cpu_count(),
        "jax": jax.__version__,
        "updates": run.update,
        "steps": run.steps,
        "seconds": run.seconds,
        "compile_seconds": run.compiling,
        "steps_per_second": run.speed if run.rows else None,
        "last": run.rows[-1] if run.rows else None,
        "health": {each.measure.key: replace_non_finite(each.to_dict()) for each in run.verdicts},
        "evaluation": {version: {name: each.to_dict() for name, each in found.items()} for version, found in results},
    }


def record_episodes(
    ledger: Ledger,
    reward: Reward,
    episodes: Sequence[Inputs],
    *,
    run: str,
    actor: str,
    steps: int,
    boards: Sequence[Any] = (),
) -> list[int]:
    """Record every step of some episodes and return the numbers of the records.

    `actor` is the policy that played them, after that many `steps` of training. Where `boards` are given, the board
    before a step is part of its context, and the page draws it.
    """
    lengths = [len(episode["action"]) for episode in episodes]
    contexts = [
        {"trained_steps": steps} | _describe_step(board, at)
        for board, length in zip_longest(boards, lengths)
        for at in range(length)
    ]
    return ledger.record_batch(
        reward,
        {name: np.concatenate([episode[name] for episode in episodes]) for name in reward.program.inputs},
        run=run,
        episode=[number for number, length in enumerate(lengths, 1) for _ in range(length)],
        step=[step for length in lengths for step in range(1, length + 1)],
        phase="evaluation",
        actor=actor,
        context=contexts,
    )


def _describe_step(board: Any, at: int) -> dict[str, str]:
    return {} if board is None else {"board": describe_board(jax.tree.map(lambda each: each[at], board))}
