"""The structs of a reward in C (inputs, knobs, state and outputs) and the names in them."""

import math
from collections.abc import Iterable, Sequence

from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.targets.c.body import Body, Check
from plaudit.targets.c.spelling import format_constant, name_type
from plaudit.targets.c.writing import Names, escape_comment, format_comment, format_number
from plaudit.targets.compiled import About
from plaudit.targets.inputs import InputColumn, list_columns, list_slots


class Structs:
    """The structs of one Program, and where in them its inputs, knobs, terms and states are."""

    def __init__(
        self, program: Program, prefix: str, dtype: str, about: About, taken: Iterable[str], function: str
    ) -> None:
        """Give everything its name: first what every header has, some of it `taken`, then fields, terms, categories.

        `function` is what functions begin with.
        """
        self.program = program
        self.prefix = prefix
        self.dtype = dtype
        self.real = name_type(dtype)
        self.about = about
        self.function = function
        self.columns = list_columns(program)
        self._places = {slot.name: (slot.column, slot.entry or 0) for slot in list_slots(program)}
        fixed = "inputs outputs knobs state status score explain initial_state default_knobs no_field no_term"
        fixed += " judge_ refuse_ sign_ power_ mod_ floor_div_"
        self._file_names = names = Names([*taken, *(f"{prefix}_{name}" for name in fixed.split())])
        self.field_names = {column.name: names.claim(f"{prefix}_field_{column.name}") for column in self.columns}
        self.term_names = {term: names.claim(f"{prefix}_term_{term}") for term in program.terms}
        self.labels = {field.name: self._name_labels(field) for field in self._list_categories()}
        self._changed: dict[str, str] = {}
        self.members = self._name_members()
        names = Names()
        self.terms = {term: names.claim(term) for term in program.terms}
        self._keep_changed("term", names)
        self.knobs = self._name_knobs()

    def _keep_changed(self, what: str, names: Names) -> None:
        self._changed |= {f"{what} {name}": found for name, found in names.changed.items()}

    def _list_categories(self) -> Iterable[Field]:
        found = {field.name: field for field in self.program.inputs.values() if field.kind == "category"}
        return found.values()

    def _name_labels(self, field: Field) -> list[str]:
        return [self._file_names.claim(f"{self.prefix}_{field.name}_{label}") for label in field.labels]

    def _name_members(self) -> dict[str, str]:
        """Return the member of each column, from the struct that holds it: `prev.tokens_used`."""
        scopes: dict[str, Names] = {}
        found = {}
        for column in self.columns:
            slot = column.slots[0]
            scope = "state" if self.is_state(column) else slot.record
            names = scopes.setdefault(scope, Names(() if scope else ("prev", "curr")))
            name = names.claim(slot.key)
            found[column.name] = f"{slot.record}.{name}" if scope in ("prev", "curr") else name
        for names in scopes.values():
            self._keep_changed("field", names)
        return found

    def is_state(self, column: InputColumn) -> bool:
        """Return whether a column is a state before the step."""
        slot = column.slots[0]
        return slot.record == "prev" and slot.key in self.program.states

    def _name_knobs(self) -> dict[str, str]:
        """Return the member of each parameter: `comfort.harsh`, `pose.target[3]`, `far`."""
        owners = Names()
        scopes: dict[str, tuple[str, Names]] = {}
        members: dict[str, str] = {}
        found = {}
        for name in self.program.params:
            whole, bracket, entry = name.partition("[")
            owner, _, knob = whole.rpartition(".")
            if whole not in members:
                if owner and owner not in scopes:
                    scopes[owner] = (owners.claim(owner), Names())
                within, scope = scopes[owner] if owner else ("", owners)
                members[whole] = f"{within}.{scope.claim(knob)}" if owner else scope.claim(knob)
            found[name] = f"{members[whole]}{bracket}{entry}"
        for _, names in (("", owners), *scopes.values()):
            self._keep_changed("knob", names)
        return found

    def describe_changed(self) -> list[str]:
        """Return a line for each name that is not the same in C."""
        return [f"  {name} -> {found}" for name, found in self._changed.items()]

    # -- types ----------------------------------------------------------------------------------------------------

    def format_types(self) -> list[list[str]]:
        """Return every type of the header, each with its comment."""
        p = self.prefix
        fields = [f"    {name} = {at}," for at, name in enumerate(self.field_names.values())]
        terms = [f"    {name} = {at}," for at, name in enumerate(self.term_names.values())]
        parts = [self._format_labels(field) for field in self._list_categories()]
        parts.append(self._format_inputs())
        parts += [self._format_state(), self._format_initial_state()] if self.program.states else []
        parts += [self._format_knobs(), self._format_default_knobs()] if self.program.params else []
        blamed = "/* The field of the inputs or the state that failed; `entry` is the index within a vector. */"
        parts.append(_end_enum([blamed, "enum {", f"    {p}_no_field = -1,", *fields]))
        parts.append(_end_enum(["/* The term that failed. */", "enum {", f"    {p}_no_term = -1,", *terms]))
        parts.append(self._format_outputs())
        return parts

    def _format_labels(self, field: Field) -> list[str]:
        listed = [
            f"    {name} = {at}, /* {escape_comment(repr(label))} */"
            for at, (name, label) in enumerate(zip(self.labels[field.name], field.labels, strict=True))
        ]
        said = f"The categories of {field.name}."
        if field.other is not None:
            said += f" Use {field.other!r} for any value that is not listed."
        return _end_enum([*format_comment(said), "enum {", *listed])

    def _format_inputs(self) -> list[str]:
        own = [column for column in self.columns if not self.is_state(column)]
        lines = self._format_columns([column for column in own if not column.slots[0].record], "    ")
        for record in ("prev", "curr"):
            if held := [column for column in own if column.slots[0].record == record]:
                lines += ["    struct {", *self._format_columns(held, "        "), f"    }} {record};"]
        lines = lines or ["    char unused; /* the reward has no inputs */"]
        return [
            "/* One row of inputs. */",
            f"typedef struct {self.prefix}_inputs {{",
            *lines,
            f"}} {self.prefix}_inputs;",
        ]

    def _format_columns(self, columns: Sequence[InputColumn], indent: str) -> list[str]:
        lines = []
        for column in columns:
            field = column.slots[0].field
            name = self.members[column.name].rpartition(".")[2]
            lines += format_comment(self._describe_field(field), indent)
            lines.append(f"{indent}{self.name_kind(field)} {name}{_format_shape(field)};")
        return lines

    def name_kind(self, field: Field) -> str:
        """Return the type of a value of a field."""
        return {"number": self.real, "flag": "bool", "category": "int"}[field.kind]

    def _describe_field(self, field: Field) -> str:
        parts = [field.doc.strip()] if field.doc.strip() else []
        if field.kind == "category":
            parts.append(f"One of {self.labels[field.name][0]} …")
        elif field.numbers:
            parts.append("One of " + ", ".join(f"{number:g}" for number in field.numbers))
        elif field.kind == "number":
            low, high = ("any" if end is None else f"{end:g}" for end in (field.low, field.high))
            unit = f" {field.unit}" if field.unit else ""
            infinite = " or infinity" if field.infinite else ""
            outside = {"raise": "", "clip": "; values outside are clipped", "allow": "; values outside are allowed"}[
                field.outside
            ]
            parts.append(f"[{low}, {high}]{unit}{infinite}{outside}")
        if field.missing is not None:
            parts.append(f"If missing, use {field.missing!r}")
        return ". ".join(part.rstrip(".") for part in parts) + "." if parts else ""

    def _format_state(self) -> list[str]:
        held = [self._format_member(name) for name in self.program.states]
        return [
            "/* State carried from one step of an episode to the next. */",
            f"typedef struct {self.prefix}_state {{",
            *(line for lines in held for line in lines),
            f"}} {self.prefix}_state;",
        ]

    def _format_member(self, state: str) -> list[str]:
        field = self.program.states[state].field
        said = format_comment(self._describe_field(field), "    ")
        return [*said, f"    {self.name_kind(field)} {self.name_state(state)}{_format_shape(field)};"]

    def name_state(self, state: str) -> str:
        """Return the member of a state in its struct."""
        return self.members[f"prev.{state}"]

    def _format_initial_state(self) -> list[str]:
        p, lines = self.prefix, []
        for name, carried in self.program.states.items():
            for entry, value in zip(carried.field.entries or ("",), carried.reset, strict=True):
                lines.append(f"    state.{self.name_state(name)}{entry} = {self.format_value(value)};")
        return [
            "/* The state before the first step of an episode. */",
            f"{self.function} {p}_state {p}_initial_state(void)",
            "{",
            f"    {p}_state state;",
            *lines,
            "    return state;",
            "}",
        ]

    def format_value(self, value: float | bool) -> str:
        """Return a number or a bool as a literal."""
        return format_constant(value, self.dtype)

    def _format_knobs(self) -> list[str]:
        shapes = self.program.vector_params
        scopes: dict[str, list[str]] = {}
        for name, member in self.knobs.items():
            whole, bracket, _ = name.partition("[")
            if bracket and not member.endswith("[0]" * len(shapes.get(whole, ()))):
                continue
            owner, _, knob = member.partition("[")[0].rpartition(".")
            kind = "bool" if isinstance(self.program.params[name], bool) else self.real
            sizes = "".join(f"[{size}]" for size in shapes.get(whole, ()))
            scopes.setdefault(owner, []).append(f"{kind} {knob}{sizes};")
        lines = [f"    {line}" for line in scopes.pop("", [])]
        for owner, held in scopes.items():
            lines += ["    struct {", *(f"        {line}" for line in held), f"    }} {owner};"]
        return [
            "/* Numbers that you can change at run time. */",
            f"typedef struct {self.prefix}_knobs {{",
            *lines,
            f"}} {self.prefix}_knobs;",
        ]

    def _format_default_knobs(self) -> list[str]:
        p = self.prefix
        sets = [
            f"    knobs.{self.knobs[name]} = {self.format_value(value)};" for name, value in self.program.params.items()
        ]
        return [
            "/* The knobs as the reward declares them. */",
            f"{self.function} {p}_knobs {p}_default_knobs(void)",
            "{",
            f"    {p}_knobs knobs;",
            *sets,
            "    return knobs;",
            "}",
        ]

    def list_knob_checks(self) -> list[Check]:
        """Return the checks that every knob is finite."""
        infinite = format_number(math.inf, self.dtype)
        found = []
        for name, value in self.program.params.items():
            if not isinstance(value, bool):
                knob = f"knobs->{self.knobs[name]}"
                said = f"knob '{name.partition('[')[0]}' is NaN or infinite"
                found.append(Check(f"(-{infinite} < {knob} && {knob} < {infinite})", "BAD_KNOB", said))
        return found

    def _format_outputs(self) -> list[str]:
        lines = []
        for title, said in (
            ("values", "what each term adds to the total"),
            ("scores", "what each term returns, before clamp and weight"),
        ):
            lines += [f"    struct {{ /* {said} */"]
            for term, member in self.terms.items():
                doc = self.about.docs.get(term, "") if title == "values" else ""
                lines += [*format_comment(doc, "        "), f"        {self.real} {member};"]
            lines.append(f"    }} {title};")
        p = self.prefix
        return [
            "/* The result. If the status is not OK, the numbers are NaN and the other members say why. */",
            f"typedef struct {p}_outputs {{",
            f"    {p}_status status;",
            f"    int check; /* the check that failed, counted from 1; 0: none. {p}_explain gives its text */",
            f"    int field; /* {p}_field_..., or {p}_no_field */",
            "    int entry; /* index within a vector, in row-major order; 0 for a single value */",
            f"    int term; /* {p}_term_..., or {p}_no_term */",
            f"    {self.real} total;",
            *lines,
            f"}} {p}_outputs;",
        ]

    # -- the function ---------------------------------------------------------------------------------------------

    def list_numbers(self) -> list[str]:
        """Return every number of the outputs."""
        parts = [f"{part}.{member}" for part in ("values", "scores") for member in self.terms.values()]
        return ["total", *parts]

    def find_field(self, name: str) -> tuple[str, int]:
        """Return the enumerator of an input by its whole name, and its entry."""
        column, entry = self._places.get(name, ("", 0))
        return self.field_names.get(column, f"{self.prefix}_no_field"), entry

    def find_vector(self, name: str) -> tuple[str, str]:
        """Return the type of the entries of a vector and its place, by the whole name of an entry."""
        column = name.partition("[")[0]
        return self.name_kind(self.program.inputs[name]), self.format_place(column, "in->", "state->")

    def find_term(self, name: str) -> str:
        """Return the enumerator of a term."""
        return self.term_names.get(name, f"{self.prefix}_no_term")

    def format_reads(self, names: Sequence[str]) -> list[str]:
        """Return the lines that read inputs and knobs into locals; what only the end reads is at rest before it."""
        slots, lines = list_slots(self.program), []
        ends = {slot.name: at for at, slot in enumerate(slots)}.get("terminal")
        knobs = list(self.program.params)
        for name in sorted(names, key=lambda name: name != f"x{ends}"):
            at = int(name[1:])
            if name.startswith("p"):
                kind = "bool" if isinstance(self.program.params[knobs[at]], bool) else self.real
                lines.append(f"const {kind} {name} = knobs->{self.knobs[knobs[at]]};")
                continue
            slot = slots[at]
            value = self.format_place(slot.name, "in->", "state->")
            if slot.name in self.program.terminal:
                value = f"in->{self.members['terminal']} ? {value} : {self._format_rest(slot.field)}"
            lines.append(f"const {self.name_kind(slot.field)} {name} = {value};")
        return lines

    def format_place(self, name: str, inputs: str, state: str) -> str:
        """Return the place of an input: in the inputs or in the state."""
        column, bracket, entry = name.partition("[")
        record, _, key = column.rpartition(".")
        start = state if record == "prev" and key in self.program.states else inputs
        return f"{start}{self.members[column]}{bracket}{entry}"

    def _format_rest(self, field: Field) -> str:
        if field.kind == "category":
            return str(field.labels.index(str(field.at_rest)))
        rest: float | bool = field.at_rest  # type: ignore[assignment]  # a string for categories alone
        return self.format_value(rest)

    def format_writes(self, body: Body) -> list[str]:
        """Return the lines that write the outputs, and the state after the step."""
        layout, p = body.layout, self.prefix
        lines = [f"out->status = {p}_OK;", "out->check = 0;", f"out->field = {p}_no_field;", "out->entry = 0;"]
        lines += [f"out->term = {p}_no_term;", f"out->total = {body.outputs[layout.total]};"]
        for part, places in (("values", layout.values), ("scores", layout.scores)):
            for term, at in zip(layout.terms, places, strict=True):
                lines.append(f"out->{part}.{self.terms[term]} = {body.outputs[at]};")
        for (name, carried), texts in zip(self.program.states.items(), body.states, strict=True):
            for entry, text in zip(carried.field.entries or ("",), texts, strict=True):
                lines.append(f"state->{self.name_state(name)}{entry} = {text};")
        return lines


def _end_enum(lines: list[str]) -> list[str]:
    """Return an enumeration without the comma after its last entry, and with its end."""
    last = lines[-1]
    head, comment, rest = last.partition(" /*")
    return [*lines[:-1], f"{head.rstrip(',')}{comment}{rest}", "};"]


def _format_shape(field: Field) -> str:
    return "".join(f"[{size}]" for size in field.shape)
