"""The runner counts what its suites say, and takes silence for a failure."""

import json

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


def test_every_folder_with_tests_is_a_suite():
    folders = {file.parent.name for file in (machine.ROOT / "tests").glob("*/test_*.py")}
    assert {"packaging", "runner"} <= folders <= set(run.suites())


@pytest.fixture
def clean_tree(monkeypatch, tmp_path):
    """The record of a work tree that has no changes; [commit] can be moved on."""
    commit = ["abc"]
    monkeypatch.setattr(run, "RECORD", tmp_path / "checkAll.json")
    monkeypatch.setattr(machine, "output", lambda command, **_: commit[0] if "rev-parse" in command else "")
    return commit


def test_check_all_goes_on_after_the_suites_that_passed_at_this_commit(clean_tree):
    record = run.Record("checkAll")
    record.add("rust", Counts(passed=5, seconds=2.0))
    record.add("ui", Counts(passed=5, failed=1))
    again = run.Record("checkAll")
    assert again.finished("rust") == Counts(passed=5, seconds=2.0)
    assert again.finished("ui") is None
    assert json.loads(run.RECORD.read_text())["commit"] == "abc"


def test_check_all_starts_over_at_another_commit_and_check_always(clean_tree):
    run.Record("checkAll").add("rust", Counts(passed=5))
    assert run.Record("check").finished("rust") is None
    clean_tree[0] = "def"
    assert run.Record("checkAll").finished("rust") is None
