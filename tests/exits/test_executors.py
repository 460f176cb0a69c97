"""Executors that end in every way there is: what they had sampled is in the driver's profile."""

import dataclasses
import os
import re
import signal
import time
from pathlib import Path

import pytest

from support import folders, processes

CLUSTER = "local-cluster[2,1,1024]"
BUSY = "LongTasks.spinRounds"


def worked(folder, executor: str) -> float:
    """CPU seconds by samples that the executor spent in its tasks."""
    return folder.profile.where(lambda sample: BUSY in sample.stack, process=executor).total("cpu") / 1e9


@dataclasses.dataclass
class Killed:
    run: object
    folder: folders.Folder
    clock: float
    page_after_20_s: str


@pytest.fixture(scope="module")
def killed(spark, application, tmp_path_factory):
    """Executor 0 is killed when it has lived for 5 s, executor 1 after 10 s of work; others take their tasks over."""
    chosen = spark("4.3.0")
    clocks = processes.Clocks(tmp_path_factory.mktemp("killed") / "clocks")
    started = chosen.start(CLUSTER, application("LongTasks", chosen), args=[clocks.folder, 2, 300], conf={"spark.glowplug.relay.interval": "3s"})
    clocks.wait_for_context(started)
    up = time.monotonic()
    pids = started.wait_for_executors(2)
    processes.wait_for_log(started, "0", "glowplug: profiling executor 0")
    time.sleep(5)
    os.kill(pids["0"], signal.SIGKILL)
    clocks.wait(started, "1", 10)
    os.kill(pids["1"], signal.SIGKILL)
    clock = clocks.seconds("1")
    time.sleep(max(0.0, up + 20 - time.monotonic()))
    page = "".join(file.read_text() for file in started.work.glob("glowplug-profiles/*/index.html"))
    clocks.enough()
    run = started.wait().succeeded()
    return Killed(run, folders.Folder(run.folder), clock, page)


def test_a_killed_executor_loses_no_more_than_the_last_interval(killed):
    sampled = worked(killed.folder, "1")
    assert killed.clock - 3 - 2 <= sampled <= killed.clock * 1.1
    assert killed.folder.processes["1"]["ending"].startswith("removed: ")


def test_an_executor_that_lives_5_s_is_in_the_profile(killed):
    assert worked(killed.folder, "0") > 0
    assert (killed.folder.path / "executors/0.pb.gz").exists()


def test_the_job_outlives_its_executors(killed):
    assert killed.run.stdout == "[0, 1]\n"
    assert {"driver", "0", "1"} < set(killed.folder.processes), "others have come"
    assert [message.split(" ")[0] for message in processes.messages(killed.run.stderr)] == ["profiling", "profile"]


def test_the_page_is_readable_20_s_after_the_context_is_up(killed):
    page = folders.data_of_page(killed.page_after_20_s)
    assert page["final"] is False
    assert "LongTasks.main" in page["names"]


@pytest.fixture(scope="module")
def idle(spark, application, tmp_path_factory):
    """Both executors are sent away by dynamic allocation once they have nothing to do."""
    chosen = spark("4.3.0")
    clocks = processes.Clocks(tmp_path_factory.mktemp("idle") / "clocks")
    conf = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true",
            "spark.dynamicAllocation.initialExecutors": "2", "spark.dynamicAllocation.minExecutors": "0",
            "spark.dynamicAllocation.maxExecutors": "2", "spark.dynamicAllocation.executorIdleTimeout": "2s"}
    return chosen.submit(CLUSTER, application("LongTasks", chosen), args=[clocks.folder, 2, 5, "idle"], conf=conf).succeeded()


def test_all_that_an_idle_executor_sent_is_in_the_profile(idle):
    folder = folders.Folder(idle.folder)
    for executor in ("0", "1"):
        assert re.search(rf"Executors? [\d,]*{executor}[\d,]* removed due to idle timeout", idle.stderr)
        # The sum of its deltas by its own count comes with the last one, that of its shutdown: so all were acknowledged.
        process = folder.processes[executor]
        assert process["ending"] == "shutdown"
        assert folder.profile.where(process=executor).total("cpu") == process["sampled_cpu_ns"]
        assert worked(folder, executor) == pytest.approx(5, rel=0.1)


def test_a_frozen_driver_delays_the_exit_of_an_executor_by_2_s_at_most(spark, application, tmp_path):
    chosen = spark("4.3.0")
    folders_of_clocks = {plugin: tmp_path / str(plugin) for plugin in (False, True)}
    clocks = {plugin: processes.Clocks(folder) for plugin, folder in folders_of_clocks.items()}
    started = {plugin: chosen.start("local-cluster[1,1,1024]", application("LongTasks", chosen), args=[folder, 1, 300], plugin=plugin)
               for plugin, folder in folders_of_clocks.items()}
    for plugin in started:
        clocks[plugin].wait(started[plugin], "0", 2)
    without, with_plugin = (seconds_to_exit(started[plugin]) for plugin in (False, True))
    for plugin in started:
        clocks[plugin].enough()
        started[plugin].wait().succeeded()
    assert with_plugin - without <= 2.0, f"{without:.2f} s without the plugin, {with_plugin:.2f} s with it"


def seconds_to_exit(started) -> float:
    """How long an executor takes from SIGTERM to its end while its driver is stopped."""
    executor = started.executors()["0"]
    os.kill(started.process.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        os.kill(executor, signal.SIGTERM)
        while has_not_ended(executor) and time.monotonic() < began + 30:
            time.sleep(0.01)
        return time.monotonic() - began
    finally:
        os.kill(started.process.pid, signal.SIGCONT)


def has_not_ended(pid: int) -> bool:
    """Its parent, which is stopped, cannot take notice of its end: then it is a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
