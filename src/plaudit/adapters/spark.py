"""Spark: score a data set in place with the reward as SQL, without Python on the workers."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from plaudit.errors import MissingExtra, TargetError
from plaudit.language.program import Program
from plaudit.ledger.dataset.files import FileScoring
from plaudit.reward.reward import Reward
from plaudit.targets.inputs import find_default, list_slots

if TYPE_CHECKING:
    from plaudit.ledger.dataset.cluster import Parts
    from plaudit.rows.columns import FoundColumn

__all__ = ["build_select", "score_with_spark"]

_VIEW = "plaudit_rows"


def score_with_spark(
    reward: Reward,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    keep: Sequence[str] | None = None,
    on_bad: str = "mask",
    columns: Mapping[str, str] | None = None,
    scores: bool = False,
    prefix: str = "",
    overwrite: bool = False,
) -> FileScoring:
    """Score a folder of Parquet files with Spark, and write another folder.

    The rows get the same new columns as with `score_file`. The folder `target` appears when it is complete. An active
    session is used; otherwise one is started in local mode and stopped at the end. On a cluster, both folders must be
    on a file system that every machine can access.

    Args:
        reward: The reward.
        source: A folder of Parquet files, or one file.
        target: The folder to write.
        keep: Columns to keep from the source; all if omitted.
        on_bad: "mask" keeps rows that cannot be scored, without numbers; "raise" raises an error.
        columns: Column names of inputs, where they differ: `{"distance": "gap_m"}`.
        scores: Also write the score of each term before clamp and weight.
        prefix: Prefix of the new columns.
        overwrite: Replace `target` if it exists.

    Returns:
        The number of rows written, and of bad rows by reason.

    Raises:
        MissingExtra: PySpark is not installed.
        FileError: `source` cannot be read, or `target` exists.
        InputError: Rows cannot be scored, and `on_bad` is "raise".
        TargetError: Spark failed.

    Example:
        ```python
        print(score_with_spark(following, "/data/steps", "/data/scored", keep=["episode"]))
        ```
    """
    session_class = _import_spark()
    from plaudit.ledger.dataset.cluster import inspect_parts, write_parts

    parts = inspect_parts(
        reward, os.fspath(source), keep=keep, columns=columns, scores=scores, prefix=prefix, on_bad=on_bad
    )
    statement = build_select(parts)
    with (
        write_parts(parts, os.fspath(target), "spark", overwrite=overwrite) as (folder, results),
        _open_session(session_class) as spark,
    ):
        before = spark.conf.get("spark.sql.caseSensitive")
        spark.conf.set("spark.sql.caseSensitive", "true")
        try:
            spark.read.parquet(*parts.paths).createOrReplaceTempView(_VIEW)
            spark.sql(statement).write.parquet(str(folder))
        except Exception as error:
            if type(error).__module__.startswith(("pyspark", "py4j")):
                raise TargetError(f"Spark could not finish: {str(error).splitlines()[0]}") from error
            raise
        finally:
            spark.catalog.dropTempView(_VIEW)
            spark.conf.set("spark.sql.caseSensitive", before)
    return results[0]


def build_select(parts: "Parts") -> str:
    """Return the SQL statement that scores the view of the rows.

    Args:
        parts: The source files and the scoring job, as `inspect_parts` returns them.

    Returns:
        A SELECT statement over the view `plaudit_rows`, with the kept and the new columns.

    Example:
        ```python
        from plaudit.ledger.dataset.cluster import inspect_parts

        print(build_select(inspect_parts(following, "steps")))
        ```
    """
    program, job = parts.job.reward.program, parts.job
    compiled = job.reward.compile("sql", dialect="spark", on_bad="mask")
    held = {f"plaudit keep {at}": name for at, name in enumerate(parts.kept)}
    inner = [f"{_quote(name)} AS {_quote(alias)}" for alias, name in held.items()]
    inner += [f"{text} AS {_quote(name)}" for name, text in _build_inputs(program, parts.scoring.found).items()]
    view = f"SELECT {', '.join(inner)} FROM {_quote(_VIEW)}"
    scored = compiled.select("plaudit_inputs", keep=tuple(held))
    outer = [f"{_quote(alias)} AS {_quote(name)}" for alias, name in held.items()]
    outer += [f"{_quote(name.removeprefix(job.prefix))} AS {_quote(name)}" for name in job.new_columns]
    return f"WITH `plaudit_inputs` AS ({view}) SELECT {', '.join(outer)} FROM ({scored})"


def _build_inputs(program: Program, found: Sequence["FoundColumn"]) -> dict[str, str]:
    by_name = {one.name: one for one in found}
    terminal: object = object() if "terminal" in by_name else False
    texts = {}
    for place in list_slots(program):
        one = by_name.get(place.name) or by_name.get(place.column)
        if one is None:
            texts[place.name] = _format_literal(find_default(program, place, terminal))
            continue
        column = ".".join(map(_quote, one.path))
        texts[place.name] = _format_entry(column, one.shape, place.name) if one.shape else column
        if place.name == "terminal":  # an episode continues unless a row says otherwise
            texts[place.name] = f"COALESCE({column}, FALSE)"
    return texts


def _format_entry(column: str, shape: Sequence[int], name: str) -> str:
    """Return the entry `name` of a list or nested lists; NULL if a list has another size."""
    indices = name[name.index("[") + 1 : -1].split("][")
    tests = []
    for size, index in zip(shape, indices, strict=True):
        tests.append(f"size({column}) = {size}")
        column = f"{column}[{index}]"
    return f"IF({' AND '.join(tests)}, {column}, NULL)"


def _format_literal(value: object) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return f"CAST('{value!r}' AS DOUBLE)"


def _quote(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


@contextmanager
def _open_session(builder: Any) -> Iterator[Any]:
    """Use the active session, or start one in local mode for the duration."""
    active = builder.getActiveSession()
    if active is not None:
        yield active
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    quiet = builder.builder.appName("plaudit").config("spark.ui.enabled", "false")
    started = quiet.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    try:
        yield started
    finally:
        started.stop()


def _import_spark() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise MissingExtra(f"the spark engine needs {error.name}. Install it: pip install 'plaudit[spark]'") from None
    return SparkSession
