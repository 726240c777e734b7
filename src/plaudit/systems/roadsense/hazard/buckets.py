"""How far ahead a car is when it brakes: the gaps among which an episode draws, by how many cars are between."""

from typing import NamedTuple


class Bucket(NamedTuple):
    """Gaps from `low` to below `high`, in metres along the heading from front bumper to front bumper."""

    name: str
    low: float
    high: float

    def holds(self, gap: float) -> bool:
        """Return whether a gap is in the bucket."""
        return self.low <= gap < self.high


CLOSE = Bucket("close", 12.0, 22.0)
MEDIUM = Bucket("medium", 22.0, 35.0)
FAR = Bucket("far", 35.0, 55.0)
VERY_FAR = Bucket("very far", 55.0, 85.0)


def buckets(rank: int) -> tuple[Bucket, ...]:
    """Return the buckets for the car of a rank ahead: 1 is the nearest.

    >>> [bucket.name for bucket in buckets(2)]
    ['medium', 'far', 'very far']
    """
    if rank == 1:
        return CLOSE, MEDIUM, FAR
    return (MEDIUM, FAR, VERY_FAR) if rank == 2 else (FAR, VERY_FAR)
