"""A signal: one reward and everything that made it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from plaudit.errors import DefinitionError, SpecError, did_you_mean
from plaudit.language.field import to_integer
from plaudit.reward.describe import build_signal_html
from plaudit.targets.columns import name_columns
from plaudit.targets.dtypes import Dtypes
from plaudit.terminal import escape_controls, format_table

_STRINGS = ("reward", "version", "fingerprint", "domain_fingerprint")


class TermScore(NamedTuple):
    """One term in a signal: its score, the clamped score, its weight and its value.

    The weight is the one in force in that step, times the scale of the reward. The gate, the clamp of the total and the
    overrides are rows behind the terms. The score of such a row is its input: the factor of the gate, the sum before
    the clamp, or 1 if the condition held. Its value is the amount that it added to or took from the total.

    >>> from plaudit import Field, Reward, term
    >>> @term(weight=2.0, high=1.0)
    ... def near(distance):
    ...     return 4 - distance
    >>> reward = Reward("reaching", version="1", terms=[near], fields=[Field("distance")])
    >>> reward.score(distance=1.0)["near"]
    TermScore(name='near', score=3.0, clamped=1.0, weight=2.0, value=2.0)
    """

    name: str
    score: float
    clamped: float
    weight: float
    value: float


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """What all signals of one reward share."""

    reward: str
    version: str
    fingerprint: str
    domain_fingerprint: str
    terms: tuple[str, ...]
    """The terms, then what separates the sum of their values from the total."""
    weights: tuple[float | Callable[[tuple[Any, ...]], float], ...]
    """What each clamped score is multiplied by; a function of the inputs where that follows a schedule."""
    inputs: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    """The categories of each input; empty for numbers and flags."""
    integers: tuple[bool, ...]
    """Which inputs are integers."""
    scores: tuple[int, ...]
    clamped: tuple[int, ...]
    values: tuple[int, ...]
    """Where each term's numbers stand among the outputs; the total stands first."""
    source: Any = None
    """The Reward that scored them; None where they were read from data."""
    part: str = "whole"
    """"final" where only the terminal terms of `source` were scored."""
    overrides: tuple[str, ...] = ()
    """The terms among them that are conditions: the first whose score is 1 is the total."""
    dtypes: Dtypes = ()
    """The inputs that came as floats narrower than float64, with their dtypes."""


class NarrowFrames(dict[Dtypes, Frame]):
    """What signals of one reward share whose inputs came in these dtypes; made when asked for."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __missing__(self, dtypes: Dtypes) -> Frame:
        return self.setdefault(dtypes, replace(self._frame, dtypes=dtypes))


class Signal:
    """The reward of one step: the total and, for each term, its score, clamped score, weight and value.

    `signal["safety"]` is one term. `explain()` returns a table. `to_dict()` and `from_dict()` convert it to plain data
    and back.

    >>> from plaudit import Field, Reward, term
    >>> @term(weight=-0.5)
    ... def haste(speed):
    ...     return speed
    >>> signal = Reward("parking", version="1", terms=[haste], fields=[Field("speed")]).score(speed=2)
    >>> signal, signal.total, signal.inputs
    (Signal(parking@1, total=-1, haste=-1), -1.0, {'speed': 2.0})
    """

    __slots__ = ("_frame", "_inputs", "_outputs")

    def __init__(self, frame: Frame, inputs: tuple[Any, ...], outputs: tuple[float, ...]) -> None:
        """Wrap the outputs of a compiled reward; nothing is computed until it is asked for."""
        self._frame = frame
        self._inputs = inputs
        self._outputs = outputs

    @property
    def total(self) -> float:
        """The reward of the step."""
        return self._outputs[0]

    @property
    def reward(self) -> str:
        """The name of the reward."""
        return self._frame.reward

    @property
    def version(self) -> str:
        """The reward's version label."""
        return self._frame.version

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the formula that computed it."""
        return self._frame.fingerprint

    @property
    def domain_fingerprint(self) -> str:
        """The fingerprint of the ranges it was checked against."""
        return self._frame.domain_fingerprint

    @property
    def frame(self) -> Frame:
        """What this signal shares with all others of its reward."""
        return self._frame

    @property
    def row(self) -> tuple[Any, ...]:
        """The values given, in the order of the reward's inputs: numbers, flags, positions of categories.

        NaN stands for what was not given: before the end of an episode, what only its end reads need not be.
        """
        return self._inputs

    @property
    def dtypes(self) -> dict[str, str]:
        """The dtype of each input that came as a float narrower than float64: `{"action": "float32"}`."""
        return dict(self._frame.dtypes)

    @property
    def outputs(self) -> tuple[float, ...]:
        """The numbers computed, where `frame` says which is which."""
        return self._outputs

    @property
    def inputs(self) -> dict[str, float | bool | str]:
        """The values given, by input name, after defaults were applied; those that were not given are left out."""
        frame = self._frame
        kinds = zip(frame.inputs, frame.labels, frame.integers, self._inputs, strict=True)
        return {
            name: labels[int(value)] if labels else to_integer(value) if integer else value
            for name, labels, integer, value in kinds
            if value == value
        }

    @property
    def state(self) -> dict[str, Any]:
        """What the reward carries into the next step, by name: the `prev` of its states there.

        Raises:
            DefinitionError: The signal was read from data, or is of the end of an episode alone; score the step.
        """
        source = self._frame.source
        if source is None or self._frame.part != "whole":
            raise DefinitionError(
                f"this signal of reward {self.reward!r} carries no formula; score its inputs with the reward"
            )
        carried: dict[str, Any] = source._compiled.carry(self._inputs)
        return carried

    @property
    def terms(self) -> tuple[TermScore, ...]:
        """Every term, in declared order."""
        return tuple(self._term(at) for at in range(len(self._frame.terms)))

    def _term(self, at: int) -> TermScore:
        frame, outputs = self._frame, self._outputs
        score, clamped, value = outputs[frame.scores[at]], outputs[frame.clamped[at]], outputs[frame.values[at]]
        weight = frame.weights[at]
        return TermScore(frame.terms[at], score, clamped, weight(self._inputs) if callable(weight) else weight, value)

    @property
    def values(self) -> dict[str, float]:
        """Each term's value: what it adds to the total."""
        return {name: self._outputs[at] for name, at in zip(self._frame.terms, self._frame.values, strict=True)}

    @property
    def override(self) -> str | None:
        """The condition whose value is the total: of those that hold, the first declared; None where none holds."""
        return next(iter(self._list_held()), None)

    def _list_held(self) -> list[str]:
        """Return the overrides whose condition holds, in declared order."""
        return [name for name in self._frame.overrides if self[name].score == 1]

    def __getitem__(self, name: str) -> TermScore:
        """Return one term by name.

        Raises:
            KeyError: The reward has no such term; the message suggests one.
        """
        try:
            return self._term(self._frame.terms.index(name))
        except ValueError:
            near = did_you_mean(name, self._frame.terms)
            raise KeyError(f"reward {self.reward!r} has no term {name!r}.{near}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signal) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.fingerprint, self.total))

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={value:g}" for name, value in self.values.items() if value)
        shown = f"Signal({self.reward}@{self.version}, total={self.total:zg}{', ' + parts if parts else ''})"
        return escape_controls(shown)

    def _repr_html_(self) -> str:
        title, note = f"{self.reward}@{self.version}", self._explain_override().strip()
        return build_signal_html(title, self.terms, self.total, note, self.inputs)

    def explain(self) -> str:
        """Return a table of the terms, from score to value, and the inputs.

        Returns:
            Several lines of text.
        """
        rows: list[tuple[str, ...]] = [("term", "score", "clamped", "weight", "value")]
        rows += [(t.name, *(_format_value(number) for number in t[1:])) for t in self.terms]
        table = format_table(rows, total=("total", "", "", "", _format_value(self.total)))
        table = "not scored" if math.isnan(self.total) else table
        grouped: dict[str, list[str]] = {}
        for name, value in self.inputs.items():
            grouped.setdefault(name.partition("[")[0], []).append(_format_value(value))
        joined = {name: values[0] if len(values) == 1 else f"({', '.join(values)})" for name, values in grouped.items()}
        shown = ", ".join(f"{name}={text}" for name, text in joined.items())
        return escape_controls(f"{self.reward} {self.version}\n{table}{self._explain_override()}\nfrom {shown}")

    def _explain_override(self) -> str:
        """Return which override decided the total, and which others held; nothing where none did."""
        held = self._list_held()
        others = f"; {' and '.join(held[1:])} also held, with lower priority" if len(held) > 1 else ""
        return f"\nthe total comes from the override {held[0]}{others}" if held else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the signal as plain data for JSON.

        Returns:
            The data; an infinite number is `{"number": "inf"}`.
        """
        return {
            "reward": self.reward,
            "version": self.version,
            "fingerprint": self.fingerprint,
            "domain_fingerprint": self.domain_fingerprint,
            "total": _to_plain(self.total),
            "terms": [{key: _to_plain(value) for key, value in term._asdict().items()} for term in self.terms],
            "inputs": {name: _to_plain(value) for name, value in self.inputs.items()},
            **({"overrides": list(self._frame.overrides)} if self._frame.overrides else {}),
        }

    def to_row(self) -> dict[str, float]:
        """Return the total, the values and the scores under the column names that all tables use.

        Returns:
            Numbers by column: `total`, one value per term, one score per term.

        >>> from plaudit import Field, Reward, term
        >>> @term(weight=-0.5)
        ... def haste(speed):
        ...     return speed
        >>> Reward("parking", version="1", terms=[haste], fields=[Field("speed")]).score(speed=2).to_row()
        {'total': -1.0, 'haste': -1.0, 'haste.score': 2.0}
        """
        frame, outputs = self._frame, self._outputs
        places = (0, *frame.values, *frame.scores)
        names = name_columns(frame.terms, frame.inputs).values()
        return {name: outputs[at] for name, at in zip(names, places, strict=True)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Signal":
        """Read a signal from the data that `to_dict` returned.

        Args:
            data: The data.

        Returns:
            The signal.

        Raises:
            SpecError: Something is missing or of the wrong type.
        """
        try:
            terms = [
                TermScore(
                    _read_string(t["name"]), *(_read_number(t[key]) for key in ("score", "clamped", "weight", "value"))
                )
                for t in data["terms"]
            ]
            inputs = {str(name): _read_value(value) for name, value in data["inputs"].items()}
            reward, version, fingerprint, domain = (_read_string(data[key]) for key in _STRINGS)
            total = _read_number(data["total"])
            overrides = tuple(_read_string(name) for name in data.get("overrides", ()))
            if not {*overrides} <= {term.name for term in terms}:
                raise ValueError("an override is not one of the terms")
            if len({term.name for term in terms}) != len(terms):
                raise ValueError("a term appears twice")
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise SpecError(f"this is not a signal: {type(error).__name__}: {error}") from None
        count = range(len(terms))
        frame = Frame(
            reward,
            version,
            fingerprint,
            domain,
            tuple(term.name for term in terms),
            tuple(term.weight for term in terms),
            tuple(inputs),
            ((),) * len(inputs),
            (False,) * len(inputs),
            tuple(1 + 3 * i for i in count),
            tuple(2 + 3 * i for i in count),
            tuple(3 + 3 * i for i in count),
            overrides=overrides,
        )
        outputs = [total, *(number for term in terms for number in (term.score, term.clamped, term.value))]
        return cls(frame, tuple(inputs.values()), tuple(outputs))


def _format_value(value: float | bool | str) -> str:
    return f"{value:z.6g}" if isinstance(value, float) else str(value)


def _to_plain(value: Any) -> Any:
    return {"number": str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _read_string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a string")
    return value


def _read_number(value: Any) -> float:
    if value == {"number": "nan"}:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("a finite number is needed")
    return float(value)


def _read_value(value: Any) -> Any:
    if value in ({"number": "inf"}, {"number": "-inf"}):  # a string may be a category
        return float(value["number"])
    if not isinstance(value, bool | int | float | str):
        raise ValueError(f"{value!r} is not a number, bool or string")
    return value
