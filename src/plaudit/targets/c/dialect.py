"""What C writes in one way and a language that takes the same text, such as CUDA, in another."""

from typing import NamedTuple


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
    names: tuple[str, ...] = ()
    """Names at file level, after the prefix, that C does not have."""
    macros: tuple[str, ...] = ()
    """The same of macros."""


def format_includes(real: str) -> list[str]:
    """Return the includes of a header that computes in `real`, and the tests of what it is compiled with."""
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
)
