"""Ray on this machine gives, row by row, what one process gives."""

from importlib.util import find_spec

import pyarrow.parquet as pq
import pytest

from plaudit import FileError, InputError
from plaudit.adapters.ray import score_with_ray
from plaudit.errors import MissingField
from plaudit.ledger.dataset import score_file
from support.tables import made, table

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="needs plaudit[ray]"),
    pytest.mark.filterwarnings("default"),  # Ray warns of itself, and leaves sockets to the garbage collector
]


KEPT = ["id", "torque", "prev", "phase"]  # one of every kind
UNUSED = ("start_monitor", "start_log_monitor", "start_api_server")
"""Start processes that scale a cluster, read its logs and serve its state: nothing here asks them, and each takes seconds."""


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)], ids="{} at work".format)
def cluster(request):
    """A cluster on this machine; each further process of it starts for seconds."""
    import ray
    from ray._private.node import Node  # Ray has no public way to do without them

    own = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    when_asked = {"prestart_worker_first_driver": False}  # else one starts that nothing is given to
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_DATA_PARQUET_FOOTER_NUM_ACTORS", "1")  # else 32 processes are to read three footers
        for process in UNUSED:
            patch.setattr(Node, process, lambda node, **options: None)
        ray.init(num_cpus=request.param, object_store_memory=100 << 20, _system_config=when_asked, **own)
        yield
        ray.shutdown()


def test_ray_gives_what_one_process_gives(cluster, folder, ordered, tmp_path):
    chosen = {"keep": KEPT, "scores": True}
    score_file(made(), folder, tmp_path / "ray")
    with pytest.raises(FileError, match="already exists"):
        score_with_ray(made(), folder, tmp_path / "ray", **chosen)
    there = score_with_ray(made(), folder, tmp_path / "ray", overwrite=True, **chosen)
    here = score_file(made(), folder, tmp_path / "local", **chosen)
    assert (there.rows, there.bad, there.engine) == (600, 21, "ray")
    assert (here.rows, here.bad) == (600, 21)
    assert repr(ordered(tmp_path / "ray").to_pylist()) == repr(ordered(tmp_path / "local").to_pylist())
    assert ordered(tmp_path / "ray").schema.names[: len(KEPT) + 1] == [*KEPT, "total"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["local", "ray", "rows"]


def test_what_goes_wrong_leaves_nothing(cluster, folder, tmp_path):
    with pytest.raises(InputError, match="21 of 600 rows cannot be scored"):
        score_with_ray(made(), folder, tmp_path / "out", on_bad="raise")
    pq.write_table(table(5).drop_columns(["phase"]), folder / "part-9.parquet")
    with pytest.raises(MissingField, match=r"part-9\.parquet lacks 'phase'"):
        score_with_ray(made(), folder, tmp_path / "out")
    with pytest.raises(FileError, match="is a pattern; Ray reads a folder"):
        score_with_ray(made(), folder / "*.parquet", tmp_path / "out")
    with pytest.raises(FileError, match="the folder that the rows are read from"):
        score_with_ray(made(), folder / "part-1.parquet", folder, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]
