"""The one HTML document of the page, with its styles and scripts in it, and the policy that lets nothing else run."""

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files

STYLES = ("vendor/uPlot.min.css", "style.css")
LIBRARY = "vendor/uPlot.iife.min.js"
LICENCE = "vendor/uPlot.LICENSE"
SCRIPTS = (
    "dom.js",
    "sanitise.js",
    "format.js",
    "store.js",
    "palette.js",
    "legend.js",
    "charts.js",
    "stacks.js",
    "heat.js",
    "controls.js",
    "table.js",
    "knobs.js",
    "rescoring.js",
    "frames.js",
    "views/index.js",
    "views/terms.js",
    "views/reward.js",
    "views/branches.js",
    "views/run.js",
    "views/episodes.js",
    "views/episode.js",
    "views/step.js",
    "views/whatif.js",
    "views/compare.js",
    "router.js",
    "main.js",
)
"""Each may use what those before it have put into `plaudit`; other names are its own."""

_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath fill='%230072b2' d='M1 8h4v7H1z'/%3E%3Cpath fill='%23d55e00' d='M6 1h4v7H6z'/%3E"
    "%3Cpath fill='%23009e73' d='M11 5h4v7h-4z'/%3E%3C/svg%3E"
)


def build_shell(data: str = "", *, live: bool) -> tuple[str, str]:
    """Return the HTML document and its Content-Security-Policy.

    Args:
        data: The documents to embed: a JSON object from addresses to base64 of their raw-deflated JSON.
        live: Whether a server answers. The documents are then fetched from it, and it sends the policy as a header;
            without one, the document carries the policy itself and asks for nothing.
    """
    style, script = _read_style(), _read_script()
    policy = _write_policy(style, script, live=live)
    meta = "" if live else f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
    embedded = (data or "{}").replace("<", "\\u003c")  # no text in it can end the element that holds it
    html = f"""<!doctype html>
<html lang="en" data-live="{str(live).lower()}">
<head>
<meta charset="utf-8">
{meta}<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>plaudit</title>
<link rel="icon" href="{_ICON}">
<style>{style}</style>
</head>
<body>
<noscript><p>This page needs JavaScript, which is disabled in this browser.</p></noscript>
<script type="application/json" id="documents">{embedded}</script>
<script>{script}</script>
</body>
</html>
"""
    return html, policy


@cache
def build_token_page() -> tuple[str, str]:
    """Return the page that asks for the token, and its Content-Security-Policy.

    A browser sends no cookie when a link on another site, or the file that opened it, leads here, but does send it from
    the page itself. So the page's script checks whether the cookie is there after all.
    """
    page = _read("token.html")
    style, script = (page.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0] for tag in ("style", "script"))
    return page, _write_policy(style, script, live=True, forms="'self'")


def _write_policy(style: str, script: str, *, live: bool, forms: str = "'none'") -> str:
    rules = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src": _hash(style),
        "img-src": "data:",
        "worker-src": "blob:",
        "connect-src": "'self'" if live else "'none'",
        "base-uri": "'none'",
        "form-action": forms,
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _read_style() -> str:
    return "\n".join(map(_read, STYLES))


@cache
def _read_script() -> str:
    """Return every script as one text; braces keep the names of a file in that file."""
    licence = f"/*!\n{_read(LICENCE)}*/"
    own = [f"// {name}\n{{\n{_read(name)}}}" for name in SCRIPTS]
    start = '(() => {\n"use strict";\nconst plaudit = { views: {} };'
    return "\n".join([licence, _read(LIBRARY), start, *own, "})();"])


def _read(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")
