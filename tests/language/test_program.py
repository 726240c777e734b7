"""A Program: a flat tuple of nodes, each value once, in one canonical order."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from plaudit import DefinitionError, Field, Reward, term
from plaudit.checks.trace import Trace
from plaudit.errors import UnknownParameter
from plaudit.language import nodes as n
from plaudit.language.kinds import infer_kinds
from plaudit.language.program import Builder, find_reachable, prune
from plaudit.testing.rows import as_arguments, as_columns
from support.examples import examples
from support.running import by_row
from support.strategies import cases, rows

few = examples(1 / 4)


def test_equal_nodes_are_one_and_constants_differ_by_type_and_bits():
    builder = Builder()
    x = builder.add(n.Input("x"))
    assert builder.add(n.Input("x")) == x
    constants = [builder.const(value) for value in (1, 1.0, True, 0.0, -0.0, False, 0)]
    assert len(set(constants)) == 7
    assert builder.add(n.Add(x, constants[0])) == builder.add(n.Add(x, constants[0]))
    assert builder.add(n.Add(x, constants[0])) != builder.add(n.Sub(x, constants[0]))
    assert builder.add(n.Neg(x)) != builder.add(n.Abs(x))


def test_a_builder_goes_on_from_nodes_it_is_given():
    builder = Builder([n.Input("x"), n.Const(1.0)])
    assert builder.add(n.Const(1.0)) == 1
    assert builder.add(n.Const(2.0)) == 2


def test_nothing_joined_is_true_for_all_and_false_for_any():
    builder = Builder()
    assert builder.nodes[builder.all([])] == n.Const(True)
    assert builder.nodes[builder.any([])] == n.Const(False)
    flag = builder.add(n.Input("on"))
    assert builder.all([flag]) == builder.any([flag]) == flag


def test_operands_are_named_in_order():
    assert n.operands(n.Clip(arg=3, low=1, high=2)) == (3, 1, 2)
    assert n.operands(n.Item(table=(1.0, 2.0), index=7)) == (7,)
    assert n.operands(n.Const(1.0)) == n.operands(n.Label("mood", "calm")) == ()


def test_pruning_keeps_what_is_needed_with_operands_first():
    nodes = (n.Input("unused"), n.Input("x"), n.Const(2.0), n.Mul(1, 2), n.Neg(0))
    kept, moved = prune(nodes, [3])
    assert kept == (n.Input("x"), n.Const(2.0), n.Mul(0, 1))
    assert moved == {1: 0, 2: 1, 3: 2}
    assert list(find_reachable(nodes, [3, 1])) == [1, 2, 3]


def test_a_chain_of_any_length_is_walked_without_recursion():
    nodes = [n.Input("x")]
    nodes += [n.Neg(i) for i in range(20_000)]
    kept, _ = prune(tuple(nodes), [20_000])
    assert len(kept) == 20_001
    assert len(infer_kinds(kept, {"x": Field("x")}, {})) == 20_001


@few
@given(cases())
def test_every_operand_stands_before_its_user_and_every_node_is_needed(case):
    program = case.reward.program
    assert all(at < here for here, node in enumerate(program.nodes) for at in n.operands(node))
    roots = [*program.outputs.values(), *(guard.node for guard in program.guards())]
    assert sorted(find_reachable(program.nodes, roots)) == list(range(len(program.nodes)))
    assert len({repr(node) for node in program.nodes}) == len(program.nodes)


@few
@given(cases())
def test_every_node_has_a_kind_and_every_output_is_a_number(case):
    program = case.reward.program
    found = infer_kinds(program.nodes, program.inputs, program.params)
    assert {found[at] for at in program.outputs.values()} == {"number"}
    assert {found[guard.node] for guard in program.guards()} == {"flag"}


def count_inexact(program):
    """Return how often `acos` or the like is computed: what binding makes a constant of, Python computes, not NumPy."""
    return sum(getattr(node, "inexact", False) for node in program.nodes)


@few
@given(cases(), st.integers(0, 2**32))
def test_binding_the_parameters_changes_no_bit_of_any_output(case, seed):
    columns = as_columns(case, rows(case, seed, 24))
    whole, bound = case.reward.program, case.reward.program.bind()
    assume(count_inexact(bound) == count_inexact(whole))
    assert bound.params == {}
    assert not any(isinstance(node, n.Param) for node in bound.nodes)
    before, after = (Trace(p).columns(as_arguments(p, columns)) for p in (whole, bound))
    ok = by_row(case.reward, columns, on_bad="mask").ok
    for name, at in whole.outputs.items():
        np.testing.assert_array_equal(before[at][ok], after[bound.outputs[name]][ok], err_msg=name)


@few
@given(cases())
def test_a_program_can_be_put_together_again_from_nothing_but_its_nodes(case):
    program = case.reward.program
    assert program.prune() == program


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([n.Input("x"), n.Input("on"), n.Add(0, 1)], "Add cannot take number, flag"),
        ([n.Input("on"), n.Neg(0)], "Neg cannot take flag"),
        ([n.Input("x"), n.Not(0)], "Not cannot take number"),
        ([n.Input("x"), n.Select(0, 0, 0)], "Select cannot take number"),
        ([n.Input("on"), n.Input("x"), n.Select(0, 0, 1)], "Select cannot take flag, flag, number"),
        ([n.Input("mood"), n.Neg(0)], "Neg cannot take category mood"),
        ([n.Input("mood"), n.Input("job"), n.Eq(0, 1)], "Eq cannot take category mood, category job"),
        ([n.Input("mood"), n.Input("mood"), n.Lt(0, 1)], "Lt cannot take category mood"),
        ([n.Input("on"), n.Eq(0, 0)], "Eq cannot take flag, flag"),
        ([n.Input("on"), n.Item((1.0, 2.0), 0)], "Item cannot take flag"),
        ([n.Input("x"), n.Defined(0)], "Defined cannot take number"),
        ([n.Label("mood", "martian")], "'martian' is not a value of a field 'mood'"),
        ([n.Input("nowhere")], "'nowhere', which does not exist"),
        ([n.Param("nowhere")], "'nowhere', which does not exist"),
    ],
    ids=str,
)
def test_operands_of_the_wrong_kind_are_refused(nodes, words):
    inputs = {
        "x": Field("x"),
        "on": Field("on", flag=True),
        "mood": Field("mood", values=("calm", "wild")),
        "job": Field("job", values=("calm", "wild")),
    }
    with pytest.raises(DefinitionError, match=words):
        infer_kinds(nodes, inputs, {"gain": 1.0})


@term(weight=2.0, low=-1.0)
def gained(x, *, gain=3.0, on=True):
    return gain * x if on else 0.0


def test_parameters_are_bound_to_their_values_or_to_others():
    program = Reward("gains", version="1", terms=[gained], fields=[Field("x", low=0, high=9)]).program
    x = np.array([1.0])
    for params, total in ((None, 6.0), ({"gained.gain": 5.0}, 10.0), ({"gained.on": False}, 0.0)):
        bound = program.bind(params)
        assert Trace(bound).columns([x])[bound.outputs["total"]].tolist() == [total]
    assert program.fill_params({"gained.gain": 5.0})["gained.gain"] == 5.0
    with pytest.raises(UnknownParameter, match="no parameter 'gained.gian'. Did you mean 'gained.gain'"):
        program.fill_params({"gained.gian": 5.0})


def test_a_constant_operation_outside_its_domain_stays_outside_when_parameters_are_bound():
    @term
    def edge(x, *, gain=1.0):
        return x if math.sqrt(gain * math.inf) > 3 else 0

    reward = Reward("edge", version="1", terms=[edge], fields=[Field("x")])
    for params in (None, {"edge.gain": 1.0}):
        assert reward.compile("python", on_bad="mask")({"x": 1.0}, params).ok is False
        assert reward.compile("numpy", on_bad="mask")({"x": 1.0}, params).ok.tolist() is False


def test_a_constant_that_is_no_number_makes_the_row_bad_and_breaks_nothing():
    @term
    def nothing(x, *, gain=0.0):
        return min(gain * math.inf, x)

    reward = Reward("nothing", version="1", terms=[nothing], fields=[Field("x")])
    for target in ("python", "numpy"):
        assert not reward.compile(target, on_bad="mask")({"x": 1.0}).ok
