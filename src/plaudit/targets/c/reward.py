"""A reward as C: one header with its structs, its function, and the messages for bad rows."""

import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, NoReturn

from plaudit.errors import TargetError
from plaudit.language import nodes as n
from plaudit.language.program import Program, find_reachable
from plaudit.targets.c.body import Body, Check, write_body
from plaudit.targets.c.dialect import C, Dialect, format_includes
from plaudit.targets.c.spelling import build_spelling, write_helpers
from plaudit.targets.c.structs import Structs
from plaudit.targets.c.writing import (
    escape_comment,
    format_comment,
    format_number,
    format_string,
    make_identifier,
)
from plaudit.targets.compiled import About, Compiled

REALS = {"double": "float64", "float": "float32"}
KNOBS = ("constant", "struct")
IDENTITY = ("NAME", "VERSION", "FINGERPRINT", "DOMAIN_FINGERPRINT")
"""Constants with the identity of the reward."""
STATUSES = {
    "OK": "The row was scored.",
    "NOT_FINITE": "An input, or a state after the step, is NaN or an infinity that its field does not allow.",
    "OUT_OF_RANGE": "An input, or a state after the step, is outside its declared range.",
    "UNKNOWN_CATEGORY": "An input is not one of the categories of its field.",
    "OUTSIDE_DOMAIN": "A term divides by zero, takes the logarithm of a negative number, is not finite, and so on.",
    "BAD_KNOB": "A knob is NaN or infinite.",
}


class CReward(Compiled):
    """A reward compiled to C, as source text.

    `header` is one self-contained file of C99 that also compiles as C++11: `static inline` functions over structs,
    without allocation, globals or I/O. It returns a status instead of raising errors, so `on_bad` has no effect.
    """

    dialect: ClassVar[Dialect] = C

    def __init__(
        self,
        program: Program,
        *,
        guard: bool = True,
        on_bad: str = "mask",
        real: str = "double",
        knobs: str = "constant",
        prefix: str | None = None,
        about: About | None = None,
    ) -> None:
        """Compile `program` to C.

        It computes in `real`, "double" or "float". Knobs are constants, or with `knobs="struct"` a struct that can be
        changed while the program runs. Every name at file level begins with `prefix`, by default the reward's name.
        """
        super().__init__(program, guard=guard, on_bad=on_bad, real=real, knobs=knobs, prefix=prefix, about=about)
        if real not in REALS:
            raise TargetError(f"real={real!r:.60} is not one of {', '.join(REALS)}")
        if knobs not in KNOBS:
            raise TargetError(f"knobs={knobs!r:.60} is not one of {', '.join(KNOBS)}")
        if prefix is not None and not re.fullmatch(r"[A-Za-z](_?[A-Za-z0-9])*", prefix):
            raise TargetError(f"prefix={prefix!r:.60} must be a plain C identifier, such as 'braking'")
        self.real, self.knobs = real, knobs
        self.dtype = REALS[real]
        self.about = about or About(program.name)
        self.prefix = prefix or make_identifier(program.name).rstrip("_") or "reward"
        self.bound = program if knobs == "struct" else program.bind()
        self.upper = self.prefix.upper()
        self.function = self.dialect.function.format(upper=self.upper)
        macros = (f"{self.upper}_{name}" for name in (*IDENTITY, *self.dialect.macros))
        names = (f"{self.prefix}_{name}" for name in (*STATUSES, *self.dialect.names))
        taken = (*macros, *names)
        self.structs = Structs(self.bound, self.prefix, self.dtype, self.about, taken=taken, function=self.function)
        self.spelling = build_spelling(self.prefix, self.dtype, product=self.dialect.product)
        self._body = write_body(self.bound, self.spelling, prefix=self.prefix, dtype=self.dtype, guard=guard)

    @cached_property
    def header(self) -> str:
        """The whole header."""
        upper = self.upper
        parts = [
            self._format_title(),
            [f"#ifndef PLAUDIT_{upper}_H", f"#define PLAUDIT_{upper}_H", "", *self._format_start()],
            self._format_identity(upper),
            self._format_statuses(),
            *self.structs.format_types(),
            *([helper] for helper in write_helpers(self.bound, self.prefix, self.dtype, self.function)),
            self._format_judge(),
            self._format_refuse(),
            self._format_score(self._body),
            self._format_explain(),
            *self._format_end(),
            [f"#endif /* PLAUDIT_{upper}_H */"],
        ]
        return "\n\n".join("\n".join(part) for part in parts if part) + "\n"

    def _format_start(self) -> list[str]:
        """Return what must come first: what is included, and what is refused."""
        return format_includes(self.real)

    def _format_end(self) -> list[list[str]]:
        """Return what comes after the functions of a row."""
        return []

    @cached_property
    def operations(self) -> Mapping[str, int]:
        """How many operations of each kind a row costs at most; functions of the C library by their names."""
        roots = [*self.bound.outputs.values(), *(each.node for each in self.bound.guards(ranges=self.guard))]
        nodes = {at: self.bound.nodes[at] for at in find_reachable(self.bound.nodes, roots)}
        computed = set(roots)  # an operation that is only asked whether it is defined is not carried out
        computed.update(at for each in nodes.values() if not isinstance(each, n.Defined) for at in n.operands(each))
        found = Counter(name for at, node in nodes.items() if at in computed and (name := _name_operation(node)))
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    @property
    def exact(self) -> bool:
        """Whether every operation is exactly rounded, so that numbers equal Python's to the bit."""
        return not any(node.inexact for node in self.bound.nodes)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Every condition of a row, in order; the first that fails is what `check` says, counted from 1."""
        return (*self.structs.list_knob_checks(), *self._body.ranges, *self._body.checks)

    def step(self, inputs: Any, state: Any, *, reset: Any = None, params: Any = None) -> NoReturn:
        """Refuse: this is source text. The function in the header updates the state."""
        raise TargetError(
            f"the C target is source text: compile it and call {self.prefix}_score(…), which updates the state."
        )

    def __call__(self, *inputs: Any, **options: Any) -> NoReturn:
        """Refuse: this is source text."""
        raise TargetError(
            f"the C target is source text: write `.header` to a file and call {self.prefix}_score(…) from C."
        )

    def __repr__(self) -> str:
        return f"CReward({self.program.name}, real={self.real!r}, knobs={self.knobs!r})"

    # -- the parts of the header ----------------------------------------------------------------------------------

    def _format_title(self) -> list[str]:
        about = self.about
        said = [
            f"{about.name}{'@' if about.version else ''}{about.version}: a reward, as {self.dialect.languages}.",
            "",
        ]
        said += [about.doc, ""] if about.doc else []
        said += [self._describe_rounding(), "", self._describe_cost()]
        changed = self.structs.describe_changed()
        said += ["", "Names that differ in C:", *changed] if changed else []
        said += ["", "Generated by plaudit. Do not edit this file: change the reward and export it again."]
        return format_comment("\n".join(said))

    def _describe_rounding(self) -> str:
        python = "Python to the bit" if self.real == "double" else "a computation in 32-bit floats to the bit"
        said = f"{self.dialect.rounding}, every number equals that of {python}"
        if not self.exact:
            used = sorted({name for node in self.bound.nodes if node.inexact and (name := _name_operation(node))})
            said += f", except for {', '.join(used)}, {self.dialect.library}"
        return said + ". This assumes the default rounding mode, to nearest."

    def _describe_cost(self) -> str:
        listed = ", ".join(f"{count} {name}" for name, count in self.operations.items())
        return (
            f"A row costs at most {sum(self.operations.values())} operations: {listed or 'none'}. No heap, no globals."
        )

    def _format_identity(self, upper: str) -> list[str]:
        about = self.about
        values = (about.name, about.version, about.fingerprint, about.domain_fingerprint)
        return [f"#define {upper}_{name} {format_string(value)}" for name, value in zip(IDENTITY, values, strict=True)]

    def _format_statuses(self) -> list[str]:
        lines = [f"typedef enum {self.prefix}_status {{"]
        for at, (name, said) in enumerate(STATUSES.items()):
            if name != "BAD_KNOB" or self.bound.params:
                lines.append(f"    {self.prefix}_{name} = {at}, /* {escape_comment(said)} */")
        lines[-1] = lines[-1].replace(", /*", " /*", 1)
        return [*lines, f"}} {self.prefix}_status;"]

    def _format_judge(self) -> list[str]:
        """Return the function that gives the status of a number outside its range."""
        if not any("judge_" in check.status for check in self.checks):
            return []
        infinite = format_number(float("inf"), self.dtype)
        return [
            f"{self.function} {self.prefix}_status {self.prefix}_judge_({self.real} x)",
            "{",
            f"    return -{infinite} < x && x < {infinite} ? {self.prefix}_OUT_OF_RANGE : {self.prefix}_NOT_FINITE;",
            "}",
        ]

    def _format_refuse(self) -> list[str]:
        if not self.checks:
            return []
        p = self.prefix
        nan = "NAN" if self.real == "float" else "(double)NAN"
        members = self.structs.list_numbers()
        return [
            f"{self.function} {p}_status {p}_refuse_({p}_outputs *out, {p}_status status, int check, int field, "
            "int entry, int term)",
            "{",
            *(f"    out->{member} = {nan};" for member in members),
            "    out->status = status;",
            "    out->check = check;",
            "    out->field = field;",
            "    out->entry = entry;",
            "    out->term = term;",
            "    return status;",
            "}",
        ]

    def _format_score(self, body: Body) -> list[str]:
        p, structs = self.prefix, self.structs
        arguments = [f"const {p}_inputs *in"]
        arguments += [f"const {p}_knobs *knobs"] if self.bound.params else []
        arguments += [f"{p}_state *state"] if self.program.states else []
        arguments.append(f"{p}_outputs *out")
        said = "Scores a row. If the status is not OK, every number is NaN"
        said += " and the state is unchanged." if self.program.states else "."
        inner = [*body.tables, *structs.format_reads(body.reads)]
        count = 0
        for checks, lines in (
            (structs.list_knob_checks(), body.first),
            (body.ranges, body.formula),
            (body.checks, []),
        ):
            for check in checks:
                count += 1
                inner += self._format_check(check, count)
            inner += lines
        inner += structs.format_writes(body)
        inner += [f"return {p}_OK;"]
        inner = inner if any("in->" in line for line in inner) else ["(void)in;", *inner]
        return [
            *format_comment(said),
            f"{self.function} {p}_status {p}_score({', '.join(arguments)})",
            "{",
            "#if defined(__clang__)",
            "#pragma STDC FP_CONTRACT OFF",
            "#endif",
            *(f"    {line}" for line in inner),
            "}",
        ]

    def _format_check(self, check: Check, count: int) -> list[str]:
        status = check.status if check.status.startswith("(") else f"{self.prefix}_{check.status}"
        status = status[1:-1] if check.status.startswith("(") else status
        field, entry = self.structs.find_field(check.field)
        term = self.structs.find_term(check.term)
        for culprit, innocent in reversed(check.culprits):
            term = f"!{innocent} ? {self.structs.find_term(culprit)} : {term}"
        refuse = (
            f"return {self.prefix}_refuse_(out, {status}, {count}, {field}, {'i' if check.entries else entry}, {term});"
        )
        if not check.entries:
            return [f"if (!{check.test})", f"    {refuse}"]
        kind, place = self.structs.find_vector(check.field)
        return [
            f"for (int i = 0; i < {check.entries}; i++) {{",
            f"    const {kind} each = ((const {kind} *)(const void *){place})[i];",
            f"    if (!{check.test})",
            f"        {refuse}",
            "}",
        ]

    def _format_explain(self) -> list[str]:
        """Return the function with the message of each check; entries of a vector share one."""
        lines, p = [], self.prefix
        for at, check in enumerate(self.checks, 1):
            lines.append(f"    case {at}:")
            following = self.checks[at].text if at < len(self.checks) else None
            if following != check.text:
                lines.append(f"        return {format_string(check.text)};")
        return [
            "/* The text of the check that failed: `check` of the outputs. */",
            f"{self.function} const char *{p}_explain(int check)",
            "{",
            "    switch (check) {",
            *lines,
            "    default:",
            '        return "";',
            "    }",
            "}",
        ]


def _name_operation(node: n.Node) -> str:
    """Return what an operation is called in a count of them; an empty string for what costs nothing."""
    kind = type(node)
    if not n.operands(node) or isinstance(node, n.Number):
        return ""
    if isinstance(node, n.Binary) and re.fullmatch("Lt|Le|Gt|Ge|Eq|Ne", kind.__name__):
        return "comparisons"
    if isinstance(node, n.Defined | n.IsInf | n.IsFinite):
        return "comparisons"
    names = {
        n.Add: "additions",
        n.Sub: "additions",
        n.Mul: "multiplications",
        n.Div: "divisions",
        n.FloorDiv: "floor divisions",
        n.Mod: "remainders",
        n.Neg: "negations",
        n.Not: "logical",
        n.And: "logical",
        n.Or: "logical",
        n.Select: "choices",
        n.Min: "choices",
        n.Max: "choices",
        n.Clip: "clamps",
        n.Item: "table lookups",
    }
    return names.get(kind) or n.split_function(kind)[1]
