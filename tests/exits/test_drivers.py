"""Drivers that end in every way there is: the folder is there, and the exit code is the application's own."""

import signal
import threading

import pytest

from support import folders, processes


@pytest.fixture(scope="module", autouse=True)
def killed(spark, application, tmp_path_factory):
    """A driver that is killed 20 s after its context is up, while the others run. Yields a function that waits for its end."""
    chosen = spark("3.5.9")
    clocks = processes.Clocks(tmp_path_factory.mktemp("killed") / "clocks")
    started = chosen.start("local[2]", application("LongTasks", chosen), args=[clocks.folder, 1, 300])
    clocks.wait_for_context(started)
    kill = threading.Timer(20, started.process.send_signal, [signal.SIGKILL])
    kill.start()
    yield started.wait
    kill.cancel()
    started.kill()
    started.process.wait()


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


def test_a_killed_driver_leaves_its_last_report(killed):
    run = killed()
    assert run.exit_code == -signal.SIGKILL
    folder = folders.Folder(run.folder)
    assert folder.files == {"index.html", "page.json.gz", "profile.pb.gz", "driver.pb.gz", "summary.json"}
    assert folders.data_of_page((folder.path / "index.html").read_text()) == folder.page
    assert folder.page["final"] is False
    assert folder.processes["driver"]["ending"] is None
    assert folder.profile.where(lambda sample: "LongTasks.spinRounds" in sample.stack, stage="0").total("cpu") > 1e9
