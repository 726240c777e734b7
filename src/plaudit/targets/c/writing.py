"""Parts of a C file: unique identifiers, comments that cannot be ended early, exact literals.

No text of a reward reaches the file but through here: as an identifier of letters, digits and underscores, as a
comment, or as a string literal, all of printable ASCII.
"""

import math
import re
import textwrap
from collections.abc import Iterable

from plaudit.targets.dtypes import round_to

WIDTH = 112

_C = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
nullptr typeof typeof_unqual constexpr alignas alignof static_assert thread_local asm fortran complex imaginary noreturn
"""
_CPP = """
and and_eq atomic_cancel atomic_commit atomic_noexcept bitand bitor catch char8_t char16_t char32_t class co_await
co_return co_yield compl concept consteval constinit const_cast decltype delete dynamic_cast explicit export false
friend mutable namespace new noexcept not not_eq operator or or_eq private protected public reflexpr reinterpret_cast
requires static_cast synchronized template this throw try typeid typename using virtual wchar_t xor xor_eq
"""
_MACROS = "linux unix i386 errno stdin stdout stderr"
"""Names in lower case that some compiler or header replaces by something else."""
KEYWORDS = frozenset(f"{_C} {_CPP} {_MACROS}".split())


class Names:
    """Identifiers of one scope, each given once; what was asked for and could not be had is remembered."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self.changed: dict[str, str] = {}

    def claim(self, wanted: str) -> str:
        """Return an identifier for a name that nothing else in this scope has.

        >>> names = Names()
        >>> [names.claim(name) for name in ("speed", "register", "register_", "GAIN", "no go", "no-go")]
        ['speed', 'register_', 'register_2', 'GAIN_', 'no_go', 'no_go_2']
        """
        plain = found = make_identifier(wanted)
        count = 1
        while found in self._taken:
            count += 1
            found = f"{plain.rstrip('_')}_{count}"
        self._taken.add(found)
        if found != wanted:
            self.changed[wanted] = found
        return found


def make_identifier(text: str) -> str:
    """Return a text as an identifier of C and C++ that is no keyword, and that no macro should have.

    >>> [make_identifier(text) for text in ("speed", "class", "PI", "__FILE__", "9 lives", "größe", "")]
    ['speed', 'class_', 'PI_', 'x_FILE_', 'x9_lives', 'gr_u00f6_u00dfe', 'x']
    """
    spelled = "".join(each if each.isascii() else f"_u{ord(each):04x}" for each in text)
    plain = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_]", "_", spelled))
    if not plain or not plain[0].isalpha():
        plain = f"x{plain}" if plain != "_" else "x"
    return f"{plain}_" if plain in KEYWORDS or plain.isupper() else plain


def escape_comment(text: str) -> str:
    r"""Return one line of text that ends no comment, begins none, and continues no line.

    >>> print(escape_comment("a */ b /* c ??/ d é \\"))
    a * / b / * c ? ?/ d \u00e9 \u005c
    """
    plain = "".join(each if " " <= each <= "~" else f"\\u{ord(each):04x}" for each in text)
    plain = plain.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").replace("??", "? ?").rstrip()
    return f"{plain[:-1]}\\u005c" if plain.endswith("\\") else plain


def format_comment(text: str, indent: str = "") -> list[str]:
    """Return the lines of a comment that holds a text of any number of lines."""
    lines = [
        escape_comment(part)
        for line in text.expandtabs(4).splitlines()
        for part in textwrap.wrap(line.strip(), WIDTH - len(indent), break_on_hyphens=False) or [""]
    ]
    while lines and not lines[-1]:
        lines.pop()
    if len(lines) <= 1:
        return [f"{indent}/* {lines[0]} */"] if lines else []
    return [f"{indent}/* {lines[0]}", *(f"{indent} * {line}".rstrip() for line in lines[1:]), f"{indent} */"]


def format_string(text: str) -> str:
    r"""Return a text as a string literal of ASCII, its bytes those of UTF-8.

    >>> print(format_string('say "é" ??/ \\'))
    "say \"\303\251\" \?\?/ \\"
    """
    special = {'"': '\\"', "\\": "\\\\", "?": "\\?"}
    data = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(special.get(chr(b), chr(b)) if 32 <= b < 127 else f"\\{b:03o}" for b in data) + '"'


def format_number(value: float, dtype: str) -> str:
    """Return a number as a literal of `double` or `float` that is read back as that very number.

    >>> format_number(0.1, "float64"), format_number(0.1, "float32"), format_number(-1e40, "float32")
    ('0.1', '0.1f', '(-HUGE_VALF)')
    """
    narrow = dtype == "float32"
    value = round_to(float(value), dtype) if narrow else float(value)
    suffix, infinite = ("f", "HUGE_VALF") if narrow else ("", "HUGE_VAL")
    text = infinite if math.isinf(value) else f"{_shorten(abs(value), dtype)}{suffix}"
    return f"(-{text})" if math.copysign(1.0, value) < 0 else text


def _shorten(value: float, dtype: str) -> str:
    """Return the fewest digits that `dtype` reads back as `value`."""
    if dtype == "float64":
        return repr(value)
    text = next(text for digits in range(1, 18) if round_to(float(text := f"{value:.{digits}g}"), dtype) == value)
    return text if {".", "e"} & set(text) else f"{text}.0"
