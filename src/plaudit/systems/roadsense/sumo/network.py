"""The road that a convoy drives on: one of plaudit's own, built at first use, or a SUMO network of the user's."""

import subprocess
from functools import lru_cache
from pathlib import Path

from plaudit.errors import SimulatorError, did_you_mean
from plaudit.systems.roadsense.sumo.cache import kept
from plaudit.systems.roadsense.sumo.installed import environment, program, version
from plaudit.systems.roadsense.sumo.plain import PLAIN, PlainRoad
from plaudit.systems.roadsense.sumo.way import Road, read_road


def road(network: str) -> Road:
    """Return the road of a network: `straight`, `curved`, or the path of a network with a single way through it."""
    if network in PLAIN:
        return _read(_built(network))
    path = Path(network).absolute()
    if not path.is_file():
        raise SimulatorError(
            f"there is no network {network!r}. Give the path of a SUMO network (.net.xml), or one of"
            f" {', '.join(PLAIN)}.{did_you_mean(network, PLAIN)}"
        )
    found = _read(path)
    _accepted(path, *_fingerprint(path))
    return found


def _read(path: Path) -> Road:
    return _read_once(path, *_fingerprint(path))


def _fingerprint(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError as error:
        raise SimulatorError(f"{path} cannot be read: {error.strerror}") from error
    return stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=64)
def _read_once(path: Path, changed: int, size: int) -> Road:
    return read_road(path)


def _built(name: str) -> Path:
    plain = PLAIN[name]
    return kept(
        f"sumo-{version('eclipse-sumo')}",
        f"{name}-{plain.digest}.net.xml",
        good=_is_whole,
        build=lambda path: _build(plain, path),
    )


def _is_whole(path: Path) -> bool:
    try:
        return _read(path).length > 0
    except SimulatorError:
        return False


def _build(plain: PlainRoad, path: Path) -> None:
    """Write the network of a plain road with SUMO's netconvert."""
    nodes, edges = path.with_name("road.nod.xml"), path.with_name("road.edg.xml")
    nodes.write_text(plain.nodes)
    edges.write_text(plain.edges)
    options = ("--no-turnarounds", "--offset.disable-normalization")  # the road begins at the origin
    _run("netconvert", "-n", nodes, "-e", edges, "-o", path, *options, about=f"could not build {path.name}")


@lru_cache(maxsize=64)
def _accepted(path: Path, changed: int, size: int) -> None:
    """Let SUMO's own program read a network first.

    Inside this process SUMO would print its complaint on the terminal and raise an error without a reason.
    """
    _run("sumo", "-n", path, "--end", "0", "--no-step-log", "--no-warnings", about=f"SUMO refuses the network {path}")


def _run(name: str, *arguments: str | Path, about: str) -> None:
    command = [program(name), *map(str, arguments)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise SimulatorError(f"{about}: {reasons(done.stderr) or f'{name} ended with {done.returncode}'}")


def in_one_line(error: Exception) -> str:
    """Return what an error says, in one line."""
    return " ".join(str(error).split())


def reasons(text: str) -> str:
    r"""Return what SUMO said was wrong, in one line.

    >>> reasons("Warning: odd\nError: no lane 'a'.\nQuitting (on error).\n")
    "no lane 'a'."
    """
    lines = [line.strip().removeprefix("Error:").strip() for line in text.splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(("Warning:", "Quitting", "Loading")))
