"""One Node for all tests of a worker."""

from support.node import node

__all__ = ["node"]
