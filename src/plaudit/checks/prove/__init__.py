"""Prove that two rewards are equal over the declared ranges of their fields, or find where they differ."""

from plaudit.checks.prove.proof import Difference, Proof
from plaudit.checks.prove.prove import prove

__all__ = ["Difference", "Proof", "prove"]
