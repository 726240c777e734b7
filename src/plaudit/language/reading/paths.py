"""Parts of records: how they are shown, what their fields may be called, and which of them each field is.

A call is a part that shows the values of its arguments, `env.speed("n")`, so that calls with other arguments are other
parts, also in loops and in helpers.
"""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from itertools import pairwise
from keyword import iskeyword

from plaudit.errors import PlauditError, ReadError
from plaudit.language import nodes as n
from plaudit.language.field import TERMINAL
from plaudit.language.reading.context import Context, Path
from plaudit.language.reading.values import (
    EACH,
    Constant,
    Dictionary,
    Nested,
    Picked,
    Record,
    Ref,
    Undeclared,
    Value,
    Vector,
    format_path,
)

_SAME = ("copy()", "clone()", "detach()", "cpu()", "numpy()", "flat", "torch")
"""Parts that give the same numbers as what they are a part of."""

Claim = tuple[str, Path]
"""The function that reads a field, and which part it is there."""

_LONGEST = 40
"""How long a name may be that is suggested for a field."""


def show_call(context: Context, node: ast.Call) -> str:
    """Return a call of a method of a record as a part of its path: equal only to calls with the same arguments.

    It is shown as the first of those calls. Where equal text stands for other arguments, it is numbered: `cost(u)#2`.
    """
    assert isinstance(node.func, ast.Attribute)
    passed = [("*", each.value) if isinstance(each, ast.Starred) else ("", each) for each in node.args]
    passed += [("**" if keyword.arg is None else f"{keyword.arg}=", keyword.value) for keyword in node.keywords]
    found = [(how, *_read_passed(context, argument)) for how, argument in passed]
    text = f"{node.func.attr}({', '.join(f'{how}{shown}' for how, shown, _ in found)})"
    values = [each for how, _, value in found for each in (Constant(how), value)]
    seen = context.builder.calls.setdefault(node.func.attr, [])
    for known, other in seen:
        if _are_all_same(values, other):
            return str(known)
    again = sum(known.partition("#")[0] == text for known, _ in seen)
    text = f"{text}#{again + 1}" if again else text
    seen.append((text, values))
    return text


def _read_passed(context: Context, node: ast.expr) -> tuple[str, Value]:
    """Return an argument as it is shown, and its value; of one that cannot be read, what its value depends on."""
    text = ast.unparse(node)
    with suppress(PlauditError), context.trying(keep=False):
        value = context.read(node)
        if not isinstance(value, Nested):
            return _show_value(context, value) or text, value
    return text, Vector((Constant(context.source.function), Constant(text), *_list_values(context, node)))


def _list_values(context: Context, node: ast.expr) -> Iterator[Value]:
    """Yield what an expression that cannot be read may depend on: names, assigned parts, and what was dropped."""
    used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    known = {name: value for name, value in context.names.items() if name in used or "." in name}
    for value in list(known.values()):
        known |= value.names() if isinstance(value, Nested) else {}
    for name in sorted(known):
        yield from (Constant(name), known[name])
    yield Constant(context.counts["written"])


def _show_value(context: Context, value: Value) -> str:
    """Return a value by what it is, and not by what it is called here; an empty string where that says nothing."""
    match value:
        case Constant(known) if _is_plain(known):
            return str(known) if isinstance(known, Enum) else repr(known)
        case Ref(at) | Undeclared(at):
            read = context.builder.nodes[at]
            return read.name if isinstance(read, n.Input | n.Param) else ""
        case Record():
            return format_path(value.path)
    return ""


def _is_plain(known: object) -> bool:
    if isinstance(known, tuple):
        return all(map(_is_plain, known))
    return known is None or isinstance(known, str | int | float | Enum)


def are_same(one: Value, other: Value) -> bool:
    """Return whether two values are certainly equal, whatever the row holds."""
    if one is other:
        return True
    match one, other:
        case Constant(left), Constant(right):
            return left is right or (_is_plain(left) and _is_plain(right) and one.is_same(other))
        case (Ref(), Ref()) | (Record(), Record()) | (Undeclared(), Undeclared()):
            return one == other
        case Vector(left, array), Vector(right, other_array):
            return array is other_array and _are_all_same(left, right)
        case Picked(left, mask), Picked(right, other_mask):
            return _are_all_same(left, right) and _are_all_same(mask, other_mask)
        case Dictionary(left), Dictionary(right):
            return list(left) == list(right) and _are_all_same(list(left.values()), list(right.values()))
    return False


def _are_all_same(left: Sequence[Value], right: Sequence[Value]) -> bool:
    return len(left) == len(right) and all(map(are_same, left, right))


def list_part_names(path: Path) -> list[str]:
    """Return what the field of a part of a record may be called, the one to look for first coming first.

    >>> list_part_names(("env", "body('left')", "pos"))
    ['env_body_left_pos', 'body_left_pos', 'env_body_pos', 'body_pos', 'pos']
    """
    path = path[:1] + tuple(part for part in path[1:] if part not in _SAME or part == "torch")
    names = [name for each in dict.fromkeys((path, drop_same(path))) for name in _list_names(each)]
    return [name for name in dict.fromkeys(names) if name != "torch"]


def _list_names(path: Path) -> Iterator[str]:
    """Yield names with the arguments of calls, the longest first, and then those without."""
    calls = [at for at, part in enumerate(path) if format_part_name(part) != format_part_name(part, arguments=True)]
    for at in range(calls[-1] + 1 if calls else 0):
        yield "_".join(format_part_name(part, arguments=True) for part in path[at:])
    for at in range(len(path)):
        yield "_".join(map(format_part_name, path[at:]))


def drop_same(path: Path) -> Path:
    """Return a path without the parts that change nothing; `self.torch.x` is no tensor, but an object of that name."""
    kept = [
        part
        for part, after in pairwise((*path[1:], ""))
        if part not in _SAME or (part.isidentifier() and _is_attribute(after))
    ]
    return (*path[:1], *kept)


def _is_attribute(part: str) -> bool:
    return part.isidentifier() and part not in _SAME


def format_part_name(part: str, *, arguments: bool = False) -> str:
    """Return what a part of a record adds to the name of its field, also with the `arguments` of a call.

    >>> format_part_name("joint pos"), format_part_name("distance('a', 2)"), format_part_name("-1")
    ('joint_pos', 'distance', 'minus_1')
    >>> format_part_name("distance('a', 2)", arguments=True)
    'distance_a_2'
    """
    if part == EACH:
        return EACH
    name, called, rest = part.partition("(")
    if called and arguments:
        rest = re.sub(r"#\d+$", "", rest)
        name = f"{name} {rest}"
    name = re.sub(r"(?<!\w)-(?=\d)", "minus_", name)
    return re.sub(r"\W+", "_", name.rstrip(" '\")]}") if called and arguments else name)


def find_declared(context: Context, path: Path) -> str:
    """Return the name under which a part of a record is declared, or shared; an empty string where it is neither."""
    known = (*(context.scope.fields or ()), *context.scope.params, TERMINAL.name)
    return next((name for name in list_part_names(path) if name in known), "")


def list_indices(context: Context, path: Path) -> dict[str, list[int]]:
    """Return the indices of a list of records under which something is declared, or shared: `cars_0_speed`.

    They come by what the list is called there: `road_cars`, or `cars`, which may be another list.
    """
    known = (*(context.scope.fields or ()), *context.scope.params)
    found: dict[str, set[int]] = {}
    for start in list_part_names(path):
        for match in filter(None, (re.match(rf"{re.escape(start)}_(minus_)?(\d+)(?:_|$)", name) for name in known)):
            found.setdefault(start, set()).add(-int(match[2]) if match[1] else int(match[2]))
    return {start: sorted(indices) for start, indices in found.items()}


def list_keys(context: Context, path: Path) -> dict[str, list[str]]:
    """Return the keys of a mapping under which something is declared, or shared: `costs_left`, `costs_right`.

    They come by what the mapping is called there: `env_costs`, or `costs`, which may be another one.
    """
    known = dict.fromkeys((*(context.scope.fields or ()), *context.scope.params))
    found = {
        start: [name.removeprefix(f"{start}_") for name in known if name.startswith(f"{start}_")]
        for start in list_part_names(path)
    }
    return {start: keys for start, keys in found.items() if any(key.isidentifier() for key in keys)}


def drop_indices(path: Path) -> Path:
    """Return a path without the indices at its end: `obs[0]` is an entry of the field `obs`."""
    while len(path) > 1 and is_index(path[-1]):
        path = path[:-1]
    return path


def suggest_name(path: Path) -> str:
    """Return what to call the field of a part of a record: with the arguments and indices that lead to it."""
    path = drop_indices(drop_same(path))
    path = path[:-1] if path[-1] == "data" and len(path) > 2 else path  # the numbers of a tensor
    told = [
        at - is_index(part)
        for at, part in enumerate(path)
        if is_index(part) or format_part_name(part) != format_part_name(part, arguments=True)
    ]
    at = told[0] if told else len(path) - 1
    name = "_".join(format_part_name(part, arguments=True) for part in path[at:])
    names = [*([name] if len(name) <= _LONGEST else []), *reversed(list_part_names(path))]
    return next(filter(_is_plain_name, names), format_part_name(path[-1]))


def _is_plain_name(name: str) -> bool:
    """Return whether a name can be declared, and is no number such as `_1`."""
    return name.isidentifier() and not iskeyword(name) and not re.fullmatch(r"_*\d*", name) and name not in _SAME


def claim_name(context: Context, name: str, path: Path, node: ast.AST) -> None:
    """Remember which part a field or shared parameter is; an error where it was another part before."""
    path = drop_same(path)
    before = context.claimed.setdefault(name, path)
    if before == path:
        return
    shared = name not in (context.scope.fields or ()) and name in context.scope.params
    raise context.error(node, *explain_claim(name, before, path, shared=shared))


def claim_parts(function: str, claimed: Mapping[str, Path], claims: dict[str, Claim], fields: Collection[str]) -> None:
    """Remember which parts the fields of a function are; an error where they are other parts in another function.

    Records have other names in other functions, so only parts that begin at the same one, or that differ in an argument
    or an index, are known to be different.
    """
    for name, path in claimed.items():
        other, before = claims.setdefault(name, (function, path))
        beside = path[0] == before[0] and len(path) == len(before) and path != before
        if beside or are_variants(before, path):
            what, advice = explain_claim(name, before, path, shared=name not in fields)
            raise ReadError(f"{other!r} and {function!r} cannot be read together: {what}\n{advice}")


def explain_claim(name: str, one: Path, other: Path, *, shared: bool = False) -> tuple[str, str]:
    """Return why two parts cannot be one field, and what to declare instead."""
    kind = "shared parameter" if shared else "field"
    shown = format_path(one), format_path(other)
    if shown[0] == shown[1]:
        what = f"`{shown[0]}` is called with different arguments, and each time it would be the {kind} {name!r}."
        return what, "The arguments depend on data: compute the results before scoring, and take them as fields."
    what = f"`{shown[0]}` and `{shown[1]}` would both be the {kind} {name!r}."
    names = [_tell_apart(each, away) for each, away in ((one, other), (other, one))]
    if names[0] == names[1]:  # of `x + 1` and `x - 1`
        advice = "Give what they are passed a name, `later = x + 1`, or compute the results before scoring, as fields."
        return what, f"Their longest names are the same. {advice}"
    both = " and ".join(map(repr, names) if shared else (f"Field({each!r})" for each in names))
    return what, f"{'Pass' if shared else 'Declare'} one for each{' in shared=' if shared else ''}: {both}."


def _tell_apart(path: Path, other: Path) -> str:
    """Return the shortest name that a part may have and another part may not."""
    names = [name for name in list_part_names(path) if name.isidentifier()]
    others = list_part_names(other)
    return min((name for name in names if name not in others), key=len, default=names[0])


def are_variants(one: Path, other: Path) -> bool:
    """Return whether two paths differ in the arguments of a call, or in an index, before they differ in a name."""
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            indices = is_index(left) and is_index(right)
            return indices or ("(" in left and "(" in right and format_part_name(left) == format_part_name(right))
    return False


def is_index(part: str) -> bool:
    """Return whether a part of a path is the index of an entry."""
    return part == EACH or part.lstrip("-").isdigit()


def mentions_part(parts: Collection[str], name: str) -> bool:
    """Return whether a name is one that parts of records may have; in loops these stand for entries of any index."""
    return name in parts or re.sub(r"_\d+(?=_)", f"_{EACH}", name) in parts
