"""Reading dicts: constant keys, values of any kind, and lookups by constants or by data."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Hashable
from functools import partial
from typing import Any

from plaudit.errors import did_you_mean
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER
from plaudit.language.reading.expressions import ExpressionReader
from plaudit.language.reading.values import Constant, Dictionary, Value, Vector, describe
from plaudit.language.reading.vectors import find_open, has_items


class DictionaryReader(ExpressionReader, ABC):
    """Reads the dicts of one function."""

    @abstractmethod
    def read_argument(self, node: ast.expr, env: dict[str, Value]) -> Value | None:
        """Return an argument; None where it is a literal None."""

    def read_dict(self, node: ast.Dict, env: dict[str, Value]) -> Value:
        """Return a dict that is written out; `**other` stands for the entries of another."""
        items: dict[Any, Value] = {}
        for key, expression in zip(node.keys, node.values, strict=True):
            value = self.read_expression(expression, env)
            if key is not None:
                items[self.find_key(self.read_expression(key, env), key)] = value
            elif isinstance(value, Dictionary):
                items |= value.items
            else:
                raise self.error(expression, f"`**` stands for a dict, and this is {describe(value)}.")
        return Dictionary(items)

    def make_dict(self, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what `dict(...)` makes: of keywords, of another dict, or of pairs."""
        items: dict[Any, Value] = {}
        for argument in node.args:
            value = self.read_expression(argument, env)
            if isinstance(value, Dictionary):
                items |= value.items
                continue
            for pair in self.list_items(value, argument):
                parts = self.list_items(pair, argument)
                if len(parts) != 2:
                    raise self.error(argument, "a dict is made of pairs.", "Write {'a': x, 'b': y}.")
                items[self.find_key(parts[0], argument)] = parts[1]
        items |= {keyword.arg: self.read_expression(keyword.value, env) for keyword in node.keywords if keyword.arg}
        return Dictionary(items)

    def find_key(self, key: Value, node: ast.AST) -> Any:
        """Return a constant key."""
        if not isinstance(key, Constant) or not isinstance(key.value, Hashable):
            advice = "Use `if` and `elif`, or sum up what counts: `total += x if kind == 'a' else 0`."
            raise self.error(node, f"the keys of a dict are constants, and this is {describe(key)}.", advice)
        return key.value

    def read_dict_method(self, base: Dictionary, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what a method of a dict gives."""
        assert isinstance(node.func, ast.Attribute)
        given = [self.read_argument(argument, env) or Constant(None) for argument in node.args]
        match node.func.attr, given:
            case "get", [key, *default] if len(default) <= 1:
                return self.look_up_key(base, key, node, default[0] if default else Constant(None))
            case "keys", []:
                return Vector(tuple(self.list_items(base, node)))
            case "values", []:
                return Vector(tuple(base.items.values()))
            case "items", []:
                return Vector(tuple(Vector((Constant(key), value)) for key, value in base.items.items()))
            case "copy", []:
                return base
        advice = "Of a dict, d[key], d.get(key, 0), d.keys(), d.values(), d.items() and d.copy() are read."
        raise self.error(node, f"`.{node.func.attr}()` of a dict is not read here.", advice)

    def look_up_key(self, base: Dictionary, key: Value, node: ast.AST, default: Value | None = None) -> Value:
        """Return `base[key]`; of a key that is data, one of the values, and a row without any does not count."""
        if isinstance(key, Constant):
            if key.value in base.items:
                return base.items[key.value]
            if default is not None:
                return default
            near = did_you_mean(str(key.value), [each for each in base.items if isinstance(each, str)])
            keys = ", ".join(map(repr, base.items))
            raise self.error(node, f"{describe(key)} is not a key of the dict.{near}", f"Its keys: {keys:.200}.")
        if (unknown := find_open(key)) is not None:
            return unknown
        fits = [(self.match_key(key, each, node), value) for each, value in base.items.items()]
        found = [(flag, value) for flag, value in fits if flag is not False]
        labels = self.find_labels(key)
        complete = bool(labels) and all(label in base.items for label in labels)
        if default is None or complete:
            if not found:
                raise self.error(node, f"no key of the dict can be {describe(key)}.")
            if not complete:
                flags = [self.add_condition(flag) for flag, _ in found]
                why = "looks up a key that is not in its dict"
                self.reader.require(self.reader.builder.any(flags), why, node, self.source)
            default = found.pop()[1]
        for flag, value in reversed(found):
            default = value if flag is True else self.join(flag, value, default, node)
        return default

    def add_condition(self, flag: int | bool) -> int:
        """Return the position of a condition that may be known."""
        return self.reader.builder.const(flag) if isinstance(flag, bool) else flag

    def match_key(self, key: Value, known: Any, node: ast.AST) -> int | bool:
        """Return where a key that is data equals a constant one."""
        if has_items(key) and isinstance(known, tuple):
            parts = self.list_items(key, node)
            if len(parts) != len(known):
                return False
            pairs = zip(parts, known, strict=True)
            joined = self.chain(True, [partial(self.match_key, part, each, node) for part, each in pairs])
            return self.read_truth(joined, node)
        if isinstance(key, Constant):
            return bool(key.value == known)
        if self.find_kind(key) in (FLAG, NUMBER):
            known = to_number(known)
        elif known not in self.find_labels(key):
            known = None
        return known is not None and self.read_truth(self.compare(ast.Eq(), key, Constant(known), node), node)
