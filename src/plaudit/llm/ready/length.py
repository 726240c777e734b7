"""How long a completion is."""

import re
from collections.abc import Callable
from typing import Any

from plaudit.errors import DefinitionError, WrongType
from plaudit.llm.feature import Feature
from plaudit.llm.ready.building import OF, build_feature, check_choice, choose_texts

_UNITS = ("words", "characters", "tokens")
_SURROGATE = re.compile("[\ud800-\udfff]")


def length(unit: str = "words", *, tokenizer: Any = None, of: str = "text") -> Feature:
    """Count the words, characters or tokens of a completion; tool calls do not count.

    Words stand between white space; for languages written without it, count characters or tokens.

    Args:
        unit: "words", "characters" or "tokens".
        tokenizer: A function from a text to its tokens, or an object with such a method `encode`; what it adds, such as
            special tokens, counts. If omitted, the tokens are those of the column `completion_ids`.
        of: "text" for the answer, "reasoning" for what the model thought before it, "both". The column
            `completion_ids` has the tokens of both.

    Returns:
        A feature, called "length": an integer.

    Raises:
        DefinitionError: An argument is invalid.

    >>> length()("Roses are red.")
    3
    >>> length("tokens", tokenizer=list)("Roses")
    5
    >>> length("tokens", of="both")([464, 7, 12])
    3
    """
    check_choice("unit", unit, _UNITS)
    check_choice("of", of, OF)
    settings = {"unit": unit, "of": of, "tokenizer": tokenizer}
    if tokenizer is not None:
        _find_encode(tokenizer)
        if unit != "tokens":
            raise DefinitionError(f"a tokenizer counts tokens, not {unit}: write unit='tokens', or leave it out.")
    elif unit == "tokens":
        if of != "both":
            raise DefinitionError(
                "completion_ids has the tokens of answer and reasoning: give a tokenizer, or write of='both'."
            )
        return build_feature(_count_ids, name="length", settings=settings)
    return build_feature(_count_units, name="length", settings=settings)


def _count_units(
    text: str, reasoning: str = "", *, unit: str = "words", of: str = "text", tokenizer: Any = None
) -> int:
    check_choice("unit", unit, _UNITS)
    texts = choose_texts(text, reasoning, of)
    if unit == "words":
        return sum(len(each.split()) for each in texts)
    if unit == "characters":
        return sum(map(len, texts))
    encode = _find_encode(tokenizer)
    return sum(len(encode(_SURROGATE.sub("\ufffd", each))) for each in texts if each)


def _count_ids(completion_ids: Any, *, unit: str = "tokens", of: str = "both", tokenizer: Any = None) -> int:
    if (unit, of, tokenizer) != ("tokens", "both", None):
        raise DefinitionError("this feature counts completion_ids; for another unit, call length() again.")
    if isinstance(completion_ids, str) or not hasattr(completion_ids, "__len__"):
        raise WrongType(f"completion_ids is not a list of tokens: {completion_ids!r:.60}")
    return len(completion_ids)


def _find_encode(tokenizer: Any) -> Callable[[str], Any]:
    encode = getattr(tokenizer, "encode", tokenizer)
    if not callable(encode) or isinstance(tokenizer, str):
        raise DefinitionError(f"tokenizer={tokenizer!r:.60} is not a function and has no method encode.")
    found: Callable[[str], Any] = encode
    return found
