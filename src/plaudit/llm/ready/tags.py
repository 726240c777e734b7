"""Tags such as `<think>` and `<answer>`: whether a completion has them, and what stands between them."""

import re
from collections.abc import Sequence
from typing import Any

from plaudit.errors import DefinitionError
from plaudit.llm.feature import Feature
from plaudit.llm.ready.building import build_feature
from plaudit.llm.sample import text_of

_NAME = re.compile(r"[A-Za-z][\w.-]*")


def tags(*names: str, alone: bool = False, opened: bool = False) -> Feature:
    """Say whether a completion has tags in this order, each exactly once, side by side, with something in them.

    It looks at the completion as the model wrote it, since the `text` of a sample is without the thinking. Where a
    server has moved the thinking into `reasoning_content`, there is no `<think>` any more: ask for the others only.

    Args:
        *names: Names of the tags, such as "think", "answer".
        alone: Whether nothing but white space may stand outside the tags.
        opened: Whether the prompt ends with the first opening tag, as in chat templates of reasoning models.

    Returns:
        A feature of `completion`, called "tags": True or False.

    Raises:
        DefinitionError: There is no name, one is given twice, or one cannot be the name of a tag.

    >>> well_formed = tags("think", "answer")
    >>> well_formed("<think>2 and 2</think> <answer>4</answer>")
    True
    >>> well_formed("<think>2 and 2 <answer>4</answer></think>")
    False
    """
    _check_names(names)
    settings = {"names": tuple(names), "alone": bool(alone), "opened": bool(opened)}
    return build_feature(_has_tags, name="tags", settings=settings)


def _check_names(names: Sequence[str]) -> None:
    if not names:
        raise DefinitionError("tags() needs the name of a tag, such as tags('think', 'answer').")
    for name in names:
        check_tag(name)
    if len(set(names)) != len(names):
        raise DefinitionError(f"tags({', '.join(map(repr, names))}) has a name twice: each tag is expected once.")


def check_tag(name: Any) -> None:
    """Raise DefinitionError unless a name can be that of a tag."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise DefinitionError(f"{name!r:.60} cannot be the name of a tag; write 'answer' for <answer>.")


def _has_tags(completion: Any, *, names: Sequence[str] = (), alone: bool = False, opened: bool = False) -> bool:
    _check_names(names)
    text = text_of(completion)
    if opened:
        text = f"<{names[0]}>{text}"
    expected = [tag for name in names for tag in (f"<{name}>", f"</{name}>")]
    outside, end, after = [], 0, 0
    for found in re.finditer("|".join(map(re.escape, expected)), text):
        if after == len(expected) or found[0] != expected[after]:
            return False
        between = text[end : found.start()].strip()
        if after % 2 and not between:
            return False
        if not after % 2:
            outside.append(between)
        end, after = found.end(), after + 1
    return after == len(expected) and not (alone and (any(outside) or text[end:].strip()))


def find_tagged(text: str, tag: str) -> str | None:
    """Return what stands in a tag; None if the tag is not there exactly once."""
    before, opened, rest = text.partition(f"<{tag}>")
    inside, closed, after = rest.partition(f"</{tag}>")
    if not opened or not closed or any(f"<{tag}>" in each or f"</{tag}>" in each for each in (before, inside, after)):
        return None
    return inside
