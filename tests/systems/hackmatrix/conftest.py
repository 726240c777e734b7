"""What the tests of hackmatrix share: a compiler that is quick, since most programs run shorter than they are compiled."""

from importlib.util import find_spec

import pytest


@pytest.fixture(scope="module", autouse=True)
def _hasty_compiler():
    if find_spec("jax") is None:
        yield
        return
    from support.hasty_compiler import hasty_compiler

    with hasty_compiler():
        yield
