"""The Bradley–Terry likelihood of choices, through the JAX target: its value, gradient and curvature in float64.

A choice falls on the first side with the probability 1 / (1 + exp(-rationality × difference of rewards)).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from plaudit.errors import MissingExtra
from plaudit.learn.preferences.choices import Array, Choices
from plaudit.reward.reward import Reward


class Likelihood(NamedTuple):
    """Functions of one vector: the parameters that are fitted and, last, the logarithm of the rationality."""

    loss: Callable[[Array], tuple[float, Array]]
    """Minus the log-likelihood, and its gradient."""
    curvature: Callable[[Array], Array]
    """The second derivatives of minus the log-likelihood: the observed information."""
    differences: Callable[[Array], Array]
    """Of each choice, how much more the first side earns, in units of log-odds."""


def likelihood(reward: Reward, names: tuple[str, ...], choices: Choices) -> Likelihood:
    """Return the likelihood of `choices` as functions of the parameters called `names`."""
    compiled = _compiled(reward, names)

    def evaluated(function: Any, theta: Array) -> Any:
        with _float64():
            return function(theta, choices)

    def loss(theta: Array) -> tuple[float, Array]:
        (value, _), slope = evaluated(compiled.loss, theta)
        return float(value), np.asarray(slope)

    return Likelihood(
        loss,
        lambda theta: np.asarray(evaluated(compiled.curvature, theta)),
        lambda theta: np.asarray(evaluated(compiled.loss, theta)[0][1]),
    )


def typical(differences: Array) -> float:
    """Return the median size of the differences that are not 0; 0 where all are."""
    sizes = np.abs(differences[differences != 0])
    return float(np.median(sizes)) if sizes.size else 0.0


class _Compiled(NamedTuple):
    loss: Any
    """The loss and the differences it comes from; and its gradient."""
    curvature: Any


def _compiled(reward: Reward, names: tuple[str, ...]) -> _Compiled:
    """Return the compiled functions, which are kept with the reward's Program: compiling takes longer than fitting."""
    kept = reward.program.memo.setdefault("preferences", {})
    if names not in kept:
        kept[names] = _made(reward, names)
    made: _Compiled = kept[names]
    return made


def _made(reward: Reward, names: tuple[str, ...]) -> _Compiled:
    jax, score = _library(), reward.compile("jax", on_bad="mask", dtype="float64")

    def loss(theta: Any, choices: Choices) -> tuple[Any, Any]:
        totals = score(choices.columns, dict(zip(names, theta[:-1], strict=True))).total
        earned = jax.numpy.zeros(choices.share.shape).at[choices.choice].add(choices.factor * totals)
        ahead, share = jax.numpy.exp(theta[-1]) * earned, choices.share
        each = share * jax.nn.log_sigmoid(ahead) + (1 - share) * jax.nn.log_sigmoid(-ahead)
        return -(choices.judgements * each).sum(), ahead

    slope = jax.value_and_grad(loss, has_aux=True)
    return _Compiled(jax.jit(slope), jax.jit(jax.jacfwd(lambda *given: slope(*given)[1])))


@contextmanager
def _float64() -> Iterator[None]:
    """Let JAX have float64 for a while, in this thread only."""
    jax = _library()
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():  # the old name
        yield


def _library() -> Any:
    try:
        import jax
    except ModuleNotFoundError as error:
        raise MissingExtra(f"fitting to preferences needs {error.name}: pip install 'plaudit[jax]'") from None
    return jax
