"""Settings that only the driver sees reach its executors."""

import re

from support import processes

CLUSTER = "local-cluster[2,1,1024]"


def test_executors_take_what_only_the_driver_was_told(spark, application):
    chosen = spark("3.5.9")
    # A system property of the driver alone: executors of local-cluster inherit its environment, and get all of its spark.* conf.
    run = chosen.submit(CLUSTER, application("Endings", chosen), args=["no-stop"],
                        options=["--driver-java-options", "-Dcloud.profiler.name=nightly"], quick=False).succeeded()
    assert settings(run.stderr) == "google.name=nightly (system property cloud.profiler.name), the rest default"
    # The master of local-cluster starts others for the moment until it is gone itself.
    taken = {executor: settings(run.executor_stderr[executor]) for executor in ("0", "1")}
    assert taken == dict.fromkeys("01", "google.name=nightly (driver), the rest default")


def settings(log: str) -> str:
    """What the start line says that somebody set."""
    (start,) = (message for message in processes.messages(log) if message.startswith("profiling "))
    return re.search(r"; settings: (.*)", start)[1]
