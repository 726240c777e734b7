"""What the tests of hackmatrix share: a compiler that is quick, since most programs run shorter than they are compiled."""

import pytest

from support.hackmatrix_model.steps import hasty_compiler


@pytest.fixture(scope="module", autouse=True)
def _hasty_compiler():
    with hasty_compiler():
        yield
