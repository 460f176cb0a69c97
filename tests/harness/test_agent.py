"""The jar as -javaagent of the driver: profiling starts with the JVM, and the plugin takes the same core over."""

import re

import pytest

from support import folders, processes


def test_what_runs_before_the_context_is_in_the_profile_outside_any_stage(spark, application, jar):
    chosen = spark("3.5.9")
    run = chosen.submit("local[2]", application("EarlyLoop", chosen), conf={"spark.driver.extraJavaOptions": f"-javaagent:{jar}"}).succeeded()
    assert run.stdout == "1\n[1, 2]\n"
    folder = folders.Folder(run.folder)
    early = folder.profile.where(lambda sample: "EarlyLoop.beforeTheContext" in sample.stack)
    assert early.total("cpu") == pytest.approx(5e9, rel=0.1)
    assert early.where(stage=None, process="driver").total("cpu") == early.total("cpu")
    job = folder.profile.where(lambda sample: "EarlyLoop.inTheJob" in sample.stack)
    assert job.where(stage="0").total("cpu") == job.total("cpu") == pytest.approx(1e9, rel=0.1)
    assert len(folder.summary["processes"]) == 1
    agent, plugin, end = processes.messages(run.stderr)
    assert re.match(r"profiling this JVM from its start on OpenJDK .*; samples go to the SparkContext that starts here, or to a folder at exit; ", agent)
    assert re.match(r"profiling driver and executor \(local mode\) on OpenJDK ", plugin)
    assert end.startswith(f"profile written to {folder.path}: 1 process, ")
