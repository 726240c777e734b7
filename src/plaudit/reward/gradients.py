"""Which parameters a gradient reaches: those on a path to the total that passes no comparison."""

from plaudit.language import nodes as n
from plaudit.language.program import Program

_FLAT = (
    n.Lt,
    n.Le,
    n.Gt,
    n.Ge,
    n.Eq,
    n.Ne,
    n.Not,
    n.And,
    n.Or,
    n.IsInf,
    n.IsFinite,
    n.Floor,
    n.Ceil,
    n.Round,
    n.FloorDiv,
)
"""Operations that do not move when their operands move a little."""


def gradients(program: Program) -> dict[str, bool]:
    """Return for each parameter whether the total can change smoothly with it.

    A parameter that only comparisons see — a threshold — has a gradient of exactly 0 everywhere.
    """
    reached = {program.outputs["total"]}
    for at in reversed(range(len(program.nodes))):
        node = program.nodes[at]
        if at not in reached or isinstance(node, _FLAT):
            continue
        match node:
            case n.Select(_, then, otherwise):
                reached |= {then, otherwise}
            case n.Item() | n.Number():
                pass
            case _:
                reached |= set(n.operands(node))
    names = {node.name for at, node in enumerate(program.nodes) if at in reached and isinstance(node, n.Param)}
    return {name: name in names for name in program.params}
