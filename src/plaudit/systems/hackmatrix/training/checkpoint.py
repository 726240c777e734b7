"""A run in a file: everything that is needed to go on with it, bit for bit, or only the policy that it found."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.training.config import Config
from plaudit.systems.training import checkpoint as archive

FORMAT = 1
"""How checkpoints are laid out. One of another format is refused."""
CheckpointInfo = archive.CheckpointInfo[Config]


def save(path: Path, tree: Any, info: CheckpointInfo) -> None:
    """Write a tree of arrays under a name: all of it, or nothing."""
    arrays = {name: np.asarray(leaf) for name, leaf in _name_leaves(jax.device_get(_strip_keys(tree))).items()}
    archive.write_archive(path, info.to_json(FORMAT), arrays)


def read_info(path: Path) -> CheckpointInfo:
    """Return what a checkpoint says of itself; FileError if it is none, is damaged, or is of another format."""
    return archive.read_info(path, Config.from_dict, format=FORMAT)


def load(path: Path, like: Any) -> tuple[Any, CheckpointInfo]:
    """Return the tree of arrays in a file, and what it says of itself.

    `like` is a tree of the shapes that are needed. Whatever does not fit is a FileError.
    """
    info, arrays = read_info(path), archive.read_archive(path)
    wanted = _name_leaves(jax.eval_shape(_strip_keys, like))
    archive.check_shapes(path, arrays, wanted, writer=info.plaudit)
    leaves, shape = jax.tree.flatten(like)
    restored = [_restore_leaf(leaf, jnp.array(arrays[name])) for leaf, name in zip(leaves, wanted, strict=True)]
    return jax.tree.unflatten(shape, restored), info


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _strip_keys(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: jax.random.key_data(leaf) if _is_key(leaf) else leaf, tree)


def _restore_leaf(leaf: Any, array: Any) -> Any:
    return jax.random.wrap_key_data(array) if _is_key(leaf) else array


def _name_leaves(tree: Any) -> dict[str, Any]:
    """Return the leaves of a tree by where they are: `params/trunk/0/bias`."""
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }
