"""A panic in the core, in one process of a real application: the job ends as it would, and the other process's profile is whole."""

import concurrent.futures

import pytest

from support import folders, processes

MASTER = "local-cluster[1,1,1024]"
BUSY = "LongTasks.spinRounds"
PANIC = "GLOWPLUG_TEST_PANIC"
EXECUTORS_PANIC = f"spark.executorEnv.{PANIC}"
SAMPLER = "the profiler has stopped, and the job runs on without it: injected on the sampler thread"


def failed(place: str) -> str:
    return f"{place} failed, and the job runs on without it: io.glowplug.core.NativeError: injectPanic panicked: injected at {place}"


def warnings(log: str) -> list:
    return [message.removeprefix("WARN ") for message in processes.messages(log) if message.startswith("WARN ")]


# For an executor of Spark 4 that is told to end: its worker reads its stderr no further from then on, and log4j's own hook would end the log.
LOG_TO_FILE = """
shutdownHook = disable
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = FILE
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
"""
# The executor is sent away while its driver goes on: then Spark stops it in order, its plugins among the rest.
SENT_AWAY = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true",
             "spark.dynamicAllocation.initialExecutors": "1", "spark.dynamicAllocation.minExecutors": "0",
             "spark.dynamicAllocation.maxExecutors": "1", "spark.dynamicAllocation.executorIdleTimeout": "2s"}


EXECUTOR_PLACES = ["executor.init", "executor.onTaskStart"]


def cases(folder) -> dict:
    """What each application is run with. A panic in the environment is the driver's, one in the conf the executor's."""
    settings = folder / "log4j2.properties"
    settings.write_text(LOG_TO_FILE.replace("FILE", str(folder / "executor.log")))
    to_file = {"spark.executor.extraJavaOptions": f"-Dlog4j2.configurationFile={settings.as_uri()}"}
    return {
        "driver.init, driver.shutdown": {"env": {PANIC: "driver.init,driver.shutdown"}},
        "driver.receive": {"env": {PANIC: "driver.receive"}, "seconds": 6},
        "executor.shutdown": {"conf": {**SENT_AWAY, **to_file, EXECUTORS_PANIC: "executor.shutdown"}, "more": ["idle"]},
        "driver's sampler": {"env": {PANIC: "sampler"}},
        "executor.init, executor.onTaskStart": {"conf": {EXECUTORS_PANIC: ",".join(EXECUTOR_PLACES)}},
        "executor's sampler": {"conf": {EXECUTORS_PANIC: "sampler"}},
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("panics")


@pytest.fixture(scope="module")
def run_of(spark, application, folder):
    """run_of("driver.receive") -> that application's run. They run two at a time: most of each is waiting."""
    chosen = spark("4.3.0")
    program = application("LongTasks", chosen)

    def run(number, conf=None, env=None, seconds=2, more=()):
        clocks = processes.Clocks(folder / str(number))
        # Else they would take it over from the driver, which starts them here.
        conf = {EXECUTORS_PANIC: "", **(conf or {})}
        return chosen.submit(MASTER, program, args=[clocks.folder, 1, seconds, *more], conf=conf, env=env)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = {name: pool.submit(run, number, **case) for number, (name, case) in enumerate(cases(folder).items())}

        def run_of(name):
            run = runs[name].result()
            assert (run.exit_code, run.stdout) == (0, "[0]\n"), run.tail
            return run

        yield run_of


def test_a_panic_in_the_drivers_init_and_shutdown(run_of):
    run = run_of("driver.init, driver.shutdown")
    assert warnings(run.stderr) == [failed("driver.init"), failed("driver.shutdown")]
    assert_executor_is_whole(run)


def test_a_panic_where_the_driver_receives(run_of):
    run = run_of("driver.receive")
    assert warnings(run.stderr) == [failed("driver.receive")]
    assert_driver_is_whole(run)
    assert set(folders.Folder(run.folder).processes) == {"driver"}


def test_a_panic_in_an_executors_shutdown(run_of, folder):
    run = run_of("executor.shutdown")
    assert warnings((folder / "executor.log").read_text()) == [failed("executor.shutdown")]
    assert warnings(run.stderr) == []
    assert_driver_is_whole(run)
    # What the panic kept the shutdown from is done by the JVM's way out: the last delta has come.
    assert folders.Folder(run.folder).processes["0"]["ending"] == "shutdown"
    assert_samples_of_executor_are_whole(run)


def test_a_panic_on_the_drivers_sampler_thread(run_of):
    run = run_of("driver's sampler")
    assert warnings(run.stderr) == [SAMPLER]
    assert_executor_is_whole(run)
    assert "profiler-stopped" in {warning["code"] for warning in folders.Folder(run.folder).summary["warnings"]}


def test_a_panic_in_an_executors_init_and_task_start(run_of):
    run = run_of("executor.init, executor.onTaskStart")
    assert warnings(run.executor_stderr["0"]) == [failed(place) for place in EXECUTOR_PLACES]
    assert warnings(run.stderr) == []
    assert_driver_is_whole(run)
    # The executor's own profile lacks nothing but the labels.
    busy = folders.Folder(run.folder).profile.where(lambda sample: BUSY in sample.stack, process="0")
    assert busy.total("cpu") == pytest.approx(2e9, rel=0.1)
    assert set(busy.by_label("stage", "cpu")) == {None}


def test_a_panic_on_an_executors_sampler_thread(run_of):
    run = run_of("executor's sampler")
    assert warnings(run.executor_stderr["0"]) == [SAMPLER]
    assert warnings(run.stderr) == []
    assert_driver_is_whole(run)
    assert "profiler-stopped" in {warning["code"] for warning in folders.Folder(run.folder).summary["warnings"]}


def assert_executor_is_whole(run) -> None:
    assert warnings(run.executor_stderr["0"]) == []
    assert_samples_of_executor_are_whole(run)


def assert_samples_of_executor_are_whole(run) -> None:
    busy = folders.Folder(run.folder).profile.where(lambda sample: BUSY in sample.stack, process="0", stage="0")
    assert busy.total("cpu") == pytest.approx(2e9, rel=0.1)


def assert_driver_is_whole(run) -> None:
    folder = folders.Folder(run.folder)
    assert folder.processes["driver"]["ending"] == "shutdown"
    assert folder.profile.where(lambda sample: "LongTasks.main" in sample.stack, process="driver").total("wall") > 2e9
