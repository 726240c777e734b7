"""The tokens of an episode: what clients report is counted, and a call that would go beyond the budget is denied."""

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from plaudit.errors import InputError, MissingField
from plaudit.systems.apex.values import parse_integer, parse_nonnegative_integer

BUDGET = 10_000
"""Tokens in an episode."""

_PROMPT = ("prompt_tokens", "input_tokens")
_COMPLETION = ("completion_tokens", "output_tokens")
_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")
"""What a client that reports `input_tokens` reports beside them, and not among them."""


class Usage(NamedTuple):
    """The tokens of one call.

    >>> Usage(prompt=120, completion=5).total
    125
    """

    prompt: int
    completion: int

    @property
    def total(self) -> int:
        """All tokens of the call."""
        return self.prompt + self.completion

    @classmethod
    def parse(cls, usage: Any) -> "Usage":
        """Read the token counts that a client reports.

        The names are `prompt_tokens` and `completion_tokens`, or `input_tokens` and `output_tokens`. Next to those,
        tokens read from or written to a cache are added; `prompt_tokens` includes them already.

        Args:
            usage: A mapping, an object, or a whole response that has a `usage`.

        Returns:
            The tokens of the call.

        Raises:
            MissingField: None of the names is there.

        >>> Usage.parse({"input_tokens": 20, "output_tokens": 5, "cache_read_input_tokens": 100})
        Usage(prompt=120, completion=5)
        """
        if usage is not None and _get_part(usage, "usage") is not None:
            usage = _get_part(usage, "usage")
        prompt, completion = _read_one_of(usage, _PROMPT), _read_one_of(usage, _COMPLETION)
        if prompt is None and completion is None:
            names = ", ".join((*_PROMPT, *_COMPLETION))
            raise MissingField(
                f"usage {usage!r:.80} has none of {names}. A streaming client reports usage only if you ask for it."
            )
        apart = _get_part(usage, "prompt_tokens") is None
        cached = sum(_read_tokens(usage, name) or 0 for name in _CACHED) if apart else 0
        return cls((prompt or 0) + cached, completion or 0)


class TokenMeter:
    """Counts the tokens that clients report; it only ever rises, and threads may share one.

    >>> meter = TokenMeter()
    >>> meter.count({"prompt_tokens": 120, "completion_tokens": 30}).total, meter.used
    (150, 150)
    """

    def __init__(self) -> None:
        """Begin at 0."""
        self._lock = threading.Lock()
        self._sum = Usage(0, 0)
        self._calls = 0

    @property
    def used(self) -> int:
        """All tokens so far."""
        return self._sum.total

    @property
    def sum(self) -> Usage:
        """All tokens so far, of prompts and of completions."""
        return self._sum

    @property
    def calls(self) -> int:
        """How many calls were counted."""
        return self._calls

    def count(self, usage: Any) -> Usage:
        """Count the tokens of one call; invalid usage counts nothing.

        Args:
            usage: What the client reports, as `Usage.parse` reads it.

        Returns:
            The tokens counted.
        """
        read = usage if isinstance(usage, Usage) else Usage.parse(usage)
        prompt, completion = (
            parse_nonnegative_integer("prompt", read.prompt),
            parse_nonnegative_integer("completion", read.completion),
        )
        with self._lock:
            self._sum = Usage(self._sum.prompt + prompt, self._sum.completion + completion)
            self._calls += 1
        return Usage(prompt, completion)


class Denial(NamedTuple):
    """A call that was denied because it might exceed the budget.

    >>> budget = TokenBudget(100)
    >>> budget.allow(prompt=90, max_completion=20, caller="coder")
    False
    >>> budget.denials[0].estimate
    110
    """

    caller: str
    used: int
    estimate: int
    limit: int


class TokenBudget:
    """The tokens that an episode may use: a call is allowed when what is used and its estimate are within the limit.

    A denial is kept in `denials`, and the episode goes on.

    >>> budget = TokenBudget(100)
    >>> budget.allow(prompt=30, max_completion=70)
    True
    >>> _ = budget.meter.count({"prompt_tokens": 30, "completion_tokens": 20})
    >>> budget.allow(prompt=30, max_completion=70, caller="coder"), budget.denials, budget.headroom
    (False, (Denial(caller='coder', used=50, estimate=100, limit=100),), 0.5)
    """

    def __init__(self, limit: int = BUDGET, *, meter: TokenMeter | None = None) -> None:
        """Allow `limit` tokens; `meter` is what counts them."""
        self.limit = parse_integer("limit", limit)
        self.meter = TokenMeter() if meter is None else meter
        self._denials: list[Denial] = []

    @property
    def used(self) -> int:
        """All tokens so far."""
        return self.meter.used

    @property
    def headroom(self) -> float:
        """The share of the budget that is left, from 0 to 1; 0 where there is no budget at all."""
        return max(0.0, 1.0 - self.used / self.limit) if self.limit > 0 else 0.0

    @property
    def denials(self) -> tuple[Denial, ...]:
        """The calls that were denied, in order."""
        return tuple(self._denials)

    def allow(self, *, prompt: int, max_completion: int, caller: str = "") -> bool:
        """Report whether a call fits the budget; a denial is recorded in `denials`.

        Args:
            prompt: Tokens of the prompt.
            max_completion: Maximum new tokens.
            caller: A name for the record of a denial.

        Returns:
            Whether the call is allowed.
        """
        estimate = parse_nonnegative_integer("prompt", prompt) + parse_nonnegative_integer(
            "max_completion", max_completion
        )
        used = self.used
        if used + estimate <= self.limit:
            return True
        self._denials.append(Denial(caller, used, estimate, self.limit))
        return False


def _get_part(usage: Any, name: str) -> Any:
    return usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)


def _read_tokens(usage: Any, name: str) -> int | None:
    value = _get_part(usage, name)
    return None if value is None else parse_nonnegative_integer(name, value)


def _read_one_of(usage: Any, names: tuple[str, ...]) -> int | None:
    """Return the number that goes by one of two names; where it goes by both, they must agree."""
    counts = {name: value for name in names if (value := _read_tokens(usage, name)) is not None}
    if len(set(counts.values())) > 1:
        raise InputError(
            f"usage gives two different counts: {' and '.join(f'{name}={value}' for name, value in counts.items())}."
        )
    return next(iter(counts.values()), None)
