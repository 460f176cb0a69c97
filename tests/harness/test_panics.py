"""A panic in the core, in one process of a real application: the job ends as it would, and the other process's profile is whole."""

import dataclasses

import pytest

from support import folders, processes

MASTER = "local-cluster[1,1,1024]"
BUSY = "LongTasks.spinRounds"


@dataclasses.dataclass
class Panic:
    place: str
    message: str


DRIVER = [
    Panic("driver.init", "driver.init failed, and the job runs on without it: io.glowplug.core.NativeError: injectPanic panicked: injected at driver.init"),
    Panic("driver.receive",
          "driver.receive failed, and the job runs on without it: io.glowplug.core.NativeError: injectPanic panicked: injected at driver.receive"),
    Panic("driver.shutdown",
          "driver.shutdown failed, and the job runs on without it: io.glowplug.core.NativeError: injectPanic panicked: injected at driver.shutdown"),
    Panic("sampler", "the profiler has stopped, and the job runs on without it: injected on the sampler thread"),
]
EXECUTOR = [
    Panic("executor.init",
          "executor.init failed, and the job runs on without it: io.glowplug.core.NativeError: injectPanic panicked: injected at executor.init"),
    Panic("executor.onTaskStart",
          "executor.onTaskStart failed, and the job runs on without it: io.glowplug.core.NativeError: injectPanic panicked: injected at "
          "executor.onTaskStart"),
    Panic("executor.shutdown",
          "executor.shutdown failed, and the job runs on without it: io.glowplug.core.NativeError: injectPanic panicked: injected at executor.shutdown"),
    Panic("sampler", "the profiler has stopped, and the job runs on without it: injected on the sampler thread"),
]


def warnings(log: str) -> list:
    return [message.removeprefix("WARN ") for message in processes.messages(log) if message.startswith("WARN ")]


def run_with(spark, application, folder, **options):
    chosen = spark("4.3.0")
    clocks = processes.Clocks(folder)
    run = chosen.submit(MASTER, application("LongTasks", chosen), args=[clocks.folder, 1, 2], **options)
    assert (run.exit_code, run.stdout) == (0, "[0]\n"), run.tail
    return run


@pytest.mark.parametrize("panic", DRIVER, ids=lambda panic: panic.place)
def test_a_panic_in_the_driver(spark, application, tmp_path, panic):
    run = run_with(spark, application, tmp_path / "clocks", env={"GLOWPLUG_TEST_PANIC": panic.place})
    assert warnings(run.stderr) == [panic.message]
    folder = folders.Folder(run.folder)
    if panic.place == "driver.receive":
        # What executors send comes in there: it is their deltas that are lost, and they say so.
        assert folder.profile.where(process="driver").total("cpu") > 0
        (lost,) = warnings(run.executor_stderr["0"])
        assert lost.startswith("the driver has 0 deltas with 0.000000000 s of CPU of executor 0; "), lost
        return
    assert warnings(run.executor_stderr["0"]) == []
    assert folder.profile.where(lambda sample: BUSY in sample.stack, process="0", stage="0").total("cpu") == pytest.approx(2e9, rel=0.1)


@pytest.mark.parametrize("panic", EXECUTOR, ids=lambda panic: panic.place)
def test_a_panic_in_an_executor(spark, application, tmp_path, panic):
    run = run_with(spark, application, tmp_path / "clocks", conf={"spark.executorEnv.GLOWPLUG_TEST_PANIC": panic.place})
    assert warnings(run.executor_stderr["0"]) == [panic.message]
    assert warnings(run.stderr) == []
    folder = folders.Folder(run.folder)
    driver = folder.profile.where(process="driver")
    assert driver.total("cpu") > 0 and folder.processes["driver"]["ending"] == "shutdown"
    busy = folder.profile.where(lambda sample: BUSY in sample.stack, process="0")
    if panic.place == "sampler":
        assert [warning["code"] for warning in folder.summary["warnings"]] == ["profiler-stopped"]
        return
    assert busy.total("cpu") == pytest.approx(2e9, rel=0.1), "the rest of the executor's profile is whole, too"
    assert set(busy.by_label("stage", "cpu")) == {None if panic.place == "executor.onTaskStart" else "0"}
