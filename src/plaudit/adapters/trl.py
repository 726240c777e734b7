"""TRL: a reward as one function for `GRPOTrainer(reward_funcs=...)`, or as one function per term.

TRL passes a batch (`prompts`, `completions` and every other column of the data set) and takes a list of rewards, in
which None means that the reward does not apply. TRL itself is not imported.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from plaudit.adapters.components import CLAMP, list_weights, split_total
from plaudit.adapters.samples import Features, KeywordFunction, Scorer
from plaudit.errors import MissingExtra, MissingField, ShapeMismatch
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.rows.on_bad import MAX_MASKED
from plaudit.targets import OnBad

__all__ = ["reward_func", "reward_funcs"]

Rewards = list[float | None]
_HOOKS = ("log_extra", "log_metric")
"""Logging functions that the trainer passes; they are not part of a sample."""


class RewardFuncs(NamedTuple):
    """One function per term, for `GRPOTrainer(reward_funcs=)`, and the weights, for `GRPOConfig(reward_weights=)`."""

    funcs: list["TermFunc"]
    weights: list[float]


def reward_func(
    reward: Reward,
    features: Features,
    *,
    applies: Callable[..., bool] | None = None,
    name: str | None = None,
    on_bad: OnBad = "raise",
    max_masked: float = MAX_MASKED,
) -> "RewardFunc":
    """Return a reward as one function for TRL.

    TRL logs the total under `name`, and each term as `<name>/<term>` if the trainer passes `log_extra` and
    `log_metric`.

    Args:
        reward: The reward.
        features: A function that returns the reward's inputs for one sample. Its parameters name what it needs:
            `prompt`, `completion`, `completion_ids`, or a column of the data set.
        applies: A function that says whether the reward applies to a sample; if not, TRL gets None. All samples if
            omitted.
        name: Name to log under; the reward's own name if omitted.
        on_bad: What to do with a sample whose features raise or that cannot be scored. "raise": the error stops the
            training. "mask" (needs TRL 1.6): TRL gets None, `masked` counts it, and the share is logged as
            `<name>/masked`. "clip": clip numbers to their declared ranges.
        max_masked: Maximum share of masked samples in a batch or in all so far, checked from ten samples on.

    Returns:
        A function of (prompts, completions, **columns) that returns a list of rewards. It raises MissingField, even
        with `on_bad="mask"`, if a function needs something that no sample has.

    Raises:
        DefinitionError: An argument is invalid.
        MissingExtra: `on_bad="mask"`, and the installed TRL is older than 1.6.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def short(words):
    ...     return 1 - words / 10
    >>> brief = Reward("brief", version="1", terms=[short], fields=[Field("words", low=0)])
    >>> score = reward_func(brief, lambda completion: {"words": len(completion.split())})
    >>> score(prompts=["Why?"], completions=["It is so."])
    [0.7]
    """
    scorer = _build_scorer(reward, features, on_bad, max_masked)
    return RewardFunc(_Batches(scorer, applies, name or reward.name), name or reward.name)


def reward_funcs(
    reward: Reward,
    features: Features,
    *,
    applies: Callable[..., bool] | None = None,
    on_bad: OnBad = "raise",
    max_masked: float = MAX_MASKED,
) -> RewardFuncs:
    """Return one function per term for TRL, and their weights.

    Each function returns the clamped score of its term; weighted, they add up to the reward. If the total has a clamp,
    a function `total.clamp` returns its effect. A batch is scored once for all functions, and masked samples are
    counted and logged once.

    Args:
        reward: The reward.
        features: As for `reward_func`.
        applies: As for `reward_func`.
        on_bad: As for `reward_func`.
        max_masked: As for `reward_func`.

    Returns:
        The functions and their weights.

    Raises:
        DefinitionError: An argument is invalid, or a weight follows a schedule.
        MissingExtra: `on_bad="mask"`, and the installed TRL is older than 1.6.

    >>> from plaudit import Field, Reward, term
    >>> @term(weight=2.0)
    ... def short(words):
    ...     return 1 - words / 10
    >>> brief = Reward("brief", version="1", terms=[short], fields=[Field("words", low=0)])
    >>> funcs, weights = reward_funcs(brief, lambda completion: {"words": len(completion.split())})
    >>> [func.__name__ for func in funcs], weights
    (['short'], [2.0])
    """
    scorer = _build_scorer(reward, features, on_bad, max_masked)
    weights = list_weights(reward)
    batches = _Batches(scorer, applies, reward.name, readers=frozenset(weights))
    return RewardFuncs([TermFunc(batches, name) for name in weights], list(weights.values()))


def _build_scorer(reward: Reward, features: Features, on_bad: str, max_masked: float) -> Scorer:
    scorer = Scorer(reward, features, on_bad=on_bad, max_masked=max_masked)
    if scorer.masks:
        _require_none_left_out()
    return scorer


def _require_none_left_out() -> None:
    """Refuse a TRL that treats None as 0: up to 1.5.1, its `nansum` over the functions puts it into the baseline.

    From 1.6.0 on, GRPO, RLOO and the asynchronous GRPO leave out a completion for which every function returned None.
    """
    try:
        installed = version("trl")
    except PackageNotFoundError:
        return  # built without training, or called by another trainer
    if [int(part) for part in re.findall(r"\d+", installed)[:2]] < [1, 6]:
        raise MissingExtra(
            f"on_bad='mask' needs TRL 1.6 or later, and {installed} is installed, which counts a masked sample as a "
            "reward of 0. Update it: pip install 'trl>=1.6'; or choose on_bad='raise'."
        )


class RewardFunc:
    """A whole reward: prompts and completions in, totals out."""

    def __init__(self, batches: "_Batches", name: str) -> None:
        """Keep the batches and the name to log under."""
        self.__name__ = name
        self._batches = batches

    @property
    def masked(self) -> int:
        """Number of samples without a reward because they could not be scored."""
        return self._batches.masked

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Rewards:
        """Return the reward of each completion, None if it does not apply; a note on an error names the sample."""
        signals = self._batches.score(prompts, completions, columns)
        if columns.keys() & set(_HOOKS):
            self._log([None if signal is None else split_total(signal) for signal in signals], columns)
        return [None if signal is None else signal.total for signal in signals]

    def _log(self, parts: list[dict[str, float] | None], hooks: Mapping[str, Any]) -> None:
        """Log each term: every value to the table of completions, the mean to the metrics."""
        for term in next(filter(None, parts), ()):
            values = [None if part is None else part[term] for part in parts]
            known = [value for value in values if value is not None]
            if "log_extra" in hooks:
                hooks["log_extra"](f"{self.__name__}/{term}", values)
            if "log_metric" in hooks:
                hooks["log_metric"](f"{self.__name__}/{term}", sum(known) / len(known))


class TermFunc:
    """One term: prompts and completions in, its clamped scores out."""

    def __init__(self, batches: "_Batches", name: str) -> None:
        """Keep the batches, shared by all terms, and the term's name."""
        self.__name__ = name
        self._batches = batches

    @property
    def masked(self) -> int:
        """Number of samples without a reward because they could not be scored."""
        return self._batches.masked

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Rewards:
        """Return the term's score of each completion, None if the reward does not apply."""
        name = self.__name__
        signals = self._batches.score_once(name, prompts, completions, columns)
        if name == CLAMP:
            return [None if signal is None else split_total(signal)[CLAMP] for signal in signals]
        return [None if signal is None else signal[name].clamped for signal in signals]


class _Batches:
    """Scores batches; a batch that several functions read is kept until each has read it once."""

    def __init__(
        self,
        scorer: Scorer,
        applies: Callable[..., bool] | None,
        name: str,
        *,
        readers: frozenset[str] = frozenset(),
    ) -> None:
        self._name = name
        self._scorer = scorer
        self._readers = readers
        self._applies = None if applies is None else KeywordFunction(applies)
        self._kept: tuple[Any, Any, list[Signal | None], set[str]] | None = None

    @property
    def masked(self) -> int:
        return self._scorer.masking.masked

    def score(
        self, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> list[Signal | None]:
        samples, errors = _build_samples(prompts, completions, columns), list[Exception]()
        for sample in samples[:1]:  # either all samples have a parameter, or none
            self._require(sample)
        signals = [self._score_sample(at, sample, errors) for at, sample in enumerate(samples)]
        applicable = sum(signal is not None for signal in signals) + len(errors)
        if self._scorer.masks and applicable:
            self._log_masked(errors, applicable, columns.get("log_metric"))
        return signals

    def score_once(
        self, reader: str, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> list[Signal | None]:
        """Return the signals of a batch, reusing those that another reader just asked for."""
        kept = self._kept
        if kept is None or kept[0] is not prompts or kept[1] is not completions or reader not in kept[3]:
            kept = (prompts, completions, self.score(prompts, completions, columns), set(self._readers))
        kept[3].remove(reader)
        self._kept = kept if kept[3] else None
        return kept[2]

    def _require(self, sample: Mapping[str, Any]) -> None:
        try:
            for function in filter(None, (self._applies, self._scorer.features)):
                function.require(sample)
        except MissingField as error:
            error.add_note("in sample 0")
            raise

    def _log_masked(
        self, errors: list[Exception], samples: int, log_metric: Callable[[str, float], None] | None
    ) -> None:
        """Count the samples without a reward among those that it applies to, and log their share."""
        if log_metric is not None:
            log_metric(f"{self._name}/masked", len(errors) / samples)
        self._scorer.masking.add(errors, samples)

    def _score_sample(self, at: int, sample: Mapping[str, Any], errors: list[Exception]) -> Signal | None:
        """Return the signal of a sample; None if the reward does not apply, or after adding to `errors`."""
        try:
            applies = self._applies is None or self._applies(sample)
            return self._scorer(sample) if applies else None
        except Exception as error:
            error.add_note(f"in sample {at}")
            if not self._scorer.masks:
                raise
            errors.append(error)
            return None


def _build_samples(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the samples as mappings; anything else, like the trainer's state, is in all of them."""
    lists = {"prompt": prompts, "completion": completions}
    lists |= {name: _to_entries(column) for name, column in columns.items() if _is_column(column)}
    for name, column in lists.items():
        if len(column) != len(completions):
            raise ShapeMismatch(f"{name!r} has {len(column)} entries for {len(completions)} completions.")
    whole = {name: part for name, part in columns.items() if name not in lists and name not in _HOOKS}
    return [{**whole, **dict(zip(lists, parts, strict=True))} for parts in zip(*lists.values(), strict=True)]


def _is_column(given: Any) -> bool:
    """Return whether it has an entry per sample: a list, an array or a tensor, not a string or a mapping."""
    sized = isinstance(given, Collection) and not isinstance(given, str | bytes | Mapping | Set)
    return sized and getattr(given, "ndim", 1) > 0


def _to_entries(column: Any) -> Any:
    """Return a one-dimensional array as a list of plain numbers, bools or strings; others as they are."""
    return column.tolist() if getattr(column, "ndim", 0) == 1 and hasattr(column, "tolist") else column
