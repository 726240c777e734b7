"""A sample: what a model was asked, what it wrote, and the columns of the data set that belong to it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plaudit.errors import WrongType
from plaudit.terminal import escape_controls

__all__ = ["Sample", "text_of"]

Conversation = str | Sequence[Mapping[str, Any]]
"""A text, or messages with a role and a content."""
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Under which names servers and chat templates put what a model thought before it answered."""
_OPENED, _CLOSED = "<think>", "</think>"


class Sample(Mapping[str, Any]):
    """The parts of a sample by name: `prompt`, `completion`, and every column of the data set.

    Features name the parts that they need by their parameters. Three parts are worked out from the completion: `text`,
    what the model wrote as its answer; `reasoning`, what it thought before; `tool_calls`, which tools it called.

    >>> sample = Sample(prompt="2 + 3", completion="<think>Easy.</think>5", answer="5")
    >>> sample.text, sample.reasoning, sample["answer"]
    ('5', 'Easy.', '5')
    """

    def __init__(self, parts: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Keep the parts.

        Args:
            parts: Parts by name.
            **more: Further parts.
        """
        self._parts = {**(parts or {}), **more} if more else dict(parts or {})
        self._answer: tuple[str, str] | None = None

    def __getitem__(self, name: str) -> Any:
        """Return a part, given or worked out."""
        try:
            return self._parts[name]
        except KeyError:
            if name in _WORKED_OUT and "completion" in self._parts:
                return getattr(self, name)
            raise

    def __contains__(self, name: object) -> bool:
        """Return whether the sample has a part."""
        return name in self._parts or (name in _WORKED_OUT and "completion" in self._parts)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the parts that were given."""
        return iter(self._parts)

    def __len__(self) -> int:
        """Return the number of parts that were given."""
        return len(self._parts)

    def __repr__(self) -> str:
        """Return the names of its parts."""
        return escape_controls(f"Sample({', '.join(map(str, self._parts))})")

    @property
    def text(self) -> str:
        """What the model wrote, without its reasoning; of a conversation, the assistant's messages, one per line."""
        return self._split()[0]

    @property
    def reasoning(self) -> str:
        """What the model thought: `reasoning_content` of its messages, and what stands between `<think>` tags."""
        return self._split()[1]

    @property
    def tool_calls(self) -> tuple[Mapping[str, Any], ...]:
        """The tool calls of the assistant's messages, in order."""
        return tuple(call for message in _list_messages(self["completion"]) for call in message.get("tool_calls") or ())

    def _split(self) -> tuple[str, str]:
        if self._answer is None:
            completion = self["completion"]
            self._answer = split_reasoning(completion) if isinstance(completion, str) else self._split_messages()
        return self._answer

    def _split_messages(self) -> tuple[str, str]:
        texts, thoughts = [], []
        for message in _list_messages(self["completion"]):
            thoughts += [_join_text(message.get(name)) for name in _THOUGHTS]
            text, thought = split_reasoning(_join_text(message.get("content")))
            texts.append(text)
            thoughts += [_join_parts(message.get("content"), "thinking"), thought]
        return "\n".join(filter(None, texts)), "\n".join(filter(None, thoughts))


_WORKED_OUT = frozenset({"text", "reasoning", "tool_calls"})


def text_of(completion: Conversation) -> str:
    """Return all text that the model wrote as its answer, tags included.

    Args:
        completion: A string, or a conversation as a list of messages.

    Returns:
        A string as it is; of a conversation, the messages of the assistant, one per line.

    Raises:
        WrongType: It is neither a string nor a list of messages.

    >>> text_of([{"role": "assistant", "content": [{"type": "text", "text": "Four."}]}])
    'Four.'
    """
    return "\n".join(filter(None, (_join_text(message.get("content")) for message in _list_messages(completion))))


def spell_part(part: Any) -> str:
    """Return a part of a sample as a string that is the same for equal parts."""
    if isinstance(part, str):
        return part
    try:
        return json.dumps(part, sort_keys=True, default=repr)
    except (TypeError, ValueError):  # names of several types, or a circle
        return repr(part)


def split_reasoning(text: str) -> tuple[str, str]:
    """Return a text without what stands between `<think>` tags, and that.

    A chat template may open the tag in the prompt, so that only the end of it is in the text; and a model that is cut
    off never closes it.
    """
    if _OPENED not in text and _CLOSED not in text:
        return text, ""
    head, closed, tail = text.rpartition(_CLOSED)
    if not closed:
        before, _, thought = text.partition(_OPENED)
        return before.strip(), thought.strip()
    before, opened, thought = head.partition(_OPENED)
    if not opened:
        before, thought = "", head
    return f"{before}{tail}".strip(), thought.strip()


def _list_messages(completion: Any) -> list[Mapping[str, Any]]:
    """Return the assistant's messages; a string is one."""
    if isinstance(completion, str):
        return [{"content": completion}]
    try:
        if isinstance(completion, Mapping):
            raise TypeError
        return [message for message in completion if message.get("role") == "assistant"]
    except (AttributeError, TypeError):
        raise WrongType(f"a completion is a string or a list of messages, not {completion!r:.80}") from None


def _join_text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return _join_parts(content, "text")


def _join_parts(content: Any, kind: str) -> str:
    if content is None or isinstance(content, str):
        return ""
    try:
        return "".join(part[kind] for part in content if part.get("type") == kind)
    except (AttributeError, KeyError, TypeError):
        raise WrongType(f"the content of a message is a string or a list of parts, not {content!r:.80}") from None
