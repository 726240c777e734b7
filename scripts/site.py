"""Add to the site what is not in docs/: `mkdocs build` calls this through `hooks:` in mkdocs.yml.

README.md is the first page; the changelog and the guides for contributors and security are pages too. Files that pages
link to are copied.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
"""Pages that stand in the root of the repository, and where they are on the site."""
FILES = "files"
"""The folder of the site for other files of the repository that a page links to."""
WORKER = "https://unpkg.com/iframe-worker/shim"
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
NAMED_FENCE = re.compile(r"^(`{3,}\w+) (?P<file>[^\s`={]+)$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Leave out the page for addresses that a server does not know: there is no server."""
    config.theme.static_templates.discard("404.html")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root, and the files that pages link to."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for page in list(files.documentation_pages()):
        for target in map(str, LINK.findall(page.content_string)):
            path = find_target(page.src_uri, target)
            if path.startswith(("../", "docs/")) or path in PAGES or not (ROOT / path).is_file():
                continue
            if files.get_file_from_path(f"{FILES}/{path}") is None:
                files.append(File.generated(config, f"{FILES}/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to where things are on the site, and show the name of a file above its block."""
    here = page.file.src_uri

    def point(link: re.Match[str]) -> str:
        path = find_target(here, link[1])
        if path.startswith("docs/"):
            target = path.removeprefix("docs/")
        elif path in PAGES:
            target = PAGES[path]
        elif (ROOT / path).is_file():
            target = f"{FILES}/{path}"
        else:
            return link[1]
        return relpath(target, str(PurePosixPath(here).parent))

    return NAMED_FENCE.sub(r'\1 title="\g<file>"', LINK.sub(point, markdown))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Take from the site itself what the theme would fetch from another host when a page is opened from a folder."""
    return output.replace(WORKER, relpath("javascripts/iframe-worker.js", str(PurePosixPath(page.url).parent)))


def find_target(page: str, link: str) -> str:
    """Return the path in the repository that a link on a page of the site leads to."""
    origin = next((source for source, target in PAGES.items() if target == page), f"docs/{page}")
    return normpath(str(PurePosixPath(origin).parent / link))
