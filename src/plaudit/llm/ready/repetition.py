"""How much a completion repeats itself."""

from typing import Any

from plaudit.errors import DefinitionError
from plaudit.llm.feature import Feature
from plaudit.llm.ready.building import LONGEST, OF, build_feature, check_choice, choose_texts

_UNITS = ("words", "characters")


def repetition(n: int = 3, *, unit: str = "words", of: str = "text") -> Feature:
    """Compute the share of sequences of `n` words that stand in the completion before: 0 for none, always below 1.

    Upper and lower case are the same. Of a longer text, the last million characters count.

    Args:
        n: Number of words in a sequence.
        unit: "words", or "characters" for languages written without spaces.
        of: "text" for the answer, "reasoning" for what the model thought before it, "both".

    Returns:
        A feature, called "repetition": a number; 0 for a text of fewer than `n` words.

    Raises:
        DefinitionError: An argument is invalid.

    >>> repetition(2)("again and again and again")
    0.5
    """
    _check(n, unit)
    check_choice("of", of, OF)
    return build_feature(_share_repeated, name="repetition", settings={"n": n, "unit": unit, "of": of})


def _check(n: Any, unit: Any) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= 100:
        raise DefinitionError(f"n={n!r:.60} is not a number of words from 1 to 100.")
    check_choice("unit", unit, _UNITS)


def _share_repeated(text: str, reasoning: str = "", *, n: int = 3, unit: str = "words", of: str = "text") -> float:
    _check(n, unit)
    total = 0
    seen: set[tuple[str, ...]] = set()
    for each in choose_texts(text, reasoning, of):
        lowered = each[-LONGEST:].casefold()
        pieces = lowered.split() if unit == "words" else [char for char in lowered if not char.isspace()]
        total += max(0, len(pieces) - n + 1)
        seen.update(zip(*(pieces[start:] for start in range(n)), strict=False))
    return 1 - len(seen) / total if total else 0.0
