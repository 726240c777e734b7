"""TRL: a reward as one function for `GRPOTrainer(reward_funcs=...)`, or as one function per term.

TRL passes a batch (`prompts`, `completions` and every other column of the data set) and takes a list of rewards, in
which None means that the reward does not apply. TRL itself is not imported.
"""

import re
import sys
from collections.abc import Collection, Mapping, Sequence, Set
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import accumulate
from typing import Any, NamedTuple

from plaudit.adapters.components import list_weights
from plaudit.adapters.rollouts import list_parts, list_scores, require_scoring
from plaudit.errors import DefinitionError, MissingExtra, MissingField, ShapeMismatch
from plaudit.llm.running import Gather
from plaudit.llm.scored import Scored
from plaudit.llm.scoring import Scoring

__all__ = ["reward_func", "reward_funcs"]

Rewards = list[float | None]
_HOOKS = ("log_extra", "log_metric")
"""Logging functions that the trainer passes; they are not part of a sample."""


class RewardFuncs(NamedTuple):
    """One function per term, for `GRPOTrainer(reward_funcs=)`, and the weights, for `GRPOConfig(reward_weights=)`."""

    funcs: list["TermFunc"]
    weights: list[float]


def reward_func(scoring: Scoring, *, name: str | None = None, group_size: int | None = None) -> "RewardFunc":
    """Return a reward as one function for TRL.

    TRL logs the total under `name`; each term is logged as `<name>/<term>`, each input as `<name>/inputs/<input>`, and
    the share of masked samples as `<name>/masked`, and of those that lost a term, with `on_lost_term="group"`, as
    `<name>/lost_terms`. Schedules follow the trainer's `global_step`.

    Args:
        scoring: The reward and its features; parts of a sample are `prompt`, `completion`, `completion_ids`, the
            columns of the data set and `environments`, which is the one of the sample. With `on_bad="mask"`, which
            needs TRL 1.6, a sample that cannot be scored gets None.
        name: Name to log under; the reward's own name if omitted.
        group_size: `num_generations` of the trainer, for features of a group; a batch that does not consist of such
            groups is refused. If omitted, completions that follow each other and have the same prompt are a group, in
            whatever processes they are.

    Returns:
        A function of (prompts, completions, **columns) that returns a list of rewards.

    Raises:
        DefinitionError: An argument is invalid.
        MissingExtra: `on_bad="mask"`, and the installed TRL is older than 1.6.

    >>> from plaudit import Field, Reward, term
    >>> from plaudit.llm import Scoring
    >>> @term
    ... def short(words):
    ...     return 1 - words / 10
    >>> brief = Reward("brief", version="1", terms=[short], fields=[Field("words", low=0)])
    >>> score = reward_func(Scoring(brief, lambda completion: {"words": len(completion.split())}))
    >>> score(prompts=["Why?"], completions=["It is so."])
    [0.7]
    """
    return RewardFunc(_Batches(scoring, group_size), name or scoring.reward.name)


def reward_funcs(scoring: Scoring, *, group_size: int | None = None) -> RewardFuncs:
    """Return one function per term for TRL, and their weights.

    Each function returns the clamped score of its term; weighted, they add up to the reward. If the total has a clamp,
    a function `total.clamp` returns its effect. A batch is scored once for all functions.

    Args:
        scoring: As for `reward_func`.
        group_size: As for `reward_func`.

    Returns:
        The functions and their weights.

    Raises:
        DefinitionError: An argument is invalid, or a weight follows a schedule.
        MissingExtra: `on_bad="mask"`, and the installed TRL is older than 1.6.

    >>> from plaudit import Field, Reward, term
    >>> from plaudit.llm import Scoring
    >>> @term(weight=2.0)
    ... def short(words):
    ...     return 1 - words / 10
    >>> brief = Reward("brief", version="1", terms=[short], fields=[Field("words", low=0)])
    >>> scoring = Scoring(brief, lambda completion: {"words": len(completion.split())})
    >>> funcs, weights = reward_funcs(scoring)
    >>> [func.__name__ for func in funcs], weights
    (['short'], [2.0])
    """
    weights = list_weights(scoring.reward)
    batches = _Batches(scoring, group_size, readers=frozenset(weights))
    return RewardFuncs([TermFunc(batches, name) for name in weights], list(weights.values()))


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
        return self._batches.scoring.masked

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Rewards:
        """Return the reward of each completion, None if it has none; a note on an error names the sample."""
        scored = self._batches.score(prompts, completions, columns)
        if columns.keys() & set(_HOOKS):
            self._log(scored, columns)
        return scored.totals

    def _log(self, scored: Scored, hooks: Mapping[str, Any]) -> None:
        """Log every term and input to the table of completions, and the mean of each term to the metrics."""
        for name in self._batches.scoring.reward.inputs if "log_extra" in hooks else ():
            column = [None if row is None else row.get(name) for row in scored.inputs]
            hooks["log_extra"](f"{self.__name__}/inputs/{name}", column)
        for name, values in list_parts(scored).items():
            if "log_extra" in hooks:
                hooks["log_extra"](f"{self.__name__}/{name}", values)
            had = [value for value in values if value is not None]
            if "log_metric" in hooks and had:
                hooks["log_metric"](f"{self.__name__}/{name}", sum(had) / len(had))


class TermFunc:
    """One term: prompts and completions in, its clamped scores out."""

    def __init__(self, batches: "_Batches", name: str) -> None:
        """Keep the batches, shared by all terms, and the term's name."""
        self.__name__ = name
        self._batches = batches

    @property
    def masked(self) -> int:
        """Number of samples without a reward because they could not be scored."""
        return self._batches.scoring.masked

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Rewards:
        """Return the term's score of each completion, None if it has none."""
        return self._batches.score_once(self.__name__, prompts, completions, columns)


class _Batches:
    """Translates batches of the trainer; one that several functions read is kept until each has read it once."""

    def __init__(self, scoring: Scoring, group_size: int | None, *, readers: frozenset[str] = frozenset()) -> None:
        require_scoring(scoring)
        if group_size is not None and (type(group_size) is not int or group_size < 1):
            raise DefinitionError(f"group_size={group_size!r:.60} is not a number of completions, such as 8.")
        if scoring.masks:
            _require_none_left_out()
        self.scoring, self._group_size, self._readers = scoring, group_size, readers
        self._kept: tuple[Any, Any, dict[str, Rewards]] | None = None

    def score(self, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]) -> Scored:
        samples = _build_samples(prompts, completions, columns)
        step = getattr(columns.get("trainer_state"), "global_step", None)
        gather = _find_gather() if self.scoring.needs_groups or self.scoring.records else None
        groups = self._name_groups(prompts, gather)
        try:
            scored = self.scoring.score(samples, step=step, groups=groups, gather=gather)
        except MissingField as error:
            if not getattr(error, "__notes__", None):
                error.add_note("in sample 0")
            raise
        if self.scoring.masks and len(scored.abstained) < len(samples) and "log_metric" in columns:
            columns["log_metric"](f"{self.scoring.reward.name}/masked", scored.share_masked)
            if self.scoring.loses_terms:
                columns["log_metric"](f"{self.scoring.reward.name}/lost_terms", scored.share_lost)
        return scored

    def score_once(
        self, reader: str, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> Rewards:
        """Return a term's scores of a batch, reusing those of one that another reader just asked for."""
        kept = self._kept
        if kept is None or kept[0] is not prompts or kept[1] is not completions or reader not in kept[2]:
            scored = self.score(prompts, completions, columns)
            kept = prompts, completions, list_scores(scored, self._readers)
        found = kept[2].pop(reader)
        self._kept = kept if kept[2] else None
        return found

    def _name_groups(self, prompts: Sequence[Any], gather: Gather | None) -> list[Any]:
        """Return which completions belong together: so many that follow each other, or those of one prompt."""
        everyone, first = list(prompts), 0
        if gather is not None:  # a group may begin in another process
            everyone, first = gather(everyone)
        if self._group_size is not None:
            if gather is not None or _find_gather() is None:
                _check_groups(everyone, self._group_size)
            names = [at // self._group_size for at in range(len(everyone))]
        else:
            starts = [at == 0 or everyone[at] != everyone[at - 1] for at in range(len(everyone))]
            names = list(accumulate(starts))
        return names[first : first + len(prompts)]


def _check_groups(prompts: Sequence[Any], size: int) -> None:
    """Refuse groups of several prompts, and one of fewer completions than the others."""
    hint = "Give the trainer's num_generations, or leave out group_size: then equal prompts side by side are a group."
    for at, prompt in enumerate(prompts):
        first, differs = at - at % size, False
        with suppress(ValueError):  # of arrays in prompts, which have no truth value
            differs = bool(prompt != prompts[first])
        if differs:
            raise ShapeMismatch(f"group_size={size}: completions {first} and {at} have different prompts. {hint}")
    if len(prompts) % size:
        raise ShapeMismatch(f"group_size={size} does not divide {len(prompts)} completions. {hint}")


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


# -- several processes -------------------------------------------------------------------------------------------------


def _find_gather() -> Gather | None:
    """Return what brings the completions of all processes together; None where there is one process."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    if distributed.get_world_size() < 2:
        return None

    def gather(entries: list[Any]) -> tuple[list[Any], int]:
        parts: list[Any] = [None] * distributed.get_world_size()
        distributed.all_gather_object(parts, entries)
        before = parts[: distributed.get_rank()]
        return [entry for part in parts for entry in part], sum(map(len, before))

    return gather
