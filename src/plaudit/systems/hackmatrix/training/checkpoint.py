"""A run in a file: everything that is needed to go on with it, bit for bit, or only the policy that it found."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.training.config import Config
from plaudit.systems.training import about as abouts
from plaudit.systems.training import archive

FORMAT = 1
"""How checkpoints are laid out. One of another format is refused."""
About = abouts.About[Config]


def save(path: Path, tree: Any, about: About) -> None:
    """Write a tree of arrays under a name: all of it, or nothing."""
    arrays = {name: np.asarray(leaf) for name, leaf in _named(jax.device_get(_bare(tree))).items()}
    archive.write_archive(path, about.to_json(FORMAT), arrays)


def read_about(path: Path) -> About:
    """Return what a checkpoint says of itself; FileError if it is none, is damaged, or is of another format."""
    return abouts.read_about(path, Config.from_dict, format=FORMAT)


def load(path: Path, like: Any) -> tuple[Any, About]:
    """Return the tree of arrays in a file, and what it says of itself.

    `like` is a tree of the shapes that are needed. Whatever does not fit is a FileError.
    """
    about, arrays = read_about(path), archive.read_archive(path)
    wanted = _named(jax.eval_shape(_bare, like))
    archive.check_shapes(path, arrays, wanted, writer=about.plaudit)
    leaves, shape = jax.tree.flatten(like)
    restored = [_like(leaf, jnp.array(arrays[name])) for leaf, name in zip(leaves, wanted, strict=True)]
    return jax.tree.unflatten(shape, restored), about


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _bare(tree: Any) -> Any:
    """Return a tree in which keys are numbers."""
    return jax.tree.map(lambda leaf: jax.random.key_data(leaf) if _is_key(leaf) else leaf, tree)


def _like(leaf: Any, array: Any) -> Any:
    return jax.random.wrap_key_data(array) if _is_key(leaf) else array


def _named(tree: Any) -> dict[str, Any]:
    """Return the leaves of a tree by where they are: `params/trunk/0/bias`."""
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }
