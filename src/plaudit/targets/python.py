"""The `python` target: one generated function for the whole reward, one row at a time, every bad row refused.

The generated function begins with a fast path: lines that read each input, check its name and kind, and convert what
is unusual. The usual row — the right names, floats, bools, known strings — costs a few tests. Anything else makes a
line raise one of `UNUSUAL`, and `PythonReward.convert_row` handles other shapes or says what is amiss.
"""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NoReturn, TypeVar

from plaudit.errors import InputError, ShapeMismatch, UnknownInput, WrongType
from plaudit.language.field import LARGEST_INTEGER, RECORDS
from plaudit.language.program import Program
from plaudit.language.shapes import flatten_entries
from plaudit.language.static import StaticAnalysis, analyse_program
from plaudit.targets.compiled import Compiled, Layout, Scores
from plaudit.targets.diagnose import RowDiagnosis
from plaudit.targets.dtypes import Dtypes
from plaudit.targets.emit import SCALAR, SCALAR_NAMES, Code, build_function, emit
from plaudit.targets.inputs import (
    NARROW_NAMES,
    DtypeMap,
    InputSlot,
    collect_columns,
    find_default,
    find_dtypes,
    join_dtype,
    list_slots,
    make_converter,
    read_record,
)
from plaudit.targets.states import build_initial_state, check_state, join_state, list_state_outputs, nest_state

Row = tuple[Any, ...]
Result = TypeVar("Result")


class PythonReward(Compiled):
    """A reward compiled to Python.

    Call it with a mapping of inputs to get `Scores`. `function` is the bare generated function: inputs by position, in
    the order of `inputs` and converted already; the total and then each term's value back. A bad row raises.
    """

    def __init__(self, program: Program, *, guard: bool = True, on_bad: str = "raise") -> None:
        """Compile `program`; without `guard`, declared ranges are not checked."""
        super().__init__(program, guard=guard, on_bad=on_bad)
        self._bound = program.bind()
        self._diagnosis = RowDiagnosis(self._bound, ranges=guard)
        self.layout = Layout.of(self._bound)
        outputs = ["total", *(f"{term}.value" for term in program.terms)]
        self.function: Callable[..., Row] = self._generate(self._bound, [self._bound.outputs[name] for name in outputs])

    def __call__(self, inputs: Any, params: Mapping[str, float | bool] | None = None) -> Scores:
        """Return the scores of one row."""
        try:
            if params is None:
                return self.layout.to_scores(self.run(inputs), True)
            row, values = self.convert_row(inputs), self.program.fill_params(params)
            layout, general = self._general
            try:
                return layout.to_scores(general(*row, *values.values()), True)
            except InputError:
                raise RowDiagnosis(self.program.bind(params), ranges=self.guard)(row) from None
        except InputError as error:
            if self.on_bad == "raise" or isinstance(error, UnknownInput):  # a wrong name is no bad row
                raise
            return self.layout.to_scores((math.nan,) * len(self.layout.roots), False)

    def step(
        self, inputs: Any, state: Mapping[str, Any], *, reset: Any = None, params: Mapping[str, Any] | None = None
    ) -> tuple[Scores, dict[str, Any]]:
        """Return the scores of a step, and the state after it, as `Compiled.step` says."""
        before = build_initial_state(self.program, None) if reset else dict(check_state(self.program, state))
        joined = join_state(self.program, inputs, before)
        scores = self(joined, params)
        return scores, self.carry(self.convert_row(joined), params) if scores.ok else before

    def carry(self, row: Row, params: Mapping[str, float | bool] | None = None) -> dict[str, Any]:
        """Return what each state is after the step `row`, converted inputs that can be scored."""
        bound = self._carry if params is None else self._generate_carry(self.program.bind(params))
        entries = iter(bound(*row))
        return {
            name: nest_state(carried, [next(entries) for _ in carried.reset])
            for name, carried in self.program.states.items()
        }

    def compute(self, row: Row, output: str) -> Any:
        """Return one output of the Program for a converted row."""
        return self._generate(self._bound, [self._bound.outputs[output]])(*row)[0]

    @cached_property
    def _carry(self) -> Callable[..., Row]:
        return self._generate_carry(self._bound)

    def _generate_carry(self, bound: Program) -> Callable[..., Row]:
        """Return the function from a converted row to the entries of all states after it."""
        return self._generate(bound, [at for each in list_state_outputs(bound) for at in each])

    @property
    def source(self) -> str:
        """The generated text."""
        return str(self.function.source)  # type: ignore[attr-defined]  # put there by build_function

    def convert_row(self, inputs: Any, *, lenient: bool = False) -> Row:
        """Return the values of `inputs` as floats, bools and positions of categories, in order.

        Before the end of an episode, what only the end reads is kept as it was given, in range or not; NaN where it was
        not given or has another kind. If `lenient`, so is everything else.

        Raises:
            InputError: A name or a value is not one that the reward reads.
        """
        flat = collect_columns(self.program, inputs, only_given=True, lenient=lenient)
        found = list(zip(list_slots(self.program), self._converters, strict=True))
        ended = any(convert(flat.get("terminal", False)) for slot, convert in found if slot.name == "terminal")
        vectors: dict[str, list[Any]] = {}
        values = []
        for slot, convert in found:
            try:
                value = flat.get(slot.name) if slot.name in flat else flat.get(slot.column)
                if slot.entry is not None and slot.name not in flat:
                    if slot.column not in vectors:
                        vectors[slot.column] = _list_entries(self.program, slot, value)
                    value = vectors[slot.column][slot.entry]
                kept = convert(value)
                values.append(kept if kept == kept else math.nan)
            except InputError:
                if not lenient and (ended or slot.name not in self.program.terminal):
                    raise
                values.append(math.nan)
        return tuple(values)

    @cached_property
    def run(self) -> Callable[[Any], Row]:
        """The function from a mapping of inputs to every output of the layout."""
        return self.build_scorer(lambda row, outputs: outputs)

    @cached_property
    def _converters(self) -> list[Callable[[Any], Any]]:
        return [make_converter(self.program.name, name, field) for name, field in self.program.inputs.items()]

    @cached_property
    def _general(self) -> tuple[Layout, Callable[..., Row]]:
        """The function that takes parameters as further arguments, made when first needed."""
        layout = Layout.of(self.program)
        return layout, self._generate(self.program, layout.roots)

    @cached_property
    def _everything(self) -> Callable[..., Row]:
        return self._generate(self._bound, self.layout.roots)

    def _write_body(
        self, program: Program, roots: Sequence[int], known: Set[str] = frozenset()
    ) -> tuple[list[str], Code]:
        """Return the statements on converted inputs: the ranges in one test, the terms, their guards in another.

        Inputs in `known` have been looked up when they were converted, as categories always are: their range needs no
        test.
        """
        names = ", ".join(f"x{i}" for i in range(len(program.inputs)))
        known = known | {name for name, field in program.inputs.items() if field.kind == "category"}
        tests = [guard.node for guard in program.ranges if guard.where not in known] if self.guard else []
        static = StaticAnalysis() if program.params else analyse_program(program, ranges=self.guard, looked_up=True)
        code = emit(program, tests, SCALAR)
        lines = code.lines
        code.lines = []
        if tests:
            lines.append(f"if not ({' and '.join(code.texts[test] for test in tests)}): raise bad(({names},))")
        guards = [guard.node for guard in program.value_guards if guard.node not in static.holds]
        code = emit(program, [*roots, *guards], SCALAR, code, defined=static.defined)
        lines += code.lines
        if guards:
            lines.append(f"if not ({' and '.join(code.texts[test] for test in guards)}): raise bad(({names},))")
        return lines, code

    def _generate(self, program: Program, roots: Sequence[int]) -> Callable[..., Row]:
        lines, code = self._write_body(program, roots)
        lines = [*self._write_rest(), *lines]
        arguments = [f"x{i}" for i in range(len(program.inputs))] + [f"p{i}" for i in range(len(program.params))]
        result = "".join(f"{code.texts[root]}, " for root in roots)
        made: Callable[..., Row] = build_function(
            "score", arguments, [*lines, f"return ({result})"], self._collect_names(code)
        )
        return made

    def _write_rest(self) -> list[str]:
        """Return the statement that computes with what only the end reads at rest before it, whatever was given."""
        inputs = list(self.program.inputs)
        final = [f"x{i}" for i, name in enumerate(inputs) if name in self.program.terminal]
        return [f"if not x{inputs.index('terminal')}: {', '.join(final)}, = rest"] if final else []

    def _collect_names(self, code: Code) -> dict[str, Any]:
        fields = zip(self.program.inputs.items(), self._converters, strict=True)
        rest = tuple(convert(field.at_rest) for (name, field), convert in fields if name in self.program.terminal)
        return {**SCALAR_NAMES, **code.tables, "bad": self._diagnosis, "rest": rest}

    def build_scorer(
        self,
        take: Callable[..., Result],
        *first: object,
        keywords: bool = False,
        take_narrow: Callable[[Dtypes, Row, Row], Result] | None = None,
    ) -> Callable[..., Result]:
        """Return one function from a mapping of inputs to `take(*first, row, outputs)`: conversion and reward together.

        With `keywords`, the inputs come in as keyword arguments instead. Where some of them are floats narrower than
        Python's, it is `take_narrow(dtypes, row, outputs)`, if that is given.
        """

        def score_slowly(inputs: Any) -> Result:
            row = self.convert_row(inputs)
            outputs = self._everything(*row)
            if take_narrow is not None and (dtypes := find_dtypes(self.program, collect_columns(self.program, inputs))):
                return take_narrow(dtypes, row, outputs)
            return take(*first, row, outputs)

        path = build_fast_path(self.program, self._converters, keywords=keywords)
        listed = {name for name, field in self.program.inputs.items() if field.numbers}
        lines, code = self._write_body(self._bound, self.layout.roots, known=listed)
        leading = "".join(f"h{i}, " for i in range(len(first)))
        row = "".join(f"x{i}, " for i in range(len(self.inputs)))
        outputs = "".join(f"{code.texts[root]}, " for root in self.layout.roots)
        rest = self._write_rest()
        given, kept = (f"({row})", []) if not rest else ("row", [f"row = ({row})", *rest])
        narrow = [f"if t: return take_narrow(t, {given}, ({outputs}))"] if take_narrow is not None else []
        body = [*path.lines, *kept, *lines, *narrow, f"return take({leading}{given}, ({outputs}))"]
        body = ["try:", *(f"    {line}" for line in body), f"except unusual: return score_slowly({path.given})"]
        seen = {
            **self._collect_names(code),
            **path.names,
            "take": take,
            "take_narrow": take_narrow,
            "score_slowly": score_slowly,
            "unusual": UNUSUAL,
        }
        seen |= {f"h{i}": value for i, value in enumerate(first)}
        made: Callable[..., Result] = path.rename_arguments(build_function("run", path.arguments, body, seen))
        return made


def _list_entries(program: Program, slot: InputSlot, vector: Any) -> list[Any]:
    """Return the entries of a vector or matrix; ShapeMismatch where it has another shape."""
    if vector is None and slot.field.missing is not None:
        return [slot.field.missing] * len(slot.field.entries)
    try:
        return flatten_entries(vector, slot.field.shape)
    except ShapeMismatch as error:
        raise ShapeMismatch(f"reward {program.name!r}, field {slot.column!r}: {error}") from None


UNUSUAL = (KeyError, TypeError, IndexError, AttributeError)


class Absent:
    """What a keyword argument holds that was not given."""

    def __repr__(self) -> str:
        return "<not given>"


ABSENT = Absent()


@dataclass(slots=True)
class FastPath:
    """Arguments of a generated function, its first lines, and the names they use."""

    arguments: list[str]
    lines: list[str]
    names: dict[str, Any]
    given: str
    """An expression for everything that was passed, for `convert_row`."""
    vectors: dict[str, str] = field(default_factory=dict)
    """The name of each vector that has been read."""
    keywords: list[str] | None = None
    """The names that the first arguments go by, where they are keyword arguments."""

    def rename_arguments(self, made: Any) -> Any:
        """Return a generated function with its keyword arguments under their real names.

        The names are put into the code object as data, so no text of a reward is ever compiled.
        """
        if self.keywords is not None:
            given, extra, *rest = made.__code__.co_varnames[len(self.keywords) :]
            given, extra = (_find_free(name, self.keywords) for name in (given, extra))
            made.__code__ = made.__code__.replace(co_varnames=(*self.keywords, given, extra, *rest))
            made.__kwdefaults__ = dict(zip(self.keywords, (made.__kwdefaults__ or {}).values(), strict=True))
        return made


def _find_free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def build_fast_path(program: Program, converters: Sequence[Callable[[Any], Any]], *, keywords: bool) -> FastPath:
    """Return the fast path for a mapping called `inputs` or, with `keywords`, for keyword arguments."""
    found = list_slots(program)
    top = list(dict.fromkeys(slot.record or slot.key for slot in found))
    names: dict[str, Any] = {"read_record": read_record, "KeyError": KeyError, "len": len, "dict": dict, "bool": bool}
    names |= {f"k{i}": slot.key for i, slot in enumerate(found)} | {f"d{i}": c for i, c in enumerate(converters)}
    names |= {f"q{i}": name for i, name in enumerate(top)}
    if keywords:
        names |= {"absent": ABSENT, "collect_keywords": collect_keywords}
        pairs = "".join(f"(q{i}, y{i}), " for i in range(len(top)))
        names["refuse"] = partial(_refuse_positional, program.name, top)
        arguments = ["*given", *(f"y{i}=absent" for i in range(len(top))), "**extra"]
        collected = f"refuse(given) if given else collect_keywords(({pairs}), extra)"
        path = FastPath(arguments, [], names, collected, keywords=top)
    else:
        path = FastPath(["inputs"], [], names, "inputs")
    path.lines.append("t = ()")
    for name in RECORDS:
        if name in top:
            _read_record(path, program, name, top, found)
    for i, slot in enumerate(found):
        _read_slot(path, program, i, slot, top)
    path.lines.append(f"if {_format_unexpected(path, program, found, top)}: raise KeyError")
    return path


def collect_keywords(pairs: Sequence[tuple[str, Any]], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments as a mapping, without those that were not given."""
    return {name: value for name, value in pairs if value is not ABSENT} | dict(extra)


def _refuse_positional(reward: str, names: Sequence[str], given: Sequence[object]) -> NoReturn:
    listed = ", ".join(f"{name}=..." for name in names[:4]) + (", ..." if len(names) > 4 else "")
    row = "; a mapping goes in as score(**row)" if isinstance(given[0], Mapping) else ""
    raise WrongType(
        f"reward {reward!r}: score() takes the inputs of one step by keyword, score({listed}){row}. For a batch write "
        "reward.compile('numpy')(columns)."
    )


class VectorReader:
    """Reads the vectors of one column."""

    def __init__(self, slot: InputSlot) -> None:
        self._column, self._shape, self._numbers = slot.column, slot.field.shape, slot.field.kind == "number"
        self._rounded = DtypeMap(slot.field)

    def __call__(self, seen: Dtypes, vector: Any) -> tuple[Dtypes, Any]:
        """Return a vector whose entries are plain numbers, and `seen` with its dtype where that is narrow.

        An array becomes a list, which is faster to read one by one; numbers that count as a bound are that bound.
        """
        if type(vector) is tuple or type(vector) is list:
            return seen, vector if len(self._shape) == 1 else self._flatten(vector)
        if not hasattr(vector, "dtype") or tuple(vector.shape) != self._shape:
            raise TypeError  # convert_row says what it is
        dtype = vector.dtype
        listed = (vector if len(self._shape) == 1 else vector.reshape(-1)).tolist()
        if (name := NARROW_NAMES[dtype]) and self._numbers:
            seen = join_dtype(seen, self._column, name)
            if counts_as := self._rounded[dtype]:
                listed = [counts_as.get(number, number) for number in listed]
        return seen, listed

    def _flatten(self, vector: Any) -> list[Any]:
        try:
            return flatten_entries(vector, self._shape)
        except ShapeMismatch:
            raise TypeError from None  # convert_row says what it is


def make_number_reader(slot: InputSlot, convert: Callable[[Any], Any]) -> Callable[[Dtypes, Any], tuple[Dtypes, Any]]:
    """Return the function that converts an unusual number, and adds its dtype to those seen where that is narrow."""
    column, rounded = slot.column, DtypeMap(slot.field)

    def read_number(seen: Dtypes, value: Any) -> tuple[Dtypes, Any]:
        if isinstance(value, float):  # of NumPy
            return seen, float(value)
        dtype = getattr(value, "dtype", None)
        name = NARROW_NAMES[dtype] if dtype is not None else ""
        if not name or value.ndim:
            return seen, convert(value)
        number, counts_as = float(value), rounded[dtype]
        return join_dtype(seen, column, name), counts_as.get(number, number) if counts_as else number

    return read_number


def make_keeper(slot: InputSlot, convert: Callable[[Any], Any]) -> Callable[[Dtypes, Any], tuple[Dtypes, Any]]:
    """Return the function that keeps a value which is not needed yet: NaN where it is not given or of another kind."""
    read_number = make_number_reader(slot, convert)

    def keep(seen: Dtypes, value: Any) -> tuple[Dtypes, Any]:
        try:
            if value is ABSENT:
                return seen, convert(None)
            seen, kept = read_number(seen, value) if slot.field.kind == "number" else (seen, convert(value))
        except InputError:
            return seen, math.nan
        return seen, kept if kept == kept else math.nan

    return keep


def _read_record(path: FastPath, program: Program, name: str, top: list[str], found: Sequence[InputSlot]) -> None:
    """Read `prev` or `curr`; a whole state may hold declared fields that are read at the other end only."""
    keys = {slot.key for slot in found if slot.record == name}
    declared = {slot.key for slot in found if slot.record}
    computed = program.states.keys() if name == "curr" else set()
    path.names |= {f"keys_{name}": keys, f"declared_{name}": frozenset(declared - computed)}
    path.lines += [
        f"{name} = {_format_argument(path, name, top)}",
        f"if type({name}) is not dict: {name} = read_record({name}, keys_{name})",
        f"if len({name}) != {len(keys)} and not ({name}.keys() <= declared_{name}): raise KeyError",
    ]


def _format_argument(path: FastPath, name: str, top: list[str]) -> str:
    return f"y{top.index(name)}" if path.keywords is not None else f"inputs[q{top.index(name)}]"


def _format_unexpected(path: FastPath, program: Program, found: Sequence[InputSlot], top: list[str]) -> str:
    """Return the test that something was passed that the reward does not read."""
    if path.keywords is not None:
        return "given or extra"
    if any(_find_default(program, slot) is not None for slot in found):
        path.names["top"] = frozenset(top)
        return "not (inputs.keys() <= top)"
    return f"len(inputs) != {len(top)}"


def _find_default(program: Program, slot: InputSlot) -> Any:
    """Return the default of a single top-level value that is not given, or None."""
    return None if slot.record or slot.entry is not None else find_default(program, slot, False)


def _read_slot(path: FastPath, program: Program, i: int, slot: InputSlot, top: list[str]) -> None:
    """Read one input into x0, x1 …, as a float, a flag or the position of a category."""
    value = f"{slot.record}[k{i}]" if slot.record else _format_argument(path, slot.key, top)
    if slot.entry is not None:
        new = slot.column not in path.vectors
        vector = path.vectors.setdefault(slot.column, f"w{len(path.vectors)}")
        if new:
            path.names |= {f"r{i}": VectorReader(slot), "list": list}
            if slot.field.length is None:
                path.lines.append(f"t, {vector} = r{i}(t, {value})")
            else:
                path.lines += [f"{vector} = {value}", f"if type({vector}) is not list: t, {vector} = r{i}(t, {vector})"]
                path.lines.append(f"if len({vector}) != {slot.field.length}: raise KeyError")
        value = f"{vector}[{slot.entry}]"
    conversion = _format_conversion(path, i, slot)
    if slot.name in program.terminal:  # before the end it is kept as it was given, as in convert_row
        path.names |= {f"g{i}": make_keeper(slot, path.names[f"d{i}"]), "absent": ABSENT}
        if slot.entry is None and path.keywords is None:
            value = f"{slot.record or 'inputs'}.get({f'k{i}' if slot.record else f'q{top.index(slot.key)}'}, absent)"
        elif slot.record and slot.entry is None:
            value = f"{slot.record}.get(k{i}, absent)"
        ended = f"x{list(program.inputs).index('terminal')}"
        path.lines += [f"x{i} = {value}", f"if {ended}:", *(f"    {line}" for line in conversion)]
        unusual = {"number": f"elif type(x{i}) is not float or x{i} != x{i}", "flag": f"elif type(x{i}) is not bool"}
        path.lines.append(f"{unusual.get(slot.field.kind, 'else')}: t, x{i} = g{i}(t, x{i})")
        return
    default = _find_default(program, slot)
    if default is not None:
        path.names[f"e{i}"] = default
        kept = f"{value} if {value} is not absent else e{i}"
        value = f"inputs.get(q{top.index(slot.key)}, e{i})" if path.keywords is None else kept
    path.lines += [f"x{i} = {value}", *conversion]


def _format_conversion(path: FastPath, i: int, slot: InputSlot) -> list[str]:
    """Return the lines that turn x0, x1 … into what its field holds."""
    if slot.field.kind == "category":
        path.names[f"m{i}"] = {label: float(position) for position, label in enumerate(slot.field.labels)}
        return [f"x{i} = m{i}[x{i}] if x{i} in m{i} else d{i}(x{i})"]
    if slot.field.kind == "flag":
        return [f"if type(x{i}) is not bool: x{i} = d{i}(x{i})"]
    path.names[f"n{i}"] = make_number_reader(slot, path.names[f"d{i}"])
    if slot.field.numbers:  # looked up: that they are allowed is known from here on
        path.names[f"m{i}"] = {number: number for number in slot.field.numbers}
        return [f"if type(x{i}) is not int and type(x{i}) is not float: t, x{i} = n{i}(t, x{i})", f"x{i} = m{i}[x{i}]"]
    return [
        f"if type(x{i}) is not float:",
        f"    if type(x{i}) is int and -{LARGEST_INTEGER} <= x{i} <= {LARGEST_INTEGER}: x{i} = float(x{i})",
        f"    else: t, x{i} = n{i}(t, x{i})",
    ]
