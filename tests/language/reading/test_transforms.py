"""What JAX makes of functions: each call means what JAX computes, or is refused with what to write."""

import inspect

import numpy as np
import pytest

from plaudit import Field, ReadError, Reward, term
from plaudit.errors import OutsideDomain
from support.strategies import load

pytest.importorskip("jax")

HEADER = """
import jax
import jax.numpy as jnp
from jax import lax

def square(v):
    return v * v

def pair(v, w):
    return jnp.sum(v * w), {"most": jnp.max(v)}
"""
FIELDS = {
    "x": Field("x"),
    "v": Field("v", length=3),
    "w": Field("w", length=3),
    "u": Field("u", length=2),
    "m": Field("m", shape=(2, 3)),
}


def read(parameters, *lines):
    body = "".join(f"    {line}\n" for line in lines)
    function = load(f"{HEADER}\ndef f({parameters}):\n{body}")["f"]
    fields = [FIELDS[name] for name in inspect.signature(function).parameters]
    return function, Reward("tried", version="1", terms=[term(function)], fields=fields)


READ = {
    "cond": ("x", "return lax.cond(x > 0, lambda y: y * 2.0, lambda y: -y, x)"),
    "cond of names": ("x", "return jax.lax.cond(x > 1, square, lambda q: q / 2.0, x)"),
    "cond without an operand": ("x", "return lax.cond(x > 0, lambda: 1.0, lambda: jnp.abs(x))"),
    "cond with operand=None": ("x, v", "return lax.cond((x > 0) & (v[0] > 0), lambda _: jnp.sum(v), lambda _: x, operand=None)"),
    "cond with None": ("x", "return lax.cond(x > 0, lambda _: x, lambda _: 0.0, None)"),
    "cond of tuples": ("x, v", "a, b = lax.cond(x > 0, lambda p, q: (p, q[0]), lambda p, q: (q[1], p), x, v)", "return a - 2 * b"),
    "select": ("x, v", "return lax.select(v > 0, v, -2.0 * v).sum() + lax.select(x > 0, x, 0.5)"),
    "vmap": ("v, w", "return jnp.sum(jax.vmap(lambda a, b: a * b)(v, w))"),
    "vmap of a function of numbers": ("m", "return jax.vmap(jnp.sum)(m).max() + jax.vmap(jax.vmap(square))(m).sum()"),
    "vmap with in_axes": ("m, v", "return jax.vmap(lambda r, q: jnp.dot(r, q), in_axes=(0, None))(m, v).max()"),
    "vmap of several values": ("m, v", "s, d = jax.vmap(pair, (0, None))(m, v)", "return s.sum() + d['most'].max()"),
    "vmap over constants": ("x, v", "return jax.vmap(lambda i: x * i + v[i])(jnp.arange(3)).sum()"),
    "vmap with a name": ("v, x", "one = jax.vmap(lambda e: lax.cond(e > x, square, lambda z: 0.0, e))", "return one(v).sum()"),
    "vmap in vmap": ("v, u", "return jax.vmap(lambda a: jax.vmap(lambda b: a * b + u[0])(u))(v)[2, 1]"),
    "vmap of a local function": ("v", "def one(i):", "    return v[i] * i", "return jax.vmap(one)(jnp.arange(3)).sum()"),
    "fori_loop": ("x, v", "return lax.fori_loop(0, v.shape[0], lambda i, t: t + i * v[i] + x, 0.0)"),
}  # fmt: skip


@pytest.mark.parametrize("case", READ.values(), ids=READ)
def test_a_call_means_what_jax_computes(case):
    import jax
    import jax.numpy as jnp

    function, reward = read(*case)
    random = np.random.default_rng(0)
    for _ in range(5):
        row = {name: random.normal(size=FIELDS[name].shape or None) for name in reward.fields}
        with jax.enable_x64(True):
            wanted = float(function(**{name: jnp.asarray(value) for name, value in row.items()}))
        assert reward.score(**row).total == pytest.approx(wanted, rel=1e-12)


def test_the_branch_of_a_cond_that_is_not_taken_is_not_computed():
    _, reward = read("x", "return lax.cond(x > 0, lambda y: jnp.log(y), lambda y: -y, x)")
    assert reward.score(x=-2.0).total == 2.0
    _, reward = read("x", "return lax.cond(x > 0, lambda y: -y, lambda y: jnp.log(y), x)")
    with pytest.raises(OutsideDomain):
        reward.score(x=-2.0)


REFUSED = {
    "another axis": (("m", "return jax.vmap(jnp.sum, in_axes=1)(m).sum()"), "in_axes is 0 or None"),
    "another axis of the result": (("m", "return jax.vmap(square, out_axes=1)(m).sum()"), "cannot be read"),
    "too few axes": (("v, w", "return jax.vmap(jnp.dot, in_axes=(0,))(v, w).sum()"), "cannot be read"),
    "lengths that differ": (("v, u", "return jax.vmap(lambda a, b: a + b)(v, u).sum()"), "the same length"),
    "a number": (("x", "return jax.vmap(square)(x)"), "runs along the first axis of arrays, and this is a number"),
    "what is no function": (("x", "return lax.cond(x > 0, 1.0, 2.0)"), "only a function can be called"),
    "an end that is data": (("x", "return lax.fori_loop(0, x, lambda i, t: t, 0.0)"), "a constant integer is needed"),
    "a while loop": (("x", "return lax.while_loop(lambda t: t < x, square, 2.0)"), "cannot be read"),
}


@pytest.mark.parametrize(("case", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused(case, why):
    with pytest.raises(ReadError, match=why):
        read(*case)
