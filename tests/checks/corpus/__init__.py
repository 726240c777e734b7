"""Small rewards from the literature: bad ones that a check must catch, good ones that it must leave alone."""

from checks.corpus import classics, driving, everyday, loops, pairs, preferences, robots, shaping, slips, wishes
from checks.corpus.case import Case

CASES: tuple[Case, ...] = tuple(
    case
    for module in (loops, shaping, preferences, driving, slips, classics, robots, everyday, pairs, wishes)
    for case in vars(module).values()
    if isinstance(case, Case)
)
BAD = tuple(case for case in CASES if case.bad)
GOOD = tuple(case for case in CASES if not case.bad)

__all__ = ["BAD", "CASES", "GOOD", "Case"]
