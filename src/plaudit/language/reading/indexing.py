"""Reading subscripts: entries, slices and rows of arrays, and constant tables, also by an index of the row."""

import ast
from abc import ABC
from dataclasses import replace
from types import EllipsisType

from plaudit.language import nodes as n
from plaudit.language.field import is_exact, to_number
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.reading.advice import explain_unsupported_index
from plaudit.language.reading.dictionaries import DictionaryReader
from plaudit.language.reading.values import Constant, Dictionary, Record, Ref, Undeclared, Value, Vector, describe
from plaudit.language.reading.vectors import (
    BATCH,
    BATCHED,
    build_array,
    find_open,
    find_shape,
    has_items,
    insert_axis,
    is_array,
    is_open,
    is_record,
    list_entries,
)

NEW_AXIS = slice(None, None, 0)
"""Stands for an index of None."""

Part = Value | slice | EllipsisType
"""One part of an index: a value, a slice of constants, or `...`."""


class IndexReader(DictionaryReader, ABC):
    """Reads the subscripts of one function."""

    def read_subscript(self, node: ast.Subscript, env: dict[str, Value]) -> Value:
        """Return what `base[index]` stands for."""
        base = self.read_expression(node.value, env)
        if isinstance(base, Dictionary):
            return self.look_up_key(base, self.read_expression(node.slice, env), node)
        several = isinstance(node.slice, ast.Tuple)
        parts = self.list_parts(node, env)
        known = parts[0].value if isinstance(parts[0], Constant) else None
        if isinstance(known, str) and is_record(base) and not several:
            return self.read_part(base, known, node)
        if isinstance(known, int) and isinstance(base, Record) and not several:
            return self.read_part(base, str(known), node)  # `env.vehicles[0].speed`
        if isinstance(known, int) and isinstance(base, Undeclared) and base.path and not several:
            return replace(base, path=(*base.path, str(known)))
        if isinstance(known, str) and is_open(base) and isinstance(base, Ref):
            return base  # of a dict of dicts
        if isinstance(known, str):
            raise self.error(node, *explain_unsupported_index(known, describe(base)))
        if (unknown := self.find_open_index(base, parts)) is not None:
            return unknown
        if not has_items(base):
            self.reader.refuse_record(base, node, self.source)
            raise self.error(node, *explain_unsupported_index(known, describe(base)))
        if not is_array(base):
            if several or (isinstance(parts[0], Constant) and isinstance(parts[0].value, tuple)):
                raise self.error(node, "a tuple has one index.", "Write t[1][2], or make it an array: np.array(t).")
            return self.pick_item(self.list_items(base, node), parts[0], base, node)
        if not several and isinstance(parts[0], Constant) and isinstance(parts[0].value, tuple):
            parts = [self.read_constant(part, node) for part in parts[0].value]
        base, parts = self.add_axes(base, parts)
        return self.pick_entries(base, self.fill_ellipsis(base, parts, node), node)

    def list_parts(self, node: ast.Subscript, env: dict[str, Value]) -> list[Part]:
        """Return the parts of an index, one for each axis."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return [self.read_index(part, env) for part in parts]

    def find_open_index(self, base: Value, parts: list[Part]) -> Ref | None:
        """Return an unknown where it is not known yet what is indexed, or by what."""
        indices = [part for part in parts if not isinstance(part, slice | EllipsisType)]
        if is_open(base) or any(find_open(index) for index in indices):
            return find_open(base, *indices)
        computed = any(not isinstance(index, Constant) for index in indices)
        return find_open(base) if computed else None

    def read_index(self, node: ast.expr, env: dict[str, Value]) -> Part:
        """Return one part of an index."""
        match node:
            case ast.Constant(value=value) if value is ...:
                return ...
            case ast.Constant(value=None) | ast.Attribute(attr="newaxis"):
                return NEW_AXIS
            case ast.Slice(lower=lower, upper=upper, step=step):
                bounds = [None if bound is None else self.read_expression(bound, env) for bound in (lower, upper, step)]
                if (unknown := find_open(*(bound for bound in bounds if bound is not None))) is not None:
                    return unknown
                known = [self.find_bound(bound, node) for bound in bounds]
                if known[2] == 0:
                    raise self.error(node, "the step of a slice is 0.")
                return slice(*known)
        return self.read_expression(node, env)

    def find_bound(self, value: Value | None, node: ast.AST) -> int | None:
        """Return a bound of a slice, which is a constant."""
        if value is None:
            return None
        number = to_number(value.value) if isinstance(value, Constant) else None
        if not isinstance(number, int):
            advice = "Weigh the entries instead: np.where(np.arange(12) < count, v, 0.0)."
            raise self.error(node, "the bounds of a slice are constant integers.", advice)
        return number

    def fill_ellipsis(self, base: Value, parts: list[Part], node: ast.AST) -> list[Part]:
        """Return one part for each axis that is indexed; `...` stands for the axes between."""
        shape = self.fit(find_shape, base, node=node)
        dots = [at for at, part in enumerate(parts) if part is ...]
        if len(dots) > 1:
            raise self.error(node, "an index has one `...`.")
        if len(parts) - len(dots) > len(shape):
            axes = f"{len(shape)} {'axis' if len(shape) == 1 else 'axes'}"
            advice = f"{BATCH}: write v[2] for v[:, 2]. {BATCHED} Several entries are v[[0, 3]]."
            raise self.error(node, f"{len(parts)} indices into {axes}.", advice)
        if dots:
            parts[dots[0] : dots[0] + 1] = [slice(None)] * (len(shape) - len(parts) + 1)
        return parts

    def add_axes(self, base: Value, parts: list[Part]) -> tuple[Value, list[Part]]:
        """Return an array with the axes that an index of None adds, and the index with slices there."""
        dots = [at for at, part in enumerate(parts) if part is ...]
        for at, part in enumerate(parts):
            if part is NEW_AXIS:
                rank = len(find_shape(base))
                behind = len(parts) - at - 1 if dots and dots[0] < at else None
                base = insert_axis(base, at if behind is None else rank - behind)
        return base, [slice(None) if part is NEW_AXIS else part for part in parts]

    def pick_entries(self, base: Value, parts: list[Part], node: ast.AST) -> Value:
        """Return the entries of an array that an index names, axis by axis."""
        if not parts:
            return base
        picked = [at for at, part in enumerate(parts) if not isinstance(part, slice)]
        lists = sum(isinstance(part, Vector) for part in parts)
        if lists > 1 or (lists and picked[-1] - picked[0] >= len(picked)):
            advice = "Take the list on its own: m[0][[1, 2]]."
            raise self.error(node, "a list of indices among other indices is not read.", advice)
        found = self.pick_item(self.list_items(base, node), parts[0], base, node)
        if not isinstance(parts[0], slice | Vector):
            return self.pick_entries(found, parts[1:], node)
        rows = [self.pick_entries(row, parts[1:], node) for row in self.list_items(found, node)]
        return Vector(tuple(rows), array=True)

    def pick_item(self, items: list[Value], part: Part, base: Value, node: ast.AST) -> Value:
        """Return the item that an index names, or the items that a slice or a list of constants does."""
        if isinstance(part, slice):
            found = items[part]
            return self.read_tuple(found) if isinstance(base, Constant) else Vector(tuple(found), is_array(base))
        if isinstance(part, Vector) and is_array(base) and self.holds_indices(part):
            return Vector(tuple(self.choose_item(items, entry, node) for entry in part.items), array=True)
        if isinstance(part, Vector) and is_array(base):
            return Vector(tuple(items[at] for at in self.list_positions(part, len(items), node)), array=True)
        if not isinstance(part, Constant):
            return self.choose_item(items, part, node)
        whole = to_number(part.value)
        if not isinstance(whole, int) or not -len(items) <= whole < len(items):
            raise self.error(node, f"{describe(part)} is not an index into {len(items)} entries.")
        return items[whole]

    def holds_indices(self, index: Vector) -> bool:
        """Return whether an index lists numbers of the row or of the reward, and not constants."""
        return bool(index.items) and all(isinstance(entry, Ref) and entry.kind == NUMBER for entry in index.items)

    def list_positions(self, index: Vector, length: int, node: ast.AST) -> list[int]:
        """Return the positions that a list of integers, or a mask of bools, names."""
        known = [to_number(entry.value) if isinstance(entry, Constant) else None for entry in index.items]
        if known and all(isinstance(entry, bool) for entry in known):
            if len(known) != length:
                raise self.error(node, f"a mask of {len(known)} for {length} entries.")
            return [at for at, kept in enumerate(known) if kept]
        if not all(isinstance(entry, int) and not isinstance(entry, bool) for entry in known):
            advice = "Keep every entry and weigh it: np.where(v > 0, v, 0.0)."
            raise self.error(node, "entries are picked by a list of constant integers or bools.", advice)
        for entry in known:
            if not -length <= entry < length:  # type: ignore[operator]
                raise self.error(node, f"{entry} is not an index into {length} entries.")
        return known  # type: ignore[return-value]

    def choose_item(self, items: list[Value], index: Part, node: ast.AST) -> Value:
        """Return the item at a computed index, guarded: outside, the row does not count."""
        if not isinstance(index, Ref):
            raise self.error(node, f"{describe(index)} is not an index.", "Index by integers.")  # type: ignore[arg-type]
        if any(has_items(item) for item in items):
            shape = self.fit(find_shape, Vector(tuple(items)), node=node)[1:]
            columns = zip(*(list_entries(item) for item in items), strict=True)
            return build_array([self.choose_item(list(column), index, node) for column in columns], shape)
        if all(isinstance(item, Constant) for item in items):
            return self.look_up_item(tuple(item.value for item in items if isinstance(item, Constant)), index, node)
        why = f"indexes a vector of {len(items)} outside it"
        positions = tuple(float(at) for at in range(len(items)))
        at = self.reader.add_number(index, node, self.source)
        position = self.reader.add_partial(n.Item(positions, at), node, self.source, why=why)
        result = items[-1]
        for place, item in reversed(list(enumerate(items[:-1]))):
            here = self.reader.add(n.Eq(position.at, self.reader.builder.const(float(place))))
            result = self.join(here, item, result, node)
        return result

    def look_up_item(self, table: tuple[object, ...], index: Value, node: ast.AST) -> Value:
        """Return the entry of a constant table at a computed index."""
        numbers = [to_number(entry) for entry in table]
        if not numbers or None in numbers or not all(is_exact(entry) for entry in numbers if entry is not None):
            raise self.error(node, "a table indexed by a computed number holds finite numbers or bools.")
        flags = all(isinstance(entry, bool) for entry in numbers)
        entries = tuple(bool(entry) if flags else float(entry or 0) for entry in numbers)
        at = self.reader.add_number(index, node, self.source)
        why = f"indexes a table of {len(entries)} outside it"
        ref = self.reader.add_partial(n.Item(entries, at), node, self.source, why=why)
        return Ref(ref.at, FLAG if flags else NUMBER)

    def look_up_position(self, table: tuple[object, ...], value: Value, node: ast.AST) -> Value:
        """Return `TABLE.index(value)`."""
        if isinstance(value, Constant):
            if value.value not in table:
                raise self.error(node, f"{value.value!r} is not in the tuple.")
            return Constant(table.index(value.value))
        if self.find_kind(value) == UNKNOWN:
            return Ref(self.reader.add_number(value, node, self.source), UNKNOWN)
        why = "looks up a value that is not in its tuple"
        labels = self.find_labels(value)
        if labels and isinstance(value, Ref):
            known = tuple(label in table for label in labels)
            if not all(known):
                self.reader.require(self.reader.add(n.Item(known, value.at)), why, node, self.source)
            positions = tuple(float(table.index(label)) if label in table else 0.0 for label in labels)
            return self.reader.add_partial(n.Item(positions, value.at), node, self.source, why=why)
        flags = [self.compare(ast.Eq(), value, self.read_constant(entry, node), node) for entry in table]
        matches = [self.reader.add_flag(flag, node, self.source) for flag in flags]
        self.reader.require(self.reader.builder.any(matches), why, node, self.source)
        result = self.reader.builder.const(0)
        for position, flag in reversed(list(enumerate(matches))):
            result = self.reader.add(n.Select(flag, self.reader.builder.const(position), result))
        return Ref(result, NUMBER)
