"""Findings that are meant to be: the code of each rule, and the reason on record."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from plaudit.errors import DefinitionError

CODE = re.compile(r"[a-z]+(-[a-z]+)*")


def checked_allow(owner: str, allow: object) -> Mapping[str, str]:
    """Return what `owner` allows as a read-only mapping; DefinitionError unless each code comes with a reason.

    >>> dict(checked_allow("term 'safety'", {"jump": "zones are meant"}))
    {'jump': 'zones are meant'}
    """
    if not isinstance(allow, Mapping):
        raise DefinitionError(f"{owner}: allow= maps the code of a rule to a reason: {{'jump': 'zones are meant'}}")
    for code, reason in allow.items():
        if not isinstance(code, str) or not CODE.fullmatch(code):
            raise DefinitionError(f"{owner}: allow= names {code!r:.60}, and the code of a rule is like 'unused-knob'")
        if not isinstance(reason, str) or not reason.strip():
            raise DefinitionError(f"{owner}: allow={{{code!r}: ...}} needs a reason, as a text, not {reason!r:.60}")
    return MappingProxyType(dict(allow))
