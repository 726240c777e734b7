"""TRL: a reward as the functions that `GRPOTrainer(reward_funcs=...)` calls, whole or a term each.

TRL hands over a batch — `prompts`, `completions`, every other column of the data set — and takes a list of rewards
in which None means "not this one". Nothing of TRL is imported.
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
"""What the trainer passes for logging: no part of a sample."""


class RewardFuncs(NamedTuple):
    """One function a term, for `GRPOTrainer(reward_funcs=)`, and their weights, for `GRPOConfig(reward_weights=)`."""

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
    """Return `reward` as one function for TRL, which logs it under `name`, the reward's own unless given.

    `features` gives the reward's inputs for one sample, `applies` whether the reward is about it at all: where not,
    TRL gets None. Both name what they need: `prompt`, `completion`, `completion_ids`, a column. What each term adds
    is logged beside the total, as `<name>/<term>`, where the trainer passes `log_extra` and `log_metric`.

    A sample whose functions raise, or whose inputs cannot be scored, is an error that ends the training. With
    `on_bad="mask"`, which needs TRL 1.6, TRL gets None for it, `masked` counts it, and the share of such samples is
    logged as `<name>/masked`. It is an error all the same where a function asks for what no sample has, where none of
    a batch has the reward's fields, and where more than `max_masked` of ten or more samples are masked: of a batch, or
    of all so far. `on_bad="clip"` holds numbers within their declared ranges.

    Raises:
        DefinitionError: An argument is not what it should be.
        MissingExtra: `on_bad="mask"`, and the installed TRL is older than 1.6.
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
    """Return a function for each term, with the weights under which they add up to the reward.

    Each gives its term's score, held within the term's clamps. Where the total has a clamp, one more function,
    `total.clamp`, gives what that adds. A batch is scored once, however many functions read it. `on_bad` and
    `max_masked` are as for `reward_func`; samples that are masked are counted and logged once, for all functions.
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
    """Refuse a TRL that takes None for a 0: up to 1.5.1 its `nansum` over the functions puts it into the baseline.

    From 1.6.0 on GRPO, RLOO and the asynchronous GRPO leave out a completion for which every function gave None.
    """
    try:
        installed = version("trl")
    except PackageNotFoundError:
        return  # made where nothing is trained, or called by a trainer that is not TRL's
    if [int(part) for part in re.findall(r"\d+", installed)[:2]] < [1, 6]:
        raise MissingExtra(
            f"on_bad='mask' needs TRL 1.6 or later, and {installed} is installed, which counts a masked sample as a "
            "reward of 0. Update it: pip install 'trl>=1.6'; or choose on_bad='raise'."
        )


class RewardFunc:
    """A whole reward: prompts and completions in, totals out."""

    def __init__(self, batches: "_Batches", name: str) -> None:
        """Keep what scores a batch, and the name to log under."""
        self.__name__ = name
        self._batches = batches

    @property
    def masked(self) -> int:
        """How many samples were given no reward because they could not be scored."""
        return self._batches.masked

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Rewards:
        """Return the reward of each completion, None where it does not apply; a note of any error names the sample."""
        signals = self._batches.score(prompts, completions, columns)
        if columns.keys() & set(_HOOKS):
            self._log([None if signal is None else split_total(signal) for signal in signals], columns)
        return [None if signal is None else signal.total for signal in signals]

    def _log(self, parts: list[dict[str, float] | None], hooks: Mapping[str, Any]) -> None:
        """Hand over what each term added: every value to the table of completions, the mean to the metrics."""
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
        """Keep what scores a batch for every term, and the term's name."""
        self.__name__ = name
        self._batches = batches

    @property
    def masked(self) -> int:
        """How many samples were given no reward because they could not be scored."""
        return self._batches.masked

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Rewards:
        """Return the term's score of each completion, None where the reward does not apply."""
        name = self.__name__
        signals = self._batches.score_once(name, prompts, completions, columns)
        if name == CLAMP:
            return [None if signal is None else split_total(signal)[CLAMP] for signal in signals]
        return [None if signal is None else signal[name].clamped for signal in signals]


class _Batches:
    """Scores batches; one that several functions read is kept until each has read it once."""

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
        for sample in samples[:1]:  # what a function asks for, all of them have or none has
            self._require(sample)
        signals = [self._score_sample(at, sample, errors) for at, sample in enumerate(samples)]
        applicable = sum(signal is not None for signal in signals) + len(errors)
        if self._scorer.masks and applicable:
            self._log_masked(errors, applicable, columns.get("log_metric"))
        return signals

    def score_once(
        self, reader: str, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> list[Signal | None]:
        """Return the signals of a batch, those kept if it is the one that another reader asked for just now."""
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
        """Count the samples that have no reward, of those that the reward is about, and tell the trainer."""
        if log_metric is not None:
            log_metric(f"{self._name}/masked", len(errors) / samples)
        self._scorer.masking.add(errors, samples)

    def _score_sample(self, at: int, sample: Mapping[str, Any], errors: list[Exception]) -> Signal | None:
        """Return the signal of a sample, or None where the reward does not apply, or `errors` has one more."""
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
    """Return each sample by the names of its parts; anything else, like the trainer's state, is in all of them."""
    lists = {"prompt": prompts, "completion": completions}
    lists |= {name: _to_entries(column) for name, column in columns.items() if _is_column(column)}
    for name, column in lists.items():
        if len(column) != len(completions):
            raise ShapeMismatch(f"{name!r} has {len(column)} entries for {len(completions)} completions.")
    whole = {name: part for name, part in columns.items() if name not in lists and name not in _HOOKS}
    return [{**whole, **dict(zip(lists, parts, strict=True))} for parts in zip(*lists.values(), strict=True)]


def _is_column(given: Any) -> bool:
    """Return whether there is an entry a sample: a list, an array or a tensor, not a string or a mapping."""
    sized = isinstance(given, Collection) and not isinstance(given, str | bytes | Mapping | Set)
    return sized and getattr(given, "ndim", 1) > 0


def _to_entries(column: Any) -> Any:
    """Return a column whose entries are plain numbers, bools and strings where it is an array of such."""
    return column.tolist() if getattr(column, "ndim", 0) == 1 and hasattr(column, "tolist") else column
