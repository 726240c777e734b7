"""Checkpoints: what goes in comes out, and what is not a fitting checkpoint is refused with the reason."""

import json
import os
import zipfile
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from plaudit import FileError
from plaudit.systems.hackmatrix.training import checkpoint
from plaudit.systems.hackmatrix.training.checkpoint import CheckpointInfo, load, read_info, save
from plaudit.systems.hackmatrix.training.config import Config
from support.hackmatrix_model.toy import jax, jnp

ABOUT = CheckpointInfo("run", "0.1.0", "1.0.0", "f" * 64, 3, Config(entropy_end=0.001))


@cache
def make_tree():
    return {
        "key": jax.random.key(7),
        "weights": [jnp.arange(6, dtype=jnp.float32).reshape(2, 3), jnp.array([jnp.nan, jnp.inf, -0.0])],
        "flags": jnp.array([True, False]),
        "small": jnp.array([-128, 127], jnp.int8),
        "count": jnp.uint32(2**32 - 1),
    }


@pytest.fixture
def path(tmp_path):
    save(tmp_path / "checkpoint.npz", make_tree(), ABOUT)
    return tmp_path / "checkpoint.npz"


def bits(tree):
    plain = jax.tree.map(lambda leaf: jax.random.key_data(leaf) if leaf is tree["key"] else leaf, tree)
    return [(str(leaf.dtype), leaf.shape, np.asarray(leaf).tobytes()) for leaf in jax.tree.leaves(plain)]


def test_what_was_saved_comes_back_bit_for_bit(path):
    found, about = load(path, make_tree())
    assert bits(found) == bits(make_tree())
    assert about == ABOUT == read_info(path)
    assert about.steps == 3 * 256 * 128
    assert jax.random.bits(found["key"]) == jax.random.bits(make_tree()["key"])


def test_shapes_alone_say_what_is_needed(path):
    found, _ = load(path, jax.eval_shape(lambda: make_tree()))
    assert bits(found) == bits(make_tree())


def test_no_changed_byte_goes_unnoticed(path):
    raw = path.read_bytes()
    random = np.random.default_rng(0)
    for at in random.choice(len(raw), 200, replace=False):
        damaged = bytearray(raw)
        damaged[at] ^= 1 << int(random.integers(8))
        path.write_bytes(damaged)
        try:
            found, about = load(path, make_tree())
        except FileError:
            continue
        assert (bits(found), about) == (bits(make_tree()), ABOUT)  # it was a date, or the like


def test_what_is_no_checkpoint_is_refused(tmp_path, path):
    with pytest.raises(FileError, match="none.npz does not exist"):
        load(tmp_path / "none.npz", make_tree())
    with pytest.raises(FileError, match="is a directory"):
        load(tmp_path, make_tree())
    for content in (b"", b"hello", b"\x93NUMPY" + bytes(100)):
        path.write_bytes(content)
        with pytest.raises(FileError, match="damaged or not a checkpoint"):
            load(path, make_tree())
    np.savez(path, weights=np.zeros(3))
    with pytest.raises(FileError, match="damaged or not a checkpoint"):
        load(path, make_tree())


def test_another_format_is_refused_with_the_version_that_wrote_it(path, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", 2)
    with pytest.raises(
        FileError, match=r"is a checkpoint of format 1, written by plaudit 0.1.0; this plaudit reads format 2"
    ):
        load(path, make_tree())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda tree: {**tree, "flags": jnp.zeros(3, bool)},
            r"its flags is bool of shape \(2,\), but bool of shape \(3,\) is needed",
        ),
        (lambda tree: {**tree, "flags": jnp.zeros(2)}, "float32 of shape .* is needed"),
        (lambda tree: {**tree, "more": jnp.zeros(2)}, "its more is nothing"),
        (lambda tree: {name: tree[name] for name in tree if name != "small"}, "but nothing is needed"),
    ],
)
def test_a_tree_of_another_shape_is_refused(path, change, told):
    with pytest.raises(FileError, match=told):
        load(path, change(make_tree()))


@pytest.mark.parametrize(
    "about", ["{}", "[]", "3", "{", json.dumps({"format": 1}), json.dumps({"format": 1, "config": {}})]
)
def test_a_checkpoint_that_says_nonsense_of_itself_is_refused(path, about):
    with zipfile.ZipFile(path, "w") as archive, archive.open("about.npy", "w") as file:
        np.lib.format.write_array(file, np.array(about))
    with pytest.raises(FileError, match="not a checkpoint"):
        read_info(path)


def test_settings_that_are_not_known_are_refused(path):
    about = json.loads(ABOUT.to_json())
    about["config"]["clap"] = 1
    with zipfile.ZipFile(path, "w") as archive, archive.open("about.npy", "w") as file:
        np.lib.format.write_array(file, np.array(json.dumps(about)))
    with pytest.raises(FileError, match="Did you mean 'clip'"):
        read_info(path)


def test_a_save_that_fails_leaves_the_one_before(path, monkeypatch):
    before = path.read_bytes()

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(FileError, match="checkpoint.npz cannot be written: No space left"):
        save(path, make_tree(), replace(ABOUT, update=4))
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["checkpoint.npz"]


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileError, match="there is no folder"):
        save(tmp_path / "nowhere" / "checkpoint.npz", make_tree(), ABOUT)
