"""A real Spark in this process, for tests: local mode, one session for all of them."""

import os
import shutil
import signal
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
}
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"  # it compiles for seconds, not hours


@pytest.fixture(scope="session")
def spark():
    """Start a Spark session, and stop it when every test is done.

    The classes that Java loads are kept beside the other caches of this environment: it begins in half the time.
    """
    pyspark_sql = pytest.importorskip("pyspark.sql", reason="needs plaudit[spark]")
    if shutil.which("java") is None:
        pytest.skip("no Java here (Debian: apt-get install openjdk-17-jre-headless)")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    classes = Path(sys.prefix, "cache", f"spark-{version('pyspark')}.jsa")
    fresh = classes.with_suffix(f".{os.getpid()}")
    classes.parent.mkdir(exist_ok=True)
    keep = f"-XX:SharedArchiveFile={classes}" if classes.exists() else f"-XX:ArchiveClassesAtExit={fresh}"
    builder = pyspark_sql.SparkSession.builder.master("local[2]").appName("plaudit")
    for name, value in {**OPTIONS, "spark.driver.extraJavaOptions": f"{JAVA} {keep}"}.items():
        builder = builder.config(name, value)
    interrupted = signal.getsignal(signal.SIGINT)
    session = builder.getOrCreate()
    signal.signal(signal.SIGINT, interrupted)  # Spark puts a handler of its own there, for good
    session.sparkContext.setLogLevel("ERROR")
    java = session.sparkContext._gateway.proc
    yield session
    session.stop()
    if not classes.exists():
        java.stdin.close()
        java.wait(300)  # as it ends, it writes them
        if fresh.exists():
            fresh.replace(classes)
