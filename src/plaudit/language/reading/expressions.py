"""Reading expressions: each becomes a node, a constant, or a short vector of them."""

import ast
import types
from abc import abstractmethod
from collections.abc import Mapping
from types import EllipsisType

from plaudit.errors import did_you_mean
from plaudit.language.field import RECORDS, to_number
from plaudit.language.reading.advice import explain_unsupported_attribute
from plaudit.language.reading.arithmetic import ArithmeticReader
from plaudit.language.reading.reader import Reader
from plaudit.language.reading.source import Source, list_assigned
from plaudit.language.reading.syntax import explain_unsupported
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Record,
    Ref,
    Unassigned,
    Undeclared,
    Value,
    Vector,
    describe,
    format_part,
    freeze,
    is_library_array,
    is_object,
)
from plaudit.language.reading.vectors import (
    find_open,
    find_shape,
    is_array,
    is_open,
    is_record,
    list_entries,
    transpose,
)


class ExpressionReader(ArithmeticReader):
    """Reads the expressions of one function."""

    def __init__(self, reader: Reader, source: Source) -> None:
        """Begin to read the function `source`."""
        super().__init__(reader, source)
        self.locals = list_assigned(source.tree)

    @abstractmethod
    def run(self, env: dict[str, Value]) -> Value:
        """Return what the function returns."""

    @abstractmethod
    def read_call(self, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what a call returns."""

    @abstractmethod
    def read_lambda(self, node: ast.Lambda, env: dict[str, Value]) -> Value:
        """Return the function that a lambda makes."""

    @abstractmethod
    def read_walrus(self, node: ast.NamedExpr, env: dict[str, Value]) -> Value:
        """Return what is assigned inside an expression."""

    @abstractmethod
    def read_subscript(self, node: ast.Subscript, env: dict[str, Value]) -> Value:
        """Return what `base[index]` stands for."""

    @abstractmethod
    def read_comprehension(self, node: ast.ListComp, env: dict[str, Value]) -> Value:
        """Return the values of a list comprehension."""

    @abstractmethod
    def read_dict(self, node: ast.Dict, env: dict[str, Value]) -> Value:
        """Return a dict that is written out."""

    @abstractmethod
    def read_dict_comprehension(self, node: ast.DictComp, env: dict[str, Value]) -> Value:
        """Return the dict of a comprehension."""

    def read_expression(self, node: ast.expr, env: dict[str, Value]) -> Value:
        """Return what an expression stands for."""
        match node:
            case ast.Constant(value=value):
                return self.read_constant(value, node)
            case ast.Name():
                return self.read_name(node, env)
            case ast.Attribute():
                return self.read_attribute(node, env)
            case ast.BinOp(left=left, op=op, right=right):
                return self.apply_arithmetic(
                    op, self.read_expression(left, env), self.read_expression(right, env), node
                )
            case ast.UnaryOp(op=op, operand=operand):
                return self.apply_unary(op, self.read_expression(operand, env), node)
            case ast.Compare():
                return self.read_comparison(node, env)
            case ast.BoolOp():
                return self.read_boolean(node, env)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.read_choice(test, body, orelse, node, env)
            case ast.Subscript():
                return self.read_subscript(node, env)
            case ast.Tuple(elts=elements):
                return self.find_open_star(elements, env) or self.read_tuple(self.read_several(elements, env))
            case ast.List(elts=elements):
                return self.find_open_star(elements, env) or Vector(tuple(self.read_several(elements, env)))
            case ast.ListComp():
                return self.read_comprehension(node, env)
            case ast.Dict():
                return self.read_dict(node, env)
            case ast.DictComp():
                return self.read_dict_comprehension(node, env)
            case ast.Call():
                return self.read_call(node, env)
            case ast.Lambda():
                return self.read_lambda(node, env)
            case ast.NamedExpr():
                return self.read_walrus(node, env)
        raise self.error(node, *explain_unsupported(node))

    def read_tuple(self, items: list[Value]) -> Value:
        """Return a tuple written in the function."""
        known = [item.value for item in items if isinstance(item, Constant)]
        return Constant(tuple(known)) if len(known) == len(items) else Vector(tuple(items))

    def read_several(self, elements: list[ast.expr], env: dict[str, Value]) -> list[Value]:
        """Return the values of a tuple, list or call; `*v` stands for the entries of `v`."""
        found: list[Value] = []
        for element in elements:
            if isinstance(element, ast.Starred):
                found += self.list_items(self.read_expression(element.value, env), element)
            else:
                found.append(self.read_expression(element, env))
        return found

    def find_open_star(self, elements: list[ast.expr], env: dict[str, Value]) -> Ref | None:
        """Return an unknown where it is not known yet how many values `*v` stands for."""
        stars = [self.read_expression(each.value, env) for each in elements if isinstance(each, ast.Starred)]
        return find_open(*(value for value in stars if is_open(value)))

    def read_constant(self, value: object, node: ast.AST) -> Value:
        """Return a constant of the language; refuse what it does not have."""
        if isinstance(value, tuple) and any(isinstance(item, list | Mapping) for item in value):
            return Vector(tuple(self.read_constant(item, node) for item in value))
        if isinstance(value, str | tuple | types.ModuleType | type) or callable(value):
            return Constant(value)
        number = to_number(value)
        if number is not None:
            return Constant(number)
        if is_library_array(value):
            return self.read_array(value, node)
        if type(value).__name__ == "dtype":
            return Constant(value)
        if isinstance(value, list):
            return Vector(tuple(self.read_constant(item, node) for item in value))
        if isinstance(value, set | frozenset):
            return Constant(freeze(value))
        if isinstance(value, Mapping):
            return Dictionary({key: self.read_constant(item, node) for key, item in value.items()})
        if isinstance(value, bytes | complex | EllipsisType):
            what = f"a {type(value).__name__} is not part of the language."
            raise self.error(node, what, "Use numbers, bools, strings, tuples or dicts.")
        return Constant(value)  # None, or an object whose attributes may be read

    def read_name(self, node: ast.Name, env: dict[str, Value]) -> Value:
        """Return a local name, or a constant from outside the function."""
        if node.id in env:
            value = env[node.id]
            if isinstance(value, Unassigned) and value.error:
                raise value.error
            if isinstance(value, Unassigned) and value.why:
                raise self.error(node, value.why, f"Give the new value a name of its own: `total = {node.id} + ...`.")
            if isinstance(value, Unassigned):
                raise self.error(node, f"some path leaves {node.id!r} without a value.", "Assign it before the `if`.")
            return value
        if node.id in self.locals:
            raise self.error(node, f"{node.id!r} is read before it is assigned.", "Assign it above this line.")
        try:
            outer = self.source.find_outer(node.id)
        except KeyError:
            near = did_you_mean(node.id, [*env, *self.source.function.__globals__])
            raise self.error(
                node,
                f"the name {node.id!r} is not known.{near}",
                "Define constants above the term; a field is a parameter.",
            ) from None
        self.source.known[node.id] = outer = freeze(outer)  # kept as it was when the function was first read
        return self.read_constant(outer, node)

    def read_attribute(self, node: ast.Attribute, env: dict[str, Value]) -> Value:
        """Return a part of a record, a constant of a module or class, or the shape of an array."""
        base = self.read_expression(node.value, env)
        if is_record(base) and (local := format_part(base, node.attr)) in env:
            return self.read_name(ast.copy_location(ast.Name(local, ast.Load()), node), env)
        return self.find_attribute(base, node)

    def read_part(self, base: Value, part: str, node: ast.AST) -> Value:
        """Return a part of a record: `base.part` or `base["part"]`."""
        assert isinstance(base, Record | Undeclared)
        if base.path[0] in RECORDS:
            return self.reader.read_record(base.path[0], part, node, self.source)
        return self.reader.read_part((*base.path, part), node, self.source)

    def find_attribute(self, base: Value, node: ast.Attribute) -> Value:
        """Return the attribute that `node` names, of what it is read from."""
        if node.attr in ("values", "indices") and is_open(base) and isinstance(base, Ref):
            return base  # of `torch.max(v, dim=0)`
        if node.attr in ("shape", "size", "ndim", "T") and (is_open(base) or is_array(base)):
            if (unknown := find_open(base)) is not None:
                return unknown
            if node.attr == "T":
                return self.fit(transpose, base, node=node)
            shape = self.fit(find_shape, base, node=node)
            return Constant({"shape": shape, "size": len(list_entries(base)), "ndim": len(shape)}[node.attr])
        if is_record(base):
            return self.read_part(base, node.attr, node)
        if isinstance(base, Constant) and (isinstance(base.value, types.ModuleType | type) or is_object(base.value)):
            key = (id(base.value), node.attr)
            if key not in self.source.known:
                if not hasattr(base.value, node.attr):
                    raise self.error(node, f"{ast.unparse(node)!r} does not exist.")
                self.source.known[id(base.value)] = base.value  # so that no other object gets its id
                self.source.known[key] = freeze(getattr(base.value, node.attr))
            return self.read_constant(self.source.known[key], node)
        if isinstance(base, Vector) and not base.array and node.attr in ("values", "indices") and len(base.items) == 2:
            return base.items[node.attr == "indices"]
        raise self.error(node, *explain_unsupported_attribute(node, describe(base)))
