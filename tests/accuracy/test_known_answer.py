"""A program that measures its own CPU, waiting and allocation: the profile must say the same."""

import collections
import itertools
import re

import pytest

from support import machine, processes, versions

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
    check_places(run)
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


def check_places(run):
    """Each frame of the program names its file, and a line of its method."""
    source = (machine.ROOT / "tests/apps/Kernels.java").read_text().splitlines()
    # What is declared in the class, methods and classes, begins at four blanks.
    begins = [number for number, line in enumerate(source, 1) if re.match(r"    (private|public) .*\{$", line)] + [len(source) + 1]
    methods = {re.search(r"(\w+)\(", source[begin - 1])[1]: range(begin, end) for begin, end in itertools.pairwise(begins) if "(" in source[begin - 1]}
    frames = collections.Counter(frame for sample in run.profile.samples for frame in sample.frames
                                 if frame.name.startswith("Kernels.") and frame.name.removeprefix("Kernels.") in methods)
    assert {frame.name for frame in frames} >= {"Kernels.main", "Kernels.kernelLoop", "Kernels.descend", "Kernels.thrower", "Kernels.waitPark"}
    assert {frame.file for frame in frames} == {"Kernels.java"}
    # Of a few the JVM tells no place in the method: it was just being entered.
    unknown = sum(count for frame, count in frames.items() if not frame.line)
    assert unknown < 0.01 * frames.total()
    elsewhere = {frame for frame in frames if frame.line and frame.line not in methods[frame.name.removeprefix("Kernels.")]}
    assert elsewhere == set()


def check_lines(run):
    """A JVM without Spark says the same two things as a driver."""
    start, end = processes.messages(run.stderr)
    assert re.fullmatch(r"profiling this JVM from its start on .*; samples go to the SparkContext that starts here, or to a folder at exit; "
                        "settings: all default", start), start
    assert re.fullmatch(rf"profile written to {re.escape(str(run.folder))}: 1 process, \d+ samples, (none lost|\d+ without a full stack \(.*\)), "
                        r"own cost \d+\.\d\d % of their CPU", end), end
