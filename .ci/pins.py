"""Asks the package index whether every pin of constraints.txt has a wheel on each platform: `make pins`.

A pin without one is printed with its platform. Those in `EXPECTED` are known; any other makes the command fail. Only
file names are read: pip would download the wheels, and evaluate the markers of a pin for the machine it runs on.
"""

import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from pip._internal.models.index import PyPI  # where pip looks when nothing else is said

ROOT = Path(__file__).parent.parent
INDEX = os.environ.get("PIP_INDEX_URL", PyPI.simple_url)
PYTHON = (3, 11)
EXPECTED = {
    ("pyspark", "*"): "published as a source archive, which pip builds without a compiler",
    ("eclipse-sumo", "macos-arm64"): "its wheels are for macOS 15 and newer",
    ("libsumo", "macos-arm64"): "its wheels are for macOS 15 and newer",
}
"""Pins that are known to have no wheel, and what that means."""


@dataclass(frozen=True)
class Platform:
    """A kind of machine: the markers of its pins, and the platforms of the wheels that it takes."""

    name: str
    system: str
    machine: str
    wheels: tuple[str, ...]

    def pins(self) -> dict[str, str]:
        """Return the version of each pin that holds here."""
        systems = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}
        markers = {
            "sys_platform": self.system,
            "platform_system": systems[self.system],
            "platform_machine": self.machine,
        }
        lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        pins = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
        chosen = [pin for pin in pins if pin.marker is None or pin.marker.evaluate(markers)]
        return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in chosen}

    def tags(self) -> frozenset[Tag]:
        """Return the tags of the wheels that it takes."""
        compiled = cpython_tags(PYTHON, platforms=self.wheels)
        return frozenset((*compiled, *compatible_tags(PYTHON, platforms=self.wheels)))


def linux(machine: str) -> Platform:
    """Return a Linux with glibc 2.36, as Debian 12 has."""
    wheels = [f"manylinux_2_{minor}_{machine}" for minor in range(36, 4, -1)]
    older = (f"manylinux{age}_{machine}" for age in (2014, 2010, 1))
    return Platform(f"linux-{machine}", "linux", machine, (*wheels, *older))


PLATFORMS = (
    linux("x86_64"),
    linux("aarch64"),
    Platform("macos-arm64", "darwin", "arm64", tuple(mac_platforms((14, 0), "arm64"))),
    Platform("windows-amd64", "win32", "AMD64", ("win_amd64",)),
)


def list_files(name: str) -> list[str]:
    """Return the names of all files that the index has of a package: the texts of its links (PEP 503)."""
    with urlopen(f"{INDEX.rstrip('/')}/{name}/", timeout=60) as answer:
        return re.findall(r">\s*([^<>\s]+)\s*</a>", answer.read().decode())


def find_wheels(files: list[str]) -> Iterator[tuple[str, frozenset[Tag]]]:
    """Yield the version and the tags of each wheel among some files."""
    for file in files:
        try:
            _, version, _, tags = parse_wheel_filename(file)
        except InvalidWheelFilename:
            continue
        yield version.public, tags


def main() -> None:
    """Print the pins without a wheel, platform by platform, and fail on one that is not expected."""
    names = sorted({name for platform in PLATFORMS for name in platform.pins()})
    with ThreadPoolExecutor(8) as pool:
        files = dict(zip(names, pool.map(list_files, names), strict=True))
    wheels = {name: list(find_wheels(files[name])) for name in names}

    unexpected = 0
    for platform in PLATFORMS:
        pins, tags = platform.pins(), platform.tags()
        missing = [n for n, pin in pins.items() if not any(v == pin and tags & found for v, found in wheels[n])]
        print(f"{platform.name}: {len(pins) - len(missing)} of {len(pins)} pins have a wheel")
        for name in missing:
            reason = EXPECTED.get((name, "*")) or EXPECTED.get((name, platform.name))
            unexpected += reason is None
            advice = "NOT EXPECTED: pin another version there, or say why in .ci/pins.py"
            print(f"  {name}=={pins[name]}: {reason or advice}")
    sys.exit(1 if unexpected else 0)


if __name__ == "__main__":
    main()
