"""Reading statements: blocks, branches, loops written out turn by turn, and `match`."""

import ast
import importlib
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from plaudit.language.kinds import FLAG, UNKNOWN
from plaudit.language.reading.flow import Flow, Leave, Return
from plaudit.language.reading.returns import ReturnReader
from plaudit.language.reading.syntax import explain_unsupported, explain_unsupported_pattern, is_without_gradients
from plaudit.language.reading.values import Constant, Value


class Branch(NamedTuple):
    """A branch of an `if` or a case of a `match`: where it is taken, if none before it is."""

    test: int | bool
    at: ast.AST
    body: list[ast.stmt]
    env: dict[str, Value]


class StatementReader(ReturnReader):
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
            if flow.returned is not False:
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

    def read_statement(self, statement: ast.stmt, env: dict[str, Value]) -> Flow:
        """Read one statement; `env` gets its names."""
        match statement:
            case ast.Return(value=None | ast.Constant(value=None)):
                raise self.error(statement, "`return` without a value.", "Return a number on every path.")
            case ast.Return(value=ast.expr() as expression):
                self.reader.mark(statement, self.source)
                return Flow(env, True, self.read_returned(expression, env), ended=True)
            case ast.Raise() if self.reader.path is not None:
                name = ast.unparse(statement.exc).partition("(")[0] if statement.exc else "an exception"
                self.reader.require(self.reader.builder.const(False), f"raises {name}", statement, self.source)
                return Flow(env, True, ended=True)
            case ast.With(items=[ast.withitem(context_expr=manager)], body=body) if is_without_gradients(manager):
                return self.read_block(body, env)
            case ast.If():
                return self.read_branches(self.list_ifs(statement, env))
            case ast.For():
                return self.read_loop(statement, env)
            case ast.Match(subject=subject, cases=cases):
                return self.read_branches(self.list_cases(cases, self.read_expression(subject, env), env))
            case ast.Break() | ast.Continue():
                self.reader.mark(statement, self.source)
                return Flow(env, left=[Leave(True, isinstance(statement, ast.Break), env)], ended=True)
        self.read_assignment(statement, env)
        return Flow(env)

    def read_assignment(self, statement: ast.stmt, env: dict[str, Value]) -> None:
        """Read a statement that at most gives names a value."""
        match statement:
            case ast.Assign() | ast.AnnAssign(value=ast.expr()) | ast.AugAssign():
                self.assign_values(statement, env)
            case ast.FunctionDef(name=name, decorator_list=[]):
                self.assign(name, self.define_helper(statement, env), env)
            case ast.Assert(test=test):
                holds = self.read_condition(test, env)
                if holds is False:
                    raise self.error(statement, "this assertion never holds.", "Check the shapes and constants in it.")
                if holds is not True:
                    self.reader.require(holds, "fails an assertion", statement, self.source)
            case ast.Import(names=names) if all("." not in each.name or each.asname for each in names):
                for each in names:
                    self.assign(each.asname or each.name, Constant(self.find_module(each.name, statement)), env)
            case ast.ImportFrom(module=str(module), names=names, level=0) if names[0].name != "*":
                for each in names:
                    known = getattr(self.find_module(module, statement), each.name, None)
                    self.assign(each.asname or each.name, self.read_constant(known, statement), env)
            case ast.Expr(value=ast.Call() as call) if self.call_in_place(call, env):
                pass
            case ast.Pass() | ast.AnnAssign(target=ast.Name(), value=None):
                pass
            case _:
                raise self.error(statement, *explain_unsupported(statement))

    def find_module(self, name: str, node: ast.AST) -> object:
        """Return a module that is imported inside the function."""
        try:
            return importlib.import_module(name)
        except ImportError as error:
            raise self.error(node, f"{error}.", "Install it, or import it where it is used.") from None

    def list_ifs(self, statement: ast.If, env: dict[str, Value]) -> Iterator[Branch]:
        """Yield the branches of an `if` and its `elif`s, the last one open to all."""
        following: list[ast.stmt] = [statement]
        while len(following) == 1 and isinstance(following[0], ast.If):
            statement = following[0]
            self.env, self.path = env, self.reader.path
            yield Branch(self.read_condition(statement.test, env), statement, statement.body, env)
            following = statement.orelse
        yield Branch(True, statement, following, env)

    def list_cases(self, cases: list[ast.match_case], subject: Value, env: dict[str, Value]) -> Iterator[Branch]:
        """Yield the cases of a `match`, the last one open to all."""
        for case in cases:
            env = self.env = dict(env)
            test = self.match_pattern(case.pattern, subject, env)
            if case.guard is not None and test is not False:
                guard = partial(self.read_condition, case.guard, env)
                test = self.find_flag(self.chain(True, [partial(_hand_back, test), guard]), case.guard)
            yield Branch(test, case.pattern, case.body, env)
        yield Branch(True, self.source.tree, [], env)

    def read_branches(self, branches: Iterator[Branch]) -> Flow:
        """Read each branch where its test is true and none before it was, then join what they leave."""
        outer = self.reader.path
        flows: list[tuple[int, Flow, ast.AST]] = []
        last = Flow({})
        for test, at, body, env in branches:
            if test is False:
                continue
            if test is True:
                last = self.read_block(body, env)
                break
            self.reader.mark(at, self.source, test=test)
            with self.reader.under(test):
                self.reader.mark(body[0], self.source)
                flows.append((test, self.read_block(body, env), at))
            self.go_on_without(test)
        self.reader.path = outer
        for test, then, at in reversed(flows):
            last = self.join_flows(test, then, last, at)
        return last

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
            if flow.returned is not False:
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
            if last.returned is not False:
                early.append((self.both(staying, last.returned), last.value))
        self.reader.path = outer
        after = self.join_exits(last, breaks, statement)
        left = [leave._replace(flag=self.both(staying, leave.flag)) for leave in last.left]
        returned, result = self.fold_returns(early)
        return Flow(env if after is None else after, returned, result, left, after is None)

    def match_pattern(self, pattern: ast.pattern, subject: Value, env: dict[str, Value]) -> int | bool:
        """Return where a pattern fits: a constant, some of them joined by `|`, a name, or `_`."""
        match pattern:
            case ast.MatchAs(pattern=None, name=name):
                if name is not None:
                    self.assign(name, subject, env)
                return True
            case ast.MatchValue(value=value):
                fits = self.compare(ast.Eq(), subject, self.read_expression(value, env), pattern)
            case ast.MatchSingleton(value=bool(known)) if self.find_kind(subject) in (FLAG, UNKNOWN):
                fits = subject if known else self.apply_unary(ast.Not(), subject, pattern)
            case ast.MatchOr(patterns=patterns):
                fits = self.chain(False, [partial(self.match_pattern, each, subject, env) for each in patterns])
            case _:
                raise self.error(pattern, *explain_unsupported_pattern(pattern))
        return self.find_flag(fits, pattern)

    def find_flag(self, value: Value, node: ast.AST) -> int | bool:
        """Return the position of a condition, or what it is when it is known already."""
        return bool(value.value) if isinstance(value, Constant) else self.reader.add_flag(value, node, self.source)


def _hand_back(flag: int | bool) -> int | bool:
    return flag
