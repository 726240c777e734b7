"""Ray on this machine, and on a cluster whose machines die, gives bit for bit what one process gives."""

import os
import signal
import subprocess
import sys
import threading
import time
from importlib.util import find_spec

import pytest

from plaudit import FileError, InputError
from plaudit.adapters.ray import score_with_ray
from plaudit.errors import MissingField, TargetError
from plaudit.ledger.dataset import score_file
from support.clusters import assert_same, grow, wait_for_part
from support.lakes import COUNT, fill, list_tables
from support.tables import made, pq, table

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="needs plaudit[ray]"),
    pytest.mark.filterwarnings("default"),  # Ray warns of itself, and leaves sockets to the garbage collector
]

KEPT = ["id", "torque", "prev", "phase"]  # one of every kind
UNUSED = ("start_monitor", "start_log_monitor", "start_api_server")
"""Start processes that scale a cluster, read its logs and serve its state: nothing here asks them, and each takes seconds."""
QUIET = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}


@pytest.fixture(scope="module")
def alone():
    """Ray with one process at work: each further one starts for seconds."""
    import ray
    from ray._private.node import Node  # Ray has no public way to do without them

    when_asked = {"prestart_worker_first_driver": False}  # else one starts that nothing is given to
    with pytest.MonkeyPatch.context() as patch:
        for process in UNUSED:
            patch.setattr(Node, process, lambda node, **options: None)
        ray.init(num_cpus=1, object_store_memory=100 << 20, _system_config=when_asked, **QUIET)
        yield
        ray.shutdown()


@pytest.fixture
def cluster():
    """Two machines with a core each, and one that only this process is on."""
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    made.workers = [made.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


def test_ray_gives_what_one_process_gives(alone, folder, tmp_path):
    chosen = {"keep": KEPT, "scores": True, "against": made("0", near=2.0)}
    score_file(made(), folder, tmp_path / "there")
    with pytest.raises(FileError, match="already exists"):
        score_with_ray(made(), folder, tmp_path / "there", **chosen)
    told = []
    there = score_with_ray(
        made(), folder, tmp_path / "there", overwrite=True, progress=lambda *at: told.append(at), **chosen
    )
    here = score_file(made(), folder, tmp_path / "here", **chosen)
    assert (there.rows, there.bad, there.engine, there.reasons) == (600, 21, "ray", here.reasons)
    assert there.changes.to_dict()["flipped"] == here.changes.to_dict()["flipped"]
    assert told[-1] == (3, 3)
    assert_same(tmp_path / "there", tmp_path / "here")
    assert score_with_ray(made(), folder, tmp_path / "there", **chosen).resumed == 3


def test_what_goes_wrong_is_told(alone, folder, tmp_path):
    with pytest.raises(InputError, match=r"part-\d\.parquet, row 18: reward 'mixed' needs 'distance'"):
        score_with_ray(made(), folder, tmp_path / "out", on_bad="raise")
    pq.write_table(table(5).drop_columns(["phase"]), folder / "part-9.parquet")
    with pytest.raises(MissingField, match=r"part-9\.parquet lacks 'phase'"):
        score_with_ray(made(), folder, tmp_path / "out2")
    assert not list(tmp_path.glob("out*/*.parquet"))


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(alone, tmp_path):
    import psutil

    folder, killed = grow(tmp_path / "rows", parts=2, rows=20_000), []

    def kill():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for process in psutil.Process().children(recursive=True):
                if "ray::run_task" in " ".join(process.cmdline()):
                    killed.append(process.kill())
                    return
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    done = score_with_ray(made(), folder, tmp_path / "there", batch_rows=100)
    killer.join()
    assert (done.rows, len(killed)) == (40_000, 1)
    score_file(made(), folder, tmp_path / "here")
    assert_same(tmp_path / "there", tmp_path / "here")


@pytest.mark.slow
def test_a_machine_that_dies_is_done_without(cluster, tmp_path):
    folder = grow(tmp_path / "rows", parts=8, rows=20_000)
    old = made("0", near=2.0)

    def kill():
        wait_for_part(tmp_path / "there")
        cluster.remove_node(cluster.workers[0], allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    there = score_with_ray(made(), folder, tmp_path / "there", against=old, batch_rows=50)
    killer.join()
    here = score_file(made(), folder, tmp_path / "here", against=old)
    assert (there.rows, there.resumed, there.changes.records) == (160_000, 0, here.changes.records)
    assert_same(tmp_path / "there", tmp_path / "here")


DRIVER = """
import sys
from plaudit.adapters.ray import score_with_ray
from support.tables import made

score_with_ray(made(), sys.argv[1], sys.argv[2], against=made("0", near=2.0), batch_rows=50)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_a_driver_that_is_killed_is_resumed(cluster, tmp_path):
    folder = grow(tmp_path / "rows", parts=8, rows=20_000)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RAY_ADDRESS": cluster.address}
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, folder, tmp_path / "there"], env=environment)
    wait_for_part(tmp_path / "there")
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    finished = {path: path.stat() for path in (tmp_path / "there").glob("*.parquet")}
    assert 0 < len(finished) < 8
    assert not (tmp_path / "there/_plaudit.json").exists()
    there = score_with_ray(made(), folder, tmp_path / "there", against=made("0", near=2.0), batch_rows=50)
    assert there.resumed == len(finished)
    assert all(path.stat() == status for path, status in finished.items())
    here = score_file(made(), folder, tmp_path / "here", against=made("0", near=2.0))
    assert (there.rows, there.changes.records) == (160_000, here.changes.records)
    assert_same(tmp_path / "there", tmp_path / "here")


@pytest.mark.slow
def test_a_part_that_always_kills_its_worker_is_named(cluster, tmp_path, monkeypatch):
    from plaudit.ledger.dataset import cluster as module

    folder = grow(tmp_path / "rows", parts=4, rows=2_000)
    monkeypatch.setattr(module, "run_task", build_killer())
    with pytest.raises(TargetError, match=r"ray could not finish .*part-2\.parquet: "):
        score_with_ray(made(), folder, tmp_path / "there")
    monkeypatch.undo()
    assert score_with_ray(made(), folder, tmp_path / "there").resumed >= 1


def build_killer():
    """Return `run_task` for other processes, which dies at one part; a function of this module does not travel."""

    def run(task):
        import os

        from plaudit.ledger.dataset.pieces import run_task

        if task.part.endswith("part-2.parquet"):
            os._exit(9)
        return run_task(task)

    run.__module__ = "__main__"
    return run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray's own
def test_ray_reads_the_files_of_a_lake(alone, tmp_path):
    pytest.importorskip("deltalake", reason="needs plaudit[lake]")
    import ray.data

    with fill(tmp_path / "rewards.db") as ledger:
        total = sum(record.total for record in ledger.history(run="night"))
        ledger.archive(tmp_path / "lake")
    (table,) = list_tables(tmp_path / "lake").values()
    frame = ray.data.read_parquet(table.file_uris()).to_pandas()
    assert (len(frame), frame[frame.run == "night"].total.sum()) == (2 * COUNT + 3, total)
