"""Versions that `check` only has load the plugin; `checkAll` runs every application on them."""

from support import folders, processes


def test_spark_3_3_loads_the_plugin_and_gives_a_profile(spark, application):
    chosen = spark("3.3.4")
    run = chosen.submit("local[2]", application("Endings", chosen), args=["no-stop"]).succeeded()
    assert run.stdout == "[1, 2]\n"
    folder = folders.Folder(run.folder)
    assert folder.summary["application"]["spark"] == "3.3.4"
    work = folder.profile.where(lambda sample: "Endings.work" in sample.stack, process="driver", stage="0")
    assert work.total("cpu") > 1e9
    assert [message.split(" ")[0] for message in processes.messages(run.stderr)] == ["profiling", "profile"]
