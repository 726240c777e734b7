"""Samples of text: your function extracts the reward's fields from one sample, and the reward scores them.

The function names what it needs of a sample (prompt, completion, a column of the data set) by its parameters.
"""

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plaudit.errors import DefinitionError, MissingField, UnknownInput, WrongType, did_you_mean
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.rows.on_bad import MAX_MASKED, MaskCount, apply_on_bad

__all__ = ["text_of"]

_LOG = logging.getLogger("plaudit")

Features = Callable[..., Any]
"""A function from parts of a sample, by name, to the reward's inputs by name."""


class KeywordFunction:
    """Calls a function with the parts of a sample that its parameters name."""

    def __init__(self, function: Callable[..., Any], *, allow_async: bool = False) -> None:
        """Read the signature once; an async function is refused unless `allow_async`."""
        if not callable(function):
            raise DefinitionError(f"{function!r:.60} is not a function.")
        if not allow_async and any(map(inspect.iscoroutinefunction, (function, type(function).__call__))):
            raise DefinitionError(f"{function!r:.60} is async, and nothing here awaits it: give a plain function.")
        self.function = function
        self.signature = inspect.signature(function)
        parameters = self.signature.parameters.values()
        by_name = [each for each in parameters if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
        self._everything = any(each.kind is each.VAR_KEYWORD for each in parameters)
        self._needed = [each.name for each in by_name if each.default is each.empty]
        self._known = frozenset(each.name for each in by_name)

    def __call__(self, sample: Mapping[str, Any]) -> Any:
        """Call the function on a sample; MissingField if it needs something that the sample lacks."""
        self.require(sample)
        if self._everything:
            return self.function(**sample)
        return self.function(**{name: sample[name] for name in self._known & sample.keys()})

    def require(self, sample: Mapping[str, Any]) -> None:
        """Raise MissingField if the sample lacks a parameter of the function: the function is wrong, not the sample."""
        for name in self._needed:
            if name not in sample:
                asks = getattr(self.function, "__name__", type(self.function).__name__)
                raise MissingField(
                    f"{asks} asks for {name!r}, which a sample does not have.{did_you_mean(name, sample)}\n"
                    f"It has: {', '.join(sample)}."
                )


class Scorer:
    """A reward, and the function that extracts its fields from one sample."""

    def __init__(
        self,
        reward: Reward,
        features: Features,
        *,
        on_bad: str = "raise",
        max_masked: float = MAX_MASKED,
        allow_async: bool = False,
    ) -> None:
        """Keep both; `features` may be async with `allow_async`."""
        if not isinstance(reward, Reward):
            raise DefinitionError(f"{reward!r:.60} is not a Reward.")
        self.reward = apply_on_bad(reward, on_bad)
        self.masks = on_bad == "mask"
        self.masking = Masking(reward.name, max_masked)
        self.features = KeywordFunction(features, allow_async=allow_async)

    def __call__(self, sample: Mapping[str, Any]) -> Signal:
        """Return the signal of one sample."""
        return self.score(self.features(sample))

    def score(self, fields: Any) -> Signal:
        """Return the signal of the fields that `features` returned."""
        if not isinstance(fields, Mapping):
            raise WrongType(f"the features of reward {self.reward.name!r} must be a mapping, not {fields!r:.60}")
        return self.reward.score(**fields)


class Masking:
    """Counts and logs the samples that `on_bad="mask"` leaves without a reward, and limits their share."""

    def __init__(self, reward: str, max_masked: float) -> None:
        """Count for the reward with this name; `max_masked` is the maximum share of masked samples."""
        self._reward = reward
        self._count = MaskCount(reward, max_masked)
        self._lacking = self._complete = 0

    @property
    def masked(self) -> int:
        """Number of samples without a reward because they could not be scored."""
        return self._count.masked

    def add(self, errors: Sequence[Exception], samples: int) -> None:
        """Count a batch of samples and the `errors` of those that failed.

        Raises:
            MissingField, UnknownInput: All of two or more samples, in this batch or so far, lack a field of the reward
                or have one that it does not read.
            TooManyMasked: More than `max_masked` could not be scored.
        """
        lacking = sum(isinstance(error, MissingField | UnknownInput) for error in errors)
        self._lacking += lacking
        self._complete += samples - lacking
        whole_batch = lacking == samples > 1
        if whole_batch or (not self._complete and self._lacking > 1):
            raise _make_definition_error(errors[0], samples if whole_batch else self._lacking)
        first = _describe_error(errors[0]) if errors else ""
        self._count.add(len(errors), samples, first)
        if errors:
            text = "%s: %d of %d samples could not be scored and have no reward; the first: %s"
            _LOG.warning(text, self._reward, len(errors), samples, first)


def _describe_error(error: Exception) -> str:
    return " ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])


def _make_definition_error(first: Exception, samples: int) -> MissingField | UnknownInput:
    kind = MissingField if isinstance(first, MissingField) else UnknownInput
    return kind(
        f"{first}\nNone of {samples} samples has the right fields, so none is masked: have the features return the "
        "fields that the reward reads, and no others."
    )


def text_of(completion: str | Sequence[Mapping[str, Any]]) -> str:
    """Return the text that the model wrote.

    Args:
        completion: A string, or a conversation as a list of messages.

    Returns:
        A string as it is; of a conversation, the messages of the assistant, one per line.

    Raises:
        WrongType: It is neither a string nor a list of messages.

    >>> text_of([{"role": "assistant", "content": [{"type": "text", "text": "Four."}]}])
    'Four.'
    """
    if isinstance(completion, str):
        return completion
    try:
        if isinstance(completion, Mapping):
            raise TypeError
        texts = [_join_text(message.get("content")) for message in completion if message.get("role") == "assistant"]
    except (AttributeError, KeyError, TypeError):
        raise WrongType(f"a completion is a string or a list of messages, not {completion!r:.80}") from None
    return "\n".join(filter(None, texts))


def _join_text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part["text"] for part in content if part.get("type") == "text")
