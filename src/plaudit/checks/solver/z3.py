"""Questions put to z3: a Program over the rationals, one loop over its nodes.

A number stands for what was written: 0.1 is one tenth here, not the float nearest to it. What z3 has no theory for
(exp, log, tanh …) is an unknown that equals itself and lies in its interval, so that "impossible" stays true and a
row that z3 proposes is always run before it is believed.
"""

import math
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

from plaudit.checks.solver.deadline import Deadline
from plaudit.checks.solver.question import Impossible, SolverAnswer, Unknown, Witness
from plaudit.checks.solver.ranges import declared_range, is_unlimited, list_choices
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.intervals import Interval, bound_nodes_within
from plaudit.language.program import Program

UNINTERPRETED = tuple(kind for kind in n.KINDS.values() if kind.inexact or kind is n.Sqrt)
"""Operations that z3 cannot compute."""
NO_ANSWER = "z3 ran out of time"
MOST_MILLISECONDS = 2**32 - 1
"""The longest timeout that z3 takes, which stands for none."""


_IMPORTING = threading.Lock()


@cache
def is_available() -> bool:
    """Return whether z3 is installed and can be imported."""
    import contextlib
    import importlib.util
    import io

    if importlib.util.find_spec("z3") is None:
        return False
    try:
        with _IMPORTING:  # two threads that redirect stdout at once would lose it
            if "z3" not in sys.modules:
                with contextlib.redirect_stdout(io.StringIO()):  # without its library it prints advice there
                    import z3  # noqa: F401
    except Exception:  # its own kind of error, OSError, ImportError: whatever it is, there is no z3
        return False
    return True


_THREAD = threading.local()


def _load_z3() -> Any:
    """Return what is needed of z3, in a context that belongs to this thread alone: two threads cannot share one."""
    if not hasattr(_THREAD, "maths"):
        import z3

        own = None if threading.current_thread() is threading.main_thread() else z3.Context()
        made = ("Solver", "Bool", "BoolVal", "FreshBool", "FreshReal", "Real", "RealSort", "RealVal")
        names = ("And", "Function", "If", "Not", "Or", "ToInt", "ToReal", "is_rational_value", "sat", "unsat")
        makers = {name: partial(getattr(z3, name), ctx=own) for name in made}
        _THREAD.maths = SimpleNamespace(**makers, **{name: getattr(z3, name) for name in names})
    return _THREAD.maths


class Z3Question:
    """A question as z3 holds it; `solve` may be called again with more conditions."""

    def __init__(self, program: Program, deadline: Deadline) -> None:
        """Translate `program`, whose outputs are `asked` and `given`; all answers share the time until `deadline`."""
        self._z3 = z3 = _load_z3()
        self._program = program
        self._solver = z3.Solver()
        self._solver.set("ctrl_c", False)  # z3 would keep it for itself, and the call would go on
        self._deadline = deadline
        self._inputs: dict[str, Any] = {}
        self.exact = True
        """Whether every operation was translated as it is."""
        made = self._translate()
        self.asked = made[program.outputs["asked"]]
        if isinstance(self.asked, float):  # no row is worth infinity; what z3 proposes is run in any case
            self.asked, self.exact = z3.FreshReal(), False
        self._solver.add(made[program.outputs["given"]])

    def solve(self, *conditions: Any) -> SolverAnswer:
        """Return a row of inputs that meets `conditions`."""
        if self._deadline.passed:
            return Unknown(NO_ANSWER)
        self._solver.set("timeout", int(min(max(1.0, 1000 * self._deadline.left), MOST_MILLISECONDS)))
        answer = self._check(*conditions)
        if answer == self._z3.unsat:
            return Impossible()
        if answer != self._z3.sat:
            return Unknown(_explain_unknown(self._solver.reason_unknown()))
        model = self._solver.model()
        found = {name: model.eval(variable, model_completion=True) for name, variable in self._inputs.items()}
        return Witness({name: _to_float(value) for name, value in found.items()})

    def _check(self, *conditions: Any) -> Any:
        """Return what z3 answers; a signal such as Ctrl-C is handled at once, and not when it is done."""
        if threading.current_thread() is not threading.main_thread():
            return self._solver.check(*conditions)
        with ThreadPoolExecutor(1) as thread:
            asked = thread.submit(self._solver.check, *conditions)
            try:
                return asked.result()
            except BaseException:
                self._solver.interrupt()
                raise

    def find_above(self, limit: float) -> SolverAnswer:
        """Return a row that makes what is asked more than `limit`."""
        return self.solve(self.asked > self.real(limit))

    def real(self, value: float) -> Any:
        """Return a number as z3 writes it."""
        return self._z3.RealVal(str(Fraction(repr(float(value)))))

    def _translate(self) -> list[Any]:
        program, z3 = self._program, self._z3
        bounds = bound_nodes_within(program, {name: declared_range(field) for name, field in program.inputs.items()})
        made: list[Any] = []
        loose: set[int] = set()  # nodes that may be infinite or no number at all: z3 has neither
        for at, node in enumerate(program.nodes):
            read = n.operands(program.nodes[node.arg]) if isinstance(node, n.Defined) else n.operands(node)
            operands = [made[operand] for operand in read]
            match node:
                case n.Const(value) if math.isnan(value):
                    made.append(z3.FreshReal())
                    loose.add(at)
                    self.exact = False
                case n.Const(value):
                    made.append(
                        z3.BoolVal(value) if isinstance(value, bool) else self._translate_constant(float(value))
                    )
                case n.Input(name):
                    made.append(self._translate_input(name, program.inputs[name]))
                case _ if any(isinstance(operand, float) for operand in operands) or not loose.isdisjoint(read):
                    made.append(self._translate_infinite(node, operands, bounds[at], known=loose.isdisjoint(read)))
                    if not _is_flag(node) and not isinstance(made[at], float) and not bounds[at].finite:
                        loose.add(at)
                case n.Item(table):
                    made.append(self._translate_table(table, operands[0]))
                case n.Defined(arg):
                    made.append(self._translate_defined(program.nodes[arg], operands[-1]))
                case n.IsFinite() | n.IsInf():
                    made.append(z3.BoolVal(isinstance(node, n.IsFinite)))
                case _ if isinstance(node, UNINTERPRETED):
                    made.append(self._translate_uninterpreted(node, operands, bounds[at]))
                case _:
                    made.append(OPERATIONS[type(node)](z3, *operands))
        return made

    def _translate_constant(self, value: float) -> Any:
        return self.real(value) if math.isfinite(value) else value  # infinity stays a float: z3 has none

    def _translate_input(self, name: str, field: Field) -> Any:
        z3 = self._z3
        if field.kind == "flag":
            self._inputs[name] = z3.Bool(name)
            return self._inputs[name]
        variable = self._inputs[name] = z3.Real(name)
        if listed := list_choices(field):
            self._solver.add(z3.Or([variable == self.real(value) for value in listed]))
        else:
            self._require_within(variable, declared_range(field))
        return variable

    def _translate_table(self, table: tuple[float | bool, ...], index: Any) -> Any:
        z3 = self._z3
        first = table[0]
        wrap: Callable[[float | bool], Any] = z3.BoolVal if isinstance(first, bool) else lambda v: self.real(float(v))
        result = wrap(first)
        for at in range(len(table) - 1, 0, -1):
            result = z3.If(index == at, wrap(table[at]), result)
        return result

    def _translate_uninterpreted(self, node: n.Node, operands: list[Any], bound: Interval) -> Any:
        """Return the value of a function that z3 does not know, which lies in its interval."""
        z3 = self._z3
        self.exact = False
        value = z3.Function(type(node).__name__, *[z3.RealSort()] * (len(operands) + 1))(*operands)
        slack = [1e-12 * max(1.0, abs(end)) for end in bound]
        return self._require_within(value, Interval(bound.low - slack[0], bound.high + slack[1]))

    def _translate_infinite(self, node: n.Node, operands: list[Any], bound: Interval, *, known: bool) -> Any:
        """Return the value of an operation on something infinite: what is known of it, or anything in its interval.

        All that is infinite is `known` where none of it may also be no number at all.
        """
        z3 = self._z3
        match node, operands:
            case n.Select(), [condition, *branches] if bound.low != bound.high:
                self.exact = False
                return z3.If(condition, *(z3.FreshReal() if isinstance(each, float) else each for each in branches))
            case ((n.Lt() | n.Le() | n.Gt() | n.Ge() | n.Eq() | n.Ne()), [left, right]) if known:
                return z3.BoolVal(_compare_infinite(node, left, right))
            case ((n.Min() | n.Max()), [left, right]) if known:
                one, other = (left, right) if isinstance(left, float) else (right, left)
                return other if (one > 0) == isinstance(node, n.Min) else one
            case n.Defined(), [float(), other] if known and not isinstance(other, float):
                return other != 0  # what is infinite is divided by something that is not
        if bound.low == bound.high:
            return z3.BoolVal(bound.low == 1) if _is_flag(node) else self._translate_constant(bound.low)
        self.exact = False
        return z3.FreshBool() if _is_flag(node) else self._require_within(z3.FreshReal(), bound)

    def _require_within(self, value: Any, bound: Interval) -> Any:
        if not is_unlimited(bound.low):
            self._solver.add(value >= self.real(bound.low))
        if not is_unlimited(bound.high):
            self._solver.add(value <= self.real(bound.high))
        return value

    def _translate_defined(self, node: n.Node, arg: Any) -> Any:
        """Return whether an operation whose last operand is `arg` is inside its domain."""
        z3 = self._z3
        match node:
            case n.Div() | n.FloorDiv() | n.Mod():
                return arg != 0
            case n.Item(table):
                return z3.Or([arg == at for at in range(len(table))])
        conditions = []
        if node.domain is not None and math.isfinite(node.domain.low):
            low = self.real(node.domain.low)
            conditions.append(arg > low if node.domain.open_low else arg >= low)
        if node.domain is not None and math.isfinite(node.domain.high):
            high = self.real(node.domain.high)
            conditions.append(arg < high if node.domain.open_high else arg <= high)
        return z3.And(conditions) if conditions else z3.BoolVal(True)


def _is_flag(node: n.Node) -> bool:
    """Return whether an operation makes a flag, whatever its operands are."""
    return node.flag or (isinstance(node, n.Item) and isinstance(node.table[0], bool))


def _compare_infinite(node: n.Node, left: Any, right: Any) -> bool:
    """Return how a comparison with infinity comes out; everything else is finite."""
    a, b = (side if isinstance(side, float) else 0.0 for side in (left, right))
    outcomes: dict[type[n.Node], bool] = {
        n.Lt: a < b,
        n.Le: a <= b,
        n.Gt: a > b,
        n.Ge: a >= b,
        n.Eq: a == b,
        n.Ne: a != b,
    }
    return outcomes[type(node)]


def _explain_unknown(reason: str) -> str:
    if any(word in reason for word in ("timeout", "canceled", "interrupted")):
        return NO_ANSWER
    return f"z3 gave up early: {reason.removeprefix('(').removesuffix(')')}"


def _to_float(value: Any) -> float:
    import z3

    if z3.is_bool(value):
        return 1.0 if z3.is_true(value) else 0.0
    if z3.is_algebraic_value(value):
        value = value.approx(20)
    fraction = Fraction(*(_to_int(part.as_string()) for part in (value.numerator(), value.denominator())))
    try:
        return float(fraction)
    except OverflowError:
        return math.inf if fraction > 0 else -math.inf


def _to_int(digits: str) -> int:
    """Return an integer of any length: `int` refuses a string of more than 4,300 digits, and z3 writes such."""
    return int(Decimal(digits))


def _floor(z3: Any, a: Any) -> Any:
    return z3.ToReal(z3.ToInt(a))


def _round(z3: Any, a: Any) -> Any:
    down = z3.ToInt(a)
    over = a - z3.ToReal(down)
    half = z3.RealVal("1/2")
    up = z3.Or(over > half, z3.And(over == half, down % 2 == 1))
    return z3.ToReal(z3.If(up, down + 1, down))


def _nonzero(z3: Any, b: Any) -> Any:
    return b if z3.is_rational_value(b) and b.as_fraction() != 0 else z3.If(b == 0, z3.RealVal(1), b)


def _modulo(z3: Any, a: Any, b: Any) -> Any:
    divisor = _nonzero(z3, b)
    return a - divisor * _floor(z3, a / divisor)


OPERATIONS: Mapping[type[n.Node], Callable[..., Any]] = {
    n.Neg: lambda z3, a: -a,
    n.Abs: lambda z3, a: z3.If(a >= 0, a, -a),
    n.Not: lambda z3, a: z3.Not(a),
    n.Number: lambda z3, a: z3.If(a, z3.RealVal(1), z3.RealVal(0)),
    n.Floor: _floor,
    n.Ceil: lambda z3, a: -_floor(z3, -a),
    n.Round: _round,
    n.Sign: lambda z3, a: z3.If(a > 0, z3.RealVal(1), z3.If(a < 0, z3.RealVal(-1), z3.RealVal(0))),
    n.Add: lambda z3, a, b: a + b,
    n.Sub: lambda z3, a, b: a - b,
    n.Mul: lambda z3, a, b: a * b,
    n.Div: lambda z3, a, b: a / _nonzero(z3, b),
    n.FloorDiv: lambda z3, a, b: _floor(z3, a / _nonzero(z3, b)),
    n.Mod: _modulo,
    n.Min: lambda z3, a, b: z3.If(b < a, b, a),
    n.Max: lambda z3, a, b: z3.If(b > a, b, a),
    n.Lt: lambda z3, a, b: a < b,
    n.Le: lambda z3, a, b: a <= b,
    n.Gt: lambda z3, a, b: a > b,
    n.Ge: lambda z3, a, b: a >= b,
    n.Eq: lambda z3, a, b: a == b,
    n.Ne: lambda z3, a, b: a != b,
    n.And: lambda z3, a, b: z3.And(a, b),
    n.Or: lambda z3, a, b: z3.Or(a, b),
    n.Select: lambda z3, c, a, b: z3.If(c, a, b),
    n.Clip: lambda z3, a, low, high: z3.If(a < low, low, z3.If(a > high, high, a)),
}
"""How z3 writes each operation that it knows."""
