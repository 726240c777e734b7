"""What the tests of systems share: their commands are run like all others."""

from support.command_line import objects, plaudit, process, write

__all__ = ["objects", "plaudit", "process", "write"]  # fixtures
