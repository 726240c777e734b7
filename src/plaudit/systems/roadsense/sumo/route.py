"""The single way through a SUMO network, read from its XML."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from plaudit.systems.roadsense.errors import SimulatorError

Point = tuple[float, float]


class RoadPiece(NamedTuple):
    """An edge of the road: where it begins, in meters from the start of the road, and how long it is."""

    edge: str
    begin: float
    length: float


class Road(NamedTuple):
    """The only way through a network."""

    path: str
    pieces: tuple[RoadPiece, ...]
    length: float
    """Metres from the first edge's start to the last edge's end, junctions included."""
    shape: tuple[Point, ...]
    """The middle of the lane, for drawing."""

    @property
    def edges(self) -> tuple[str, ...]:
        """The edges in the order in which they are driven."""
        return tuple(piece.edge for piece in self.pieces)


class Lane(NamedTuple):
    """A lane of an edge, or of a junction."""

    edge: str
    length: float
    shape: tuple[Point, ...]


def read_road(path: Path) -> Road:
    """Return the road of a network file; a file that is broken, or has more than one way through it, is refused."""
    try:
        net = ElementTree.parse(path).getroot()
        lanes = {lane.edge: lane for edge in net.iter("edge") for lane in _find_car_lane(edge)}
        links = [
            link.attrib for link in net.iter("connection") if {link.attrib["from"], link.attrib["to"]} <= set(lanes)
        ]
        driven = [lanes[edge] for edge in _find_route(path, lanes, links)]
    except (ElementTree.ParseError, UnicodeDecodeError, KeyError, ValueError) as error:
        raise SimulatorError(
            f"{path} is not a SUMO network that can be read ({type(error).__name__}: {error})."
            " Build it again with SUMO's netconvert"
        ) from error
    except OSError as error:
        raise SimulatorError(f"{path} cannot be read: {error.strerror}. Give the path of a SUMO network") from error
    return _build_road(path, driven)


def _find_car_lane(edge: ElementTree.Element) -> Iterator[Lane]:
    for lane in edge.iter("lane"):
        allowed, refused = lane.get("allow", "passenger").split(), lane.get("disallow", "").split()
        if ("passenger" in allowed or "all" in allowed) and "passenger" not in refused and "all" not in refused:
            yield Lane(edge.attrib["id"], float(lane.attrib["length"]), _parse_points(lane.attrib["shape"]))
            return


def _parse_points(shape: str) -> tuple[Point, ...]:
    rows = (point.split(",") for point in shape.split())
    return tuple((float(row[0]), float(row[1])) for row in rows)


def _is_inside_junction(edge: str) -> bool:
    return edge.startswith(":")


def _find_route(path: Path, lanes: Iterable[str], links: list[dict[str, str]]) -> list[str]:
    """Return the edges from the start of the road to its end, those inside junctions included."""
    outside = {edge for edge in lanes if not _is_inside_junction(edge)}
    following = {(link["from"], link["to"]): link for link in links if link["from"] in outside}
    starts = outside - {to for _, to in following}
    if len(starts) != 1 or len(following) != len(outside) - 1 or len({edge for edge, _ in following}) < len(following):
        raise SimulatorError(
            f"{path} has no single way through it: {len(outside)} edges for cars, {len(starts)} of them without an edge"
            f" before, {len(following)} ways from one to another. Give a network with one road that cars drive from its"
            " first edge to its last"
        )
    (edge,) = starts
    way = [edge]
    while link := next((link for (start, _), link in following.items() if start == edge), None):
        way += [*_follow_junction(link, links), link["to"]]
        edge = link["to"]
    return way


def _follow_junction(link: dict[str, str], links: list[dict[str, str]]) -> Iterator[str]:
    via = link.get("via")
    while via:
        edge, _, lane = via.rpartition("_")
        yield edge
        via = next((on.get("via") for on in links if on["from"] == edge and on.get("fromLane") == lane), None)


def _build_road(path: Path, driven: list[Lane]) -> Road:
    pieces: list[RoadPiece] = []
    shape: list[Point] = []
    begin = 0.0
    for lane in driven:
        if not (lane.length > 0 and len(lane.shape) > 1):
            raise SimulatorError(f"edge {lane.edge!r} of {path} has no length. Build it again with SUMO's netconvert")
        if not _is_inside_junction(lane.edge):
            pieces.append(RoadPiece(lane.edge, begin, lane.length))
        shape += [point for point in lane.shape if not shape or point != shape[-1]]
        begin += lane.length
    return Road(str(path), tuple(pieces), begin, tuple(shape))
