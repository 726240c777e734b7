"""A run in a file: everything that is needed to go on with it, bit for bit, or only the policy that it found."""

import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.drafts import HiddenFile, unwritable
from plaudit.errors import DefinitionError, FileError
from plaudit.systems.hackmatrix.training.config import Config

FORMAT = 1
"""How checkpoints are laid out. One of another format is refused."""
_ABOUT = "about"


@dataclass(frozen=True)
class About:
    """What a checkpoint says of itself."""

    kind: str
    """`run`, which can be gone on with, or `policy`, the weights alone."""
    plaudit: str
    """The version that wrote it."""
    version: str
    """The reward that is trained on, by its label."""
    fingerprint: str
    """And by its formula."""
    update: int
    """Updates done."""
    config: Config

    @property
    def steps(self) -> int:
        """Steps done, over all games."""
        return self.update * self.config.batch

    def to_json(self) -> str:
        """Return it as a text."""
        return json.dumps({"format": FORMAT, **vars(self), "config": self.config.to_dict()})


def save(path: Path, tree: Any, about: About) -> None:
    """Write a tree of arrays under a name: all of it, or nothing."""
    arrays = {name: np.asarray(leaf) for name, leaf in _named(jax.device_get(_bare(tree))).items()}
    with HiddenFile(path) as draft:
        try:
            with zipfile.ZipFile(draft.path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                for name, array in {_ABOUT: np.array(about.to_json()), **arrays}.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                        np.lib.format.write_array(file, array, allow_pickle=False)
        except OSError as error:
            raise unwritable(str(path), error.strerror or str(error)) from None
        draft.commit()


def read_about(path: Path) -> About:
    """Return what a checkpoint says of itself; FileError if it is none, is damaged, or is of another format."""
    return _opened(path, only=_ABOUT)[0]


def load(path: Path, like: Any) -> tuple[Any, About]:
    """Return the tree of arrays in a file, and what it says of itself.

    `like` is a tree of the shapes that are needed. Whatever does not fit is a FileError.
    """
    about, arrays = _opened(path)
    wanted = _named(jax.eval_shape(_bare, like))
    for name in [*wanted, *arrays]:
        have = "nothing" if name not in arrays else f"{arrays[name].dtype} of shape {arrays[name].shape}"
        need = "nothing" if name not in wanted else f"{wanted[name].dtype} of shape {wanted[name].shape}"
        if have != need:
            raise FileError(
                f"{path} does not fit this plaudit: its {name} is {have}, and {need} is needed. "
                f"It was written by plaudit {about.plaudit}."
            )
    leaves, shape = jax.tree.flatten(like)
    names = list(wanted)
    restored = [_like(leaf, jnp.array(arrays[name])) for leaf, name in zip(leaves, names, strict=True)]
    return jax.tree.unflatten(shape, restored), about


def _opened(path: Path, only: str | None = None) -> tuple[About, dict[str, Any]]:
    if path.is_dir():
        raise FileError(f"{path} is a directory; name a file in it.")
    if not path.exists():
        raise FileError(f"{path} does not exist.")
    try:
        with zipfile.ZipFile(path) as archive:
            about = _about(path, _array(archive, _ABOUT).item())
            names = [each.removesuffix(".npy") for each in archive.namelist() if only is None]
            return about, {name: _array(archive, name) for name in names if name != _ABOUT}
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        raise FileError(f"{path} is damaged, or no checkpoint: {error}") from None


def _array(archive: zipfile.ZipFile, name: str) -> Any:
    """Return an array of an archive; reading all of it checks its checksum."""
    with archive.open(f"{name}.npy") as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):
            raise ValueError(f"there is more in {name} than an array")
        return array


def _about(path: Path, text: str) -> About:
    given = json.loads(text)
    if not isinstance(given, dict) or "format" not in given:
        raise FileError(f"{path} is no checkpoint: it does not say of which format it is.")
    found = given.pop("format")
    if found != FORMAT:
        raise FileError(
            f"{path} is a checkpoint of format {found}, written by plaudit {given.get('plaudit')}; "
            f"this plaudit reads format {FORMAT}."
        )
    try:
        return About(**{**given, "config": Config.from_dict(given["config"])})
    except (TypeError, LookupError, AttributeError, DefinitionError) as error:
        raise FileError(f"{path} is damaged, or no checkpoint: {error}") from None


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
