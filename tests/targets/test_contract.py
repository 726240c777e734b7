"""Every target by one contract, and the contract itself: what it finds, what it refuses to say, what it reports."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from plaudit.errors import InputError, NotFinite, TargetError, UnsupportedNode
from plaudit.targets import Target
from plaudit.targets.compiled import Scores, convert_scores
from plaudit.testing import LAWS, ContractBroken, check_target, run_columns, run_rows
from support.contract import TIMES, draw
from support.running import need

REWARDS = {"python": 6, "numpy": 6, "torch": 8, "numba": 1, "jax": 1}
"""Numba compiles each reward for a second, JAX each operation of it."""
ASIDE = {"jax": 0.25, "torch": 0.15}
"""How many rows may be left aside, as rounding decides what becomes of them: more where sums are in any order."""


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("target", REWARDS)
def test_a_target_keeps_every_law(target, times):
    need(target)
    report = check_target(target, **draw(REWARDS[target], times))
    assert {each.law: each.outcome for each in report.laws} == dict.fromkeys(LAWS, "kept")
    assert report.counts["refused"] == 0
    assert report.counts["aside"] <= ASIDE.get(target, 0.1) * report.counts["rows"]
    assert report.counts["good"] >= 0.3 * report.counts["rows"]
    assert report.counts["bad"] >= 0.05 * report.counts["rows"]


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize(("target", "rewards"), [("jax", 1), ("torch", 3)])
def test_a_target_keeps_every_law_in_float32(target, rewards, times):
    need(target)
    report = check_target(target, **draw(rewards, times), dtype="float32")
    assert {each.outcome for each in report.laws} == {"kept"}
    assert report.counts["aside"] <= 0.25 * report.counts["rows"]


def test_every_target_is_held_to_the_contract():
    files = Path(__file__).parent.glob("*/test_*.py")
    written = {path.parent.name for path in files if "check_target(" in path.read_text(encoding="utf-8")}
    missing = set(get_args(Target)) - set(REWARDS) - written
    assert not missing, f"add {missing} to REWARDS above, or call check_target in a folder of its name beside this file"


# -- what breaks a law -------------------------------------------------------------------------------------------------


def nudged(compiled, batch):
    """One unit in the last place off, on totals that are above 1."""
    found = run_columns(compiled, batch)
    total = np.where(found.total > 1, np.nextafter(found.total, np.inf), found.total)
    return found._replace(total=total)


def lenient(compiled, batch):
    """Bad rows count for nothing, as if nothing had happened."""
    found = run_columns(compiled, batch)
    return convert_scores(found, lambda part: np.where(found.ok, part, 0.0))._replace(ok=np.ones_like(found.ok))


def leaking(compiled, batch):
    """`ok` is right, and a bad row has a number all the same."""
    found = run_columns(compiled, batch)
    return found._replace(total=np.where(found.ok, found.total, 0.0))


def one_for_all(compiled, batch):
    """One bad row spoils the batch."""
    found = run_columns(compiled, batch)
    fine = found.ok.all()
    return convert_scores(found, lambda part: np.where(fine, part, np.nan))._replace(ok=found.ok & fine)


def deaf(compiled, batch):
    """Other values of parameters are not heard."""
    return convert_scores(compiled(batch.columns), np.asarray)


def silent(compiled, batch):
    """Nothing is ever raised."""
    try:
        return run_columns(compiled, batch)
    except InputError:
        nothing = np.full(len(batch.rows), np.nan)
        terms = dict.fromkeys(batch.reward.program.terms, nothing)
        return Scores(nothing, terms, terms, np.zeros(len(nothing), bool))


def vague(compiled, batch):
    """Every error is the same."""
    try:
        return run_columns(compiled, batch)
    except InputError as error:
        raise NotFinite("something is wrong") from error


def shuffled(compiled, batch):
    """Terms have each other's scores."""
    found = run_columns(compiled, batch)
    return found._replace(scores=dict(zip(found.scores, reversed(found.scores.values()), strict=True)))


BREACHES = [
    ("random_rewards", nudged, "to the bit, got"),
    ("random_rewards", lenient, "ok: expected False, got True"),
    ("boundaries", lenient, "ok: expected False, got True"),
    ("missing_values", lenient, "ok: expected False, got True"),
    ("categories", lenient, "ok: expected False, got True"),
    ("guards_left_out", lenient, "ok: expected False, got True"),
    ("vectors", one_for_all, "ok: expected True, got False"),
    ("untaken_branches", one_for_all, "ok: expected True, got False"),
    ("masked_rows", leaking, "total: expected nan, got 0.0"),
    ("raised_errors", silent, "It should raise NotFinite, but raised nothing"),
    ("raised_errors", vague, "It should raise OutOfRange, but raised NotFinite: something is wrong"),
    ("comparisons", shuffled, "lt.score: expected "),
    ("clipped_inputs", shuffled, "inverse.score: expected "),
    ("unusual_names", shuffled, "double.score: expected "),
    ("knobs_at_run_time", deaf, "'far': 4.5"),
]


@pytest.mark.parametrize(("law", "run", "said"), BREACHES)
def test_a_target_that_breaks_a_law_is_told_which_with_the_reward_and_the_row(law, run, said):
    with pytest.raises(ContractBroken) as caught:
        check_target("numpy", laws=[law], run=run)
    message = str(caught.value)
    assert message.startswith(f"the target 'numpy' breaks the law {law!r}: {LAWS[law].__doc__}")
    assert said in message
    assert "Row: {" in message
    assert "def " in message
    assert f"check_target('numpy', laws=[{law!r}], seed=0, rewards=20, rows=64)" in message


def test_every_law_can_be_broken():
    assert {law for law, _, _ in BREACHES} == set(LAWS)


def test_the_same_seed_draws_the_same_rewards_and_another_one_others():
    def list_sources(seed):
        seen = []

        def run(compiled, batch):
            seen.append((batch.case.source, str(batch.rows)))
            return run_columns(compiled, batch)

        check_target("numpy", laws=["random_rewards"], rewards=3, seed=seed, run=run)
        return seen

    assert list_sources(1) == list_sources(1) != list_sources(2)


# -- what is not asked, and what is refused ----------------------------------------------------------------------------


def test_a_law_that_is_left_out_is_in_the_report_with_its_reason():
    report = check_target("numpy", rewards=1, laws=["vectors", "comparisons"], without={"vectors": "not today"})
    assert [(each.law, each.outcome, each.reason) for each in report.laws] == [
        ("vectors", "left out", "not today"),
        ("comparisons", "kept", ""),
    ]
    assert "vectors              left out" in str(report)


def refuse_vectors(compiled, batch):
    if any("[" in name for name in batch.reward.inputs):
        raise UnsupportedNode("vectors are too long here.")
    return run_columns(compiled, batch)


def test_a_refusal_is_no_breach_and_its_reason_is_reported():
    report = check_target("numpy", rewards=12, laws=["random_rewards", "vectors"], run=refuse_vectors)
    drawn, vectors = report.laws
    assert (drawn.outcome, drawn.reason) == ("kept", "vectors are too long here.")
    assert 0 < drawn.counts["refused"] < 12
    assert (vectors.outcome, vectors.reason) == ("refused", "vectors are too long here.")


def test_a_target_that_refuses_everything_keeps_nothing():
    def refuse(compiled, batch):
        raise UnsupportedNode("not even numbers.")

    with pytest.raises(ContractBroken, match="refuses every random reward: not even numbers."):
        check_target("numpy", rewards=2, run=refuse)


def test_rows_may_be_run_one_by_one():
    assert {each.outcome for each in check_target("python", run=run_rows, rewards=1).laws} == {"kept"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": "numpi"}, "there is no target 'numpi'. Did you mean 'numpy'"),
        ({"target": "numpy", "laws": ["vector"]}, "there is no law 'vector'. Did you mean 'vectors'"),
        ({"target": "numpy", "without": {"vector": "x"}}, "there is no law 'vector'"),
        ({"target": "numpy", "dtype": "float16"}, "dtype='float16' is not one of float64, float32"),
    ],
)
def test_what_cannot_be_asked_is_an_error_that_says_what_can(options, said):
    with pytest.raises(TargetError, match=said):
        check_target(**options)
