"""The kind of every node: a number, a flag, or a category of one field."""

from collections.abc import Mapping, Sequence

from plaudit.errors import DefinitionError
from plaudit.language import nodes as n
from plaudit.language.field import Field

NUMBER = "number"
FLAG = "flag"
UNKNOWN = "unknown"
"""A value whose field is not declared yet: a term is read once before it belongs to a reward."""

_NUMBERS = (n.Neg, n.Abs, n.Sqrt, n.Exp, n.Expm1, n.Log, n.Log1p, n.Sin, n.Cos, n.Tanh, n.Floor, n.Ceil, n.Round)
_ARITHMETIC = (n.Add, n.Sub, n.Mul, n.Div, n.FloorDiv, n.Mod, n.Min, n.Max)
_ORDER = (n.Lt, n.Le, n.Gt, n.Ge)

SIGNATURES: dict[type[n.Node], tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(_NUMBERS, ((NUMBER,), NUMBER)),
    **dict.fromkeys(_ARITHMETIC, ((NUMBER, NUMBER), NUMBER)),
    **dict.fromkeys(_ORDER, ((NUMBER, NUMBER), FLAG)),
    **dict.fromkeys((n.And, n.Or), ((FLAG, FLAG), FLAG)),
    n.Not: ((FLAG,), FLAG),
    n.Number: ((FLAG,), NUMBER),
    n.IsInf: ((NUMBER,), FLAG),
    n.IsFinite: ((NUMBER,), FLAG),
    n.Clip: ((NUMBER, NUMBER, NUMBER), NUMBER),
}


def category(field: str) -> str:
    """Return the kind of a category of `field`."""
    return f"category {field}"


def kind_of_field(field: Field) -> str:
    """Return the kind of a field's values."""
    return category(field.name) if field.kind == "category" else field.kind


def kinds(nodes: Sequence[n.Node], inputs: Mapping[str, Field], params: Mapping[str, float | bool]) -> tuple[str, ...]:
    """Return the kind of each node; DefinitionError where operands do not fit."""
    found: list[str] = []
    for at, node in enumerate(nodes):
        try:
            found.append(_kind(node, found, nodes, inputs, params))
        except (KeyError, IndexError) as error:
            raise DefinitionError(f"node {at} ({type(node).__name__}) names {error}, which does not exist") from None
    return tuple(found)


def _kind(
    node: n.Node,
    found: list[str],
    nodes: Sequence[n.Node],
    inputs: Mapping[str, Field],
    params: Mapping[str, float | bool],
) -> str:
    operands = [found[at] for at in n.operands(node)]
    match node:
        case n.Const(value):
            return FLAG if isinstance(value, bool) else NUMBER
        case n.Param(name):
            return FLAG if isinstance(params[name], bool) else NUMBER
        case n.Input(name):
            return kind_of_field(inputs[name])
        case n.Label(field, value):
            if not any(f.name == field and value in f.labels for f in inputs.values()):
                raise DefinitionError(f"the label {value!r} is not a value of a field {field!r}")
            return category(field)
        case n.Select() if operands[0] == FLAG and operands[1] == operands[2]:
            return operands[1]
        case n.Eq() | n.Ne() if operands[0] == operands[1] != FLAG:
            return FLAG
        case n.Item(table, _) if operands[0] not in (FLAG, UNKNOWN) and table:
            return FLAG if isinstance(table[0], bool) else NUMBER
        case n.Defined(arg) if isinstance(nodes[arg], n.PARTIAL):
            return FLAG
        case _ if type(node) in SIGNATURES and SIGNATURES[type(node)][0] == tuple(operands):
            return SIGNATURES[type(node)][1]
    raise DefinitionError(f"{type(node).__name__} cannot take {', '.join(operands)}")
