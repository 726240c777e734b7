"""Errors of the convoy on the road, and what SUMO complains of in one line."""

from plaudit.errors import PlauditError


class SimulatorError(PlauditError, RuntimeError):
    """SUMO died, refused what it was given, or is taken by another environment of the process."""


def join_lines(error: Exception) -> str:
    """Return what an error says, in one line."""
    return " ".join(str(error).split())


def extract_reasons(text: str) -> str:
    r"""Return what SUMO said was wrong, in one line.

    >>> extract_reasons("Warning: odd\nError: no lane 'a'.\nQuitting (on error).\n")
    "no lane 'a'."
    """
    lines = [line.strip().removeprefix("Error:").strip() for line in text.splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(("Warning:", "Quitting", "Loading")))
