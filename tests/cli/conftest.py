"""What the tests of the command line share."""

from support.command_line import objects, plaudit, process, write

__all__ = ["objects", "plaudit", "process", "write"]  # fixtures
