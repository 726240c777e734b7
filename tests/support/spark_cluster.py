"""A Spark cluster of real processes on this machine: a master and workers, which a test may kill."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from support.local_spark import JAVA


class SparkCluster:
    """A master and two workers with one core each; their executors are processes too."""

    def __init__(self, folder):
        import pyspark

        self.folder = folder
        self._home = Path(pyspark.__file__).parent
        self._started = []
        master, self.address = self._start("Master", "--host", "127.0.0.1", "--port", "0"), None
        self.address = self._find(master, r"Starting Spark master at (spark://[\d.:]+)")
        self.workers = [
            self._start("Worker", self.address, "--host", "127.0.0.1", "--cores", "1", "--memory", "600m")
            for _ in range(2)
        ]
        for worker in self.workers:
            self._find(worker, "Successfully registered with master")

    @property
    def environment(self):
        """What processes of the cluster, and drivers, have in their environment."""
        where = os.pathsep.join([path for path in sys.path if path])
        own = {"SPARK_SCALA_VERSION": "2.13", "SPARK_HOME": str(self._home), "SPARK_LOCAL_IP": "127.0.0.1"}
        return {**os.environ, **own, "PYTHONPATH": where, "PYSPARK_PYTHON": sys.executable}

    def _start(self, kind, *arguments):
        number = len(self._started)
        work = ["--work-dir", str(self.folder / f"work-{number}")] if kind == "Worker" else []
        command = [
            "java",
            *JAVA,
            "-Xmx256m",
            "-cp",
            f"{self._home}/jars/*",
            f"org.apache.spark.deploy.{kind.lower()}.{kind}",
        ]
        command += [*arguments, "--webui-port", "0", *work]
        with open(self.folder / f"log-{number}", "wb") as log:
            process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True)
        process.log = self.folder / f"log-{number}"
        self._started.append(process)
        return process

    def _find(self, process, pattern, seconds=90):
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, process.log.read_text(errors="replace"))):
            assert time.monotonic() < deadline, process.log.read_text(errors="replace")[-2_000:]
            assert process.poll() is None, process.log.read_text(errors="replace")[-2_000:]
            time.sleep(0.05)
        return found[found.re.groups]

    def drive(self, program, *arguments):
        """Start a driver in a process of its own; `program` finds an active session."""
        options = {
            "spark.executor.memory": "500m",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.executor.extraJavaOptions": " ".join(JAVA).replace("-Xmn300m", "-Xmn100m"),
        }
        begin = f"""
from pyspark.sql import SparkSession
builder = SparkSession.builder.master({self.address!r})
for name, value in {options!r}.items():
    builder = builder.config(name, value)
builder.getOrCreate().sparkContext.setLogLevel("ERROR")
"""
        command = [sys.executable, "-W", "ignore", "-c", begin + program, *map(str, arguments)]
        return subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def kill(self, worker):
        """Kill a worker with all that it has started, as when its machine dies."""
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()

    def kill_executor(self, worker):
        """Kill the executor that a worker has started; it starts another one."""
        executors = [
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if self._is_executor(path) and os.getpgid(int(path.parent.name)) == worker.pid
        ]
        for process in executors:
            os.kill(process, signal.SIGKILL)
        return len(executors)

    @staticmethod
    def _is_executor(path):
        try:
            return b"CoarseGrainedExecutorBackend" in path.read_bytes()
        except OSError:
            return False

    def stop(self):
        """Kill what is left."""
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
