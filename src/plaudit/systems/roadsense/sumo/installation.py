"""Where the SUMO of this environment is: its programs, its version, and what to install where it is missing."""

import io
import os
import sys
from contextlib import redirect_stdout
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from plaudit.errors import MissingExtra
from plaudit.systems.roadsense.errors import SimulatorError

INSTALL = "pip install 'plaudit[sumo]'"
"""The one line that installs SUMO."""
# libsumo is compiled against a libarrow of its own and warns, on standard output, wherever another pyarrow is
# installed, loaded or not. Only a pyarrow that is *loaded* beside it can do harm, and `AutoSimulation` then gives
# SUMO a process of its own, so the notice says nothing that a reader could act on.
NOTICE = (
    "Warning! pyarrow is installed with version",
    " Try to uninstall pyarrow or install a matching pyarrow version",
)


def missing_part_error(part: str) -> MissingExtra:
    """Return the error for a part of SUMO that is not installed."""
    return MissingExtra(f"the convoy drives in SUMO, and {part} is not installed. Install it: {INSTALL}")


@cache
def find_version(distribution: str = "libsumo") -> str:
    """Return the version of an installed part of SUMO, such as `1.28.0`."""
    try:
        return version_of(distribution)
    except PackageNotFoundError:
        raise missing_part_error(distribution) from None


def find_home() -> Path:
    """Return the folder of SUMO's programs and data: the one of the installed package, whatever PATH says."""
    spec = find_spec("sumo")
    if spec is None or not spec.submodule_search_locations:
        raise missing_part_error("eclipse-sumo")
    return Path(spec.submodule_search_locations[0])


def find_program(name: str) -> str:
    """Return the path of one of SUMO's programs: `sumo`, `sumo-gui` or `netconvert`."""
    folder = find_home() / "bin"
    for path in (folder / name, folder / f"{name}.exe"):
        if path.is_file():
            return str(path)
    raise SimulatorError(f"no {name} in {folder}. Install SUMO again: pip install --force-reinstall eclipse-sumo")


def build_environment() -> dict[str, str]:
    """Return the environment for SUMO's programs: this process's, with the SUMO of the package in it."""
    folder = find_home()
    path = os.pathsep.join([str(folder / "bin"), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "SUMO_HOME": str(folder), "PATH": path}


def has_display() -> bool:
    """Return whether there is a display for SUMO's window, as far as can be told without opening one."""
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def strip_notice(text: str) -> str:
    r"""Return what libsumo printed while it was imported, less the two lines about pyarrow.

    >>> strip_notice("Warning! pyarrow is installed with version 26.0\nother\n")
    'other\n'
    """
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(NOTICE))


def import_libsumo() -> ModuleType:
    """Return the module libsumo."""
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            import libsumo
    except ImportError as error:
        raise missing_part_error("libsumo") from error
    sys.stdout.write(strip_notice(printed.getvalue()))
    module: ModuleType = libsumo
    return module
