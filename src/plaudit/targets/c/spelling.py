"""How each operation is written in C, and the functions that C does not have."""

from plaudit.language import nodes as n
from plaudit.language.program import Program
from plaudit.targets.c.writing import format_number
from plaudit.targets.compiled import FLOATS
from plaudit.targets.emit import INFIX, Spelling

_NAMES: dict[type[n.Node], str] = {n.Abs: "fabs", n.Round: "rint"}
"""What C calls a function that has another name in Python."""
_OWN: dict[type[n.Node], str] = {n.Sign: "sign", n.Power: "power"}
"""Functions that the header brings itself."""


class CategoryItem(n.Item):
    """An entry of a table at the position of a category, which is an `int` in C."""

    __slots__ = ()


def name_type(dtype: str) -> str:
    """Return what C calls a type of float."""
    return "float" if dtype == "float32" else "double"


def format_constant(value: float | bool, dtype: str) -> str:
    """Return a number or a bool as a literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return format_number(value, dtype)


def _format_domain(domain: n.Domain, dtype: str) -> str:
    """Return the test that {0} is inside a domain, written so that NaN fails."""
    below, above = ("<" if end else "<=" for end in (domain.open_low, domain.open_high))
    high = FLOATS[dtype].exponent if domain.high == n.LARGEST_EXPONENT else domain.high
    low_end, high_end = format_number(domain.low, dtype), format_number(high, dtype)
    tests = [] if domain.low == -float("inf") and not domain.open_low else [f"{low_end} {below} {{0}}"]
    tests += [] if high == float("inf") and not domain.open_high else [f"{{0}} {above} {high_end}"]
    return " && ".join(tests)


def build_spelling(prefix: str, dtype: str, *, product: str = INFIX[n.Mul]) -> Spelling:
    """Return how each operation is written in C; every one is total, as everywhere."""
    f = "f" if dtype == "float32" else ""
    zero, one = format_number(0.0, dtype), format_number(1.0, dtype)

    def call(kind: type[n.Node], arguments: str) -> str:
        if kind in _OWN:
            return f"{prefix}_{_OWN[kind]}_({arguments})"
        made = f"{_NAMES.get(kind, n.split_function(kind)[1])}{f}({arguments})"
        return f"({made} + {zero})" if kind in (n.Floor, n.Ceil, n.Round) else made  # Python has no integer -0

    def apply(kind: type[n.Node]) -> str:
        if kind.domain is None:
            return call(kind, n.format_slots(kind))
        return call(kind, f"({_format_domain(kind.domain, dtype)}) ? {{0}} : {format_number(kind.harmless, dtype)}")

    inside = "{0} >= 0 && {0} <= {last}"
    divisor = f"({{1}} != {zero} ? {{1}} : {one})"
    tables: dict[type[n.Node], str] = {
        n.Item: f"{{table}}[{inside} ? (int){{0}} : 0]",
        CategoryItem: f"{{table}}[{inside} ? {{0}} : 0]",
    }
    return Spelling(
        operations={
            **{kind: apply(kind) for kind in n.FUNCTIONS},
            **INFIX,
            n.Mul: product.replace("{prefix}", prefix),
            n.Not: "(!{0})",
            n.Number: f"({{0}} ? {one} : {zero})",
            n.IsInf: f"(fabs{f}({{0}}) == {format_number(float('inf'), dtype)})",
            n.IsFinite: f"({_format_domain(n.FINITE, dtype)})",
            n.Div: f"({{0}} / {divisor})",
            n.FloorDiv: f"{prefix}_floor_div_({{0}}, {divisor})",
            n.Mod: f"{prefix}_mod_({{0}}, {divisor})",
            n.Min: "({1} < {0} ? {1} : {0})",
            n.Max: "({1} > {0} ? {1} : {0})",
            n.Eq: "({0} == {1})",
            n.Ne: "({0} != {1})",
            n.And: "({0} && {1})",
            n.Or: "({0} || {1})",
            n.Select: "({0} ? {1} : {2})",
            n.Clip: "({0} < {1} ? {1} : {0} > {2} ? {2} : {0})",
            **tables,
        },
        defined={
            **{kind: f"({_format_domain(kind.domain, dtype)})" for kind in n.FUNCTIONS if kind.domain is not None},
            **dict.fromkeys((n.Div, n.FloorDiv, n.Mod), f"({{1}} != {zero})"),
            n.Item: f"({inside} && floor{f}({{0}}) == {{0}})",
            CategoryItem: f"({inside})",
        },
        constant=lambda value: format_constant(value, dtype),
        plain={
            **{kind: call(kind, "{0}") for kind in n.FUNCTIONS if kind.partial},
            n.Div: "({0} / {1})",
            n.FloorDiv: f"{prefix}_floor_div_({{0}}, {{1}})",
            n.Mod: f"{prefix}_mod_({{0}}, {{1}})",
            n.Item: "{table}[(int){0}]",
            CategoryItem: "{table}[{0}]",
        },
        cheap=(n.Lt, n.Le, n.Gt, n.Ge, n.Eq, n.Ne),
    )


HELPERS = {
    n.Sign: """\
{function} {real} {prefix}_sign_({real} x)
{{
    return x > {zero} ? {one} : x < {zero} ? -{one} : x == {zero} ? {zero} : x;
}}""",
    n.Power: """\
{function} {real} {prefix}_power_({real} base, {real} exponent)
{{
    return base > {zero} || (base == {zero} && exponent > {zero}) ? pow{f}(base, exponent) : {one};
}}""",
    n.Mod: """\
/* a % b with the sign of b, as Python has it. */
{function} {real} {prefix}_mod_({real} a, {real} b)
{{
    const {real} rest = fmod{f}(a, b);
    if (rest == {zero})
        return copysign{f}({zero}, b);
    return (b < {zero}) != (rest < {zero}) ? rest + b : rest;
}}""",
    n.FloorDiv: """\
/* a // b, rounded down as Python does it. */
{function} {real} {prefix}_floor_div_({real} a, {real} b)
{{
    const {real} rest = fmod{f}(a, b);
    {real} quotient = (a - rest) / b, whole;
    if (rest != {zero} && (b < {zero}) != (rest < {zero}))
        quotient -= {one};
    if (quotient == {zero})
        return copysign{f}({zero}, a / b);
    whole = floor{f}(quotient);
    return quotient - whole > {half} ? whole + {one} : whole;
}}""",
}
"""Functions that the header brings where the reward uses them."""


def write_helpers(program: Program, prefix: str, dtype: str, function: str) -> list[str]:
    """Return the functions that a Program needs and C does not have."""
    used = {type(node) for node in program.nodes}
    numbers = {name: format_number(value, dtype) for name, value in (("zero", 0.0), ("one", 1.0), ("half", 0.5))}
    f = "f" if dtype == "float32" else ""
    return [
        text.format(prefix=prefix, real=name_type(dtype), f=f, function=function, **numbers)
        for kind, text in HELPERS.items()
        if kind in used
    ]
