"""What the processes of a run said, and what they have worked so far."""

import re
import struct
import time
from pathlib import Path

# The profiler slows down where it has to wait for a core: no matter of the application's.
BUSY_MACHINE = "to stay within spark.glowplug.overhead.limit"


def wait_for_log(started, executor: str, text: str, timeout: float = 120) -> None:
    """Until an executor of a run that goes on has written the text to its stderr."""
    def log() -> str:
        return "".join(file.read_text(errors="replace") for file in started.work.glob(f"spark/work/app-*/{executor}/stderr"))

    _wait_until(started, lambda: text in log(), timeout)


def messages(log: str) -> list:
    """Glowplug's own lines, without what the logger puts before them: ["WARN …" or "…"]."""
    found = []
    for line in log.splitlines():
        match = re.match(r"(?:\d\d[\d/-]* [\d:.]+ (?P<level>[A-Z]+) [^:]*: )?glowplug: (?P<message>.*)", line)
        if match and not match["message"].startswith(BUSY_MACHINE):
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
        _wait_until(started, lambda: self.seconds(executor) >= seconds, timeout)

    def wait_for_context(self, started, timeout: float = 120) -> None:
        _wait_until(started, (self.folder / "up").exists, timeout)

    def enough(self) -> None:
        """All tasks end now."""
        (self.folder / "enough").touch()


def _wait_until(started, condition, timeout: float) -> None:
    end = time.monotonic() + timeout
    while not condition():
        if started.process.poll() is not None or time.monotonic() > end:
            started.kill()
            raise AssertionError(f"the application did not come so far; stderr ends:\n{started.stderr()[-6000:]}")
        time.sleep(0.02)
