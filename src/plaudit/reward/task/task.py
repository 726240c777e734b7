"""A task: what is wanted of an agent and what can happen to it, said once for every version of a reward."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, TypedDict, Unpack, get_args

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.language.field import Field
from plaudit.reward.declared import Fact
from plaudit.reward.task.arguments import (
    make_condition,
    read_choices,
    read_ends,
    read_events,
    read_facts,
    read_fields,
    read_names,
    read_numbers,
    read_preferences,
    read_rates,
    read_row,
    validate_discount,
    validate_horizon,
    validate_plain,
    validate_title,
)
from plaudit.reward.task.preference import Preference, Row
from plaudit.reward.task.statements import Basis, Better, End, Event, Monotone, Rate, Role, Seen


class TaskChanges(TypedDict, total=False):
    """What another task may have otherwise: every argument of `Task`."""

    name: str
    version: str
    doc: str
    goal: Callable[..., Any] | None
    goal_ends: bool
    better: Mapping[str, Better]
    aim: Mapping[str, float]
    prefer: Iterable[Preference]
    ends: Mapping[str, Any]
    discount: float | None
    fields: Iterable[Field] | Mapping[str, Field]
    states: Iterable[str]
    actions: Iterable[str]
    events: Iterable[str] | Mapping[str, Event | int | None]
    idle: Mapping[str, Any] | None
    start: Mapping[str, Any]
    horizon: int | None
    rates: Mapping[str, Rate | str | tuple[str, float]]
    max_change: Mapping[str, float]
    monotone: Mapping[str, Monotone]
    still: Iterable[str]
    facts: Iterable[Fact]
    seen: Mapping[str, Seen]
    source: str


class Task:
    """What is wanted and what can happen, beside a reward, which says what is paid.

    Checks, probes and audits use it; scoring does not. A task never changes: `evolve` returns another one.

    >>> def landed(height, speed):
    ...     return height <= 0 and speed < 1
    >>> task = Task("landing", goal=landed, better={"fuel": "high"}, states=["height", "speed"], horizon=500)
    >>> task.better["fuel"], task.find_basis("better", "fuel"), task.find_basis("discount")
    ('high', 'declared', 'default')
    """

    def __init__(
        self,
        name: str = "task",
        *,
        version: str = "1",
        doc: str = "",
        goal: Callable[..., Any] | None = None,
        goal_ends: bool = True,
        better: Mapping[str, Better] | None = None,
        aim: Mapping[str, float] | None = None,
        prefer: Iterable[Preference] = (),
        ends: Mapping[str, Any] | None = None,
        discount: float | None = None,
        fields: Iterable[Field] | Mapping[str, Field] = (),
        states: Iterable[str] = (),
        actions: Iterable[str] = (),
        events: Iterable[str] | Mapping[str, Event | int | None] = (),
        idle: Mapping[str, Any] | None = None,
        start: Mapping[str, Any] | None = None,
        horizon: int | None = None,
        rates: Mapping[str, Rate | str | tuple[str, float]] | None = None,
        max_change: Mapping[str, float] | None = None,
        monotone: Mapping[str, Monotone] | None = None,
        still: Iterable[str] = (),
        facts: Iterable[Fact] = (),
        seen: Mapping[str, Seen] | None = None,
        source: str = "",
        **unknown: NoReturn,
    ) -> None:
        """Validate what is said; whether it fits a reward is said where the two meet.

        Args:
            name: What the task is called in reports and records.
            version: A label that people change when they change the task.
            doc: A sentence on what it is about.
            goal: A plain function in the language of terms that returns a bool: whether the task is done in this step.
            goal_ends: Whether the episode ends where the goal is reached.
            better: For each field, whether `"low"` or `"high"` is wanted, all else equal; `"low"` of a flag is False.
            aim: For each field the number that is wanted, all else equal: the closer to it the better.
            prefer: What `prefer(...)` made: what must earn more than what.
            ends: How episodes end, and whether that is `"good"`, `"bad"` or `"time"`: by the names of flags, or with
                a function that is true of such a step, `{"fallen": ("bad", too_low)}`.
            discount: The discount factor, above 0 and at most 1.
            fields: Fields that the reward does not declare, such as one that only the goal reads; of one that it
                declares without a range, the range.
            states: Fields that persist from step to step.
            actions: Fields that the agent chooses.
            events: Fields that happen in single steps; with how often, as an `Event` or the most times in an episode.
            idle: What an agent that does nothing meets in a step, by the names of inputs.
            start: What an episode begins with: a value for each field, or `(low, high)`.
            horizon: The most steps of an episode.
            rates: For each field the one that says how fast it changes, `{"x": "vx"}`, or `("vx", dt)`.
            max_change: For each field the largest change in one step.
            monotone: For each field whether it only goes `"up"` or `"down"` during an episode.
            still: Fields that doing nothing keeps as they are.
            facts: What `@fact` made: what is true of every step that can happen.
            seen: Which statements were only seen, and how often: `{"rates.x": Seen(9975, 9975)}`.
            source: Where they were seen, such as the id of an environment.
            unknown: Nothing; a TypeError names the argument that may be meant.

        Raises:
            DefinitionError: Something that is said cannot be, or contradicts another statement.
        """
        for keyword in unknown:
            near = did_you_mean(keyword, TaskChanges.__annotations__)
            raise TypeError(f"Task() got an unexpected keyword argument {keyword!r}.{near}")
        self.name = validate_title("name", name)
        self.version = validate_title("version", version)
        what = f"task {name!r}"
        validate_plain(what, doc=doc, source=source, goal_ends=goal_ends)
        self.doc, self.source, self.goal_ends = doc, source, goal_ends
        self.goal = make_condition(what, "goal", goal)
        if goal is None and not goal_ends:
            raise DefinitionError(f"{what}: goal_ends=False is said of a goal, and there is none; give goal=")
        self.better = read_choices(what, "better", better, get_args(Better))
        self.aim = read_numbers(what, "aim", aim)
        self.prefer = read_preferences(what, prefer)
        self.ends = read_ends(what, ends)
        self.discount = None if discount is None else validate_discount(what, discount)
        self.fields = read_fields(what, fields)
        self.states, self.actions = read_names(what, "states", states), read_names(what, "actions", actions)
        self.events = read_events(what, events)
        self.idle: Row = read_row(what, "idle", idle)
        self.start: Row = read_row(what, "start", start)
        self.horizon = None if horizon is None else validate_horizon(what, horizon)
        self.rates = read_rates(what, rates)
        self.max_change = read_numbers(what, "max_change", max_change, above=0.0)
        self.monotone = read_choices(what, "monotone", monotone, get_args(Monotone))
        self.still = read_names(what, "still", still)
        self.facts = read_facts(what, facts)
        for field in self.better.keys() & self.aim.keys():
            raise DefinitionError(f"{what}: better= and aim= both speak of {field!r}; give one of them")
        _validate_roles(what, self)
        self.seen = _read_seen(what, seen, self)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said."""
        return not any(self.list_statements())

    def list_statements(self) -> list[tuple[str, str, Any]]:
        """Return everything that is said: the parameter of `Task`, whom it is about, and what."""
        found: list[tuple[str, str, Any]] = []
        for part in _SINGLE:
            if (value := getattr(self, part)) is not None:
                found.append((part, "", value))
        for part in _BY_NAME:
            found += [(part, name, value) for name, value in getattr(self, part).items()]
        for part in _LISTED:
            found += [(part, name, True) for name in getattr(self, part)]
        found += [("facts", each.name, each) for each in self.facts]
        found += [("prefer", str(at), each) for at, each in enumerate(self.prefer)]
        return found

    def find_basis(self, part: str, name: str = "") -> Basis:
        """Return where a statement comes from: `find_basis("rates", "x")`, `find_basis("horizon")`."""
        if _name_key(part, name) in self.seen:
            return "seen"
        return "declared" if (part, name) in self._said else "default"

    @cached_property
    def _said(self) -> frozenset[tuple[str, str]]:
        """What is said of whom, and the parts that say anything."""
        said = [(part, name) for part, name, _ in self.list_statements()]
        return frozenset([*said, *((part, "") for part, _ in said)])

    def find_role(self, field: str) -> Role | None:
        """Return what a field is declared to be, if anything is."""
        for role, names in (("state", self.states), ("action", self.actions), ("event", self.events)):
            if field in names:
                return role  # type: ignore[return-value]  # mypy takes the names for any strings
        return None

    def drop_seen(self) -> "Task":
        """Return this task with only what a person declared."""
        if not self.seen:
            return self
        kept = [said for said in self.list_statements() if _name_key(*said[:2]) not in self.seen]
        ends = self.goal_ends or "goal" in self.seen
        return Task(self.name, version=self.version, doc=self.doc, goal_ends=ends, **_collect_arguments(kept))

    def evolve(self, **changes: Unpack[TaskChanges]) -> "Task":
        """Return another task: any argument of `Task` may change, and the others stay.

        What was seen and stays as it is counts as seen; what a person changes is declared.

        >>> Task(horizon=500, seen={"horizon": Seen(3, 3, "episodes")}).evolve(horizon=200).find_basis("horizon")
        'declared'
        """
        for keyword in changes:
            if keyword not in TaskChanges.__annotations__:
                near = did_you_mean(keyword, TaskChanges.__annotations__)
                raise TypeError(f"evolve() got an unexpected keyword argument {keyword!r}.{near}")
        arguments: dict[str, Any] = {part: getattr(self, part) for part in TaskChanges.__annotations__}
        if "goal" in changes and changes["goal"] is None:
            arguments["goal_ends"] = True
        made = Task(**{**arguments, **changes, "seen": changes.get("seen", {})})
        if "seen" not in changes:
            before = {(part, name): value for part, name, value in self.list_statements()}
            same = [(p, name) for p, name, value in made.list_statements() if _is_same(before.get((p, name)), value)]
            keys = [_name_key(part, name) for part, name in same]
            made.__dict__["seen"] = MappingProxyType({key: self.seen[key] for key in keys if key in self.seen})
        return made

    def merge(self, other: "Task") -> "Task":
        """Return this task with whatever only `other` says; what this one has only seen gives way to a declaration.

        `declared.merge(observed)` adds what was seen to what is declared, and so does `observed.merge(declared)`.

        >>> Task(horizon=500).merge(Task(horizon=200, discount=0.9)).discount
        0.9
        """
        ours = {_name_key(part, name): (part, name, value) for part, name, value in self.list_statements()}
        theirs = {_name_key(part, name): (part, name, value) for part, name, value in other.list_statements()}
        firm = {key for key in theirs if key not in other.seen}
        kept = {key: said for key, said in ours.items() if not (key in self.seen and _list_rivals(key) & firm)}
        rivals = {rival for key in kept if not key.startswith("prefer.") for rival in _list_rivals(key)}
        added = {
            key: said
            for key, said in theirs.items()
            if (said[2] not in self.prefer if said[0] == "prefer" else key not in rivals)
        }
        arguments = _collect_arguments([*kept.values(), *added.values()])
        seen = {key: self.seen[key] for key in kept if key in self.seen}
        seen |= {key: other.seen[key] for key in added if key in other.seen}
        titles: dict[str, Any] = {"version": self.version, "doc": self.doc, "source": self.source or other.source}
        ends = other.goal_ends if "goal" in added else self.goal_ends
        return Task(self.name, **titles, **arguments, goal_ends=ends, seen=seen)

    def __setattr__(self, name: str, value: object) -> None:
        if "seen" in self.__dict__:  # which is set last
            raise AttributeError(f"a task never changes; another one with another {name!r} is made by evolve")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a task never changes; {name!r} stays")

    def __repr__(self) -> str:
        said: dict[str, int] = {}
        for part, _, _ in self.list_statements():
            said[part] = said.get(part, 0) + 1
        parts = [part if part in _SINGLE else f"{part} {count}" for part, count in said.items()]
        return f"Task({self.name}@{self.version}: {', '.join(parts) or 'nothing said'})"

    def _repr_html_(self) -> str:
        from plaudit.reward.describe import build_task_html  # which itself reads tasks

        return build_task_html(self)

    def __eq__(self, other: object) -> bool:
        from plaudit.reward.task.file import describe_canonically

        if not isinstance(other, Task):
            return False
        return self is other or describe_canonically(self) == describe_canonically(other)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __copy__(self) -> "Task":
        return self

    def __deepcopy__(self, memo: object) -> "Task":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Task.from_json, (self.to_json(),)

    @cached_property
    def fingerprint(self) -> str:
        """The identity of what is said and whether it was only seen; names, sentences and counts do not change it."""
        from plaudit.reward.task import file as task_file

        return task_file.compute_fingerprint(self)

    @cached_property
    def _stands_alone(self) -> bool:
        """Whether each of its functions can be written as text without a reward that reads it."""
        try:
            return bool(self.to_dict())
        except DefinitionError:
            return False

    def to_dict(self) -> dict[str, Any]:
        """Return the task as plain data."""
        from plaudit.reward.task import file as task_file

        return task_file.to_dict(self)

    def to_json(self, *, questions: Mapping[str, Any] | None = None) -> str:
        """Return the task as JSON for people: a statement a line, with where it comes from.

        Args:
            questions: What nobody has said, by part, for whoever fills it in; reading the file passes over it.
        """
        from plaudit.reward.task import file as task_file

        return task_file.to_json(self, questions)

    def save(self, path: str | Path) -> None:
        """Write the task into a file, whole or not at all.

        Raises:
            FileError: The file cannot be written.
        """
        from plaudit.reward.task import file as task_file

        task_file.save(self, path)

    @classmethod
    def observe(
        cls,
        env: Any,
        features: Callable[..., Mapping[str, Any]] | None = None,
        *,
        steps: int = 10_000,
        seed: int = 0,
        max_steps: int = 1000,
        idle: Any = None,
        make: Mapping[str, Any] | None = None,
        name: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> "Task":
        """Play an environment, and return the task of what was seen: `plaudit.analysis.observe`, which says more."""
        observed = import_module("plaudit.analysis").observe(  # which builds on this module
            env,
            features,
            steps=steps,
            seed=seed,
            max_steps=max_steps,
            idle=idle,
            make=make,
            name=name,
            progress=progress,
        )
        found: Task = observed.task
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Task":
        """Return the task that `to_dict` wrote; no code is run.

        Raises:
            SpecError: The data is not a task; the message says what is wrong.
        """
        from plaudit.reward.task import file as task_file

        return task_file.from_dict(data)

    @classmethod
    def from_json(cls, text: str) -> "Task":
        """Return the task that `to_json` wrote, perhaps edited since; no code is run.

        Raises:
            SpecError: The text is not a task; the message says what is wrong.
        """
        from plaudit.reward.task import file as task_file

        return task_file.from_json(text)

    @classmethod
    def load(cls, path: str | Path) -> "Task":
        """Return the task in a file of JSON; no code is run.

        Raises:
            FileError: The file cannot be read.
            SpecError: It does not hold a task; the message says what is wrong.
        """
        from plaudit.reward.task import file as task_file

        return task_file.load(path)


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two statements are the same; functions are if they are one object."""
    if isinstance(one, Fact) or isinstance(other, Fact):
        return one is other
    if isinstance(one, End) and isinstance(other, End):
        return one.sign == other.sign and one.when is other.when
    return bool(one == other)


def _name_key(part: str, name: str) -> str:
    return f"{part}.{name}" if name else part


def _collect_arguments(statements: Iterable[tuple[str, str, Any]]) -> dict[str, Any]:
    """Return the arguments of the task that says these statements, each as `list_statements` gives it."""
    arguments: dict[str, Any] = {part: {} for part in _BY_NAME}
    arguments |= {part: [] for part in (*_LISTED, "facts", "prefer")}
    for part, name, value in statements:
        if part in _SINGLE:
            arguments[part] = value
        elif part in _BY_NAME:
            arguments[part][name] = value
        else:
            arguments[part].append(name if part in _LISTED else value)
    return arguments


def _list_rivals(key: str) -> set[str]:
    """Return the statements that cannot stand beside one: of a field there is one role, and a wish is of one kind."""
    part, _, name = key.partition(".")
    for group in (("states", "actions", "events"), ("better", "aim")):
        if part in group:
            return {f"{each}.{name}" for each in group}
    return {key}


_SINGLE = ("goal", "discount", "horizon")
_BY_NAME = ("better", "aim", "ends", "fields", "events", "idle", "start", "rates", "max_change", "monotone")
_LISTED = ("states", "actions", "still")


def _validate_roles(what: str, task: Task) -> None:
    seen: dict[str, str] = {}
    for role, names in (("states", task.states), ("actions", task.actions), ("events", task.events)):
        for name in names:
            if name in seen:
                raise DefinitionError(f"{what}: {name!r} is among its {seen[name]} and its {role}; it is one of them")
            seen[name] = role


def _read_seen(what: str, given: Mapping[str, Seen] | None, task: Task) -> Mapping[str, Seen]:
    if not isinstance(given, Mapping | None):
        raise DefinitionError(f"{what}: seen= maps statements to Seen(count, of), not {given!r:.60}")
    known = {_name_key(part, name) for part, name, _ in task.list_statements()}
    for key, each in (given or {}).items():
        if key not in known:
            near = did_you_mean(str(key), known)
            raise DefinitionError(f"{what}: seen= speaks of {key!r:.60}, and the task says nothing of that name.{near}")
        if not isinstance(each, Seen):
            raise DefinitionError(f"{what}: seen={{{key!r}: {each!r:.60}}} is not a Seen(count, of)")
    signed = {f"ends.{name}" for name, end in task.ends.items() if end.sign in ("good", "bad")}  # which nobody can see
    return MappingProxyType({key: each for key, each in (given or {}).items() if key not in signed})
