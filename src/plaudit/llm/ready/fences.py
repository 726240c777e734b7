"""Fenced blocks of a text: what stands between lines of ``` or ~~~."""

import re

_FENCE = re.compile(r"^[ \t]*+(?P<marks>`{3,}+|~{3,}+)[ \t]*+(?P<language>[^\n`]*+)$", re.MULTILINE)


def list_blocks(text: str) -> list[tuple[str, str]]:
    r"""Return the language, in lower case, and the content of each block; one never closed ends with the text.

    >>> list_blocks("Here:\n```Python\nprint(1)\n```\n")
    [('python', 'print(1)\n')]
    """
    found: list[tuple[str, str]] = []
    marks, language, start = "", "", 0
    for fence in _FENCE.finditer(text):
        said = fence["language"].strip()
        if not marks:
            marks, language, start = fence["marks"], said.partition(" ")[0].lower(), fence.end() + 1
        elif fence["marks"].startswith(marks) and not said:
            found.append((language, text[start : fence.start()]))
            marks = ""
    if marks:
        found.append((language, text[start:]))
    return found
