"""The runner counts what its suites say, and takes silence for a failure."""

import os
import re
import subprocess
import sys

import pytest

import run
from run import Counts
from support import machine


def counts_of(suite, monkeypatch, output, exit_code=0):
    monkeypatch.setattr(run, "run", lambda *_, **__: (exit_code, output))
    counts = run.run_suite(suite, "check")
    return counts.passed, counts.failed, counts.skipped


CARGO = """
test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.03s
   Doc-tests glowplug
test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
"""


@pytest.mark.parametrize("suite, output, exit_code, expected", [
    (run.rust, CARGO, 101, (15, 2, 1)),
    (run.rust, "error: could not compile `glowplug`", 101, (0, 1, 0)),
    (run.rust, "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured", 0, (0, 1, 0)),
    (run.ui, "# tests 9\n# pass 7\n# fail 1\n# skipped 1\n", 1, (7, 1, 1)),
    (run.ui, "ℹ tests 7\nℹ pass 7\nℹ fail 0\nℹ skipped 0\n", 0, (7, 0, 0)),
    (run.ui, "\x1b[2m      Tests \x1b[22m \x1b[31m2 failed\x1b[39m | \x1b[32m40 passed\x1b[39m (42)\n", 1, (40, 2, 0)),
    (run.ui, "npm ERR! missing script: test", 1, (0, 1, 0)),
    (run.ui, "ℹ pass 7\nℹ fail 0\n", 1, (7, 1, 0)),
], ids=["cargo, two binaries", "cargo, no compile", "cargo, no test", "node, plain", "node, tty", "vitest, coloured", "npm, no script",
        "a bad end with no failed test"])
def test_the_closing_lines_of_each_runner_are_counted(suite, output, exit_code, expected, monkeypatch):
    assert counts_of(suite, monkeypatch, output, exit_code) == expected


def test_junit_results_are_summed_over_files(tmp_path):
    (tmp_path / "one.xml").write_text('<testsuite tests="5" failures="1" errors="1" skipped="1"/>')
    (tmp_path / "two.xml").write_text('<testsuites><testsuite tests="2" failures="0" errors="0" skipped="0"/></testsuites>')
    assert run.junit(*tmp_path.glob("*.xml")) == Counts(passed=4, failed=2, skipped=1)


def test_the_closing_line_is_the_one_that_is_read_by_machines(capsys):
    run.report({"rust": Counts(3, 1, 2, 9.5)}, Counts(3, 1, 2, 9.5))
    assert capsys.readouterr().out.splitlines()[-1] == "3 passed, 1 failed, 2 skipped"


def test_what_a_passed_test_tells_is_printed_and_what_it_prints_is_not(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(record_property):\n    print('noise')\n    record_property('told', 'waited 0.05 s for a core')\n")
    tests = machine.ROOT / "tests"
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "conftest", "-c", tests / "pytest.ini", tmp_path], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(tests)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\S*test_it\.py::test_it: waited 0\.05 s for a core$", done.stdout, re.M), done.stdout
    assert "noise" not in done.stdout


def test_cargo_test_sees_no_java(monkeypatch):
    commands = []
    monkeypatch.setattr(run, "run", lambda command, mode: (commands.append(command), (0, CARGO))[1])
    run.rust("check")
    (command,) = commands
    assert command == run.without_java(["cargo", "test", "--locked", "--workspace"])
    if not run.may_mount():
        pytest.skip("this user may not mount here, so that JDKs cannot be hidden")
    assert run.jdk_folders(), "there is a JDK to hide"
    look = 'command -v java; echo "JAVA_HOME=${JAVA_HOME-unset}"; for folder; do ls -A "$folder"; done'
    seen = subprocess.run(run.without_java(["sh", "-c", look, "sh", *run.jdk_folders()]), capture_output=True, text=True, check=True,
                          env={**os.environ, "JAVA_HOME": "/somewhere"})
    assert seen.stdout == "JAVA_HOME=unset\n"


@pytest.mark.parametrize("mode, full", [("check", "0"), ("checkAll", "1")])
def test_the_mode_alone_says_at_what_size_tests_run(mode, full, monkeypatch, tmp_path):
    monkeypatch.setenv("GLOWPLUG_FULL", "1")
    seen = []
    suite = lambda _: seen.append(os.environ["GLOWPLUG_FULL"]) or Counts(passed=1)
    monkeypatch.setattr(run, "suites", lambda: {"suite": suite})
    monkeypatch.setattr(run.setup, "prepare", lambda full: seen.append(full))
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    assert run.main(mode, ["suite"]) == 0
    assert seen == [full == "1", full]


def test_every_folder_with_tests_is_a_suite():
    folders = {file.parent.name for file in (machine.ROOT / "tests").glob("*/test_*.py")}
    assert {"packaging", "runner"} <= folders <= set(run.suites())


@pytest.fixture
def repository(monkeypatch, tmp_path):
    """A clone of its own, with one file and the record."""
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    monkeypatch.setattr(run, "VERIFIED", tmp_path / "docs/VERIFIED.md")
    monkeypatch.setattr(run, "suites", lambda: {"rust": None, "exits": None, "spark": None})
    (tmp_path / "docs").mkdir()
    run.git("init", "--quiet")
    return Repository(tmp_path)


class Repository:
    def __init__(self, folder):
        self.folder = folder
        self.commit("one")

    def commit(self, content=None, file="file"):
        if content:
            (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / file).write_text(content)
        run.git("add", "--all")
        run.git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "--message=t")
        return run.git("rev-parse", "HEAD")


def test_check_all_goes_on_after_the_suites_that_passed(repository):
    record = run.Record(kept=True)
    record.add("rust", Counts(passed=5, seconds=2.0))
    record.add("exits", Counts(passed=5, failed=1))
    again = run.Record(kept=True)
    assert again.finished("rust") == Counts(passed=5, seconds=2.0)
    assert again.finished("exits") is None
    assert run.Record(kept=False).finished("rust") is None


def test_a_commit_of_the_record_alone_makes_no_suite_run_again(repository):
    run.Record(kept=True).add("rust", Counts(passed=5))
    repository.commit()
    assert run.Record(kept=True).finished("rust") == Counts(passed=5)
    repository.commit("two")
    assert run.Record(kept=True).finished("rust") is None


@pytest.mark.parametrize("changed, again", [
    ("tests/exits/test_drivers.py", {"rust", "exits"}),
    ("docs/GUIDE.md", {"rust"}),
    ("README.md", {"rust"}),
    ("tests/support/spark.py", {"rust", "exits", "spark"}),
    ("rust-core/src/lib.rs", {"rust", "exits", "spark"}),
])
def test_a_change_makes_the_suites_run_again_that_depend_on_it(repository, changed, again):
    record = run.Record(kept=True)
    for name in run.suites():
        record.add(name, Counts(passed=5))
    repository.commit("new", changed)
    record = run.Record(kept=True)
    assert {name for name in run.suites() if not record.finished(name)} == again


def test_a_suite_that_runs_again_leaves_the_commits_of_the_others(repository):
    first = run.git("rev-parse", "HEAD")
    run.Record(kept=True).add("rust", Counts(passed=5, skipped=1, seconds=2.0))
    second = repository.commit("two")
    run.Record(kept=True).add("spark", Counts(passed=7, failed=2, seconds=30.4))
    lines = run.VERIFIED.read_text().splitlines()
    assert "* Never run: exits" in lines
    table = [line.rsplit(" | ", 1)[0] for line in lines if line.startswith("| ")]
    assert table[1:] == [f"| rust | 5 | 0 | 1 | 2 | {first}", f"| spark | 7 | 2 | 0 | 30 | {second}", "| all | 12 | 2 | 1 | 32 |"]


def test_a_changed_work_tree_is_neither_gone_on_with_nor_recorded(repository, capsys):
    run.Record(kept=True).add("rust", Counts(passed=5))
    before = run.VERIFIED.read_text()
    (repository.folder / "file").write_text("not committed")
    record = run.Record(kept=True)
    record.add("rust", Counts(passed=6))
    assert (record.finished("rust"), run.VERIFIED.read_text()) == (None, before)
    assert "the work tree has changes" in capsys.readouterr().out


def test_what_changes_while_a_suite_runs_is_not_recorded(repository, capsys):
    record = run.Record(kept=True)
    repository.commit("two")
    record.add("rust", Counts(passed=5))
    assert not run.VERIFIED.exists()
    assert "the work tree has changed meanwhile" in capsys.readouterr().out


def test_a_record_of_a_commit_that_is_not_here_counts_for_nothing(repository):
    run.Record(kept=True).add("rust", Counts(passed=5))
    run.VERIFIED.write_text(re.sub("[0-9a-f]{40}", "0" * 40, run.VERIFIED.read_text()))
    assert run.Record(kept=True).finished("rust") is None
