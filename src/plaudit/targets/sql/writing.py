"""Writing a lowered Program on a sheet: one loop over its nodes, a name for each value that is read more than once."""

import re
from collections import Counter
from collections.abc import Mapping

from plaudit.language import nodes as n
from plaudit.language.program import reachable
from plaudit.targets.sql.lowering import Lowered
from plaudit.targets.sql.sheet import Cell, Sheet
from plaudit.targets.sql.spelling import Speller

DEEPEST = 8
"""How many operations may stand inside one another before a value gets a name: SQLite's parser has a small stack."""

_SLOT = re.compile(r"\{(\d)\}")


def write(
    lowered: Lowered, speller: Speller, inputs: Mapping[str, Cell], sheet: Sheet, prefix: str = "v"
) -> dict[int, Cell]:
    """Return the expression of each root, and of all that they need; `inputs` are those of the inputs."""
    nodes = lowered.program.nodes
    needed = list(reachable(nodes, lowered.roots))
    templates = {at: speller.template(at) for at in needed if n.operands(nodes[at])}
    uses = Counter(lowered.roots)
    for at in reversed(needed):  # users first: a comparison that a BETWEEN has taken in is read by nobody
        if at in templates and uses[at]:
            template, operands = templates[at]
            uses.update(operands[int(slot)] for slot in _SLOT.findall(template))
    found: dict[int, Cell] = {}
    depth: dict[int, int] = {}
    for at in needed:
        if at not in templates:
            node = nodes[at]
            found[at] = inputs[node.name] if isinstance(node, n.Input) else Cell(speller.leaf(at) or "")
            depth[at] = 0
            continue
        template, operands = templates[at]
        if not uses[at]:
            continue
        cell = sheet.cell(template, [found.get(operand, Cell("")) for operand in operands])
        depth[at] = 1 + max(depth.get(operand, 0) for operand in operands)
        if uses[at] > 1 or depth[at] > DEEPEST:
            cell, depth[at] = sheet.named(f"{prefix}{at}", cell), 0
        found[at] = cell
    return found
