"""Programs: parameters by name, constants folded to the bit, nothing that is not needed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field
from plaudit.errors import UnknownParameter
from plaudit.language import nodes as n
from plaudit.language.program import Builder, find_reachable, prune
from plaudit.testing.rows import as_inputs
from support.examples import examples
from support.strategies import rows
from support.written import kinds_of, readable, reward_from

ODD = (0.0, -0.0, 1.0, -1.0, 0.1, 1e300, -1e300, 5e-324, math.inf, -math.inf)


def test_the_values_of_all_parameters_are_in_order_with_those_given():
    program = reward_from("def f(x, *, a=1.0, b=True): return x * a if b else 0").program
    assert program.fill_params({}) == dict(program.params)
    changed = program.fill_params({"f.a": 5.0})
    assert list(changed) == list(program.params)
    assert changed["f.a"] == 5.0
    assert program.params["f.a"] == 1.0


@pytest.mark.parametrize(("name", "near"), [("f.aa", "f.a"), ("a", ""), ("x", ""), ("f.weigth", "f.weight"), (3, "")])
def test_an_unknown_parameter_is_refused_with_the_near_one(name, near):
    program = reward_from("def f(x, *, a=1.0): return x * a").program
    with pytest.raises(UnknownParameter) as caught:
        program.fill_params({name: 1.0})
    assert f"reward 'tried' has no parameter {name!r}" in str(caught.value)
    assert (f"Did you mean '{near}'?" in str(caught.value)) is bool(near)
    assert "Its parameters: f.a, f.weight" in str(caught.value)
    with pytest.raises(UnknownParameter):
        program.bind({name: 1.0})


def test_a_bound_program_has_no_parameters_left():
    program = reward_from("def f(x, *, a=1.5, b=True): return x * a if b else 0", low=-1, high=1, weight=2).program
    bound = program.bind()
    assert not bound.params
    assert "Param" not in kinds_of(bound)
    assert set(bound.outputs) == set(program.outputs)


def test_parameters_given_to_bound_take_the_place_of_the_declared_ones():
    program = reward_from("def f(x, *, a=1.5): return x * a").program
    assert n.Const(7.0) in program.bind({"f.a": 7}).nodes
    assert n.Const(1.5) not in program.bind({"f.a": 7}).nodes


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("x * k", "Mul"),
        ("(2 if flag else 3) + x", "Select"),
        ("2 * x if k > 2 else x", "Mul"),
        ("x if flag or x > 5 else -1", "Or"),
        ("x if x > 5 and flag else x + 1", "And"),
    ],
)
def test_what_the_parameters_decide_is_simplified_away(text, absent):
    bound = reward_from(f"def f(x, *, k=1.0, flag=True): return {text}").program.bind()
    needed = prune(bound.nodes, [bound.outputs["total"]])[0]
    assert absent not in [type(node).__name__ for node in needed]


@pytest.mark.parametrize(
    "text", ["x + 0.0", "x - 0.0", "0.0 + x", "x * 0.0", "x - x", "x / 1.5", "0.5 * x", "x * 0", "-(-x)"]
)
def test_what_could_change_a_bit_is_kept(text):
    reward = reward_from(f"def f(x): return {text}", Field("x"))
    plain, compiled = reward.terms[0], reward.compile("python")
    for x in ODD[:-2]:
        assert repr(compiled({"x": x}).total) == repr(float(plain(x))) == repr(compiled({"x": x}, {}).total)


UNARY = [n.Neg, *(kind for kind in n.KINDS.values() if issubclass(kind, n.Unary) and kind.function)]
BINARY = [kind for kind in n.KINDS.values() if issubclass(kind, n.Binary) and not kind.takes_flags]


@pytest.mark.parametrize("kind", [*UNARY, *BINARY], ids=lambda kind: kind.__name__)
def test_an_operation_on_constants_folds_to_what_would_be_computed(kind, evaluate):
    for left in ODD:
        for right in ODD if kind in BINARY else (0.0,):
            operation = kind(0, 1) if kind in BINARY else kind(0)
            nodes = (n.Const(left), n.Const(right), operation)
            defined = (n.Defined(2),) if kind.partial else ()
            computed = evaluate((*nodes, *defined), {})
            builder = Builder()
            moved = {at: builder.simplify(n.Const(value)) for at, value in enumerate((left, right))}
            moved[2] = builder.simplify(kind(moved[0], moved[1]) if kind in BINARY else kind(moved[0]))
            if defined:
                moved[3] = builder.simplify(n.Defined(moved[2]))
            folded = evaluate(tuple(builder.nodes), {})
            for at, value in enumerate(computed):
                assert repr(folded[moved[at]]) == repr(value), (left, right)


@examples(0.3)
@given(case=readable(), seed=st.integers(0, 2**32))
def test_a_bound_program_scores_the_same_bits(case, seed):
    compiled = case.reward.compile("python", on_bad="mask")
    for row in rows(case, seed, 6):
        inputs = as_inputs(row)
        assert repr(compiled(inputs)) == repr(compiled(inputs, {})), row


@examples(0.15)
@given(case=readable())
def test_a_pruned_program_holds_what_is_needed_in_order_and_once(case):
    program = case.reward.program
    roots = [*program.outputs.values(), *(guard.node for guard in program.value_guards + program.ranges)]
    assert set(find_reachable(program.nodes, roots)) == set(range(len(program.nodes)))
    assert all(operand < at for at, node in enumerate(program.nodes) for operand in n.operands(node))
    assert len(set(map(repr, program.nodes))) == len(program.nodes)
    assert program.prune() == program
    assert program.bind().prune() == program.bind()


def test_pruning_drops_what_nothing_needs_and_says_where_the_rest_moved():
    nodes = (n.Input("a"), n.Input("b"), n.Const(2.0), n.Add(1, 2), n.Mul(0, 0), n.Neg(3))
    kept, moved = prune(nodes, [5])
    assert kept == (n.Input("b"), n.Const(2.0), n.Add(0, 1), n.Neg(2))
    assert moved == {1: 0, 2: 1, 3: 2, 5: 3}


def test_a_walk_has_no_limit_of_depth():
    nodes = [n.Input("x")]
    for at in range(20_000):
        nodes.append(n.Neg(at))
    kept, _ = prune(tuple(nodes), [20_000])
    assert len(kept) == 20_001


def test_guards_with_and_without_the_declared_ranges():
    program = reward_from("def f(x, y): return x / y", Field("x", low=0)).program
    assert [guard.where for guard in program.guards()] == ["x", "y", "f", "total"]
    assert [guard.where for guard in program.guards(ranges=False)] == ["f", "total"]
