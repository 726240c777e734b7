"""Show the examples of docstrings as code: an extension of griffe, named in mkdocs.yml.

A doctest in the text of a docstring would be read as a quotation within a quotation within a quotation.
"""

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
SHOWN = {"__call__", "__getitem__"}
"""The special methods that a reader calls; the others are left out."""


class Docstrings(Extension):
    """Fence every doctest that stands outside a section of its own, and hide special methods."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of a function, a class or a module."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
        if obj.name.startswith("_") and obj.name not in SHOWN:
            obj.public = False
