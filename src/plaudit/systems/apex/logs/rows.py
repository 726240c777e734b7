"""The rows of the three logs of a run: rewards, decisions and latencies, each checked when it is built."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Self

from plaudit import Signal
from plaudit.errors import InputError, MissingField, WrongType
from plaudit.systems.apex.values import (
    parse_bool,
    parse_integer,
    parse_nonnegative,
    parse_nonnegative_integer,
    parse_number,
    parse_positive_integer,
    parse_share,
    parse_shares,
    parse_string,
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a log: typed, checked, and with the keys of its schema in their order."""

    NUMBER: ClassVar[str] = "step"
    """The key that numbers the rows of an episode."""
    OLDER: ClassVar[Mapping[str, str]] = {}
    """Older spellings of keys, and what they are called now."""
    EXTRAS: ClassVar[tuple[str, ...]] = ()
    """Keys beyond the schema: they stand in `extras.jsonl` and in the ledger."""

    more: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    """Keys that no schema names, as they were in the log."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "") -> Self:
        """Return the row that a log holds; an InputError says `where` it stands and which key is wrong.

        Older spellings are understood, and keys that no schema names are kept in `more`.
        """
        where = where or cls.__name__
        if not isinstance(data, Mapping):
            raise WrongType(f"{where}: a row must be an object, not {data!r}.")
        known = _list_keys(cls)  # type: ignore[arg-type]  # mypy doubts that a class can be hashed
        parts: dict[str, Any] = {}
        more: dict[str, Any] = {}
        for key, value in data.items():
            name = cls.OLDER.get(key, key)
            if name not in known:
                more[key] = value
            elif value is None:
                continue  # an older log may write an optional key without a value
            elif name in parts:
                raise InputError(f"{where}, key {key!r}: it is given twice, under its old name and as {name!r}.")
            else:
                parts[name] = value
        for name, needed in known.items():
            if needed and name not in parts:
                raise MissingField(f"{where}, key {name!r}: it is missing.")
        try:
            return cls(**parts, more=more)
        except InputError as error:
            raise type(error)(f"{where}, {error}") from None

    def to_dict(self, *, extras: bool = False) -> dict[str, Any]:
        """Return the row with the keys of its schema, in their order; with `extras`, those beyond it too."""
        row = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in (*self.EXTRAS, "more") and not _is_absent(each.name, getattr(self, each.name))
        }
        if extras:
            row |= {name: getattr(self, name) for name in self.EXTRAS if getattr(self, name) is not None}
            row |= self.more
        return row

    def _parse(self, parse: Callable[[str, Any], Any], *names: str, optional: bool = False) -> None:
        """Parse the fields called `names`, and keep what `parse` returns."""
        for name in names:
            value = getattr(self, name)
            if not (optional and value is None):
                object.__setattr__(self, name, parse(name, value))


@dataclass(frozen=True, kw_only=True)
class RewardRow(Row):
    """What one step earned; `step` is the number of the state it reached, counted from 1, so the first is 2.

    >>> row = RewardRow(
    ...     step=2, delta_pass_rate=0, delta_tokens=50, phase_advance=False, switch_committed=False, r_step=-0.005
    ... )
    >>> row.delta_pass_rate, row.decision
    (0.0, 1)
    """

    EXTRAS: ClassVar = ("detector", "episode")

    step: int
    delta_pass_rate: float
    delta_tokens: int
    phase_advance: bool
    switch_committed: bool
    r_step: float
    terminal: bool = False
    """Whether this is the end of the episode, which has a row of its own and the number after the last step."""
    detector: str | None = None
    """How the advance was noticed: one of `DETECTORS`."""
    episode: int | None = None
    """The number of the episode in its run."""

    def __post_init__(self) -> None:
        """Refuse what no reward row can hold."""
        self._parse(parse_positive_integer, "step")
        self._parse(parse_number, "delta_pass_rate", "r_step")
        self._parse(parse_integer, "delta_tokens")
        self._parse(parse_bool, "phase_advance", "switch_committed", "terminal")
        self._parse(parse_string, "detector", optional=True)
        self._parse(parse_positive_integer, "episode", optional=True)

    @property
    def decision(self) -> int:
        """The step of the decision that earned this: the one taken in the state before."""
        return self.step - 1

    @classmethod
    def from_signal(cls, step: int, signal: Signal, *, detector: str | None = None, episode: int | None = None) -> Self:
        """Build the row of a step, or of the end of an episode, from its signal.

        Args:
            step: The number of the state reached.
            signal: The scored step.
            detector: The detector of advances, if it is to be logged.
            episode: The number of the episode, if it is to be logged.

        Returns:
            The row.
        """
        scores = {term.name: term.score for term in signal.terms}
        return cls(
            step=step,
            delta_pass_rate=scores.get("test_improvement", 0.0),
            delta_tokens=parse_integer("delta_tokens", scores.get("token_cost", 0)),
            phase_advance=bool(scores.get("phase_advance")),
            switch_committed=bool(scores.get("switch_cost")),
            r_step=signal.total,
            terminal=bool(signal.inputs.get("terminal", False)),
            detector=detector,
            episode=episode,
        )


@dataclass(frozen=True, kw_only=True)
class Switch(Row):
    """The result of a decision to change the topology, as it is logged.

    >>> Switch(attempted=True, committed=False, epoch=2, error="cooldown").error
    'cooldown'
    """

    attempted: bool
    committed: bool
    epoch: int
    error: str | None = None
    """Why it was not committed, where it was attempted and refused."""

    def __post_init__(self) -> None:
        """Refuse what no switch can be."""
        self._parse(parse_bool, "attempted", "committed")
        self._parse(parse_nonnegative_integer, "epoch")
        self._parse(parse_string, "error", optional=True)


@dataclass(frozen=True, kw_only=True)
class DecisionRow(Row):
    """One decision of the controller; `step` is its tick, counted from 1.

    `ms` is the time of the choice and `tick_ms` of the whole tick. `requested` is the chosen action and `executed`
    the one that took effect ("stay" if a switch was refused). `credited` is the action that learns from the reward,
    if it is not `executed`. `probability` is that of the choice, and `probabilities` those of all actions, in the
    learner's order. `executed_probability` is the probability, before the decision, of choosing an action that leads
    to the executed one.

    >>> switch = Switch(attempted=False, committed=False, epoch=0)
    >>> row = DecisionRow(step=1, topology="star", x=[1.0], action="stay", epsilon=0.2, ms=0.01, switch=switch)
    >>> row.to_dict()["action"]
    'stay'
    """

    OLDER: ClassVar = {"bandit_ms": "ms"}
    EXTRAS: ClassVar = (
        "tick_ms", "requested", "executed", "credited",
        "probability", "executed_probability", "probabilities", "episode",
    )  # fmt: skip

    step: int
    topology: str
    x: tuple[float, ...]
    action: str
    epsilon: float
    ms: float
    switch: Switch
    topology_after: str | None = None
    tick_ms: float | None = None
    requested: str | None = None
    executed: str | None = None
    credited: str | None = None
    probability: float | None = None
    executed_probability: float | None = None
    probabilities: tuple[float, ...] | None = None
    episode: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no decision can be."""
        self._parse(parse_positive_integer, "step")
        self._parse(parse_string, "topology", "action")
        self._parse(_parse_features, "x")
        self._parse(parse_share, "epsilon")
        self._parse(parse_nonnegative, "ms")
        if isinstance(self.switch, Mapping):
            object.__setattr__(self, "switch", Switch.from_dict(self.switch, "key 'switch'"))
        elif not isinstance(self.switch, Switch):
            raise WrongType(f"key 'switch': {self.switch!r} is not a switch.")
        self._parse(parse_string, "topology_after", optional=True)
        if self.topology_after is not None and not self.switch.committed:
            raise InputError(f"key 'topology_after': {self.topology_after!r}, but no switch was committed.")
        self._parse(parse_nonnegative, "tick_ms", optional=True)
        self._parse(parse_string, "requested", "executed", "credited", optional=True)
        self._parse(parse_share, "probability", "executed_probability", optional=True)
        self._parse(parse_shares, "probabilities", optional=True)
        self._parse(parse_positive_integer, "episode", optional=True)

    @property
    def decision(self) -> int:
        """The step of the decision: its own."""
        return self.step

    def to_dict(self, *, extras: bool = False) -> dict[str, Any]:
        """Return the row as plain data.

        Args:
            extras: Whether to add the keys beyond the schema.

        Returns:
            The row, with the keys of its schema in their order.
        """
        row = super().to_dict(extras=extras)
        if "probabilities" in row:
            row["probabilities"] = list(row["probabilities"])
        return row | {"x": list(self.x), "switch": self.switch.to_dict(extras=extras)}


@dataclass(frozen=True, kw_only=True)
class LatencyRow(Row):
    """The latency of one decision; `i` counts decisions from 0.

    >>> LatencyRow(i=0, ms=0.016).to_dict()
    {'i': 0, 'ms': 0.016}
    """

    NUMBER: ClassVar = "i"
    OLDER: ClassVar = {"bandit_ms": "ms"}
    EXTRAS: ClassVar = ("episode",)

    i: int
    ms: float
    episode: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no latency can be."""
        self._parse(parse_nonnegative_integer, "i")
        self._parse(parse_nonnegative, "ms")
        self._parse(parse_positive_integer, "episode", optional=True)

    @property
    def decision(self) -> int:
        """The step of the decision that took so long."""
        return self.i + 1


@cache
def _list_keys(kind: type[Row]) -> dict[str, bool]:
    """Return the keys of a row, and whether each of them must be there."""
    return {each.name: each.default is MISSING for each in fields(kind) if each.name != "more"}


def _is_absent(key: str, value: Any) -> bool:
    """Return whether an optional key is left out: nothing to say, or `terminal` on a row that is not the end."""
    return value is None or (key == "terminal" and not value)


def _parse_features(key: str, value: Any) -> tuple[float, ...]:
    """Return the numbers that a decision was made on: eight, or as many as the roles and topologies ask for."""
    if not isinstance(value, list | tuple) or not value:
        raise WrongType(f"key {key!r}: {value!r} is not a list of numbers.")
    return tuple(parse_number(key, each) for each in value)
