"""Drivers that end in every way there is: the folder is there, and the exit code is the application's own."""

import os
import signal
import time

import pytest

from support import folders, processes


@pytest.mark.parametrize("ending, exit_code", [("exit", 3), ("no-stop", 0), ("throw", 1)])
def test_a_driver_that_does_not_stop_its_context_leaves_a_folder(spark, application, ending, exit_code):
    chosen = spark("3.5.9")
    run = chosen.submit("local[2]", application("Endings", chosen), args=[ending])
    assert (run.exit_code, run.stdout) == (exit_code, "[1, 2]\n"), run.tail
    folder = folders.Folder(run.folder)
    (stage,) = folder.summary["stages"]
    assert stage["cpu_ns"] == pytest.approx(stage["spark_cpu_ns"], rel=0.1) and stage["cpu_ns"] > 1.3e9
    assert folder.profile.where(lambda sample: "Endings.work" in sample.stack, stage="0").total("cpu") > 1e9
    assert folder.page["final"] is True
    assert folder.processes["driver"]["ending"] == "shutdown"
    messages = processes.messages(run.stderr)
    assert len(messages) == 2 and messages[1].startswith(f"profile written to {folder.path}: 1 process, "), messages


def test_a_killed_driver_leaves_its_last_report(spark, application, tmp_path):
    chosen = spark("3.5.9")
    clocks = processes.Clocks(tmp_path / "clocks")
    started = chosen.start("local[2]", application("LongTasks", chosen), args=[clocks.folder, 2, 300])
    clocks.wait_for_context(started)
    time.sleep(20)
    os.kill(started.process.pid, signal.SIGKILL)
    run = started.wait()
    assert run.exit_code == -signal.SIGKILL
    folder = folders.Folder(run.folder)
    assert folder.files == {"index.html", "page.json.gz", "profile.pb.gz", "driver.pb.gz", "summary.json"}
    assert folders.data_of_page((folder.path / "index.html").read_text()) == folder.page
    assert folder.page["final"] is False
    assert folder.processes["driver"]["ending"] is None
    assert folder.profile.where(lambda sample: "LongTasks.spinRounds" in sample.stack, stage="0").total("cpu") > 1e9
