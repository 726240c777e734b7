"""Reading statements: assignments name values, an `if` joins what its branches leave, a `return` ends its path."""

import ast
from dataclasses import dataclass

from plaudit.language import nodes as n
from plaudit.language.calling import Calls
from plaudit.language.operators import refused
from plaudit.language.values import Unassigned, Value


@dataclass(slots=True)
class Flow:
    """How a block ends: the names it leaves, and the value it returned where it did."""

    env: dict[str, Value]
    returned: int | bool
    """False: it goes on. True: it always returned. A position: the flag that says where it returned."""
    value: Value | None


class Frame(Calls):
    """One function being read: the term itself or a helper it calls."""

    def run(self, env: dict[str, Value]) -> Value:
        """Return what the function returns."""
        body = self.source.tree.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1:
            body = body[1:]
        flow = self.block(body, env)
        if flow.returned is not True or flow.value is None:
            raise self.error(self.source.tree, "a path ends without `return`.", "Return a number on every path.")
        return flow.value

    def block(self, statements: list[ast.stmt], env: dict[str, Value]) -> Flow:
        """Read statements in order; early returns are folded into the value at the end, first one outermost."""
        env = dict(env)
        outer = self.reader.path
        early: list[tuple[int, Value]] = []
        flow = Flow(env, False, None)
        for statement in statements:
            if isinstance(statement, ast.If):
                flow = self.branch(statement, env)
                env = flow.env
            else:
                flow = Flow(env, False, None)
                self.statement(statement, env, flow)
            if flow.returned is True:
                break
            if flow.returned is not False:
                assert flow.value is not None
                early.append((flow.returned, flow.value))
                going_on = self.reader.add(n.Not(flow.returned))
                path = self.reader.path
                self.reader.path = going_on if path is None else self.reader.add(n.And(path, going_on))
        self.reader.path = outer
        return self.folded(early, flow, env)

    def folded(self, early: list[tuple[int, Value]], last: Flow, env: dict[str, Value]) -> Flow:
        """Return how a block ends whose statements returned early where the flags say."""
        returned: int | bool = last.returned if last.returned is True else False
        value = last.value if last.returned is True else None
        for flag, result in reversed(early):
            value = result if value is None else self.join(flag, result, value, self.source.tree)
            if returned is not True:
                returned = flag if returned is False else self.reader.add(n.Or(flag, returned))
        return Flow(env, returned, value)

    def statement(self, statement: ast.stmt, env: dict[str, Value], flow: Flow) -> None:
        """Read one statement; `env` gets its names, `flow` what it returns."""
        match statement:
            case ast.Return(value=None):
                raise self.error(statement, "`return` without a value.", "Return a number on every path.")
            case ast.Return(value=ast.expr() as expression):
                self.reader.mark(statement, self.source)
                flow.returned, flow.value = True, self.expression(expression, env)
            case ast.Assign(targets=[ast.Name(id=name)], value=expression):
                env[name] = self.expression(expression, env)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as expression):
                env[name] = self.expression(expression, env)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=expression):
                left = self.name(ast.copy_location(ast.Name(name, ast.Load()), target), env)
                env[name] = self.arithmetic(op, left, self.expression(expression, env), statement)
            case ast.Pass():
                pass
            case _:
                raise self.error(statement, *refused(statement))

    def branch(self, statement: ast.If, env: dict[str, Value]) -> Flow:
        """Read an `if`: both branches, then what they leave joined."""
        test = self.condition(statement.test, env)
        if isinstance(test, bool):
            return self.block(statement.body if test else statement.orelse, env)
        self.reader.mark(statement, self.source, test=test)
        with self.reader.under(test):
            self.reader.mark(statement.body[0], self.source)
            then = self.block(statement.body, env)
        with self.reader.under(self.reader.add(n.Not(test))):
            otherwise = self.block(statement.orelse, env)
        return Flow(
            self.joined_names(test, then, otherwise, statement),
            self.joined_returns(test, then.returned, otherwise.returned),
            self.joined_values(test, then.value, otherwise.value, statement),
        )

    def joined_names(self, test: int, then: Flow, otherwise: Flow, node: ast.AST) -> dict[str, Value]:
        """Return the names after an `if`."""
        if then.returned is True:
            return otherwise.env
        if otherwise.returned is True:
            return then.env
        env: dict[str, Value] = {}
        for name in then.env | otherwise.env:
            left, right = then.env.get(name, Unassigned()), otherwise.env.get(name, Unassigned())
            env[name] = self.join(test, left, right, node)
        return env

    def joined_returns(self, test: int, then: int | bool, otherwise: int | bool) -> int | bool:
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

    def joined_values(self, test: int, then: Value | None, otherwise: Value | None, node: ast.AST) -> Value | None:
        """Return what an `if` returned, where it did."""
        if then is None or otherwise is None:
            return then or otherwise
        return self.join(test, then, otherwise, node)
