"""Runs the suites one after another: run.py check|checkAll [suite…]

Prints seconds by suite and, as its last line, how many passed and failed over all of them. `checkAll` is the same at
full size; it writes docs/VERIFIED.md after each suite and passes over those that it holds for this very content.
"""

import dataclasses
import datetime
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

import setup
from support import machine

RESULTS = machine.ROOT / "build/results"
VERIFIED = machine.ROOT / "docs/VERIFIED.md"
LONGEST = {"check": 25 * 60, "checkAll": 4 * 60 * 60}


@dataclasses.dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


def main(mode: str, names: list) -> int:
    # The mode alone decides: what a caller has in its environment may be of another run.
    os.environ["GLOWPLUG_FULL"] = "1" if mode == "checkAll" else "0"
    available = suites()
    unknown = [name for name in names if name not in available]
    if unknown:
        sys.exit(f"no such suite: {', '.join(unknown)}; there are: {', '.join(available)}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    setup.prepare(full=mode == "checkAll")

    record = Record(kept=mode == "checkAll" and not names)
    finished = {}
    for name in names or available:
        counts = record.finished(name)
        if counts:
            print(f"\n== {name}: finished before, and nothing has changed since", flush=True)
        else:
            print(f"\n== {name}", flush=True)
            counts = run_suite(available[name], mode)
            record.add(name, counts)
        finished[name] = counts
    total = sum_of(finished.values())
    report(finished, total)
    return 1 if total.failed else 0


def sum_of(all_counts) -> Counts:
    return Counts(*(sum(values) for values in zip(*map(dataclasses.astuple, all_counts))))


def suites() -> dict:
    """Suite name -> what runs it. Cheap ones come first."""
    found = {
        "format": lambda mode: one_check(["cargo", "fmt", "--all", "--check"], mode),
        "lint": lambda mode: one_check(["cargo", "clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"], mode),
        "licences": lambda mode: one_check([packaging_tools() / "cargo-deny", "--locked", "check", "licenses", "bans", "sources"], mode),
        "rust": rust,
        "java": java,
        "ui": ui,
    }
    folders = sorted({file.parent.name for file in (machine.ROOT / "tests").glob("*/test_*.py")})
    return {**found, **{name: lambda mode, name=name: pytest_suite(name, mode) for name in folders}}


def run_suite(suite, mode: str) -> Counts:
    began = time.monotonic()
    counts = suite(mode)
    counts.seconds = time.monotonic() - began
    if not counts.passed and not counts.failed:
        print("no test ran: counted as a failure")
        counts.failed = 1
    return counts


def one_check(command: list, mode: str) -> Counts:
    exit_code, _ = run(command, mode)
    return Counts(failed=1) if exit_code else Counts(passed=1)


def rust(mode: str) -> Counts:
    if not may_mount():
        print("the JDKs are not hidden: this user may not mount here")
    exit_code, text = run(without_java(["cargo", "test", "--locked", "--workspace"]), mode)
    counts = Counts()
    for passed, failed, ignored in re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", text, re.M):
        counts.passed, counts.failed, counts.skipped = counts.passed + int(passed), counts.failed + int(failed), counts.skipped + int(ignored)
    return with_exit_code(counts, exit_code)


def without_java(command: list) -> list:
    """The command, where the folders of this machine's JDKs are empty for it, if this user may mount; and without JAVA_HOME."""
    command = ["env", "--unset=JAVA_HOME", *command]
    if not may_mount():
        return command
    hide = 'for folder; do shift; [ "$folder" = -- ] && break; mount -t tmpfs tmpfs "$folder" || exit; done; exec "$@"'
    return ["unshare", "--mount", "sh", "-c", hide, "sh", *jdk_folders(), "--", *command]


def may_mount() -> bool:
    attempt = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return os.geteuid() == 0 and subprocess.run(attempt, capture_output=True).returncode == 0


def jdk_folders() -> list:
    """Of the JDKs that a build could come upon: in the system's place for them, by JAVA_HOME, by the PATH."""
    system = Path("/usr/lib/jvm")
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    if shutil.which("java"):
        homes.append(Path(shutil.which("java")).resolve().parent.parent)
    # Each JDK has a file "release"; what has none may be all of /usr.
    elsewhere = {home.resolve() for home in homes if (home / "release").is_file() and system not in home.resolve().parents}
    return [str(folder) for folder in [system, *sorted(elsewhere)] if folder.is_dir()]


def java(mode: str) -> Counts:
    """Gradle ran them, before this script; here they are counted."""
    return junit(*(machine.ROOT / "jvm-plugin/build/test-results/test").glob("*.xml"))


def ui(mode: str) -> Counts:
    """Understands the closing lines of Node's own test runner and of Vitest."""
    exit_code, text = run(["npm", "test"], mode, cwd=machine.ROOT / "ui")
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    counts = Counts()
    for attribute, node, vitest in (("passed", "pass", "passed"), ("failed", "fail", "failed"), ("skipped", "skipped", "skipped")):
        found = re.findall(rf"^(?:#|ℹ) {node} (\d+)$", text, re.M) + re.findall(rf"^\s*Tests .*?(\d+) {vitest}", text, re.M)
        setattr(counts, attribute, sum(map(int, found)))
    return with_exit_code(counts, exit_code)


def pytest_suite(name: str, mode: str) -> Counts:
    results = RESULTS / f"{name}.xml"
    results.unlink(missing_ok=True)
    command = [tests_tools() / "python", "-m", "pytest", "-c", "tests/pytest.ini", f"tests/{name}", f"--junitxml={results}", "--durations=5"]
    exit_code, _ = run(command, mode)
    return with_exit_code(junit(results) if results.exists() else Counts(), exit_code)


def junit(*files: Path) -> Counts:
    counts = Counts()
    for suite in (suite for file in files for suite in xml.parse(file).getroot().iter("testsuite")):
        tests, failures, errors, skipped = (int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped"))
        counts.failed += failures + errors
        counts.skipped += skipped
        counts.passed += tests - failures - errors - skipped
    return counts


def with_exit_code(counts: Counts, exit_code: int) -> Counts:
    """A suite that ended badly has failed, even if it did not come to count anything."""
    if exit_code and not counts.failed:
        print(f"exit code {exit_code} with no failed test: counted as a failure")
        counts.failed = 1
    return counts


def run(command: list, mode: str, cwd: Path = machine.ROOT) -> tuple:
    """Exit code and output of a command, which is also printed while it runs."""
    lines = []
    process = subprocess.Popen([str(word) for word in command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
    signal.alarm(LONGEST[mode])
    for line in process.stdout:
        lines.append(line)
        print(line, end="", flush=True)
    exit_code = process.wait()
    signal.alarm(0)
    return exit_code, "".join(lines)


def packaging_tools() -> Path:
    return machine.virtual_environment(machine.ROOT / "jvm-plugin/packaging/requirements.txt")


def tests_tools() -> Path:
    return machine.virtual_environment(machine.ROOT / "tests/requirements.txt")


def report(finished: dict, total: Counts) -> None:
    width = max(map(len, finished))
    print("\n== seconds by suite")
    for name, counts in finished.items():
        print(f"{name:{width}} {counts.seconds:8.1f} s   {counts}")
    print(f"{'all':{width}} {total.seconds:8.1f} s\n")
    print(f"{total}", flush=True)


@dataclasses.dataclass
class Row:
    """How a suite went when checkAll ran it last."""
    counts: Counts
    commit: str
    date: str


class Record:
    """docs/VERIFIED.md: it is written after each suite of checkAll, and tells it which ones are finished."""

    def __init__(self, kept: bool):
        """`kept`: all suites are asked for, of a jar that was built just before."""
        self._commit = git("rev-parse", "HEAD")
        self._kept = kept
        if self._kept and has_changes():
            print("the work tree has changes: nothing of this run is recorded, and no suite counts as finished before")
            self._kept = False
        self._rows = read_rows(VERIFIED.read_text()) if self._kept and VERIFIED.exists() else {}

    def finished(self, name: str):
        """What a suite counted if nothing had failed, and nothing that it depends on has changed since."""
        row = self._rows.get(name)
        if row is None or row.counts.failed:
            return None
        return row.counts if row.commit == self._commit or same_content(row.commit, self._commit, name) else None

    def add(self, name: str, counts: Counts) -> None:
        if self._kept and (has_changes() or git("rev-parse", "HEAD") != self._commit):
            print("the work tree has changed meanwhile: from here on nothing of this run is recorded")
            self._kept = False
        if not self._kept:
            return
        self._rows[name] = Row(counts, self._commit, f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M}")
        order = list(suites())
        rows = {name: self._rows[name] for name in order if name in self._rows}
        VERIFIED.write_text(write_rows(rows, [name for name in order if name not in rows]))


RECORD_ITSELF = ":!docs/VERIFIED.md"
# They read the whole tree, or it does not take long.
OF_EVERYTHING = {"format", "lint", "licences", "rust", "java", "ui", "docs", "rules"}


def depends_on(name: str) -> list:
    """A suite of its own folder has nothing to do with the other suites' ones, nor with what the documents say."""
    if name in OF_EVERYTHING:
        return [".", RECORD_ITSELF]
    return [".", ":!docs", ":!*.md", *(f":!tests/{other}" for other in suites() if other != name)]


def same_content(one: str, other: str, name: str) -> bool:
    try:
        return not git("diff", "--name-only", one, other, "--", *depends_on(name))
    except subprocess.CalledProcessError:
        return False  # a commit that this clone does not have


def has_changes() -> bool:
    return bool(git("status", "--porcelain", "--", ".", RECORD_ITSELF))


def git(*words: str) -> str:
    return machine.output(["git", *words], cwd=machine.ROOT).strip()


def write_rows(rows: dict, missing: list) -> str:
    total = sum_of([row.counts for row in rows.values()])
    return "\n".join([
        "# Verified", "",
        "How each suite went when `./gradlew checkAll` ran it last: at full size, over all versions of tests/versions.json. The", "runner writes this file.", "",
        f"* Machine of the last run: {describe_machine()}",
        *([f"* Never run: {', '.join(missing)}"] if missing else []), "",
        "| suite | passed | failed | skipped | seconds | commit | ended (UTC) |", "|---|---|---|---|---|---|---|",
        *(f"| {name} | {row.counts.passed} | {row.counts.failed} | {row.counts.skipped} | {row.counts.seconds:.0f} | {row.commit} | {row.date} |"
          for name, row in rows.items()),
        f"| all | {total.passed} | {total.failed} | {total.skipped} | {total.seconds:.0f} | | |", ""])


def read_rows(text: str) -> dict:
    found = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| ([0-9a-f]{40}) \| (.+?) \|$", text, re.M)
    return {name: Row(Counts(int(passed), int(failed), int(skipped), float(seconds)), commit, date)
            for name, passed, failed, skipped, seconds, commit, date in found}


def describe_machine() -> str:
    processor = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = re.search(r'^PRETTY_NAME="(.+)"$', Path("/etc/os-release").read_text(), re.M)
    return (f"{os.cpu_count()} cores of {processor.group(1) if processor else platform.machine()}, {memory:.0f} GiB, {system.group(1)}, "
            f"Linux {'.'.join(platform.release().split('.')[:2])}")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in LONGEST:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
