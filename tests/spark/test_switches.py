"""Which half of an application is profiled."""

import pytest

from support import folders, processes, versions

CLUSTER = "local-cluster[2,1,1024]"


@pytest.fixture(scope="module")
def run(spark, application):
    """run(conf): the small job on two executors."""
    chosen = spark("3.5.9")
    return lambda conf: chosen.submit(CLUSTER, application("Endings", chosen), args=["no-stop"], conf=conf).succeeded()


@pytest.mark.skipif(not versions.FULL, reason="in checkAll")
def test_executors_are_left_out_where_they_are_switched_off(run):
    made = run({"spark.glowplug.executor.enabled": "false"})
    assert made.stdout == "[1, 2]\n"
    folder = folders.Folder(made.folder)
    assert set(folder.processes) == {"driver"}
    assert set(folder.profile.by_label("process", "cpu")) == {"driver"}
    # The master of local-cluster starts others for the moment until it is gone itself.
    for executor in ("0", "1"):
        assert processes.messages(made.executor_stderr[executor]) == ["not profiling this process: spark.glowplug.executor.enabled is false (conf)"]


def test_a_driver_that_is_switched_off_gathers_the_executors(run):
    made = run({"spark.glowplug.driver.enabled": "false"})
    folder = folders.Folder(made.folder)
    assert set(folder.processes) == {"0", "1"}
    assert set(folder.profile.by_label("process", "cpu")) == {"0", "1"}
    assert folder.profile.where(lambda sample: "Endings.work" in sample.stack, stage="0").total("cpu") == pytest.approx(1.4e9, rel=0.1)
    said, end = processes.messages(made.stderr)
    assert said == ("not profiling this process: spark.glowplug.driver.enabled is false (conf); its executors are: "
                    f"the profile goes to {folder.path.parent} (default, the working directory)")
    assert end.startswith(f"profile written to {folder.path}: 2 processes, ")
