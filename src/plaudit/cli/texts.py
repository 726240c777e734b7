"""Texts for any terminal: in any encoding, without control characters, numbers as people write them."""

import codecs
import os
import sys

_SPELLINGS = dict(zip("×−–—·’█─━│", "x---.'#--|", strict=True))
_SPELLINGS |= {"…": "...", "→": "->", "²": "^2", "±": "+/-", "≤": "<=", "≥": ">="}
"""What stands for a character that an encoding lacks."""


def _spelled(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(_SPELLINGS.get(character, "?") for character in lacking), error.end


def accept_any_text() -> None:
    """Let stdout and stderr take any text, whatever their encoding; one that is closed takes it and forgets it."""
    codecs.register_error("plaudit.spelled", _spelled)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # Python's way of saying that the caller closed it
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # for as long as we run
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="plaudit.spelled")


def printable(text: str) -> str:
    r"""Return a text with its control characters made visible: what comes from a file cannot steer a terminal.

    >>> printable("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def shown(value: float | bool | str) -> str:
    """Return a value as people write it: six digits, no trailing zeros.

    >>> shown(0.1 + 0.2), shown(-100.0), shown(True), shown(1e6)
    ('0.3', '-100', 'true', '1e+06')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, int | float) else printable(value)
