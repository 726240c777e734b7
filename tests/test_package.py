"""The wheel: built from this checkout, installed into an empty environment, and run there."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import plaudit

pytest.importorskip("build", reason="building a wheel needs plaudit[dev]")
pytest.importorskip("hatchling", reason="building a wheel needs plaudit[dev]")

ROOT = Path(__file__).parent.parent


def run(*command: object, cwd: Path) -> str:
    """Return what a command printed; what it complained about is in the failure."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment | {"PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    [wheel] = folder.glob("*.whl")
    return wheel


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    source = Path(plaudit.__file__).parent
    expected = {
        f"plaudit/{path.relative_to(source).as_posix()}"
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "plaudit/py.typed" in names
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_installed_wheel_runs(wheel, tmp_path):
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    pip = [python, Path(find_spec("pip").origin).with_name("__pip-runner__.py")]  # what `pip --python` starts
    run(*pip, "install", "--no-deps", "--no-index", "--no-compile", wheel, cwd=tmp_path)

    # This environment lends the dependencies, so that no network is needed, but not the package itself.
    where = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    lent = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(where, "lent.pth").write_text("\n".join(sorted(lent)), encoding="utf-8")

    imported = run(python, "-c", "import plaudit; print(plaudit.__file__)", cwd=tmp_path).strip()
    assert Path(imported).resolve().is_relative_to(home.resolve())
    listing = run(scripts / "plaudit", "list", cwd=tmp_path)
    for system in ("apex", "deepthinker", "roadsense", "hackmatrix"):
        assert system in listing
