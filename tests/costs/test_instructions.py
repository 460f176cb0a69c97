"""The core's operations need no more instructions than benches/baseline.json says, give or take 15 %."""

import importlib.util
import json
import shutil
import subprocess
import sys

import pytest

from support import machine


@pytest.fixture(scope="session")
def counted():
    if shutil.which("valgrind") is None:
        machine.system_packages("valgrind")
    return subprocess.run([sys.executable, machine.ROOT / "benches/check.py"], capture_output=True, text=True)


def test_no_operation_is_over_its_baseline(counted):
    assert counted.returncode == 0, counted.stdout + counted.stderr


def test_every_operation_of_the_issue_is_counted(counted):
    for operation in ("ring", "into the tree", "name", "as pprof", "merge 100 deltas", "decode and check a first delta", "settings"):
        assert operation in counted.stdout


@pytest.fixture
def checked(monkeypatch, tmp_path):
    """checked(counts) -> what benches/check.py exits with where the operations need so many instructions, and 1000 is each one's baseline."""
    specification = importlib.util.spec_from_file_location("check", machine.ROOT / "benches/check.py")
    check = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(check)

    def run(counts):
        baseline = tmp_path / "baseline.json"
        baseline.write_text(json.dumps({"ring": 1000, "merge": 1000}))
        monkeypatch.setattr(sys, "argv", ["check.py"])
        monkeypatch.setattr(check, "BASELINE", baseline)
        monkeypatch.setattr(check.shutil, "which", lambda name: name)
        monkeypatch.setattr(check, "build", lambda: "program")
        monkeypatch.setattr(check, "operations", lambda program: [(1, name) for name in counts])
        monkeypatch.setattr(check, "per_operation", lambda program, name, repeats: counts[name])
        try:
            check.main()
        except SystemExit as ended:
            return ended.code
        return None

    return run


def test_an_operation_that_needs_14_percent_more_than_its_baseline_passes(checked, capsys):
    assert checked({"ring": 1140, "merge": 1000}) is None
    assert capsys.readouterr().out == "        1140   +14.0 %     ring\n        1000    +0.0 %     merge\n2 passed, 0 failed\n"


def test_an_operation_that_needs_16_percent_more_than_its_baseline_fails(checked, capsys):
    assert checked({"ring": 1160, "merge": 1000}) == "over the baseline: ring"
    assert capsys.readouterr().out == "        1160   +16.0 %     ring\n        1000    +0.0 %     merge\n1 passed, 1 failed\n"


def test_an_operation_and_a_baseline_without_the_other_fail(checked, capsys):
    assert checked({"ring": 1000, "new": 5}) == "over the baseline: new, merge (in baseline.json only)"
    assert "           5  no baseline  new\n" in capsys.readouterr().out
