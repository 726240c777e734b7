"""A function that returns nothing leaves its value in `self.rew_buf`, where that is clear."""

from types import SimpleNamespace

import numpy as np
import pytest

from plaudit import Field, PlauditError, ReadError, Reward, term
from plaudit.errors import UnknownField
from support.written import module

HEADER = """\
import numpy as np


def both(x, done):
    return np.exp(-np.abs(x)), (np.abs(x) > 2.0) | done


def reset(x, done, steps, most):
    late = np.where(steps >= most - 1, np.ones_like(done), done)
    return np.exp(-np.abs(x)), late


class Env:
    def near(self):
        self.rew_buf[:] = 1.0 / (1.0 + np.abs(self.x))

    def f(self):
"""

LEFT = {
    "all entries": "self.rew_buf[:] = self.x * 2.0 - self.y",
    "all entries, with dots": "self.rew_buf[...] = self.x * 2.0 - self.y",
    "the buffer itself": "self.rew_buf = self.x * 2.0 - self.y",
    "another name": "self.reward_buf[:] = self.x - self.y",
    "a sum": "self.rew_buf[:] = 0.0\nself.rew_buf += self.x\nself.rew_buf += np.where(self.y > 0, 1.0, -1.0)",
    "all entries, augmented": "self.rew_buf[:] = self.x\nself.rew_buf[:] *= 2.0\nself.rew_buf[:] += self.y",
    "some entries": "self.rew_buf[:] = self.x\nself.rew_buf[self.y > 0.5] = -5.0",
    "read back": "self.rew_buf[:] = self.x\nself.rew_buf[:] = np.where(self.y > 0, self.rew_buf - 3.0, self.rew_buf)",
    "what it was computed from changes": "v = self.x * 2.0\nself.rew_buf[:] = v\nv += self.y",
    "a tuple": "self.rew_buf[:], self.done_buf[:] = both(self.x, self.done_buf)",
    "a tuple that names": "self.rew_buf, self.done_buf = both(self.x, self.done_buf)",
    "a method of the class": "self.near()",
    "beside what is logged": "self.rew_buf[:] = self.x\nself.extras['r'] = self.rew_buf\nself.last[:] = np.median(self.y)",
}
FIELDS = [Field("x"), Field("y"), Field("done_buf", flag=True)]
COLUMNS = {
    "x": np.array([-3.0, -0.5, 0.0, 1.25, 2.5]),
    "y": np.array([1.0, -2.0, 0.75, 0.0, 4.0]),
    "done_buf": np.array([False, True, False, False, True]),
}


def load_method(body):
    return module(HEADER + "\n".join(f"        {line}" for line in body.splitlines()) + "\n")["Env"]


def reward_of(body):
    made = term(name="left", batched=True)(load_method(body).f)
    read = [field for field in FIELDS if f"self.{field.name}" in body or (field.name == "x" and "near" in body)]
    return Reward("left", version="1", terms=[made], fields=read)


def run_original(body):
    """Return what the function leaves in the buffer of an object."""
    env = load_method(body)()
    columns = {name: column.copy() for name, column in COLUMNS.items()}
    vars(env).update(columns, rew_buf=np.zeros(5), reward_buf=np.zeros(5), extras={}, last=np.zeros(5))
    env.f()
    return env.reward_buf if "reward_buf" in body else env.rew_buf


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_what_is_left_in_the_buffer_is_the_value(body):
    reward = reward_of(body)
    found = reward.compile("numpy")({name: COLUMNS[name] for name in reward.fields})
    np.testing.assert_allclose(found.total, run_original(body), rtol=1e-12)
    assert any("its value is what it assigns to" in note.what for note in reward.notes)


def test_what_else_is_assigned_is_named_in_a_note():
    reward = reward_of(LEFT["a tuple"])
    assert "What it assigns to `self.done_buf` makes no difference." in reward.notes[0].what


RESETS = {
    "a helper": "self.rew_buf[:], self.done_buf[:] = both(self.x, self.done_buf)",
    "a helper of local names": "self.rew_buf[:], self.done_buf[:] = reset(self.x, self.done_buf, self.steps, self.most)",
    "names": "reward, done = reset(self.x, self.done_buf, self.steps, self.most)\nself.rew_buf[:] = reward\nself.done_buf[:] = done",
    "a tuple": "self.rew_buf[:], self.done_buf[:] = np.exp(-np.abs(self.x)), self.done_buf | (self.steps > 3)",
}


@pytest.mark.parametrize("body", RESETS.values(), ids=RESETS)
def test_what_only_the_reset_needs_is_no_field(body):
    made = term(name="left", batched=True)(load_method(body).f)
    reward = Reward("left", version="1", terms=[made], fields=[Field("x")])
    found = reward.compile("numpy")({"x": COLUMNS["x"]})
    np.testing.assert_allclose(found.total, np.exp(-np.abs(COLUMNS["x"])), rtol=1e-12)
    assert any("is dropped: it makes no difference" in note.what for note in reward.notes)


@pytest.mark.parametrize(
    "body",
    [
        "self.done_buf[:], self.rew_buf[:] = both(self.x, self.done_buf)",
        "reward, done = reset(self.x, self.done_buf, self.steps, self.most)\nself.rew_buf[:] = reward - done",
        "self.rew_buf[:], self.done_buf[:] = self.steps, self.x",
    ],
)
def test_what_the_reward_needs_must_be_declared(body):
    made = term(name="left", batched=True)(load_method(body).f)
    with pytest.raises(UnknownField, match="self.done_buf|self.most|self.steps"):
        Reward("left", version="1", terms=[made], fields=[Field("x")])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("self.a = self.x\nself.b = self.y", "whether the reward is `self.a` or `self.b` is not clear"),
        ("self.rew_buf = self.x\nself.reward_buf = self.y", "`self.rew_buf` or `self.reward_buf` is not clear"),
        ("self.total = self.x", "Write `return self.total` at its end"),
        ("y = self.x", "a path ends without `return`"),
        ("if self.y[0] > 3:\n    self.rew_buf[:] = self.x", "has no value on some paths"),
        ("if self.y[0] > 3:\n    return\nself.rew_buf[:] = self.x", "`return` without a value"),
        ("self.rew_buf[:] = np.median(self.x)", "`np.median` of numpy cannot be read"),
        ("self.rew_buf[:] = self.x\nr = self.rew_buf\nr += self.y", "may share entries with a value"),
        ("self.rew_buf[0] = self.x[0]", "a path ends without `return`"),
    ],
)
def test_a_value_that_would_be_guessed_is_refused(body, why):
    with pytest.raises(PlauditError) as caught:
        reward_of(body)
    assert why in str(caught.value)


def test_a_field_that_is_filled_is_lost_under_its_other_names():
    assert reward_of("old = self.y\nself.x[:] = 3.0\nreturn self.x * old").inputs == ("y",)
    with pytest.raises(ReadError, match="may share entries with a value that was changed in place"):
        reward_of("old = self.x\nself.x[:] = 3.0\nreturn old")


def test_one_row_may_leave_its_number_in_the_object():
    text = "class Env:\n    def f(self, x):\n        self.reward = x * 2.0 if x > 0 else -1.0\n"
    kind = module(text)["Env"]
    reward = Reward("left", version="1", terms=[term(kind.f)], fields=[Field("x")])
    for x in (-2.0, 0.0, 3.0):
        env = SimpleNamespace()
        kind.f(env, x)
        assert reward.score(x=x).total == env.reward
