"""Pictures of the world at each step: drawn by the system of a reward, limited, and never a broken page."""

import json
import threading

import pytest

from plaudit import Ledger, Reward
from plaudit.page.documents import frames as frames_module
from plaudit.page.library import Library
from plaudit.page.report import build_report, unpack
from plaudit.plugins import registry
from support.moving import FIELDS, ONE, haste, near, record_episode

DRAWN = '<svg xmlns="http://www.w3.org/2000/svg"><title>{}</title></svg>'


@pytest.fixture
def moving_system(monkeypatch):
    """Register a system of another package for the reward `moving`; it draws with what it is given."""

    def register(draw):
        made = type("Moving", (), {"reward": ONE, "VERSIONS": ("1",), "version": print, "episode": list})()
        made.draw_step = draw
        monkeypatch.setattr(registry, "import_target", lambda target: made)
        entry = registry.Registration("moving", "moving", "moving-rewards 1.2")
        monkeypatch.setattr(registry, "_find_plugins", lambda: (entry,))

    return register


def draw_title(record, reward):
    return f"<svg><title>{reward.name} {record.step}: {record.signal.inputs['distance']:.0f} m {record.context}</title></svg>"


def test_a_system_draws_every_step_from_its_record(library, moving_system):
    moving_system(draw_title)
    episode, drawn = library.get("episode/l0/night/3"), library.get("frames/l0/night/3")
    assert episode["frames"] is True
    assert drawn["remarks"] == []
    distances = episode["inputs"]["distance"]
    assert drawn["frames"] == [DRAWN.format(f"moving {at}: {each:.0f} m None") for at, each in enumerate(distances)]


def test_a_reward_that_no_system_draws_has_no_frames(library):
    assert library.get("episode/l0/night/3")["frames"] is False
    assert library.get("frames/l0/night/3")["frames"] == []


def test_a_step_that_cannot_be_drawn_is_null_and_said(library, moving_system):
    def draw(record, reward):
        if record.step == 1:
            raise FileNotFoundError("/home/somebody/secret.svg")
        if record.step == 2:
            return b"<svg/>"
        if record.step in (3, 4):
            return "<!DOCTYPE svg><svg/>"
        return None if record.step == 5 else "<svg><script>alert(1)</script></svg>"

    moving_system(draw)
    drawn = library.get("frames/l0/night/3")
    assert drawn["frames"] == ['<svg xmlns="http://www.w3.org/2000/svg"></svg>', None, None, None, None, None]
    assert sorted(drawn["remarks"]) == [
        "No picture of 2 steps, step 3 first: the SVG contains <! (a document type, an entity or a comment).",
        "No picture of step 1: draw_step raised FileNotFoundError.",
        "No picture of step 2: draw_step returned a bytes, not a string or None.",
        "Removed from the pictures, which may not run, load or link anything: <script>.",
    ]


def test_a_system_that_cannot_be_used_is_a_remark(library, moving_system, monkeypatch):
    moving_system(3)
    assert library.get("episode/l0/night/3")["frames"] is True
    [remark] = library.get("frames/l0/night/3")["remarks"]
    assert "its `draw_step` is not a function" in remark


@pytest.mark.parametrize(
    ("limit", "value", "why"),
    [("MOST_FRAMES", 4, "the limit is 4 pictures"), ("MOST_BYTES", 350, "exceed 0.00035 MB")],
)
def test_long_and_large_episodes_are_cut_and_say_so(library, moving_system, monkeypatch, limit, value, why):
    monkeypatch.setattr(frames_module, limit, value)
    moving_system(draw_title)
    drawn = library.get("frames/l0/night/3")
    assert len(drawn["frames"]) == 4
    [remark] = drawn["remarks"]
    assert remark.startswith("Pictures of the first 4 of 6 steps only:")
    assert why in remark


def test_a_system_that_never_returns_is_given_up_and_not_asked_again_meanwhile(library, moving_system, monkeypatch):
    monkeypatch.setattr(frames_module, "SECONDS", 0.2)
    go_on, asked = threading.Event(), []

    def draw(record, reward):
        asked.append(record.step)
        if record.step == 2:
            go_on.wait(300)
        return "<svg/>"

    moving_system(draw)
    try:
        drawn = library.get("frames/l0/night/3")
        assert len(drawn["frames"]) == 2
        assert drawn["remarks"] == ["Pictures of the first 2 of 6 steps only: drawing them took more than 0.2 s."]
        assert library.get("frames/l0/night/2")["frames"] == []
        assert "takes too long" in library.get("frames/l0/night/2")["remarks"][0]
        assert asked == [0, 1, 2]
    finally:
        go_on.set()
    frames_module._at_work[draw].join()
    monkeypatch.setattr(frames_module, "SECONDS", 30)
    assert len(library.get("frames/l0/night/2")["frames"]) == 6


def test_a_report_leaves_pictures_out_before_episodes(library, moving_system):
    def read(report):
        start = report.html.index('id="documents">') + len('id="documents">')
        return json.loads(report.html[start : report.html.index("</script>", start)])

    def draw(record, reward):
        noise = hash((record.id, record.signal.total))
        return f"<svg><text>{''.join(str(hash((noise, at))) for at in range(300))}</text></svg>"

    without = build_report(library)
    moving_system(draw)
    whole, small = build_report(library), build_report(library, max_size=len(without.html) + 30_000)
    every, some = read(whole), read(small)
    assert small.episodes == whole.episodes == without.episodes
    assert {each for each in every if each.startswith("episode/")} == {e for e in some if e.startswith("episode/")}
    assert {each.replace("episode/", "frames/") for each in every if each.startswith("episode/")} <= set(every)
    assert 0 < sum(each.startswith("frames/") for each in some) < sum(each.startswith("frames/") for each in every)
    assert len(small.html) <= len(without.html) + 30_000
    [first, *_] = [each for each in some if each.startswith("frames/")]
    assert unpack(some[first])["frames"]


def test_rewards_of_a_system_are_drawn_under_longer_names_too(tmp_path, moving_system):
    moving_system(draw_title)
    with Ledger(tmp_path / "rewards.db") as ledger:
        for episode, name in enumerate(("moving_slowly_home", "movings")):
            record_episode(ledger, episode, reward=Reward(name, version="1", terms=[near, haste], fields=FIELDS))
    library = Library([str(tmp_path / "rewards.db")])
    assert [library.get(f"episode/l0/night/{each}")["frames"] for each in (0, 1)] == [True, False]
    library.close()
