"""The core's operations need no more instructions than benches/baseline.json says, give or take 15 %."""

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
