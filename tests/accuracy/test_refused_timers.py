"""The kernel refuses timers (the user's limit of pending signals is reached): the sampler thread takes their place."""

import re
from pathlib import Path

import pytest

from support import versions

from accuracy.answer import OPTIONS, WITH_TIMERS, Answer

SECONDS = 20 if versions.FULL else 8
REASON = "the limit of pending signals (ulimit -i) is reached"


@pytest.mark.skipif(not versions.FULL, reason="in checkAll")
@pytest.mark.parametrize("java", WITH_TIMERS)
def test_without_any_timer_the_sampler_thread_measures_all_cpu_and_the_start_line_says_so(run_profiled, java):
    run = run_profiled("Kernels", java, SECONDS, options=OPTIONS, before=["prlimit", "--sigpending=0"])
    answer = Answer(run)
    print(f"\n{run.stderr}{answer}")
    assert f"cpu=sampler-thread(10ms) ({REASON})" in run.stderr
    assert answer.worst_share < 5, answer
    assert 95 <= answer.covered_cpu <= 105, answer


def test_threads_that_come_after_the_last_timer_are_measured_by_the_sampler_thread_with_one_warning(run_profiled):
    # What is alive at the start of a JVM takes about a dozen; the program's own threads come later.
    run = run_profiled("Kernels", 17, SECONDS, options=OPTIONS, before=["prlimit", f"--sigpending={taken_timers() + 8}"])
    answer = Answer(run)
    print(f"\n{run.stderr}{answer}")
    assert "cpu=timers(10ms)" in run.stderr
    warnings = [warning for warning in run.summary["warnings"] if warning["code"] == "timer-refused"]
    assert [warning["message"] for warning in warnings] == [f"{REASON}; threads without a timer are sampled by the sampler thread instead"]
    assert run.stderr.count(REASON) == 1, run.stderr
    assert answer.worst_share < 5, answer
    assert 95 <= answer.covered_cpu <= 105, answer


def taken_timers() -> int:
    """The limit is the user's: timers of all processes count."""
    return int(re.search(r"^SigQ:\s*(\d+)/", Path("/proc/self/status").read_text(), re.M).group(1))
