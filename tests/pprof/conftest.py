import pytest

from support import machine


@pytest.fixture(scope="session")
def ours():
    """A small file that rust-core/tests/golden.rs compares with what the encoder writes today."""
    return machine.ROOT / "rust-core/tests/data/ours.pb.gz"
