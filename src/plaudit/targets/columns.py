"""What the numbers of a reward are called where they stand side by side: in files, in tables and in SQL."""

from collections.abc import Collection, Sequence

OK = "ok"
"""Whether a row could be scored."""


def name_columns(terms: Sequence[str], inputs: Collection[str], *, scores: bool = True) -> dict[str, str]:
    """Return the column of each output of a Program, in order: the total, each term's value and each term's score.

    A value is called like its term, and a score like its term with `.score` behind. A term that is called like an input
    of the reward, or like a column that is not the reward's, has `.value` behind, so that one table can hold both.

    >>> list(name_columns(["near", "kills"], ["distance", "kills"]).values())
    ['total', 'near', 'kills.value', 'near.score', 'kills.score']
    """
    taken = {OK, *inputs, *(name.partition("[")[0] for name in inputs)}
    values = {f"{term}.value": f"{term}.value" if term in taken else term for term in terms}
    named = {"total": "total", **values}
    return named | {f"{term}.score": f"{term}.score" for term in terms} if scores else named
