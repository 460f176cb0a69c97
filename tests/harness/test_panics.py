"""A panic in the core, in one process of a real application: the job ends as it would, and the other process's profile is whole."""

import pytest

from support import folders, processes

MASTER = "local-cluster[1,1,1024]"
BUSY = "LongTasks.spinRounds"


SAMPLER = "the profiler has stopped, and the job runs on without it: injected on the sampler thread"


def failed(place: str) -> str:
    return f"{place} failed, and the job runs on without it: io.glowplug.core.NativeError: injectPanic panicked: injected at {place}"


def warnings(log: str) -> list:
    return [message.removeprefix("WARN ") for message in processes.messages(log) if message.startswith("WARN ")]


def run_with(spark, application, folder, conf=None, env=None, seconds=2):
    chosen = spark("4.3.0")
    clocks = processes.Clocks(folder)
    # Else they would take it over from the driver, which starts them here.
    conf = {"spark.executorEnv.GLOWPLUG_TEST_PANIC": "", **(conf or {})}
    run = chosen.submit(MASTER, application("LongTasks", chosen), args=[clocks.folder, 1, seconds], conf=conf, env=env)
    assert (run.exit_code, run.stdout) == (0, "[0]\n"), run.tail
    return run


def test_a_panic_in_the_drivers_init_and_shutdown(spark, application, tmp_path):
    run = run_with(spark, application, tmp_path / "clocks", env={"GLOWPLUG_TEST_PANIC": "driver.init,driver.shutdown"})
    assert warnings(run.stderr) == [failed("driver.init"), failed("driver.shutdown")]
    assert_executor_is_whole(run)


def test_a_panic_where_the_driver_receives_and_in_an_executors_shutdown(spark, application, tmp_path):
    run = run_with(spark, application, tmp_path / "clocks", env={"GLOWPLUG_TEST_PANIC": "driver.receive"},
                   conf={"spark.executorEnv.GLOWPLUG_TEST_PANIC": "executor.shutdown"}, seconds=6)
    assert warnings(run.stderr) == [failed("driver.receive")]
    assert_driver_is_whole(run)
    assert set(folders.Folder(run.folder).processes) == {"driver"}
    # Spark does not always come to call it, nor what an executor says at its end to be kept.
    for said in warnings(run.executor_stderr["0"]):
        assert said == failed("executor.shutdown") or said.startswith("the driver has 0 deltas with 0.000000000 s of CPU of executor 0; "), said


def test_a_panic_on_the_drivers_sampler_thread(spark, application, tmp_path):
    run = run_with(spark, application, tmp_path / "clocks", env={"GLOWPLUG_TEST_PANIC": "sampler"})
    assert warnings(run.stderr) == [SAMPLER]
    assert_executor_is_whole(run)
    assert "profiler-stopped" in {warning["code"] for warning in folders.Folder(run.folder).summary["warnings"]}


def test_a_panic_in_an_executors_init_and_task_start(spark, application, tmp_path):
    places = ["executor.init", "executor.onTaskStart"]
    run = run_with(spark, application, tmp_path / "clocks", conf={"spark.executorEnv.GLOWPLUG_TEST_PANIC": ",".join(places)})
    assert warnings(run.executor_stderr["0"]) == [failed(place) for place in places]
    assert warnings(run.stderr) == []
    assert_driver_is_whole(run)
    # The executor's own profile lacks nothing but the labels.
    busy = folders.Folder(run.folder).profile.where(lambda sample: BUSY in sample.stack, process="0")
    assert busy.total("cpu") == pytest.approx(2e9, rel=0.1)
    assert set(busy.by_label("stage", "cpu")) == {None}


def test_a_panic_on_an_executors_sampler_thread(spark, application, tmp_path):
    run = run_with(spark, application, tmp_path / "clocks", conf={"spark.executorEnv.GLOWPLUG_TEST_PANIC": "sampler"})
    assert warnings(run.executor_stderr["0"]) == [SAMPLER]
    assert warnings(run.stderr) == []
    assert_driver_is_whole(run)
    assert "profiler-stopped" in {warning["code"] for warning in folders.Folder(run.folder).summary["warnings"]}


def assert_executor_is_whole(run) -> None:
    assert warnings(run.executor_stderr["0"]) == []
    busy = folders.Folder(run.folder).profile.where(lambda sample: BUSY in sample.stack, process="0", stage="0")
    assert busy.total("cpu") == pytest.approx(2e9, rel=0.1)


def assert_driver_is_whole(run) -> None:
    folder = folders.Folder(run.folder)
    assert folder.processes["driver"]["ending"] == "shutdown"
    assert folder.profile.where(lambda sample: "LongTasks.main" in sample.stack, process="driver").total("wall") > 2e9
