"""A reward: terms over fields, with weights and clamps, under one name and version."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Unpack, overload

from plaudit.errors import DefinitionError
from plaudit.language.field import Field
from plaudit.language.parameters import Number
from plaudit.language.program import Builder, Program
from plaudit.language.schedule import Schedule
from plaudit.language.writing.mathml import FormulaText, build_formula_text
from plaudit.language.writing.render import render_python
from plaudit.reward import spec_writer, variants
from plaudit.reward.advice import describe_unknown
from plaudit.reward.composition import Override
from plaudit.reward.declared import add_fact_guards
from plaudit.reward.definition import (
    PARTS,
    Definition,
    FieldIndex,
    define,
    settle_task,
    validate_definition,
    validate_task,
    validate_title,
)
from plaudit.reward.describe import build_reward_html, format_range
from plaudit.reward.episodes import EpisodeScores, score_episodes
from plaudit.reward.evolution import RewardChanges, drop_states, find_inherited, merge_changes
from plaudit.reward.from_functions import define_from_example
from plaudit.reward.lower import find_gradients
from plaudit.reward.python_writer import write_definition
from plaudit.reward.schedules import NumberInForce, find_counters, multiply_numbers
from plaudit.reward.signal import Frame, NarrowFrames, Signal
from plaudit.reward.state import State
from plaudit.reward.task.entries import fit_entries
from plaudit.reward.task.task import Task
from plaudit.reward.term import Term
from plaudit.targets import OnBad, compile_program
from plaudit.targets.compiled import About
from plaudit.targets.dtypes import Dtypes
from plaudit.targets.inputs import collect_columns, encode_category, list_slots
from plaudit.targets.python import PythonReward
from plaudit.targets.states import build_initial_state

if TYPE_CHECKING:
    from plaudit.targets.c import CReward
    from plaudit.targets.cuda import CudaReward
    from plaudit.targets.javascript import JavaScriptReward
    from plaudit.targets.jax import JaxReward
    from plaudit.targets.numba import NumbaReward
    from plaudit.targets.numpy import NumpyReward
    from plaudit.targets.polars import PolarsReward
    from plaudit.targets.sql.reward import SqlReward
    from plaudit.targets.torch import TorchReward

Guarding = bool | Literal["facts", "plain"]


class Reward(Definition):
    """A reward: named terms that add up to one number.

    `score` returns the `Signal` of one step. `compile` returns a function for batches and training code. A reward is
    immutable: `with_params`, `with_weights` and `with_file` return a changed copy, and `evolve` the next version.

    >>> from plaudit import term
    >>> @term
    ... def near(distance, *, reach=2.0):
    ...     return 1 if distance < reach else 0
    >>> reward = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0)])
    >>> reward.score(distance=1.5).total
    1.0
    >>> reward.with_params(near={"reach": 1.0}).score(distance=1.5).total
    0.0
    """

    def __init__(
        self,
        name: str,
        *,
        version: str,
        terms: Iterable[Term],
        fields: Iterable[Field | State] | Mapping[str, Field | State],
        task: Task | None = None,
        doc: str = "",
        action: str | None = None,
        shared: Mapping[str, Any] | None = None,
        low: Number | None = None,
        high: Number | None = None,
        scale: Number | str | None = None,
        gate: Callable[..., Any] | None = None,
        override: Iterable[tuple[Callable[..., Any], Number] | Override] = (),
        allow: Mapping[str, str] | None = None,
        **unknown: NoReturn,
    ) -> None:
        """Read the terms into one formula and check the definition.

        Args:
            name: The name of the reward in errors, records and reports.
            version: The version label; change it when you change the reward.
            terms: Terms made by `@term`. Their values add up to the total, in this order.
            fields: The inputs: `Field`s and `State`s, or the `fields` of another reward. A term, or the task, must use
                each.
            task: What the agent should do and what can happen, for checks, probes and audits. Scoring does not use it.
            doc: A sentence that describes the reward.
            action: The name of the field that holds the action, if any.
            shared: Values of what terms share: keyword-only parameters without a default, and parts of records that
                never change. Numbers, bools, and tuples and arrays of them are parameters; strings, mappings, objects
                and infinity are constants.
            low: Lower clamp of the total.
            high: Upper clamp of the total.
            scale: A factor of every value, such as the duration of a step: a number, or the name of a shared parameter.
            gate: A plain function in the language of terms that returns a number or a bool. It multiplies the sum of
                the terms, except those with `gated=False`.
            override: Pairs of a condition (a plain function that returns a bool) and the total when it holds. The first
                condition that holds decides.
            allow: Findings to accept: the code of each rule, with the reason.
            unknown: Not used; any other argument is a TypeError that suggests what to write.

        Raises:
            DefinitionError: The definition is invalid; the subclasses say how.
        """
        arguments = locals()  # what it is called with, by the names above
        for keyword in unknown:
            raise TypeError(describe_unknown(keyword, inspect.signature(Reward).parameters))
        define(self, arguments)

    @classmethod
    def from_functions(
        cls,
        functions: Mapping[Any, Number],
        *,
        example: Any,
        name: str = "reward",
        version: str = "1",
        batched: bool = False,
        observed: bool = False,
        fields: Iterable[Field | State] = (),
        **options: Any,
    ) -> "Reward":
        """Make a reward of functions and their weights; an example says what they read.

        A field that a function reads has the name, the shape and the kind that it has in the example, and the range of
        a Box. What nothing reads is left out.

        Args:
            functions: The weight of each function, or of each term.
            example: A row, `{"distance": 3.0}`, with mappings inside it as `robot_pos`; spaces of Gymnasium by name, or
                a Dict space; or a data frame of Polars, pandas or Arrow, whose strings are categories.
            name: The name of the reward in errors, records and reports.
            version: The version label.
            batched: Whether functions and the example are for a batch, with the rows along the first axis.
            observed: Whether ranges that no space declares are those of the rows of the example. They are noted in the
                task as seen: checks use them and say so; bounds and proofs do not rest on them, and scoring ignores
                them.
            fields: Fields and states that the example does not show, or not rightly: they take the place of its own.
            options: The other arguments of `Reward`.

        Returns:
            The reward.

        Raises:
            DefinitionError: The example is none, or has another shape than the functions need.
            UnknownField: A function reads what is not in the example.

        >>> def near(robot, reach=2.0):
        ...     return 1 if robot.distance < reach else 0
        >>> def effort(torque):
        ...     return sum(t ** 2 for t in torque)
        >>> reward = Reward.from_functions(
        ...     {near: 1.0, effort: -0.1}, example={"distance": 1.5, "torque": [0.5, 1.0], "time": 3}
        ... )
        >>> reward.score(distance=1.0, torque=[1.0, 2.0]).values
        {'near': 1.0, 'effort': -0.5}
        """
        for keyword in options.keys() - (RewardChanges.__annotations__.keys() - {"terms"}):
            raise TypeError(describe_unknown(keyword, inspect.signature(Reward).parameters))
        made = cls.__new__(cls)
        usual = {key: each.default for key, each in inspect.signature(cls).parameters.items()}
        given = {**usual, **options, "name": name, "version": version, "fields": fields}
        define_from_example(made, given, functions, example, batched=batched, observed=observed)
        return made._drop_unread()

    @classmethod
    def _build(cls, like: "Reward | None" = None, **parts: Any) -> "Reward":
        """Return a reward from parts that are already validated, those of `like` unless given."""
        built = cls.__new__(cls)
        vars(built).update({part: parts[part] if part in parts else getattr(like, part) for part in PARTS})
        declared = {name: built.states.get(name, field) for name, field in built.fields.items()}
        vars(built)["fields"] = FieldIndex(declared)
        validate_definition(built)
        return built

    @cached_property
    def fingerprint(self) -> str:
        """The identity of the formula: any number changes it; comments, local names and ranges do not."""
        return spec_writer.compute_fingerprint(self)

    @cached_property
    def domain_fingerprint(self) -> str:
        """The identity of what is declared about steps: ranges, units, stand-ins, the action, and the task."""
        return spec_writer.compute_domain_fingerprint(self)

    @cached_property
    def _states_fingerprint(self) -> str:
        """The identity of what is carried and how; rewards that share it can use each other's recorded states."""
        return spec_writer.compute_states_fingerprint(self)

    def gradients(self) -> dict[str, bool]:
        """Report which parameters have a gradient; thresholds have none.

        Returns:
            For each parameter, whether a gradient reaches the total.
        """
        return find_gradients(self.program)

    def formula(self) -> FormulaText:
        """Return the reward as Markdown with LaTeX, one formula per term; notebooks show it as mathematics.

        Returns:
            The text; its `mathml` holds MathML by term.
        """
        return build_formula_text(self.program, self._find_local_names())

    def source(self) -> str:
        """Return the formula as readable Python, one function per term; `to_python` returns the definition.

        Returns:
            The code. Local names are your own, unless the reward was loaded from a specification.
        """
        return render_python(self.program, self._find_local_names())

    def to_python(self) -> str:
        """Return the definition as a module of Python that makes this reward, to keep and to edit.

        Functions are imported from their modules, and must be defined at the top of one. Before it is returned, the
        text is run: what it makes has the fingerprints of this reward.

        Returns:
            The code. It calls the reward `reward`, and its task `task`.

        Raises:
            DefinitionError: A function or a value cannot be imported or written, or a module has changed since the
                reward was defined; the message names it.

        >>> from plaudit.systems.deepthinker import reward
        >>> print(reward.select_terms("score").with_weights(score=0.5).with_task(None).to_python())
        from plaudit import Field, Reward
        from plaudit.systems.deepthinker.reward_signal import score
        <BLANKLINE>
        reward = Reward(
            "deepthinker",
            version="1.0.0",
            terms=[score.with_(weight=0.5)],
            fields=[Field("score_delta", low=-1.0, high=1.0, outside="clip", doc="Change of the quality score.")],
            doc="What a phase gained in quality, less what it cost in tokens, alignment and time.",
            low=-1.0,
            high=1.0,
        )
        <BLANKLINE>
        """
        return write_definition(self)

    def _find_local_names(self) -> dict[str, Mapping[int, str]]:
        own = [function for function in self._functions if function.source is not None]
        return {each.name: self._read_function(Builder(self.program.nodes), each).names for each in own}

    def __repr__(self) -> str:
        names = ", ".join(term.name for term in self.terms)
        return f"Reward({self.name}@{self.version}: {names}; {self.fingerprint[:12]})"

    def _repr_html_(self) -> str:
        title, limits = f"{self.name}@{self.version}", format_range(self.low, self.high)
        told = (self.fingerprint, self.doc, self.terms, limits, self.fields, self.formula(), self.task)
        return build_reward_html(title, *told)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reward) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"a reward is immutable; make one with another {name!r} with evolve, with_params or with_weights"
        )

    def __copy__(self) -> "Reward":
        return self

    def __deepcopy__(self, memo: object) -> "Reward":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as data: another process gets the formula and needs none of the source."""
        return Reward.from_json, (self.to_json(),)

    @property
    def _identity(self) -> tuple[str, ...]:
        return self.name, self.version, self.fingerprint, self.domain_fingerprint

    def with_params(self, values: Mapping[str, Any] | None = None, /, **by_term: Any) -> "Reward":
        """Change knobs, clamps, weights, or numbers of the scale, gate and overrides.

        `with_params(comfort={"harsh": 5.0}, far=45.0)` changes them by term, `with_params({"comfort.harsh": 5.0})` by
        dotted name. A vector is given whole, `with_params(pose={"default": (0.1, 0.8, -1.5)})`, or by entry,
        `"pose.default[1]"`. A number can become a schedule, `with_params(comfort={"weight": linear(0, 1,
        over=100_000)})`, and a schedule a number; a number of a schedule is `"comfort.weight.end"`.

        Args:
            values: Numbers by dotted name, or a mapping for each term.
            by_term: A mapping for each term; numbers for shared parameters.

        Returns:
            The changed reward.

        Raises:
            UnknownParameter: The reward has no such parameter; the message suggests one.
            DefinitionError: The parameter cannot have this value.
        """
        made = Reward._build(self, **variants.change_params(self, {**(values or {}), **by_term}))
        return made._drop_unread() if self._schedules else made

    def _drop_unread(self) -> "Reward":
        """Return this reward without fields that it declares and no longer has a use for, such as counters."""
        parts = variants.drop_unread_fields(self)
        return Reward._build(self, **parts) if parts else self

    def with_weights(self, **weights: Number) -> "Reward":
        """Change weights: `with_weights(comfort=2.0)`, or `with_weights(comfort=linear(0, 2, over=100_000))`.

        Args:
            weights: A number or a schedule for each term.

        Returns:
            The changed reward.
        """
        return self.with_params({f"{name}.weight": weight for name, weight in weights.items()})

    def with_file(self, path: str | Path) -> "Reward":
        """Apply the overrides in a TOML file: one table per term, shared knobs above them.

        Args:
            path: The file.

        Returns:
            The changed reward.

        Raises:
            FileError: The file cannot be read.
            DefinitionError: The file is not TOML, or a parameter cannot have its value.
            UnknownParameter: The reward has no such parameter.
        """
        return self.with_params(variants.load_overrides(path))

    def with_version(self, version: str) -> "Reward":
        """Change the version label.

        Args:
            version: The new label.

        Returns:
            The same formula under the new label.
        """
        return Reward._build(self, version=validate_title("version", version))

    def evolve(self, *, version: str, **changes: Unpack[RewardChanges]) -> "Reward":
        """Make the next version of this reward. Any argument of `Reward` can change; the others stay.

        `evolve(version="2", terms=[*reward.terms, smooth])` adds a term. `terms={"near": gentler, "effort": None}`
        replaces one and removes another by name. A mapping for `fields` changes or adds fields by name.

        Fields, states and shared parameters that only removed terms read are dropped. New fields must be read. A reward
        that was loaded from a specification cannot evolve, because it has no functions to read again.

        Args:
            version: The label of the next version.
            changes: The arguments of `Reward` to change.

        Returns:
            The next version.

        Raises:
            DefinitionError: The version is the same, or the new definition is invalid; the subclasses say how.
            UnknownParameter: The reward has no such term to replace or remove.

        >>> from plaudit import term
        >>> @term
        ... def near(distance):
        ...     return 1 if distance < 2 else 0
        >>> @term
        ... def nearer(distance):
        ...     return 1 / (1 + distance)
        >>> first = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0)])
        >>> second = first.evolve(version="2", terms=[nearer], high=0.5)
        >>> second.score(distance=4.0).total, second.version
        (0.2, '2')
        """
        arguments = merge_changes(self, version, changes)
        made = Reward.__new__(Reward)
        optional = find_inherited(self, arguments, changes)
        define(made, arguments, self, optional)
        if unread := made.states.keys() - made._formula.states.keys():
            made = Reward.__new__(Reward)
            define(made, drop_states(arguments, unread), self, optional)
        return made._drop_unread()

    def with_task(self, task: Task | None) -> "Reward":
        """Change the task.

        Args:
            task: The new task; None removes it.

        Returns:
            The changed reward.

        Raises:
            DefinitionError: The task does not fit: it names other fields, or its goal can never be true.
        """
        made = Reward._build(self, task=fit_entries(validate_task(self.name, task), self.fields))
        settle_task(made)
        return made._drop_unread()

    @property
    def _as_declared(self) -> "Reward":
        """This reward with only what a person declared of its steps: what was seen proves nothing."""
        return Reward._build(self, task=self.task.drop_seen()) if self.task.seen else self

    def _join_task(self, task: Task | None) -> "Reward":
        """Return this reward with what a task says, and with what only its own task says."""
        if task is None:
            return self
        task = fit_entries(validate_task(self.name, task), self.fields)
        if task._stands_alone and task == self.task:
            return self
        made = Reward._build(self, task=task.merge(self.task))
        settle_task(made, task)
        return made._drop_unread()

    def _with_clipped_inputs(self) -> "Reward":
        """Return this reward with numbers held within their declared ranges where it refused them.

        It is as if those fields had been declared with `outside="clip"`: another formula. A field in whose range there
        is a gap below infinity stays as it is, and so does a state: what its update computes is held there or nowhere.
        """
        return Reward._build(self, **variants.clip_ranges(self))

    def select_terms(self, *terms: str) -> "Reward":
        """Keep only these terms, in their declared order, and the fields they read.

        The scale, gate, clamp and overrides of the total stay, and so does the task with the fields that its goal
        reads.

        Args:
            terms: The names of the terms.

        Returns:
            The smaller reward.

        Raises:
            UnknownParameter: The reward has no such term.
        """
        return Reward._build(self, **variants.select_terms(self, terms))

    @cached_property
    def score(self) -> Callable[..., Signal]:
        """The function from one step's inputs, by keyword, to its signal; it is generated when first asked for.

        `score(distance=30.0, action=0)`. A reward that reads `prev.x` and `curr.x` takes two records, mappings or
        objects: `score(prev=..., curr=...)`. An InputError names the field and value that cannot be scored.
        """
        frames = self._narrow_frames

        def build_narrow_signal(dtypes: Dtypes, row: tuple[Any, ...], outputs: tuple[float, ...]) -> Signal:
            return Signal(frames[dtypes], row, outputs)

        made = self._compiled.build_scorer(Signal, self._frame, keywords=True, take_narrow=build_narrow_signal)
        made.__name__ = made.__qualname__ = "score"
        made.__doc__ = f"Return the signal of one step of {self.name!r}."
        return made

    def initial_state(self, batch: int | tuple[int, ...] | None = None) -> dict[str, Any]:
        """Return the states before the first step of an episode.

        Args:
            batch: The number of episodes, or the shape of the batch, for NumPy arrays; `()` for a single episode. If
                omitted, numbers, bools and lists, as `score` takes them in `prev` and `signal.state` returns them.

        Returns:
            The states by name.
        """
        return build_initial_state(self.program, batch)

    def score_episodes(
        self, columns: Any, *, episode: Any, step: Any, first: float | None = None, on_bad: str = "raise"
    ) -> EpisodeScores:
        """Score a log of whole episodes, with the states computed from the first step of each.

        Args:
            columns: The columns of a batch, without the states: a mapping from names to columns, or a table.
            episode: The episode of each row.
            step: The step number of each row in its episode. The rows of an episode must be in order and complete; rows
                of different episodes may be mixed.
            first: The number of the first step. If omitted, 0 or 1.
            on_bad: With `"raise"`, a row that cannot be scored is an error that names it. With `"mask"`, it gets NaN
                and leaves the state unchanged.

        Returns:
            `scores`, in the order of the rows, and `states`: each state before the row.

        Raises:
            BrokenEpisode: A step is missing, duplicated or out of order; the message names the row.
            InputError: A column is missing or unknown, or a row cannot be scored.
            DefinitionError: The reward carries no state.
        """
        return score_episodes(
            self.program, self.encode, columns, episode=episode, step=step, first=first, on_bad=on_bad
        )

    def score_terminal(self, /, **inputs: Any) -> Signal:
        """Score only the terminal terms, for systems that record the end of an episode separately.

        Args:
            inputs: The inputs that the terminal terms read; other inputs of the reward are ignored.

        Returns:
            The signal of the terminal terms.

        Raises:
            InputError: An input is missing, unknown, or cannot be scored.
            DefinitionError: The reward has no terminal terms.
        """
        final = self._final
        own = {slot.record or slot.key for slot in list_slots(self.program)}
        needed = {slot.record or slot.key for slot in list_slots(final.program)}
        given = {k: v for k, v in inputs.items() if k in needed or k not in own}
        return final.score(**{**given, "terminal": True})

    @overload
    def compile(
        self, target: Literal["python"] = "python", *, guard: Guarding = True, on_bad: OnBad = "raise"
    ) -> PythonReward: ...

    @overload
    def compile(
        self,
        target: Literal["numba"],
        *,
        guard: Guarding = True,
        on_bad: OnBad = "raise",
        parallel: bool = True,
        cache: bool = True,
    ) -> "NumbaReward": ...

    @overload
    def compile(
        self,
        target: Literal["numpy"],
        *,
        guard: Guarding = True,
        on_bad: OnBad = "raise",
        chunk: int = ...,
        dtype: str = "float64",
    ) -> "NumpyReward": ...

    @overload
    def compile(
        self, target: Literal["jax"], *, guard: Guarding = True, on_bad: OnBad = "raise", dtype: Any = None
    ) -> "JaxReward": ...

    @overload
    def compile(
        self,
        target: Literal["torch"],
        *,
        guard: Guarding = True,
        on_bad: OnBad = "raise",
        dtype: Any = None,
        fused: bool | Mapping[str, Any] = False,
    ) -> "TorchReward": ...

    @overload
    def compile(
        self,
        target: Literal["sql"],
        *,
        guard: Guarding = True,
        on_bad: OnBad = "mask",
        dialect: str = "duckdb",
        keys: Sequence[str] | None = None,
        order_step: float = 1,
        struct: bool = False,
    ) -> "SqlReward": ...

    @overload
    def compile(
        self,
        target: Literal["polars"],
        *,
        guard: Guarding = True,
        on_bad: OnBad = "raise",
        keys: Sequence[str] | None = None,
        order_step: float = 1,
    ) -> "PolarsReward": ...

    @overload
    def compile(
        self,
        target: Literal["c"],
        *,
        guard: Guarding = True,
        on_bad: OnBad = "mask",
        real: Literal["double", "float"] = "double",
        knobs: Literal["constant", "struct"] = "constant",
        prefix: str | None = None,
    ) -> "CReward": ...

    @overload
    def compile(
        self,
        target: Literal["cuda"],
        *,
        guard: Guarding = True,
        on_bad: OnBad = "mask",
        real: Literal["double", "float"] = "double",
        knobs: Literal["constant", "struct"] = "constant",
        prefix: str | None = None,
    ) -> "CudaReward": ...

    @overload
    def compile(
        self, target: Literal["javascript"], *, guard: Guarding = True, on_bad: OnBad = "raise"
    ) -> "JavaScriptReward": ...

    @overload
    def compile(self, target: str, **options: Any) -> Any: ...

    def compile(self, target: str = "python", **options: Any) -> Any:
        """Compile this reward into a function for `target`.

        The function takes a mapping from input names to numbers or arrays, and optionally other values of parameters.
        It returns `Scores`. "polars" gives expressions; "sql", "c", "cuda" and "javascript" give text.

        Args:
            target: python, numba, numpy, jax, torch, sql, polars, c, cuda, javascript, or a target that another
                package registers.
            options: `guard=False` skips the declared ranges; `guard="facts"` also tests the facts; `guard="plain"`, for
                NumPy, JAX and PyTorch, tests nothing. `on_bad="mask"` gives NaN for a bad row instead of raising;
                `on_bad="clip"` clips numbers to their ranges and raises for anything else. Other options belong to the
                target.

        Returns:
            The compiled reward: `PythonReward`, `NumbaReward`, `NumpyReward`, `JaxReward`, `TorchReward`, `SqlReward`,
            `PolarsReward`, `CReward`, `CudaReward`, `JavaScriptReward`.

        Raises:
            TargetError: There is no such target or option.
            MissingExtra: The target needs a package that is not installed.
            UnsupportedNode: The target cannot express an operation of the reward.
        """
        if options.get("on_bad") == "clip":
            return self._with_clipped_inputs().compile(target, **{**options, "on_bad": "raise"})
        facts = options.get("guard") == "facts"
        program, chosen = (self._guarded, {**options, "guard": True}) if facts else (self.program, options)
        return compile_program(program, target, about=lambda: self._about, **chosen)

    def encode(self, inputs: Any) -> dict[str, Any]:
        """Replace categories by their positions, for targets that compute with arrays.

        Args:
            inputs: A mapping from names to columns, a structured array, or a table with `columns`.

        Returns:
            The columns by name.

        Raises:
            InputError: A column is missing or unknown, or a string is not one of the categories.
        """
        flat = collect_columns(self.program, inputs)
        for slot in list_slots(self.program):
            if slot.field.kind == "category":
                name = slot.name if slot.name in flat else slot.column
                flat[name] = encode_category(self.name, name, slot.field, flat[name])
        return flat

    @cached_property
    def _guarded(self) -> Program:
        return add_fact_guards(self.program, self._bound.facts_program)

    @cached_property
    def _about(self) -> About:
        docs = {each.name: each.doc for each in self._functions}
        return About(self.name, self.version, self.fingerprint, self.domain_fingerprint, self.doc, docs)

    @cached_property
    def _compiled(self) -> PythonReward:
        return PythonReward(self.program)

    @cached_property
    def _final(self) -> "Reward":
        terminal = [term.name for term in self.terms if term.terminal]
        if not terminal:
            raise DefinitionError(f"reward {self.name!r} has no terminal terms; mark one with @term(terminal=True)")
        final = self.select_terms(*terminal)
        vars(final).update(fingerprint=self.fingerprint, domain_fingerprint=self.domain_fingerprint)
        vars(final)["_frame"] = replace(final._frame, source=self, part="final")
        return final

    @cached_property
    def _frame(self) -> Frame:
        layout = self._compiled.layout
        fields = self.program.inputs
        return Frame(
            self.name,
            self.version,
            self.fingerprint,
            self.domain_fingerprint,
            layout.terms,
            (*(self._find_weight(term) for term in self.terms), *(1.0 for _ in self.program.adjustments)),
            self.inputs,
            tuple(field.labels for field in fields.values()),
            tuple(field.is_integer for field in fields.values()),
            layout.scores,
            layout.clamped,
            layout.values,
            source=self,
            overrides=tuple(each.name for each in self.override),
        )

    @cached_property
    def _narrow_frames(self) -> NarrowFrames:
        return NarrowFrames(self._frame)

    def _find_weight(self, term: Term) -> float | NumberInForce:
        """Return what the clamped score of a term is multiplied by, as a function of a row where that is a schedule."""
        name = self._composition.scale_param
        scale = 1.0 if name is None else self._numbers[name]
        assert isinstance(scale, float | Schedule)
        return self._place_number(term.weight, scale)

    def _place_number(self, *factors: Number) -> float | NumberInForce:
        """Return the product of some numbers, as a function of a row where one of them follows a schedule."""
        counters = find_counters(self._formula.inputs, self._schedules.values(), self.fields)
        return multiply_numbers(factors, self.inputs, counters)

    def to_dict(self) -> dict[str, Any]:
        """Return the specification as plain data: enough to load and run the reward without its Python source.

        Returns:
            The specification.
        """
        return spec_writer.to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Reward":
        """Load a reward from the data that `to_dict` returned; this runs no code.

        Args:
            data: The specification.

        Returns:
            The reward.

        Raises:
            SpecError: The data is not a reward; the message says why.
        """
        from plaudit.reward.spec_reader import from_dict

        return from_dict(data)

    def to_json(self) -> str:
        """Return the specification as canonical JSON.

        Returns:
            The text.
        """
        return spec_writer.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> "Reward":
        """Load a reward from the text that `to_json` returned; this runs no code.

        Args:
            text: The JSON.

        Returns:
            The reward.

        Raises:
            SpecError: The text is not a reward; the message says why.
        """
        from plaudit.reward.spec_reader import from_json

        return from_json(text)
