"""Whether two rewards are equal over everything that their fields are declared to be."""

from plaudit.checks.prove.proof import Difference, Proof
from plaudit.checks.prove.prove import prove

__all__ = ["Difference", "Proof", "prove"]
