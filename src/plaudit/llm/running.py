"""Running features over a batch of samples: each once a sample, async ones side by side, failures kept by sample."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from plaudit.errors import Abstained, MissingField, ShapeMismatch, WrongType
from plaudit.llm.deadline import Deadline
from plaudit.llm.feature import Answer, Feature, FeatureSet
from plaudit.llm.sample import Sample
from plaudit.llm.waiting import Calls, LeavingExecutor, StuckThreads, replace_stop

Result = TypeVar("Result")
Known = Mapping[str, Mapping[int, Any]]
"""Results that are known already, by feature and by sample."""
_Call = tuple[int, tuple[Any, ...], dict[str, Any]]
"""A sample, and the arguments of a feature by position and by name."""
Gather = Callable[[list[Any]], tuple[list[Any], int]]
"""From the entries of this process to those of all processes, and the place of the first of its own."""


@dataclass(slots=True)
class Results:
    """What features found in a batch."""

    samples: Sequence[Sample]
    group_of: Sequence[Any]
    """What tells completions of one prompt from others, by sample."""
    values: dict[str, list[Any]] = field(default_factory=dict)
    """By feature, a result for each sample; None where there is none."""
    errors: dict[int, Exception] = field(default_factory=dict)
    """Why samples have no result, by sample: the first error of each."""
    failed: dict[int, set[str]] = field(default_factory=dict)
    """Which features have no result, by sample."""
    answers: dict[int, dict[str, str]] = field(default_factory=dict)
    """The words of judges, by sample and feature."""
    outside: set[int] = field(default_factory=set)
    """The samples that the reward is not about."""
    _columns: dict[str, list[Any]] = field(default_factory=dict)

    def list_column(self, name: str, own: str) -> list[Any]:
        """Return a part, or what another feature than `own` found, of every sample; KeyError where one has none."""
        if name in self.values and name != own:
            return self.values[name]
        if name not in self._columns:
            self._columns[name] = [sample[name] for sample in self.samples]
        return self._columns[name]


@dataclass(frozen=True, slots=True)
class Runner:
    """Features and how they are run."""

    features: FeatureSet
    concurrency: int = 64
    timeout: float | None = None
    stops: bool = True
    """Whether the first error is raised, instead of kept for its sample."""
    goes_on: bool = False
    """Whether other features of a sample are run where one has failed."""
    gather: Gather | None = None
    """Where completions of one prompt may be in other processes, what brings them together."""
    has_loop: bool = False
    """Whether the event loop is its own, so that what keeps the loop may be interrupted."""
    stuck: StuckThreads = field(default_factory=StuckThreads)

    @property
    def needs_loop(self) -> bool:
        """Whether features are awaited, or judges asked side by side."""
        return any(each.is_async or _is_blocking(each) for each in self.features.ordered)

    def run(self, results: Results, known: Known | None = None) -> Results:
        """Fill in the results of every feature."""
        work = replace(self, has_loop=True).run_async(results, known or {})
        if not self.needs_loop:
            return _finish(work)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(work)
        return _run_in_thread(work)

    async def run_async(self, results: Results, known: Known | None = None) -> Results:
        """Fill in the results of every feature, inside a running event loop."""
        if self.has_loop and self.needs_loop:
            asyncio.get_running_loop().set_default_executor(LeavingExecutor())
        for level in self.features.levels:
            for each in level:
                results.values[each.name] = [None] * len(results.samples)
                for at, value in (known or {}).get(each.name, {}).items():
                    results.values[each.name][at] = value
            waiting: list[tuple[Feature, int, dict[str, Any]]] = []
            for each in level:
                if each.scope == "sample":
                    done = (known or {}).get(each.name, {})
                    todo = [at for at in self._choose(each, results, range(len(results.samples))) if at not in done]
                    if each.is_async or _is_blocking(each):
                        waiting += [(each, at, arguments) for at, arguments in self._collect(each, results, todo)]
                    else:
                        self._run_plain(each, results, todo)
            if waiting:
                await self._gather(results, waiting)
            for each in level:
                if each.scope != "sample":
                    await self._run_together(each, results, (known or {}).get(each.name, {}))
        return results

    def _choose(self, each: Feature, results: Results, members: Sequence[int]) -> list[int]:
        """Return the samples that a feature is called for; those of which it reads what failed have no result."""
        if not results.errors:
            return list(members)
        chosen = []
        for at in members:
            failed = results.failed.get(at, set())
            if at not in results.errors or (self.goes_on and failed and failed.isdisjoint(each.reads)):
                chosen.append(at)
            elif failed:
                failed.add(each.name)
        return chosen

    def _collect(self, each: Feature, results: Results, which: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the arguments of a feature for each sample; one without a part, or that cannot be read, fails."""
        computed = [name for name in each.reads if name in results.values and name != each.name]
        rest = [name for name in each.reads if name not in computed]
        for at in which:
            sample = results.samples[at]
            try:
                each.require(sample, computed)
                found = {name: sample[name] for name in rest if name in sample}
            except (MissingField, WrongType) as error:
                self._fail(each, results, at, error)
                continue
            for name in computed:
                found[name] = results.values[name][at]
            yield at, each.take_rest(sample) | found | each.changed

    def _run_plain(self, each: Feature, results: Results, which: Sequence[int]) -> None:
        column, function = results.values[each.name], each.function
        with Deadline(self.timeout) as deadline:
            call = deadline.call
            for at, row, named in self._list_calls(each, results, which):
                try:
                    found = call(function, row, named)
                    column[at] = found if type(found) in _PLAIN else self._take(each, results, at, found)
                except Exception as error:
                    self._fail(each, results, at, error)

    def _list_calls(self, each: Feature, results: Results, which: Sequence[int]) -> Iterator[_Call]:
        """Yield the samples with the arguments of a feature: by columns, where every sample has every part."""
        columns: list[list[Any]] | None = None
        if len(which) == len(results.samples) and not each.takes_everything and each.reads == each.needs:
            with suppress(KeyError, WrongType):
                columns = [results.list_column(name, own=each.name) for name in each.reads]
        if columns is None:
            yield from ((at, (), arguments) for at, arguments in self._collect(each, results, which))
        else:
            rows = zip(*columns, strict=True) if columns else [()] * len(which)
            yield from ((at, row, each.changed) for at, row in enumerate(rows))

    async def _gather(self, results: Results, waiting: Sequence[tuple[Feature, int, dict[str, Any]]]) -> None:
        """Call features side by side: async ones in this loop, blocking ones in threads."""
        left = iter(waiting)

        async def call_next(calls: Calls) -> None:
            for each, at, arguments in left:
                try:
                    if each.is_async:
                        found = await calls.wait_for(each.function(**arguments))
                    else:
                        found = await calls.run_in_thread(partial(each.function, **arguments))
                    results.values[each.name][at] = self._take(each, results, at, found)
                except Exception as error:
                    self._fail(each, results, at, error)

        with self._watch_loop(self.timeout) as calls:
            tasks = [asyncio.ensure_future(call_next(calls)) for _ in range(min(self.concurrency, len(waiting)))]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    @contextmanager
    def _watch_loop(self, seconds: float | None) -> Iterator[Calls]:
        """Yield what waits for calls; in a loop of its own, steps that keep the loop too long are interrupted."""
        with Deadline(seconds if self.has_loop else None) as deadline:
            yield Calls(seconds, deadline, self.stuck, self.concurrency)

    async def _run_together(self, each: Feature, results: Results, known: Mapping[int, Any]) -> None:
        """Call a feature once for a batch or once for each group, with lists of those that have not failed."""
        count = len(results.samples)
        members = [*range(count)] if each.scope == "batch" else results.group_of
        arguments = dict(self._collect(each, results, self._choose(each, results, range(count))))
        listed: list[Any] = [(members[at] if each.scope == "group" else 0, arguments.get(at)) for at in range(count)]
        first = 0
        if each.scope == "group" and self.gather is not None:
            listed, first = self.gather(listed)
        groups: dict[Any, list[int]] = {}
        for place, (group, found) in enumerate(listed):
            if found is not None:
                groups.setdefault(group, []).append(place)
        for places in groups.values():
            own = [(place, place - first) for place in places if 0 <= place - first < count]
            if not own or all(at in known for _, at in own):
                continue
            try:
                found = dict(
                    zip(places, await self._call_together(each, [listed[at][1] for at in places]), strict=True)
                )
            except Exception as error:
                failed = replace_stop(error)
                failed.add_note(f"in feature {each.name!r} of the {each.scope} of sample {own[0][1]}")
                for _, at in own:
                    self._fail(each, results, at, failed, noted=True)
                continue
            for place, at in own:
                try:
                    results.values[each.name][at] = self._take(each, results, at, found[place])
                except WrongType as error:
                    self._fail(each, results, at, error)

    async def _call_together(self, each: Feature, listed: Sequence[dict[str, Any]]) -> Sequence[Any]:
        """Call a feature with a list for each of its parameters; a part that some lack has its default there."""
        names = dict.fromkeys(name for arguments in listed for name in arguments if name not in each.changed)
        columns: dict[str, Any] = {}
        for name in names:
            default = each.get_default(name)
            columns[name] = [arguments.get(name, default) for arguments in listed]
        columns |= each.changed
        limit = None if self.timeout is None else self.timeout * len(listed)
        if each.is_async:
            with self._watch_loop(limit) as calls:
                found = await calls.wait_for(each.function(**columns))
        else:
            with Deadline(limit) as deadline:
                found = deadline.call(each.function, (), columns)
        return _check_list(each, found, len(listed))

    def _take(self, each: Feature, results: Results, at: int, found: Any) -> Any:
        """Return what a feature found, after keeping the words it was found in."""
        if isinstance(found, Answer):
            results.answers.setdefault(at, {})[each.name] = found.text
            found = found.value
        if found is None:
            raise WrongType(f"feature {each.name!r} returned None; to give no reward, raise Abstained('why').")
        return found

    def _fail(self, each: Feature, results: Results, at: int, error: Exception, *, noted: bool = False) -> None:
        error = replace_stop(error)
        if at not in results.errors:
            if not noted:
                error.add_note(f"in feature {each.name!r} of sample {at}")
            results.errors[at] = error
        results.failed.setdefault(at, set()).add(each.name)
        if self.stops and not isinstance(error, Abstained):
            raise error


_PLAIN = frozenset({float, int, bool, str, dict})


def _is_blocking(each: Feature) -> bool:
    """Return whether a plain function waits for somebody else, so that many are asked at once."""
    return each.judge and not each.is_async and each.scope == "sample"


def _check_list(each: Feature, found: Any, count: int) -> Sequence[Any]:
    """Return the results of a batch or a group; ShapeMismatch if there is not one for each sample."""
    if hasattr(found, "tolist"):
        found = found.tolist()
    if isinstance(found, set | frozenset):
        raise WrongType(
            f"feature {each.name!r} returned a set, whose order is random; return a list, as sorted() does."
        )
    if isinstance(found, str | bytes | Mapping) or not hasattr(found, "__len__"):
        raise WrongType(f"feature {each.name!r} must return a list with one result for each sample, not {found!r:.60}")
    if len(found) != count:
        raise ShapeMismatch(f"feature {each.name!r} returned {len(found)} results for {count} samples.")
    return list(found)


def _finish(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a coroutine that awaits nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        found: Result = done.value
        return found
    raise RuntimeError("a feature awaited something outside an event loop")


def _run_in_thread(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in an event loop of its own, where one is running here already, as in a notebook."""
    found: list[Result] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            found.append(context.run(asyncio.run, work))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="plaudit-scoring", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return found[0]
