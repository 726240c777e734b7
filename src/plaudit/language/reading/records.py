"""Reading calls of records: `info.get("speed", 0.0)`, and methods that measure, such as `physics.height()`."""

import ast
from abc import ABC

from plaudit.language.reading.advice import METHODS as METHOD_ADVICE
from plaudit.language.reading.advice import explain_unsupported_call
from plaudit.language.reading.library_calls import LibraryCallReader
from plaudit.language.reading.spellings import METHODS
from plaudit.language.reading.values import Constant, Record, Undeclared, Value, describe
from plaudit.language.reading.vectors import find_open, is_record


class RecordReader(LibraryCallReader, ABC):
    """Reads what is called on the records of one function."""

    def is_record_call(self, base: Value, name: str) -> bool:
        """Return whether a method is of a record; `base` may turn out to be one as long as no field is declared."""
        if isinstance(base, Undeclared):
            return bool(base.path) and (name == "get" or not (name in METHODS or name in METHOD_ADVICE))
        return isinstance(base, Record)

    def read_record_call(self, base: Value, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what `record.get(...)` or another method gives: the field of that name, whatever it is passed.

        `self.state(0)` is the field `state_0`, or `state`. Calls with other arguments would be another field.
        """
        assert isinstance(node.func, ast.Attribute)
        name = node.func.attr
        if name == "get" and node.args and len(node.args) <= 2 and not node.keywords:
            key, *default = [self.read_argument(argument, env) for argument in node.args]
            if isinstance(key, Constant) and isinstance(key.value, str):
                return self.read_default(self.read_part(base, key.value, node), default, key.value, node)
        known = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
        if known and len(known) == len(node.args):
            found = self.read_part(base, "_".join([name, *map(str, known)]), node)
            if not isinstance(found, Record | Undeclared):
                return found
        return self.read_part(base, ast.unparse(node).removeprefix(f"{ast.unparse(node.func.value)}."), node)

    def read_attribute_call(self, called: object, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what `getattr(record, "x", default)` or `hasattr(record, "x")` gives."""
        base, name, *default = [self.read_argument(argument, env) for argument in node.args]
        known = name.value if isinstance(name, Constant) else None
        if base is None or not is_record(base) or not isinstance(known, str) or len(default) > 1:
            raise self.error(node, *explain_unsupported_call(ast.unparse(node.func), called))
        value = self.read_part(base, known, node)
        if called is getattr:
            return self.read_default(value, default, known, node)
        return find_open(value) or Constant(not isinstance(value, Record))

    def read_default(self, value: Value, default: list[Value | None], key: str, node: ast.AST) -> Value:
        """Return a field that is read with a default, which what stands in for a missing one must agree with."""
        declared = (self.reader.scope.fields or {}).get(self.find_field(value))
        if declared is None or declared.missing is None or default in ([], [None]):
            return value
        if isinstance(default[0], Constant) and default[0].value == declared.missing:
            return value
        what = f"the default of {key!r} is {describe(default[0]) if default[0] else 'None'}"
        raise self.error(
            node,
            f"{what}, and the field has missing={declared.missing!r}.",
            "Let both be the same: a row without the field has what `missing=` says.",
        )

    def find_field(self, value: Value) -> str:
        """Return the field that a part of a record was read as; an empty string for anything else."""
        at = getattr(value, "at", None)
        node = self.reader.builder.nodes[at] if isinstance(at, int) else None
        return str(getattr(node, "name", "")).rpartition(".")[2].partition("[")[0]
