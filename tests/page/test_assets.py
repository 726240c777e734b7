"""The document of the page: what is in it, what its policy allows, and what no script of it may do."""

import base64
import hashlib
import re
import tomllib
from importlib.resources import files

import pytest

from plaudit.page.assets import LIBRARY, LICENCE, SCRIPTS, STYLES, build_shell, build_token_page

STATIC = files("plaudit.page") / "static"
VENDORED = tomllib.loads((STATIC / "vendor" / "VENDOR.toml").read_text())


def hash_text(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def find_inline(html, element):
    return re.findall(rf"<{element}>(.*?)</{element}>", html, re.DOTALL)


@pytest.mark.parametrize("live", [False, True])
def test_the_policy_names_the_one_script_and_the_one_style(live):
    html, policy = build_shell(live=live)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    [script], [style] = find_inline(html, "script"), find_inline(html, "style")
    assert rules["script-src"] == hash_text(script)
    assert rules["style-src"] == hash_text(style)
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["connect-src"] == ("'self'" if live else "'none'")
    assert "unsafe" not in policy
    assert ('http-equiv="Content-Security-Policy"' in html) is not live


def test_the_page_that_asks_for_the_token_is_short_and_runs_its_own_script_alone():
    html, policy = build_token_page()
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    [script], [style] = find_inline(html, "script"), find_inline(html, "style")
    assert (rules["script-src"], rules["style-src"]) == (hash_text(script), hash_text(style))
    assert (rules["default-src"], rules["form-action"]) == ("'none'", "'self'")
    assert len(html) < 4096, "it fits into what the system keeps for a client that does not read"


def test_no_document_can_end_the_element_that_holds_it():
    html, _ = build_shell('{"</script><script>alert(1)</script><!--": ""}', live=False)
    assert html.count("</script>") == 2
    assert "<!--" not in html


def test_what_was_not_written_here_is_what_was_published():
    for package in VENDORED.values():
        for name, digest in package["sha256"].items():
            assert hashlib.sha256((STATIC / "vendor" / name).read_bytes()).hexdigest() == digest, name
    listed = {name for package in VENDORED.values() for name in package["sha256"]}
    assert listed | {"VENDOR.toml"} == {each.name for each in (STATIC / "vendor").iterdir()}
    assert "Permission is hereby granted" in build_shell(live=False)[0], "its licence goes with it"


def test_every_file_is_part_of_the_document():
    names = {each.name for folder in (STATIC, STATIC / "views") for each in folder.iterdir() if each.is_file()}
    used = {name.rpartition("/")[2] for name in (*SCRIPTS, *STYLES) if not name.startswith("vendor/")}
    assert names == used | {"token.html"}
    assert LIBRARY.startswith("vendor/")
    assert LICENCE.startswith("vendor/")


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_reads_text_as_code_or_as_markup(name):
    text = (STATIC / name).read_text()
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert forbidden not in text
    assert "</" not in text, "it stands inside an element of HTML"
