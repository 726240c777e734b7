"""Functions that were written for many rows at once mean the same for one: `@term(batched=True)`."""

from types import SimpleNamespace

import numpy as np
import pytest

from plaudit import Field, ReadError, Reward, term
from support.strategies import load

FIELDS = {
    "torques": Field("torques", length=12),
    "commands": Field("commands", length=3),
    "velocity": Field("velocity", length=3),
    "forces": Field("forces", shape=(4, 3)),
    "height": Field("height"),
    "fallen": Field("fallen", flag=True),
}

BODIES = [
    "np.sum(np.square(self.torques), axis=1)",
    "np.square(self.velocity[:, 2])",
    "np.exp(-np.sum(np.square(self.commands[:, :2] - self.velocity[:, :2]), axis=1) / 0.25)",
    "np.any(np.linalg.norm(self.forces[:, FEET, :2], axis=2) > 5 * np.abs(self.forces[:, FEET, 2]), axis=1)",
    "np.sum(1.0 * (np.linalg.norm(self.forces, axis=-1) > 0.5), axis=1) * (self.height > 0)",
    "np.mean(self.height[:, None] - self.forces[:, :, 2], axis=1)",
    "self.fallen * ~(self.height > 0)",
    "np.where(self.fallen, -np.ones(self.num_envs), self.height)",
    "np.log(np.abs(self.height) + 1.0) / np.maximum(np.abs(self.velocity[:, 0]), 0.1)",
    "np.sum([p[:, 0] * p[:, -1] for p in np.split(self.torques, 4, axis=-1)], axis=0)",
    "np.zeros_like(self.height) + np.expand_dims(self.height, 1).squeeze(1)",
]


def read(body, **options):
    """Return the plain function with this body, and its reward."""
    function = load(f"import numpy as np\nFEET = [1, 3]\ndef f(self):\n    {body}\n")["f"]
    fields = [field for name, field in FIELDS.items() if f"self.{name}" in body]
    return function, Reward("r", version="1", terms=[term(batched=True, **options)(function)], fields=fields)


@pytest.mark.parametrize("body", BODIES)
def test_a_function_for_batches_means_the_same_for_each_row(body):
    function, reward = read(f"return {body}")
    random = np.random.default_rng(3)
    columns = {
        name: random.normal(size=(6, *field.shape)) if field.kind == "number" else random.random(6) > 0.5
        for name, field in reward.fields.items()
    }
    wanted = np.asarray(function(SimpleNamespace(**columns, num_envs=6)), dtype=float)
    np.testing.assert_allclose(reward.compile("numpy")(columns).total, wanted, rtol=1e-12)
    assert not any("@" in name for name in reward.program.inputs)


@pytest.mark.parametrize(
    "body",
    [
        "return self.height - self.height.mean()",
        "return np.sum(self.torques) + self.height",
        "return self.height[::-1]",
    ],
)
def test_a_score_that_comes_of_other_rows_is_refused(body):
    with pytest.raises(ReadError, match="depends on other rows of the batch"):
        read(body)


def test_an_axis_is_never_taken_for_that_of_the_rows():
    field = Field("pair", length=2)
    function = load("def f(pair, height): return (pair * height).sum(axis=1)")["f"]
    with pytest.raises(ReadError, match="do not fit"):  # as it is for NumPy, unless there happen to be two rows
        Reward("r", version="1", terms=[term(batched=True)(function)], fields=[field, FIELDS["height"]])


def test_rows_that_are_not_reduced_to_a_number_are_refused_where_they_are_returned():
    with pytest.raises(ReadError) as caught:
        read("return self.torques")
    assert "one number for each row" in str(caught.value)
    assert "return self.torques" in str(caught.value)


def test_entries_are_replaced_where_a_mask_is_true():
    function, reward = read("r = self.height * 2\n    r[self.fallen] = -1.0\n    return r")
    columns = {"height": np.array([1.0, 2.0, 3.0]), "fallen": np.array([False, True, False])}
    found = reward.compile("numpy")(columns).total
    np.testing.assert_array_equal(found, function(SimpleNamespace(**columns)))


def test_a_guard_is_about_the_row_alone():
    _, reward = read("return 1.0 / self.height")
    assert reward.score(height=2.0).total == 0.5
    with pytest.raises(ArithmeticError):
        reward.score(height=0.0)


def test_the_advice_of_an_axis_too_many_says_how_to_read_it():
    function = load("import numpy as np\ndef f(torques): return np.sum(np.square(torques), axis=1)")["f"]
    with pytest.raises(ReadError, match=r"@term\(batched=True\)"):
        Reward("r", version="1", terms=[term(function)], fields=[FIELDS["torques"]])


TORCH = {
    "under no_grad": """
    # Penalize torques, and hits
    with torch.no_grad():
        hits = torch.max(torch.norm(self.forces[:, [0, 2]], dim=-1), dim=1)[0] > 0.5
        cost = torch.sum(torch.square(self.torques), dim=1) + torch.zeros(self.num_envs, device=self.device)
    return torch.where(hits, cost + 1.0, cost).to(self.device)""",
    "taken apart": """
    x, y, z = torch.unbind(self.velocity, -1)
    left, right = self.torques.chunk(2, dim=1)
    first, rest = torch.split(self.commands, [1, 2], dim=-1)
    return x - y * z + (left * right).sum(-1) + first.squeeze(-1) * rest.norm(dim=-1) + self.forces.unbind(1)[2][:, 0]""",
    "repeated": """
    goal = torch.from_numpy(GOAL).repeat(self.num_envs, 1)
    scale = self.height.unsqueeze(-1).repeat(1, 3)
    return torch.sum((self.velocity - goal) * scale, dim=-1) + self.commands.unsqueeze(1).repeat(1, 4, 1)[:, 3, 2]""",
    "of constants": """
    goal = torch.Tensor([0.5, 1.0, 2.0]).to(self.device) + torch.FloatTensor((1, 0, 1))
    return (self.velocity * goal).sum(-1) + (self.height[:, None].tile(1, 3) * self.commands).sum(-1)""",
}


@pytest.mark.parametrize("body", TORCH.values(), ids=TORCH)
def test_torch_code_for_many_robots_is_read_as_it_stands(body):
    torch = pytest.importorskip("torch")
    header = "import numpy as np\nimport torch\nGOAL = np.array([0.5, -1.0, 2.0])\n"
    function = load(f"{header}def f(self):{body}\n")["f"]
    fields = [field for name, field in FIELDS.items() if f"self.{name}" in body]
    reward = Reward("r", version="1", terms=[term(batched=True)(function)], fields=fields)
    random = np.random.default_rng(4)
    columns = {field.name: random.normal(size=(5, *field.shape)) for field in fields}
    tensors = {name: torch.as_tensor(column) for name, column in columns.items()}
    wanted = function(SimpleNamespace(**tensors, device="cpu", num_envs=5))
    np.testing.assert_allclose(reward.compile("numpy")(columns).total, wanted.numpy(), rtol=1e-12)


SHARED = {
    "an error": "return quat_error(self.orientation, self.target)",
    "a rotation": "return quat_rotate(self.orientation, self.velocity)[:, 2]",
    "a constant vector": "return quat_rotate_inverse(self.orientation, (0.0, 0.0, -1.0))[:, 1]",
    "taken apart": "x, y, z = quat_rotate(self.orientation, self.velocity).T\n    return x - y * z",
    "one after the other": "return quat_to_yaw(quat_multiply(self.orientation, quat_inverse(self.target)))",
    "w last": "return quat_angle(self.orientation, w_last=True)",
    "numbers": "return tolerance(self.height, bounds=(0.5, np.inf), margin=0.5) + huber(self.velocity[:, 0], 0.5)",
    "entries": "return np.sum(wrap_to_pi(self.velocity), axis=1)",
    "of constants": "return self.height * smoothstep(0.25)",
}


@pytest.mark.parametrize("body", SHARED.values(), ids=SHARED)
def test_shared_functions_are_called_for_each_row(body):
    one_row = body.replace("[:, ", "[").replace(".T", "").replace(", axis=1", "")
    one_row = one_row.replace("wrap_to_pi(self.velocity)", "[wrap_to_pi(v) for v in self.velocity]")
    header = "import numpy as np\nfrom plaudit.functions import *\ndef f(self):\n    "
    fields = [*FIELDS.values(), Field("orientation", length=4), Field("target", length=4)]
    fields = [field for field in fields if f"self.{field.name}" in body]
    function = load(f"{header}{body}\n")["f"]
    reward = Reward("r", version="1", terms=[term(batched=True)(function)], fields=fields)
    random = np.random.default_rng(6)
    columns = {field.name: random.normal(size=(8, *field.shape)) for field in fields}
    for name in columns.keys() & {"orientation", "target"}:
        columns[name] /= np.linalg.norm(columns[name], axis=1, keepdims=True)
    plain = load(f"{header}{one_row}\n")["f"]
    rows = [SimpleNamespace(**{name: column[at] for name, column in columns.items()}) for at in range(8)]
    wanted = [float(plain(row)) for row in rows]
    np.testing.assert_allclose(reward.compile("numpy")(columns).total, wanted, rtol=1e-12, atol=1e-13)
