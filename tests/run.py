"""Runs the suites one after another: run.py check|checkAll [suite…]

Prints seconds by suite and, as its last line, how many passed and failed over all of them. `checkAll` is the same at
full size; it goes on where it stopped (build/checkAll.json) and, when all suites ran, writes docs/VERIFIED.md.
"""

import dataclasses
import datetime
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

import setup
from support import machine

RESULTS = machine.ROOT / "build/results"
RECORD = machine.ROOT / "build/checkAll.json"
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
    if mode == "checkAll":
        os.environ["GLOWPLUG_FULL"] = "1"
    available = suites()
    unknown = [name for name in names if name not in available]
    if unknown:
        sys.exit(f"no such suite: {', '.join(unknown)}; there are: {', '.join(available)}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    setup.prepare(full=mode == "checkAll")

    record = Record(mode)
    finished = {}
    for name in names or available:
        counts = record.finished(name)
        if counts:
            print(f"\n== {name}: finished before at this commit", flush=True)
        else:
            print(f"\n== {name}", flush=True)
            counts = run_suite(available[name], mode)
            record.add(name, counts)
        finished[name] = counts
    total = Counts(*(sum(getattr(counts, field.name) for counts in finished.values()) for field in dataclasses.fields(Counts)))
    if mode == "checkAll" and not names:
        write_verified(record.commit, finished, total)
    report(finished, total)
    return 1 if total.failed else 0


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
    exit_code, text = run(["cargo", "test", "--locked", "--workspace"], mode)
    counts = Counts()
    for passed, failed, ignored in re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", text, re.M):
        counts.passed, counts.failed, counts.skipped = counts.passed + int(passed), counts.failed + int(failed), counts.skipped + int(ignored)
    return with_exit_code(counts, exit_code)


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


class Record:
    """What checkAll has finished, without a failure, at this commit. A changed work tree is never gone on with."""

    def __init__(self, mode: str):
        self.commit = machine.output(["git", "rev-parse", "HEAD"], cwd=machine.ROOT).strip()
        changes = machine.output(["git", "status", "--porcelain", "--", ".", ":!docs/VERIFIED.md"], cwd=machine.ROOT)
        self._kept = mode == "checkAll" and not changes
        if changes:
            self.commit += " with changes"
        stored = json.loads(RECORD.read_text()) if self._kept and RECORD.exists() else {}
        self._suites = stored["suites"] if stored.get("commit") == self.commit else {}

    def finished(self, name: str):
        return Counts(**self._suites[name]) if name in self._suites else None

    def add(self, name: str, counts: Counts) -> None:
        if self._kept and not counts.failed:
            self._suites[name] = dataclasses.asdict(counts)
            RECORD.write_text(json.dumps({"commit": self.commit, "suites": self._suites}, indent=1))


def write_verified(commit: str, finished: dict, total: Counts) -> None:
    rows = [f"| {name} | {counts.passed} | {counts.failed} | {counts.skipped} | {counts.seconds:.0f} |" for name, counts in finished.items()]
    VERIFIED.parent.mkdir(exist_ok=True)
    VERIFIED.write_text("\n".join([
        "# Verified", "", "The last `./gradlew checkAll`: every suite, at full size and over all versions of tests/versions.json.", "",
        f"* Commit: {commit}", f"* Date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC", f"* Machine: {describe_machine()}", "",
        "| suite | passed | failed | skipped | seconds |", "|---|---|---|---|---|", *rows,
        f"| all | {total.passed} | {total.failed} | {total.skipped} | {total.seconds:.0f} |", ""]))


def describe_machine() -> str:
    processor = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = re.search(r'^PRETTY_NAME="(.+)"$', Path("/etc/os-release").read_text(), re.M)
    return (f"{os.cpu_count()} cores of {processor.group(1) if processor else platform.machine()}, {memory:.0f} GiB, {system.group(1)}, "
            f"Linux {platform.release()}")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in LONGEST:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
