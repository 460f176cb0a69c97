"""Tasks that are shorter than what lies between two looks of the sampler thread, on a JVM whose CPU it measures."""

import pytest

from support import folders, versions

pytestmark = pytest.mark.skipif(not versions.FULL, reason="in checkAll")


@pytest.fixture(scope="module")
def stages(spark, application):
    """Job group -> its stage in summary.json, and the samples of that stage."""
    chosen = spark("3.1.3")
    # Looks so far apart that most tasks are never seen.
    run = chosen.submit("local[2]", application("ShortTasks", chosen), conf={"spark.glowplug.cpu.interval": "200ms"}).succeeded()
    assert run.stdout == "400 400\n"
    folder = folders.Folder(run.folder)
    found = {}
    for stage in folder.summary["stages"]:
        profile = folder.profile.where(stage=str(stage["stage"]))
        (group,) = profile.by_label("job_group", "cpu")
        found[group] = stage, profile
    return found


def test_each_stage_is_charged_with_the_cpu_of_its_own_tasks(stages):
    burning, _ = stages["burning"]
    napping, _ = stages["napping"]
    assert burning["tasks"]["cpu_ns"] > 400 * 20e6
    for stage in (burning, napping):
        assert stage["cpu_ns"] == pytest.approx(stage["tasks"]["cpu_ns"], rel=0.02)
    assert burning["cpu_ns"] == pytest.approx(burning["spark_cpu_ns"], rel=0.1)


def test_each_stage_is_charged_with_the_bytes_of_its_own_tasks(stages):
    burning, _ = stages["burning"]
    assert burning["tasks"]["alloc_bytes"] > 400 << 20
    for stage, _ in stages.values():
        assert stage["alloc_bytes"] == pytest.approx(stage["tasks"]["alloc_bytes"], rel=0.02)


def test_what_was_not_seen_is_charged_to_what_was_seen_of_the_same_stage(stages):
    _, profile = stages["burning"]
    seen = profile.where(lambda sample: "ShortTasks.burn" in sample.stack).total("cpu")
    assert seen > 0.8 * profile.total("cpu")
    _, napping = stages["napping"]
    assert napping.where(lambda sample: "ShortTasks.burn" in sample.stack).total("cpu") == 0
