"""A standalone cluster of one master and one worker, for drivers that run on the cluster."""

import contextlib
import re
import subprocess
import time
from pathlib import Path

CLASSES = "org.apache.spark.deploy"
HOST = "127.0.0.1"
STARTED = r"Starting Spark master at (spark://\S+)"
REGISTERED = "Successfully registered with master"


class Cluster:
    def __init__(self, url: str, work: Path):
        self.url = url
        self._work = work

    def driver_wrote(self, name: str) -> str:
        """The "stdout" or "stderr" of the driver that was started here last."""
        return max(self._work.glob(f"driver-*/{name}")).read_text(errors="replace")


@contextlib.contextmanager
def running(spark, folder: Path):
    """A Cluster for as long as the context lasts; its logs, and those of what it runs, are in `folder`."""
    work = folder / "work"
    with contextlib.ExitStack() as stack:
        master = stack.enter_context(_daemon(spark, folder / "master.log", "master.Master"))
        url = _wait_for(STARTED, master, folder / "master.log")[1]
        worker = stack.enter_context(_daemon(spark, folder / "worker.log", "worker.Worker", "--cores", "2", "--memory", "2g",
                                             "--work-dir", work, url))
        _wait_for(REGISTERED, worker, folder / "worker.log")
        yield Cluster(url, work)


@contextlib.contextmanager
def _daemon(spark, log: Path, name: str, *arguments):
    command = [spark.home / "bin/spark-class", f"{CLASSES}.{name}", "--host", HOST, "--port", "0", "--webui-port", "0", *arguments]
    with open(log, "w") as output:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=log.parent,
                                   env=spark.environment(spark.home, {"SPARK_DAEMON_MEMORY": "512m"}))
    try:
        yield process
    finally:
        # Not killed: a worker ends its drivers and executors as it ends.
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(pattern: str, process, log: Path, timeout: float = 120) -> re.Match:
    end = time.monotonic() + timeout
    while not (found := re.search(pattern, log.read_text(errors="replace"))):
        assert process.poll() is None and time.monotonic() < end, f"it never said {pattern!r}: {log.read_text(errors='replace')[-3000:]}"
        time.sleep(0.1)
    return found
