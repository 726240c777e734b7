"""What a siphon yields and whether a better cell was there: against the plain game, under every choice of rules."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plaudit.errors import OutOfRange, ShapeMismatch, WrongType
from plaudit.systems.hackmatrix.plain.convert import to_plain
from plaudit.systems.hackmatrix.plain.siphon_quality import compute_siphon_yield as plain_yield
from plaudit.systems.hackmatrix.plain.siphon_quality import find_missed
from plaudit.systems.hackmatrix.rules import PROGRAMS, Rules
from plaudit.systems.hackmatrix.siphon_quality import check_siphon_optimality, compute_siphon_yield
from plaudit.systems.hackmatrix.state import EnvState, Grid, Player, data_block, program_block
from support.hackmatrix_model.boards import entry, random_states

CHOICES = [
    Rules(siphon_candidates=candidates, question_blocks=questions, siphoned_cells=cells)
    for candidates, questions, cells in product(
        ("values", "same_blocks"), ("ignored", "counted"), ("counted", "skipped")
    )
]
CELLS = list(np.ndindex(6, 6))
REFERENCE = Rules.reference()
OPTIONS = ("siphon_candidates", "question_blocks", "siphoned_cells")


def choice(rules):
    return f"{rules.siphon_candidates}, questions {rules.question_blocks}, cells {rules.siphoned_cells}"


def is_apart_in_one(rules):
    """Return whether one option is not as in the reference: of any two options, all pairs are tried without these."""
    return sum(getattr(rules, option) != getattr(REFERENCE, option) for option in OPTIONS) == 1


@pytest.mark.parametrize(
    "rules",
    [pytest.param(rules, marks=pytest.mark.slow if is_apart_in_one(rules) else ()) for rules in CHOICES],
    ids=choice,
)
def test_the_quality_is_that_of_a_comparison_cell_by_cell(rules):
    count = 100
    states = random_states(count, seed=3)
    found = jax.vmap(lambda state: check_siphon_optimality(state, rules=rules))(states)
    expected = [find_missed(to_plain(entry(states, at)), rules=rules) for at in range(count)]
    assert list(zip(found.missed_credits.tolist(), found.missed_energy.tolist(), strict=True)) == expected
    assert found.is_optimal.tolist() == [missed == (0, 0) for missed in expected]
    assert 0.15 < np.mean(found.is_optimal) < 0.85
    assert found.missed_credits.any()
    assert found.missed_energy.any()


@pytest.mark.parametrize("rules", [Rules.seed(), Rules.reference()], ids=choice)
def test_the_yield_is_what_lies_in_reach(rules):
    count = 60
    states = random_states(count, seed=4)
    rows, cols = jnp.array(CELLS).T
    everywhere = jax.vmap(lambda state, row, col: compute_siphon_yield(state, row, col, rules=rules), (None, 0, 0))
    found = jax.vmap(lambda state: everywhere(state, rows, cols))(states)
    found = jax.device_get(found)
    for at in range(count):
        state = to_plain(entry(states, at))
        for number, cell in enumerate(CELLS):
            credits, energy, points, programs = plain_yield(state, cell, rules=rules)
            listed = sorted(points.elements(), reverse=True)
            assert found.credits[at, number] == credits
            assert found.energy[at, number] == energy
            assert found.points[at, number].tolist() == listed + [0] * (5 - len(listed))
            assert {PROGRAMS[slot] for slot in np.flatnonzero(found.programs[at, number])} == programs


def siphon_from(row, col, cells, *, owned=(), rules=None):
    state = EnvState(
        player=Player(row=row, col=col), grid=Grid.of(cells), owned=[name in owned for name in PROGRAMS]
    )  # fmt: skip
    found = check_siphon_optimality(state, rules=rules or Rules.seed())
    return found.is_optimal.item(), found.missed_credits.item(), found.missed_energy.item()


BOTH = pytest.mark.parametrize("rules", [Rules.seed(), Rules.reference()], ids=["seed", "reference"])


@BOTH
def test_a_cell_with_the_same_block_and_more_credits_is_better(rules):
    assert siphon_from(2, 1, {(2, 2): data_block(5), (2, 4): {"credits": 3}}, rules=rules) == (False, 3, 0)


@BOTH
def test_credits_and_energy_are_missed_in_different_cells(rules):
    assert siphon_from(5, 0, {(3, 3): {"credits": 3}, (0, 5): {"energy": 2}}, rules=rules) == (False, 3, 2)


@BOTH
def test_less_of_one_for_more_of_the_other_is_not_better(rules):
    assert siphon_from(0, 0, {(0, 0): {"credits": 1}, (3, 3): {"energy": 3}}, rules=rules) == (True, 0, 0)


@BOTH
def test_a_player_on_a_block_misses_whatever_there_is(rules):
    board = {(0, 0): data_block(5), (0, 1): {"credits": 3}, (4, 4): {"credits": 2}}
    assert siphon_from(0, 0, board, rules=rules) == (False, 3, 0)


@BOTH
def test_the_program_of_a_block_counts_only_while_it_is_not_owned(rules):
    board = {(2, 2): program_block("PUSH"), (5, 5): {"credits": 3}}
    assert siphon_from(2, 1, board, rules=rules) == (True, 0, 0)
    assert siphon_from(2, 1, board, owned={"PUSH"}, rules=rules) == (False, 3, 0)


@BOTH
def test_a_siphoned_block_counts_for_nothing(rules):
    board = {(2, 2): data_block(5, siphoned=True), (5, 5): {"credits": 3}}
    assert siphon_from(2, 1, board, rules=rules) == (False, 3, 0)


def test_equal_blocks_elsewhere_are_compared_by_values_only():
    board = {(2, 2): data_block(5), (5, 2): data_block(5), (5, 4): {"credits": 3}}
    assert siphon_from(2, 1, board) == (False, 3, 0)
    assert siphon_from(2, 1, board, rules=Rules.reference()) == (True, 0, 0)


def test_two_blocks_of_5_are_not_one_of_5_nor_one_of_10():
    board = {(2, 2): data_block(5), (3, 1): data_block(5), (5, 5): data_block(5), (4, 4): {"credits": 3}}
    assert siphon_from(2, 1, board) == (True, 0, 0)


def test_question_blocks_are_ignored_or_counted():
    board = {(2, 2): data_block(5, question=True), (5, 5): {"credits": 3}}
    assert siphon_from(2, 1, board) == (False, 3, 0)
    assert siphon_from(2, 1, board, rules=Rules.reference()) == (True, 0, 0)


def test_resources_left_on_siphoned_cells_are_counted_or_skipped():
    board = {(4, 4): {"credits": 3, "siphoned": True}}
    assert siphon_from(0, 0, board) == (False, 3, 0)
    assert siphon_from(0, 0, board, rules=Rules.reference()) == (True, 0, 0)


@BOTH
def test_resources_under_a_block_are_never_counted(rules):
    board = {(4, 4): {**data_block(5, siphoned=True), "credits": 3}, (0, 0): {**data_block(5), "energy": 3}}
    assert siphon_from(2, 2, board, rules=rules) == (True, 0, 0)


def test_a_block_of_an_owned_program_still_has_to_be_in_reach_of_a_cell_with_the_same_blocks():
    """Where the player's cell yields points or programs, all open blocks of its cross count, whatever they hold."""
    board = {(2, 2): data_block(5), (3, 1): program_block("PUSH"), (2, 4): {"credits": 3}}
    same_blocks = Rules.reference()
    assert siphon_from(2, 1, board, owned={"PUSH"}, rules=same_blocks) == (True, 0, 0)
    assert siphon_from(2, 1, board, owned={"PUSH"}) == (False, 3, 0)


def test_the_yield_can_be_taken_apart_in_the_order_of_the_specification():
    state = EnvState(grid=Grid.of({(0, 0): {"energy": 2}, (1, 0): data_block(4), (0, 1): program_block("HACK")}))
    credits, energy, points, programs = compute_siphon_yield(state, 0, 0)
    assert (credits.item(), energy.item(), points.tolist()) == (0, 2, [4, 0, 0, 0, 0])
    assert [PROGRAMS[slot] for slot in np.flatnonzero(programs)] == ["HACK"]
    is_optimal, missed_credits, missed_energy = check_siphon_optimality(state)
    assert (is_optimal.item(), missed_credits.item(), missed_energy.item()) == (True, 0, 0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: compute_siphon_yield(EnvState(), 6, 0), OutOfRange, "the row is 6; it must be from 0 to 5"),
        (lambda: compute_siphon_yield(EnvState(), 0, -1), OutOfRange, "the column is -1"),
        (lambda: compute_siphon_yield(EnvState(), 1.5, 0), WrongType, "the row is 1.5; it must be an integer"),
        (lambda: check_siphon_optimality({"player": 1}), WrongType, "the state is a dict; it must be an EnvState"),
        (lambda: check_siphon_optimality(random_states(2)), ShapeMismatch, r"states of shape \(2,\).*jax.vmap"),
    ],
)
def test_what_is_no_cell_or_no_state_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
