"""Go's pprof, the reader that most tools for pprof files are built on."""

import os
import subprocess
from pathlib import Path

import pytest

PPROF = "github.com/google/pprof@v0.0.0-20261105003125-4bf881d7fb0b"
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def pprof():
    """Runs pprof with arguments and gives what it printed; it must not complain."""
    folder = REPOSITORY / "build" / "go"
    subprocess.run(["go", "install", PPROF], check=True, env={**os.environ, "GOBIN": str(folder)})

    def run(*args):
        done = subprocess.run([folder / "pprof", *map(str, args)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def ours():
    """A small file that rust-core/tests/golden.rs compares with what the encoder writes today."""
    return REPOSITORY / "rust-core" / "tests" / "data" / "ours.pb.gz"
