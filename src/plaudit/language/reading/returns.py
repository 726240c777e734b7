"""Reading what a term returns: one number, or that of several values which its author says is the score."""

import ast
from typing import NamedTuple

from plaudit.language.kinds import FLAG, UNKNOWN
from plaudit.language.reading.flow import FlowReader
from plaudit.language.reading.values import Constant, Dictionary, Ref, Value, Vector, describe
from plaudit.language.reading.vectors import has_items, is_open, list_entries


class Returned(NamedTuple):
    """What is taken of the values that a term or fact returns."""

    part: int | str | None = None
    """A position in a tuple, or a key of a dict."""
    batched: bool = False
    """Whether it returns a value for each row of a batch."""
    flag: str = ""
    """What a function is that returns a bool: a "fact", a "goal"."""


class ReturnReader(FlowReader):
    """Reads what one function returns."""

    returned: Returned | None = None
    """What is taken of it; None for a helper, which returns what it likes."""

    def read_returned(self, node: ast.expr, env: dict[str, Value]) -> Value:
        """Return what stands behind `return`."""
        if self.returned is None:
            return self.read_expression(node, env)
        part = self.returned.part
        match node:  # what is returned beside the score makes no difference to it
            case ast.Tuple(elts=elements) if isinstance(part, int) and -len(elements) <= part < len(elements):
                value = self.read_expression(elements[part], env)
            case _:
                value = self.take_part(self.read_expression(node, env), part, node)
        if self.returned.batched:
            value = self.take_first_row(value, node)
        self.validate_returned(value, node)
        return value

    def take_part(self, value: Value, part: int | str | None, node: ast.expr) -> Value:
        """Return the entry of a tuple, or the value of a dict, that is the score."""
        if part is None or is_open(value):
            return value
        if isinstance(value, Dictionary):
            return self.look_up_key(value, Constant(part), node)
        items = self.list_items(value, node) if has_items(value) else []
        if not isinstance(part, int) or not -len(items) <= part < len(items):
            raise self.error(
                node, f"there is no part {part!r} of {describe(value)}.", "Leave part= out, or say another."
            )
        return items[part]

    def take_first_row(self, value: Value, node: ast.expr) -> Value:
        """Return what a function for batches returns for the first row."""
        if not isinstance(value, Vector):
            return value
        first = list_entries(value.items[0])
        if len(value.items) != self.reader.batch or len(first) != 1:
            what = f"a function for batches returns one number for each row, and this is {describe(value)}"
            raise self.error(
                node, f"{what} for {self.reader.batch} rows.", "Reduce the other axes: torch.sum(x, dim=-1)."
            )
        return first[0]

    def validate_returned(self, value: Value, node: ast.expr) -> None:
        """Refuse what is no score, or no fact, at the line that returns it."""
        assert self.returned is not None
        kind = self.find_kind(value)
        if self.returned.flag and kind not in (FLAG, UNKNOWN):
            what = f"a {self.returned.flag} is true or false of a step, and this returns {describe(value)}."
            raise self.error(node, what, "Return a comparison: `return deceleration == 0`.")
        if isinstance(value, Dictionary):
            first = next(iter(value.items), "")
            advice = f"Say which is the score: @term(part={first!r}); make a term of each that counts."
            raise self.error(node, f"this returns {describe(value)}, and a term has one score.", advice)
        if has_items(value) and not (isinstance(value, Vector) and value.array):
            advice = "Say which is the score: @term(part=0) takes the first."
            raise self.error(node, f"this returns {describe(value)}, and a term has one score.", advice)
        if not isinstance(value, Ref) or kind.startswith("category"):
            self.reader.add_number(value, node, self.source)
