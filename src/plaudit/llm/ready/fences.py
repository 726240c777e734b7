"""Fenced blocks of a text: what stands between lines of ``` or ~~~."""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^[ \t]*+(?P<marks>`{3,}+|~{3,}+)[ \t]*+(?P<language>[^\n`]*+)$", re.MULTILINE)


def iterate_blocks(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield the language, in lower case, and the content of each block; one never closed ends with the text.

    >>> list(iterate_blocks("Here:\n```Python\nprint(1)\n```\n"))
    [('python', 'print(1)\n')]
    """
    marks, language, start = "", "", 0
    for fence in _FENCE.finditer(text):
        said = fence["language"].strip()
        if not marks:
            marks, language, start = fence["marks"], said.partition(" ")[0].lower(), fence.end() + 1
        elif fence["marks"].startswith(marks) and not said:
            yield language, text[start : fence.start()]
            marks = ""
    if marks:
        yield language, text[start:]
