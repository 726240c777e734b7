"""Checkpoints: arrays in a file, what it says of itself, and whether a run goes on from it. Nothing is pickled."""

import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

import numpy as np

from plaudit.atomic import AtomicPath, build_write_error
from plaudit.errors import DefinitionError, FileError, UnusableFile
from plaudit.systems.training.settings import SettingsT

Arrays = dict[str, np.ndarray[Any, Any]]
_INFO = "about"
"""Under which name a file holds the text that says what it is."""


@dataclass(frozen=True)
class CheckpointInfo(Generic[SettingsT]):
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
    config: SettingsT

    @property
    def steps(self) -> int:
        """Steps done, over all environments."""
        return self.update * self.config.batch

    def to_json(self, format: int = 1) -> str:
        """Return it as a text, of a checkpoint that is laid out by a format."""
        return json.dumps({"format": format, **vars(self), "config": self.config.to_dict()})


def read_info(path: Path, settings: Callable[[dict[str, Any]], SettingsT], *, format: int) -> CheckpointInfo[SettingsT]:
    """Return what a checkpoint says of itself; FileError if it is none, is damaged, or is of another format."""
    text = read_archive_text(path)
    try:
        given = json.loads(text)
    except ValueError as error:
        raise build_damage_error(path, error) from None
    if not isinstance(given, dict) or "format" not in given:
        raise UnusableFile(f"{path} is not a checkpoint: it has no format number.")
    found = given.pop("format")
    if found != format:
        raise FileError(
            f"{path} is a checkpoint of format {found}, written by plaudit {given.get('plaudit')}; "
            f"this plaudit reads format {format}."
        )
    try:
        return CheckpointInfo(**{**given, "config": settings(given["config"])})
    except (TypeError, LookupError, AttributeError, DefinitionError) as error:
        raise build_damage_error(path, error) from None


def check_resumable(
    path: Path, info: CheckpointInfo[SettingsT], wanted: CheckpointInfo[SettingsT], *, system: str
) -> None:
    """Raise where a checkpoint is not of the run of a system that is wanted, and say what differs."""
    if info.kind != wanted.kind:
        raise FileError(f"{path} holds a {info.kind}, but resuming needs a {wanted.kind}.")
    if info.plaudit != wanted.plaudit:
        raise FileError(
            f"{path} was written by plaudit {info.plaudit}, and this is {wanted.plaudit}. "
            f"Resume a run with the version that started it."
        )
    if (info.version, info.fingerprint) != (wanted.version, wanted.fingerprint):
        raise FileError(
            f"{path} was trained on {system}@{info.version} ({info.fingerprint[:12]}), "
            f"not on {system}@{wanted.version} ({wanted.fingerprint[:12]})."
        )
    have, want = info.config.to_dict(), wanted.config.to_dict()
    for name in have:
        if have[name] != want[name] and not (name == "steps" and not info.config.anneals):
            hint = " Its settings change over the run, so its length is fixed." if name == "steps" else ""
            raise FileError(f"{path} was trained with {name}={have[name]!r}, not {want[name]!r}.{hint}")
    if wanted.config.updates < info.update:
        raise DefinitionError(f"{path} already has {info.steps:,} steps; only {wanted.config.steps:,} were requested.")


def write_archive(path: Path, text: str, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write arrays and a text under a name: all of it, or nothing."""
    with AtomicPath(path) as draft:
        try:
            with zipfile.ZipFile(draft.path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                for name, array in {_INFO: np.array(text), **arrays}.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                        np.lib.format.write_array(file, array, allow_pickle=False)
        except OSError as error:
            raise build_write_error(str(path), error) from None
        draft.commit()


def read_archive_text(path: Path) -> str:
    """Return the text of an archive; FileError where there is none."""
    with _open_archive(path) as archive:
        return str(_read_array(archive, _INFO).item())


def read_archive(path: Path) -> Arrays:
    """Return the arrays of an archive, all checked against their checksums; FileError where it is damaged."""
    with _open_archive(path) as archive:
        names = [each.removesuffix(".npy") for each in archive.namelist()]
        return {name: _read_array(archive, name) for name in names if name != _INFO}


def check_shapes(path: Path, arrays: Mapping[str, Any], wanted: Mapping[str, Any], *, writer: str) -> None:
    """Raise FileError where the arrays of a file are not those wanted, by their names, types and shapes."""
    for name in [*wanted, *arrays]:
        have = "nothing" if name not in arrays else f"{arrays[name].dtype} of shape {tuple(arrays[name].shape)}"
        need = "nothing" if name not in wanted else f"{wanted[name].dtype} of shape {tuple(wanted[name].shape)}"
        if have != need:
            raise FileError(
                f"{path} does not fit this plaudit: its {name} is {have}, but {need} is needed. "
                f"It was written by plaudit {writer}."
            )


def build_damage_error(path: Path, reason: object) -> FileError:
    """Return the error for a damaged file or one that is not a checkpoint."""
    return UnusableFile(f"{path} is damaged or not a checkpoint: {reason}")


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    if path.is_dir():
        raise FileError(f"{path} is a directory; name a file in it.")
    if not path.exists():
        raise FileError(f"{path} does not exist.")
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        raise build_damage_error(path, error) from None


def _read_array(archive: zipfile.ZipFile, name: str) -> Any:
    """Return an array of an archive; reading all of it checks its checksum."""
    with archive.open(f"{name}.npy") as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):
            raise ValueError(f"{name} holds more than an array")
        return array
