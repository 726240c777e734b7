"""Learners as files."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import learn
from plaudit.errors import DefinitionError, FileError, InputError, ShapeMismatch, SpecError
from plaudit.learn.saving import digest
from support.bandits import ACTIONS, FEATURES, LEARNERS, LINEAR, context_of, contexts, rewards, run_steps, same
from support.examples import examples

STEPS = [((1.0, 0.5, 0.2), 0.3), ((-1.0, 0.1, 2.0), -0.7), ((0.3, 0.3, 0.3), 0.1)]


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
@examples(0.4)
@given(steps=st.lists(st.tuples(contexts, rewards), max_size=8), context=contexts)
def test_a_saved_learner_goes_on_as_if_nothing_had_happened(tmp_path_factory, learner, steps, context):
    file = tmp_path_factory.mktemp("saved") / "learner.json"
    state = run_steps(learner, steps)
    learn.save(file, learner, state, note="kept")
    again = learn.load(file)
    assert again.learner == learner
    assert again.more == {"note": "kept"}
    assert same(again.state, state)
    chosen = context_of(learner, context)
    assert again.learner.choose(again.state, 3, chosen) == learner.choose(state, 3, chosen)


def rewrite(file, change, *, honest=True):
    """Change a file, and its hash too, as somebody would who knows how."""
    data = json.loads(file.read_text())
    change(data)
    if honest:
        data["hash"] = digest({name: data[name] for name in ("learner", "state", "more") if name in data})
    file.write_text(json.dumps(data))


@pytest.fixture
def saved(tmp_path):
    learner = LEARNERS["linucb"]
    file = tmp_path / "learner.json"
    learn.save(file, learner, run_steps(learner, STEPS))
    return file


def test_a_file_holds_plain_json_with_names_version_and_hash(saved):
    data = json.loads(saved.read_text())
    assert data["version"] == 1
    assert data["learner"]["features"] == list(FEATURES)
    assert len(data["hash"]) == 16


def test_a_file_that_was_cut_short_is_refused_wherever_it_was_cut(saved):
    text = saved.read_text()
    for end in range(0, len(text) - 2, 37):
        saved.write_text(text[:end])
        with pytest.raises(SpecError, match="learner.json"):
            learn.load(saved)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.update(version=2), "version 2, and this plaudit reads version 1"),
        (lambda data: data.update(format="toml"), "does not say that it is a saved learner"),
        (lambda data: data.pop("state"), "no 'state'"),
        (lambda data: data.update(more=[1]), "not objects"),
        (lambda data: data["state"].pop("moment"), "no 'moment'"),
        (lambda data: data["state"]["weights"][0].pop(), "weights"),
        (lambda data: data["state"].update(moment=[[0.0, 0.0, 0.0]]), r"shape \(1, 3\), but \(4, 4\)"),
        (lambda data: data["state"].update(pulls=[1, 2, -3, 0]), "pulls"),
        (lambda data: data["state"].update(decisions=1.5), "decisions"),
        (lambda data: data["state"].update(decisions=1e300), "decisions"),
        (lambda data: data["state"].update(inverse="none"), "not an array"),
        (lambda data: data["state"]["weights"][0].__setitem__(0, 10**400), "not an array"),
        (lambda data: data["learner"].pop("ridge"), "ridge"),
        (lambda data: data["learner"]["explore"].update(rule="magic"), "magic"),
    ],
)
def test_a_file_that_was_changed_is_refused_with_what_is_wrong(saved, change, says):
    rewrite(saved, change)
    with pytest.raises(SpecError, match=says):
        learn.load(saved)


@pytest.mark.parametrize("part", ["learner", "state", "more"])
def test_a_file_that_was_edited_is_refused(saved, part):
    rewrite(saved, lambda data: data[part].update(alpha=2.0), honest=False)
    with pytest.raises(SpecError, match="the hash does not match"):
        learn.load(saved)


def test_a_state_of_another_learner_is_not_saved(saved):
    before = saved.read_bytes()
    for other in (learn.linucb(ACTIONS, 5), learn.ucb1(ACTIONS)):
        with pytest.raises(ShapeMismatch, match="was not written"):
            learn.save(saved, LEARNERS["linucb"], other.init())
    assert saved.read_bytes() == before


def test_a_number_that_json_does_not_know_is_refused(saved):
    saved.write_text(saved.read_text().replace('"decisions": 3', '"decisions": NaN'))
    with pytest.raises(SpecError, match="NaN"):
        learn.load(saved)


@pytest.mark.parametrize(
    "other",
    [
        learn.linucb(ACTIONS, (*FEATURES, "retries")),
        learn.linucb(ACTIONS[:3], FEATURES),
        learn.linucb(ACTIONS, FEATURES, alpha=2.0),
        learn.ucb1(ACTIONS),
    ],
    ids=["features", "actions", "settings", "kind"],
)
def test_what_another_learner_learnt_is_refused_and_the_file_stays(saved, other):
    before = saved.read_bytes()
    with pytest.raises(SpecError, match="it was saved with"):
        learn.load(saved, expected=other)
    assert saved.read_bytes() == before


def test_a_save_that_fails_leaves_the_file_that_was_there(saved, monkeypatch):
    before = saved.read_bytes()
    with pytest.raises(InputError, match="cannot be JSON"):
        learn.save(saved, LEARNERS["linucb"], LEARNERS["linucb"].init(), note=float("nan"))
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(FileError, match="No space left"):
        learn.save(saved, LEARNERS["linucb"], LEARNERS["linucb"].init())
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["learner.json"]


def test_a_file_that_is_not_there_and_a_stranger_are_refused(tmp_path):
    with pytest.raises(FileError, match="No such file"):
        learn.load(tmp_path / "nothing.json")
    with pytest.raises(DefinitionError, match="not a plaudit learner"):
        learn.save(tmp_path / "stranger.json", object(), learn.ucb1(ACTIONS).init())


def as_before(learner):
    """Return a learner as it was before there were intercepts."""
    return dataclasses.replace(learner, intercept=False)


@pytest.mark.parametrize("name", LINEAR)
def test_the_intercept_is_in_the_file_and_a_file_from_before_loads_without_one(tmp_path, name):
    learner, file = LINEAR[name], tmp_path / "learner.json"
    learn.save(file, learner, run_steps(learner, STEPS))
    assert json.loads(file.read_text())["learner"]["intercept"] is True
    assert learn.load(file, expected=learner).learner.intercept
    with pytest.raises(SpecError, match="saved with intercept=True, but now intercept=False"):
        learn.load(file, expected=as_before(learner))
    state = run_steps(as_before(learner), STEPS)
    learn.save(file, as_before(learner), state)
    assert "intercept" not in json.loads(file.read_text())["learner"]
    for expected in (None, learner, as_before(learner)):
        loaded = learn.load(file, expected=expected)
        assert loaded.learner == as_before(learner)
        assert same(loaded.state, state)


def test_a_router_from_before_loads_without_an_intercept_and_with_its_rule(tmp_path):
    rule = lambda x: learn.Guess(ACTIONS[0], 0.5, "by rule")  # noqa: E731 - it is this short
    before = learn.Router(as_before(LINEAR["squarecb"]), rule)
    learn.save(tmp_path / "router.json", before, before.init())
    expected = learn.Router(LINEAR["squarecb"], rule)
    assert learn.load(tmp_path / "router.json", expected=expected).learner == before
