"""Real Spark applications: `Spark(version).submit(master, application)` and what came of it."""

import dataclasses
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from . import distributions, jdks, machine, versions

PLUGIN = "io.glowplug.GlowplugPlugin"
# Half the CPU of a short application is its second compiler's. `checkAll` leaves it on, as users do.
QUICK = {} if versions.FULL else {f"spark.{role}.extraJavaOptions": "-XX:TieredStopAtLevel=1" for role in ("driver", "executor")}
EXECUTOR_CLASSES = ("CoarseGrainedExecutorBackend", "YarnCoarseGrainedExecutorBackend")


@dataclasses.dataclass
class Run:
    exit_code: int
    stdout: str
    stderr: str
    work: Path
    seconds: float

    @property
    def folders(self) -> list:
        """The folders that the applications of this run left, oldest first."""
        return sorted((path for path in (self.work / "glowplug-profiles").glob("*") if path.is_dir()), key=lambda path: path.stat().st_mtime)

    @property
    def folder(self) -> Path:
        folders = self.folders
        assert len(folders) == 1, f"one profile folder expected, found {[path.name for path in folders]}; stderr ends:\n{self.tail}"
        return folders[0]

    @property
    def tail(self) -> str:
        return "\n".join(self.stderr.splitlines()[-60:])

    @property
    def executor_stderr(self) -> dict:
        """Executor id -> what it wrote to stderr; on `local-cluster`, where executors are processes of their own."""
        return {path.parent.name: path.read_text(errors="replace") for path in self.work.glob("spark/work/app-*/*/stderr")}

    def lines_of_ours(self) -> list:
        """What Glowplug itself said in the driver, on the logger or on stderr."""
        return [line for line in self.stderr.splitlines() if "lowplug" in line]

    def succeeded(self) -> "Run":
        assert self.exit_code == 0, f"exit code {self.exit_code}; stderr ends:\n{self.tail}"
        return self


class Spark:
    def __init__(self, version: str, jar: Path, work: Path, java=None):
        self.version = version
        self.home = distributions.spark_home(version)
        self.java_home = jdks.java_home(java or versions.TABLE["spark"][version]["java"])
        self.jars = self.home / "jars"
        self._jar = jar
        self._work = work

    def submit(self, master: str, application, *, timeout: float = 300, **options) -> Run:
        """Runs an application to its end; `start` tells the options."""
        return self.start(master, application, **options).wait(timeout)

    def start(self, master: str, application, *, conf=None, args=(), env=None, plugin=True, options=(), work=None,
              quick=True) -> "Started":
        """spark-submit in a folder of its own. `application` is a Python file, or an apps.Application.

        `plugin`: with Glowplug's jar and `spark.plugins`; False for a run to compare with.
        `options`: further options of spark-submit, as ["--jars", …].
        `quick`: False for JVMs as users have them in `check`, too.
        """
        work = work or Path(tempfile.mkdtemp(dir=self._work, prefix="run-"))
        settings = {"spark.ui.port": "0", "spark.local.dir": work / "local", "spark.sql.warehouse.dir": work / "warehouse"}
        settings.update(QUICK if quick else {})
        options = list(options)
        if plugin:
            settings["spark.plugins"] = PLUGIN
            options = with_jar(options, self._jar)
        settings.update(conf or {})
        home = distributions.own_home(self.version, work / "spark")
        command = [home / "bin/spark-submit", "--master", master, *options]
        for key, value in settings.items():
            command += ["--conf", f"{key}={value}"]
        command += [application] if isinstance(application, Path) else ["--class", application.main, application.jar]
        return Started([str(word) for word in [*command, *args]], self.environment(home, env), work)

    def environment(self, home: Path, extra) -> dict:
        inherited = {key: value for key, value in os.environ.items()
                     if not key.startswith(("SPARK_", "PYSPARK_", "HADOOP_", "JAVA_TOOL", "GLOWPLUG_", "PYTHONPATH"))}
        own = {"SPARK_HOME": home, "SPARK_CONF_DIR": machine.ROOT / "tests/conf", "JAVA_HOME": self.java_home,
               "SPARK_LOCAL_IP": "127.0.0.1"}
        return {**inherited, **{key: str(value) for key, value in own.items()}, **(extra or {})}


def with_jar(options: list, jar: Path) -> list:
    if "--jars" not in options:
        return ["--jars", str(jar), *options]
    at = options.index("--jars") + 1
    return [*options[:at], f"{jar},{options[at]}", *options[at + 1:]]


class Started:
    """A spark-submit that runs: for tests that look at it, or at its executors, meanwhile."""

    def __init__(self, command: list, environment: dict, work: Path):
        self.work = work
        self._began = time.monotonic()
        self._files = [open(work / name, "w+", errors="replace") for name in ("stdout", "stderr")]
        # A process group of its own: whatever is left of it can be ended, executors included.
        self.process = subprocess.Popen(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=self._files[0],
                                        stderr=self._files[1], start_new_session=True)

    def wait(self, timeout: float = 300) -> Run:
        try:
            exit_code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running after {timeout} s; stderr ends:\n{self._result(-1).tail}") from None
        result = self._result(exit_code)
        self.kill()
        return result

    def kill(self) -> None:
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def processes(self) -> list:
        """The process ids of this run that still live: by session, since a worker's executors leave its group."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdigit() else None
            except OSError:
                continue
            if fields and fields[0] != "Z" and int(fields[3]) == self.process.pid:
                found.append(int(entry.name))
        return found

    def executors(self) -> dict:
        """Executor id -> process id, of the executors with a JVM of their own."""
        found = {}
        for pid in self.processes():
            try:
                words = (Path("/proc") / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if any(word.endswith(EXECUTOR_CLASSES) for word in words) and "--executor-id" in words:
                found[words[words.index("--executor-id") + 1]] = pid
        return found

    def wait_for_stderr(self, text: str, timeout: float = 120) -> None:
        self._wait_until(lambda: text in self.stderr(), f"stderr never said {text!r}", timeout)

    def wait_for_executors(self, count: int, timeout: float = 120) -> dict:
        self._wait_until(lambda: len(self.executors()) >= count, f"fewer than {count} executors came", timeout)
        return self.executors()

    def stderr(self) -> str:
        return (self.work / "stderr").read_text(errors="replace")

    def _wait_until(self, condition, complaint: str, timeout: float) -> None:
        end = time.monotonic() + timeout
        while not condition():
            ended = self.process.poll() is not None
            if (ended and not condition()) or time.monotonic() > end:
                self.kill()
                raise AssertionError(f"{complaint}; stderr ends:\n{self._result(-1).tail}")
            time.sleep(0.1)

    def _result(self, exit_code: int) -> Run:
        for file in self._files:
            file.close()
        stdout = (self.work / "stdout").read_text(errors="replace")
        return Run(exit_code, stdout, self.stderr(), self.work, time.monotonic() - self._began)
