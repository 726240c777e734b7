"""A row's values by name, each from earlier ones: written as a chain of subqueries, or all in one expression."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from plaudit.errors import TargetError
from plaudit.targets.sql.dialects import Dialect

LONGEST = 1_000_000
"""Characters of one expression; beyond, shared values have been written out too often."""


class TooLong(TargetError):
    """An expression has grown beyond reason."""


@dataclass(frozen=True, slots=True)
class Cell:
    """An expression, and the named values it reads."""

    text: str
    reads: frozenset[str] = frozenset()


class Sheet:
    """Named values of a row, layer upon layer; with `inline`, none has a name, and none may be too long."""

    def __init__(self, *, inline: bool, longest: int = LONGEST) -> None:
        self.inline = inline
        self.longest = longest
        self.cells: dict[str, Cell] = {}
        self.layers: dict[str, int] = {}

    def cell(self, template: str, operands: Sequence[Cell] = ()) -> Cell:
        """Return an expression over others."""
        text = template.format(*(operand.text for operand in operands))
        if self.inline and len(text) > self.longest:
            raise TooLong(
                f"as one expression this reward has more than {self.longest:,} characters: shared values have no names "
                "there. Use select(table), which computes each of them once."
            )
        return Cell(text, frozenset().union(*(operand.reads for operand in operands)))

    def named(self, name: str, cell: Cell) -> Cell:
        """Return a value under a name, so that it is computed once however often it is read."""
        if self.inline:
            return cell
        self.cells[name] = cell
        self.layers[name] = 1 + max((self.layers[read] for read in cell.reads), default=0)
        return Cell(name, frozenset({name}))

    def statement(self, dialect: Dialect, source: str, prefix: str, outputs: Mapping[str, Cell]) -> str:
        """Return the statement that reads `source` and yields `outputs`."""
        parts = []
        for layer, columns in self._layers(list(outputs.values())):
            below = f"{prefix}_{layer - 1}" if layer > 1 else source
            lines = ["SELECT", "  " + ",\n    ".join(columns), f"FROM {below}", *filter(None, [dialect.fence])]
            parts.append(f"{prefix}_{layer} {dialect.cte} (\n  " + "\n  ".join(lines) + "\n)")
        listed = ",\n  ".join(f"{cell.text} AS {dialect.quoted(name)}" for name, cell in outputs.items())
        return f"WITH {', '.join(parts)}\nSELECT\n  {listed}\nFROM {prefix}_{len(parts)}"

    def nested(self, dialect: Dialect, output: Cell) -> str:
        """Return `output` as one expression: a subquery that reads the row around it and no table."""
        parts = []
        for layer, columns in self._layers([output]):
            below = f" FROM plaudit_{layer - 1}" if layer > 1 else ""
            fence = f" {dialect.fence}" if dialect.fence else ""
            parts.append(f"plaudit_{layer} {dialect.cte} (SELECT {', '.join(columns)}{below}{fence})")
        return f"(WITH {', '.join(parts)} SELECT {output.text} FROM plaudit_{len(parts)})"

    def _layers(self, outputs: Sequence[Cell]) -> Iterator[tuple[int, list[str]]]:
        """Yield the columns of each layer: what is handed on, then what is computed there."""
        last = max(self.layers.values(), default=0)
        needed = self._needed(outputs, last)
        for layer in range(1, last + 1):
            made = [name for name in self.cells if self.layers[name] == layer]
            carried = [name for name in self.cells if self.layers[name] < layer and name in needed[layer]]
            yield layer, [*carried, *(f"{self.cells[name].text} AS {name}" for name in made)]

    def _needed(self, outputs: Sequence[Cell], last: int) -> dict[int, set[str]]:
        """Return for each layer the names that it or anything above it must hand on."""
        above = {read for cell in outputs for read in cell.reads}
        found = {}
        for layer in range(last, 0, -1):
            found[layer] = set(above)
            above |= {read for name, cell in self.cells.items() if self.layers[name] == layer for read in cell.reads}
        return found
