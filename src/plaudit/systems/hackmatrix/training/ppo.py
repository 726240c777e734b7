"""PPO, all of it: network, rollout, advantages, loss and update, compiled into one function.

The algorithm is that of Schulman et al. (2017, arXiv:1707.06347) with generalised advantages (2016, arXiv:1506.02438)
and masks on illegal actions (Huang and Ontañón 2020, arXiv:2006.14171). What is easily got wrong:

- An observation is kept with the action that was taken *on* it, because both are made from the same state.
- After the end of an episode the next observation is the first one of the new episode.
- An episode that ended is worth nothing afterwards. One that was only cut off (`max_steps`) is worth what the network
  says of the state in which it was cut off.
- A mask is kept for the update: the new policy is compared with the old one over the same legal actions.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from plaudit.systems.hackmatrix.training.config import Config

Array = jax.Array
States = Any
"""The states of all games: a tree of arrays whose first axis is the game."""
Params = dict[str, list[dict[str, Array]] | dict[str, Array]]
Metrics = dict[str, Array]

ILLEGAL = -1e9
"""The logit of an action that is not legal: its probability is 0."""


# -- what is played ------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What a step brought, an entry for each game."""

    reward: Array
    terminated: Array
    truncated: Array
    terms: Array
    """What each term of the reward gave, in the last axis."""
    stage: Array
    """The stage on which the step was taken."""
    won: Array
    final: States = None
    """The states before new episodes began; only where episodes may be cut off."""
    inputs: Any = None
    """What the reward read, by name; only of `advance`."""
    board: Any = None
    """What lay on the board before the step, as the game keeps it; only of `advance`, and of games that have one."""

    @property
    def ended(self) -> Array:
        """Whether the episode is over, one way or the other."""
        return self.terminated | self.truncated


class Environment(NamedTuple):
    """Many games as one: every function takes and gives back all of them."""

    actions: int
    terms: tuple[str, ...]
    reset: Callable[[Array, int], States]
    """The states of that many new games, from a key."""
    observe: Callable[[States], Array]
    """What the network sees, a row for each game."""
    mask: Callable[[States], Array]
    """Which actions are legal, a row for each game."""
    step: Callable[[Array, States, Array], tuple[States, Outcome]]
    """From a key, states and actions the next states, of a new episode where one has ended."""
    advance: Callable[[Array, States, Array], tuple[States, Outcome]]
    """The same without new episodes."""


# -- the network -----------------------------------------------------------------------------------------------------


def init_network(key: Array, inputs: int, actions: int, hidden: tuple[int, ...]) -> Params:
    """Return the weights of a new network: a trunk of hidden layers, a policy and a value on top of it."""
    keys = iter(jax.random.split(key, len(hidden) + 2))
    widths = (inputs, *hidden)

    def layer(width: int, outputs: int, scale: float) -> dict[str, Array]:
        weights = jax.nn.initializers.orthogonal(scale)(next(keys), (width, outputs), jnp.float32)
        return {"weights": weights, "bias": jnp.zeros(outputs, jnp.float32)}

    return {
        "trunk": [layer(width, outputs, 2**0.5) for width, outputs in pairwise(widths)],
        "policy": layer(widths[-1], actions, 0.01),  # at first all actions are nearly equal
        "value": layer(widths[-1], 1, 1.0),
    }


def apply_network(params: Params, observation: Array, mask: Array) -> tuple[Array, Array]:
    """Return the logarithms of the actions' probabilities, and what the state is worth.

    Matrices are multiplied in the precision of the observation; everything else is float32.
    """

    def layer(weights: Any, inputs: Array) -> Array:
        matrix: Array = weights["weights"].astype(inputs.dtype)
        return jnp.dot(inputs, matrix, preferred_element_type=jnp.float32) + jnp.asarray(weights["bias"])

    inner = observation
    for weights in params["trunk"]:
        inner = jax.nn.relu(layer(weights, inner)).astype(observation.dtype)
    logits = jnp.where(mask, layer(params["policy"], inner), ILLEGAL)
    return jax.nn.log_softmax(logits), layer(params["value"], inner)[..., 0]


def compute_entropy(log_probabilities: Array) -> Array:
    """Return the entropy of a policy in nats; illegal actions have no part in it."""
    return -(jnp.exp(log_probabilities) * log_probabilities).sum(axis=-1)


# -- the state of a run ----------------------------------------------------------------------------------------------


class Episodes(NamedTuple):
    """What episodes came to: of each running game so far, or of all that ended together."""

    number: Array
    returns: Array
    length: Array
    stage: Array
    won: Array
    terms: Array

    @classmethod
    def none(cls, shape: tuple[int, ...], terms: int) -> "Episodes":
        """Return nothing so far."""
        zero = jnp.zeros(shape, jnp.float32)
        return cls(zero, zero, zero, zero, zero, jnp.zeros((*shape, terms), jnp.float32))


class Training(NamedTuple):
    """All that changes during a run; who has it can go on with the run."""

    key: Array
    params: Params
    optimizer: optax.OptState
    states: States
    running: Episodes
    update: Array
    """Updates done."""


class Transition(NamedTuple):
    """One step of every game, as the update needs it."""

    observation: Array
    mask: Array
    action: Array
    log_probability: Array
    value: Array
    reward: Array
    terminated: Array
    truncated: Array
    final_value: Array
    """What the state was worth in which an episode was cut off; 0 where none was."""


def begin(config: Config, environment: Environment) -> Training:
    """Return the state before the first update."""
    begun: Training = _compile_begin(replace(config, seed=0), environment)(jax.random.key(config.seed))
    return begun


@lru_cache(maxsize=8)
def _compile_begin(config: Config, environment: Environment) -> jax.stages.Wrapped:
    def begin_training(key: Array) -> Training:
        key, network, games = jax.random.split(key, 3)
        states = environment.reset(games, config.envs)
        inputs = environment.observe(states).shape[-1]
        params = init_network(network, inputs, environment.actions, config.hidden)
        running = Episodes.none((config.envs,), len(environment.terms))
        return Training(key, params, build_optimizer(config).init(params), states, running, jnp.int32(0))

    return jax.jit(begin_training)


def build_optimizer(config: Config) -> optax.GradientTransformation:
    """Return Adam on gradients of limited length."""
    count = config.updates * config.epochs * config.minibatches
    rate = optax.linear_schedule(config.learning_rate, 0.0, count) if config.decay else config.learning_rate
    return optax.chain(optax.clip_by_global_norm(config.max_gradient), optax.adam(rate, eps=1e-5))


# -- playing ----------------------------------------------------------------------------------------------------------


def play(config: Config, environment: Environment, training: Training) -> tuple[Training, Transition, Episodes]:
    """Play every game for a rollout; return what happened, and the sums over the episodes that ended."""
    dtype = jnp.dtype(config.precision)

    def step(carried: tuple[Array, States, Episodes, Episodes], _: None) -> tuple[Any, Transition]:
        key, states, running, ended = carried
        key, choosing, stepping = jax.random.split(key, 3)
        observation, mask = environment.observe(states).astype(dtype), environment.mask(states)
        log_probabilities, value = apply_network(training.params, observation, mask)
        action = jax.random.categorical(choosing, log_probabilities)
        states, outcome = environment.step(stepping, states, action)
        final = jnp.zeros_like(value)
        if config.max_steps is not None:  # the network is asked only when some game was cut off
            final = jax.lax.cond(outcome.truncated.any(), lambda: value_states(outcome.final), lambda: final)
            final = jnp.where(outcome.truncated, final, 0.0)
        transition = Transition(
            observation,
            mask,
            action,
            pick_chosen(log_probabilities, action),
            value,
            outcome.reward,
            outcome.terminated,
            outcome.truncated,
            final,
        )
        running, ended = count_step(running, ended, outcome)
        return (key, states, running, ended), transition

    def value_states(states: States) -> Array:
        return apply_network(training.params, environment.observe(states).astype(dtype), environment.mask(states))[1]

    nothing = Episodes.none((), len(environment.terms))
    carried = (training.key, training.states, training.running, nothing)
    (key, states, running, ended), transitions = jax.lax.scan(step, carried, None, config.rollout)
    return training._replace(key=key, states=states, running=running), transitions, ended


def pick_chosen(values: Array, action: Array) -> Array:
    """Return the value of the action taken, of values for all actions."""
    return jnp.take_along_axis(values, action[..., None], axis=-1)[..., 0]


def count_step(running: Episodes, ended: Episodes, outcome: Outcome) -> tuple[Episodes, Episodes]:
    """Return the sums of the running episodes after a step, and those of the ended ones with what ended now."""
    with_this = running._replace(
        number=jnp.ones_like(running.number),
        returns=running.returns + outcome.reward,
        length=running.length + 1,
        stage=outcome.stage.astype(jnp.float32),
        won=outcome.won.astype(jnp.float32),
        terms=running.terms + outcome.terms,
    )
    over = outcome.ended

    def where(values: Array, among: Array) -> Array:
        return jnp.where(among.reshape(among.shape + (1,) * (values.ndim - 1)), values, 0)

    sums = jax.tree.map(lambda total, values: total + where(values, over).sum(axis=0), ended, with_this)
    return jax.tree.map(lambda values: where(values, ~over), with_this), sums


# -- learning ---------------------------------------------------------------------------------------------------------


def compute_advantages(transitions: Transition, last_value: Array, *, gamma: float, gae_lambda: float) -> Array:
    """Return how much better each action was than the network expected, with the steps of a rollout in the first axis.

    An episode's end cuts the sum; what comes after a step is worth nothing if the episode ended there, and what the
    network says of its last state if it was cut off.
    """

    def back(carried: tuple[Array, Array], step: Transition) -> tuple[tuple[Array, Array], Array]:
        later, next_value = carried
        over = step.terminated | step.truncated
        after = jnp.where(step.terminated, 0.0, jnp.where(step.truncated, step.final_value, next_value))
        surprise = step.reward + gamma * after - step.value
        advantage = surprise + jnp.where(over, 0.0, gamma * gae_lambda * later)
        return (advantage, step.value), advantage

    small = transitions._replace(observation=(), mask=())  # type: ignore[arg-type]  # nothing to carry through
    return jax.lax.scan(back, (jnp.zeros_like(last_value), last_value), small, reverse=True)[1]


class Minibatch(NamedTuple):
    """What one step of the optimizer sees."""

    observation: Array
    mask: Array
    action: Array
    log_probability: Array
    advantage: Array
    target: Array
    """What the value should have been."""


def compute_loss(params: Params, batch: Minibatch, weight: Array | float, config: Config) -> tuple[Array, Metrics]:
    """Return the loss of a minibatch, with a weight on entropy, and what there is to know about it."""
    log_probabilities, value = apply_network(params, batch.observation, batch.mask)
    log_ratio = pick_chosen(log_probabilities, batch.action) - batch.log_probability
    ratio = jnp.exp(log_ratio)
    advantage = (batch.advantage - batch.advantage.mean()) / (batch.advantage.std() + 1e-8)
    clipped = jnp.clip(ratio, 1 - config.clip, 1 + config.clip)
    policy_loss = -jnp.minimum(ratio * advantage, clipped * advantage).mean()
    value_loss = 0.5 * jnp.square(value - batch.target).mean()
    entropy = compute_entropy(log_probabilities).mean()
    loss = policy_loss + config.value_weight * value_loss - weight * entropy
    return loss, {
        "loss": loss,
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
        "kl": (ratio - 1 - log_ratio).mean(),  # Schulman's low-variance estimate of KL(old, new)
        "clip_fraction": (jnp.abs(ratio - 1) > config.clip).mean(),
    }


def compute_entropy_weight(config: Config, update: Array | int) -> Array | float:
    """Return the weight of entropy after that many updates."""
    end = config.entropy if config.entropy_end is None else config.entropy_end
    return config.entropy + (end - config.entropy) * (update / config.updates)


def learn(config: Config, training: Training, batch: Minibatch) -> tuple[Training, Metrics]:
    """Go through a batch, in minibatches, for as many epochs as are set."""
    optimizer, weight = build_optimizer(config), compute_entropy_weight(config, training.update)

    def step(carried: tuple[Params, optax.OptState], rows: Array) -> tuple[Any, Metrics]:
        params, state = carried
        minibatch = jax.tree.map(lambda column: column[rows], batch)
        gradients, metrics = jax.grad(compute_loss, has_aux=True)(params, minibatch, weight, config)
        changes, state = optimizer.update(gradients, state, params)
        metrics["gradient"] = jnp.sqrt(sum(jnp.square(each).sum() for each in jax.tree.leaves(gradients)))
        return (optax.apply_updates(params, changes), state), metrics

    key, shuffling = jax.random.split(training.key)
    each_epoch = jax.random.split(shuffling, config.epochs)
    orders = jax.vmap(lambda key: jax.random.permutation(key, config.batch))(each_epoch)
    rows = orders.reshape(config.epochs * config.minibatches, -1)
    (params, state), metrics = jax.lax.scan(step, (training.params, training.optimizer), rows)
    means = {name: values.mean() for name, values in metrics.items()}
    return training._replace(key=key, params=params, optimizer=state, update=training.update + 1), means


def compile_update(config: Config, environment: Environment) -> jax.stages.Compiled:
    """Return the update: a rollout, then the lessons of it, compiled as one. The state that it is given is used up."""
    return _compile_update(replace(config, seed=0), environment)  # which plays no part in it


@lru_cache(maxsize=8)
def _compile_update(config: Config, environment: Environment) -> jax.stages.Compiled:
    def update(training: Training) -> tuple[Training, Metrics]:
        training, transitions, ended = play(config, environment, training)
        observation = environment.observe(training.states).astype(config.precision)
        _, last_value = apply_network(training.params, observation, environment.mask(training.states))
        advantages = compute_advantages(transitions, last_value, gamma=config.gamma, gae_lambda=config.gae_lambda)
        targets = advantages + transitions.value
        columns = (*transitions[:4], advantages, targets)
        batch = Minibatch(*(column.reshape(config.batch, *column.shape[2:]) for column in columns))
        training, metrics = learn(config, training, batch)
        most = jnp.log(jnp.maximum(batch.mask.sum(axis=-1), 1)).mean()  # of a policy that knows nothing
        metrics["entropy_share"] = metrics["entropy"] / jnp.maximum(most, 1e-8)
        metrics["explained_variance"] = 1 - (targets - transitions.value).var() / (targets.var() + 1e-8)
        return training, metrics | summarise_episodes(ended, environment.terms)

    shapes = jax.eval_shape(lambda: begin(config, environment))
    return jax.jit(update, donate_argnums=0).lower(shapes).compile()


def summarise_episodes(ended: Episodes, terms: tuple[str, ...]) -> Metrics:
    """Return the means over the episodes that ended; NaN where none did."""
    means = jax.tree.map(lambda total: total / jnp.where(ended.number > 0, ended.number, jnp.nan), ended)
    return {
        "episodes": ended.number,
        "return": means.returns,
        "length": means.length,
        "stage": means.stage,
        "win_rate": means.won,
        **{f"terms/{name}": means.terms[at] for at, name in enumerate(terms)},
    }
