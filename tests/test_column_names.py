"""One set of names: a total, a term's value and a term's score are called the same wherever they are written."""

import csv
import json
import sqlite3

import pytest

from plaudit import DefinitionError, Field, Ledger, Reward, term
from plaudit.adapters.components import split_total
from plaudit.targets.columns import name_columns


@term(weight=2.0)
def near(distance):
    return 1.0 - distance


@term
def kills(kills, action):
    return kills + action


@term
def ok(distance):
    return distance


HUNT = Reward(
    "hunt",
    version="1",
    terms=[near, kills, ok],
    fields=[Field("distance", low=0, high=1), Field("kills", low=0, high=9), Field("action", values=(0, 1, 2))],
)
ROW = {"distance": 0.25, "kills": 3, "action": 2}
COLUMNS = ["total", "near", "kills.value", "ok.value", "near.score", "kills.score", "ok.score"]
NUMBERS = [6.75, 1.5, 5.0, 0.25, 0.75, 5.0, 0.25]
WHOLE = dict(zip(COLUMNS, NUMBERS, strict=True))


@pytest.fixture
def hunt(tmp_path):
    """A row, and the reward as a command takes it."""
    (tmp_path / "hunt.json").write_text(HUNT.to_json(), encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    return tmp_path


def read_table(path):
    """Return the rows of a file, whatever its format."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix == ".csv":
        with open(path, newline="", encoding="utf-8") as file:
            return [{name: _parse(cell) for name, cell in row.items()} for row in csv.DictReader(file)]
    return pytest.importorskip("pyarrow.parquet", reason="needs plaudit[data]").read_table(path).to_pylist()


def _parse(cell):
    try:
        return json.loads(cell)
    except ValueError:
        return cell


def test_the_names_are_built_in_one_place():
    assert list(name_columns(HUNT.program.terms, HUNT.program.inputs).values()) == COLUMNS
    assert list(name_columns(HUNT.program.terms, HUNT.program.inputs, scores=False).values()) == COLUMNS[:4]
    assert name_columns(["torque"], ["torque[0]", "torque[1]"])["torque.value"] == "torque.value"
    assert name_columns(["position"], ["prev.position", "curr.position"])["position.value"] == "position"


def test_a_signal_as_a_row():
    assert list(HUNT.score(**ROW).to_row().items()) == list(WHOLE.items())


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_score_writes_these_columns_behind_those_of_the_row(plaudit, hunt, ending):
    assert plaudit("score", "hunt.json", "rows.jsonl", "-o", f"out.{ending}", "--scores").exit_code == 0
    [row] = read_table(hunt / f"out.{ending}")
    assert list(row.items()) == [*ROW.items(), *WHOLE.items(), ("ok", True)]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_export_writes_these_columns_behind_the_inputs(tmp_path, ending):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(HUNT.score(**ROW), step=4)
        ledger.export(tmp_path / f"out.{ending}")
    [row] = read_table(tmp_path / f"out.{ending}")
    inner = [(name, value) for name, value in row.items() if not name.startswith("record.")]
    assert inner == [*ROW.items(), *WHOLE.items()]


def test_sql_selects_these_columns():
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE steps (distance REAL, kills REAL, action REAL)")
        connection.execute("INSERT INTO steps VALUES (0.25, 3, 2)")
        found = connection.execute(HUNT.compile("sql", dialect="sqlite").select("steps", keep=["kills"]))
        assert [name for name, *_ in found.description] == ["kills", *COLUMNS, "ok"]
        assert found.fetchone() == (3, *NUMBERS, 1)
    connection.close()


def test_components_are_called_like_their_terms():
    assert split_total(HUNT.score(**ROW)) == {"near": 1.5, "kills": 5.0, "ok": 0.25}


def test_nothing_can_be_called_like_the_total():
    with pytest.raises(DefinitionError, match="total"):
        Field("total")

    def total(x):
        return x

    with pytest.raises(DefinitionError, match="not one of .*total"):
        term(total)


def test_integers_come_back_as_integers(tmp_path):
    signal = HUNT.score(distance=0.25, kills=3, action=2.0)
    assert json.dumps(signal.inputs) == '{"distance": 0.25, "kills": 3.0, "action": 2}'
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(signal)
        ledger.export(tmp_path / "out.jsonl")
        lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
        assert [repr(line["record"]["signal"]["inputs"]["action"]) for line in lines if "record" in line] == ["2"]
        assert ledger.import_file(tmp_path / "out.jsonl") == 0
    with Ledger(tmp_path / "copy.db") as copy:
        assert copy.import_file(tmp_path / "out.jsonl") == 1
        assert copy.verify().ok
