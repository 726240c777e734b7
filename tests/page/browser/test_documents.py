"""The page made of documents that nobody meant to write: hostile, empty, endless, huge; and how fast a knob is followed."""

import json
from functools import cache

import numpy as np
import pytest

from plaudit.page.assets import build_shell
from plaudit.page.report import pack
from support.browsers import NARROW, as_file
from support.carrying import walking
from support.samples import following

BAD = "<img src='https://example.com/x' onerror='window.ran = 1'>\u202e\u0007" + "x" * 10_000
MATHML = """<math xmlns="http://www.w3.org/1998/Math/MathML" onclick="window.ran = 1">
<mrow><mi>distance</mi><maction actiontype="statusline" href="javascript:ran = 1"><mn>1</mn></maction></mrow>
<mtable><mtr><mtd style="text-align:right"><mn>2</mn></mtd></mtr></mtable>
<script>window.ran = 1</script></math>"""
PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10" onload="window.ran = 1">
<style>* { fill: url(https://example.com/y) }</style><script>window.ran = 1</script>
<image href="https://example.com/z"/><a href="javascript:ran = 1"><text>gone</text></a><foreignObject><b>gone</b></foreignObject>
<circle cx="5" cy="5" r="4" fill="url(https://example.com/f)" onclick="window.ran = 1"/><rect width="3" height="3" fill="#0072b2"/></svg>"""


@pytest.fixture
def open_documents(browser, tmp_path):
    """Open a page that was made of documents, from its file and without a network."""

    def open_at(documents, place="", **options):
        packed = json.dumps({address: pack(document) for address, document in documents.items()})
        (tmp_path / "page.html").write_text(build_shell(packed, live=False)[0])
        return browser.open(f"{as_file(tmp_path / 'page.html')}#/{place}", offline=True, **options)

    return open_at


def make_index(*runs, name="ledger.db"):
    reward = {"id": "r", "name": name, "version": name, "fingerprint": "f" * 64}
    ledger = {"id": "l0", "kind": "ledger", "name": name, "records": 3, "runs": list(runs), "rewards": [reward]}
    about = {
        "format": 1,
        "title": name,
        "made": "2026-01-02T03:04:05Z",
        "plaudit": "1",
        "live": False,
        "embedded": None,
    }
    return {**about, "sources": [ledger]}


def make_run(name, **changes):
    counts = {"run": name, "episodes": 1, "steps": 3, "records": 3, "rewards": ["r"]}
    return {**counts, "return": {"mean": "nan", "min": "-inf", "max": "inf"}, "first": None, "last": BAD, **changes}


def make_reward(**changes):
    term = {"name": BAD, "doc": BAD, "formula": BAD, "mathml": MATHML, "weight": 1.0, "clamp": None, "unit": BAD}
    term |= {"bounds": ["-inf", "inf"], "inputs": [BAD], "source": {"text": BAD, "first_line": 1, "file": None}}
    finding = {"code": BAD, "severity": BAD, "where": BAD, "message": BAD, "advice": BAD, "docs": "javascript:ran = 1"}
    return {
        "id": "r",
        "name": BAD,
        "version": BAD,
        "fingerprint": BAD,
        "doc": BAD,
        "spec": {BAD: BAD},
        "total": {"formula": BAD, "mathml": "<html><script>window.ran = 1</script></html>", "bounds": ["nan", None]},
        "terms": [{**term, "curve": None, "witnesses": []}],
        "adjustments": [],
        "fields": [{"name": BAD, "kind": BAD, "range": None, "unit": BAD, "labels": [BAD], "better": BAD, "aim": None}],
        "incentives": {"text": [BAD]},
        "findings": [{**finding, "witness": [{"inputs": {BAD: BAD}, "total": "inf", "note": BAD}]}],
        "knobs": [{"name": BAD, "value": 1.0, "kind": "knob", "term": None, "low": 0.0, "high": 2.0, "doc": BAD}],
        "module": None,
        "module_missing": BAD,
        **changes,
    }


def make_episode(name, inputs, total, **changes):
    steps = list(range(len(total)))
    about = {"run": "a", "source": "l0", "episode": name, "reward": "r", "records": [1, 1 + len(steps)], "end": None}
    columns = {"steps": steps, "step_ids": [str(each) for each in steps], "record_ids": steps, "total": total}
    rest = {"values": {}, "scores": {}, "adjustments": {}, "labels": {}, "flags": [], "units": {}, "native": None}
    shown = {"previous": None, "next": None, "paths": [], "path": [], "shown": len(steps), "of": len(steps)}
    earned = {"return": 1.0, "so_far": None, "masked": {}, "contexts": {}, "actor": None}
    return {**about, **columns, **rest, **shown, **earned, "inputs": inputs, "frames": False, **changes}


def test_no_text_of_a_ledger_or_a_reward_is_read_as_markup(open_documents):
    values = {BAD: [1.0, "inf", "nan"]}
    episode = make_episode("0", {BAD: [0, 1, BAD]}, [1.0, "nan", "-inf"], values=values, frames=True)
    documents = {
        "index": make_index(make_run("a"), make_run(None), name=BAD),
        "reward/r": make_reward(),
        "episode/l0/a/0": episode,
        "frames/l0/a/0": {"frames": [PICTURE, None, BAD], "remarks": [BAD]},
        "whatif/l0/a": {"reward": "r", "episodes": [{"episode": "0", "address": "episode/l0/a/0"}]},
    }
    with open_documents(documents, size=NARROW) as page:
        assert "<img src=" in page.text("h1")
        assert "\\u202e" in page.text("h1"), "what turns the writing round is spelt out"
        for place in ("reward/r", "episode/l0/a/0", "step/l0/a/0/1", "whatif/l0/a"):
            page.go(place)
            assert (
                page.locator(
                    "main :is(img, script, iframe, image, a[href^=javascript], foreignObject, maction)"
                ).count()
                == 0
            )
            assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, (
                place
            )
        page.go("reward/r")
        assert page.locator("math mtd").evaluate("cell => cell.style.textAlign") == "right"
        page.go("episode/l0/a/0")
        page.wait("document.querySelector('.frame svg') !== null")
        kept = page.locator(".frame svg").evaluate("svg => [...svg.querySelectorAll('*')].map(each => each.outerHTML)")
        assert [each.split(" xmlns")[0].split()[0] for each in kept] == ["<circle", "<rect"]
        assert not any("onclick" in each or "url" in each for each in kept)
        assert page.evaluate("window.ran") is None


def test_empty_ledgers_and_runs_say_so(open_documents):
    empty = make_run("a", episodes=0, steps=0) | {"return": None}
    curves = {"mean": [], "min": [], "max": []}
    run = {"run": "a", "source": "l0", "rewards": [], "episodes": 0, "steps": 0, "reduced": None, "x": [], "ids": []}
    columns = {"episode": [], "return": [], "so_far": [], "length": [], "end": [], "native": None, "time": []}
    documents = {
        "index": make_index(empty),
        "run/l0/a": {
            **run,
            "return": curves,
            "length": curves,
            "native": None,
            "terms": {},
            "share": {},
            "findings": [],
        },
        "episodes/l0/a": {
            "run": "a",
            "source": "l0",
            "shown": 0,
            "of": 0,
            "chosen": None,
            "columns": {**columns, "terms": {}},
            "embedded": [],
        },
        "episode/l0/a/0": make_episode("0", {}, []),
    }
    with open_documents(documents) as page:
        said = {}
        for place in ("run/l0/a", "episodes/l0/a", "episode/l0/a/0", "whatif/l0/a"):
            page.go(place)
            said[place.split("/")[0]] = page.text(".empty-title")
        assert said["run"] == said["episodes"] == "No episodes in this run yet."
        assert said["episode"] == "This episode has no steps."
        assert said["whatif"].startswith("This report does not contain")
    with open_documents({"index": {**make_index(), "sources": []}}) as page:
        assert page.text(".empty-title") == "Nothing to show."
    with open_documents({"index": make_index()}) as page:
        assert page.text(".empty-title") == "This ledger is empty."


def test_what_an_audit_finds_is_marked_where_it_begins(open_documents):
    curve = {"mean": [1.0, 2.0, -3.0], "min": [1.0, 2.0, -3.0], "max": [1.0, 2.0, -3.0]}
    run = {"run": "a", "source": "l0", "rewards": ["r"], "episodes": 3, "steps": 9, "reduced": None, "x": [0, 1, 2]}
    run |= {"unfinished": 0, "masked": 0, "mean_length": 3.0}
    curves = {"return": curve, "length": curve, "native": None, "terms": {"gap": curve}, "share": {"gap": [1, 1, 1]}}
    finding = {
        "code": "term-dies",
        "severity": "warning",
        "where": "gap",
        "message": "It dies.",
        "advice": "Revive it.",
    }
    place = {"x": 1, "episode": "0", "address": "episode/l0/a/0"}
    documents = {
        "index": make_index(make_run("a")),
        "reward/r": make_reward(),
        "run/l0/a": {**run, **curves, "ids": ["0", "1", "2"], "findings": []},
        "episode/l0/a/0": make_episode("0", {"x": [1, 2, 3]}, [1.0, 2.0, 3.0]),
    }
    found = {"findings": [{**finding, **place}], "remarks": ["Half of it was read."], "skipped": {"drift": "no time"}}
    with open_documents(documents, "run/l0/a") as page:
        page.wait("document.querySelectorAll('canvas').length === 4")
        unmarked = page.count_colours("canvas")
        assert "no audit" in page.section("Audit").inner_text()
    with open_documents({**documents, "audit/l0/a": found}, "run/l0/a") as page:
        page.wait("document.querySelector('.finding') !== null && document.querySelectorAll('canvas').length === 4")
        assert page.text(".finding strong") == "term-dies"
        assert "Half of it was read." in page.section("Audit").inner_text()
        page.wait_for_timeout(100)
        assert page.count_colours("canvas") > unmarked
        page.get_by_role("link", name="Open episode 0").click()
        page.settle()
        assert page.text("h1") == "Episode 0"


@cache
def draw_drives(episodes, steps):
    """Return documents of episodes that `following` paid."""
    rng = np.random.default_rng(0)
    compiled, found = following.compile("numpy"), {}
    for episode in range(episodes):
        columns = {"distance": rng.uniform(0, 60, steps), "deceleration": rng.uniform(-9, 9, steps)}
        columns |= {"action": rng.integers(0, 4, steps).astype(float)}
        inputs = {name: column.round(3).tolist() for name, column in columns.items()}
        total = compiled({name: np.array(column) for name, column in inputs.items()}).total.tolist()
        found[f"episode/l0/a/{episode}"] = make_episode(str(episode), inputs, total)
    return found


def test_an_episode_of_50_000_steps_is_drawn_whole_and_walked_through(open_documents):
    [(address, episode)] = draw_drives(1, 50_000).items()
    episode = {**episode, "values": {"gap": episode["total"]}}
    documents = {"index": make_index(make_run("a")), "reward/r": make_reward(terms=[{"name": "gap"}]), address: episode}
    with open_documents(documents, address) as page:
        page.wait("document.querySelectorAll('canvas').length === 4")
        page.keyboard.press("End")
        assert page.text(".sticky h2") == "Step 49999"
        assert page.count_colours("canvas") > 3


def walk(reward, masked=()):
    """Return the inputs and totals of a short walk, one step from the state that the last one with a score left."""
    state, inputs, totals = reward.initial_state(), {}, []
    for n in range(12):
        signal = reward.score(contact=[n % (foot + 2) == 0 for foot in range(4)], prev=state)
        state = state if n in masked else signal.state
        totals.append(None if n in masked else signal.total)
        for name, value in signal.inputs.items():
            inputs.setdefault(name, []).append(value)
    return inputs, totals


@pytest.mark.parametrize("masked", [(), (0, 5, 6)], ids=["all scored", "some not scored"])
def test_states_go_from_step_to_step_with_the_other_numbers_too(open_documents, masked):
    reward = walking()
    other = reward.with_params({"air_time.dt": 0.05, "hanging.weight": -0.5})
    (inputs, before), (_, after) = walk(reward, masked), walk(other, masked)
    flags = [name for name in inputs if name.startswith("contact")]
    names = {"air_time.dt": 0.02, "hanging.weight": -0.1}
    knobs = [{"name": name, "value": value, "low": -1.0, "high": 1.0} for name, value in names.items()]
    documents = {
        "index": make_index(make_run("a")),
        "reward/r": make_reward(module=reward.compile("javascript", on_bad="mask").module, knobs=knobs, terms=[]),
        "episode/l0/a/0": make_episode("0", inputs, before, flags=flags),
        "whatif/l0/a": {"reward": "r", "episodes": [{"episode": "0", "address": "episode/l0/a/0"}], "steps": 12},
    }
    with open_documents(documents, "whatif/l0/a") as page:
        page.wait("document.getElementById('before').textContent !== ''")
        assert "differs from" not in page.text("main")
        page.locator("[data-knob='air_time.dt'] input[type=number]").fill("0.05")
        page.locator("[data-knob='hanging.weight'] input[type=number]").fill("-0.5")
        expected = f"{sum(filter(None, after)):.4g}".replace("-", "\u2212")
        page.wait(f"document.getElementById('after').textContent.startsWith({json.dumps(expected)})")


def follow_knob(open_documents, episodes, steps, turns):
    """Return how long a page took from each turn of a knob to the painted frame, in milliseconds."""
    knob = {"name": "comfort.weight", "value": 2.0, "kind": "weight", "term": "comfort", "low": 0.0, "high": 4.0}
    drives = draw_drives(episodes, steps)
    listed = [{"episode": address.rpartition("/")[2], "address": address} for address in drives]
    counts = {
        "shown": episodes,
        "of": episodes,
        "steps": episodes * steps,
        "of_steps": episodes * steps,
        "whole": False,
    }
    module = following.compile("javascript", on_bad="mask").module
    reward = make_reward(module=module, knobs=[knob], terms=[{"name": name} for name in following.program.terms])
    documents = {
        "index": make_index(make_run("a")),
        "reward/r": reward,
        "whatif/l0/a": {"reward": "r", "episodes": listed, **counts},
    }
    turn = """async turns => {
      const slider = document.querySelector("[data-knob='comfort.weight'] input[type=range]");
      for (let at = 1; at <= turns; at++) {
        slider.value = String(4 * (at % 17) / 17);
        slider.dispatchEvent(new InputEvent("input"));
        while (performance.getEntriesByName("what-if").length < at) await new Promise(requestAnimationFrame);
      }
      return performance.getEntriesByName("what-if").map(each => each.duration);
    }"""
    with open_documents({**documents, **drives}, "whatif/l0/a") as page:
        page.wait("document.getElementById('before') !== null")
        assert f"{episodes * steps:,}" in page.text(".lead")
        assert "differs from" not in page.text("main"), "the browser gives what was recorded"
        return page.evaluate(turn, turns)


def test_a_knob_is_followed_at_once_over_many_steps(open_documents, counted):
    few = np.sort(follow_knob(open_documents, 5, 100, turns=10))
    many = np.sort(follow_knob(open_documents, 50, 1000, turns=20))
    p50, p95 = many[len(many) // 2], many[int(0.95 * (len(many) - 1))]
    counted("What if over 50,000 steps, from the input to the painted frame", p50_ms=p50, p95_ms=p95)
    # A hundred times the steps, and mostly the time that a browser takes to paint anything at all.
    assert p50 < 25 * few[len(few) // 2]
