"""What C writes in one way and a language that takes the same text, such as CUDA, in another."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from plaudit.targets.c.reward import CReward


class Dialect(NamedTuple):
    """A language that a header is written in; `{upper}` and `{prefix}` in its texts are the prefix of all names."""

    languages: str
    """What takes the header: "C99 and C++11"."""
    function: str
    """What every function begins with."""
    product: str
    """How `{0}` times `{1}` is written."""
    rounding: str
    """What must be done for exact numbers; a sentence goes on behind it."""
    library: str
    """Where functions such as `exp` come from, and how far they are from Python's."""
    format_start: Callable[["CReward"], list[str]]
    """Returns what must come first: what is included, and what is refused."""
    format_end: Callable[["CReward"], list[list[str]]]
    """Returns what comes after the functions of a row."""
    names: tuple[str, ...] = ()
    """Names at file level, after the prefix, that C does not have."""
    macros: tuple[str, ...] = ()
    """The same of macros."""


def format_includes(made: "CReward") -> list[str]:
    """Return the includes of a header in C or C++, and the tests of what it is compiled with."""
    real = made.real
    digits, name = ("FLT_MANT_DIG != 24", "float") if real == "float" else ("DBL_MANT_DIG != 53", "double")
    wide = "FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2" if real == "float" else "FLT_EVAL_METHOD == 2"
    return [
        "#include <float.h>",
        "#include <math.h>",
        "#include <stdbool.h>",
        "",
        "#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)",
        '#error "compile without -ffast-math and -ffinite-math-only: NaN would pass every check"',
        "#endif",
        f"#if {digits}",
        f'#error "{name} must be the IEEE 754 type; some small processors use a different one"',
        "#endif",
        f"#if defined(FLT_EVAL_METHOD) && ({wide})",
        '#error "numbers are computed in a wider type than they are stored in; compile with -msse2 -mfpmath=sse"',
        "#endif",
    ]


C = Dialect(
    languages="C99 and C++11",
    function="static inline",
    product="({0} * {1})",
    rounding="Compiled with -ffp-contract=off",
    library="whose rounding depends on the C library (within 4 ULP)",
    format_start=format_includes,
    format_end=lambda made: [],
)
