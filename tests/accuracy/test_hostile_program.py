"""A program that is as hard to walk as can be, sampled more sharply than anybody would: it must not notice."""

import pytest

from support import processes, versions

# Sharp, and not slowed down by what that costs.
SETTINGS = ("-Dspark.glowplug.cpu.interval=1ms", "-Dspark.glowplug.wall.interval=10ms", "-Dspark.glowplug.alloc.interval=16k",
            "-Dspark.glowplug.overhead.limit=50%")
# Arrays that no heap has room for make the collectors look busy; code that does not fit is flushed.
OPTIONS = ("-Xmx512m", "-XX:-UseGCOverheadLimit", "-XX:ReservedCodeCacheSize=6m")
CHECK = [(17, ("-XX:+UseG1GC",)), (25, ("-XX:+UseZGC",))]
FULL = [
    (8, ("-XX:+UseG1GC",)), (8, ("-XX:+UseParallelGC",)), (8, ("-Xint",)), (8, ("-XX:+UseConcMarkSweepGC",)),
    (11, ("-XX:+UseG1GC", "-Xcheck:jni", "-Xrs")), (11, ("-XX:+UseParallelGC",)), (11, ("-XX:+UseSerialGC", "-Xint")), (11, ("-XX:+UseShenandoahGC",)),
    (17, ("-XX:+UseG1GC",)), (17, ("-XX:+UseParallelGC", "-XX:-UseCompressedOops")), (17, ("-XX:+UseZGC",)), (17, ("-XX:+UseShenandoahGC",)),
    (17, ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")), (17, ("-XX:-TieredCompilation", "-Xcheck:jni")),
    (21, ("-XX:+UseG1GC",)), (21, ("-XX:+UseZGC", "-XX:+ZGenerational")), (21, ("-XX:+UseShenandoahGC", "-Xss256k")), (21, ("-Xint",)),
    (25, ("-XX:+UseG1GC", "-Xcheck:jni")), (25, ("-XX:+UseParallelGC",)), (25, ("-XX:+UseZGC",)),
    (25, ("-XX:+UseShenandoahGC", "-XX:+UseCompactObjectHeaders")), (25, ("-XX:+UseSerialGC", "-Xss256k")),
]
SECONDS = 15 if versions.FULL else 4


@pytest.mark.parametrize("java, options", FULL if versions.FULL else CHECK)
def test_a_hostile_program_computes_what_it_should_and_its_cpu_is_counted(run_profiled, java, options):
    # Newer JVMs log on standard output that they retry allocations.
    quiet = ("-Xlog:disable",) if java > 8 else ()
    run = run_profiled("Hostile", java, SECONDS, options=[*SETTINGS, *OPTIONS, *quiet, *options])
    assert run.stdout == "hostile: all results are right\n"
    assert list(run.work.glob("hs_err*")) == []
    warnings = [message for message in processes.messages(run.stderr) if message.startswith("WARN")]
    assert [warning for warning in warnings if processes.BUSY_MACHINE not in warning] == []

    cpu, process = run.profile.total("cpu") / 1e9, run.process
    covered = cpu / process["process_cpu_seconds"]
    unknown = run.profile.where(lambda sample: sample.stack[:1] == ["[unknown]"]).total("cpu") / 1e9
    print(f"\n{run.stderr}covered {covered:.3f} of {process['process_cpu_seconds']:.2f} s CPU; [unknown] {unknown:.2f} s; lost {process['lost']}")
    # What is missing is the start of the JVM, and beginnings and ends of thousands of threads.
    assert 0.7 <= covered <= 1.03
    # Walks fail in the JVM's own code: their CPU is there, under a name of its own, and they are counted. (On JDK 8 stacks
    # are taken at safepoints, where none fails; what it does not know is short threads.)
    assert 0 < unknown < 0.25 * cpu
    assert (process["lost"].get("not_walkable", 0) > 0) == (java > 8)
