"""A reward: terms over fields, with weights and clamps, under one name and version."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

from plaudit.errors import DefinitionError, DuplicateName, UnknownField, UnknownParameter, did_you_mean
from plaudit.language.field import Field, validate_number
from plaudit.language.parameters import Parameter, expand_parameters, validate_vector_parameter
from plaudit.language.program import Builder, Program
from plaudit.language.render import render_formula, render_python
from plaudit.reward.declared import (
    Fact,
    Preference,
    add_fact_guards,
    fit_preference,
    read_facts,
    select_facts,
    validate_allow,
    validate_discount,
    validate_facts,
    validate_preferences,
)
from plaudit.reward.lower import (
    Formula,
    assemble,
    build_formula,
    clip_field,
    clip_inputs,
    find_gradients,
    find_transitions,
    read_term_into,
)
from plaudit.reward.overrides import apply_overrides, load_overrides, validate_overrides
from plaudit.reward.signal import Frame, Signal
from plaudit.reward.term import Term, share
from plaudit.targets import OnBad, compile_program
from plaudit.targets.inputs import collect_columns, encode_category, list_slots
from plaudit.targets.python import PythonReward

if TYPE_CHECKING:
    from plaudit.targets.jax import JaxReward
    from plaudit.targets.numba import NumbaReward
    from plaudit.targets.numpy import NumpyReward
    from plaudit.targets.sql.reward import SqlReward
    from plaudit.targets.torch import TorchReward

Guarding = bool | Literal["facts"]

_DECLARED = ("name", "version", "doc", "terms", "fields", "action", "shared", "low", "high")
_PARTS = (*_DECLARED, "facts", "discount", "prefer", "allow", "facts_program", "_formula")
"""What a reward is made of; everything else is worked out from these."""


class Reward:
    """Named terms that add up to one number.

    `score` gives one step's `Signal`; `compile` gives a function for batches and training code. A reward never
    changes: `with_params`, `with_weights` and `with_file` return another one.

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

    name: str
    version: str
    doc: str
    terms: tuple[Term, ...]
    fields: Mapping[str, Field]
    action: str | None
    shared: Mapping[str, Parameter]
    low: float | None
    high: float | None
    facts: tuple[Fact, ...]
    discount: float | None
    prefer: tuple[Preference, ...]
    allow: Mapping[str, str]
    facts_program: Program
    """The facts as one flat value: a flag each, under its name."""
    _formula: Formula

    def __init__(
        self,
        name: str,
        *,
        version: str,
        terms: Iterable[Term],
        fields: Iterable[Field],
        action: str | None = None,
        shared: Mapping[str, Parameter] | None = None,
        low: float | None = None,
        high: float | None = None,
        facts: Iterable[Fact] = (),
        discount: float | None = None,
        prefer: Iterable[Preference] = (),
        allow: Mapping[str, str] | None = None,
        doc: str = "",
        **unknown: NoReturn,
    ) -> None:
        """Read the terms into one formula; every mistake in the definition is an error here.

        Args:
            name: What the reward is called in errors, records and reports.
            version: A label that people change when they change the reward.
            terms: What `@term` made; their values add up to the total, in this order.
            fields: What the terms read; each must be read by one.
            action: The field that holds the action, if one does.
            shared: The values of keyword-only parameters without a default, which terms share: numbers, bools, or
                tuples and arrays of them.
            low: The smallest total; lower ones are held there.
            high: The largest total.
            facts: What `@fact` made: what is true of every step that can happen.
            discount: How much a reward one step later is worth, above 0 and at most 1; for checks.
            prefer: What `prefer(...)` made: what must earn more than what.
            allow: Findings that are meant to be: the code of each rule, with the reason.
            doc: A sentence on what it is for.
            unknown: Nothing; a TypeError says what to write instead.

        Raises:
            DefinitionError: Something in the definition cannot work; its subclasses say what.
        """
        for keyword in unknown:
            raise TypeError(_describe_unknown(keyword))
        if not isinstance(shared, Mapping | None) or not isinstance(action, str | None):  # type: ignore[redundant-expr]
            raise DefinitionError(f"reward {name!r}: shared= maps names to numbers, and action= is the name of a field")
        if not isinstance(doc, str):
            raise DefinitionError(f"reward {name!r}: doc={doc!r:.60} must be a string")
        numbers = {key: validate_vector_parameter(key, value) for key, value in (shared or {}).items()}
        declared = _index_fields(name, fields)
        given = [key for key in numbers if key not in declared]
        vars(self).update(
            name=validate_title("name", name),
            version=validate_title("version", version),
            doc=doc,
            terms=tuple(share(term, given) for term in terms),
            fields=MappingProxyType(declared),
            action=action,
            shared=MappingProxyType(numbers),
            low=None if low is None else validate_number("total.low", low),
            high=None if high is None else validate_number("total.high", high),
            facts=tuple(facts),
            discount=validate_discount(name, discount),
            prefer=tuple(prefer),
            allow=validate_allow(f"reward {name!r}", {} if allow is None else allow),
        )
        self._validate(numbers)
        vars(self)["_formula"] = body = build_formula(name, self.terms, self.fields, numbers)
        vars(self)["facts_program"] = read_facts(name, self.facts, self.fields, find_transitions(self.terms))
        vars(self)["prefer"] = tuple(fit_preference(each, name, body.inputs) for each in self.prefer)

    @classmethod
    def _build(cls, like: "Reward | None" = None, **parts: Any) -> "Reward":
        """Return a reward from parts that are already validated, those of `like` unless given."""
        built = cls.__new__(cls)
        vars(built).update({part: parts[part] if part in parts else getattr(like, part) for part in _PARTS})
        built._validate(built.shared)
        return built

    def _validate(self, shared: Mapping[str, Parameter]) -> None:
        for term in self.terms:
            if not isinstance(term, Term):
                raise DefinitionError(f"reward {self.name!r}: {term!r} is not a term; decorate the function with @term")
        if not self.terms:
            raise DefinitionError(f"reward {self.name!r} has no terms")
        names = [term.name for term in self.terms]
        for name in names:
            if names.count(name) > 1:
                raise DuplicateName(
                    f"reward {self.name!r} has two terms called {name!r}; give one another name with @term(name=...)"
                )
        if self.low is not None and self.high is not None and self.low > self.high:
            raise DefinitionError(f"reward {self.name!r}: low={self.low} is above high={self.high}")
        if self.action is not None and self.action not in self.fields:
            near = did_you_mean(self.action, self.fields)
            raise UnknownField(f"reward {self.name!r}: action={self.action!r} is not a declared field.{near}")
        needed = {name for term in self.terms for name in term.shared}
        for name in needed - shared.keys():
            raise UnknownParameter(
                f"reward {self.name!r}: a term needs {name!r}; give it with shared={{{name!r}: ...}}"
            )
        for name in shared.keys() - needed:
            near = did_you_mean(name, needed)
            raise UnknownParameter(
                f"reward {self.name!r}: no term has a keyword-only parameter {name!r} without a default, "
                f"nor reads it from a record.{near}"
            )
        validate_facts(self.name, self.facts, names)
        validate_preferences(self.name, self.prefer)
        for name in needed & set(names):
            raise DuplicateName(f"reward {self.name!r}: {name!r} is both a term and a shared parameter")

    @cached_property
    def params(self) -> Mapping[str, float | bool]:
        """Every parameter by its dotted name: `comfort.harsh`, `far`, `pose.default[2]`, `total.low`."""
        own = {name: value for term in self.terms for name, value in term.params.items()}
        clamps = {"total.low": self.low, "total.high": self.high}
        ends = {name: value for name, value in clamps.items() if value is not None}
        return MappingProxyType({**own, **expand_parameters(self.shared), **ends})

    @cached_property
    def program(self) -> Program:
        """The whole reward as one flat value, which every target compiles and every check walks."""
        return assemble(self.name, self._formula, self.terms, self.params)

    @property
    def inputs(self) -> tuple[str, ...]:
        """What a row holds: `distance`, `prev.tokens_used`, `torque[0]`, `terminal`."""
        return tuple(self._formula.inputs)

    @cached_property
    def fingerprint(self) -> str:
        """The identity of the formula: any number changes it; comments, local names and ranges do not."""
        from plaudit.reward import serial

        return serial.compute_fingerprint(self)

    @cached_property
    def domain_fingerprint(self) -> str:
        """The identity of what is declared about steps: ranges, units, roles, facts, discount, preferences."""
        from plaudit.reward import serial

        return serial.compute_domain_fingerprint(self)

    def gradients(self) -> dict[str, bool]:
        """Return for each parameter whether a gradient reaches the total; thresholds have none."""
        return find_gradients(self.program)

    def formula(self) -> str:
        """Return the reward as Markdown with one LaTeX formula a term."""
        return render_formula(self.program, self._find_local_names())

    def source(self) -> str:
        """Return the reward as readable Python, one function a term.

        Locals are called what their author called them; a reward that was loaded from a specification does not know.
        """
        return render_python(self.program, self._find_local_names())

    def _find_local_names(self) -> dict[str, Mapping[int, str]]:
        """Return what the functions of terms call the nodes of the program."""
        own = (term for term in self.terms if term.source is not None)
        transition = find_transitions(self.terms)
        return {
            term.name: read_term_into(Builder(self.program.nodes), term, self.fields, transition, self.shared).names
            for term in own
        }

    def __repr__(self) -> str:
        """Return name, version, terms and the start of the fingerprint."""
        names = ", ".join(term.name for term in self.terms)
        return f"Reward({self.name}@{self.version}: {names}; {self.fingerprint[:12]})"

    def __eq__(self, other: object) -> bool:
        """Two rewards are equal when name, version, formula and domain are."""
        return isinstance(other, Reward) and self._identity == other._identity

    def __hash__(self) -> int:
        """Return a hash that agrees with equality."""
        return hash(self._identity)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a reward never changes."""
        raise AttributeError(
            f"a reward never changes; {name!r} is changed by with_params, with_weights or with_version"
        )

    def __copy__(self) -> "Reward":
        """Return itself: what never changes needs no copy."""
        return self

    def __deepcopy__(self, memo: object) -> "Reward":
        """Return itself: what never changes needs no copy."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as data: another process gets the formula and needs none of the source."""
        return Reward.from_json, (self.to_json(),)

    @property
    def _identity(self) -> tuple[str, str, str, str]:
        return self.name, self.version, self.fingerprint, self.domain_fingerprint

    def with_params(self, values: Mapping[str, Any] | None = None, /, **by_term: Any) -> "Reward":
        """Return this reward with other knobs, clamps or weights.

        `with_params(comfort={"harsh": 5.0}, far=45.0)`, or by dotted name: `with_params({"comfort.harsh": 5.0})`. A
        vector is given whole, `with_params(pose={"default": (0.1, 0.8, -1.5)})`, or by entry: `"pose.default[1]"`.

        Args:
            values: Numbers by dotted name, or a mapping for each term.
            by_term: A mapping for each term; numbers for shared parameters.

        Raises:
            UnknownParameter: The reward has no such parameter; the message suggests one.
            DefinitionError: A value is not a number or bool that the parameter can have.
        """
        changed = validate_overrides(self, {**(values or {}), **by_term})
        shared = MappingProxyType({name: changed.get(name, value) for name, value in self.shared.items()})
        low, high = changed.get("total.low", self.low), changed.get("total.high", self.high)
        return Reward._build(self, terms=apply_overrides(self.terms, changed), shared=shared, low=low, high=high)

    def with_weights(self, **weights: float) -> "Reward":
        """Return this reward with other weights: `with_weights(comfort=2.0)`."""
        return self.with_params({f"{name}.weight": weight for name, weight in weights.items()})

    def with_file(self, path: str | Path) -> "Reward":
        """Return this reward with the overrides of a TOML file: a table for each term, shared knobs above them.

        Raises:
            FileError: The file cannot be read.
            DefinitionError: It is not TOML, or a value cannot work.
            UnknownParameter: The reward has no such parameter.
        """
        return self.with_params(load_overrides(path))

    def with_version(self, version: str) -> "Reward":
        """Return this reward under another version label."""
        return Reward._build(self, version=validate_title("version", version))

    def with_clipped_inputs(self) -> "Reward":
        """Return this reward with numbers held within their declared ranges where it refused them.

        It is as if those fields had been declared with `outside="clip"`: another formula. A field in whose range there
        is a gap below infinity stays as it is.
        """
        fields = MappingProxyType({name: clip_field(field) for name, field in self.fields.items()})
        return Reward._build(self, fields=fields, _formula=clip_inputs(self._formula))

    def only(self, *terms: str) -> "Reward":
        """Return the reward of these terms alone, in their declared order, with only the fields they read.

        Facts and preferences about anything else are left out.

        Raises:
            UnknownParameter: The reward has no such term.
        """
        known = [term.name for term in self.terms]
        for name in terms:
            if name not in known:
                raise UnknownParameter(f"reward {self.name!r} has no term {name!r}.{did_you_mean(name, known)}")
        kept = tuple(term for term in self.terms if term.name in terms)
        body = self._formula.only([term.name for term in kept])
        used = {field.name for field in body.inputs.values()}
        fields = MappingProxyType({name: field for name, field in self.fields.items() if name in used})
        needed = {name for term in kept for name in term.shared}
        shared = MappingProxyType({name: value for name, value in self.shared.items() if name in needed})
        action = self.action if self.action in used else None
        facts_program = select_facts(self.facts_program, fields)
        return Reward._build(
            self,
            terms=kept,
            fields=fields,
            shared=shared,
            action=action,
            _formula=body,
            facts_program=facts_program,
            facts=tuple(fact for fact in self.facts if fact.name in facts_program.outputs),
            prefer=tuple(each for each in self.prefer if each.reads <= body.inputs.keys()),
        )

    @cached_property
    def score(self) -> Callable[..., Signal]:
        """The function from one step's inputs, by keyword, to its signal; it is generated when first asked for.

        `score(distance=30.0, action=0)`. A reward that reads `prev.x` and `curr.x` takes two records, mappings or
        objects: `score(prev=..., curr=...)`. An InputError names the field and value that cannot be scored.
        """
        made = self._compiled.build_scorer(Signal, self._frame, keywords=True)
        made.__name__ = made.__qualname__ = "score"
        made.__doc__ = f"Return the signal of one step of {self.name!r}."
        return made

    def final(self, /, **inputs: Any) -> Signal:
        """Return the signal of the terminal terms alone, for systems that record the end of an episode by itself.

        Args:
            inputs: What the terminal terms read; other inputs of the reward are ignored.

        Raises:
            InputError: A name or value cannot be scored.
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
        self, target: Literal["numpy"], *, guard: Guarding = True, on_bad: OnBad = "raise", chunk: int = ...
    ) -> "NumpyReward": ...

    @overload
    def compile(
        self, target: Literal["jax"], *, guard: Guarding = True, on_bad: OnBad = "raise", dtype: Any = None
    ) -> "JaxReward": ...

    @overload
    def compile(
        self, target: Literal["torch"], *, guard: Guarding = True, on_bad: OnBad = "raise", dtype: Any = None
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
    def compile(self, target: str, **options: Any) -> Any: ...

    def compile(self, target: str = "python", **options: Any) -> Any:
        """Return this reward as a function for `target`.

        The function takes a mapping from input names to numbers or arrays, and optionally other values of parameters,
        and returns `Scores`; "sql" gives text.

        Args:
            target: python, numba, numpy, jax, torch or sql.
            options: `guard=False` skips the declared ranges, and `guard="facts"` tests the facts too;
                `on_bad="mask"` gives NaN for a bad row instead of raising, and `"clip"` holds numbers within their
                ranges and raises for anything else; the others are those of the target.

        Returns:
            The compiled reward: `PythonReward`, `NumbaReward`, `NumpyReward`, `JaxReward`, `TorchReward`, `SqlReward`.

        Raises:
            TargetError: There is no such target or option.
            MissingExtra: The target needs a package that is not installed.
            UnsupportedNode: The target cannot express something that the reward uses.
        """
        if options.get("on_bad") == "clip":
            return self.with_clipped_inputs().compile(target, **{**options, "on_bad": "raise"})
        if options.get("guard") == "facts":
            return compile_program(self._guarded, target, **{**options, "guard": True})
        return compile_program(self.program, target, **options)

    def encode(self, inputs: Any) -> dict[str, Any]:
        """Return the columns of a batch with categories replaced by their positions, for the array targets.

        Args:
            inputs: A mapping from names to columns, a structured array, or a table with `columns`.

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
        return add_fact_guards(self.program, self.facts_program)

    @cached_property
    def _compiled(self) -> PythonReward:
        return PythonReward(self.program)

    @cached_property
    def _final(self) -> "Reward":
        terminal = [term.name for term in self.terms if term.terminal]
        if not terminal:
            raise DefinitionError(f"reward {self.name!r} has no terminal terms; mark one with @term(terminal=True)")
        final = self.only(*terminal)
        vars(final).update(fingerprint=self.fingerprint, domain_fingerprint=self.domain_fingerprint)
        vars(final)["_frame"] = replace(final._frame, source=self, part="final")
        return final

    @cached_property
    def _frame(self) -> Frame:
        layout = self._compiled.layout
        return Frame(
            self.name,
            self.version,
            self.fingerprint,
            self.domain_fingerprint,
            layout.terms,
            tuple(term.weight for term in self.terms),
            self.inputs,
            tuple(field.labels for field in self._formula.inputs.values()),
            tuple(name in self._formula.terminal for name in self.inputs),
            tuple(field.is_integer for field in self._formula.inputs.values()),
            layout.scores,
            layout.clamped,
            layout.values,
            source=self,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the reward as plain data: enough to rebuild and run it without its Python source."""
        from plaudit.reward import serial

        return serial.to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Reward":
        """Return the reward that `to_dict` wrote; no code is run.

        Raises:
            SpecError: The data is not a reward; the message says what is wrong.
        """
        from plaudit.reward import serial

        return serial.from_dict(data)

    def to_json(self) -> str:
        """Return the reward as canonical JSON."""
        from plaudit.reward import serial

        return serial.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> "Reward":
        """Return the reward that `to_json` wrote; no code is run.

        Raises:
            SpecError: The text is not a reward; the message says what is wrong.
        """
        from plaudit.reward import serial

        return serial.from_json(text)


def _describe_unknown(keyword: str) -> str:
    """Return what to write instead of a keyword that a reward does not take."""
    if keyword == "params":
        return "Reward() takes the parameters that terms share as shared=, not as params="
    known = inspect.signature(Reward).parameters
    return f"Reward() got an unexpected keyword argument {keyword!r}.{did_you_mean(keyword, known)}"


def validate_title(what: str, value: object) -> str:
    """Return a name or version if it is a printable string; DefinitionError if not."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise DefinitionError(f"a reward's {what} must be a printable string, not {value!r}")
    return value


def _index_fields(reward: str, fields: Iterable[Field]) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for field in fields:
        if not isinstance(field, Field):
            raise DefinitionError(f"reward {reward!r}: {field!r} is not a Field")
        if field.name == "terminal":
            raise DefinitionError(f"reward {reward!r}: 'terminal' needs no declaration: any term may read it")
        if field.name in found:
            raise DuplicateName(f"reward {reward!r} declares the field {field.name!r} twice")
        found[field.name] = field
    return found
