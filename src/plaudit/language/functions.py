"""Reading: a plain Python function becomes nodes, by running it once on symbols instead of numbers.

Assignments name nodes. After an `if` whose branches both go on, each name that differs becomes one `Select`; a branch
that returns hands its value to the `Select` at the end. So the result grows with the function's text and never with
its number of paths. What the language does not have is refused here, with the line and what to do instead.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from plaudit.errors import ReadError
from plaudit.language import nodes as n
from plaudit.language.calls import CallReader
from plaudit.language.field import Field
from plaudit.language.kinds import FLAG, UNKNOWN
from plaudit.language.program import Builder, Guard
from plaudit.language.reader import Mark, Reader, Scope, Unassigned, Value, describe
from plaudit.language.source import Source
from plaudit.language.syntax import explain_unsupported


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of reading a term or a fact: its result, the guards it needs, and what it read."""

    result: int
    """The position of the score of a term, or of the flag of a fact."""
    guards: tuple[Guard, ...]
    inputs: Mapping[str, Field]
    reads: tuple[str, ...]
    params: tuple[str, ...]
    marks: tuple[Mark, ...]
    """Where in the source only some rows get."""
    names: Mapping[int, str]
    """What the author called the values of local names, by position."""


def read_term(
    source: Source,
    name: str,
    knobs: Mapping[str, object],
    builder: Builder,
    scope: Scope,
    *,
    within: int | None = None,
) -> Reading:
    """Return the score of the function `source` as a node of `builder`.

    `knobs` maps each keyword-only parameter to its default, or to None where the reward must supply it. `within` is
    a flag under which alone the term is scored at all.
    """
    reader = Reader(builder, scope, name)
    reader.path = within
    values = {knob: reader.read_knob(knob, default) for knob, default in knobs.items()}
    score = _read_result(FunctionReader(reader, source), values)
    return _finish_reading(reader, reader.add_number(score, source.tree, source))


def read_fact(source: Source, name: str, constants: Mapping[str, object], builder: Builder, scope: Scope) -> Reading:
    """Return the flag of the function `source` as a node of `builder`.

    `constants` maps each keyword-only parameter to its default: a fact has no knobs.
    """
    reader = Reader(builder, scope, name, what="fact")
    function = FunctionReader(reader, source)
    values = {name: function.read_constant(default, source.tree) for name, default in constants.items()}
    value = _read_result(function, values)
    if function.find_kind(value) not in (FLAG, UNKNOWN):
        raise source.error(
            source.tree,
            f"a fact is true or false of a step, and this returns {describe(value)}.",
            "Return a comparison: `return deceleration == 0`.",
        )
    return _finish_reading(reader, reader.add_flag(value, source.tree, source))


@dataclass(slots=True)
class Flow:
    """How a block ends: the names it leaves, and the value it returned where it did."""

    env: dict[str, Value]
    returned: int | bool
    """False: it goes on. True: it always returned. A position: the flag that says where it returned."""
    value: Value | None


class FunctionReader(CallReader):
    """One function being read: the term itself or a helper it calls."""

    def run(self, env: dict[str, Value]) -> Value:
        """Return what the function returns."""
        body = self.source.tree.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1:
            body = body[1:]
        flow = self.read_block(body, env)
        if flow.returned is not True or flow.value is None:
            raise self.error(self.source.tree, "a path ends without `return`.", "Return a number on every path.")
        return flow.value

    def read_block(self, statements: list[ast.stmt], env: dict[str, Value]) -> Flow:
        """Read statements in order; early returns are folded into the value at the end, first one outermost."""
        env = dict(env)
        outer = self.reader.path
        early: list[tuple[int, Value]] = []
        flow = Flow(env, False, None)
        for statement in statements:
            if isinstance(statement, ast.If):
                flow = self.read_branch(statement, env)
                env = flow.env
            else:
                flow = Flow(env, False, None)
                self.read_statement(statement, env, flow)
            if flow.returned is True:
                break
            if flow.returned is not False:
                assert flow.value is not None
                early.append((flow.returned, flow.value))
                going_on = self.reader.add(n.Not(flow.returned))
                path = self.reader.path
                self.reader.path = going_on if path is None else self.reader.add(n.And(path, going_on))
        self.reader.path = outer
        return self.fold_returns(early, flow, env)

    def fold_returns(self, early: list[tuple[int, Value]], last: Flow, env: dict[str, Value]) -> Flow:
        """Return how a block ends whose statements returned early where the flags say."""
        returned: int | bool = last.returned if last.returned is True else False
        value = last.value if last.returned is True else None
        for flag, result in reversed(early):
            value = result if value is None else self.join(flag, result, value, self.source.tree)
            if returned is not True:
                returned = flag if returned is False else self.reader.add(n.Or(flag, returned))
        return Flow(env, returned, value)

    def read_statement(self, statement: ast.stmt, env: dict[str, Value], flow: Flow) -> None:
        """Read one statement; `env` gets its names, `flow` what it returns."""
        match statement:
            case ast.Return(value=None):
                raise self.error(statement, "`return` without a value.", "Return a number on every path.")
            case ast.Return(value=ast.expr() as expression):
                self.reader.mark(statement, self.source)
                flow.returned, flow.value = True, self.read_expression(expression, env)
            case ast.Assign(targets=[ast.Name(id=name)], value=expression):
                self.assign(name, self.read_expression(expression, env), env)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as expression):
                self.assign(name, self.read_expression(expression, env), env)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=expression):
                left = self.read_name(ast.copy_location(ast.Name(name, ast.Load()), target), env)
                value = self.apply_arithmetic(op, left, self.read_expression(expression, env), statement)
                self.assign(name, value, env)
            case ast.Pass():
                pass
            case _:
                raise self.error(statement, *explain_unsupported(statement))

    def assign(self, name: str, value: Value, env: dict[str, Value]) -> None:
        """Give a local name a value."""
        env[name] = value
        self.reader.name(value, name)

    def read_branch(self, statement: ast.If, env: dict[str, Value]) -> Flow:
        """Read an `if`: both branches, then what they leave joined."""
        test = self.read_condition(statement.test, env)
        if isinstance(test, bool):
            return self.read_block(statement.body if test else statement.orelse, env)
        self.reader.mark(statement, self.source, test=test)
        with self.reader.under(test):
            self.reader.mark(statement.body[0], self.source)
            then = self.read_block(statement.body, env)
        with self.reader.under(self.reader.add(n.Not(test))):
            otherwise = self.read_block(statement.orelse, env)
        return Flow(
            self.join_names(test, then, otherwise, statement),
            self.join_returns(test, then.returned, otherwise.returned),
            self.join_values(test, then.value, otherwise.value, statement),
        )

    def join_names(self, test: int, then: Flow, otherwise: Flow, node: ast.AST) -> dict[str, Value]:
        """Return the names after an `if`."""
        if then.returned is True:
            return otherwise.env
        if otherwise.returned is True:
            return then.env
        env: dict[str, Value] = {}
        for name in then.env | otherwise.env:
            left, right = then.env.get(name, Unassigned()), otherwise.env.get(name, Unassigned())
            env[name] = self.join(test, left, right, node)
            if env[name] not in (left, right):
                self.reader.name(env[name], name)
        return env

    def join_returns(self, test: int, then: int | bool, otherwise: int | bool) -> int | bool:
        """Return where an `if` has returned."""
        add = self.reader.add
        if then is True and otherwise is True:
            return True
        if otherwise is False:
            return False if then is False else test if then is True else add(n.And(test, then))
        opposite = add(n.Not(test))
        right = opposite if otherwise is True else add(n.And(opposite, otherwise))
        if then is False:
            return right
        return add(n.Or(test if then is True else add(n.And(test, then)), right))

    def join_values(self, test: int, then: Value | None, otherwise: Value | None, node: ast.AST) -> Value | None:
        """Return what an `if` returned, where it did."""
        if then is None or otherwise is None:
            return then or otherwise
        return self.join(test, then, otherwise, node)


def _read_result(function: FunctionReader, knobs: Mapping[str, Value]) -> Value:
    """Return what a function returns whose positional parameters are data."""
    reader, source = function.reader, function.source
    data = {a.arg: reader.read_parameter(a.arg, a, source) for a in source.tree.args.args}
    try:
        return function.run({**data, **knobs})
    except RecursionError:
        raise ReadError(f"{source.name!r} cannot be read: it is nested too deeply. Split it into helpers.") from None


def _finish_reading(reader: Reader, result: int) -> Reading:
    return Reading(
        result=result,
        guards=tuple(reader.guards),
        inputs=reader.inputs,
        reads=tuple(reader.reads),
        params=tuple(reader.params),
        marks=tuple(reader.marks),
        names=reader.names,
    )
