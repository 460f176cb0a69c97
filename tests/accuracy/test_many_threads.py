"""Threads that live shorter than one interval, and threads that only wait."""

import functools
import subprocess

import pytest

from accuracy.answer import COUNTING, NATIVE, WITH_TIMERS
from support import versions


@functools.cache
def real_time() -> tuple:
    """Real-time scheduling, where it is allowed: on a busy machine a thread that waited for its core starts right after
    a tick, and the kernel looks at CPU timers at ticks alone, so that short threads would hide from them."""
    chrt = ("chrt", "-r", "5")
    return chrt if subprocess.run([*chrt, "true"], capture_output=True).returncode == 0 else ()


@pytest.mark.parametrize("java", WITH_TIMERS if versions.FULL else [17])
def test_cpu_of_threads_that_live_three_milliseconds_is_covered(run_profiled, java):
    run = run_profiled("ShortThreads", java, 5_000, 3, before=real_time())
    measured = run.profile.where(lambda sample: "ShortThreads.measured" in sample.stack).total("cpu")
    covered = 100 * measured / run.truth["cpu_ns"]
    print(f"\n{run.stderr}covered CPU {covered:.1f} % of {run.truth['cpu_ns'] / 1e9:.2f} s")
    assert 90 <= covered <= 110


@pytest.mark.parametrize("java", COUNTING)
def test_bytes_of_threads_that_are_hardly_seen_are_covered(run_profiled, java):
    run = run_profiled("ShortThreads", java, 2_000, 1)
    # A thread that was never seen has no name.
    short = run.profile.where(lambda sample: sample.labels.get("thread", "") in ("", "Thread-#"))
    unseen = short.where(lambda sample: sample.stack == ["[unknown]"]).total("alloc_space")
    covered = 100 * short.total("alloc_space") / run.truth["bytes"]
    print(f"\n{run.stderr}covered {covered:.2f} % of {run.truth['bytes'] / 1e6:.0f} MB, {unseen / 1e6:.0f} MB of it without a stack; "
          f"{short.by_label('thread', 'alloc_space')}")
    assert 97 <= covered <= 103


@pytest.mark.skipif(not versions.FULL, reason="in checkAll")
@pytest.mark.parametrize("java", NATIVE)
def test_five_hundred_idle_threads_cost_less_than_the_limit_or_slow_the_profiler_down(run_profiled, java):
    seconds = 60
    run = run_profiled("IdleThreads", java, 500, seconds)
    process = run.process
    allowed = max(0.01 * process["process_cpu_seconds"], 0.001 * seconds)
    slowed = [warning for warning in run.summary["warnings"] if warning["code"] == "intervals-stretched"]
    print(f"\n{run.stderr}own CPU {process['own_cpu_seconds']} s of {process['process_cpu_seconds']} s; {slowed}")
    assert process["own_cpu_seconds"] <= allowed or slowed
