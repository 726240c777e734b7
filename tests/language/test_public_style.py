"""Rewards in the idioms of public code, as they stand: which are read, and that those score what the originals do."""

import pkgutil
from functools import cache
from importlib import import_module

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs plaudit[torch]")
pytest.importorskip("jax", reason="needs plaudit[jax]")

import language.pasted
from plaudit import PlauditError
from support.c_compilers import CFunction
from support.engines import DuckDB
from support.engines import scored as score_in_sql
from support.node import to_scores
from support.pasted import draw_columns, join
from support.running import SCORING, installed, scored

REFUSED = {
    "trading.ratio": "`self.gains` is changed by `self.gains.append(wealth / wealth_before - 1)`",
}
"""What is not read as it stands yet, and what the product says instead. Whoever makes one readable takes it off."""

ROWS = 100
FEW = 25
"""How many rows the targets score whose text runs elsewhere."""
COMPILED = {"numba": ("isaac_lab", "trading"), "jax": ("isaac_lab", "metaworld", "trading")}
"""The frameworks that `make test` compiles, for seconds each; `make soak` does all."""


@cache
def load_pasted():
    """Return all functions by framework and name."""
    names = [each.name for each in pkgutil.iter_modules(language.pasted.__path__) if each.name != "libraries"]
    modules = {name: import_module(f"language.pasted.{name}") for name in sorted(names)}
    return {f"{name}.{each.title}": each for name, module in modules.items() for each in module.PASTED}


def list_readable(framework):
    """Return the functions of a framework that are read."""
    found = load_pasted().items()
    return [each for name, each in found if name.startswith(f"{framework}.") and name not in REFUSED]


@cache
def run_originals(framework):
    """Return the reward of all functions of a framework that are read, rows, and what each original gives for them."""
    readable = list_readable(framework)
    reward = join(readable)
    columns = draw_columns(reward.fields.values(), ROWS)
    wanted = {
        one.title: one.original({each.name: columns[each.name].copy() for each in one.fields})  # some write into them
        for one in readable
    }
    return reward, columns, wanted


FRAMEWORKS = sorted({name.partition(".")[0] for name in load_pasted() if name not in REFUSED})
CALLED = [
    pytest.param(target, each, marks=() if each in COMPILED.get(target, FRAMEWORKS) else pytest.mark.slow)
    for target in SCORING
    for each in FRAMEWORKS
]


@pytest.mark.parametrize("name", load_pasted())
def test_a_function_is_read_as_it_stands(name, counted):
    reason = REFUSED.get(name)
    counted("Public-style functions as they stand", functions=True, read=reason is None, refused=reason is not None)
    if reason is None:
        join([load_pasted()[name]])
        return
    with pytest.raises((PlauditError, TypeError)) as caught:
        join([load_pasted()[name]])
    assert reason in str(caught.value)


@pytest.mark.parametrize(("target", "framework"), CALLED)
def test_what_is_read_scores_what_the_original_does(target, framework):
    if not installed(target):
        pytest.skip(f"needs {target}")
    reward, columns, wanted = run_originals(framework)
    assert_equal(scored(reward, target, columns), wanted)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_is_read_scores_the_same_in_sql(framework):
    pytest.importorskip("duckdb", reason="needs plaudit[data]")
    reward, columns, wanted = run_originals(framework)
    assert_equal(score_in_sql(DuckDB(), reward, to_rows(reward, columns)[:FEW], on_bad="mask"), wanted)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_is_read_scores_the_same_in_c(framework):
    reward, columns, wanted = run_originals(framework)
    assert_equal(CFunction(reward.compile("c"), flags=("-O0",)).score(columns), wanted)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_is_read_scores_the_same_in_javascript(framework, node):
    reward, columns, wanted = run_originals(framework)
    few = {name: column[:FEW].astype(np.uint8 if column.dtype == bool else float) for name, column in columns.items()}
    assert_equal(to_scores(node.run(reward.compile("javascript"), "scoreBatch", few)), wanted)


def assert_equal(found, wanted):
    """Assert that the scores of all terms are those of their originals, to rounding, in as many rows as were scored."""
    assert np.all(found.ok)
    for title, numbers in wanted.items():
        np.testing.assert_allclose(
            found.values[title], numbers[: np.size(found.total)], rtol=1e-9, atol=1e-12, err_msg=title
        )


def to_rows(reward, columns):
    """Return columns as rows with each entry of a vector or matrix in a column of its own."""
    flat = {
        f"{name}{entry}": part
        for name, column in columns.items()
        for entry, part in zip(reward.fields[name].entries or [""], column.reshape(ROWS, -1).T, strict=True)
    }
    return [{name: part[at].item() for name, part in flat.items()} for at in range(ROWS)]
