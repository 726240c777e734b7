"""Pictures made safe: nothing that runs, loads, links or reaches the page gets through, in Python and in the browser."""

import re
from pathlib import Path

import pytest

import plaudit.page
from plaudit.page import svg
from plaudit.page.svg import UnsafePicture, clean_svg

STATIC = Path(plaudit.page.__file__).parent / "static"
START = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">'


def clean(inside, start=START):
    return clean_svg(f"{start}{inside}</svg>")


def test_a_picture_stays_what_it_was():
    inside = (
        '<title>A car &amp; a half</title><g transform="translate(3, -4.5) rotate(10)" fill="var(--term-0)">'
        '<path d="M0 0l-1.5e-3 2z" stroke="#0072b2" stroke-dasharray="4 2"></path>'
        '<text x="1" text-anchor="middle" font-size="10%">5 &lt; 6 · м</text></g>'
    )
    assert clean(inside) == (f"{START}{inside}</svg>", frozenset())


def test_elements_need_no_namespace_and_may_have_the_right_one_by_a_prefix():
    assert clean_svg("<svg><rect/></svg>").markup == '<svg xmlns="http://www.w3.org/2000/svg"><rect></rect></svg>'
    assert "<rect>" in clean_svg('<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:rect/></s:svg>').markup


@pytest.mark.parametrize(
    ("attack", "named"),
    [
        ("<script>alert(1)</script>", "<script>"),
        ('<script href="data:text/javascript,alert(1)"/>', "<script>"),
        ("<SCRIPT>alert(1)</SCRIPT>", "<SCRIPT>"),
        ("<foreignObject><body xmlns='http://www.w3.org/1999/xhtml'>alert</body></foreignObject>", "<foreignObject>"),
        ("<rect xmlns='http://www.w3.org/1999/xhtml'>alert</rect>", "<rect>"),
        ("<style>@import 'https://example.com';</style>", "<style>"),
        ("<image href='https://example.com/alert'/>", "<image>"),
        ("<use href='#alert'/>", "<use>"),
        ("<a href='javascript:alert(1)'><text>alert</text></a>", "<a>"),
        ("<animate attributeName='href' to='javascript:alert(1)'/>", "<animate>"),
        ("<set attributeName='onclick' to='alert(1)'/>", "<set>"),
        ("<iframe src='https://example.com/alert'/>", "<iframe>"),
        ("<linearGradient id='alert'/>", "<linearGradient>"),
        ("<rect onclick='alert(1)'/>", "onclick"),
        ("<rect onload='alert(1)'/>", "onload"),
        ("<rect style='background: url(https://example.com/alert)'/>", "style"),
        ("<rect href='https://example.com/alert'/>", "href"),
        ("<rect xmlns:x='http://www.w3.org/1999/xlink' x:href='javascript:alert(1)'/>", "href"),
        ("<rect xml:base='https://example.com/alert'/>", "base"),
        ("<rect id='alert' class='alert'/>", "id"),
        ("<rect fill='url(https://example.com/alert)'/>", "fill"),
        ("<rect fill='URL (#alert)'/>", "fill"),
        (r"<rect fill='\75rl(alert)'/>", "fill"),
        ("<rect fill='&#117;rl(alert)'/>", "fill"),
        ("<rect fill='image-set(alert)'/>", "fill"),
        ("<rect fill='red; background: alert'/>", "fill"),
        ("<rect fill='javascript:alert'/>", "fill"),
        ("<rect font-family='\"alert'/>", "font-family"),
    ],
)
def test_what_could_run_load_or_link_is_left_out_and_named(attack, named):
    cleaned = clean(f"{attack}<circle r='1'/>")
    assert named in cleaned.left_out
    assert not re.search("alert|example", cleaned.markup)
    assert '<circle r="1"></circle>' in cleaned.markup


def test_text_stays_text():
    cleaned = clean("<text>&lt;script&gt;alert(1)&lt;/script&gt;</text><rect aria-label='&quot; onload=&quot;x'/>")
    assert not re.search('<script|" onload', cleaned.markup)
    assert clean_svg(cleaned.markup) == cleaned  # what was made safe stays the same


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('<!DOCTYPE svg [<!ENTITY a "aaaa">]><svg>&a;</svg>', "<!"),
        ('<!DOCTYPE svg SYSTEM "file:///etc/passwd"><svg/>', "<!"),
        ("<svg><!-- hidden --></svg>", "<!"),
        ("<svg><![CDATA[<script>]]></svg>", "<!"),
        ("<svg>&lol;</svg>", "not well-formed"),
        ("<svg><rect></svg>", "not well-formed"),
        ("<svg>\x00</svg>", "not well-formed"),
        ("<svg>\ud800</svg>", "not well-formed"),
        ("", "not well-formed"),
        ("<html/>", "begin with <svg>"),
        ("<svg xmlns='http://www.w3.org/1999/xhtml'/>", "begin with <svg>"),
        ("<svg>" + "<g>" * 60 + "</g>" * 60 + "</svg>", "deep"),
        ("<svg>" + " " * svg.MOST_BYTES + "</svg>", "characters"),
    ],
)
def test_what_is_no_safe_svg_is_refused_with_the_reason(text, why):
    with pytest.raises(UnsafePicture, match=re.escape(why)):
        clean_svg(text)


@pytest.mark.parametrize("name", ["ELEMENTS", "ATTRIBUTES"])
def test_python_and_the_browser_have_the_same_lists(name):
    text = (STATIC / "sanitise.js").read_text()
    listed = re.search(rf"const {name} = \{{.*?svg: \[(.*?)\]", text, re.DOTALL)[1]
    assert set(re.findall(r'"([\w-]+)"', listed)) == getattr(svg, name)
