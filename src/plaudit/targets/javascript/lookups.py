"""Choices between constants, looked up in a table: branches that a processor guesses wrong take most of the time.

`a if p else b if q else c` becomes entry `p | q << 1` of a table that has `c, a, b, a`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from plaudit.language import nodes as n
from plaudit.language.program import Program, find_reachable
from plaudit.targets.emit import Code, Spelling, emit

MOST_CONDITIONS = 4
"""A table has an entry for each combination of them."""
MOST_NODES = 16
"""Operations in a condition at most: all conditions are computed for every row."""

_READ = (n.Const, n.Param, n.Input, n.Label)
_COMPARISONS = (n.Lt, n.Le, n.Gt, n.Ge, n.Eq, n.Ne, n.Not, n.And, n.Or)
_CHEAP: tuple[type[n.Node], ...] = (*_READ, *_COMPARISONS, n.Abs, n.Neg, n.Add, n.Sub, n.Mul)


class Choice(NamedTuple):
    """Numbers that are the same for every row, each with the condition under which it is taken unless one before is."""

    at: int
    conditions: tuple[int, ...]
    numbers: tuple[int, ...]
    """One more than conditions: the last where none holds."""

    def list_entries(self) -> Iterator[int]:
        """Yield what each combination of conditions gives; the first condition is the last bit."""
        for bits in range(2 ** len(self.conditions)):
            first = (k for k in range(len(self.conditions)) if bits >> k & 1)
            yield self.numbers[next(first, -1)]


def find_choices(program: Program, roots: Sequence[int]) -> list[Choice]:
    """Return the choices that `roots` need, those that others depend on first."""
    nodes = program.nodes
    needed = list(find_reachable(nodes, roots))
    uses = Counter([*roots, *(operand for at in needed for operand in n.operands(nodes[at]))])
    found: list[Choice] = []
    inside: set[int] = set()
    for at in reversed(needed):  # a choice before the choices inside it
        if at in inside or not isinstance(nodes[at], n.Select):
            continue
        conditions, numbers, chain = [], [], []
        node, here = nodes[at], at
        while isinstance(node, n.Select) and (here == at or uses[here] == 1):
            chain.append(here)
            conditions.append(node.condition)
            numbers.append(node.then)
            here = node.otherwise
            node = nodes[here]
        choice = Choice(at, tuple(conditions), (*numbers, here))
        if len(conditions) <= MOST_CONDITIONS and _is_fixed(program, choice) and _are_cheap(program, conditions):
            found.append(choice)
            inside |= set(chain)
    return found[::-1]


def write_lookups(program: Program, choices: Iterable[Choice], code: Code, spelling: Spelling) -> list[str]:
    """Write choices to `code`; return the lines that make their tables, which stand before the loop over rows."""
    tables = []
    for choice in choices:
        if choice.at in code.texts:
            continue  # a test of the row has needed it
        emit(program, [*choice.conditions, *choice.numbers], spelling, code)
        bits = [f"{code.texts[at]} << {k}" if k else code.texts[at] for k, at in enumerate(choice.conditions)]
        entries = ", ".join(code.texts[number] for number in choice.list_entries())
        tables.append(f"const k{choice.at} = Float64Array.of({entries});")
        code.lines.append(f"v{choice.at} = k{choice.at}[{' | '.join(bits)} | 0]")
        code.texts[choice.at] = f"v{choice.at}"
    return tables


def _is_fixed(program: Program, choice: Choice) -> bool:
    return all(_is_fixed_number(program, program.nodes[at]) for at in choice.numbers)


def _is_fixed_number(program: Program, node: n.Node) -> bool:
    match node:
        case n.Const(value):
            return not isinstance(value, bool)
        case n.Param(name):
            return not isinstance(program.params[name], bool)
    return False


def _are_cheap(program: Program, conditions: Sequence[int]) -> bool:
    most = MOST_NODES * len(conditions)
    needed = list(islice(find_reachable(program.nodes, conditions), most + 1))
    return len(needed) <= most and all(isinstance(program.nodes[at], _CHEAP) for at in needed)
