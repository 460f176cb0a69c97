"""The engines beside what else a JVM may have on: its own checks, its own recorder."""

import re
import subprocess

import pytest

from support import machine, versions

from accuracy.answer import NATIVE, OPTIONS, WITH_TIMERS, Answer

SECONDS = 6
# A complaint of -Xcheck:jni begins in one of these ways (jniCheck.cpp, os_posix.cpp, signals_posix.cpp).
COMPLAINTS = re.compile(r"^(?:WARNING in native method|FATAL ERROR in native method|WARNING: JNI local refs|Warning: .*handler|.*overflow detected by).*", re.M)


@pytest.mark.parametrize("java", NATIVE if versions.FULL else [17])
def test_jni_checks_find_nothing_to_complain_about(run_profiled, java, jdk, program):
    run = run_profiled("Kernels", java, SECONDS, options=[*OPTIONS, "-Xcheck:jni"])
    application = program("Kernels")
    # JDK 8 complains about its own launcher, and of a SIGHUP that a nohup ignores at a moment of its own.
    alone = subprocess.run([jdk(java) / "bin/java", "-Xcheck:jni", "-cp", application.jar, application.main, "1"], capture_output=True, text=True)
    said = run.stdout + run.stderr
    assert sorted(COMPLAINTS.findall(said)) == sorted(COMPLAINTS.findall(alone.stdout + alone.stderr)), said
    profile = run.profile
    assert [kind for kind in ("cpu", "wall", "alloc_space") if profile.total(kind) == 0] == []


@pytest.mark.parametrize("java", WITH_TIMERS if versions.FULL else [25])
def test_java_flight_recorder_and_the_profiler_both_have_their_data(run_profiled, java, jdk):
    options = [*OPTIONS, f"-XX:StartFlightRecording={recording(java)}"]
    run = run_profiled("Kernels", java, SECONDS, options=options)
    answer = Answer(run)
    print(f"\n{run.stderr}{answer}")
    assert answer.worst_share < 5, answer
    assert 95 <= answer.covered_cpu <= 105, answer
    assert answer.profile.total("alloc_space") > 0

    summary = machine.output([jdk(java) / "bin/jfr", "summary", run.work / "recording.jfr"])
    counts = {name: int(count) for name, count in re.findall(r"^ (jdk\.\w+) +(\d+)", summary, re.M)}
    # Recorded each 20 ms by default, and a thread of three walks fails here and there.
    assert counts["jdk.ExecutionSample"] + counts["jdk.NativeMethodSample"] > SECONDS * 10
    if java == 25:
        # One sampling signal for both would leave the recorder without a single one.
        assert counts["jdk.CPUTimeSample"] > SECONDS * 10


def recording(java) -> str:
    return "filename=recording.jfr" + (",settings=default,jdk.CPUTimeSample#enabled=true" if java == 25 else "")
