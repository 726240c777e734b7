"""Whether an answer is one of those accepted, once case, spaces and punctuation are put aside."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any

from plaudit.errors import InputError
from plaudit.llm.feature import Feature
from plaudit.llm.ready.building import LONGEST, build_feature
from plaudit.llm.ready.tags import check_tag, find_tagged

_ARTICLE = re.compile(r"\b(?:a|an|the)\b", re.IGNORECASE)
_IN_NUMBER = re.compile(r"(?<=\d)[.,:/](?=\d)|(?<!\w)-(?=[.\d])|(?<![\w.])\.(?=\d)")
_KEPT = "%‰#&@"
_SWAP = "\ue000"
"""Stands for punctuation that belongs to a number while other punctuation is removed."""


def matches(
    answer: str = "answer",
    *,
    tag: str | None = None,
    ignore_case: bool = True,
    ignore_punctuation: bool = True,
    ignore_articles: bool = False,
) -> Feature:
    """Say whether the answer is the one in a column, or one of them if the column has a list.

    All of the answer has to match: one that lists many possible answers does not. Spaces at both ends and the number of
    spaces never count, nor do differences that Unicode calls equivalent, such as full-width letters.

    Args:
        answer: The column with the accepted answer, or with a list of them.
        tag: Compare only what stands in this tag, such as "answer"; it has to be there exactly once.
        ignore_case: Whether upper and lower case are the same.
        ignore_punctuation: Whether punctuation is ignored, but for that inside of numbers and for %, #, & and @: 3.5 is
            not 35, and -5 is not 5.
        ignore_articles: Whether the English words a, an and the are ignored.

    Returns:
        A feature of `text` and the column, called "matches": True or False.

    Raises:
        DefinitionError: An argument is invalid.

    >>> right = matches()
    >>> right("**Paris.**", "Paris"), right("Paris or London", "Paris"), right("london", ["London", "Londres"])
    (True, False, True)
    """
    settings = {
        "tag": tag,
        "ignore_case": bool(ignore_case),
        "ignore_punctuation": bool(ignore_punctuation),
        "ignore_articles": bool(ignore_articles),
    }
    if tag is not None:
        check_tag(tag)
    return build_feature(_is_accepted, name="matches", columns={"answer": answer}, settings=settings)


def _is_accepted(
    text: str,
    answer: Any,
    *,
    tag: str | None = None,
    ignore_case: bool = True,
    ignore_punctuation: bool = True,
    ignore_articles: bool = False,
) -> bool:
    def normalize(given: str) -> str:
        given = unicodedata.normalize("NFKC", given).replace("−", "-")
        if ignore_case:
            given = given.casefold()
        if ignore_punctuation:
            given = _remove_punctuation(given)
        if ignore_articles:
            given = _ARTICLE.sub(" ", given)
        return " ".join(given.split())

    accepted = set()
    for each in _list_accepted(answer):
        if not (wanted := normalize(each)):
            raise InputError(f"nothing is left to compare of the accepted answer {each!r:.60}")
        accepted.add(wanted)
    found = text if tag is None else find_tagged(text, tag)
    if found is None or len(found) > LONGEST:
        return False
    found = unicodedata.normalize("NFKC", found)  # which makes up to 18 characters of one
    return len(found) <= LONGEST and normalize(found) in accepted


def _list_accepted(answer: Any) -> Iterable[str]:
    """Return the accepted answers of a column as strings."""
    if hasattr(answer, "tolist"):  # an array, or a number of NumPy
        answer = answer.tolist()
    listed = list(answer) if isinstance(answer, list | tuple | set | frozenset) else [answer]
    if not listed or not all(isinstance(each, str | int | float) for each in listed):
        raise InputError(f"the accepted answer is not a string, a number or a list of them: {answer!r:.60}")
    return map(str, listed)


def _remove_punctuation(text: str) -> str:
    """Return a text without full stops and apostrophes, and with spaces for other punctuation outside of numbers."""
    kept = [found.group() for found in _IN_NUMBER.finditer(text)]
    text = _IN_NUMBER.sub(_SWAP, text.replace(_SWAP, " "))
    text = text.translate({ord(char): _replace(char) for char in set(text)})
    parts = text.split(_SWAP)
    return "".join(part for pair in zip(parts, [*kept, ""], strict=True) for part in pair)


@cache
def _replace(char: str) -> str:
    if not unicodedata.category(char).startswith("P") or char in _KEPT:
        return char
    return "" if char in ".'’" else " "
