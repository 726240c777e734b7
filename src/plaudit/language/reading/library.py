"""What functions of array libraries mean that work entry by entry."""

import ast
from abc import ABC, abstractmethod
from functools import partial
from math import log

from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER
from plaudit.language.reading.loops import LoopReader
from plaudit.language.reading.values import Constant, Ref, Value
from plaudit.language.reading.vectors import find_open, to_array


class EntrywiseReader(LoopReader, ABC):
    """Reads functions of each entry; each takes the place of the call, then its arguments."""

    @abstractmethod
    def fold(self, kind: type[n.Binary], values: list[Value], node: ast.AST) -> Value:
        """Return the sum, product, minimum or maximum of values, from left to right."""

    def cast(self, node: ast.AST, x: Value) -> Value:
        """Return a value as numbers: bools count 1 and 0."""
        return self.spread(partial(self.cast_entry, node), x, node=node)

    def cast_entry(self, node: ast.AST, x: Value) -> Value:
        """Return one value as a number."""
        number = to_number(x.value) if isinstance(x, Constant) else None
        if number is not None:
            return Constant(float(number))
        return Ref(self.reader.add_number(x, node, self.source), NUMBER)

    def map_node(self, kind: type[n.Node], node: ast.AST, **operands: Value) -> Value:
        """Return a function of one or two numbers, entry by entry."""
        return self.spread(partial(self.apply_function, kind, node), *operands.values(), node=node)

    def apply_function(self, kind: type[n.Node], node: ast.AST, *values: Value) -> Value:
        """Return a function of one or two numbers."""
        if (unknown := find_open(*values)) is not None:
            return unknown
        at = [self.reader.add_number(value, node, self.source) for value in values]
        if kind.partial:
            return self.reader.add_partial(kind(*at), node, self.source)
        return Ref(self.reader.add(kind(*at)), FLAG if kind.flag else NUMBER)

    def apply_operator(self, op: ast.operator, node: ast.AST, x: Value, y: Value) -> Value:
        """Return an operator that is written as a function, such as `np.add`."""
        left = self.fit(to_array, x, node=node)
        return self.apply_arithmetic(op, left, self.fit(to_array, y, node=node), node)

    def apply_comparison(self, op: ast.cmpop, node: ast.AST, x: Value, y: Value) -> Value:
        """Return a comparison that is written as a function, such as `np.greater`."""
        return self.spread(lambda left, right: self.compare(op, left, right, node), x, y, node=node)

    def apply_logic(self, op: ast.operator, node: ast.AST, x: Value, y: Value) -> Value:
        """Return `np.logical_and` and the like; a number means `!= 0`."""
        left, right = (self.spread(partial(self.to_flag, node), value, node=node) for value in (x, y))
        return self.apply_arithmetic(op, left, right, node)

    def to_flag(self, node: ast.AST, x: Value) -> Value:
        """Return a value as a bool."""
        truth = self.read_truth(x, node)
        return Constant(truth) if isinstance(truth, bool) else Ref(truth, FLAG)

    def negate(self, node: ast.AST, x: Value) -> Value:
        """Return `np.logical_not`."""
        return self.spread(lambda entry: self.apply_unary(ast.Not(), entry, node), x, node=node)

    def negative(self, node: ast.AST, x: Value) -> Value:
        """Return `-x`."""
        return self.spread(lambda entry: self.apply_unary(ast.USub(), entry, node), x, node=node)

    def square(self, node: ast.AST, x: Value) -> Value:
        """Return `x * x`."""
        return self.apply_operator(ast.Mult(), node, x, x)

    def scale(self, factor: float, node: ast.AST, x: Value) -> Value:
        """Return `x` times a constant."""
        return self.apply_operator(ast.Mult(), node, x, Constant(factor))

    def choose(self, node: ast.AST, condition: Value, x: Value, y: Value) -> Value:
        """Return `np.where`: both sides are computed, and one is taken."""

        def pick(test: Value, then: Value, otherwise: Value) -> Value:
            truth = self.read_truth(test, node)
            if isinstance(truth, bool):
                return then if truth else otherwise
            return self.join(truth, then, otherwise, node)

        return self.spread(pick, condition, x, y, node=node)

    def clip(self, node: ast.AST, x: Value, low: Value | None = None, high: Value | None = None) -> Value:
        """Return `min(max(x, low), high)`; either bound may be left out."""
        if low is None and high is None:
            raise self.error(node, "a bound is needed.", "Write np.clip(x, 0.0, 1.0).")
        x = x if low is None else self.extreme(n.Max, node, x, low)
        return x if high is None else self.extreme(n.Min, node, x, high)

    def extreme(self, kind: type[n.Binary], node: ast.AST, x: Value, y: Value) -> Value:
        """Return the smaller or larger of two, entry by entry."""
        return self.spread(lambda left, right: self.fold(kind, [left, right], node), x, y, node=node)

    def sigmoid(self, node: ast.AST, x: Value) -> Value:
        """Return `exp(min(x, 0)) / (1 + exp(-abs(x)))`, which is the logistic function and never overflows."""
        top = self.map_node(n.Exp, node, x=self.extreme(n.Min, node, x, Constant(0.0)))
        falling = self.map_node(n.Exp, node, x=self.negative(node, self.map_node(n.Abs, node, x=x)))
        below = self.apply_operator(ast.Add(), node, Constant(1.0), falling)
        return self.apply_operator(ast.Div(), node, top, below)

    def is_finite(self, node: ast.AST, x: Value) -> Value:
        """Return `np.isfinite`: a NaN never reaches a term."""
        return self.negate(node, self.map_node(n.IsInf, node, x=x))

    def is_nan(self, node: ast.AST, x: Value) -> Value:
        """Return `np.isnan`, which is False: a NaN never reaches a term."""
        return self.spread(lambda _: Constant(False), x, node=node)

    def is_close(self, node: ast.AST, x: Value, y: Value, rtol: Value, atol: Value) -> Value:
        """Return `abs(x - y) <= atol + rtol * abs(y)`."""
        scale = self.apply_operator(ast.Mult(), node, rtol, self.map_node(n.Abs, node, x=y))
        off = self.map_node(n.Abs, node, x=self.apply_operator(ast.Sub(), node, x, y))
        return self.apply_comparison(ast.LtE(), node, off, self.apply_operator(ast.Add(), node, atol, scale))

    def is_near(self, node: ast.AST, x: Value, y: Value, rel_tol: Value, abs_tol: Value) -> Value:
        """Return `math.isclose`: `abs(x - y) <= max(rel_tol * max(abs(x), abs(y)), abs_tol)`."""
        sizes = [self.map_node(n.Abs, node, x=value) for value in (x, y)]
        scale = self.apply_operator(ast.Mult(), node, rel_tol, self.extreme(n.Max, node, *sizes))
        off = self.map_node(n.Abs, node, x=self.apply_operator(ast.Sub(), node, x, y))
        return self.apply_comparison(ast.LtE(), node, off, self.extreme(n.Max, node, scale, abs_tol))

    def logarithm(self, base: float, node: ast.AST, x: Value) -> Value:
        """Return a logarithm to a constant base."""
        return self.apply_operator(ast.Div(), node, self.map_node(n.Log, node, x=x), Constant(log(base)))

    def tangent(self, node: ast.AST, x: Value) -> Value:
        """Return `sin(x) / cos(x)`."""
        return self.apply_operator(ast.Div(), node, self.map_node(n.Sin, node, x=x), self.map_node(n.Cos, node, x=x))

    def hyperbolic(self, op: ast.operator, node: ast.AST, x: Value) -> Value:
        """Return `(exp(x) + exp(-x)) / 2`, or with a minus."""
        rising, falling = (self.map_node(n.Exp, node, x=value) for value in (x, self.negative(node, x)))
        return self.apply_operator(ast.Div(), node, self.apply_operator(op, node, rising, falling), Constant(2.0))

    def softplus(self, node: ast.AST, x: Value) -> Value:
        """Return `log(1 + exp(x))`, as `max(x, 0) + log1p(exp(-abs(x)))`, which never overflows."""
        falling = self.map_node(n.Exp, node, x=self.negative(node, self.map_node(n.Abs, node, x=x)))
        above = self.extreme(n.Max, node, x, Constant(0.0))
        return self.apply_operator(ast.Add(), node, above, self.map_node(n.Log1p, node, x=falling))

    def truncate(self, node: ast.AST, x: Value) -> Value:
        """Return the integer next to a number on the side of 0: `np.trunc`, `int`."""
        below = self.apply_comparison(ast.Lt(), node, x, Constant(0.0))
        ends = (self.map_node(kind, node, x=x) for kind in (n.Ceil, n.Floor))
        return self.choose(node, below, *ends)

    def select(self, node: ast.AST, conditions: Value, choices: Value, default: Value) -> Value:
        """Return `np.select`: the choice of the first condition that holds."""
        pairs = zip(self.list_items(conditions, node), self.list_items(choices, node), strict=False)
        for condition, choice in reversed(list(pairs)):
            default = self.choose(node, condition, choice, default)
        return default

    def interpolate(self, node: ast.AST, x: Value, xp: Value, fp: Value) -> Value:
        """Return `np.interp`: straight lines between points, flat outside them."""
        places, heights = self.list_items(xp, node), self.list_items(fp, node)
        if len(places) != len(heights) or not places:
            raise self.error(node, f"{len(places)} places for {len(heights)} values.", "Write as many of both.")
        add, subtract, times, by = (
            partial(self.apply_operator, op, node) for op in (ast.Add(), ast.Sub(), ast.Mult(), ast.Div())
        )
        result = heights[-1]
        for at in range(len(places) - 2, -1, -1):
            slope = by(subtract(heights[at + 1], heights[at]), subtract(places[at + 1], places[at]))
            line = add(times(slope, subtract(x, places[at])), heights[at])
            result = self.choose(node, self.apply_comparison(ast.Lt(), node, x, places[at + 1]), line, result)
        return self.choose(node, self.apply_comparison(ast.LtE(), node, x, places[0]), heights[0], result)
