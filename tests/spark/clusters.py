"""Real Spark clusters on this machine, for tests: a master and two workers, or a Spark Connect server.

All processes are of the PySpark package, listen on loopback ports that the system chose, and are ended by their ids.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyspark

from tocsin.spark.java import find_java, java_home_for_spark

READY_SECONDS_MAX = 180.0  # ten on an idle machine
END_SECONDS_MAX = 20.0


class Daemon:
    """A Spark process, and what it says."""

    def __init__(self, words: list[str], **settings: str) -> None:
        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "JAVA_HOME": str(java_home_for_spark(find_java())),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_NO_DAEMONIZE": "1",
            **settings,
        }
        self._process = subprocess.Popen(
            [str(home / "bin" / words[0]), *words[1:]],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._said: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._news:
                self._said.append(line)
                self._news.notify_all()
        with self._news:
            self._said.append("(it ended)\n")
            self._news.notify_all()

    def wait_for(self, pattern: str) -> str:
        """The first group of the first line that matches."""

        def found() -> re.Match[str] | None:
            return next(filter(None, (re.search(pattern, line) for line in self._said)), None)

        with self._news:
            ready = self._news.wait_for(
                lambda: found() or any("(it ended)" in line for line in self._said), READY_SECONDS_MAX
            )
            match = found()
            assert ready and match is not None, f"no line like {pattern}:\n{''.join(self._said[-40:])}"
            return match.group(1)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(END_SECONDS_MAX)
        self._reader.join(END_SECONDS_MAX)
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextlib.contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """The address of a master with two workers of one core each."""
    master_class = "org.apache.spark.deploy.master.Master"
    worker_class = "org.apache.spark.deploy.worker.Worker"
    with contextlib.ExitStack() as started:
        master = Daemon(
            ["spark-class", master_class, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"],
            SPARK_DAEMON_MEMORY="256m",
        )
        started.callback(master.end)
        address = master.wait_for(r"Starting Spark master at (spark://\S+)")
        for number in range(2):
            words = [worker_class, address, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
            words += ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"worker{number}")]
            worker = Daemon(["spark-class", *words], SPARK_DAEMON_MEMORY="256m")
            started.callback(worker.end)
            worker.wait_for(r"(Successfully registered with master)")
        yield address


@contextlib.contextmanager
def connect_server() -> Iterator[str]:
    """The address of a Spark Connect server that runs its tasks itself, two at a time."""
    server = Daemon(
        [
            "spark-submit",
            "--master",
            "local[2]",
            "--class",
            "org.apache.spark.sql.connect.service.SparkConnectServer",
            "--conf",
            "spark.connect.grpc.binding.port=0",
            "--conf",
            "spark.ui.enabled=false",
            "--conf",
            "spark.driver.host=127.0.0.1",
            "spark-internal",
        ]
    )
    try:
        port = server.wait_for(r"Spark Connect server started at: .*:(\d+)")
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.end()
