"""The cache folder: where it lies, and that nobody else can put code there."""

import os
from pathlib import Path

import pytest

from plaudit.caching import find_cache_folder, make_private_folder


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"PLAUDIT_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b"}, "/a/part"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/plaudit/part"),
        ({"HOME": "/c"}, "/c/.cache/plaudit/part"),
    ],
)
def test_the_cache_lies_where_the_user_says(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str
) -> None:
    """Or where the platform keeps caches."""
    for name in ("PLAUDIT_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert find_cache_folder("part") == Path(folder)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the place of a cache that does not exist yet."""
    monkeypatch.setenv("PLAUDIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_code_is_kept_in_a_folder_that_only_its_user_can_enter(folder: Path) -> None:
    assert make_private_folder("code") == folder / "code"
    assert (folder / "code").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("part", ["code", "."])
def test_where_others_may_write_no_code_is_kept(folder: Path, part: str) -> None:
    make_private_folder("code")
    (folder / part).chmod(0o777)
    assert make_private_folder("code") is None
    (folder / part).chmod(0o1777 if part == "." else 0o755)  # of a folder like /tmp others remove nothing
    assert make_private_folder("code") is not None


def test_a_folder_of_somebody_else_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_private_folder("code")
    owner = folder.stat().st_uid
    if owner == 0:
        os.chown(folder / "code", 12345, 12345)
    else:
        monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert make_private_folder("code") is None


def test_a_place_that_cannot_be_made_is_no_error(folder: Path) -> None:
    folder.write_text("a file")
    assert make_private_folder("code") is None
