"""What the tests of data sets share."""

import pytest

from support.tables import made, pq


@pytest.fixture(scope="session")
def mixed():
    return made()


@pytest.fixture(scope="session")
def heavier():
    return made("2", near=-1.0)


@pytest.fixture
def write(tmp_path):
    def written(name, content, **options):
        path = tmp_path / name
        pq.write_table(content, path, **options)
        return path

    return written
