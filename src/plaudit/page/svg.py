"""Sanitized SVG: parsed as XML, and written again with only the elements and attributes listed here.

A picture comes from a system, which draws recorded data, so neither is trusted: nothing in it may run, load, link, or
reach the rest of the page. The page applies the same lists again (`static/sanitise.js`).
"""

import re
from html import escape
from typing import NamedTuple
from xml.etree import ElementTree

from plaudit.errors import PlauditError

MOST_BYTES = 64_000
"""Of one picture."""
DEEPEST = 50
"""How deep elements may be nested."""

ELEMENTS = frozenset({
    "svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "title", "desc",
})  # fmt: skip
ATTRIBUTES = frozenset({
    "viewBox", "width", "height", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "d", "points",
    "transform", "fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
    "stroke-linecap", "stroke-linejoin", "opacity", "font-size", "font-weight", "font-family", "text-anchor",
    "dominant-baseline", "dx", "dy", "rotate", "preserveAspectRatio", "role", "aria-label",
})  # fmt: skip
_FREE_TEXT = ("aria-label",)
_NAMESPACE = "http://www.w3.org/2000/svg"
_FUNCTIONS = {"rgb", "rgba", "hsl", "hsla", "var", "translate", "rotate", "scale", "matrix", "skewX", "skewY"}
_PLAIN_VALUE = re.compile(r"[\w\s.,#%()+-]*", re.ASCII)
"""Allowed characters of a value: no quotation mark, colon, slash or backslash, so no address and no escape."""


class UnsafePicture(PlauditError, ValueError):
    """A text is not an SVG that the page can show."""


class CleanPicture(NamedTuple):
    """A picture that is safe, and what was left out of it."""

    markup: str
    left_out: frozenset[str]
    """Elements as `<script>`, attributes as `onclick`."""


def clean_svg(text: str) -> CleanPicture:
    """Return a picture with only the elements and attributes that are listed.

    >>> clean_svg('<svg viewBox="0 0 9 9"><circle r="4" onclick="alert(1)"/><script>alert(2)</script></svg>')
    CleanPicture(markup='<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle r="4"></circle></svg>',
    left_out=frozenset({...}))

    Raises:
        UnsafePicture: It is too large, nested too deep, not SVG, or has a document type, entities or comments.
    """
    if len(text) > MOST_BYTES:
        raise UnsafePicture(f"the SVG has {len(text):,} characters; the limit is {MOST_BYTES:,}")
    if "<!" in text:
        raise UnsafePicture("the SVG contains <! (a document type, an entity or a comment)")
    try:
        root = ElementTree.fromstring(text)  # without <! there is no entity to expand
    except (ElementTree.ParseError, ValueError):
        raise UnsafePicture("the SVG is not well-formed XML") from None
    if _find_tag(root) != "svg":
        raise UnsafePicture("the SVG does not begin with <svg>")
    left_out: set[str] = set()
    markup = _write(root, left_out, 0)
    return CleanPicture(markup.replace("<svg", f'<svg xmlns="{_NAMESPACE}"', 1), frozenset(left_out))


def _find_tag(element: ElementTree.Element) -> str:
    """Return the name of an element of SVG; that of any other with its namespace, which no list has."""
    return str(element.tag).removeprefix(f"{{{_NAMESPACE}}}")


def _write(element: ElementTree.Element, left_out: set[str], depth: int) -> str:
    if depth > DEEPEST:
        raise UnsafePicture(f"the SVG is nested more than {DEEPEST} elements deep")
    tag = _find_tag(element)
    if tag not in ELEMENTS:
        left_out.add(f"<{_shorten(tag)}>")
        return ""
    attributes = "".join(_write_attribute(*each, left_out) for each in element.items())
    parts = [escape(element.text or "")]
    for child in element:
        parts += [_write(child, left_out, depth + 1), escape(child.tail or "")]
    return f"<{tag}{attributes}>{''.join(parts)}</{tag}>"


def _write_attribute(name: str, value: str, left_out: set[str]) -> str:
    safe = name in ATTRIBUTES and (name in _FREE_TEXT or is_plain_value(value))
    if not safe:
        left_out.add(_shorten(name))
        return ""
    return f' {name}="{escape(value)}"'


def is_plain_value(value: str) -> bool:
    """Return whether the value of an attribute holds only names, numbers and colors, and no address.

    >>> is_plain_value("var(--term-0)"), is_plain_value("translate(3, -4.5)"), is_plain_value("url(#a)")
    (True, True, False)
    """
    called = re.findall(r"([\w-]*)\s*\(", value)
    return _PLAIN_VALUE.fullmatch(value) is not None and _FUNCTIONS.issuperset(called)


def _shorten(name: str) -> str:
    """Return a name without its namespace, at most 40 characters."""
    return name.rpartition("}")[2][:40]
