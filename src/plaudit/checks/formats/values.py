"""Values of a witness as people write them and as JSON holds them."""

import math

Value = float | bool | str


def written(value: Value) -> str:
    """Return an input so that typing it in gives the same input: all digits of a number, none to spare.

    >>> written(35.0), written(4.500000000000001), written(True), written("coding")
    ('35', '4.500000000000001', 'true', 'coding')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return visible(value)
    return repr(float(value)).removesuffix(".0")


def rounded(total: float | None) -> str:
    """Return a total in six digits; "none" where there is none.

    >>> rounded(0.1 + 0.2), rounded(-113.0), rounded(None)
    ('0.3', '-113', 'none')
    """
    return "none" if total is None else f"{total + 0.0:.6g}"


def visible(text: str) -> str:
    r"""Return a text in one line, its control characters made visible: no text can steer a terminal or a log.

    >>> visible("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def in_json(value: Value | None) -> Value | None:
    """Return a value as JSON can hold it: infinities and NaN, which it has not, as texts.

    >>> in_json(float("inf")), in_json(0.5), in_json("coding")
    ('inf', 0.5, 'coding')
    """
    if isinstance(value, bool | str) or value is None or math.isfinite(value):
        return value
    return str(float(value))


def counted(count: int, noun: str) -> str:
    """Return a count and its noun.

    >>> counted(1, "warning"), counted(1200, "warning")
    ('1 warning', '1,200 warnings')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
