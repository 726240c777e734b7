"""The road that a convoy drives on: one of plaudit's own, built at first use, or a SUMO network of the user's."""

import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from hashlib import sha256
from multiprocessing.util import Finalize
from pathlib import Path
from typing import NamedTuple

from plaudit.caching import find_cache_folder
from plaudit.errors import FileError, did_you_mean
from plaudit.systems.roadsense.errors import SimulatorError, extract_reasons
from plaudit.systems.roadsense.sumo.installation import build_environment, find_program, find_version
from plaudit.systems.roadsense.sumo.route import Point, Road, read_road


class PlainRoad(NamedTuple):
    """A single lane from its first point to its last."""

    points: tuple[Point, ...]
    limit: float
    """m/s."""

    @property
    def nodes(self) -> str:
        """The two ends, as netconvert's node file."""
        ends = zip("ab", (self.points[0], self.points[-1]), strict=True)
        nodes = "".join(f'<node id="{id}" x="{x:.2f}" y="{y:.2f}"/>' for id, (x, y) in ends)
        return f"<nodes>{nodes}</nodes>\n"

    @property
    def edges(self) -> str:
        """The one edge with its shape, as netconvert's edge file."""
        shape = " ".join(f"{x:.2f},{y:.2f}" for x, y in self.points)
        return (
            f'<edges><edge id="road" from="a" to="b" numLanes="1" speed="{self.limit}" spreadType="center"'
            f' shape="{shape}"/></edges>\n'
        )

    @property
    def digest(self) -> str:
        """A few letters that change whenever the road does."""
        return sha256((self.nodes + self.edges).encode()).hexdigest()[:12]


class Stretch(NamedTuple):
    """A part of a road: `length` meters, over which it turns by `turn` degrees to the left."""

    length: float
    turn: float = 0.0


def bend(radius: float, turn: float) -> Stretch:
    """Return a bend of a radius in meters.

    >>> round(bend(100.0, 90.0).length, 1)
    157.1
    """
    return Stretch(radius * math.radians(abs(turn)), turn)


def trace_points(stretches: tuple[Stretch, ...], *, spacing: float = 4.0) -> tuple[Point, ...]:
    """Return the points of a road that starts at the origin towards the east; a bend has one at most every `spacing` m.

    >>> [(round(x), round(y)) for x, y in trace_points((Stretch(100.0), Stretch(0.0, 90.0), Stretch(50.0)))]
    [(0, 0), (100, 0), (100, 50)]
    """
    x, y, angle = 0.0, 0.0, 0.0
    points = [(x, y)]
    for length, turn in stretches:
        pieces = max(1, math.ceil(length / spacing)) if turn else 1
        for _ in range(pieces):
            middle = angle + math.radians(turn) / pieces / 2
            x, y = x + math.cos(middle) * length / pieces, y + math.sin(middle) * length / pieces
            angle += math.radians(turn) / pieces
            if length:
                points.append((x, y))
    return tuple(points)


STRAIGHT = PlainRoad(((0.0, 0.0), (4000.0, 0.0)), limit=22.22)
"""Four kilometers without a bend."""
CURVED = PlainRoad(
    trace_points(
        (
            Stretch(200.0),
            bend(200.0, 35.0),
            Stretch(120.0),
            bend(180.0, -60.0),
            Stretch(80.0),
            bend(25.0, 180.0),  # the hairpin
            Stretch(160.0),
            bend(200.0, -45.0),
            Stretch(250.0),
            bend(250.0, 40.0),
            Stretch(200.0),
            bend(160.0, -30.0),
            Stretch(400.0),
        )
    ),
    limit=13.89,
)
"""Gentle bends, a hairpin after 700 m, and gentle bends again: two kilometers in all."""
PLAIN_ROADS = {"straight": STRAIGHT, "curved": CURVED}
"""The roads by name."""


def find_road(network: str) -> Road:
    """Return the road of a network: `straight`, `curved`, or the path of a network with a single way through it."""
    if network in PLAIN_ROADS:
        return _read_cached(_find_built(network))
    path = Path(network).absolute()
    if not path.is_file():
        raise SimulatorError(
            f"there is no network {network!r}. Give the path of a SUMO network (.net.xml), or one of"
            f" {', '.join(PLAIN_ROADS)}.{did_you_mean(network, PLAIN_ROADS)}"
        )
    found = _read_cached(path)
    _check_with_sumo(path, *_read_fingerprint(path))
    return found


def _read_cached(path: Path) -> Road:
    return _read_once(path, *_read_fingerprint(path))


def _read_fingerprint(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError as error:
        raise SimulatorError(f"{path} cannot be read: {error.strerror}") from error
    return stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=64)
def _read_once(path: Path, changed: int, size: int) -> Road:
    return read_road(path)


def _find_built(name: str) -> Path:
    plain = PLAIN_ROADS[name]
    return find_or_build(
        f"sumo-{find_version('eclipse-sumo')}",
        f"{name}-{plain.digest}.net.xml",
        good=_is_readable,
        build=lambda path: _run_netconvert(plain, path),
    )


def _is_readable(path: Path) -> bool:
    try:
        return _read_cached(path).length > 0
    except SimulatorError:
        return False


def _run_netconvert(plain: PlainRoad, path: Path) -> None:
    nodes, edges = path.with_name("road.nod.xml"), path.with_name("road.edg.xml")
    nodes.write_text(plain.nodes)
    edges.write_text(plain.edges)
    options = ("--no-turnarounds", "--offset.disable-normalization")  # the road begins at the origin
    _run_program("netconvert", "-n", nodes, "-e", edges, "-o", path, *options, about=f"could not build {path.name}")


@lru_cache(maxsize=64)
def _check_with_sumo(path: Path, changed: int, size: int) -> None:
    """Let SUMO's own program read a network first.

    Inside this process SUMO would print its complaint on the terminal and raise an error without a reason.
    """
    _run_program(
        "sumo", "-n", path, "--end", "0", "--no-step-log", "--no-warnings", about=f"SUMO refuses the network {path}"
    )


def _run_program(name: str, *arguments: str | Path, about: str) -> None:
    command = [find_program(name), *map(str, arguments)]
    done = subprocess.run(
        command, env=build_environment(), capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        raise SimulatorError(f"{about}: {extract_reasons(done.stderr) or f'{name} ended with {done.returncode}'}")


@cache
def _make_process_folder(part: str, pid: int) -> Path:
    """Return a temporary folder of this process, removed when it ends."""
    folder = Path(tempfile.mkdtemp(prefix=f"plaudit-{part}-"))
    # Not atexit, which the workers of multiprocessing leave out. A worker that was forked later does not do it either.
    Finalize(None, shutil.rmtree, args=(folder,), kwargs={"ignore_errors": True}, exitpriority=0)
    return folder


def find_or_build(part: str, name: str, *, good: Callable[[Path], bool], build: Callable[[Path], None]) -> Path:
    """Return the file `name`, built where it is missing or not `good`; two processes may ask at the same time.

    `build` writes the file at the path it is given, beside the place where it is kept; it gets there in one move.
    """
    for folder in (find_cache_folder(part), None):
        try:
            return _find_or_build_in(folder or _make_process_folder(part, os.getpid()), name, good=good, build=build)
        except OSError as error:
            if folder is None:
                raise FileError(
                    f"cannot store {name}: neither {find_cache_folder(part)} nor {tempfile.gettempdir()} is"
                    f" writable ({error}). Set PLAUDIT_CACHE_DIR to a writable folder"
                ) from error
    raise AssertionError("unreachable")  # pragma: no cover


def _find_or_build_in(folder: Path, name: str, *, good: Callable[[Path], bool], build: Callable[[Path], None]) -> Path:
    path = folder / name
    if path.is_file() and good(path):
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with _make_build_folder(folder) as building:
        build(building / name)
        os.replace(building / name, path)
    return path


@contextmanager
def _make_build_folder(folder: Path) -> Iterator[Path]:
    """A folder of this process's own beside the kept files, so that the move is on one disk."""
    building = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        yield building
    finally:
        shutil.rmtree(building, ignore_errors=True)
