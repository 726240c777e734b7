"""The reward itself in its versions: six terms, and the record of what went into them and came out."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from math import log1p
from numbers import Real
from operator import itemgetter
from typing import Any, Self, TypeVar

from plaudit import Field, Reward, Signal, Task, term
from plaudit.errors import OutOfRange, WrongType, shorten
from plaudit.learn.validate import parse_number
from plaudit.plugins.registry import validate_label
from plaudit.reward.signal import Frame
from plaudit.systems.deepthinker.config import RewardConfig, match_keys
from plaudit.systems.deepthinker.reward_weights import RewardWeights

Settings = TypeVar("Settings", RewardWeights, RewardConfig)


def log_share(amount: float, budget: float) -> float:
    """Return how much of `budget` is used, on a logarithmic scale from 0 to 1."""
    return min(1.0, log1p(amount) / log1p(budget))


@term(weight=RewardWeights.score_weight, kind="goal")
def score(score_delta: float) -> float:
    """Improve the quality of the answer."""
    return score_delta


@term(weight=RewardWeights.consistency_weight, kind="goal")
def consistency(consistency_delta: float) -> float:
    """Contradict itself less."""
    return consistency_delta


@term(weight=RewardWeights.grounding_weight, kind="goal")
def grounding(grounding_delta: float) -> float:
    """Rest on more evidence."""
    return grounding_delta


@term(weight=-RewardWeights.cost_weight, low=0.0, high=RewardConfig.MAX_COST_PENALTY, kind="penalty")
def cost(
    cost_tokens: float,
    cost_latency_ms: float,
    *,
    max_tokens: float = RewardConfig.max_tokens,
    latency_share: float = RewardConfig.latency_share,
    max_latency_ms: float = RewardConfig.max_latency_ms,
) -> float:
    """Spend tokens and, where `latency_share` says so, time on them."""
    tokens = log_share(cost_tokens, max_tokens)
    latency = log_share(cost_latency_ms, max_latency_ms)
    return (1 - latency_share) * tokens + latency_share * latency


@term(weight=-RewardWeights.alignment_weight, low=0.0, high=RewardConfig.MAX_ALIGNMENT_PENALTY, kind="penalty")
def alignment(alignment_events: float, *, per_event: float = RewardConfig.per_event) -> float:
    """Drift from what was asked."""
    return min(1.0, per_event * alignment_events)


@term(weight=-RewardWeights.time_weight, low=0.0, high=RewardConfig.MAX_TIME_PENALTY, kind="penalty")
def time(time_budget_used_pct: float, *, overrun: bool = RewardConfig.time_mode == "overrun") -> float:
    """Use the time budget or, with `overrun`, go beyond it."""
    used = time_budget_used_pct - 1 if overrun else time_budget_used_pct
    return min(1.0, max(0.0, used))


# A phase is meant to stay below `high`, and a checker measures the cost against it; but one that spent more
# has a reward all the same, so larger numbers pass. `allow` lets negative ones pass as well, which make no
# sense: `from_phase_outcome` refuses them.
TOKENS = Field("cost_tokens", low=0, high=RewardConfig.max_tokens, outside="allow", unit="tokens", doc="Tokens used.")

task = Task(
    "deepthinker",
    better={
        "score_delta": "high",
        "consistency_delta": "high",
        "grounding_delta": "high",
        "cost_tokens": "low",
        "alignment_events": "low",
    },
    doc="Raise the quality of the answer with few tokens, and stay with what was asked.",
)
"""What is wanted of a phase, whichever version pays for it."""

reward = Reward(
    "deepthinker",
    version="1.0.0",
    terms=[score, consistency, grounding, cost, alignment, time],
    fields=[
        Field("score_delta", low=-1, high=1, outside="clip", doc="Change of the quality score."),
        Field("consistency_delta", low=-1, high=1, outside="clip", doc="Change of the consistency score."),
        Field("grounding_delta", low=-1, high=1, outside="clip", doc="Change of the evidence score."),
        TOKENS,
        Field("cost_latency_ms", low=0, unit="ms", doc="Time the models took."),
        Field("alignment_events", low=0, doc="How often the alignment monitor spoke up."),
        Field("time_budget_used_pct", low=0, doc="Time used, as a fraction of the budget: 0.4 for 40 %."),
    ],
    low=-1.0,
    high=1.0,
    task=task,
    doc="What a phase gained in quality, less what it cost in tokens, alignment and time.",
)


@term(weight=-RewardWeights.cost_weight, high=1.0, kind="penalty", name="cost")
def cost_of_budget(
    cost_tokens: float,
    cost_latency_ms: float,
    *,
    max_tokens: float = RewardConfig.max_tokens,
    latency_share: float = 0.2,
    max_latency_ms: float = RewardConfig.max_latency_ms,
) -> float:
    """Spend tokens and the time the models take, in proportion: 1 is the whole budget."""
    return (1 - latency_share) * (cost_tokens / max_tokens) + latency_share * (cost_latency_ms / max_latency_ms)


@term(weight=-RewardWeights.alignment_weight, high=1.0, kind="penalty", name="alignment")
def alignment_of_events(alignment_events: float, *, per_event: float = RewardConfig.per_event) -> float:
    """Drift from what was asked: 1 is ten events."""
    return per_event * alignment_events


@term(weight=-RewardWeights.time_weight, high=1.0, kind="penalty", name="time")
def time_of_budget(time_budget_used_pct: float) -> float:
    """Use the time budget: 1 is all of it."""
    return time_budget_used_pct


def _build_field(name: str, high: float) -> Field:
    """Return a measurement with the range that is meant; more counts as `high`, where its term has reached 1 anyway."""
    seed = reward.fields[name]
    return Field(name, low=0, high=high, outside="clip", unit=seed.unit, doc=seed.doc)


rescaled = Reward(
    reward.name,
    version="rescaled",
    terms=[score, consistency, grounding, cost_of_budget, alignment_of_events, time_of_budget],
    fields=[
        *(reward.fields[name] for name in ("score_delta", "consistency_delta", "grounding_delta")),
        _build_field("cost_tokens", 1.5 * RewardConfig.max_tokens),
        _build_field("cost_latency_ms", 1.5 * RewardConfig.max_latency_ms),
        _build_field("alignment_events", 15),
        _build_field("time_budget_used_pct", 1.5),
    ],
    task=task,
    doc="1.0.0 repaired: costs grow in proportion up to the whole budget, and no clamp stands out of reach.",
)

_REWARDS = {each.version: each for each in (reward, rescaled)}

VERSIONS = tuple(_REWARDS)
"""The versions of the formula, the default first."""


def version(label: str) -> Reward:
    """Return a version of the reward.

    Args:
        label: One of `VERSIONS`.

    Returns:
        The reward.

    >>> version("1.0.0").name
    'deepthinker'
    """
    return _REWARDS[validate_label("deepthinker", label, VERSIONS)]


def episode() -> list[dict[str, float]]:
    """Return the phases of a small mission for `reward.score`.

    Returns:
        Keyword arguments, one dict per phase.

    >>> sorted(episode()[0])[:2]
    ['alignment_events', 'consistency_delta']
    """
    names = tuple(reward.fields)
    phases = [
        (0.40, 0.10, 0.20, 1_800, 4_000, 0, 0.10),  # reconnaissance: a first draft out of nothing
        (0.25, 0.05, 0.30, 12_000, 30_000, 0, 0.20),  # research: evidence comes in
        (0.10, -0.15, 0.05, 9_000, 21_000, 2, 0.25),  # analysis: contradictions show, the monitor speaks up
        (0.15, 0.30, 0.00, 6_500, 15_000, 0, 0.15),  # synthesis: they are settled
        (-0.05, 0.00, 0.00, 150_000, 90_000, 5, 1.30),  # polishing: expensive, late and worse
    ]
    return [dict(zip(names, phase, strict=True)) for phase in phases]


@lru_cache(maxsize=256)
def tune_reward(weights: RewardWeights, config: RewardConfig) -> Reward:
    """Return the reward with these weights and settings.

    >>> tune_reward(RewardWeights(), RewardConfig()).fingerprint == reward.fingerprint
    True
    """
    return reward.with_weights(
        score=weights.score_weight,
        consistency=weights.consistency_weight,
        grounding=weights.grounding_weight,
        cost=-weights.cost_weight,
        alignment=-weights.alignment_weight,
        time=-weights.time_weight,
    ).with_params(
        cost={
            "max_tokens": config.max_tokens,
            "latency_share": config.latency_share,
            "max_latency_ms": config.max_latency_ms,
            "high": config.MAX_COST_PENALTY,
        },
        alignment={"per_event": config.per_event, "high": config.MAX_ALIGNMENT_PENALTY},
        time={"overrun": config.time_mode == "overrun", "high": config.MAX_TIME_PENALTY},
    )


@dataclass(frozen=True)
class RewardSignal:
    """The reward of a phase: the raw measurements, each component, and the total.

    Penalties are magnitudes: 0.3 subtracts 0.3 times its weight. `components_raw` and `normalization_meta` hold
    everything needed to compute the reward again.

    >>> signal = RewardSignal.from_phase_outcome(score_delta=0.5, cost_tokens=5000)
    >>> signal.score_delta, signal.cost_penalty_clamped
    (0.5, 0.3)
    """

    reward_version: str = reward.version
    components_raw: dict[str, float] = field(default_factory=dict, hash=False)
    normalization_meta: dict[str, Any] = field(default_factory=dict, hash=False)
    score_delta: float = 0.0
    consistency_delta: float = 0.0
    grounding_delta: float = 0.0
    cost_penalty: float = 0.0
    alignment_penalty: float = 0.0
    time_penalty: float = 0.0
    cost_penalty_clamped: float = 0.0
    alignment_penalty_clamped: float = 0.0
    time_penalty_clamped: float = 0.0
    reward: float = 0.0

    @classmethod
    def from_phase_outcome(
        cls,
        *,
        score_delta: float = 0.0,
        consistency_delta: float = 0.0,
        grounding_delta: float = 0.0,
        cost_tokens: float = 0,
        cost_latency_ms: float = 0.0,
        alignment_events: float = 0,
        time_budget_used_pct: float = 0.0,
        weights: RewardWeights = RewardWeights(),  # noqa: B008 - it cannot be changed
        config: RewardConfig = RewardConfig(),  # noqa: B008 - it cannot be changed
    ) -> Self:
        """Compute the reward of a phase from its measurements.

        Args:
            score_delta: Change of the quality score; beyond ±1 counts as ±1.
            consistency_delta: Change of the consistency score, likewise.
            grounding_delta: Change of the evidence score, likewise.
            cost_tokens: Tokens used.
            cost_latency_ms: Latency of the models, in milliseconds.
            alignment_events: Events of the alignment monitor.
            time_budget_used_pct: Time used as a fraction of the budget: 0.4 for 40 %.
            weights: The weights of the components.
            config: The settings of the penalties.

        Returns:
            The signal. A negative count or time, NaN and an infinity are InputErrors.

        >>> RewardSignal.from_phase_outcome(score_delta=0.5, alignment_events=2).reward
        0.13
        """
        raw = {
            "score_delta": score_delta,
            "consistency_delta": consistency_delta,
            "grounding_delta": grounding_delta,
            "cost_tokens": cost_tokens,
            "cost_latency_ms": cost_latency_ms,
            "alignment_events": alignment_events,
            "time_budget_used_pct": time_budget_used_pct,
        }
        _validate_counts(raw)
        formula, settings = _prepare(weights, config)
        return cls._build(formula.score(**raw), settings)

    @classmethod
    def from_signal(cls, signal: Signal, *, weights: RewardWeights, config: RewardConfig) -> Self:
        """Convert a plaudit signal of `tune_reward(weights, config)`.

        Args:
            signal: The scored phase.
            weights: The weights it was scored with.
            config: The settings it was scored with.

        Returns:
            The signal, with deepthinker's names.
        """
        return cls._build(signal, _prepare(weights, config)[1])

    @classmethod
    def _build(cls, signal: Signal, settings: Mapping[str, Any]) -> Self:
        raw = dict(zip(signal.frame.inputs, map(float, signal.row), strict=True))
        meta = dict(settings)
        if raw["time_budget_used_pct"] > 2:
            meta["time_hint"] = "{0:g} times the budget: did you mean {0:g} %?".format(raw["time_budget_used_pct"])
        parts: tuple[Any, ...] = (reward.version, raw, meta, *_locate_parts(signal.frame)(signal.outputs))
        if cls is not RewardSignal:
            return cls(*parts)
        made = object.__new__(cls)
        vars(made).update(zip(_NAMES, parts, strict=True))  # the __init__ of a frozen class takes three times as long
        return made

    def compute_reward(self, weights: RewardWeights | None = None, config: RewardConfig | None = None) -> float:
        """Return `reward`, or compute it with other weights or settings.

        Args:
            weights: Other weights.
            config: Other settings.

        Returns:
            The reward, from -1 to 1.

        >>> signal = RewardSignal.from_phase_outcome(score_delta=0.5)
        >>> signal.compute_reward(), signal.compute_reward(RewardWeights(score_weight=1.0)), signal.reward
        (0.15, 0.5, 0.15)
        """
        if weights is None and config is None:
            return self.reward
        return self.from_phase_outcome(
            **self.components_raw,
            weights=weights or self.get_settings(RewardWeights),
            config=config or self.get_settings(RewardConfig),
        ).reward

    def to_dict(self) -> dict[str, Any]:
        """Return the signal as plain data for JSON.

        Returns:
            The fields by name.
        """
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Restore a signal from `to_dict`, bit for bit.

        Whether its numbers match its raw measurements is checked by `RewardStore.add`.

        Args:
            data: A mapping from `to_dict`.

        Returns:
            The signal.

        Raises:
            InputError: A key is missing or unknown, or a value has the wrong type.

        >>> signal = RewardSignal.from_phase_outcome(score_delta=0.5)
        >>> RewardSignal.from_dict(signal.to_dict()) == signal
        True
        """
        parts = match_keys(data, [each.name for each in fields(cls)], "a RewardSignal")
        label, raw, meta = (parts.pop(name) for name in ("reward_version", "components_raw", "normalization_meta"))
        if not isinstance(label, str):
            raise WrongType(f"RewardSignal reward_version={label!r:.60} is not a string.")
        if raw != {}:
            raw = match_keys(raw, reward.fields, "components_raw of a RewardSignal")
        if not isinstance(meta, Mapping):
            raise WrongType(f"RewardSignal normalization_meta={meta!r:.60} is not a mapping.")
        for name, value in meta.items():
            if not isinstance(value, str):
                parse_number(value, f"RewardSignal normalization_meta[{name!r:.60}]")
        return cls(
            label,
            {name: parse_number(value, f"RewardSignal components_raw[{name!r}]") for name, value in raw.items()},
            dict(meta),
            **{name: parse_number(value, f"RewardSignal {name}") for name, value in parts.items()},
        )

    def get_settings(self, settings: type[Settings]) -> Settings:
        """Return the settings that this signal was computed with.

        Args:
            settings: `RewardWeights` or `RewardConfig`.

        Returns:
            An instance of that class.
        """
        names = {each.name for each in fields(settings)} & self.normalization_meta.keys()
        return settings(**{name: self.normalization_meta[name] for name in names})


def _validate_counts(raw: Mapping[str, Any]) -> None:
    """Refuse what nothing could have counted; anything that is not a finite number is left for the reward to refuse."""
    for name in ("cost_tokens", "alignment_events"):
        count = raw[name]
        if type(count) is int and count >= 0:
            continue
        finite = isinstance(count, int) or (isinstance(count, Real) and math.isfinite(count))
        if finite and (count < 0 or count % 1 != 0):
            problem = f"{shorten(count)} is not an integer of 0 or more"
            raise OutOfRange(f"reward 'deepthinker', field {name!r}: {problem}.")


_NAMES = tuple(each.name for each in fields(RewardSignal))


@lru_cache(maxsize=256)
def _prepare(weights: RewardWeights, config: RewardConfig) -> tuple[Reward, dict[str, Any]]:
    """Return the reward, and every number that it depends on beside the raw measurements."""
    formula = tune_reward(weights, config)
    limits = {"reward_low": formula.params["total.low"], "reward_high": formula.params["total.high"]}
    return formula, {**asdict(weights), **asdict(config), **limits, "fingerprint": formula.fingerprint}


@lru_cache(maxsize=256)
def _locate_parts(frame: Frame) -> Callable[[tuple[float, ...]], tuple[float, ...]]:
    """Return what takes the numbers of a RewardSignal, in its order, out of the outputs of a formula."""
    positions = [frame.terms.index(each.name) for each in reward.terms]
    wanted = [frame.scores[at] for at in positions] + [frame.clamped[at] for at in positions[3:]] + [0]
    take: Callable[[tuple[float, ...]], tuple[float, ...]] = itemgetter(*wanted)
    return take
