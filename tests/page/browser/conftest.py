"""One browser for every file of this folder."""

import pytest

from support.browsers import start_browser


@pytest.fixture(scope="package")
def browser():
    """A browser that ends with the last test of this folder: while it runs, `asyncio.run` is refused."""
    with start_browser() as started:
        yield started
