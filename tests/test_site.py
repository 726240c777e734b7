"""The site: it builds, a broken link fails it, it opens from a folder, and its tutorials are notebooks too."""

import inspect
import json
import os
import re
import runpy
import subprocess
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.browsers import FLAGS, need_chromium
from test_public_docstrings import find, public_names

pytest.importorskip("mkdocs", reason="the site needs plaudit[dev]")
pytest.importorskip("material", reason="the site needs plaudit[dev]")

ROOT = Path(__file__).parent.parent
NO_NETWORK = {f"{scheme}_proxy": "http://127.0.0.1:9" for scheme in ("http", "https", "HTTP", "HTTPS")}


def build(folder: Path, *options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", folder, *options]
    environment = os.environ | NO_NETWORK | {"NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"}
    return subprocess.run(list(map(str, command)), cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_built(site):
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert len(pages) > 90
    assert [page for page in pages if not (site / page).is_file()] == []


def test_nothing_is_fetched_from_another_host(site):
    fetched = re.compile(
        r"<(?:script|img|iframe)[^>]* src=[\"']?https?:|<link[^>]*rel=[\"']?(?:stylesheet|preconnect)[^>]*https?:"
    )
    assert [path.name for path in site.rglob("*.html") if fetched.search(path.read_text(encoding="utf-8"))] == []


def test_an_example_in_a_docstring_is_shown_as_code(site):
    page = (site / "reference" / "api" / "rewards.html").read_text(encoding="utf-8")
    assert "<blockquote>" not in page
    assert page.count("&gt;&gt;&gt; ") > 20
    assert "<p>&gt;&gt;&gt;" not in page


def test_every_public_function_and_class_is_in_the_api_reference(site):
    inventory = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    documented = {line.partition(" ")[0] for line in inventory.splitlines()}
    missing = []
    for path in public_names():
        value = find(path)
        home = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
        if (inspect.isfunction(value) or inspect.isclass(value)) and not {path, home} & documented:
            missing.append(path)
    assert missing == []


@pytest.mark.parametrize(
    ("link", "complaint"),
    [("other.md#moved", "does not contain an anchor '#moved'"), ("gone.md", "not found among documentation files")],
)
def test_a_broken_link_fails_the_build(tmp_path, link, complaint):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text(f"# Home\n\n[there]({link})\n", encoding="utf-8")
    (docs / "other.md").write_text("# Other\n\n## Here\n", encoding="utf-8")
    kept = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    validation = re.search(r"^validation:\n(?:  .*\n)+", kept, re.MULTILINE)[0]
    assert re.search(r"^strict: true$", kept, re.MULTILINE)
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"site_name: broken\nstrict: true\n{validation}", encoding="utf-8")
    done = build(tmp_path / "site", "--config-file", config)
    assert done.returncode != 0
    assert complaint in done.stdout + done.stderr


def test_every_tutorial_is_a_notebook_too(site):
    made = runpy.run_path(str(ROOT / "scripts" / "notebooks.py"))
    assert len(made["list_tutorials"]()) >= 3
    for page in made["list_tutorials"]():
        text = page.read_text(encoding="utf-8")
        kept = page.with_suffix(".ipynb")
        assert kept.read_text(encoding="utf-8") == made["write_notebook"](text), (
            f"{kept.name} is stale; renew it: python scripts/notebooks.py"
        )
        assert f"({kept.name})" in text
        assert (site / "tutorial" / kept.name).is_file()
        code = [
            "".join(cell["source"]) for cell in json.loads(kept.read_text())["cells"] if cell["cell_type"] == "code"
        ]
        assert len(code) >= text.count("```python")


@contextmanager
def open_browser(width):
    """Yield an empty page of a browser; fail where a page complained or could not load something."""
    path = need_chromium()
    from playwright.sync_api import sync_playwright

    failures = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on("requestfailed", lambda request: failures.append(f"{request.failure} {request.url}"))
        page.on("pageerror", lambda error: failures.append(str(error)))
        yield page
        browser.close()
    left_early = "net::ERR_ABORTED"  # the icon of a page that was left before it came
    assert [each for each in failures if not each.startswith(left_early)] == []


def test_it_is_searched_without_a_server(site):
    with open_browser(1280) as page:
        page.goto((site / "index.html").as_uri())
        page.locator(".md-search__input").fill("loop-that-pays")
        page.wait_for_selector(".md-search-result__item a", state="attached")
        assert "loop-that-pays" in page.locator(".md-search-result__list").inner_text()


def find_wide_pages(site, paths):
    """Return the pages that are wider than a phone."""
    wide = []
    with open_browser(390) as page:
        for path in paths:
            page.goto((site / path).as_uri())
            if page.evaluate("document.documentElement.scrollWidth") > 390:
                wide.append(str(path))
    return wide


def test_a_page_of_each_kind_fits_a_phone(site):
    pages = ["index", "tutorial/first-reward", "how-to/check-a-reward", "reference/command-line", "reference/rules"]
    pages += ["reference/api/rewards", "explanation/benchmarks", "systems/roadsense", "project/contributing"]
    assert find_wide_pages(site, [f"{page}.html" for page in pages]) == []


@pytest.mark.slow
def test_every_page_fits_a_phone(site):
    assert find_wide_pages(site, sorted(path.relative_to(site) for path in site.rglob("*.html"))) == []
