"""Where the SUMO of this environment is: its programs, its version, and what to install where it is missing."""

import os
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path

from plaudit.errors import MissingExtra, SimulatorError

INSTALL = "pip install 'plaudit[sumo]'"
"""The one line that installs SUMO."""


def missing(part: str) -> MissingExtra:
    """Return the error for a part of SUMO that is not installed."""
    return MissingExtra(f"the convoy drives in SUMO, and {part} is not installed. Install it: {INSTALL}")


@cache
def version(distribution: str = "libsumo") -> str:
    """Return the version of an installed part of SUMO, such as `1.28.0`."""
    try:
        return version_of(distribution)
    except PackageNotFoundError:
        raise missing(distribution) from None


def home() -> Path:
    """Return the folder of SUMO's programs and data: the one of the installed package, whatever PATH says."""
    spec = find_spec("sumo")
    if spec is None or not spec.submodule_search_locations:
        raise missing("eclipse-sumo")
    return Path(spec.submodule_search_locations[0])


def program(name: str) -> str:
    """Return the path of one of SUMO's programs: `sumo`, `sumo-gui` or `netconvert`."""
    folder = home() / "bin"
    for path in (folder / name, folder / f"{name}.exe"):
        if path.is_file():
            return str(path)
    raise SimulatorError(f"no {name} in {folder}. Install SUMO again: pip install --force-reinstall eclipse-sumo")


def environment() -> dict[str, str]:
    """Return the environment for SUMO's programs: this process's, with the SUMO of the package in it."""
    folder = home()
    path = os.pathsep.join([str(folder / "bin"), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "SUMO_HOME": str(folder), "PATH": path}
