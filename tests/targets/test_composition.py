"""Composed and scheduled rewards on every target; rewards that are neither run the very code that they ran."""

import hashlib
import json

import numpy as np
import pytest

from golden.rewards import REWARDS
from plaudit import Reward, Scores, term
from plaudit.language.codec import encode_nodes
from plaudit.schedules import cosine, exponential, linear, piecewise
from support.composed import COUNTS, STEPS, by_hand, rows, training, walking
from support.running import GRADIENTS, SCORING, TARGETS, mark_numba_slow, need, scored, wide

REWARD, TRAINING = walking(), training()


@pytest.mark.parametrize("target", SCORING)
@pytest.mark.parametrize("reward", [REWARD, TRAINING], ids=["composed", "scheduled"])
def test_every_target_gives_every_row(target, reward):
    columns = STEPS | (COUNTS if reward is TRAINING else {})
    found = scored(reward, target, columns)
    weights = [linear(0, 2, over=100)(step) for step in COUNTS["step"].tolist()]
    gains = [linear(0.5, 0.125, over=8)(epoch) for epoch in COUNTS["epoch"].tolist()]
    numbers = [{"weight": w, "gain": g} for w, g in zip(weights, gains, strict=True)]
    wanted = [by_hand(row, **(more if reward is TRAINING else {})) for row, more in zip(rows(), numbers, strict=True)]
    np.testing.assert_allclose(found.total, wanted, rtol=1e-12, atol=1e-12)
    assert list(found.values) == ["forward", "effort", "termination", "gate", "clamp", "fell", "ran"]
    np.testing.assert_allclose(sum(found.values.values()), found.total, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.scores["fell"], STEPS["height"] < 0.125)


@pytest.mark.parametrize("target", SCORING)
def test_every_schedule_is_what_it_says_when_called(target):
    schedules = {
        "a": linear(0.1, 0.7, over=30, begin=5),
        "b": cosine(-2, 3, over=30),
        "c": exponential(-1, -0.01, over=30),
        "d": piecewise([1, 2, 3], at=[10, 20]),
    }

    def one():
        return 1.0

    terms = [term(name=name, weight=weight)(one) for name, weight in schedules.items()]
    reward = Reward("r", version="1", terms=terms, fields=[])
    count = np.arange(40.0)
    found = scored(reward, target, {"step": count})
    for name, schedule in schedules.items():
        wanted = [schedule(each) for each in count.tolist()]
        if name in "ad" and target in ("python", "numpy", "numba"):
            assert found.values[name].tolist() == wanted
        np.testing.assert_allclose(found.values[name], wanted, rtol=1e-13)


@pytest.mark.parametrize("target", mark_numba_slow(SCORING))
def test_numbers_above_the_terms_can_be_passed_with_a_batch(target):
    params = {"gate.reach": 2.0, "override.fell": -9.0, "dt": 1.0}
    wanted = scored(REWARD.with_params(params), "python", STEPS)
    np.testing.assert_allclose(scored(REWARD, target, STEPS, params=params).total, wanted.total, rtol=1e-12)


@pytest.mark.parametrize("target", mark_numba_slow(TARGETS))
def test_a_schedule_that_takes_no_time_makes_every_row_bad(target):
    found = scored(TRAINING, target, STEPS | COUNTS, params={"forward.weight.over": 0.0})
    assert not found.ok.any()
    assert np.isnan(found.total).all()


@pytest.mark.parametrize("target", GRADIENTS)
def test_gradients_go_through_gates_schedules_and_scales(target):
    library = need(target)
    columns = {
        "speed": [4.0, 3.0],
        "torque": [1.0, 2.0],
        "height": [0.25, 1.5],
        "step": [50.0, 20.0],
        "epoch": [1.0, 9.0],
    }
    columns = {name: np.array(column) for name, column in columns.items()} | {"fallen": np.array([False, True])}
    names = ["forward.weight.end", "forward.weight.over", "gate.reach", "dt", "effort.gain.start", "override.fell"]
    compiled = TRAINING.compile(target, on_bad="mask")

    def total(values):
        return float(scored(TRAINING, "numpy", columns, params=values).total.sum())

    with wide(target):
        if target == "jax":
            slopes = library.jit(library.grad(lambda values: compiled(columns, values).total.sum()))
            found = slopes({name: TRAINING.params[name] for name in names})
        else:
            leaves = {
                name: library.tensor(TRAINING.params[name], dtype=library.float64, requires_grad=True) for name in names
            }
            compiled(
                {name: library.as_tensor(column) for name, column in columns.items()}, leaves
            ).total.sum().backward()
            found = {name: 0.0 if leaf.grad is None else leaf.grad for name, leaf in leaves.items()}
    for name in names:
        here, step = TRAINING.params[name], 1e-6
        slope = (total({name: here + step}) - total({name: here - step})) / (2 * step)
        assert float(found[name]) == pytest.approx(slope, rel=1e-4, abs=1e-7), name
    assert float(found["forward.weight.end"]) != 0
    assert float(found["gate.reach"]) != 0


def test_a_gradient_reaches_what_is_no_threshold():
    found = TRAINING.gradients()
    assert found["forward.weight.end"]
    assert found["override.fell"]
    assert not found["fell.floor"]


def test_jax_scans_over_the_steps_of_a_training():
    jax = need("jax")
    compiled = TRAINING.compile("jax", on_bad="mask")
    moves = {name: jax.numpy.asarray(column) for name, column in STEPS.items()}

    def advance(count, row):
        return count + 1, compiled({**row, "step": count, "epoch": 0.0}).total

    _, totals = jax.lax.scan(advance, 0.0, moves)
    wanted = scored(TRAINING, "numpy", {**STEPS, "step": np.arange(7), "epoch": np.zeros(7)}).total
    np.testing.assert_allclose(np.asarray(totals), wanted, rtol=1e-5, atol=1e-5)


GENERATED = {
    "maze": ("3874616e6c1691a6", "3ab89ea34186611f", "2f51708a0f725df6"),
    "errand": ("3a3a85ed4f03a58a", "2f7f2d7f222a1153", "075f949357476a0a"),
}
"""Digests of the Program and of the generated code of Python and NumPy, from before there was any composition."""


@pytest.mark.parametrize("name", GENERATED)
def test_a_reward_that_uses_none_of_it_runs_the_very_code_that_it_ran(name):
    reward = REWARDS[name]
    program = reward.program
    guards = [[guard.node, guard.where, guard.why] for guard in program.guards()]
    parts = [encode_nodes(program.nodes), list(program.outputs.items()), guards, [*program.inputs], [*program.terms]]
    texts = (json.dumps(parts), reward.compile("python").source, reward.compile("numpy")._default.function.source)
    assert tuple(hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts) == GENERATED[name]


def test_scores_are_plain_pytrees():
    found = scored(REWARD, "numpy", STEPS)
    assert isinstance(found, Scores)
    assert found.ok.all()


def test_a_batch_may_have_one_count_for_all_rows():
    found = scored(TRAINING, "numpy", {**STEPS, "step": 50, "epoch": 0})
    wanted = scored(TRAINING, "numpy", {**STEPS, "step": np.full(7, 50), "epoch": np.zeros(7)})
    np.testing.assert_array_equal(found.total, wanted.total)


def test_numba_and_numpy_agree_to_the_bit_with_python():
    columns = {**STEPS, **COUNTS}
    wanted = scored(TRAINING, "python", columns)
    for target in ("numpy", "numba"):
        found = scored(TRAINING, target, columns)
        for name, values in wanted.values.items():
            np.testing.assert_array_equal(found.values[name], values)
