"""Systems of other packages: found by their entry points, listed, used like those in the box, reported where broken."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PARKING = '''"""a car that parks"""

from plaudit import Field, Reward, term

print("imported")  # which must not mix with what a command prints


@term
def close(metres):
    """Stand close to the kerb."""
    return 1.0 if metres < 0.5 else 0.0


reward = Reward("parking", version="1", terms=[close], fields=[Field("metres", low=0, high=3)])
VERSIONS = ("1", "2")
COMMANDS = {"run": "parking_commands:run", "train": "parking_commands:NOTHING", "play": "parking_commands:missing"}


def version(label):
    return reward.with_version(label)


def episode():
    return [{"metres": 1.0}]
'''

COMMANDS = '''
import click


@click.command()
@click.option("--times", type=int, default=1)
def run(times):
    """Park."""
    click.echo(f"parked {times} times")


NOTHING = 3
'''

BROKEN = {
    "raising": "raise ValueError('not today')\n",
    "leaving": "import sys\nsys.exit('gone')\n",
    "empty": "",
    "unversioned": "from parking import reward\nVERSIONS = ['1']\n",
    "unplayable": "from parking import reward, VERSIONS, version\nepisode = None\n",
    "odd": "from parking import *\nCOMMANDS = {'fly': 'odd:fly'}\n",
    "wrong": "from parking import *\nCOMMANDS = ['run']\n",
}


def install(folder: Path, package: str, systems: dict[str, str], metadata: str = "") -> None:
    """Write the metadata that pip would write."""
    info = folder / f"{package.replace('-', '_')}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(metadata or f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    lines = [f"{name} = {target}" for name, target in systems.items()]
    (info / "entry_points.txt").write_text("\n".join(["[console_scripts]", "park = x:y", "[plaudit.systems]", *lines]))


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> Path:
    """A folder of installed packages, one of them good."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "parking.py").write_text(PARKING)
    (folder / "parking_commands.py").write_text(COMMANDS)
    for name, text in BROKEN.items():
        (folder / f"{name}.py").write_text(text)
    install(folder, "parking-rewards", {"parking": "parking", "park-2": "parking"})
    install(folder, "clashing", {"roadsense": "parking", "two words": "parking"})
    install(folder, "zebra", {"parking": "raising", "absent": "nowhere:at.all"})
    install(folder, "broken", {name: name for name in BROKEN})
    install(folder, "torn", {"no equals sign\n[": "x"})
    return folder


RUN_ALL = """
import json, sys
from click.testing import CliRunner
from plaudit.cli import main

done = {}
for line in json.load(sys.stdin):
    result = CliRunner().invoke(main, line.split(), prog_name="plaudit")
    assert isinstance(result.exception, SystemExit | None), result.exception
    done[line] = {"code": result.exit_code, "stdout": result.stdout, "stderr": result.stderr}
json.dump(done, sys.stdout)
"""

CANNOT = {
    "run raising": "the system 'raising' of broken 1.2 cannot be used. ValueError: not today",
    "show raising": "the system 'raising' of broken 1.2 cannot be used. ValueError: not today",
    "train parking": "parking_commands:NOTHING is a int, not a click.Command",
    "play parking": "module 'parking_commands' has no attribute 'missing'",
    "experiment parking": "No such command 'parking'. Choose from: roadsense.",
    "run parkin": "Did you mean 'parking'?",
    "show parkin": "Did you mean 'parking'?",
    "show parking@3": "parking has no version '3'. Choose from: 1, 2.",
}
CAN = (
    "list",
    "list --json",
    "show roadsense --json",
    "show parking@2 --json",
    "check park-2 --fail-on never",
    "score parking rows.jsonl -o scores.jsonl",
    "run parking --times 2",
    "run --times 3 parking",
    "run --help",
    "train --help",
)


@pytest.fixture(scope="module")
def outcomes(packages) -> dict[str, dict]:
    """What every command came to where the packages are installed: one process that runs all of them."""
    (packages / "rows.jsonl").write_text('{"metres": 0.25}\n')
    paths = [str(packages), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL],
        input=json.dumps([*CAN, *CANNOT]),
        cwd=packages,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("line", CAN)
def test_no_broken_system_makes_a_command_fail(outcomes, line):
    assert outcomes[line]["code"] == 0, outcomes[line]


@pytest.mark.parametrize("line", CANNOT)
def test_what_cannot_be_used_says_why(outcomes, line):
    assert outcomes[line]["code"] == 2
    assert CANNOT[line] in outcomes[line]["stderr"]


def test_systems_are_listed_with_the_package_they_are_from_and_broken_ones_with_the_reason(outcomes):
    rows = json.loads(outcomes["list --json"]["stdout"])
    assert [row["from"] for row in rows[:4]] == ["built-in"] * 4
    found = {(row["from"], row["name"]): row for row in rows[4:]}
    assert found["parking-rewards 1.2", "parking"] == {
        "name": "parking",
        "rewards": "a car that parks",
        "versions": ["1", "2"],
        "terms": ["close"],
        "from": "parking-rewards 1.2",
    }
    assert "error" not in found["parking-rewards 1.2", "park-2"]
    errors = {key: row["error"] for key, row in found.items() if "error" in row}
    told = {
        ("clashing 1.2", "roadsense"): "'roadsense', a name that plaudit already uses",
        ("clashing 1.2", "two words"): "a name can have letters, digits, - and _",
        ("zebra 1.2", "parking"): "'parking', a name that parking-rewards 1.2 already uses",
        ("zebra 1.2", "absent"): "ModuleNotFoundError: No module named 'nowhere'",
        ("broken 1.2", "raising"): "ValueError: not today",
        ("broken 1.2", "leaving"): "SystemExit: gone",
        ("broken 1.2", "empty"): "its `reward` is not a Reward",
        ("broken 1.2", "unversioned"): "its `VERSIONS` is not a tuple of strings",
        ("broken 1.2", "unplayable"): "its `episode` is not a function",
        ("broken 1.2", "odd"): "it provides a command 'fly'; choose from: run, play, train, experiment",
        ("broken 1.2", "wrong"): "its `COMMANDS` is not a mapping",
        ("torn 1.2", "torn 1.2"): "torn 1.2 cannot be read",
    }
    assert errors.keys() == told.keys()
    assert all(told[key] in errors[key] for key in told)

    shown = outcomes["list"]
    assert "parking-rewards 1.2" in shown["stdout"]
    assert "built-in" in shown["stdout"]
    assert "not today" not in shown["stdout"]
    assert "Left out: the system 'raising' of broken 1.2 cannot be used. ValueError: not today" in shown["stderr"]
    assert "imported" not in shown["stdout"]


def test_a_system_is_named_like_a_built_in_one(outcomes, packages):
    assert json.loads(outcomes["show parking@2 --json"]["stdout"])["version"] == "2"
    assert outcomes["check park-2 --fail-on never"]["stdout"].startswith("parking@1")
    assert json.loads((packages / "scores.jsonl").read_text())["total"] == 1.0


def test_a_system_brings_commands(outcomes):
    assert outcomes["run parking --times 2"]["stdout"] == "parked 2 times\n"
    assert outcomes["run --times 3 parking"]["stdout"] == "parked 3 times\n"
    shown = outcomes["run --help"]["stdout"]
    assert "parking      Park." in shown
    assert "apex " in shown
    assert "raising" not in shown
    assert "parking     Cannot be used; run it to see why." in outcomes["train --help"]["stdout"]


def test_a_built_in_wins(outcomes):
    assert json.loads(outcomes["show roadsense --json"]["stdout"])["version"] == "R0"
