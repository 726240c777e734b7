"""Where networks are kept: whole files, one build for all, and a way out where nothing can be kept."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from plaudit.errors import FileError
from plaudit.systems.roadsense.sumo import find_road
from plaudit.systems.roadsense.sumo.network import find_or_build
from support.forking import PythonProcess


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("PLAUDIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def files(folder: Path) -> list[Path]:
    """Return what is in a folder and below it, folders left out."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_network_is_built_once_and_kept(cache: Path) -> None:
    """Under the version of SUMO that built it, with nothing beside it."""
    path = Path(find_road("straight").path)
    assert files(cache) == [path]
    assert path.parent.name.startswith("sumo-1.")
    built = path.stat().st_mtime_ns
    assert Path(find_road("straight").path).stat().st_mtime_ns == built


@pytest.mark.parametrize("left", [0, pytest.param(200, marks=pytest.mark.slow), 1000])
def test_a_kept_file_that_was_cut_short_is_built_again(cache: Path, left: int) -> None:
    """As after a full disk or a crash of the machine."""
    once = find_road("curved")
    path = Path(once.path)
    path.write_bytes(path.read_bytes()[:left])
    assert find_road("curved") == once
    assert files(cache) == [path]


def test_many_processes_may_build_at_the_same_time(cache: Path) -> None:
    """All get the file, and no half of one."""
    code = "from plaudit.systems.roadsense.sumo import find_road; print(find_road('straight').length)"
    running = [PythonProcess([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [popen.communicate()[0] for popen in running] == ["4000.0\n"] * 3
    assert len(files(cache)) == 1


@pytest.mark.parametrize("place", ["/proc/plaudit", pytest.param("/dev/null/plaudit", marks=pytest.mark.slow)])
def test_where_the_cache_cannot_be_written_a_temporary_folder_serves(fresh: Callable[..., str], place: str) -> None:
    """It is gone when the program ends; `fresh` looks. Forked workers leave it to their parent."""
    path = fresh(
        """
        import multiprocessing, os
        path = find_road("straight").path
        assert os.path.exists(path)
        worker = os.fork()
        if worker == 0:
            raise SystemExit
        os.waitpid(worker, 0)
        process = multiprocessing.get_context("fork").Process(target=find_road, args=("curved",))  # has a folder of its own
        process.start()
        process.join()
        assert process.exitcode == 0
        assert find_road("straight").path == path and os.path.exists(path)
        sumo = build_simulation("process")
        sumo.begin(convoy())
        assert len(sumo.step()) == 3
        print(path)
        """,
        PLAUDIT_CACHE_DIR=place,
    )
    assert not os.path.exists(path.strip())


def test_a_build_that_fails_leaves_nothing(cache: Path) -> None:
    """Neither a file nor the folder in which it was built."""

    def build(path: Path) -> None:
        path.write_text("half")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        find_or_build("part", "file", good=lambda path: True, build=build)
    assert list((cache / "part").iterdir()) == []


def test_where_nothing_can_be_written_the_error_says_what_to_set(cache: Path) -> None:
    """A disk that is full refuses the temporary folder too."""

    def build(path: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(FileError, match="Set PLAUDIT_CACHE_DIR"):
        find_or_build("part", "file", good=lambda path: True, build=build)
