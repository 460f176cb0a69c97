"""A program that measures its own CPU, waiting and allocation: the profile must say the same."""

import re

import pytest

from support import processes, versions

from accuracy.answer import NATIVE, OPTIONS, OPTIONS_OF, Answer

EMULATED = "17-aarch64"
SECONDS = 20


def test_a_profile_tells_cpu_waiting_and_allocation_as_they_were(run_profiled, java_version, record_property):
    run = run_profiled("Kernels", java_version, SECONDS, options=[*OPTIONS, *OPTIONS_OF.get(java_version, ())])
    answer = Answer(run)
    print(f"\n{run.stderr}{answer}")
    record_property("told", answer.waited)

    assert answer.truth["clock_step_ns"] < 100_000, "the clock that the truth stands on is too coarse"
    assert min(kernel["chunks"] for kernel in answer.truth["kernels"].values()) > 100
    assert answer.worst_share < (5 if java_version == EMULATED else 3), answer
    assert 95 <= answer.covered_cpu <= 105, answer
    check_wall(answer)
    assert 90 <= answer.covered_bytes <= 110, answer
    # Threads count bytes, not objects, and JDK 8 tells no more than that.
    assert (answer.profile.total("alloc_objects") > 0) == (java_version != 8), answer
    check_lines(run)


@pytest.mark.skipif(not versions.FULL, reason="in checkAll")
@pytest.mark.parametrize("java", NATIVE)
def test_allocations_that_are_switched_off_are_neither_sampled_nor_counted(run_profiled, java):
    run = run_profiled("Kernels", java, 2, agent="alloc.interval=off")
    assert "alloc=off" in run.process["engines"]
    assert run.process["samples"]["alloc"] == 0
    assert [run.profile.total(kind) for kind in ("alloc_space", "alloc_objects")] == [0, 0]
    assert run.profile.total("cpu") > 0


def check_wall(answer):
    true = answer.true_wall
    found = answer.profile.total("wall")
    assert abs(found - true) < 0.03 * true, answer
    for name, thread in answer.truth["waiting"].items():
        states = answer.states(name)
        seconds = thread["wall_ns"] / 1e9
        assert abs(states.get(thread["state"], 0) - seconds) < 0.03 * seconds, f"{name} is {states}\n{answer}"


def check_lines(run):
    """A JVM without Spark says the same two things as a driver."""
    start, end = processes.messages(run.stderr)
    assert re.fullmatch(r"profiling this JVM from its start on .*; samples go to the SparkContext that starts here, or to a folder at exit; "
                        "settings: all default", start), start
    assert re.fullmatch(rf"profile written to {re.escape(str(run.folder))}: 1 process, \d+ samples, (none lost|\d+ without a full stack \(.*\)), "
                        r"own cost \d+\.\d\d % of their CPU", end), end
