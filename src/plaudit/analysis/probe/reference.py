"""What stands for what is wanted, where a search cannot do the task: a policy of the user's, or recorded episodes."""

import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from gymnasium import spaces

from plaudit.analysis.probe.measures import NATIVE
from plaudit.analysis.probe.policies import Act
from plaudit.analysis.probe.readings import Readings
from plaudit.analysis.probe.result import Kind, PlayedEpisode, PolicyOutcome
from plaudit.errors import DefinitionError, InputError, PlauditError, shorten
from plaudit.ledger.history import History
from plaudit.ledger.record import Record
from plaudit.ledger.rescore.rescore import plan_rescore
from plaudit.ledger.rescore.scored import RewardScores, ScoredBatch, score_history
from plaudit.ledger.rescore.translation import NO_TERMINAL_TERM
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.terminal import format_count

REFERENCE = "reference"


@dataclass(frozen=True)
class ReferencePolicy:
    """A policy of the user's: a function of an observation, and of `info` if it takes that, or an object that predicts.

    An object with `predict(observation)` may return the action or, as in Stable-Baselines3, the action and a state.
    """

    given: Any
    space: spaces.Space[Any]
    name: str = REFERENCE
    kind: Kind = "reference"
    _call: Callable[[Any, Any, Any], tuple[Any, Any]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_call", _build_call(self.given))

    def start(self, seed: int) -> Act:
        """Return what decides in the episode with this seed, by an observation and `info`."""
        state, step = None, 0

        def act(observation: Any, info: Any) -> Any:
            nonlocal state, step
            step += 1
            where = f"in step {step} with seed {seed}"
            try:
                action, state = self._call(observation, info, state)
            except PlauditError:
                raise
            except Exception as error:
                raised = f"{type(error).__name__}: {error}"
                raise DefinitionError(
                    f"the reference {self._label} raised {raised} {where}.{_locate(error, self.given)}"
                ) from error
            return self._fit(action, where)

        return act

    @property
    def _label(self) -> str:
        return getattr(self.given, "__name__", type(self.given).__name__)

    def _fit(self, action: Any, where: str) -> Any:
        """Return an action as the space has it: a list as an array, an array of one number as that number."""
        space, fitted = self.space, action
        try:
            if isinstance(space, spaces.Discrete):
                fitted = (
                    action.item() if isinstance(action, np.ndarray | np.generic) and np.size(action) == 1 else action
                )
            elif space.shape is not None and space.dtype is not None:
                given = np.asarray(action)
                whole = np.issubdtype(space.dtype, np.floating) or given.dtype.kind in "biu"
                fitted = given.astype(space.dtype).reshape(space.shape) if whole else action
            fits = space.contains(fitted)
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise DefinitionError(
                f"the reference {self._label} gave the action {shorten(action, 60)} {where}, which is outside the "
                f"action space {shorten(space, 80)}."
            )
        return fitted


def _build_call(given: Any) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
    """Return the function of an observation, `info` and the state before to an action and the state after."""
    predict = getattr(given, "predict", None)
    if callable(predict):
        takes = _list_parameters(predict)

        def call(observation: Any, info: Any, state: Any) -> tuple[Any, Any]:
            options = {"state": state, "episode_start": np.array([state is None]), "deterministic": True}
            found = predict(observation, **{name: value for name, value in options.items() if name in takes})
            return found if isinstance(found, tuple) and len(found) == 2 else (found, None)

        return call
    if not callable(given):
        raise DefinitionError(
            f"reference={shorten(given)} must be a function of an observation, an object with predict(), or recorded "
            "episodes: ledger.history(run=...)."
        )
    plain = [
        each
        for each in _list_parameters(given).values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    needed = [each for each in plain if each.default is each.empty]
    if len(needed) > 2:
        raise DefinitionError(
            f"reference={shorten(given)} takes {', '.join(each.name for each in needed)}; a policy takes the "
            "observation, and optionally `info`."
        )
    informed = len(needed) == 2 or any(each.name == "info" for each in plain[1:2])
    return lambda observation, info, state: (given(observation, info) if informed else given(observation), None)


def _list_parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # some builtins do not say what they take
        return {}


def _locate(error: Exception, given: Any) -> str:
    """Return the line of the policy's own file that failed."""
    function = getattr(given, "predict", given)
    code = getattr(function, "__code__", None) or getattr(type(given).__call__, "__code__", None)
    frames = [each for each in traceback.extract_tb(error.__traceback__) if code and each.filename == code.co_filename]
    return f"\n  {frames[-1].filename}, line {frames[-1].lineno}:  {frames[-1].line}" if frames else ""


# -- recorded episodes -------------------------------------------------------------------------------------------------


def read_reference(history: History, reward: Reward) -> tuple[PolicyOutcome, str]:
    """Return recorded episodes as a reward would have paid them, and a remark that says what they are.

    Raises:
        InputError: The records lack inputs that the reward reads, or do not tell whole episodes.
        NotInLedger: There are no such records.
    """
    first = history.first()
    where = f"{history._store.backend.name}{history.query.describe()}"
    plan = plan_rescore(history._store, reward, history.query)
    lacking = [name for each in plan.lacking if each.needed != NO_TERMINAL_TERM for name in each.needed]
    if lacking:
        names = ", ".join(dict.fromkeys(lacking))
        raise InputError(
            f"the reference, {where}, cannot be scored by reward {reward.name!r}: its records lack {names}. Record the "
            "episodes with a reward that reads them, or give a policy as the reference."
        )
    if first.episode is None:
        raise InputError(f"the reference, {where}, has records without an episode.")
    scored = {
        number: at for batch in score_history(history._store, [reward], history.query) for number, at in _split(batch)
    }
    episodes: dict[tuple[str | None, str | None, str | None], list[Record]] = {}
    for record in history:
        episodes.setdefault((record.run, record.actor, record.episode), []).append(record)
    told = any(record.ended is not None for each in episodes.values() for record in each)
    whole = [each for each in episodes.values() if not told or any(record.ended is not None for record in each)]
    readings = Readings(reward)
    played = [_build_episode(each, scored, reward, readings) for each in whole]
    shared = set.intersection(*(set(each.measures) for each in played))
    kept = tuple(
        replace(each, measures={name: value for name, value in each.measures.items() if name in shared})
        for each in played
    )
    left = len(episodes) - len(whole)
    without = f"; {left} without an end excluded" if left else ""
    remark = f"The reference: {format_count(len(kept), 'episode')} of {where}{without}."
    return PolicyOutcome(REFERENCE, "reference", kept), remark


_Scored = tuple[RewardScores, int]
"""What a reward makes of a batch, and the row of a record in it."""


def _split(batch: ScoredBatch) -> Iterator[tuple[int, _Scored]]:
    return ((int(number), (batch.scores[0], row)) for row, number in enumerate(batch.numbers))


def _build_episode(
    records: list[Record], scored: Mapping[int, _Scored], reward: Reward, readings: Readings
) -> PlayedEpisode:
    """Return recorded steps as an episode of a probe."""
    earned, factor, native, signals, terms = 0.0, 1.0, 0.0, list[Signal](), dict[str, float]()
    discount, steps, ended = reward.task.discount or 1.0, 0, "truncated"
    readings.begin()
    for record in records:
        scores, row = scored.get(record.id, (None, 0))
        if scores is None:  # the end of an episode, of a reward that pays nothing there
            continue
        total = float(scores.total[row])
        signal = scores.explain(row) if total == total else None
        if signal is None:
            raise InputError(
                f"the reference cannot be scored: reward {reward.name!r} does not score record {record.id}."
            )
        is_step = record.signal.frame.part != "final"
        earned += factor * total
        for name, values in scores.values.items():
            terms[name] = terms.get(name, 0.0) + float(values[row])
        ended = record.ended or ended
        if is_step:
            signals = [signal] if not signals else [signals[0], signal]
            steps += 1
            factor *= discount
            own = record.original_reward
            native += float("nan") if own is None else own
            readings.fields = record.signal.inputs
            readings.add(own or 0.0, record.ended == "terminated", record.ended == "truncated")
    return PlayedEpisode(
        policy=REFERENCE,
        seed=None,
        earned=earned,
        measures={**({NATIVE: native} if native == native else {}), **readings.list_measures()},
        terms=terms,
        length=steps,
        ended=ended,
        first=signals[0],
        last=signals[-1],
        finals=readings.list_finals(),
        sign=readings.find_sign(),
        records=(records[0].id, records[-1].id),
    )
