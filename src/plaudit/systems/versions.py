"""Versions of a reward by their labels."""

from collections.abc import Iterable

from plaudit.errors import DefinitionError, did_you_mean


def checked_label(system: str, label: str, versions: Iterable[str]) -> str:
    """Return `label` if it is one of `versions`; DefinitionError that lists them if not.

    >>> checked_label("roadsense", "R8", ("R0", "R8"))
    'R8'
    """
    known = tuple(versions)
    if label not in known:
        near = did_you_mean(str(label), known)
        raise DefinitionError(f"{system} has no version {label!r}, only {', '.join(known)}.{near}")
    return label
