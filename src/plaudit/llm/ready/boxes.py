r"""What stands in the `\boxed{}` of a text."""

import re

from plaudit.llm.ready.building import LONGEST

_TOKEN = re.compile(r"\\(?:boxed|fbox)\s{0,9}\{|\\.|[{}]", re.DOTALL)


def list_boxed(text: str) -> list[str]:
    r"""Return what stands in each box, without those inside others, those never closed and empty ones.

    >>> list_boxed(r"first \boxed{\frac{1}{2}}, so \boxed{0.5}; \boxed{}")
    ['\\frac{1}{2}', '0.5']
    """
    text = text[-LONGEST:]
    first = min((at for at in (text.find("\\boxed"), text.find("\\fbox")) if at >= 0), default=len(text))
    opened: list[int] = []  # where the contents of open boxes begin; -1 for other braces
    found: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(text, first):
        if token[0] == "}":
            start = opened.pop() if opened else -1
            if start >= 0:
                while found and found[-1][0] > start:
                    found.pop()
                found.append((start, token.start()))
        elif token[0][-1] == "{" and token[0] != "\\{":
            opened.append(-1 if token[0] == "{" else token.end())
    return [inside for start, end in found if (inside := text[start:end].strip())]
