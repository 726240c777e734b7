"""Steps of HackMatrix a second, with a random legal policy, and where the time goes.

`python bench/hackmatrix.py [environments …]`: needs JAX and NumPy alone, and runs from a checkout without installing
it; with `--quick` everything is traced and nothing compiled, to see that it works. A step is everything a training loop
asks for: mask, action, enemies' turn, reward by component, new boards for the games that ended, and the observation,
written to memory. The peer is the game in plain Python that single environments play, on one core, in the same run; its
steps too have the mask, the reward by component and the observation.
"""

import random
import sys
import time
from collections import OrderedDict
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.board_generation import renew
from plaudit.systems.hackmatrix.calculate import calculate_reward, remember
from plaudit.systems.hackmatrix.env import action_mask, auto_reset_step, reset
from plaudit.systems.hackmatrix.observation import observe
from plaudit.systems.hackmatrix.playing.game import Game
from plaudit.systems.hackmatrix.rewards import reward
from plaudit.systems.hackmatrix.rules import Rules
from plaudit.systems.hackmatrix.turns.actions import act
from plaudit.systems.hackmatrix.turns.enemy_turn import take_enemy_turn

RULES = Rules.reference()
QUICK = "--quick" in sys.argv
STEPS = 100
"""Steps in one program, as in training."""
ROUNDS = 0 if QUICK else 5
REPEATS = 20
"""How often a part of a step is repeated in one program."""
PLAIN_STEPS = 20 if QUICK else 2000


def finish(function, *arguments):
    """Return what a compiled function returns, once it is there; in a hurry, the shapes of it."""
    return jax.eval_shape(function, *arguments) if QUICK else jax.block_until_ready(function(*arguments))


def legal_action(key, mask):
    return jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf))


def play(key, environments: int):
    """Return the state after some steps from new games, and from there on the function that goes on."""

    def one_step(carried, key):
        state, _, sums = carried
        choosing, stepping = jax.random.split(key)
        action = jax.vmap(legal_action)(jax.random.split(choosing, environments), jax.vmap(action_mask)(state))
        keys = jax.random.split(stepping, environments)
        seen, state, _, terminated, _, info = jax.vmap(auto_reset_step)(keys, state, action)
        sums = jax.tree.map(jnp.add, sums, info["reward_components"])
        return (state, seen, sums), terminated.sum()

    @partial(jax.jit, donate_argnums=1)
    def steps(key, carried):
        return jax.lax.scan(one_step, carried, jax.random.split(key, STEPS))

    seen, state = finish(jax.jit(jax.vmap(reset)), jax.random.split(key, environments))
    sums = OrderedDict((term.name, jnp.zeros(environments)) for term in reward.terms)  # as the environment has them
    return steps, (state, seen, sums)


def measure(environments: int) -> tuple[float, float, object]:
    """Return the seconds of a step of all environments, those of the first compilation, and a state in mid-game."""
    key = jax.random.key(environments)
    start = time.perf_counter()
    steps, carried = play(key, environments)
    carried, _ = finish(steps, key, carried)
    compiled = time.perf_counter() - start
    best = float("inf")
    for number in range(ROUNDS):
        start = time.perf_counter()
        carried, ended = finish(steps, jax.random.fold_in(key, number), carried)
        best = min(best, (time.perf_counter() - start) / STEPS)
        assert QUICK or int(ended.sum()) > 0
    return best, compiled, carried[0]


def seconds_of(function, *arguments) -> float:
    """Return the seconds of a part of a step, repeated in one program, for one half of the batch or the other."""
    if QUICK:
        finish(jax.vmap(function), *arguments)
        return 0.0
    half = arguments[-1].shape[0] // 2

    @jax.jit
    def repeated(arguments):
        def once(number, _):
            start = number % 2 * half
            some = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, half), arguments)
            return jax.vmap(function)(*some)

        return jax.lax.fori_loop(0, REPEATS, once, once(0, None))

    finish(repeated, arguments)
    start = time.perf_counter()
    finish(repeated, arguments)
    return (time.perf_counter() - start) / REPEATS


def parts(environments: int, state) -> dict[str, float]:
    """Return the seconds of each part of a step for a batch in mid-game."""
    key = jax.random.key(1)
    keys = jax.random.split(key, environments)
    action = finish(jax.jit(jax.vmap(lambda key, state: legal_action(key, action_mask(state)))), keys, state)
    seeds = jax.random.bits(key, (environments, 2, 2), jnp.uint32)
    yes = jnp.ones(environments, bool)
    some = jnp.arange(environments) % 40 == 0
    return {
        "mask": seconds_of(lambda s, _: action_mask(s), state, action),
        "what the reward remembers": seconds_of(lambda s, a: remember(s, a, rules=RULES).before, state, action),
        "action": seconds_of(lambda s, b, a: act(b[0], s, a).state.snapshot(), state, seeds, action),
        "enemies' turn": seconds_of(lambda s, b, w: take_enemy_turn(b, s, w).snapshot(), state, seeds, yes),
        "keeping a snapshot": seconds_of(lambda s, w: s.history.push(s.snapshot(), w), state, yes),
        "reward": seconds_of(lambda s, a, w: calculate_reward(s, ~w, ~w, ~w, a, rules=RULES), state, action, yes),
        "new boards": seconds_of(
            lambda s, k, w: renew(k, s, stage_over=False, game_over=w).snapshot(), state, keys, some
        ),
        "observation": seconds_of(lambda s, _: observe(s), state, action),
    }


def plain_steps_a_second() -> float:
    """Return how many steps a second the game in plain Python makes, observations included, with the same policy."""
    chance = random.Random(0)
    start, game = time.perf_counter(), Game(0)
    for seed in range(1, PLAIN_STEPS + 1):
        game.play(chance.choice(game.allowed.nonzero()[0].tolist()))
        if game.ended:
            game = Game(seed)
    return PLAIN_STEPS / (time.perf_counter() - start)


def main(batches: list[int]) -> None:
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}; random legal actions, {STEPS} steps in a program")
    if QUICK:
        print("--quick: traced and not compiled, so the figures below mean nothing")
    peer = plain_steps_a_second()
    print(f"peer: the game in plain Python, {peer:,.0f} steps/s on one core")
    for environments in batches:
        seconds, compiled, state = measure(environments)
        rate = environments / seconds
        print(
            f"{environments:7,} environments: {rate:13,.0f} steps/s, {seconds * 1e3:7.3f} ms a step, "
            f"{rate / peer:9,.0f} times the peer; first call {compiled:.0f} s",
            flush=True,
        )
    print(f"where the time goes, {batches[-1] // 2:,} environments, each part alone:")
    for name, seconds in parts(batches[-1], state).items():
        print(f"  {name:26} {seconds * 1e3:8.3f} ms", flush=True)


if __name__ == "__main__":
    main([int(number) for number in sys.argv[1:] if number != "--quick"] or ([16] if QUICK else [256, 2048]))
