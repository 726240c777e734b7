"""Addresses of documents: `run/l0/night-3`, `step/l0/night-3/7/12`; every part is percent-encoded."""

from urllib.parse import quote, unquote

from plaudit.errors import PlauditError, did_you_mean, shorten

PARTS = {
    "index": (),
    "definition": ("reward",),
    "reward": ("reward",),
    "run": ("source", "run"),
    "steps": ("source", "run"),
    "audit": ("source", "run"),
    "episodes": ("source", "run"),
    "episode": ("source", "run", "episode"),
    "frames": ("source", "run", "episode"),
    "step": ("source", "run", "episode", "step"),
    "whatif": ("source", "run"),
    "compare": ("source", "run", "reward", "reward"),
    "matrix": (),
}
"""The parts of an address of each kind."""


class UnknownDocument(PlauditError, LookupError):
    """There is no document at an address."""


def format_address(kind: str, *parts: str | int | None) -> str:
    """Return the address of a document; records without a run have an empty one.

    >>> format_address("episode", "l0", "night 3/b", 7), format_address("run", "l0", None)
    ('episode/l0/night%203%2Fb/7', 'run/l0/')
    """
    return "/".join((kind, *(quote("" if part is None else str(part), safe="") for part in parts)))


def parse_address(address: str) -> tuple[str, tuple[str, ...]]:
    """Return the kind of an address and its parts, decoded; UnknownDocument if it is malformed.

    >>> parse_address("episode/l0/night%203%2Fb/7")
    ('episode', ('l0', 'night 3/b', '7'))
    """
    kind, *parts = address.split("/")
    if kind not in PARTS:
        raise UnknownDocument(f"there is no document {shorten(address)}.{did_you_mean(kind, PARTS)}")
    if len(parts) != len(PARTS[kind]):
        wanted = "/".join((kind, *(part.upper() for part in PARTS[kind])))
        raise UnknownDocument(f"there is no document {shorten(address)}; write the address as {wanted}.")
    return kind, tuple(unquote(part) for part in parts)
