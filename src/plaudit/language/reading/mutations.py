"""Reading what changes a local list, dict or array in place: the name gets a new value, as all its other names do."""

import ast
from dataclasses import replace

from plaudit.language.reading.calls import CallReader
from plaudit.language.reading.indexing import Part
from plaudit.language.reading.syntax import explain_unsupported_target
from plaudit.language.reading.values import Constant, Dictionary, Ref, Unassigned, Value, Vector, describe
from plaudit.language.reading.vectors import build_array, find_open, find_shape, is_array, is_open, list_entries, spread


class MutationReader(CallReader):
    """Reads what one function changes in place."""

    given: tuple[Value, ...] = ()
    """What the caller passed: never changed in place."""

    def find_local(self, node: ast.expr, env: dict[str, Value]) -> tuple[str, Value] | None:
        """Return the local name that is changed in place, and its value; None where it is not the function's own."""
        if not isinstance(node, ast.Name) or node.id not in env:
            return None
        value = self.read_name(node, env)
        own = isinstance(value, Vector | Dictionary) or (is_open(value) and isinstance(value, Ref))
        return (node.id, value) if own and not self.is_given(value) else None

    def is_given(self, value: Value) -> bool:
        """Return whether a value, or what it is a part of, was passed by the caller."""
        if is_array(value) and any(id(entry) in self.reader.entries for entry in list_entries(value)):
            return True  # a field that was read from a record
        return any(is_shared(value, other) for other in self.given)

    def change(self, old: Value, new: Value, env: dict[str, Value]) -> None:
        """Give every name of `old` the value `new`; other names that share a part of it have none any more."""
        names = [name for name, value in env.items() if value is old]
        self.forget_shared(old, env, *names)
        env.update(dict.fromkeys(names, new))

    def forget_shared(self, old: Value, env: dict[str, Value], *but: str) -> None:
        """Take the value from every name, but some, that a change of `old` in place may be seen in."""
        for name, value in env.items():
            if name not in but and is_shared(old, value):
                env[name] = Unassigned(f"{name!r} may share what was changed in place.")

    def assign_item(self, target: ast.Subscript, value: Value, env: dict[str, Value]) -> None:
        """Read `name[index] = value`."""
        local = self.find_local(target.value, env)
        if local is None:
            raise self.error(target, *explain_unsupported_target(target))
        old = local[1]
        if isinstance(old, Dictionary):
            key = self.find_key(self.read_expression(target.slice, env), target)
            return self.change(old, Dictionary({**old.items, key: value}), env)
        parts = self.list_parts(target, env)
        if (unknown := find_open(old, value) or self.find_open_index(old, parts)) is not None:
            return self.change(old, unknown, env)
        masks = [part for part in parts if is_array(part) and self.holds_flags(part)]  # type: ignore[arg-type]
        if masks and len(parts) == 1 and is_array(old):
            return self.change(old, self.choose_rows(masks[0], value, old, target), env)  # type: ignore[arg-type]
        return self.change(old, self.replace_entries(old, parts, value, target), env)

    def choose_rows(self, mask: Value, value: Value, old: Value, node: ast.AST) -> Value:
        """Return an array with `value` where a mask is true, along the axes that the mask has."""
        missing = len(self.fit(find_shape, old, node=node)) - len(self.fit(find_shape, mask, node=node))
        for _ in range(missing):
            mask = self.spread(lambda entry: Vector((entry,), array=True), mask, node=node)
        return self.choose(node, mask, value, old)

    def replace_entries(self, old: Value, parts: list[Part], value: Value, node: ast.Subscript) -> Value:
        """Return a list or array with another value where an index points."""
        assert isinstance(old, Vector)
        entries = list_entries(old) if old.array else list(old.items)
        shape = self.fit(find_shape, old, node=node) if old.array else (len(entries),)
        places = build_array([Constant(at) for at in range(len(entries))], shape)
        picked = self.pick_entries(places, self.fill_ellipsis(places, parts, node), node)
        if not all(isinstance(place, Constant) for place in list_entries(picked)):
            advice = "Choose among whole arrays: np.where(np.arange(4) == leg, x, v)."
            raise self.error(node, "an entry is replaced at a constant index.", advice)
        if not old.array:
            self.refuse_several(picked, node)
            entries[list_entries(picked)[0].value] = value  # type: ignore[union-attr,index]
            return Vector(tuple(entries))

        def put(place: Value, one: Value) -> Value:
            entries[place.value] = replace(one) if isinstance(one, Ref) else one  # type: ignore[union-attr,index]
            return one

        self.fit(spread, put, picked, value, node=node)
        return build_array(entries, shape)

    def refuse_several(self, picked: Value, node: ast.AST) -> None:
        """Refuse a slice of a list on the left of an assignment."""
        if isinstance(picked, Vector):
            raise self.error(node, "a slice of a list is not assigned to.", "Join lists: v[:1] + w.")

    def call_in_place(self, node: ast.Call, env: dict[str, Value]) -> bool:
        """Read `v.append(x)`, `v.extend(w)` and `d.update(e)`, where `v` is a local list and `d` a local dict."""
        if not isinstance(node.func, ast.Attribute) or node.keywords or len(node.args) != 1:
            return False
        local = self.find_local(node.func.value, env)
        if local is None or node.func.attr not in ("append", "extend", "update"):
            return False
        old, value = local[1], self.read_expression(node.args[0], env)
        match node.func.attr, old, value:
            case _ if is_open(old):
                pass
            case "append", Vector(items, False), _:
                self.change(old, Vector((*items, value)), env)
            case "extend", Vector(items, False), _:
                self.change(old, Vector((*items, *self.list_items(value, node))), env)
            case "update", Dictionary(entries), Dictionary(others):
                self.change(old, Dictionary({**entries, **others}), env)
            case _:
                what = f"`.{node.func.attr}()` cannot be read of {describe(old)} and {describe(value)}."
                raise self.error(node, what, "Lists take append and extend, dicts take update.")
        return True


def is_shared(value: Value, other: Value) -> bool:
    """Return whether a change of `value` in place may be seen in `other`: it is the same, holds it, or shares entries.

    An entry on its own counts as shared: in PyTorch it is a view of its array.
    """
    if value is other:
        return isinstance(value, Vector | Dictionary)
    if isinstance(other, Dictionary) or (isinstance(other, Vector) and not other.array):
        held = other.items.values() if isinstance(other, Dictionary) else other.items
        return any(is_shared(value, each) for each in held if isinstance(each, Vector | Dictionary))
    if not is_array(value) or not isinstance(other, Vector | Ref):
        return False
    return not {id(entry) for entry in list_entries(value)}.isdisjoint(id(entry) for entry in list_entries(other))
