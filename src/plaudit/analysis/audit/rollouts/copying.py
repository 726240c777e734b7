"""Whether a text copies its prompt."""

import re
from collections.abc import Mapping
from typing import Any

LEAST_WORDS = 8
"""A shorter text may well be the same for several prompts: it is an answer."""
MOST = 0.5
"""A text from the prompt that is a smaller share of it is a quotation, or an answer that the prompt has."""
_TAG = re.compile(r"<[^<>]{1,40}>")
_WORD = re.compile(r"\w+")


def strip_tags(text: str) -> str:
    """Return a text without tags, which belong to its form.

    >>> strip_tags("<answer>5</answer>")
    '5'
    """
    return _TAG.sub(" ", text).strip()


def count_words(text: str) -> int:
    """Return the number of words without tags."""
    return len(_list_words(text))


def copies_prompt(text: str, prompt: Any) -> bool:
    """Return whether a text repeats most of its prompt, once or several times, and adds nothing.

    >>> copies_prompt("<answer>What is two and three? What is two and three?</answer>", "What is two and three?")
    True
    >>> copies_prompt("What is two and three? It is five, of course.", "What is two and three?")
    False
    """
    words = _list_words(text)
    if len(words) < LEAST_WORDS:
        return False
    for asked in (_read_prompt(prompt, last=True), _read_prompt(prompt, last=False)):
        given = _list_words(asked)
        if not given:
            continue
        said, said_before = (f" {' '.join(each)} " for each in (words, given))
        within = said in said_before and len(words) >= MOST * len(given)
        if within or (set(words) <= set(given) and not said.replace(said_before[1:], "").strip()):
            return True
    return False


def _list_words(text: str) -> list[str]:
    return _WORD.findall(strip_tags(text).casefold())


def _read_prompt(prompt: Any, *, last: bool) -> str:
    """Return a prompt as text; of a conversation, all messages or the last of the user."""
    if isinstance(prompt, str):
        return prompt
    messages = [each for each in prompt if isinstance(each, Mapping)] if isinstance(prompt, list | tuple) else []
    said = [str(each.get("content") or "") for each in messages if not last or each.get("role") == "user"]
    return (said[-1] if said else "") if last else "\n".join(said)
