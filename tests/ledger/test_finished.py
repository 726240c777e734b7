"""Episodes without an end are unfinished: shown, and counted in no return."""

import json

import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.analysis import attribute, diff
from plaudit.errors import InputError


@term
def gain(x):
    return x


@term(weight=2.0)
def bonus(x):
    return x


PAID = Reward("paid", version="1", terms=[gain], fields=[Field("x")])
NEXT = Reward("paid", version="2", terms=[bonus], fields=[Field("x")])


def record(ledger, episode, total, *, end=None, run="night", actor=None, told=True):
    """Record an episode of two steps that earns `total`; with `told`, its records say what a wrapper says."""
    for step in (1, 2):
        context = {"original_reward": 0.0} | ({end: True} if end and step == 2 else {})
        about = {"run": run, "actor": actor, "episode": episode, "step": step}
        ledger.record(PAID.score(x=total / 2), context=context if told else None, **about)


@pytest.fixture
def ledger(where):
    with Ledger(where) as ledger:
        record(ledger, 1, 10, end="terminated")
        record(ledger, 2, 20, end="truncated")
        record(ledger, 3, 900)
        record(ledger, 1, -900, actor="other")
        yield ledger


def test_an_episode_that_no_record_says_the_end_of_is_unfinished(ledger):
    assert [(each.total, each.ended, each.finished) for each in ledger.episodes()] == [
        (10, "terminated", True),
        (20, "truncated", True),
        (900, None, False),
        (-900, None, False),
    ]
    assert [each.total for each in ledger.episodes().finished] == [10, 20]
    assert not ledger.episodes(episode=3)[0].finished  # whichever episodes are asked for


def test_it_is_counted_in_no_return(ledger):
    [run] = ledger.runs()
    assert (run.records, run.episodes, run.unfinished) == (8, 2, 2)
    assert (run.returns.mean, run.returns.low, run.returns.high) == (15, 10, 20)
    assert run.to_dict()["unfinished"] == 2
    episodes = ledger.episodes()
    assert [each.total for each in episodes.best(4)] == [20, 10]
    assert [each.total for each in episodes.worst(4, term="gain")] == [10, 20]
    assert attribute(episodes).whole.mean == 15
    axes = episodes.plot()
    assert {float(y) for line in axes.lines for y in line.get_ydata()} <= {
        0.0,
        10.0,
        20.0,
        15.0,
    }  # 0 is a line of its own


def test_it_is_left_out_of_what_two_rewards_would_have_paid(ledger):
    effect = diff(PAID, NEXT, ledger=ledger).effect
    done = ledger.rescore(NEXT)
    for changes in (effect.changes, done.changes):
        assert changes.records == 8
        assert changes.episodes.old.tolist() == [10, 20]
        assert changes.episodes.new.tolist() == [20, 40]
        assert changes.episodes.to_dict()["unfinished"] == 2
        assert "Left out: 2 unfinished episodes." in str(changes)


def test_it_is_shown_apart(ledger, where, plaudit):
    assert ledger.episodes()._repr_html_().count("unfinished") == 2
    said = plaudit("ledger", "episodes", str(where)).stdout
    assert said.count("unfinished") == 2
    table = plaudit("ledger", "runs", str(where)).stdout
    assert "unfinished" in table
    assert json.loads(plaudit("ledger", "runs", str(where), "--json").stdout)["unfinished"] == 2


def test_where_no_record_of_a_run_and_actor_says_how_episodes_end_all_of_them_count(where):
    with Ledger(where) as ledger:
        for episode in range(3):
            record(ledger, episode, 10, told=False)
            record(ledger, episode, 10, actor="told", end="terminated" if episode else None)
        assert [(each.actor, each.finished) for each in ledger.episodes()] == [
            (None, True),
            ("told", False),
            *[(None, True), ("told", True)] * 2,
        ]


@term(terminal=True)
def landed(y):
    return y


LANDING = Reward("paid", version="3", terms=[gain, landed], fields=[Field("x"), Field("y")])


@pytest.mark.parametrize("apart", ["phase", "decision_class"])
def test_an_end_tells_of_all_episodes_of_its_run_and_actor(where, apart):
    with Ledger(where) as ledger:
        about = {"run": "night", "actor": "env0"}
        for episode, end in ((1, {"terminated": True}), (2, None)):
            ledger.record(PAID.score(x=1.0), **about, **{apart: "go"}, episode=episode, step=1)
            ledger.record(PAID.score(x=2.0), **about, **{apart: "stop"}, episode=episode, step=2, context=end)
        ledger.record(PAID.score(x=5.0), **about, **{apart: "other"}, episode=3, step=1)
        assert [each.finished for each in ledger.episodes()] == [True, False, False]
        assert [(each.total, each.finished) for each in ledger.episodes(**{apart: "go"})] == [(1, True), (1, False)]
        assert ledger.runs()[0].returns.mean == 3.0


def test_the_terms_of_an_end_that_are_recorded_apart_tell_of_it(where):
    with Ledger(where) as ledger:
        for episode in (1, 2):
            ledger.record(LANDING.score(x=1.0), run="night", episode=episode, step=1)
        ledger.record(LANDING.score_terminal(y=3.0), run="night", episode=1, step=2)
        assert [(each.total, each.finished) for each in ledger.episodes()] == [(4.0, True), (1.0, False)]


def test_the_first_episode_of_a_wrapper_is_unfinished_until_it_ends(where):
    with Ledger(where) as ledger:
        record(ledger, 1, 10)
        assert not ledger.episodes()[0].finished
        assert ledger.runs()[0].returns.records == 0
        with pytest.raises(InputError, match="no finished episodes"):
            attribute(ledger.episodes())
        with pytest.raises(InputError):
            ledger.episodes().plot()


def test_stretches_of_several_actors_are_named_by_their_places_in_the_run(where):
    with Ledger(where) as ledger:
        for number in range(1, 7):
            for actor in ("env0", "env1"):
                record(ledger, number, number, end="terminated", actor=actor)
        found = attribute(ledger.episodes(), bins=3)
        assert [line.split("  ")[0] for line in str(found).splitlines() if " to " in line][:3] == [
            "1 to 4",
            "5 to 8",
            "9 to 12",
        ]
        assert (found.bins[0].first, found.bins[0].last) == ("env0/1", "env1/2")
        alone = attribute(ledger.episodes(actor="env0"), bins=3)
        assert (alone.bins[0].first, alone.bins[0].last) == ("1", "2")
        assert "actor" in ledger.episodes()._repr_html_()
