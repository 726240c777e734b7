"""The kind of every node: a number, a flag, or a category of one field."""

from collections.abc import Mapping, Sequence

from plaudit.errors import DefinitionError
from plaudit.language import nodes as n
from plaudit.language.field import Field, format_category, infer_field_kind

NUMBER = "number"
FLAG = "flag"
UNKNOWN = "unknown"
"""A value whose field is not declared yet: a term is read once before it belongs to a reward."""

_OPEN = (n.Eq, n.Ne, n.Select, n.Item, n.Defined)
"""Operations whose operands may be of several kinds."""

SIGNATURES: Mapping[type[n.Node], tuple[tuple[str, ...], str]] = {
    kind: ((FLAG if kind.takes_flags else NUMBER,) * len(names), FLAG if kind.flag else NUMBER)
    for kind in n.KINDS.values()
    if (names := n.operand_names(kind)) and kind not in _OPEN
}
"""The kinds of the operands of an operation, and of its result."""


def infer_kinds(
    nodes: Sequence[n.Node], inputs: Mapping[str, Field], params: Mapping[str, float | bool]
) -> tuple[str, ...]:
    """Return the kind of each node; DefinitionError where operands do not fit."""
    found: list[str] = []
    for at, node in enumerate(nodes):
        try:
            found.append(_infer_kind(node, found, nodes, inputs, params))
        except (KeyError, IndexError) as error:
            raise DefinitionError(f"node {at} ({type(node).__name__}) names {error}, which does not exist") from None
    return tuple(found)


def _infer_kind(
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
            return infer_field_kind(inputs[name])
        case n.Label(field, value):
            if not any(f.name == field and value in f.labels for f in inputs.values()):
                raise DefinitionError(f"the label {value!r} is not a value of a field {field!r}")
            return format_category(field)
        case n.Select() if operands[0] == FLAG and operands[1] == operands[2]:
            return operands[1]
        case n.Eq() | n.Ne() if operands[0] == operands[1] != FLAG:
            return FLAG
        case n.Item(table, _) if operands[0] not in (FLAG, UNKNOWN) and table:
            return FLAG if isinstance(table[0], bool) else NUMBER
        case n.Defined(arg) if nodes[arg].partial:
            return FLAG
        case _ if type(node) in SIGNATURES and SIGNATURES[type(node)][0] == tuple(operands):
            return SIGNATURES[type(node)][1]
    raise DefinitionError(f"{type(node).__name__} cannot take {', '.join(operands)}")
