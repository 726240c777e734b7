"""What to write for a field that somebody declared in other words, such as `range=(0, 1)`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plaudit.errors import did_you_mean, shorten

_WORDS = {
    "low": ("min", "minimum", "lower", "ge", "minval"),
    "high": ("max", "maximum", "upper", "le", "maxval"),
    "unit": ("units",),
    "values": ("choices", "options", "categories", "enum", "labels", "allowed", "levels"),
    "missing": ("default", "fallback", "fill", "fill_value"),
    "length": ("size", "len", "dim", "dims", "n"),
    "flag": ("bool", "boolean", "binary"),
    "doc": ("description", "desc", "help", "comment"),
}
_ARGUMENTS = {word: argument for argument, words in _WORDS.items() for word in words}
_RANGES = ("range", "bounds", "limits", "interval", "clip", "domain", "span")
_TYPES = ("dtype", "type", "kind")


def write_field_for(name: object, given: object) -> str:
    """Return the field to write for what somebody gave in place of one.

    >>> write_field_for("x", (0, 1)), write_field_for("mode", ["a", "b"]), write_field_for("done", bool)
    ("Field('x', low=0, high=1)", "Field('mode', values=('a', 'b'))", "Field('done', flag=True)")
    """
    if isinstance(given, Mapping):
        return _write(name, dict(_translate({str(key): value for key, value in given.items()})))
    return _write(name, _describe_value(given))


def describe_wrong_arguments(positional: Sequence[object], keywords: Mapping[str, Any], known: Sequence[str]) -> str:
    """Return what is wrong with the arguments of a field, and what to write; an empty string if nothing is."""
    name = positional[0] if positional else keywords.get("name", "x")
    if len(positional) > 1:
        rest = positional[1] if len(positional) == 2 else tuple(positional[1:])
        written = _write(name, {**_describe_value(rest), **{key: v for key, v in keywords.items() if key in known}})
        return f"Field() takes one argument without a keyword, the name: {written}"
    unknown = next((key for key in keywords if key not in known), None)
    if unknown is None:
        return ""
    parts = dict(_translate({key: value for key, value in keywords.items() if key != "name"}))
    if unknown in parts:
        return f"Field() got an unexpected keyword argument {unknown!r}.{did_you_mean(unknown, known)}"
    return f"Field() has no argument {unknown!r}; write {_write(name, parts)}"


def _translate(keywords: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield arguments as a field calls them; those that it has no name for as they are."""
    for key, value in keywords.items():
        if key in (*_RANGES, *_TYPES):
            yield from _describe_value(value).items()
        else:
            yield _ARGUMENTS.get(key, key), value


def _describe_value(given: object) -> dict[str, Any]:
    """Return the arguments of a field that say what a value says: a range, categories, a type."""
    if given is bool or isinstance(given, bool) or given in ("bool", "flag"):
        return {"flag": True}
    if isinstance(given, list | tuple) and given:
        if all(isinstance(each, str) for each in given):
            return {"values": tuple(given)}
        if len(given) == 2:
            return {key: each for key, each in zip(("low", "high"), given, strict=True) if each is not None}
    return {}


def _write(name: object, parts: Mapping[str, Any]) -> str:
    return f"Field({', '.join([shorten(name, 40), *(f'{key}={shorten(value, 60)}' for key, value in parts.items())])})"
