"""The history of rewards: what every phase of every mission earned, kept for training and for audit."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from plaudit import Reward
from plaudit.errors import FileError, InputError, LedgerError, MissingField, WrongType
from plaudit.ledger.context import validate_integer
from plaudit.systems.deepthinker.config import RewardConfig
from plaudit.systems.deepthinker.reward_signal import RewardSignal, reward, tune_reward
from plaudit.systems.deepthinker.reward_weights import RewardWeights

if TYPE_CHECKING:
    from plaudit.ledger.record import Record

LEDGER_FILE = "rewards.db"
"""What the ledger is called in the store's directory."""

Settings = tuple[RewardWeights, RewardConfig]


@dataclass(frozen=True, slots=True)
class RewardRecord:
    """One stored reward and its decision.

    Example:
        for record in store.get_history(decision_class="model_selection"):
            print(record.phase, record.signal.reward)
    """

    id: int
    mission_id: str
    phase: str
    decision_class: str
    context: dict[str, Any]
    """The decision context as it was given; `decision_class` is part of it."""
    signal: RewardSignal
    timestamp: datetime
    """When it was added, in UTC."""
    version: str
    """The version of the formula; with other weights or settings than the defaults, a mark of those is added to it."""
    key: str | None = None


class RewardStore:
    """Rewards in a directory of their own, durable when `add` returns; any number of processes may share it.

    >>> import tempfile
    >>> with RewardStore(tempfile.mkdtemp()) as store:
    ...     signal = RewardSignal.from_phase_outcome(score_delta=0.5)
    ...     number = store.add(mission_id="m1", phase="research", decision_context="model_selection", signal=signal)
    ...     [record.signal.reward for record in store.get_history(decision_class="model_selection")]
    [0.15]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        timeout: float = 30.0,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """Open the store in the directory `path`, which is made where it is not there, or at `postgresql://…`."""
        from plaudit.ledger.ledger import Ledger

        where: str | os.PathLike[str] = path
        if "://" not in os.fspath(path):
            where = Path(path, LEDGER_FILE)
            if not read_only:
                _create_directory(Path(path))
        self.ledger: Ledger = Ledger(where, read_only=read_only, timeout=timeout, clock=clock)
        self._settings: dict[str, Settings] = {}

    def add(
        self,
        *,
        mission_id: str,
        phase: str,
        decision_context: Mapping[str, Any] | str,
        signal: RewardSignal,
        timestamp: datetime | None = None,
        key: str | None = None,
    ) -> int:
        """Store a reward; it is on disk when this returns.

        Args:
            mission_id: The mission.
            phase: The name of the phase.
            decision_context: A mapping of JSON values with a `decision_class`, or the class alone.
            signal: The reward.
            timestamp: When the phase ended; now by default, local time without a time zone.
            key: A key under which the same reward is stored only once.

        Returns:
            The number of the record.

        Raises:
            WrongType: The signal is not a RewardSignal, or a name is not a string.
            MissingField: The signal lacks its raw measurements, or the context its class.
            InputError: The signal does not match its raw measurements and settings.
        """
        context = _validate_context(decision_context)
        decision_class = context.pop("decision_class")
        for name, value in (("mission_id", mission_id), ("phase", phase), ("decision_class", decision_class)):
            if not isinstance(value, str) or not value:
                raise WrongType(f"{name}={value!r:.60} must be a non-empty string.")
        if not isinstance(signal, RewardSignal):
            raise WrongType(f"signal={signal!r:.60} must be a RewardSignal.")
        weights, config = signal.get_settings(RewardWeights), signal.get_settings(RewardConfig)
        formula = _label_formula(weights, config)
        if signal.components_raw.keys() != formula.fields.keys():
            raise InputError("the signal lacks its raw measurements: build it with RewardSignal.from_phase_outcome.")
        scored = formula.score(**signal.components_raw)
        again = RewardSignal.from_signal(scored, weights=weights, config=config)
        if again != signal:
            differs = [
                name for name in RewardSignal.__dataclass_fields__ if getattr(again, name) != getattr(signal, name)
            ]
            raise InputError(
                f"the signal does not match its raw measurements and settings: {', '.join(differs)} would "
                "differ. Build it with RewardSignal.from_phase_outcome and do not change it."
            )
        return self.ledger.record(
            scored,
            key=key,
            run=mission_id,
            phase=phase,
            decision_class=decision_class,
            context=context or None,
            at=timestamp,
        )

    def get_history(
        self,
        decision_class: str | None = None,
        min_date: datetime | None = None,
        *,
        max_date: datetime | None = None,
        mission_id: str | None = None,
        phase: str | None = None,
        version: str | None = None,
        mixed: bool = False,
    ) -> list[RewardRecord]:
        """Return records in the order in which they were added.

        Rewards of different versions, weights or settings are not comparable: a mixture is an InputError, unless you
        choose one `version` or pass `mixed=True`.

        Args:
            decision_class: Only this class of decisions.
            min_date: Only records from this time on; local time without a time zone.
            max_date: Only records before this time.
            mission_id: Only this mission.
            phase: Only phases of this name.
            version: Only this version.
            mixed: Whether to return several versions together.

        Returns:
            The records.
        """
        return list(
            self.iter_history(
                decision_class,
                min_date,
                max_date=max_date,
                mission_id=mission_id,
                phase=phase,
                version=version,
                mixed=mixed,
            )
        )

    def iter_history(
        self,
        decision_class: str | None = None,
        min_date: datetime | None = None,
        *,
        max_date: datetime | None = None,
        mission_id: str | None = None,
        phase: str | None = None,
        version: str | None = None,
        mixed: bool = False,
    ) -> Iterator[RewardRecord]:
        """Yield what `get_history` returns, reading as it goes, so a history of any length fits into memory.

        Args:
            decision_class: Only this class of decisions.
            min_date: Only records from this time on; local time without a time zone.
            max_date: Only records before this time.
            mission_id: Only this mission.
            phase: Only phases of this name.
            version: Only this version.
            mixed: Whether to yield several versions together.

        Yields:
            The records.
        """
        chosen = _build_query(
            decision_class=decision_class, since=min_date, until=max_date, run=mission_id, phase=phase, version=version
        )
        if version is None and not mixed:
            self._validate_one_version(chosen)
        return (self._convert_record(record) for record in self.ledger.history(**chosen))

    def get_recent(
        self,
        limit: int = 100,
        decision_class: str | None = None,
        *,
        mission_id: str | None = None,
        phase: str | None = None,
        version: str | None = None,
        mixed: bool = False,
    ) -> list[RewardRecord]:
        """Return the last records, newest first.

        Args:
            limit: Maximum number of records.
            decision_class: Only this class of decisions.
            mission_id: Only this mission.
            phase: Only phases of this name.
            version: Only this version.
            mixed: Whether to return several versions together.

        Returns:
            The records.

        Raises:
            OutOfRange: The limit is below 1.
        """
        if (validate_integer("limit", limit) or 0) < 1:
            raise InputError(f"limit={limit!r} must be 1 or more.")
        chosen = _build_query(decision_class=decision_class, run=mission_id, phase=phase, version=version)
        found = list(self.ledger.history(**chosen).last(limit))[-limit:]  # others may be adding meanwhile
        if not mixed:
            _refuse_mixture([record.signal.version for record in found])
        return [self._convert_record(record) for record in reversed(found)]

    def versions(self) -> list[str]:
        """List the versions in the store.

        Returns:
            The versions, oldest first.
        """
        return list(dict.fromkeys(each.version for each in self.ledger.rewards() if each.name == reward.name))

    def close(self) -> None:
        """Close the store; closing twice is not an error."""
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RewardStore({self.ledger!r})"

    def _validate_one_version(self, chosen: Mapping[str, Any]) -> None:
        versions = self.versions()
        if len(versions) < 2:
            return
        _refuse_mixture([each for each in versions if any(True for _ in self.ledger.history(**chosen, version=each))])

    def _convert_record(self, record: "Record") -> RewardRecord:
        """Return a record of the ledger by the names that deepthinker has for its parts."""
        weights, config = self._find_settings(record)
        return RewardRecord(
            id=record.id,
            mission_id=record.run or "",
            phase=record.phase or "",
            decision_class=record.decision_class or "",
            context={"decision_class": record.decision_class, **(record.context or {})},
            signal=RewardSignal.from_signal(record.signal, weights=weights, config=config),
            timestamp=record.at,
            version=record.signal.version,
            key=record.key,
        )

    def _find_settings(self, record: "Record") -> Settings:
        """Return the weights and settings of a record, from the formula that is stored with it."""
        version = record.signal.version
        if version not in self._settings:
            labels = {each.version: each.reward for each in self.ledger.rewards() if each.name == reward.name}
            self._settings[version] = _read_settings(labels[version])
        return self._settings[version]


def _build_query(**chosen: Any) -> dict[str, Any]:
    return {"reward": reward.name, **{name: value for name, value in chosen.items() if value is not None}}


def _refuse_mixture(versions: Iterable[str]) -> None:
    found = list(dict.fromkeys(versions))
    if len(found) > 1:
        raise InputError(
            f"these rewards are of {len(found)} versions, which are not comparable: {', '.join(found)}. "
            f"Ask for one with version={found[-1]!r}, or for all with mixed=True."
        )


def _validate_context(context: Mapping[str, Any] | str) -> dict[str, Any]:
    if isinstance(context, str):
        return {"decision_class": context}
    if not isinstance(context, Mapping):
        raise WrongType(f"decision_context={context!r:.60} must be a mapping with a 'decision_class', or that class.")
    if "decision_class" not in context:
        raise MissingField(
            "decision_context has no 'decision_class', the key that rewards are looked up by: say what was decided, "
            'such as "model_selection".'
        )
    return dict(context)


@lru_cache(maxsize=256)
def _label_formula(weights: RewardWeights, config: RewardConfig) -> Reward:
    """Return the reward with these weights and settings, under a label of its own where they are not the defaults."""
    formula = tune_reward(weights, config)
    if formula.fingerprint == reward.fingerprint:
        return formula
    return formula.with_version(f"{reward.version}+{formula.fingerprint[:12]}")


def _read_settings(formula: Reward) -> Settings:
    numbers = formula.params
    try:
        weights = RewardWeights(
            score_weight=numbers["score.weight"],
            consistency_weight=numbers["consistency.weight"],
            grounding_weight=numbers["grounding.weight"],
            cost_weight=-numbers["cost.weight"],
            alignment_weight=-numbers["alignment.weight"],
            time_weight=-numbers["time.weight"],
        )
        config = RewardConfig(
            max_tokens=numbers["cost.max_tokens"],
            per_event=numbers["alignment.per_event"],
            latency_share=numbers["cost.latency_share"],
            max_latency_ms=numbers["cost.max_latency_ms"],
            time_mode="overrun" if numbers["time.overrun"] else "usage",
            MAX_COST_PENALTY=numbers["cost.high"],
            MAX_ALIGNMENT_PENALTY=numbers["alignment.high"],
            MAX_TIME_PENALTY=numbers["time.high"],
        )
    except KeyError as error:
        raise LedgerError(
            f"{formula.name}@{formula.version} has no {error} and makes no RewardSignal; read it with store.ledger."
        ) from None
    return weights, config


def _create_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise FileError(f"{directory} is a file; name a directory for the store.") from None
    except OSError as error:
        raise FileError(f"{directory} cannot be created: {error.strerror or error}") from None
