"""A real Spark in this process, for tests: local mode, one session for all of them."""

import os
import shutil
import signal
import sys

import pytest

JAVA = (
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),  # it compiles for seconds, not hours
    "-Xmn300m",  # most of what it makes is garbage soon
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),  # Spark's classes are as they were released
)
OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": " ".join(JAVA),
    "spark.sql.session.timeZone": "UTC",
}


@pytest.fixture(scope="session")
def spark():
    """Start a Spark session, and stop it when every test is done."""
    pyspark_sql = pytest.importorskip("pyspark.sql", reason="needs plaudit[spark]")
    if shutil.which("java") is None:
        pytest.skip("no Java here (Debian: apt-get install openjdk-17-jre-headless)")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = pyspark_sql.SparkSession.builder.master("local[1]").appName("plaudit")
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    interrupted = signal.getsignal(signal.SIGINT)
    session = builder.getOrCreate()
    signal.signal(signal.SIGINT, interrupted)  # Spark puts a handler of its own there, for good
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
