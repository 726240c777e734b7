"""Reading statements: branches, loops written out turn by turn, `match`, and what a term returns."""

import ast
import importlib
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from plaudit.errors import PlauditError, ReadError
from plaudit.language.kinds import FLAG, UNKNOWN
from plaudit.language.reading.advice import explain_unsupported, explain_unsupported_pattern, is_without_gradients
from plaudit.language.reading.assignments import read_apart
from plaudit.language.reading.changes import read_changes
from plaudit.language.reading.comprehensions import count_turns, list_rows
from plaudit.language.reading.conditions import compare, negate, read_test
from plaudit.language.reading.context import Context
from plaudit.language.reading.dictionaries import look_up_key
from plaudit.language.reading.doubts import drop_filters, turns_warnings_off
from plaudit.language.reading.expressions import add_number, chain, list_items, read_constant, read_truth
from plaudit.language.reading.flow import (
    Flow,
    Leave,
    Return,
    both,
    fold_returns,
    go_on_without,
    is_always_true,
    join_exits,
    join_flows,
    list_breaks,
    read_block,
    runs,
)
from plaudit.language.reading.helpers import define_helper
from plaudit.language.reading.in_place import change_local
from plaudit.language.reading.paths import are_same
from plaudit.language.reading.presence import note_suppositions
from plaudit.language.reading.sharing import is_shared
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Names,
    Ref,
    Value,
    Vector,
    describe,
    find_kind,
    has_items,
    is_open,
)
from plaudit.language.reading.vectors import list_entries


class Branch(NamedTuple):
    """A branch of an `if` or a case of a `match`: where it is taken, if none before it is."""

    test: int | bool
    at: ast.AST
    body: list[ast.stmt]
    names: Names


@runs(ast.Return)
def _run_return(context: Context, statement: ast.Return) -> Flow:
    if statement.value is None or (isinstance(statement.value, ast.Constant) and statement.value.value is None):
        raise context.error(statement, "`return` without a value.", "Return a number on every path.")
    context.mark(statement)
    return Flow(context.names, True, _read_returned(context, statement.value), ended=True)


def _read_returned(context: Context, node: ast.expr) -> Value:
    changed = change_local(context, node)
    if context.returned is None and isinstance(node, ast.Tuple):
        return read_apart(context, node)
    if context.returned is None:
        return changed or context.read(node)
    part = context.returned.part
    match node:  # what is returned beside the score makes no difference to it
        case ast.Tuple(elts=elements) if isinstance(part, int) and _has_position(elements, part):
            for each in elements[: part % len(elements)]:
                read_changes(context, each)
            value = context.read(elements[part])
        case _:
            value = _take_part(context, changed or context.read(node), part, node)
    if context.returned.batched:
        value = _take_first_row(context, value, node)
    _validate_returned(context, value, node)
    return value


def _has_position(elements: list[ast.expr], part: int) -> bool:
    starred = any(isinstance(each, ast.Starred) for each in elements)
    return -len(elements) <= part < len(elements) and not starred


def _take_part(context: Context, value: Value, part: int | str | None, node: ast.expr) -> Value:
    """Return the entry of a tuple, or the value of a dict, that is the score."""
    if part is None or is_open(value):
        return value
    if isinstance(value, Dictionary):
        return look_up_key(context, value, Constant(part), node)
    items = list_items(context, value, node) if has_items(value) else []
    if not isinstance(part, int) or not -len(items) <= part < len(items):
        raise context.error(
            node, f"there is no part {part!r} of {describe(value)}.", "Leave part= out, or name another part."
        )
    return items[part]


def _take_first_row(context: Context, value: Value, node: ast.expr) -> Value:
    if not isinstance(value, Vector):
        return value
    first = list_entries(value.items[0])
    if len(value.items) != context.batch or len(first) != 1:
        what = f"a function for batches returns one number for each row, and this is {describe(value)}"
        raise context.error(node, f"{what} for {context.batch} rows.", "Reduce the other axes: torch.sum(x, dim=-1).")
    return first[0]


def _validate_returned(context: Context, value: Value, node: ast.expr) -> None:
    assert context.returned is not None
    kind = find_kind(value)
    if context.returned.flag and kind not in (FLAG, UNKNOWN):
        what = f"a {context.returned.flag} must return a bool, and this returns {describe(value)}."
        raise context.error(node, what, "Return a comparison: `return deceleration == 0`.")
    if isinstance(value, Dictionary):
        first = next(iter(value.items), "")
        advice = f"Name the score: @term(part={first!r}). Make one term for each part that counts."
        raise context.error(node, f"this returns {describe(value)}, and a term has one score.", advice)
    if has_items(value) and not (isinstance(value, Vector) and value.array):
        advice = "Name the score: @term(part=0) takes the first value."
        raise context.error(node, f"this returns {describe(value)}, and a term has one score.", advice)
    if not isinstance(value, Ref) or kind.startswith("category"):
        add_number(context, value, node)


@runs(ast.Raise)
def _run_raise(context: Context, statement: ast.Raise) -> Flow:
    """Read `raise` on some path: a row that gets there does not count."""
    if context.path is None:
        raise context.error(statement, *explain_unsupported(statement))
    name = ast.unparse(statement.exc).partition("(")[0] if statement.exc else "an exception"
    context.require(context.builder.const(False), f"raises {name}", statement)
    return Flow(context.names, True, ended=True)


@runs(ast.With)
def _run_with(context: Context, statement: ast.With) -> Flow:
    """Read the block of a `with` that only says that no gradients are kept, or no warnings shown."""
    manager = statement.items[0].context_expr
    if len(statement.items) == 1 and is_without_gradients(manager):
        return read_block(context, statement.body, context.names)
    if len(statement.items) == 1 and (quiet := turns_warnings_off(context, manager)) is not None:
        with context.without_warnings(quiet):
            return read_block(context, drop_filters(statement.body), context.names)
    raise context.error(statement, *explain_unsupported(statement))


@runs(ast.Try)
def _run_try(context: Context, statement: ast.Try) -> Flow:
    """Read the block of a `try` that cannot fail in any row: nothing in it needs a guard, and all of it is read."""
    guards, dropped = len(context.guards), context.counts["dropped"]
    flow = read_block(context, [*statement.body, *statement.orelse], context.names)
    beside = context.returned is not None and context.returned.part is not None
    missing = next((field for field in context.inputs.values() if field.missing is not None), None)
    if len(context.guards) > guards:
        first = context.guards[guards]
        why = f"this `try` {first.why} in {first.line}"
        advice = "Test with `if` what would fail there: `y = a / b if b != 0 else 0.0`."
    elif context.counts["dropped"] > dropped or (
        beside and any(isinstance(x, ast.Return) for x in ast.walk(statement))
    ):
        why = "a part of this `try` makes no difference to the score, and is not read."
        advice = "Move that part out of the `try`, or drop the `try`."
    elif missing is not None:
        why = f"a row may lack {missing.name!r}, which has missing={missing.missing!r}."
        advice = "Drop the `try` and keep its body: the field then has that value."
    elif statement.finalbody:
        why, advice = "this `try` has a `finally`.", "Write what follows behind it."
    else:
        return flow
    raise context.error(statement, f"a term cannot catch exceptions: {why}", advice)


@runs(ast.Break, ast.Continue)
def _run_jump(context: Context, statement: ast.Break | ast.Continue) -> Flow:
    context.mark(statement)
    return Flow(context.names, left=[Leave(True, isinstance(statement, ast.Break), context.names)], ended=True)


@runs(ast.FunctionDef)
def _run_definition(context: Context, statement: ast.FunctionDef) -> None:
    if statement.decorator_list:
        raise context.error(statement, *explain_unsupported(statement))
    context.assign(statement.name, define_helper(context, statement))


@runs(ast.Assert)
def _run_assertion(context: Context, statement: ast.Assert) -> None:
    """Read `assert`: a row that fails it does not count."""
    supposed = len(context.supposed)
    holds = read_test(context, statement.test)
    note_suppositions(context, supposed, statement, "the function raises where it is.")
    if holds is False:
        raise context.error(statement, "this assertion always fails.", "Check the shapes and constants in it.")
    if holds is not True:
        context.require(holds, "fails an assertion", statement)


@runs(ast.Import)
def _run_import(context: Context, statement: ast.Import) -> None:
    if any("." in each.name and not each.asname for each in statement.names):
        raise context.error(statement, *explain_unsupported(statement))
    for each in statement.names:
        context.assign(each.asname or each.name, Constant(_find_module(context, each.name, statement)))


@runs(ast.ImportFrom)
def _run_import_from(context: Context, statement: ast.ImportFrom) -> None:
    if statement.module is None or statement.level or statement.names[0].name == "*":
        raise context.error(statement, *explain_unsupported(statement))
    for each in statement.names:
        known = getattr(_find_module(context, statement.module, statement), each.name, None)
        context.assign(each.asname or each.name, read_constant(context, known, statement))


def _find_module(context: Context, name: str, node: ast.AST) -> object:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise context.error(node, f"{error}.", "Install it, or import it where it is used.") from None


@runs(ast.If)
def _run_if(context: Context, statement: ast.If) -> Flow:
    return _read_branches(context, _list_ifs(context, statement))


def _list_ifs(context: Context, statement: ast.If) -> Iterator[Branch]:
    """Yield the branches of an `if` and its `elif`s, the last one open to all."""
    following: list[ast.stmt] = [statement]
    while len(following) == 1 and isinstance(following[0], ast.If):
        statement = following[0]
        context.begin_statement(context.names)
        supposed = len(context.supposed)
        try:
            test = read_test(context, statement.test)
            if isinstance(statement.body[-1], ast.Raise):
                note_suppositions(context, supposed, statement, "the function raises where it is.")
        except ReadError as error:  # `if isinstance(x, torch.Tensor): x = x.item()`
            if error not in context.undecided or not _are_branches_equal(context, statement):
                raise
            test = True
        yield Branch(test, statement, statement.body, context.names)
        following = statement.orelse
    yield Branch(True, statement, following, context.names)


def _are_branches_equal(context: Context, statement: ast.If) -> bool:
    """Return whether an `if` leaves the same values, whichever branch is taken."""
    try:
        with context.trying(keep=False):
            flows = [read_block(context, body, dict(context.names)) for body in (statement.body, statement.orelse)]
    except PlauditError:
        return False
    then, otherwise = flows
    goes_on = not any(flow.ended or flow.left or flow.returned is not False for flow in flows)
    same = then.names.keys() == otherwise.names.keys()
    return goes_on and same and all(are_same(then.names[name], otherwise.names[name]) for name in then.names)


@runs(ast.Match)
def _run_match(context: Context, statement: ast.Match) -> Flow:
    subject = context.read(statement.subject)
    if not isinstance(subject, Constant):
        context.note_switch(statement.subject)
    return _read_branches(context, _list_cases(context, statement.cases, subject))


def _list_cases(context: Context, cases: list[ast.match_case], subject: Value) -> Iterator[Branch]:
    """Yield the cases of a `match`, the last one open to all."""
    for case in cases:
        context.names = context.statement_names = dict(context.names)
        test = _match_pattern(context, case.pattern, subject)
        if case.guard is not None and test is not False:
            joined = chain(context, True, [test, partial(read_test, context, case.guard)])
            test = read_truth(context, joined, case.guard)
        yield Branch(test, case.pattern, case.body, context.names)
    yield Branch(True, context.source.tree, [], context.names)


def _match_pattern(context: Context, pattern: ast.pattern, subject: Value) -> int | bool:
    """Return where a pattern fits: a constant, some of them joined by `|`, a name, or `_`."""
    match pattern:
        case ast.MatchAs(pattern=None, name=name):
            if name is not None:
                context.assign(name, subject)
            return True
        case ast.MatchValue(value=value):
            fits = compare(context, ast.Eq(), subject, context.read(value), pattern)
        case ast.MatchSingleton(value=bool(known)) if find_kind(subject) in (FLAG, UNKNOWN):
            fits = subject if known else negate(context, subject, pattern)
        case ast.MatchOr(patterns=patterns):
            fits = chain(context, False, [partial(_match_pattern, context, each, subject) for each in patterns])
        case _:
            raise context.error(pattern, *explain_unsupported_pattern(pattern))
    return read_truth(context, fits, pattern)


def _read_branches(context: Context, branches: Iterator[Branch]) -> Flow:
    """Read each branch where its test is true and none before it was, then join what they leave."""
    outer = context.path
    flows: list[tuple[int, Flow, ast.AST]] = []
    last, open_to_all = Flow({}), False
    for test, at, body, names in branches:
        if test is False:
            continue
        if test is True:
            last, open_to_all = read_block(context, body, names), bool(body)
            break
        context.mark(at, test=test)
        with context.under(test):
            context.mark(body[0])
            flows.append((test, read_block(context, body, names), at))
        go_on_without(context, test)
    context.path = outer
    if flows and not open_to_all:
        _complete_names(context, flows, last)
    for test, then, at in reversed(flows):
        last = join_flows(context, test, then, last, at)
    return last


def _complete_names(context: Context, flows: list[tuple[int, Flow, ast.AST]], last: Flow) -> None:
    """Give names a value behind branches of which every row takes one, where only what no row does leaves them open."""
    names = {name: value for _, flow, _ in flows if not flow.ended for name, value in flow.names.items()}
    if names.keys() <= last.names.keys():
        return
    asked = [at.test if isinstance(at, ast.If) else at for _, _, at in flows]
    if is_always_true(context, context.builder.any([test for test, _, _ in flows]), asked):
        last.names = names | last.names


def _list_named(context: Context, node: ast.expr) -> list[Value]:
    """Return the lists, dicts and arrays with a name that a loop runs over, and not over a copy of them."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("list", "tuple"):
        return []
    names = [ast.unparse(each) for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute)]
    return [context.names[name] for name in names if isinstance(context.names.get(name), Vector | Dictionary)]


def _refuse_changed(context: Context, statement: ast.For, turns: list[Value], at: int, names: Names) -> None:
    """Refuse to go on with a loop whose next turn is another one now: a turn before has changed what it runs over."""
    if context.scope.fields is None:
        return  # what the list holds is not known yet
    with context.using(dict(names)), context.trying(keep=False):
        now = list_rows(context, statement.iter)
    if len(now) == len(turns) and (at == len(turns) or are_same(now[at], turns[at])):
        return
    shown = ast.unparse(statement.iter)
    advice = f"Loop over a copy: `for ... in list({shown}):`, or collect what is new under another name."
    raise context.error(statement.iter, f"the loop changes `{shown}`, which it runs over.", advice)


@runs(ast.For)
def _run_loop(context: Context, statement: ast.For) -> Flow:
    """Read a `for` turn by turn, each where none before it returned or broke off."""
    outer = context.path
    early: list[Return] = []
    breaks: list[Leave] = []
    staying: int | bool = True
    going = context.names
    turns = list_rows(context, statement.iter)
    count_turns(context, len(turns), statement.iter)
    over, changed = _list_named(context, statement.iter), len(context.changed)
    for at, value in enumerate(turns):
        if any(is_shared(old, each) for old in context.changed[changed:] for each in over):
            _refuse_changed(context, statement, turns, at, going)
        with context.using(dict(going)) as going:
            context.bind(statement.target, value)
        flow = read_block(context, statement.body, going)
        if flow.returned is not False:
            early.append((both(context, staying, flow.returned), flow.value))
            go_on_without(context, flow.returned)
        here = list_breaks(context, flow.left)
        breaks += here
        for leave in here:
            staying = both(context, staying, go_on_without(context, leave.flag))
        goes_on = join_exits(context, flow, [leave for leave in flow.left if not leave.ends_loop], statement)
        if goes_on is None:
            last = Flow(context.names, ended=True)
            break
        going = goes_on
    else:
        if any(is_shared(old, each) for old in context.changed[changed:] for each in over):
            _refuse_changed(context, statement, turns, len(turns), going)
        last = read_block(context, statement.orelse, going)
        if last.returned is not False:
            early.append((both(context, staying, last.returned), last.value))
    context.path = outer
    after = join_exits(context, last, breaks, statement)
    left = [leave._replace(flag=both(context, staying, leave.flag)) for leave in last.left]
    returned, result = fold_returns(context, early)
    return Flow(context.names if after is None else after, returned, result, left, after is None)
