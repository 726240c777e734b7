"""A task: what an agent should do and what can happen, declared once for every version of a reward."""

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
    """What an agent should do and what can happen, declared beside the reward, once for all its versions.

    Checks, probes and audits use it; scoring does not. A task is immutable: `evolve` returns a changed copy.

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
        """Declare a task. Whether it fits a reward is checked when the two are combined.

        Args:
            name: The name of the task in reports and records.
            version: The version label; change it when you change the task.
            doc: A sentence that describes the task.
            goal: A plain function in the language of terms that returns True for a step in which the task is done.
            goal_ends: Whether reaching the goal ends the episode.
            better: For each field, whether `"low"` or `"high"` is better, all else equal; for a flag, `"low"` is False.
            aim: For each field, the best number, all else equal: the closer the better.
            prefer: Preferences made by `prefer(...)`: what must earn more than what.
            ends: How episodes end, `"good"`, `"bad"` or `"time"`, by the name of a flag, or with a function that
                returns True for such a step: `{"fallen": ("bad", too_low)}`.
            discount: The discount factor, above 0 and at most 1.
            fields: Fields that the reward does not declare, such as one that only the goal reads; for fields that it
                declares without a range, the range.
            states: Fields that persist from step to step.
            actions: Fields that the agent chooses.
            events: Fields that happen in single steps; as a mapping, with an `Event` or the maximum number per episode.
            idle: The inputs of a step in which the agent does nothing.
            start: The first step of an episode: for each field a value, or `(low, high)`.
            horizon: The maximum number of steps in an episode.
            rates: For each field, the field that is its rate of change: `{"x": "vx"}`, or `("vx", dt)`.
            max_change: For each field, the largest change in one step.
            monotone: For each field, whether it only goes `"up"` or `"down"` during an episode.
            still: Fields that do not change when the agent does nothing.
            facts: Facts made by `@fact`: conditions that are true of every possible step.
            seen: Which statements were only observed, and how often: `{"rates.x": Seen(9975, 9975)}`.
            source: Where they were observed, such as the id of an environment.
            unknown: Not used; any other argument is a TypeError that suggests a name.

        Raises:
            DefinitionError: A statement is invalid, or contradicts another one.
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
            raise DefinitionError(f"{what}: goal_ends=False needs a goal; give goal=")
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
            raise DefinitionError(f"{what}: better= and aim= both name {field!r}; give one of them")
        _validate_roles(what, self)
        self.seen = _read_seen(what, seen, self)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said."""
        return not any(self.list_statements())

    def list_statements(self) -> list[tuple[str, str, Any]]:
        """List all statements of the task.

        Returns:
            For each statement: the parameter of `Task`, the name it is about, and the value.
        """
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
        """Find out where a statement comes from: `find_basis("rates", "x")`, `find_basis("horizon")`.

        Args:
            part: A parameter of `Task`.
            name: The name it is about, for a parameter with names.

        Returns:
            "declared", "seen" (observed only), or "default" (not stated).
        """
        if _name_key(part, name) in self.seen:
            return "seen"
        return "declared" if (part, name) in self._said else "default"

    @cached_property
    def _said(self) -> frozenset[tuple[str, str]]:
        """The statements by part and name, and the parts that have any."""
        said = [(part, name) for part, name, _ in self.list_statements()]
        return frozenset([*said, *((part, "") for part, _ in said)])

    def find_role(self, field: str) -> Role | None:
        """Find the declared role of a field.

        Args:
            field: The name of the field.

        Returns:
            "state", "action" or "event"; None if the task does not declare one.
        """
        for role, names in (("state", self.states), ("action", self.actions), ("event", self.events)):
            if field in names:
                return role  # type: ignore[return-value]  # mypy takes the names for any strings
        return None

    def drop_seen(self) -> "Task":
        """Keep only the statements that a person declared.

        Returns:
            The task without statements that were only observed.
        """
        if not self.seen:
            return self
        kept = [said for said in self.list_statements() if _name_key(*said[:2]) not in self.seen]
        ends = self.goal_ends or "goal" in self.seen
        return Task(self.name, version=self.version, doc=self.doc, goal_ends=ends, **_collect_arguments(kept))

    def evolve(self, **changes: Unpack[TaskChanges]) -> "Task":
        """Change any argument of `Task`; the others stay.

        An observed statement that stays the same is still observed. A statement that you change is declared.

        Args:
            changes: The arguments of `Task` to change.

        Returns:
            The changed task.

        Raises:
            TypeError: `Task` has no such argument.

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
        """Add the statements that only `other` has. A declared statement replaces one that was only observed.

        Both `declared.merge(observed)` and `observed.merge(declared)` add the observed statements to the declared ones.

        Args:
            other: The other task.

        Returns:
            The merged task.

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
            raise AttributeError(f"a task is immutable; make one with another {name!r} with evolve")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a task is immutable; {name!r} cannot be deleted")

    def __repr__(self) -> str:
        said: dict[str, int] = {}
        for part, _, _ in self.list_statements():
            said[part] = said.get(part, 0) + 1
        parts = [part if part in _SINGLE else f"{part} {count}" for part, count in said.items()]
        return f"Task({self.name}@{self.version}: {', '.join(parts) or 'empty'})"

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
        """Return the task as plain data.

        Returns:
            The data.
        """
        from plaudit.reward.task import file as task_file

        return task_file.to_dict(self)

    def to_json(self, *, questions: Mapping[str, Any] | None = None) -> str:
        """Return the task as readable JSON: one statement per line, with its source.

        Args:
            questions: Open questions by part, for people who fill in the file; `from_json` ignores them.

        Returns:
            The text.
        """
        from plaudit.reward.task import file as task_file

        return task_file.to_json(self, questions)

    def save(self, path: str | Path) -> None:
        """Write the task to a JSON file, whole or not at all.

        Args:
            path: The file.

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
        """Play an environment and return the task that was observed; `plaudit.analysis.observe` returns more.

        Args:
            env: An environment, a function that makes one, or an environment id: "CartPole-v1".
            features: A function of (obs, action, next_obs, info), and optionally `env`, to fields by name. If omitted,
                fields are the entries of the observation, numbers and bools of `info`, and the action.
            steps: Number of steps to play, over all policies.
            seed: Random seed of the environment and the policies.
            max_steps: Time limit of an episode if the environment sets none.
            idle: The action that does nothing.
            make: Options for making the environment: {"gravity": 5}.
            name: Name of the task. If omitted, that of the environment.
            progress: Called with the number of steps played and their total.

        Returns:
            The task.
        """
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
        """Load a task from the data that `to_dict` returned; this runs no code.

        Args:
            data: The data.

        Returns:
            The task.

        Raises:
            SpecError: The data is not a task; the message says why.
        """
        from plaudit.reward.task import file as task_file

        return task_file.from_dict(data)

    @classmethod
    def from_json(cls, text: str) -> "Task":
        """Load a task from the text that `to_json` returned, possibly edited; this runs no code.

        Args:
            text: The JSON.

        Returns:
            The task.

        Raises:
            SpecError: The text is not a task; the message says why.
        """
        from plaudit.reward.task import file as task_file

        return task_file.from_json(text)

    @classmethod
    def load(cls, path: str | Path) -> "Task":
        """Load a task from a JSON file; this runs no code.

        Args:
            path: The file.

        Returns:
            The task.

        Raises:
            FileError: The file cannot be read.
            SpecError: The file does not hold a task; the message says why.
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
    """Return the statements that cannot stand beside one: a field has one role, and one kind of preference."""
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
                raise DefinitionError(
                    f"{what}: {name!r} is in both its {seen[name]} and its {role}; it can only be in one"
                )
            seen[name] = role


def _read_seen(what: str, given: Mapping[str, Seen] | None, task: Task) -> Mapping[str, Seen]:
    if not isinstance(given, Mapping | None):
        raise DefinitionError(f"{what}: seen= must map statements to Seen(count, of), not {given!r:.60}")
    known = {_name_key(part, name) for part, name, _ in task.list_statements()}
    for key, each in (given or {}).items():
        if key not in known:
            near = did_you_mean(str(key), known)
            raise DefinitionError(f"{what}: seen= names {key!r:.60}, and the task has no statement of that name.{near}")
        if not isinstance(each, Seen):
            raise DefinitionError(f"{what}: seen={{{key!r}: {each!r:.60}}} is not a Seen(count, of)")
    signed = {f"ends.{name}" for name, end in task.ends.items() if end.sign in ("good", "bad")}  # never observed
    return MappingProxyType({key: each for key, each in (given or {}).items() if key not in signed})
