"""Tasks that fail or are killed: their work is their stage's, and what their threads do afterwards is nobody's."""

import dataclasses

import pytest

from support import folders, versions

TASK_THREAD = "Executor task launch worker"


@dataclasses.dataclass
class Stage:
    summary: dict
    profile: object


@pytest.fixture(scope="module", params=["3.1.3", "3.5.9", "4.3.0"] if versions.FULL else ["3.5.9"])
def folder(request, spark, application):
    chosen = spark(request.param)
    # Where a task begins and ends is known as well as looks are close: they stay so on a busy machine, too.
    run = chosen.submit("local[2]", application("FailedTasks", chosen), conf={"spark.glowplug.overhead.limit": "50%"}).succeeded()
    assert run.stdout == "true\ntrue\n"
    return folders.Folder(run.folder)


@pytest.fixture(params=["failing", "killed"])
def stage(request, folder):
    number = folder.stage_of(job_group=request.param)
    (summary,) = (stage for stage in folder.summary["stages"] if str(stage["stage"]) == number)
    return Stage(summary, folder.profile.where(stage=number))


def test_a_failed_attempt_has_its_own_cpu(stage):
    assert stage.profile.where(lambda sample: "FailedTasks.compute" in sample.stack).total("cpu") == pytest.approx(1.4e9, rel=0.1)
    assert stage.summary["tasks"]["count"] == 2
    assert stage.summary["cpu_ns"] == pytest.approx(stage.summary["tasks"]["cpu_ns"], rel=0.1)


def test_labels_end_with_an_attempt_that_failed(stage):
    on_task_threads = stage.profile.where(lambda sample: sample.labels["thread"].startswith(TASK_THREAD))
    assert "IDLE" not in on_task_threads.by_label("thread_state", "wall")
    # The threads rest 4 s.
    assert on_task_threads.total("wall") == pytest.approx(stage.summary["tasks"]["wall_ns"], abs=1.5e9)


def test_threads_that_rest_after_failures_have_no_stage(folder):
    resting = folder.profile.where(lambda sample: sample.labels.get("thread", "").startswith(TASK_THREAD), thread_state="IDLE")
    assert set(resting.by_label("stage", "wall")) == {None}
    # Two threads, 2 s after each of the two jobs, and until the next one begins.
    assert resting.total("wall") >= 6e9
