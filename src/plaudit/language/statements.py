"""Reading statements: branches are joined, loops are written out, and what leaves early is folded in at the end.

After an `if` whose branches both go on, each name that differs becomes one `Select`; a branch that returns hands its
value to the `Select` at the end. `break` and `continue` are like returns that end with the loop or with its turn. So
the result grows with the function's text and its turns, and never with its number of paths.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from plaudit.errors import ReadError
from plaudit.language import nodes as n
from plaudit.language.assignments import AssignmentReader
from plaudit.language.reader import Constant, Unassigned, Value
from plaudit.language.syntax import explain_unsupported, explain_unsupported_pattern


class Leave(NamedTuple):
    """A `break` or `continue`: where it happens, and the names it leaves."""

    flag: int | bool
    """The position of a flag, which counts only where nothing before it left; True: always."""
    ends_loop: bool
    env: dict[str, Value]


@dataclass(slots=True)
class Flow:
    """How a block ends: the names it leaves, the value it returned where it did, and where it left a loop."""

    env: dict[str, Value]
    returned: int | bool = False
    """False: it never returned. True: it always returned. A position: the flag that says where it returned."""
    value: Value | None = None
    left: list[Leave] = field(default_factory=list)
    ended: bool = False
    """Whether nothing goes on behind it."""


Return = tuple[int | bool, Value]
"""Where a block returned, and what; it counts only where nothing before it returned."""


class StatementReader(AssignmentReader):
    """Reads the statements of one function."""

    def read_block(self, statements: list[ast.stmt], env: dict[str, Value]) -> Flow:
        """Read statements in order; early returns are folded into the value at the end, first one outermost."""
        flow = Flow(dict(env))
        outer = self.reader.path
        early: list[Return] = []
        left: list[Leave] = []
        staying: int | bool = True
        for statement in statements:
            self.env, self.path = flow.env, self.reader.path
            flow = self.read_statement(statement, flow.env)
            if flow.returned is not False and flow.value is not None:
                early.append((self.both(staying, flow.returned), flow.value))
                self.go_on_without(flow.returned)
            for leave in flow.left:
                left.append(leave)
                staying = self.both(staying, self.go_on_without(leave.flag))
            if flow.ended:
                break
        self.reader.path = outer
        returned, value = self.fold_returns(early)
        return Flow(flow.env, returned, value, left, flow.ended)

    def both(self, left: int | bool, right: int | bool) -> int | bool:
        """Return the conjunction of two flags, either of which may be True."""
        if left is True or right is True:
            return right if left is True else left
        return self.reader.add(n.And(left, right))

    def go_on_without(self, flag: int | bool) -> int | bool:
        """Read what follows as happening only where `flag` is false; return where that is."""
        if flag is True:
            return True  # nothing follows
        going_on = self.reader.add(n.Not(flag))
        path = self.reader.path
        self.reader.path = going_on if path is None else self.reader.add(n.And(path, going_on))
        return going_on

    def fold_returns(self, early: list[Return]) -> tuple[int | bool, Value | None]:
        """Return where a block has returned, and what."""
        returned: int | bool = False
        value: Value | None = None
        for flag, result in reversed(early):
            value = result if value is None else self.join(int(flag), result, value, self.source.tree)
            if returned is not True:
                returned = flag if returned is False or flag is True else self.reader.add(n.Or(flag, returned))
        return returned, value

    def read_statement(self, statement: ast.stmt, env: dict[str, Value]) -> Flow:
        """Read one statement; `env` gets its names."""
        match statement:
            case ast.Return(value=None | ast.Constant(value=None)):
                raise self.error(statement, "`return` without a value.", "Return a number on every path.")
            case ast.Return(value=ast.expr() as expression):
                self.reader.mark(statement, self.source)
                return Flow(env, True, self.read_expression(expression, env), ended=True)
            case ast.If():
                test = self.read_condition(statement.test, env)
                return self.read_branch(
                    test, statement, statement.body, env, lambda: self.read_block(statement.orelse, env)
                )
            case ast.For():
                return self.read_loop(statement, env)
            case ast.Match(subject=subject, cases=cases):
                return self.read_cases(cases, self.read_expression(subject, env), env)
            case ast.Break() | ast.Continue():
                self.reader.mark(statement, self.source)
                return Flow(env, left=[Leave(True, isinstance(statement, ast.Break), env)], ended=True)
        self.read_assignment(statement, env)
        return Flow(env)

    def read_assignment(self, statement: ast.stmt, env: dict[str, Value]) -> None:
        """Read a statement that at most gives names a value."""
        match statement:
            case ast.Assign(targets=targets, value=expression):
                value = self.read_expression(expression, env)
                for target in targets:
                    self.bind_target(target, value, env)
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as expression):
                self.bind_target(target, self.read_expression(expression, env), env)
            case ast.AugAssign():
                self.augment(statement, env)
            case ast.FunctionDef(name=name, decorator_list=[]):
                self.assign(name, self.define_helper(statement, env), env)
            case ast.Pass() | ast.AnnAssign(target=ast.Name(), value=None):
                pass
            case _:
                raise self.error(statement, *explain_unsupported(statement))

    def read_branch(
        self, test: int | bool, at: ast.AST, body: list[ast.stmt], env: dict[str, Value], rest: Callable[[], Flow]
    ) -> Flow:
        """Read `body` where `test` is true and `rest` elsewhere, then join what they leave."""
        if isinstance(test, bool):
            return self.read_block(body, env) if test else rest()
        self.reader.mark(at, self.source, test=test)
        with self.reader.under(test):
            self.reader.mark(body[0], self.source)
            then = self.read_block(body, env)
        with self.reader.under(self.reader.add(n.Not(test))):
            otherwise = rest()
        return Flow(
            self.join_branches(test, then, otherwise, at),
            self.join_returns(test, then.returned, otherwise.returned),
            self.join_values(test, then.value, otherwise.value, at),
            self.join_leaves(test, then.left, otherwise.left),
            then.ended and otherwise.ended,
        )

    def join_branches(self, test: int, then: Flow, otherwise: Flow, node: ast.AST) -> dict[str, Value]:
        """Return the names after an `if`."""
        if then.ended or otherwise.ended:
            return otherwise.env if then.ended else then.env
        return self.join_names(test, then.env, otherwise.env, node)

    def join_names(
        self, test: int, then: dict[str, Value], otherwise: dict[str, Value], node: ast.AST, *, loop: bool = False
    ) -> dict[str, Value]:
        """Return names that have one value where `test` is true and another elsewhere.

        After a loop, a name that cannot be joined has no value, as it was most likely only of use inside.
        """
        env: dict[str, Value] = {}
        for name in then | otherwise:
            left, right = then.get(name, Unassigned()), otherwise.get(name, Unassigned())
            try:
                env[name] = self.join(test, left, right, node)
            except ReadError:
                if not loop:
                    raise
                env[name] = Unassigned()
            if env[name] not in (left, right):
                self.reader.name(env[name], name)
        return env

    def join_returns(self, test: int, then: int | bool, otherwise: int | bool) -> int | bool:
        """Return where an `if` has returned."""
        add = self.reader.add
        if then is True and otherwise is True:
            return True
        if otherwise is False:
            return False if then is False else self.both(test, then)
        right = self.both(add(n.Not(test)), otherwise)
        return right if then is False else add(n.Or(self.both(test, then), right))

    def join_values(self, test: int, then: Value | None, otherwise: Value | None, node: ast.AST) -> Value | None:
        """Return what an `if` returned, where it did."""
        if then is None or otherwise is None:
            return then or otherwise
        return self.join(test, then, otherwise, node)

    def join_leaves(self, test: int, then: list[Leave], otherwise: list[Leave]) -> list[Leave]:
        """Return where an `if` has left a loop."""
        left = [leave._replace(flag=self.both(test, leave.flag)) for leave in then]
        opposite = self.reader.add(n.Not(test))
        return left + [leave._replace(flag=self.both(opposite, leave.flag)) for leave in otherwise]

    def read_loop(self, statement: ast.For, env: dict[str, Value]) -> Flow:
        """Read a `for` turn by turn, each where none before it returned or broke off."""
        outer = self.reader.path
        early: list[Return] = []
        breaks: list[Leave] = []
        staying: int | bool = True
        going = env
        for value in self.read_turns(statement.iter, env):
            going = dict(going)
            self.bind_target(statement.target, value, going)
            flow = self.read_block(statement.body, going)
            if flow.returned is not False and flow.value is not None:
                early.append((self.both(staying, flow.returned), flow.value))
                self.go_on_without(flow.returned)
            here = self.list_breaks(flow.left)
            breaks += here
            for leave in here:
                staying = self.both(staying, self.go_on_without(leave.flag))
            goes_on = self.join_exits(flow, [leave for leave in flow.left if not leave.ends_loop], statement)
            if goes_on is None:
                last = Flow(env, ended=True)
                break
            going = goes_on
        else:
            last = self.read_block(statement.orelse, going)
            if last.returned is not False and last.value is not None:
                early.append((self.both(staying, last.returned), last.value))
        self.reader.path = outer
        after = self.join_exits(last, breaks, statement)
        left = [leave._replace(flag=self.both(staying, leave.flag)) for leave in last.left]
        returned, result = self.fold_returns(early)
        return Flow(env if after is None else after, returned, result, left, after is None)

    def list_breaks(self, left: list[Leave]) -> list[Leave]:
        """Return the breaks of a turn, each where nothing before it left the turn."""
        breaks: list[Leave] = []
        staying: int | bool = True
        for leave in left:
            if leave.ends_loop:
                breaks.append(leave._replace(flag=self.both(staying, leave.flag)))
            elif leave.flag is not True:
                staying = self.both(staying, self.reader.add(n.Not(leave.flag)))
        return breaks

    def join_exits(self, flow: Flow, exits: list[Leave], node: ast.AST) -> dict[str, Value] | None:
        """Return the names behind a turn or a loop that goes on from its end and from `exits`; None if from nowhere."""
        env = None if flow.ended else flow.env
        for leave in reversed(exits):
            if env is None or leave.flag is True:
                env = leave.env
            else:
                env = self.join_names(leave.flag, leave.env, env, node, loop=True)
        return env

    def read_cases(self, cases: list[ast.match_case], subject: Value, env: dict[str, Value]) -> Flow:
        """Read the cases of a `match`, each where none before it fits."""
        if not cases:
            return Flow(env)
        case, *others = cases
        env = dict(env)
        self.env = env
        test = self.match_pattern(case.pattern, subject, env)
        if case.guard is not None:
            guard = case.guard
            fits = self.chain(True, [lambda: test, lambda: self.read_condition(guard, env)])
            test = bool(fits.value) if isinstance(fits, Constant) else self.reader.add_flag(fits, guard, self.source)
        return self.read_branch(test, case.pattern, case.body, env, lambda: self.read_cases(others, subject, env))

    def match_pattern(self, pattern: ast.pattern, subject: Value, env: dict[str, Value]) -> int | bool:
        """Return where a pattern fits: a constant, some of them joined by `|`, a name, or `_`."""
        match pattern:
            case ast.MatchAs(pattern=None, name=name):
                if name is not None:
                    self.assign(name, subject, env)
                return True
            case ast.MatchValue(value=value):
                fits = self.compare(ast.Eq(), subject, self.read_expression(value, env), pattern)
            case ast.MatchSingleton(value=bool(known)):
                fits = subject if known else self.apply_unary(ast.Not(), subject, pattern)
            case ast.MatchOr(patterns=patterns):
                fits = self.chain(False, [partial(self.match_pattern, each, subject, env) for each in patterns])
            case _:
                raise self.error(pattern, *explain_unsupported_pattern(pattern))
        return bool(fits.value) if isinstance(fits, Constant) else self.reader.add_flag(fits, pattern, self.source)
