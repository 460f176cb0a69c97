"""Runs whose executors are processes of their own, and what these said: Spark keeps their logs below SPARK_HOME."""

import re
import struct
import tempfile
import time
from pathlib import Path

from . import spark as spark_support


def start(spark, application, executors: int = 2, *, work: Path, env=None, **options) -> "spark_support.Started":
    """As spark.start, on local-cluster[executors,1,1024]; executors log below the run's own folder."""
    folder = Path(tempfile.mkdtemp(dir=work, prefix="cluster-"))
    home = folder / "home"
    home.mkdir()
    for name in ("bin", "jars", "sbin", "python"):
        (home / name).symlink_to(spark.home / name)
    environment = {"SPARK_HOME": str(home), **(env or {})}
    return spark.start(f"local-cluster[{executors},1,1024]", application, work=folder, env=environment, **options)


def logs(run) -> dict:
    """Executor id -> what it wrote to stderr."""
    return {file.parent.name: file.read_text(errors="replace") for file in run.work.glob("home/work/app-*/*/stderr")}


def wait_for_log(started, executor: str, text: str, timeout: float = 120) -> None:
    end = time.monotonic() + timeout
    while text not in logs(started).get(executor, ""):
        if started.process.poll() is not None or time.monotonic() > end:
            started.kill()
            raise AssertionError(f"executor {executor} never said {text!r}; it said:\n{logs(started).get(executor)}\ndriver:\n{started.stderr()[-6000:]}")
        time.sleep(0.05)


def messages(log: str) -> list:
    """Glowplug's own lines, without what the logger puts before them: ["WARN …" or "…"]."""
    found = []
    for line in log.splitlines():
        match = re.match(r"(?:\d\d[\d/-]* [\d:.]+ (?P<level>[A-Z]+) [^:]*: )?glowplug: (?P<message>.*)", line)
        if match:
            found.append(("WARN " if match["level"] == "WARN" else "") + match["message"])
    return found


class Clocks:
    """The CPU clocks that the tasks of tests/apps/LongTasks.java keep in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()

    def seconds(self, executor: str) -> float:
        """CPU of all tasks that the executor has run."""
        contents = [file.read_bytes() for file in self.folder.glob(f"{executor}.*")]
        return sum(struct.unpack(">q", content)[0] for content in contents if len(content) == 8) / 1e9

    def wait(self, started, executor: str, seconds: float, timeout: float = 120) -> None:
        self._wait_until(started, lambda: self.seconds(executor) >= seconds, timeout)

    def wait_for_context(self, started, timeout: float = 120) -> None:
        self._wait_until(started, (self.folder / "up").exists, timeout)

    def enough(self) -> None:
        """All tasks end now."""
        (self.folder / "enough").touch()

    @staticmethod
    def _wait_until(started, condition, timeout: float) -> None:
        end = time.monotonic() + timeout
        while not condition():
            if started.process.poll() is not None or time.monotonic() > end:
                started.kill()
                raise AssertionError(f"the application did not come so far; stderr ends:\n{started.stderr()[-6000:]}")
            time.sleep(0.02)
