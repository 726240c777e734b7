"""Round numbers: of all that fit what was seen, the one that a person would have written."""

import math

LEAST_DECIMALS = -15
MOST_DECIMALS = 17


def find_round(low: float, high: float) -> tuple[float, float]:
    """Return the number from `low` to `high` with the fewest decimals, and the spacing of numbers like it.

    >>> find_round(2.39874, 2.40035)
    (2.4, 0.1)
    >>> find_round(187.2, 214.9)
    (200.0, 100.0)
    """
    if low <= 0 <= high:
        return 0.0, math.inf
    for decimals in range(LEAST_DECIMALS, MOST_DECIMALS):
        for parts in (1, 2):
            spacing = 10.0**-decimals / parts
            middle = round(round((low + high) / 2 / spacing) * spacing, max(decimals + parts - 1, 0))
            if low <= middle <= high:
                return middle, spacing
            first = round(math.ceil(low / spacing) * spacing, max(decimals + parts - 1, 0))
            if low <= first <= high:
                return first, spacing
    return low, high - low


def is_telling(low: float, high: float, spacing: float) -> bool:
    """Return whether a round number from `low` to `high` would hardly be there by chance."""
    return spacing >= 20 * (high - low)


def list_shorter(value: float) -> list[float]:
    """Return `value` with few significant digits, ever more of them, then with many, and itself.

    >>> list_shorter(1 / 3)
    [0.3, 0.33, 0.333, 0.3333, 0.33333, 0.333333333, 0.3333333333333333]
    """
    return [*(float(f"{value:.{digits}g}") for digits in (1, 2, 3, 4, 5, 9)), value]


def write_number(value: float) -> str:
    """Return a number as it stands in code: an integer without a decimal point.

    >>> write_number(-0.0), write_number(2.5), write_number(200.0)
    ('0', '2.5', '200')
    """
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(float(value))
