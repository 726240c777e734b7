"""Masks of data, `r[m] = f(v[m])`: the reward is what NumPy and PyTorch compute, and what depends on a count is refused."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from plaudit import Field, ReadError, Reward, term
from plaudit.errors import OutsideDomain
from support.strategies import load

FIELDS = [
    Field("height"),
    Field("speed", length=3),
    Field("fallen", flag=True),
    Field("touching", flag=True, length=3),
    Field("level", values=(0, 1, 2)),
]

BATCHED = {
    "a number": "r = height * 2\nr[height < 0.1] = 1.0\nreturn r",
    "its own rows": "r = height * 2\nm = height > 0\nr[m] = xp.sqrt(height[m]) - r[m]\nreturn r",
    "of rows": "r = xp.abs(height)\nm = speed[:, 0] > 0\nr[m] = 0.5 * xp.sum(speed[m] ** 2, -1)\nreturn r",
    "added": "r = height * 2\nr[fallen] += 3.0\nr[~fallen] *= height[~fallen]\nreturn r",
    "joined": "r = height * 2\nm = height > 0\nr[m & fallen] -= 1.0\nr[m | fallen] = -r[m | fallen]\nreturn r",
    "none": "r = height * 2\nr[height > 1e9] = 7.0\nr[(height > 0) & (height <= 0)] += 1.0\nreturn r",
    "all": "r = height * 2\nr[height < 1e9] = height[height < 1e9] + 1\nreturn r",
    "rows of a matrix": "r = speed * 2\nr[fallen] = speed[fallen] + height[fallen][:, None]\nreturn r[:, 0] - r[:, 2]",
    "a row for each": "r = speed * 2\nr[fallen] = speed[:1] * 0 + r[fallen]\nreturn r[:, 1]",
    "entries of a matrix": "r = speed * 2\nr[touching] = -r[touching]\nr[speed > 1] = 1\nreturn xp.sum(r, -1)",
    "a column": "r = speed * 2\nr[fallen, 0] = 5.0\nr[height > 0, 1:] *= 3\nreturn xp.sum(r, -1)",
    "a column that is picked": "r = height * 2\nr[fallen] = speed[fallen, 2] - speed[fallen][:, 0]\nreturn r",
    "zeros": "r = xp.zeros_like(height)\nr[fallen] = height[fallen]\nr[height > 1] = -1\nreturn r",
    "ones of bools": "r = xp.ones_like(fallen)\nr[height > 0] = False\nreturn xp.where(r & fallen, height, -height)",
    "zeros of bools": "r = xp.zeros_like(fallen)\nr[height > 0] = True\nr[touching[:, 0]] = 0\nreturn 1.0 * (r ^ fallen)",
    "bools": "r = fallen | touching[:, 0]\nr[height > 0] = touching[height > 0, 1]\nreturn xp.where(r, height, 1.0)",
    "in a row": "m = speed > 0\nr = xp.zeros_like(height)\nfor k in range(3):\n    r[m[:, k]] += speed[m[:, k], k]\nreturn r - height",
    "a domain": "r = height * 2\nm = height > 0\nr[m] = xp.log(height[m]) + 1 / r[m]\nr[~m] = xp.sqrt(-r[~m])\nreturn r",
    "a chain": "r = height * 1.0\nr[r > 1] = 1.0\nr[r < -1] = -1.0\nreturn r",
    "a copy": "r = height * 1.0\nold = r[fallen]\nr[fallen] = 0.0\nr[fallen] += 2 * old\nreturn r",
    "what is left": "m = fallen\nr = height * 2\nr[m] = 0.0\nm = height > 0\nr[m] += 1.0\nreturn r",
    "another name": "r = height * 2\ns = r\nr[fallen] = 1.0\nreturn s",
    "a choice": "r = height * 2\nm = height > 0\nr[m] = xp.where(speed[m, 0] > 0, 2.0, r[m])\nreturn r",
    "a norm": "r = height * 2\nr[fallen] = xp.linalg.norm(speed[fallen], axis=-1)\nreturn r",
    "a largest": "r = height * 2\nr[fallen] = xp.amax(speed[fallen, 1:], -1)\nreturn r",
    "a comparison": "r = fallen & fallen\nm = height > 0\nr[m] = speed[m, 0] > height[m]\nreturn 1.0 * r",
    "an ellipsis": "r = speed * 2\nr[fallen, ..., 0] = speed[fallen][..., 1]\nreturn xp.sum(r, -1)",
    "counts": "r = xp.sum(1 * touching, -1)\nr[fallen] = -1\nr[height > 0] += r[height > 0]\nreturn 1.0 * r",
}


def draw(rows=40):
    random = np.random.default_rng(5)
    height = random.normal(size=rows)
    speed = random.normal(size=(rows, 3))
    height[:4] = [0.0, -0.0, 0.1, 1.0]
    speed[:2, 0] = [0.0, -0.0]
    return {
        "height": height,
        "speed": speed,
        "fallen": random.random(rows) > 0.5,
        "touching": random.random((rows, 3)) > 0.5,
        "level": random.integers(0, 3, rows),
    }


def read(body, *, batched=True, header="import numpy as xp"):
    """Return the plain function with this body, and its reward."""
    names = [field.name for field in FIELDS if re.search(rf"\b{field.name}\b", body)]
    lines = "\n    ".join(body.split("\n"))
    function = load(f"{header}\ndef f({', '.join(names)}):\n    {lines}\n")["f"]
    fields = [field for field in FIELDS if field.name in names]
    return function, Reward("r", version="1", terms=[term(batched=batched)(function)], fields=fields)


def score(reward, columns):
    found = reward.compile("numpy")({name: columns[name] for name in reward.fields})
    assert np.all(found.ok)
    return found.total


@pytest.mark.parametrize("body", BATCHED.values(), ids=BATCHED)
def test_a_mask_of_rows_means_what_numpy_means(body):
    function, reward = read(body)
    columns = draw()
    wanted = function(**{name: columns[name].copy() for name in reward.fields})
    np.testing.assert_allclose(score(reward, columns), wanted, rtol=1e-13)


@pytest.mark.parametrize("body", BATCHED.values(), ids=BATCHED)
def test_a_mask_of_rows_means_what_torch_means(body):
    torch = pytest.importorskip("torch")
    function, reward = read(body.replace("axis=", "dim="), header="import torch as xp")
    columns = draw()
    wanted = function(**{name: torch.as_tensor(columns[name].copy()) for name in reward.fields})
    np.testing.assert_allclose(score(reward, columns), wanted.numpy(), rtol=1e-13)


ONE_ROW = {
    "written": "r = speed * 2\nr[speed > 0] = -1.0\nr[touching] += 0.5\nreturn xp.sum(r)",
    "a sum": "return height + xp.sum(speed[touching]) + speed[speed > 0].sum()",
    "a sum of nothing": "return height + xp.sum(speed[speed > 1e9]) + speed[speed > 1e9].sum()",
    "a builtin sum": "return height + sum(speed[touching]) + sum(x * x for x in speed[speed > 0] if x < 1)",
    "a count": "return len(speed[touching]) + len([x for x in speed if x > height])",
    "counted bools": "return xp.sum(touching[speed > 0]) + xp.count_nonzero(speed[touching] > height)",
    "a product": "return height * xp.prod(speed[touching])",
    "any and all": "return 1.0 * xp.any(speed[touching] > height) + 2.0 * xp.all(speed[touching] > 0)",
    "builtins": "return 1.0 * any(speed[touching] > height) + 2.0 * all(speed[touching] > 0)",
    "a mean": "m = speed > -9\nreturn xp.mean(speed[m]) + xp.amax(speed[m]) - xp.amin(speed[m])",
    "a mean of some": "return xp.mean(speed[speed > -5]) if xp.any(touching) else 0.0 * height",
    "guarded": "return xp.mean(speed[touching]) + xp.amax(speed[touching]) if xp.any(touching) else height",
    "a dot product": "return xp.dot(speed[touching], speed[touching])",
    "a matrix": "m = xp.stack([speed, -speed])\nreturn xp.sum(m[m > height]) + xp.sum(m[m[:, 0] > 0], 0)[1]",
    "a fraction": "return xp.sum(1.0 / speed[speed > 0.5]) + height",
}


@pytest.mark.parametrize("body", ONE_ROW.values(), ids=ONE_ROW)
def test_a_mask_of_the_entries_of_a_vector_means_what_numpy_means(body):
    function, reward = read(body, batched=False)
    columns = draw()
    wanted = [float(function(**{name: columns[name][at] for name in reward.fields})) for at in range(40)]
    np.testing.assert_allclose(score(reward, columns), wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("call", ["xp.mean", "xp.amax", "xp.amin"])
def test_a_row_in_which_a_mask_picks_nothing_is_bad_where_numpy_has_no_number(call):
    _, reward = read(f"return {call}(speed[speed > 0]) + 0.0 * height", batched=False)
    assert reward.score(speed=(-1.0, 2.0, -3.0), height=0.0).total == 2.0
    with pytest.raises(OutsideDomain):
        reward.score(speed=(-1.0, -2.0, -3.0), height=0.0)


def test_a_row_is_not_bad_for_what_its_mask_leaves_out():
    _, reward = read("r = height * 2\nm = height > 0\nr[m] = xp.log(height[m])\nreturn r")
    assert reward.score(height=-1.0).total == -2.0
    assert reward.score(height=1.0).total == 0.0
    _, unmasked = read("r = height * 2\nm = height > -5\nr[m] = xp.log(height[m])\nreturn r")
    with pytest.raises(OutsideDomain):
        unmasked.score(height=-1.0)


REFUSED = {
    "a mean of rows": ("return height - height[fallen].mean()", "depends on other rows of the batch"),
    "a sum of rows": ("return height - xp.sum(height[fallen])", "depends on other rows of the batch"),
    "a sum of entries": ("return height - xp.sum(speed[touching])", "depends on other rows of the batch"),
    "a count": ("return height * len(height[fallen])", "depends on other rows of the batch"),
    "the first": ("return height - height[fallen][0]", "how many entries a mask picks"),
    "a part": ("return height - height[fallen][1:]", "how many entries a mask picks"),
    "its shape": ("return height * height[fallen].shape[0]", "how many entries a mask picks"),
    "its size": ("return height * xp.size(height[fallen])", "how many entries a mask picks"),
    "a loop": ("r = height\nfor x in height[fallen]:\n    r = r + x\nreturn r", "how many entries a mask picks"),
    "a spread": ("return height - xp.var(height[fallen])", "how many entries a mask picks"),
    "a largest position": ("return height * xp.argmax(height[fallen])", "how many entries a mask picks"),
    "returned": ("return height[fallen]", "what a mask of data picks"),
    "joined with others": ("return xp.concatenate([height[fallen], height[~fallen]])", "how many entries a mask picks"),
    "reshaped": ("return height[fallen].reshape(-1)", "how many entries a mask picks"),
    "a product of matrices": ("return speed[fallen] @ speed[0]", "how many entries a mask picks"),
    "a dot product with all": ("return xp.dot(height[fallen], height)", "how many entries a mask picks"),
    "another mask": ("r = height * 2\nr[fallen] = height[height > 0]\nreturn r", "picked by different masks"),
    "two masks": ("return height[fallen] * height[height > 0]", "picked by different masks"),
    "a mask that changed": (
        "r = height * 1\nold = r[r > 0]\nr[0 < height] = 5.0\nr[r > 0] = old\nreturn r",
        "picked by different masks",
    ),
    "all rows": ("r = height * 2\nr[fallen] = height\nreturn r", "does not fit what a mask picks"),
    "all rows beside": (
        "r = height * 2\nr[fallen] = height + height[fallen]\nreturn r",
        "does not fit what a mask picks",
    ),
    "too few axes": ("r = speed * 2\nr[fallen] = height[fallen]\nreturn r[:, 0]", "differ in their number of axes"),
    "too many entries": ("r = speed * 2\nr[fallen, :2] = speed[fallen]\nreturn r[:, 0]", "do not fit"),
    "too many rows": (
        "r = speed[:, :1] * 2\nr[fallen] = speed[fallen]\nreturn r[:, 0]",
        "written into rows of the shape",
    ),
    "a mask of columns": ("return speed[:, touching[0]][:, 0]", "constant integers or bools"),
    "a mask that does not fit": ("r = height * 2\nr[fallen[:, None]] = 1.0\nreturn r", "does not fit an array"),
    "a narrow mask": ("r = speed * 2\nr[fallen[:, None]] = 1.0\nreturn r[:, 0]", "does not fit an array"),
    "a mask of a mask": ("return height[fallen][fallen]", "how many entries a mask picks"),
    "a mask with a list": ("r = speed * 2\nr[fallen, [0, 1]] = 1.0\nreturn r[:, 0]", "cannot be combined with a list"),
    "what holds it": ("r = height * 2\ns = [r]\nr[fallen] = 1.0\nreturn s[0]", "may share entries"),
    "a view": ("r = speed * 2\ns = r[:, 0]\nr[fallen] = 1.0\nreturn s", "may share entries"),
    "a field": ("height[fallen] = 1.0\nreturn height", "changed in place"),
    "half in bools": ("r = xp.zeros_like(fallen)\nr[fallen] = height[fallen]\nreturn 1.0 * r", "hold bools"),
    "half in integers": ("r = xp.where(fallen, 1, 0)\nr[height > 0] = 0.5\nreturn 1.0 * r", "hold ints"),
    "half in counts": ("r = xp.sum(1 * touching, -1)\nr[fallen] = 0.5\nreturn 1.0 * r", "hold ints"),
    "half in levels": ("r = level * 2\nr[fallen] = height[fallen]\nreturn 1.0 * r", "hold ints"),
    "half added": ("r = xp.where(fallen, 1, 0)\nr[height > 0] += 0.5\nreturn 1.0 * r", "hold ints"),
}


@pytest.mark.parametrize(("body", "what"), REFUSED.values(), ids=REFUSED)
def test_what_a_mask_cannot_mean_for_one_row_is_refused(body, what):
    with pytest.raises(ReadError) as caught:
        read(body)
    assert what in str(caught.value)
    assert len(str(caught.value).splitlines()) > 3  # where it is, and what to write


WHOLE = {
    "a bool of a number": "r = xp.zeros_like(fallen)\nr[height > 0] = 0.5\nreturn 1.0 * (r ^ fallen)",
    "an integer of a float": "r = xp.where(fallen, 1, 0)\nr[height > 0] = 2.0\nreturn 1.0 * r",
    "an integer of a bool": "r = xp.where(fallen, 3, 2)\nm = height > 0\nr[m] = True\nreturn 1.0 * r",
    "a float of a bool": "r = height * 2\nr[fallen] = True\nreturn r",
    "floats of integers": "r = 1.0 * xp.where(fallen, 1, 0)\nr[height > 0] = 0.5\nreturn r",
}


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE)
def test_what_is_written_is_stored_as_the_array_holds_it(body, library):
    module = pytest.importorskip(library)
    function, reward = read(body, header=f"import {library} as xp")
    columns = draw()
    convert = module.asarray if library == "numpy" else module.as_tensor
    wanted = function(**{name: convert(columns[name].copy()) for name in reward.fields})
    np.testing.assert_array_equal(score(reward, columns), np.asarray(wanted))


def test_numpy_stores_bools_in_an_array_of_numbers_as_1_and_0():
    function, reward = read("r = height * 2\nr[fallen] = touching[fallen, 0]\nreturn r")
    columns = draw()
    wanted = function(columns["height"], columns["fallen"], columns["touching"])
    np.testing.assert_array_equal(score(reward, columns), wanted)


@pytest.mark.parametrize("dtype", ["float", "int", "bool", "None"])
def test_a_dtype_decides_what_an_array_holds(dtype):
    body = f"r = xp.full_like(fallen, 0, dtype={dtype})\nr[height > 0] = 2\nreturn xp.where(fallen, r, 0.5)"
    function, reward = read(body.replace(", dtype=None", ""))
    columns = draw()
    np.testing.assert_array_equal(score(reward, columns), function(columns["height"], columns["fallen"]))


def test_masks_are_read_on_a_record_as_it_stands():
    text = """
import torch
def f(self):
    cost = torch.sum(torch.abs(self.speed), dim=-1)
    idle = torch.norm(self.speed[:, :2], dim=1) < 0.5
    cost[idle] = 0.5 * torch.sum(self.speed[idle] ** 2, dim=-1)
    return cost
"""
    torch = pytest.importorskip("torch")
    function = load(text)["f"]
    reward = Reward("r", version="1", terms=[term(batched=True)(function)], fields=[FIELDS[1]])
    columns = draw()
    wanted = function(SimpleNamespace(speed=torch.as_tensor(columns["speed"])))
    np.testing.assert_allclose(score(reward, columns), wanted.numpy(), rtol=1e-13)


BUFFERS = {
    "the buffer alone": "self.rew_buf[:] = self.height * 2\n        self.rew_buf[self.fallen] = -1.0\n"
    "        self.rew_buf[self.height > 1] += 0.5\n        self.rew_buf.clamp_(min=-1.5)",
    "a local that becomes the buffer": "rew = self.height * 2\n        rew[self.fallen] -= self.height[self.fallen]\n"
    "        self.rew_buf = rew\n        self.rew_buf[self.height > 1] *= 3.0\n        return rew + self.rew_buf",
    "a buffer of bools": "self.reset_buf = torch.zeros_like(self.fallen)\n        self.reset_buf[self.height > 1] = 1\n"
    "        return self.height * (1.0 - self.reset_buf.float()) + 1.0 * self.fallen",
}


@pytest.mark.parametrize("body", BUFFERS.values(), ids=BUFFERS)
def test_masks_write_into_the_buffers_of_an_environment(body):
    torch = pytest.importorskip("torch")
    function = load(f"import torch\nclass Env:\n    def compute(self):\n        {body}\n")["Env"].compute
    reward = Reward("r", version="1", terms=[term(batched=True)(function)], fields=[FIELDS[0], FIELDS[2]])
    columns = draw()
    env = SimpleNamespace(**{name: torch.as_tensor(columns[name]) for name in reward.fields})
    env.rew_buf = torch.zeros(len(columns["height"]), dtype=torch.float64)
    returned = function(env)
    wanted = env.rew_buf if returned is None else returned
    np.testing.assert_allclose(score(reward, columns), wanted.numpy(), rtol=1e-13)
