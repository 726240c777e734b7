"""The road of a network: plaudit's own, and the user's."""

import math
import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.sumo import Simulation, build_simulation, find_road
from plaudit.systems.roadsense.sumo.installation import build_environment, find_program
from plaudit.systems.roadsense.world import Departure, World

NODES = '<nodes><node id="a" x="0" y="0"/><node id="b" x="300" y="0"/><node id="c" x="300" y="400"/>{}</nodes>'
EDGES = '<edges><edge id="in" from="a" to="b" numLanes="1" speed="10"/><edge id="out" from="b" to="c" speed="10"/>{}</edges>'


def built(folder: Path, *, nodes: str = "", edges: str = "") -> Path:
    """Return a network of the user's: a road with a corner, and what else is asked for."""
    path = folder / "own.net.xml"
    path.write_text(convert(nodes, edges))
    return path


@cache
def convert(nodes: str, edges: str) -> str:
    """Return a network as SUMO's program writes it."""
    with TemporaryDirectory() as folder:
        Path(folder, "n.xml").write_text(NODES.format(nodes))
        Path(folder, "e.xml").write_text(EDGES.format(edges))
        command = [find_program("netconvert"), "-n", "n.xml", "-e", "e.xml", "-o", "net.xml", "--no-turnarounds"]
        subprocess.run(command, cwd=folder, env=build_environment(), check=True, capture_output=True)
        return Path(folder, "net.xml").read_text()


def test_the_straight_road_is_four_kilometres_without_a_bend() -> None:
    """It starts at the origin towards the east."""
    straight = find_road("straight")
    assert (straight.edges, straight.length, straight.shape) == (("road",), 4000.0, ((0.0, 0.0), (4000.0, 0.0)))


def test_the_curved_road_has_gentle_bends_and_a_hairpin(sumo: Simulation) -> None:
    """Cars drive through all of it at its limit."""
    curved = find_road("curved")
    assert curved.length > 2000
    length = sum(math.dist(*ends) for ends in zip(curved.shape, curved.shape[1:], strict=False))
    assert curved.length == pytest.approx(length, abs=0.5)
    sumo.begin(World("curved", (Departure("V001", 0.0, 13.0),)))
    states = [sumo.step()["V001"] for _ in range(1000)]
    turned = [(states[i + 100].heading - states[i].heading + 180) % 360 - 180 for i in range(900)]
    assert max(map(abs, turned)) > 150
    assert max(state.speed for state in states) == pytest.approx(13.89, abs=0.01)
    assert min(state.speed for state in states) > 12


def test_cars_drive_a_network_of_the_users_own(tmp_path: Path, elsewhere: Simulation) -> None:
    """Over a junction, from the first edge to the last; a position counts from the start of the road."""
    own = find_road(str(built(tmp_path)))
    assert own.edges == ("in", "out")
    assert own.pieces[1].begin > own.pieces[0].length  # the junction lies between
    assert own.length == pytest.approx(own.pieces[1].begin + own.pieces[1].length)
    later = own.pieces[1].begin + 20.0
    elsewhere.begin(World(own.path, (Departure("V001", 250.0, 8.0), Departure("V002", later, 8.0))))
    states = [elsewhere.step() for _ in range(200)]
    assert states[0]["V001"].heading == 90.0
    assert states[0]["V002"].heading % 360 == 0.0
    assert states[-1]["V001"].heading % 360 == 0.0


def test_a_car_cannot_depart_inside_a_junction(tmp_path: Path) -> None:
    """SUMO has no place for it there."""
    own = find_road(str(built(tmp_path)))
    inside = (own.pieces[0].length + own.pieces[1].begin) / 2
    with pytest.raises(ValueError, match="cannot depart"):
        build_simulation("process").begin(World(own.path, (Departure("V001", inside, 1.0),)))


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        ('<node id="d" x="600" y="0"/>', '<edge id="fork" from="b" to="d"/>'),
        ('<node id="d" x="0" y="900"/><node id="e" x="9" y="999"/>', '<edge id="island" from="d" to="e"/>'),
        ("", '<edge id="back" from="c" to="a"/>'),
    ],
    ids=["fork", "island", "loop"],
)
def test_a_network_without_a_single_way_through_it_is_refused(tmp_path: Path, nodes: str, edges: str) -> None:
    """A convoy drives one road."""
    with pytest.raises(SimulatorError, match="no single way through it: "):
        find_road(str(built(tmp_path, nodes=nodes, edges=edges)))


def broken(text: str) -> dict[str, str]:
    """Return a network in many ways of being broken."""
    return {
        "empty": "",
        "cut short": text[: len(text) * 2 // 3],
        "not XML": "hello",
        "no edges": "<net></net>",
        "no lane ids": text.replace("lane id=", "lane idx="),
        "no lengths": re.sub(r' length="[^"]*"', "", text),
        "lengths below zero": re.sub(r' length="[^"]*"', ' length="-5"', text),
        "shapes of letters": re.sub(r' shape="[^"]*"', ' shape="abc"', text),
        "no junctions": re.sub(r"<junction.*?(/>|</junction>)", "", text, flags=re.DOTALL),
    }


@pytest.mark.parametrize("how", list(broken("")))
def test_a_broken_network_is_a_clear_error(
    tmp_path: Path, how: str, sumo: Simulation, capfd: pytest.CaptureFixture[str]
) -> None:
    """It names the file; SUMO prints nothing on the terminal, and the next world begins."""
    path = tmp_path / "broken.net.xml"
    path.write_text(broken(built(tmp_path).read_text())[how])
    with pytest.raises(SimulatorError, match=re.escape(str(path))) as caught:
        sumo.begin(World(str(path), ()))
    assert "Process Error" not in str(caught.value)
    sumo.begin(World("straight", ()))
    assert sumo.step() == {}
    assert capfd.readouterr() == ("", "")


def test_a_network_that_is_mended_is_read_again(tmp_path: Path) -> None:
    """What was found wrong is not remembered beyond the file that it was found in."""
    path = built(tmp_path)
    text = path.read_text()
    path.write_text(text[:200])
    with pytest.raises(SimulatorError):
        find_road(str(path))
    path.write_text(text)
    assert find_road(str(path)).edges == ("in", "out")


@pytest.mark.parametrize("name", ["strait", "/nowhere/at/all.net.xml", "."])
def test_a_network_that_is_not_there_is_named(name: str) -> None:
    """With the ones that are."""
    with pytest.raises(SimulatorError, match="straight, curved") as caught:
        find_road(name)
    assert repr(name) in str(caught.value)
    assert ("Did you mean 'straight'?" in str(caught.value)) == (name == "strait")
