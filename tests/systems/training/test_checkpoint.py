"""Arrays in a file: what goes in comes out, and what is damaged or does not fit is refused with the reason."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from plaudit import FileError
from plaudit.systems.training.checkpoint import check_shapes, read_archive, read_archive_text, write_archive

ARRAYS = {"weights": np.arange(6, dtype=np.float32).reshape(2, 3), "chance/torch": np.arange(9, dtype=np.uint8)}


@given(
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
    array=arrays(st.sampled_from([np.float32, np.float64, np.uint8]), array_shapes(min_dims=0, max_side=4)),
)
def test_what_was_written_comes_back_bit_for_bit(text, array, tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "checkpoint.npz"
    write_archive(path, text, {"a/b.c": array})
    assert read_archive_text(path) == text
    back = read_archive(path)
    assert list(back) == ["a/b.c"]
    assert (back["a/b.c"].dtype, back["a/b.c"].shape, back["a/b.c"].tobytes()) == (
        array.dtype,
        array.shape,
        array.tobytes(),
    )


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_off_is_refused(tmp_path, share):
    path = tmp_path / "checkpoint.npz"
    write_archive(path, "{}", ARRAYS)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * share)])
    with pytest.raises(FileError, match="checkpoint.npz is damaged or not a checkpoint"):
        read_archive(path)


def test_objects_are_never_unpickled(tmp_path):
    path = tmp_path / "checkpoint.npz"
    np.savez(path, about=np.array([{"a": 1}], dtype=object))
    with pytest.raises(FileError, match="damaged or not a checkpoint"):
        read_archive_text(path)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (
            {"weights": np.zeros((3, 3), np.float32)},
            r"its weights is float32 of shape \(2, 3\), but .*\(3, 3\) is needed",
        ),
        ({**ARRAYS, "more": np.zeros(1)}, "its more is nothing"),
        ({"weights": ARRAYS["weights"]}, "its chance/torch is .* but nothing is needed"),
    ],
)
def test_arrays_that_are_not_those_wanted_are_named(tmp_path, wanted, told):
    with pytest.raises(FileError, match=told):
        check_shapes(tmp_path / "checkpoint.npz", ARRAYS, wanted, writer="0.1.0")


def test_a_write_that_fails_leaves_the_file_before(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.npz"
    write_archive(path, "{}", ARRAYS)

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(FileError, match="cannot be written: No space left"):
        write_archive(path, "{}", {})
    monkeypatch.undo()
    assert list(read_archive(path)) == list(ARRAYS)
    assert os.listdir(tmp_path) == ["checkpoint.npz"]
