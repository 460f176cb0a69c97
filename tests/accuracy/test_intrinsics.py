"""Intrinsics run in stubs, some of which keep no frame that the JVM's walker knows: their callers are found all the same."""

import pytest

from support import versions

# 8 has no timers. What the JVM has of each depends on the processor.
JAVAS = [17, 25]
ALGORITHMS = ["SHA-512", "SHA-256", "SHA-1", "MD5"] if versions.FULL else ["SHA-512"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("java", JAVAS)
def test_hashing_stands_under_the_method_that_hashes(run_profiled, record_property, java, algorithm):
    run = run_profiled("Hashing", java, algorithm, "3")
    mine = run.profile.where(lambda sample: sample.labels.get("thread") == "main" or sample.stack == ["[unknown]"])
    hashing = mine.where(lambda sample: "Hashing.hash" in sample.stack).total("cpu")
    unknown = mine.where(lambda sample: sample.stack == ["[unknown]"]).total("cpu")
    record_property("told", f"{hashing / 1e9:.2f} s under hash, {unknown / 1e9:.2f} s unknown")
    assert hashing > 2e9
    assert unknown < 0.05 * hashing
