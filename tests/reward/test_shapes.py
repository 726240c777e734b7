"""Matrices at the edges of a reward: rows, preferences, specifications, records, files, SQL."""

import json

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, State, Task, check, prefer, term
from plaudit.errors import DefinitionError, MissingField, ShapeMismatch, SpecError, UnknownField
from plaudit.reward.spec_writer import field_to_dict
from plaudit.rows.row import arrange_row, flatten_row, nest_row
from support.c_compilers import CFunction
from support.strategies import load


@term
def impact(foot_force, *, limit=2.0):
    return -sum(sum(f * f for f in foot) for foot in foot_force) / limit


@term
def climbed(prev, curr):
    return curr.heights[1][0] - prev.heights[0][1]


FIELDS = [Field("foot_force", shape=(2, 3), low=-10, high=10, unit="N"), Field("heights", shape=(2, 2), low=0, high=5)]
WALK = Reward("walk", version="1", terms=[impact, climbed], fields=FIELDS)
FORCE = [[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]]
ROW = {"foot_force": FORCE, "prev": {"heights": [[0, 1], [2, 3]]}, "curr": {"heights": np.array([[1, 2], [4.0, 4]])}}


def test_a_step_takes_nested_lists_tuples_and_arrays():
    signal = WALK.score(**ROW)
    assert signal.total == -7.625 + 3.0
    assert signal.inputs["foot_force[1][2]"] == 0.5
    assert WALK.inputs[:4] == ("foot_force[0][0]", "foot_force[0][1]", "foot_force[0][2]", "foot_force[1][0]")
    for force in (np.array(FORCE), tuple(map(tuple, FORCE)), [np.array(row) for row in FORCE], np.float32(FORCE)):
        assert WALK.score(**{**ROW, "foot_force": force}).total == signal.total


@pytest.mark.parametrize("force", [[1, 2, 3], FORCE[:1], [[1, 2, 3], [1, 2]], 3.0, None, np.ones((2, 2)), np.ones(6)])
def test_a_step_of_another_shape_is_refused_with_both_shapes(force):
    with pytest.raises(ShapeMismatch, match=r"'walk', field 'foot_force': values of the shape \(2, 3\) are needed"):
        WALK.score(**{**ROW, "foot_force": force})


def test_an_entry_is_named_where_it_is_absent():
    with pytest.raises(MissingField, match=r"field 'foot_force\[1\]\[1\]': a value is None"):
        WALK.score(**{**ROW, "foot_force": [FORCE[0], [0, None, 1]]})
    patient = Reward("w", version="1", terms=[impact], fields=[Field("foot_force", shape=(2, 3), missing=0.0)])
    assert patient.score(foot_force=[[2.0, None, 0], [0, 0, 0]]).total == -2.0
    assert patient.score().total == patient.score(foot_force=None).total == 0.0


def test_rows_are_flattened_and_nested_again():
    flat = WALK.score(**ROW).inputs
    nested = nest_row(WALK.program, flat)
    assert nested["foot_force"] == FORCE
    assert nested["curr"]["heights"] == [[0.0, 0.0], [4.0, 0.0]]  # what no term reads is at rest
    assert WALK.score(**nested).total == WALK.score(**ROW).total
    entries = {f"foot_force[{i}][{j}]": FORCE[i][j] for i in range(2) for j in range(3)}
    assert arrange_row(WALK.program, entries) == {"foot_force": FORCE, "prev": {}, "curr": {}}
    wild = Reward("w", version="1", terms=[impact], fields=[Field("foot_force", shape=(2, 3), infinite=True)])
    assert flatten_row(wild.program, {"foot_force": [["inf", 0, 0], [0, 0, 0]]})["foot_force"][0][0] == float("inf")


def test_a_preference_names_a_matrix_whole_or_an_entry():
    whole = prefer({"foot_force": [[0, 0, 0], [0, 0, 0]]}, over={"foot_force": np.full((2, 3), 9.0)})
    entry = prefer({"foot_force[1][2]": 0}, over={"foot_force[1][2]": 9})
    reward = Reward("walk", version="1", terms=[impact], fields=FIELDS[:1], task=Task(prefer=[whole, entry]))
    assert reward._bound.prefer[0].over[0]["foot_force[1][2]"] == 9.0
    assert Reward.from_json(reward.to_json()) == reward
    assert not [finding for finding in check(reward).findings if finding.code == "broken-preference"]
    with pytest.raises(DefinitionError, match=r"'foot_force' does not fit: values of the shape \(2, 3\)"):
        Reward(
            "walk",
            version="1",
            terms=[impact],
            fields=FIELDS[:1],
            task=Task(prefer=[prefer({"foot_force": [1, 2]}, over={"foot_force": [0, 0]})]),
        )


def test_a_specification_holds_the_shape_and_a_vector_still_its_length():
    data = WALK.to_dict()
    assert data["fields"][0]["shape"] == [2, 3]
    assert "length" not in data["fields"][0]
    assert Reward.from_json(WALK.to_json()) == WALK
    vector = field_to_dict(Field("torque", shape=(3,), low=0))
    assert vector == field_to_dict(Field("torque", length=3, low=0)) == {"name": "torque", "length": 3, "low": 0.0}
    assert "shape" not in field_to_dict(Field("speed"))


HOSTILE = {
    "a million entries": [10**6],
    "a product beyond": [4_096, 4_096],
    "a huge size": [10**400],
    "four axes": [1, 1, 1, 1],
    "a hundred thousand axes": [1] * 100_000,
    "no size": [0, 3],
    "a negative size": [-2, -3],
    "a bool": [True, 3],
    "a text": "23",
    "texts": ["2", "3"],
    "a number": 2.5,
    "an object": {"0": 2},
    "a nested list": [[2], [3]],
    "null": None,
    "another shape": [3, 2],
    "a flat one": [6],
    "none": [],
}


@pytest.mark.parametrize("shape", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_shape_in_a_specification_is_refused(shape):
    data = json.loads(WALK.to_json())
    data["fields"][0]["shape"] = shape
    with pytest.raises(SpecError):
        Reward.from_dict(data)


@pytest.mark.parametrize(
    "name",
    ["foot_force", "foot_force[0]", "foot_force[0][3]", "foot_force[0][0][0]", "foot_force[0,0]", "foot_force[0][00]"],
)
def test_an_input_that_is_no_entry_is_refused(name):
    data = json.loads(WALK.to_json())
    data["nodes"][0] = ["Input", name]
    with pytest.raises(SpecError, match="does not fit the shape of field 'foot_force'"):
        Reward.from_dict(data)


def test_a_ledger_keeps_the_entries_as_columns(tmp_path):
    rows = np.random.default_rng(1).uniform(0, 4, (3, 2, 3))
    heights = np.ones((3, 2, 2))
    with Ledger(tmp_path / "walk.db") as ledger:
        ledger.record(WALK.score(**ROW))
        ledger.record_batch(WALK, {"foot_force": rows, "prev.heights": heights, "curr.heights": heights})
        records = list(ledger.history())
        shown = str(ledger.why(records[0].id))
        ledger.export(tmp_path / "walk.jsonl")
        assert ledger.verify().ok
    assert len(records) == 4
    assert "foot_force" in shown
    exported = (tmp_path / "walk.jsonl").read_text(encoding="utf-8")
    assert "foot_force[1][1]" in exported
    with Ledger(tmp_path / "again.db") as ledger:
        ledger.import_file(tmp_path / "walk.jsonl")
        assert [each.signal.inputs for each in ledger.history()] == [each.signal.inputs for each in records]
    assert records[0].signal.inputs["foot_force[1][1]"] == -1.0
    assert records[2].signal.inputs["foot_force[1][1]"] == rows[1, 1, 1]


@pytest.mark.parametrize("keys", [None, ("episode", "step")])
def test_sql_reads_a_column_an_entry(keys):
    duckdb = pytest.importorskip("duckdb", reason="needs plaudit[sql]")
    names = [name.removeprefix("prev.").removeprefix("curr.") for name in WALK.inputs] if keys else WALK.inputs
    names = [*dict.fromkeys(names), *(keys or ())]
    compiled = WALK.compile("sql", keys=keys)
    assert set(compiled.columns) == set(names)
    values = {**WALK.score(**ROW).inputs, "heights[0][1]": 1.0, "heights[1][0]": 1.0, "episode": 1, "step": 0}
    after = {**values, "heights[0][1]": 2.0, "heights[1][0]": 4.0, "step": 1}
    columns = ", ".join(f'"{name}" DOUBLE' for name in names)
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE steps ({columns})")
    for row in (values, after) if keys else (values,):
        marks = ", ".join("?" for _ in names)
        connection.execute(f"INSERT INTO steps VALUES ({marks})", [row[name] for name in names])
    found = connection.execute(f"SELECT total FROM ({compiled.select('steps')}) WHERE ok").fetchall()
    assert found == [(WALK.score(**ROW).total,)]


LENGTHS = (
    "-1.0 if len(hist) > 0 else v",
    "v + hist.shape[0]",
    "v + np.size(hist)",
    "v + hist.size",
    "v + np.shape(hist)[0]",
    "v + sum(1 for _ in hist)",
    "v + sum(i for i, _ in enumerate(hist))",
    "v + sum(np.ones_like(hist))",
    "v + sum([2.0] * len(hist))",
    "v + (lambda w: len(w))(hist)",
    "v if len(hist[:1]) == 1 else 0.0",
)


@pytest.mark.parametrize("value", LENGTHS)
def test_a_row_of_another_length_is_refused_where_only_the_length_is_read(value):
    function = load(f"import numpy as np\ndef f(hist, v): return {value}")["f"]
    reward = Reward.from_functions({function: 1.0}, example={"v": 0.0, "hist": [3.5]})
    kept = np.array([2.0])
    assert reward.score(v=1.0, hist=kept).total == function(kept, 1.0)
    assert reward.compile("numpy")({"v": [1.0], "hist": [[2.0]]}).total == function(kept, 1.0)
    for hist in ([], [1.0, 2.0]):
        with pytest.raises(ShapeMismatch, match="field 'hist'"):
            reward.score(v=1.0, hist=hist)
        with pytest.raises(ShapeMismatch, match="field 'hist'"):
            reward.compile("numpy")({"v": [1.0], "hist": [hist]})
    with pytest.raises(MissingField):
        reward.score(v=1.0)
    assert Reward.from_dict(reward.to_dict()).fingerprint == reward.fingerprint


@pytest.mark.parametrize(
    "value",
    [
        "np.size(self.hist)",
        "np.ndim(self.hist)",
        "len(np.shape(self.hist))",
        "np.sum(np.ones_like(self.hist))",
        "np.array([self.hist]).size",
        "np.repeat(self.hist, 2).size",
        "np.isscalar(self.hist)",
        "(1.0 if torch.is_tensor(self.hist) else 2.0)",
    ],
)
def test_what_is_not_declared_has_no_shape(value):
    function = load(f"import numpy as np\nimport torch\ndef f(self): return self.v + {value}")["f"]
    with pytest.raises(UnknownField, match="reads 'self.hist'"):
        Reward("r", version="1", terms=[term(function)], fields=[Field("v")])


@pytest.mark.parametrize("kind", [{}, {"flag": True}, {"values": ("a", "b")}, {"values": (1, 2)}, {"infinite": True}])
def test_a_shape_is_held_for_fields_of_every_kind(kind):
    function = load("def f(seen): return seen.shape[0] + 10 * seen.shape[1]")["f"]
    made = term(name="a")(function), term(name="b", terminal=True)(function)
    reward = Reward("r", version="1", terms=made, fields=[Field("seen", shape=(2, 3), **kind)])
    entry = {"flag": True, "values": kind.get("values", (1.0,))[0]}.get(next(iter(kind), ""), 1.0)
    assert reward.score(seen=[[entry] * 3] * 2, terminal=True).total == 64
    assert reward.score(seen=[[entry] * 3] * 2, terminal=False).total == 32
    with pytest.raises(ShapeMismatch):
        reward.score(seen=[[entry] * 3] * 3, terminal=True)
    assert CFunction(reward.select_terms("b").compile("c"))([1.0, 1.0])["total"] == 32.0
    assert reward.select_terms("b").inputs == ("terminal", "seen[0][0]")


def test_the_end_of_a_step_whose_length_is_read_is_held():
    function = load("def f(prev, curr): return curr.path[0] + len(prev.path)")["f"]
    reward = Reward("r", version="1", terms=[term(function)], fields=[Field("path", length=2)])
    assert reward.score(prev={"path": [5.0, 6.0]}, curr={"path": [1.0, 2.0]}).total == 3.0
    with pytest.raises(ShapeMismatch):
        reward.score(prev={"path": [5.0]}, curr={"path": [1.0, 2.0]})


def test_a_batched_function_may_go_by_the_shape_of_a_row():
    function = load("def f(self): return self.speed * self.num_envs / len(self.speed) + self.pos.shape[1]")["f"]
    reward = Reward.from_functions(
        {function: 1.0}, example={"speed": np.zeros(4), "pos": np.zeros((4, 3))}, batched=True
    )
    rows = {"speed": [1.0, 2.0], "pos": np.ones((2, 3))}
    assert reward.compile("numpy")(rows).total.tolist() == [4.0, 5.0]
    with pytest.raises(ShapeMismatch):
        reward.compile("numpy")({**rows, "pos": np.ones((2, 4))})


@pytest.mark.parametrize(
    "body",
    [
        "return self.v",
        "self.extras['hist'] = self.hist\n    return self.v",
    ],
)
def test_an_array_that_is_only_mentioned_may_be_left_out_of_rows(body):
    function = load(f"import numpy as np\ndef f(self, info, hist): \n    {body}")["f"]
    reward = Reward("r", version="1", terms=[term(function)], fields=[Field("v"), Field("hist", length=2)])
    assert reward.inputs == ("v",)
    assert reward.score(v=2.0).total == reward.score(v=2.0, hist=[1.0, 2.0]).total == 2.0


def test_an_array_that_a_function_asks_for_is_there():
    function = load("def f(v, hist): return v if hist is not None else 0.0")["f"]
    reward = Reward("r", version="1", terms=[term(function)], fields=[Field("v"), Field("hist", length=2)])
    assert reward.score(v=2.0, hist=[1.0, 2.0]).total == 2.0
    with pytest.raises(MissingField):
        reward.score(v=2.0)


def test_updates_and_gates_hold_the_shapes_that_they_go_by():
    functions = load(
        "def count(prev, hist): return prev.seen + len(hist)\n"
        "def spent(prev): return prev.seen\n"
        "def open(hist): return 1.0 if len(hist) > 1 else 0.0\n"
        "def speed(v): return v"
    )
    seen = State("seen", update=functions["count"], reset=0.0)
    counted = Reward("r", version="1", terms=[term(functions["spent"])], fields=[seen, Field("hist", length=2)])
    gated = Reward(
        "r",
        version="1",
        terms=[term(functions["speed"])],
        fields=[Field("v"), Field("hist", length=2)],
        gate=functions["open"],
    )
    assert "hist[0]" in counted.inputs
    assert gated.score(v=3.0, hist=[1.0, 2.0]).total == 3.0
    with pytest.raises(ShapeMismatch):
        gated.score(v=3.0, hist=[1.0])
