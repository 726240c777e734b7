"""Spark in local mode gives, row by row, what one process gives."""

import pyarrow.parquet as pq
import pytest

from plaudit import Field, FileError, InputError, Reward, term
from plaudit.adapters.spark import score_with_spark
from plaudit.errors import MissingField
from plaudit.ledger.dataset import score_file
from support.tables import made, pa, table

pytestmark = pytest.mark.filterwarnings("default")  # Spark leaves sockets to the garbage collector


def test_spark_gives_what_one_process_gives(spark, folder, ordered, tmp_path):
    there = score_with_spark(made(), folder, tmp_path / "spark", scores=True)
    here = score_file(made(), folder, tmp_path / "local", scores=True)
    assert (there.rows, there.bad, there.engine) == (600, 21, "spark")
    assert (here.rows, here.bad) == (600, 21)
    found, known = ordered(tmp_path / "spark"), ordered(tmp_path / "local")
    assert found.schema.names == known.schema.names
    assert repr(found.to_pylist()) == repr(known.to_pylist())  # NaN is equal to itself there
    with pytest.raises(FileError, match="already exists"):
        score_with_spark(made(), folder, tmp_path / "spark")
    again = score_with_spark(
        made(), folder / "*.parquet", tmp_path / "spark", overwrite=True, keep=["id"], prefix="v2."
    )
    assert again.rows == 600
    assert ordered(tmp_path / "spark").schema.names[:2] == ["id", "v2.total"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["local", "rows", "spark"]


def test_what_goes_wrong_leaves_nothing(spark, folder, tmp_path):
    with pytest.raises(InputError, match="21 of 600 rows cannot be scored"):
        score_with_spark(made(), folder, tmp_path / "out", on_bad="raise")
    pq.write_table(table(5).drop_columns(["phase"]), folder / "part-9.parquet")
    with pytest.raises(MissingField, match=r"part-9\.parquet lacks 'phase'"):
        score_with_spark(made(), folder, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


def test_stand_ins_ends_and_odd_names(spark, tmp_path):
    @term
    def size(x, kind):
        """Be large."""
        return x + (1 if kind == "it's" else 0)

    @term(terminal=True)
    def won(score):
        """Win."""
        return score

    fields = [Field("x", missing=0.1), Field("kind", values=("a", "it's"), missing="it's"), Field("score", low=0)]
    reward = Reward("odd", version="1", terms=[size, won], fields=fields)
    content = pa.table({
        "id": [1, 2, 3, 4],
        "a `b` c": [1.0, None, 3.0, 4.0],
        "X": ["upper"] * 4,
        "terminal": [False, True, True, False],
        "score": [None, 5.0, None, -1.0],
    })  # fmt: skip
    pq.write_table(content, tmp_path / "rows.parquet")
    columns = {"x": "a `b` c"}
    score_with_spark(reward, tmp_path / "rows.parquet", tmp_path / "spark", columns=columns)
    score_file(reward, tmp_path / "rows.parquet", tmp_path / "local.parquet", columns=columns)
    parts = [pq.ParquetFile(path).read() for path in (tmp_path / "spark").glob("*.parquet")]
    found = pa.concat_tables(parts).sort_by("id").to_pylist()
    assert found == pq.ParquetFile(tmp_path / "local.parquet").read().to_pylist()
    assert [row["total"] for row in found] == [2.0, 6.1, None, 5.0]
