"""Scoring samples of text: features are run, a batch is scored by columns, and what has no reward is counted."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from plaudit.errors import (
    Abstained,
    DefinitionError,
    InputError,
    MissingField,
    ShapeMismatch,
    UnknownInput,
    WrongType,
    did_you_mean,
)
from plaudit.ledger.context import validate_integer, validate_string
from plaudit.ledger.ledger import Ledger
from plaudit.llm.feature import Feature, FeatureSet
from plaudit.llm.grouping import Membership, name_groups
from plaudit.llm.rollouts import Keep, RolloutRecorder
from plaudit.llm.running import Gather, Known, Results, Runner
from plaudit.llm.sample import Sample, spell_part
from plaudit.llm.scored import Scored
from plaudit.llm.waiting import replace_stop
from plaudit.reward.reward import Reward
from plaudit.rows.on_bad import MAX_MASKED, MaskCount, apply_on_bad
from plaudit.targets import OnBad
from plaudit.targets.compiled import Scores, convert_scores

__all__ = ["Scoring"]

_LOG = logging.getLogger("plaudit")
Lost = Literal["sample", "group"]
Features = Callable[..., Any] | Iterable[Callable[..., Any]]


class Scoring:
    """A reward, the features that it is scored by, and what is done with samples that cannot be scored.

    One for all adapters: TRL, verifiers, OpenEnv, verl and Inspect translate to it and back.

    >>> from plaudit import Field, Reward, term
    >>> from plaudit.llm import Scoring, feature
    >>> @feature
    ... def words(text):
    ...     return len(text.split())
    >>> @term
    ... def short(words):
    ...     return 1 - words / 10
    >>> brief = Reward("brief", version="1", terms=[short], fields=[Field("words", low=0)])
    >>> scoring = Scoring(brief, [words])
    >>> scoring.score([{"prompt": "Why?", "completion": "It is so."}]).totals
    [0.7]
    """

    def __init__(
        self,
        reward: Reward,
        features: Features,
        *,
        applies: Callable[..., bool] | None = None,
        on_bad: OnBad = "raise",
        max_masked: float = MAX_MASKED,
        on_lost_term: Lost = "sample",
        concurrency: int = 64,
        timeout: float | None = 60.0,
        ledger: Ledger | None = None,
        run: str | None = None,
        actor: str | None = None,
        texts: Keep = "keep",
    ) -> None:
        """Check the arguments and put the features in order.

        Args:
            reward: The reward.
            features: Features, or one function that returns the reward's inputs by name.
            applies: A function of a sample that says whether the reward applies to it.
            on_bad: What to do with a sample whose features fail or that cannot be scored. "raise": raise the error.
                "mask": give it no reward. "clip": clip numbers to their declared ranges, and raise anything else.
            max_masked: Maximum share of masked samples in a batch or in all so far, checked from ten samples on; and,
                counted apart, of samples for which a feature failed and cost their group a term.
            on_lost_term: What a masked sample loses when only some terms need the feature that failed. "sample": its
                reward. "group": those terms, for all completions of its prompt, so that their totals stay comparable.
            concurrency: Maximum number of async features, or of judges, that run at once.
            timeout: Seconds that a feature may take for a sample; None for any time. What waits inside C cannot be
                interrupted, nor what keeps the event loop in `score_async`; a result that comes later does not count.
            ledger: Where to record every sample, durable before its reward is returned.
            run: The run to record under.
            actor: Who scores, such as the process of a trainer; no other live writer of the run can have the name.
            texts: What to record of texts: "keep" all of them, "hash" only what tells equal ones apart from others, or
                a function from a text to what is kept of it.

        Raises:
            DefinitionError: An argument is invalid or has no effect, or two features read each other.
            DuplicateName: Two features have one name.
            ActorInUse: Another live writer has the actor.
            VersionConflict: The ledger has another formula under the reward's label.
        """
        if not isinstance(reward, Reward):
            raise DefinitionError(f"{reward!r:.60} is not a Reward.")
        if on_lost_term not in get_args(Lost):
            near = did_you_mean(str(on_lost_term), get_args(Lost))
            raise DefinitionError(f"on_lost_term={on_lost_term!r} is not one of {', '.join(get_args(Lost))}.{near}")
        if type(concurrency) is not int or concurrency < 1:
            raise DefinitionError(f"concurrency={concurrency!r:.60} is not a number of calls, such as 64.")
        if timeout is not None and (type(timeout) not in (int, float) or not 0 < timeout <= _LONGEST_TIMEOUT):
            raise DefinitionError(
                f"timeout={timeout!r:.60} is not a number of seconds up to {_LONGEST_TIMEOUT:,}; None allows any time."
            )
        given = {"run": run is not None, "actor": actor is not None, "texts": texts != "keep"}
        if ledger is None and any(given.values()):
            name = next(name for name in given if given[name])
            raise DefinitionError(
                f"{name}= says what to record, and there is no ledger; pass ledger=Ledger('rewards.db')."
            )
        self.reward = apply_on_bad(reward, on_bad)
        self.features = FeatureSet(features)
        self.masks, self.loses_terms = on_bad == "mask", on_lost_term == "group"
        self._applies = None if applies is None else Feature(applies)
        if self._applies is not None and self._applies.is_async:
            raise DefinitionError(f"applies={self._applies.name} is async, and nothing here awaits it; make it plain.")
        self._count = MaskCount(reward.name, max_masked)
        self._lost_count = MaskCount(reward.name, max_masked, fate="could not be given a term")
        self.lost = 0
        """Number of samples so far that were scored without a term because a feature failed for one of their group."""
        self._lacking = self._complete = 0
        self._runner = Runner(self.features, concurrency, timeout, stops=not self.masks, goes_on=self.loses_terms)
        self._reduced: dict[tuple[str, ...], Reward] = {}
        self._compiled: dict[Reward, Any] = {}
        self._sort_features()
        self._recorder: RolloutRecorder | None = None
        if ledger is not None:
            self._recorder = RolloutRecorder(ledger, self.reward, self.features, run=run, actor=actor, texts=texts)

    def _sort_features(self) -> None:
        """Tell features of one input from those that return a mapping; refuse one that nothing reads."""
        read, features = self.reward.inputs, self.features
        self._counters = [name for name in read if name in self.reward.program.counters]
        self._single = [each.name for each in features.ordered if each.name in read]
        judges = {each.name for each in features.ordered if each.judge}
        rest = [each.name for each in features.ordered if each.name not in read]
        self._mappings = [name for name in rest if name not in features.read_by_others]
        self._kept = [name for name in features.by_name if name in judges or name in (*self._single, *self._mappings)]
        if self._mappings and not set(read) - {*self._single, *self._counters}:
            name = self._mappings[0]
            raise DefinitionError(
                f"neither reward {self.reward.name!r} nor a feature reads {name!r}.{did_you_mean(name, read)}"
            )

    @property
    def masked(self) -> int:
        """Number of samples so far without a reward because they could not be scored."""
        return self._count.masked

    @property
    def applies_to_some(self) -> bool:
        """Whether there are samples that the reward is not about."""
        return self._applies is not None

    @property
    def needs_loop(self) -> bool:
        """Whether `score_async` suits a caller better: features wait for something, or samples are recorded."""
        return self._runner.needs_loop or self._recorder is not None

    @property
    def records(self) -> bool:
        """Whether samples are recorded."""
        return self._recorder is not None

    @property
    def needs_groups(self) -> bool:
        """Whether completions of one prompt have to be scored together."""
        return self.loses_terms or any(each.scope == "group" for each in self.features.ordered)

    @property
    def open_counters(self) -> tuple[str, ...]:
        """The counters of schedules that only a `step` can fill in, since no feature may return them."""
        return () if self._mappings else tuple(name for name in self._counters if name not in self._single)

    def reads(self, part: str) -> bool:
        """Return whether a feature names a part of a sample.

        Args:
            part: The name.

        Returns:
            Whether one does.
        """
        named = [*self.features.ordered, *filter(None, (self._applies,))]
        return any(part in each.reads for each in named)

    def require(self, samples: Sequence[Sample]) -> None:
        """Check that features can be called: that one of the samples has every part that they need.

        Args:
            samples: The samples.

        Raises:
            MissingField: None has: then a feature is wrong, and no sample.
        """
        _require_of_one(self.features.require, samples)

    @property
    def fingerprints(self) -> dict[str, str]:
        """The fingerprint of each feature."""
        return self.features.fingerprints

    def score(
        self,
        samples: Iterable[Mapping[str, Any]],
        *,
        step: int | None = None,
        groups: Sequence[Any] | None = None,
        policy: str | None = None,
        gather: Gather | None = None,
    ) -> Scored:
        """Score a batch of samples.

        Args:
            samples: Samples, or mappings from the names of parts to the parts.
            step: The trainer's step, which schedules of the reward follow.
            groups: What tells completions of one prompt from others, one for each sample; their `group`, or their
                prompts, if omitted.
            policy: The version of the policy that wrote the completions, to record.
            gather: Where completions of a prompt may be in several processes, a function that brings the entries of all
                together and says where its own begin.

        Returns:
            Their rewards.

        Raises:
            WrongType: `samples` is not a list of mappings, or `step` not an integer.
            MissingField: No sample has a part that a feature needs.
            TooManyMasked: More than `max_masked` could not be scored, or lost a term.
            InputError: A sample cannot be scored, and `on_bad` is not "mask".
        """
        step, results = validate_integer("step", step), self._begin(samples, groups, policy)
        if gather is not None and self.loses_terms:
            raise DefinitionError("on_lost_term='group' needs all completions of a prompt in one process.")
        shared = name_groups(results.group_of, gather) if gather is not None and self.records else None
        return self._finish(replace(self._runner, gather=gather).run(results), step, policy, shared)

    async def score_async(
        self,
        samples: Iterable[Mapping[str, Any]],
        *,
        step: int | None = None,
        groups: Sequence[Any] | None = None,
        policy: str | None = None,
    ) -> Scored:
        """Score a batch of samples in a running event loop; as `score`.

        Args:
            samples: As for `score`.
            step: As for `score`.
            groups: As for `score`.
            policy: As for `score`.

        Returns:
            Their rewards.
        """
        step, results = validate_integer("step", step), self._begin(samples, groups, policy)
        return self._finish(await self._runner.run_async(results), step, policy)

    def score_again(
        self,
        samples: Sequence[Sample],
        groups: Sequence[Any],
        known: Known,
        steps: Sequence[int | None],
        *,
        applies: Mapping[int, bool] | None = None,
        into: Results | None = None,
    ) -> Scored:
        """Score samples of which results of some features are known; nothing is recorded, counted or raised.

        A sample without texts is scored where everything is known.

        Args:
            samples: The samples.
            groups: What tells completions of one prompt from others, by sample.
            known: Results by feature and by position of the sample.
            steps: The trainer's step of each.
            applies: Whether the reward is about a sample, by position, where that is known.
            into: Results to fill in, for a caller who looks at them if scoring is stopped.

        Returns:
            Their rewards.
        """
        results = into or Results(samples, list(groups))
        self._ask_whether_it_applies(results, applies or {}, masks=True)
        for at, sample in enumerate(samples):
            if not sample and any(at not in known.get(each.name, {}) for each in self.features.ordered):
                results.errors.setdefault(at, Abstained("its texts were not kept, or were forgotten"))
        return self._score_results(replace(self._runner, stops=False).run(results, known), steps, masks=True)

    # -- before and after features ----------------------------------------------------------------------------------

    def _begin(self, samples: Iterable[Mapping[str, Any]], groups: Sequence[Any] | None, policy: str | None) -> Results:
        listed = list_samples(samples)
        if self._recorder is not None:
            validate_string("policy", policy)  # before a judge is asked
        if groups is not None and not hasattr(groups, "__len__"):
            raise WrongType(f"groups={groups!r:.60} is not a list with what tells groups apart, one for each sample.")
        if groups is not None and len(groups) != len(listed):
            raise ShapeMismatch(f"groups has {len(groups)} entries for {len(listed)} samples.")
        results = Results(listed, [*map(_name_group, listed)] if groups is None else [*map(_make_hashable, groups)])
        if self._applies is not None:
            _require_of_one(self._applies.require, listed)
        self._ask_whether_it_applies(results, {}, masks=self.masks)
        self.require([each for at, each in enumerate(listed) if at not in results.errors])
        return results

    def _ask_whether_it_applies(self, results: Results, known: Mapping[int, bool], *, masks: bool) -> None:
        """Note the samples that the reward is not about, and those of which that cannot be found out."""
        for at, sample in enumerate(results.samples if self._applies is not None or known else ()):
            error: Exception | None = None
            try:
                if not (known[at] if at in known else self._applies is None or self._concerns(sample)):
                    results.outside.add(at)
                    error = Abstained("the reward does not apply")
            except Exception as failed:
                error = replace_stop(failed)
                error.add_note(f"in sample {at}")
            if error is not None:
                results.errors[at] = error
                if not masks and not isinstance(error, Abstained):
                    raise error

    def _concerns(self, sample: Sample) -> bool:
        assert self._applies is not None
        self._applies.require(sample)
        return bool(self._applies.function(**self._applies.collect(sample)))

    def _finish(
        self, results: Results, step: int | None, policy: str | None, groups: Sequence[Membership] | None = None
    ) -> Scored:
        count = len(results.samples)
        scored = self._score_results(results, [step] * count, masks=self.masks)
        if self._recorder is not None:
            self._recorder.record(scored, step=step, policy=policy, groups=groups)
        if self.masks:
            due = count - len(scored.abstained)
            self._count_masked([results.errors[at] for at in sorted(scored.reasons)], due)
            self.lost += scored.count_lost()
            causes = scored.lost_causes
            self._lost_count.add(len(causes), due, describe_error(causes[0]) if causes else "")
        return scored

    def _score_results(self, results: Results, steps: Sequence[int | None], *, masks: bool) -> Scored:
        count, terms = len(results.samples), self.reward.program.terms
        values: dict[str, list[float | None]] = {name: [None] * count for name in terms}
        scored = Scored(
            results.samples, results.group_of, [None] * count, [None] * count, values, [self.reward] * count
        )
        scored.answers, scored.errors, scored.outside = results.answers, results.errors, frozenset(results.outside)
        scored.found = {name: results.values[name] for name in self._kept}
        lost, scored.lost_errors = self._find_lost(results)
        scored.lost_terms = lost
        scored.lost_reasons = {at: describe_error(error) for at, error in scored.lost_errors.items()}
        if lost:
            text = "%s: %d of %d samples are scored without a term, as a feature failed in their groups; the first: %s"
            _LOG.warning(text, self.reward.name, len(lost), count, next(iter(scored.lost_reasons.values())))
        own = [results.errors.pop(at) for at in lost if at in results.errors]
        scored.lost_causes = [error for error in own if not isinstance(error, Abstained)]
        if self._mappings or results.errors or lost:
            for at in range(count):
                if at not in results.errors:
                    scored.inputs[at] = self._collect_inputs(results, at, lost.get(at, ()), steps[at])
        else:
            counted = [name for name in self._counters if count and steps[0] is not None]
            names = (*counted, *self._single)
            columns = [*([steps] * len(counted)), *(results.values[name] for name in self._single)]
            scored.inputs = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        by_reward: dict[tuple[str, ...], list[int]] = {}
        for at, row in enumerate(scored.inputs):
            if row is not None:
                by_reward.setdefault(lost.get(at, ()), []).append(at)
        for names, which in by_reward.items():
            self._score_rows(scored, self._reduce(names), which, masks=masks)
        for at, error in results.errors.items():
            listed = scored.abstained if isinstance(error, Abstained) else scored.reasons
            listed[at] = describe_error(error)
        return scored

    def _find_lost(self, results: Results) -> tuple[dict[int, tuple[str, ...]], dict[int, Exception]]:
        """Return the terms that samples lose because a feature failed for one of their group, and the errors."""
        lost: dict[int, tuple[str, ...]] = {}
        errors: dict[int, Exception] = {}
        groups: dict[Any, list[int]] = {}
        for at, group in enumerate(results.group_of if self.loses_terms and results.failed else ()):
            groups.setdefault(group, []).append(at)
        for members in groups.values():
            failed = {name for at in members for name in results.failed.get(at, ())}
            inputs = failed & set(self.reward.inputs)
            terms = tuple(term.name for term in self.reward.terms if inputs & set(term.reads))
            whole = any(at in results.errors and not results.failed.get(at) for at in members)
            known = failed <= inputs | self.features.read_by_others
            if failed and known and not whole and 0 < len(terms) < len(self.reward.terms):
                lost |= dict.fromkeys(members, terms)
                own = {at: results.errors[at] for at in members if at in results.errors}
                first = min(own.values(), key=lambda error: isinstance(error, Abstained))  # a failure, if there is one
                errors |= {at: own.get(at, first) for at in members}
        return lost, errors

    def _reduce(self, lost: tuple[str, ...]) -> Reward:
        """Return the reward without some of its terms, under a version of its own."""
        if not lost:
            return self.reward
        if lost not in self._reduced:
            kept = [term.name for term in self.reward.terms if term.name not in lost]
            version = f"{self.reward.version} without {', '.join(lost)}"
            self._reduced[lost] = self.reward.select_terms(*kept).with_version(version)
        return self._reduced[lost]

    def _collect_inputs(self, results: Results, at: int, lost: tuple[str, ...], step: int | None) -> dict[str, Any]:
        """Return the inputs of the reward for a sample, without what only lost terms read."""
        read = self.reward.inputs
        row = {} if step is None else dict.fromkeys(self._counters, step)
        for name in self._single:
            row[name] = results.values[name][at]
        for name in self._mappings:
            found = results.values[name][at]
            if not isinstance(found, Mapping):
                raise WrongType(
                    f"feature {name!r} returned {found!r:.60}, and reward {self.reward.name!r} does not read {name!r}: "
                    f"return a mapping of inputs, or give the feature the name of one: {', '.join(read)}."
                )
            row.update(found)
        return {name: row[name] for name in self._reduce(lost).inputs if name in row} if lost else row

    def _score_rows(self, scored: Scored, reward: Reward, which: Sequence[int], *, masks: bool) -> None:
        """Fill in what a reward pays samples."""
        found = self._score_columns(reward, [scored.inputs[at] for at in which])
        for place, at in enumerate(which):
            scored.rewards[at] = reward
            if found is None or not found.ok[place]:
                self._score_row(scored, at, masks=masks)
                continue
            scored.totals[at] = found.total[place]
            for name, column in found.values.items():
                scored.values[name][at] = column[place]

    def _score_columns(self, reward: Reward, rows: Sequence[Any]) -> Scores | None:
        """Return the scores of rows as lists; None where the rows have to be looked at one by one."""
        names, count = tuple(reward.inputs), len(rows)
        if count < _FEWEST or any(row.keys() != set(names) for row in rows):
            return None
        columns = {name: [row[name] for row in rows] for name in names}
        if any(len(set(map(type, column))) != 1 or type(column[0]) not in _COLUMNS for column in columns.values()):
            return None
        if reward not in self._compiled:
            self._compiled[reward] = reward.compile("numpy", on_bad="mask")
        try:
            scores = self._compiled[reward](reward.encode({name: np.array(each) for name, each in columns.items()}))
        except (InputError, OverflowError):
            return None
        return convert_scores(scores, lambda column: np.broadcast_to(column, count).tolist())

    def _score_row(self, scored: Scored, at: int, *, masks: bool) -> None:
        row = scored.inputs[at]
        assert row is not None
        try:
            _require_counters(scored.rewards[at], row)
            signal = scored.rewards[at].score(**row)
        except Exception as error:
            error.add_note(f"in sample {at}")
            if not masks:
                raise
            scored.errors[at] = error
            return
        scored.totals[at] = signal.total
        for name, value in signal.values.items():
            scored.values[name][at] = value

    def _count_masked(self, errors: Sequence[Exception], due: int) -> None:
        """Count a batch, and raise what is wrong with the definition rather than with a sample."""
        if not due:
            return
        lacking = sum(isinstance(error, MissingField | UnknownInput) for error in errors)
        self._lacking += lacking
        self._complete += due - lacking
        whole_batch = lacking == due > 1
        if whole_batch or (not self._complete and self._lacking > 1):
            raise _make_definition_error(errors[0], due if whole_batch else self._lacking)
        first = describe_error(errors[0]) if errors else ""
        self._count.add(len(errors), due, first)
        if errors:
            text = "%s: %d of %d samples could not be scored and have no reward; the first: %s"
            _LOG.warning(text, self.reward.name, len(errors), due, first)


def list_samples(samples: Iterable[Mapping[str, Any]], *, first: int = 0) -> list[Sample]:
    """Return samples as such; WrongType, which counts them from `first`, where they are not a list of mappings."""
    given: Any = samples
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        one = "one sample; write [sample]" if isinstance(given, Mapping) else f"{given!r:.60}"
        raise WrongType(f"samples are a list of mappings, not {one}.")
    listed = []
    for at, each in enumerate(given, first):
        if type(each) is not dict and not isinstance(each, Mapping):  # most are, and this is quicker
            raise WrongType(f"sample {at} is not a mapping from the names of parts to the parts, but {each!r:.60}.")
        listed.append(each if isinstance(each, Sample) else Sample(each))
    return listed


_LONGEST_TIMEOUT = 10_000_000
"""Seconds: more than the timers of some systems take."""
_FEWEST = 8
"""Samples that are worth columns."""
_COLUMNS = (float, int, bool, str)


def _name_group(sample: Sample) -> Any:
    return _make_hashable(sample.get("group", sample.get("prompt")))


def _require_of_one(require: Callable[[Sample], None], samples: Sequence[Sample]) -> None:
    """Raise MissingField if not one of the samples has all parts that are needed: then no sample is to blame."""
    first: MissingField | None = None
    for sample in samples:
        try:
            require(sample)
        except MissingField as error:
            first = first or error
        else:
            return
    if first is not None:
        raise first


def _require_counters(reward: Reward, row: Mapping[str, Any]) -> None:
    """Raise MissingField where nobody said the step that schedules follow."""
    for name in sorted(reward.program.counters - row.keys()):
        raise MissingField(
            f"schedules of reward {reward.name!r} follow {name!r}, and no step was given: TRL and verl's agent loop "
            f"hand over the trainer's. Elsewhere return it from a feature called {name!r}, or pass step= to "
            "Scoring.score."
        )


def _make_hashable(value: Any) -> Any:
    return value if isinstance(value, str | int) else spell_part(value)


def describe_error(error: Exception) -> str:
    """Return an error with its kind and its notes in one line."""
    try:
        said = str(error)
    except Exception:  # its message is made by code of a feature
        said = "(its message cannot be made)"
    return " ".join([f"{type(error).__name__}: {said}", *getattr(error, "__notes__", ())])


def _make_definition_error(first: Exception, samples: int) -> MissingField | UnknownInput:
    kind = MissingField if isinstance(first, MissingField) else UnknownInput
    return kind(
        f"{first}\nNone of {samples} samples has the right fields, so none is masked: have the features return the "
        "fields that the reward reads, and no others."
    )
