"""Streaming queries: thousands of batches, each a job of its own, have one label for each query."""

import pytest

from support import folders, versions


@pytest.mark.skipif(not versions.FULL, reason="in checkAll")
@pytest.mark.parametrize("version", ["3.1.3", "3.5.9", "4.3.0"])
def test_all_batches_of_a_query_have_its_name_and_id_as_description(spark, application, version):
    chosen = spark(version)
    run = chosen.submit("local[2]", application("Clicks", chosen)).succeeded()
    named, unnamed = run.stdout.split()
    folder = folders.Folder(run.folder)
    expected = {f"clicks id = {named}": "Clicks.count", f"id = {unnamed}": "Clicks.sum"}
    in_stages = folder.profile.where(lambda sample: "stage" in sample.labels)
    assert set(in_stages.by_label("job_description", "cpu")) == set(expected)
    for description, method in expected.items():
        batches = in_stages.where(job_description=description)
        assert len(batches.by_label("stage", "cpu")) >= 3
        assert batches.where(lambda sample: method in sample.stack).total("cpu") > 0
        assert {other for other in expected.values() if other in batches.names()} == {method}
