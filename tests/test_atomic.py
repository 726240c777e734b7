"""Files that appear under their name when they are complete, or not at all."""

import errno
import gc
import os
import stat
import subprocess
import sys

import pytest

from plaudit.atomic import AtomicFile, AtomicFolder, AtomicPath
from plaudit.errors import FileError
from support.forking import PythonProcess


def names(folder):
    """Return what lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_committed_draft_is_the_file(tmp_path):
    with AtomicFile(tmp_path / "scores.txt") as draft:
        draft.file.write("žluť\n1.0\n")
        draft.commit()
    assert (tmp_path / "scores.txt").read_bytes() == "žluť\n1.0\n".encode()
    assert names(tmp_path) == ["scores.txt"]


def test_nothing_is_under_the_name_before_the_commit(tmp_path):
    with AtomicFile(tmp_path / "scores.txt") as draft:
        draft.file.write("1.0")
        draft.file.flush()
        assert not (tmp_path / "scores.txt").exists()
        assert all(name.startswith(".scores.txt.") for name in names(tmp_path))
        draft.commit()
        assert (tmp_path / "scores.txt").read_text() == "1.0"


def test_leaving_without_a_commit_leaves_nothing(tmp_path):
    with AtomicFile(tmp_path / "scores.txt") as draft:
        draft.file.write("1.0")
    assert names(tmp_path) == []


def test_an_error_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), AtomicFile(tmp_path / "scores.txt") as draft:
        draft.file.write(str(1 / 0))
    assert names(tmp_path) == []


def test_an_older_file_stays_until_the_commit(tmp_path):
    path = tmp_path / "scores.txt"
    path.write_text("old")
    with AtomicFile(path) as draft:
        draft.file.write("new")
    assert path.read_text() == "old"
    with AtomicFile(path) as draft:
        draft.file.write("new")
        assert path.read_text() == "old"
        draft.commit()
    assert path.read_text() == "new"
    assert names(tmp_path) == ["scores.txt"]


def test_what_was_committed_stays_when_more_is_discarded(tmp_path):
    draft = AtomicFile(tmp_path / "scores.txt")
    draft.file.write("1.0")
    draft.commit()
    draft.discard()
    draft.discard()
    assert names(tmp_path) == ["scores.txt"]


def test_two_drafts_of_one_file_do_not_meet(tmp_path):
    path = tmp_path / "scores.txt"
    with AtomicFile(path) as first, AtomicFile(path) as second:
        first.file.write("first")
        second.file.write("second")
        second.commit()
        first.commit()
    assert path.read_text() == "first"
    assert names(tmp_path) == ["scores.txt"]


@pytest.mark.parametrize("kind", [str, os.fspath, lambda path: path])
def test_a_path_may_be_a_text(tmp_path, kind):
    with AtomicFile(kind(tmp_path / "a b.txt")) as draft:
        draft.commit()
    assert names(tmp_path) == ["a b.txt"]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(FileError, match=r"is a directory; name a file in it"):
        AtomicFile(tmp_path)
    assert names(tmp_path) == []


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileError, match=r"scores.txt cannot be written: there is no folder .*missing"):
        AtomicFile(tmp_path / "missing" / "scores.txt")


def test_a_file_that_may_not_be_written_is_refused_and_kept(tmp_path, monkeypatch):
    path = tmp_path / "scores.txt"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(OSError, match=r"scores.txt cannot be written: Permission denied"):
        AtomicFile(path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["scores.txt"]


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    (tmp_path / "scores.txt").write_text("old")
    with (
        pytest.raises(FileError, match=r"scores.txt cannot be written: No space left"),
        AtomicFile(tmp_path / "scores.txt") as draft,
    ):
        draft.commit()
    assert names(tmp_path) == ["scores.txt"]
    assert (tmp_path / "scores.txt").read_text() == "old"


@pytest.mark.skipif(os.name == "nt", reason="links and modes are Unix's")
def test_a_link_keeps_pointing_where_it_did_and_a_mode_stays(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with AtomicFile(link) as draft:
        draft.file.write("new")
        draft.commit()
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_lines_end_alike_everywhere(tmp_path):
    with AtomicFile(tmp_path / "scores.txt") as draft:
        draft.file.write("a\nb\n")
        draft.commit()
    assert (tmp_path / "scores.txt").read_bytes() == b"a\nb\n"


def test_a_hidden_file_is_written_by_somebody_else(tmp_path):
    with AtomicPath(tmp_path / "rows.bin") as draft:
        draft.path.write_bytes(b"\0\1")
        assert not (tmp_path / "rows.bin").exists()
        draft.commit()
    assert (tmp_path / "rows.bin").read_bytes() == b"\0\1"
    with pytest.raises(ZeroDivisionError), AtomicPath(tmp_path / "rows.bin") as draft:
        draft.path.write_bytes(b"half")
        raise ZeroDivisionError
    assert (tmp_path / "rows.bin").read_bytes() == b"\0\1"
    assert names(tmp_path) == ["rows.bin"]


def fill(folder, text):
    folder.mkdir()
    (folder / "part").write_text(text)


def test_a_hidden_folder_takes_the_place_of_an_older_one(tmp_path):
    target = tmp_path / "scores"
    with AtomicFolder(target) as draft:
        fill(draft.path, "old")
        assert not target.exists()
        draft.commit()
    with pytest.raises(FileError, match="already exists"):
        AtomicFolder(target)
    with AtomicFolder(target, overwrite=True) as draft:
        fill(draft.path, "new")
        assert (target / "part").read_text() == "old"
        draft.commit()
    assert (target / "part").read_text() == "new"
    assert names(tmp_path) == ["scores"]


def test_a_folder_that_is_not_committed_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), AtomicFolder(tmp_path / "scores") as draft:
        fill(draft.path, "half")
        raise ZeroDivisionError
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_put_in_place_leaves_the_older_one(tmp_path):
    fill(tmp_path / "scores", "old")
    with (
        pytest.raises(FileError, match="cannot be written"),
        AtomicFolder(tmp_path / "scores", overwrite=True) as draft,
    ):
        draft.commit()  # nobody wrote it
    assert (tmp_path / "scores" / "part").read_text() == "old"
    assert names(tmp_path) == ["scores"]


def test_a_folder_where_a_file_is_or_without_a_parent_is_refused(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(FileError, match="is a file; name a folder"):
        AtomicFolder(tmp_path / "taken", overwrite=True)
    with pytest.raises(FileError, match="there is no folder"):
        AtomicFolder(tmp_path / "missing" / "scores")


KILLED = """
import os, signal, sys
from plaudit.atomic import AtomicFolder, AtomicPath

target, kind = sys.argv[1:]
draft = (AtomicFolder if kind == "folder" else AtomicPath)(target)
if kind == "folder":
    draft.path.mkdir()
    (draft.path / "part").write_text("half")
else:
    draft.path.write_text("half")
    draft.path.with_name(draft.path.name + "-journal").write_text("half")
print("ready", flush=True)
if kind == "alive":
    sys.stdin.read()
os.kill(os.getpid(), signal.SIGKILL)
"""


def leave_behind(target, kind):
    """Start a process that dies, or waits, in the middle of writing a file or folder."""
    process = PythonProcess(
        [sys.executable, "-c", KILLED, target, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path, kind):
    leave_behind(tmp_path / "scores", kind).communicate()
    (tmp_path / ".scores.part").write_text("somebody else's")
    (tmp_path / ".scores.00000000.part").write_text("nobody said whose")
    assert len(names(tmp_path)) > 3
    with AtomicFile(tmp_path / "scores") as draft:
        draft.file.write("1.0")
        draft.commit()
    assert names(tmp_path) == [".scores.00000000.part", ".scores.part", "scores"]


def test_what_a_living_process_writes_is_left_to_it(tmp_path):
    other = leave_behind(tmp_path / "scores", "alive")
    before = names(tmp_path)
    with AtomicPath(tmp_path / "scores") as draft:
        draft.path.write_text("1.0")
        draft.commit()
    assert names(tmp_path) == [*before, "scores"]
    other.communicate()
    AtomicPath(tmp_path / "scores").discard()
    assert names(tmp_path) == ["scores"]


def test_a_link_among_what_was_left_is_not_followed(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    (tmp_path / ".scores.00000000.part").symlink_to("thesis.txt")
    (tmp_path / ".scores.00000000.part.owner").symlink_to("thesis.txt")
    AtomicPath(tmp_path / "scores").discard()
    assert (tmp_path / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("kind", [AtomicFile, AtomicPath])
def test_whatever_interrupts_it_nothing_is_left(tmp_path, kind, monkeypatch, young_heap):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    (tmp_path / "scores.txt").write_text("old")
    monkeypatch.setattr("plaudit.atomic.shutil.copymode", interrupt)  # the hidden file is there by then
    with pytest.raises(KeyboardInterrupt):
        kind(tmp_path / "scores.txt")
    gc.collect()
    assert [path.name for path in tmp_path.iterdir()] == ["scores.txt"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_copy_of_the_process_removes_nothing(tmp_path):
    with AtomicPath(tmp_path / "scores.txt") as hidden:
        child = os.fork()
        if not child:
            hidden.discard()
            os._exit(0)
        os.waitpid(child, 0)
        assert hidden.path.exists()
        hidden.commit()
    assert (tmp_path / "scores.txt").exists()
