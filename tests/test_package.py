"""The wheel and the source distribution: built from this checkout, installed into an empty environment, and run there."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib.metadata import distribution
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
def built(tmp_path_factory):
    """Return the source distribution and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


def test_both_are_named_for_the_version(built):
    assert built["wheel"].name.startswith(f"plaudit-{plaudit.__version__}-")
    assert built["sdist"].name == f"plaudit-{plaudit.__version__}.tar.gz"


def test_the_wheel_holds_the_package_and_nothing_else(built):
    names = zipfile.ZipFile(built["wheel"]).namelist()
    source = Path(plaudit.__file__).parent
    expected = {
        f"plaudit/{path.relative_to(source).as_posix()}"
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "plaudit/py.typed" in names
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_sdist_holds_what_builds_and_tests_it(built):
    with tarfile.open(built["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"README.md", "LICENSE", "CITATION.cff", "Makefile", "mkdocs.yml", "conftest.py", "scripts/site.py"}
    assert wanted <= names
    assert {f"docs/{page}" for page in ("tutorial/index.md", "reference/language.md")} <= names
    assert not any(name.startswith(("site/", "dist/", ".venv/")) for name in names)


@pytest.mark.parametrize("kind", ["wheel", pytest.param("sdist", marks=pytest.mark.slow)])
def test_it_is_installed_into_an_empty_environment_and_runs(built, kind, tmp_path):
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    # This environment lends the dependencies, so that no network is needed, but not the package itself.
    where = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    lent = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(where, "lent.pth").write_text("\n".join(sorted(lent)), encoding="utf-8")

    pip = [python, distribution("pip").locate_file("pip/__pip-runner__.py")]  # what `pip --python` starts
    options = ["--no-deps", "--no-index", "--no-compile", "--no-build-isolation", "--ignore-installed"]
    run(*pip, "install", *options, built[kind], cwd=tmp_path)

    imported = run(python, "-c", "import plaudit; print(plaudit.__file__)", cwd=tmp_path).strip()
    assert Path(imported).resolve().is_relative_to(home.resolve())
    listing = run(scripts / "plaudit", "list", cwd=tmp_path)
    for system in ("apex", "deepthinker", "roadsense", "hackmatrix"):
        assert system in listing
