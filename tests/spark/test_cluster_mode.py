"""A driver that runs on the cluster: its working directory is nobody's, so its folder goes to the user's home."""

import getpass

import pytest

from support import folders, hdfs, processes, standalone, versions

pytestmark = pytest.mark.skipif(not versions.FULL, reason="in checkAll")


@pytest.fixture(scope="module")
def cluster(spark, tmp_path_factory):
    # On JDK 17 a worker of this Spark starts drivers without the --add-opens that they need there.
    with standalone.running(spark("3.5.9", java=11), tmp_path_factory.mktemp("standalone")) as started:
        yield started


@pytest.fixture
def run(spark, application, cluster):
    """run(file system, options of the driver's JVM) -> what the driver says of Glowplug."""
    def submit(file_system: str, java_options: str = "") -> list:
        chosen = spark("3.5.9", java=11)
        chosen.submit(cluster.url, application("Endings", chosen), args=["no-stop"], options=["--deploy-mode", "cluster"], conf={
            "spark.hadoop.fs.defaultFS": file_system, "spark.driver.extraJavaOptions": java_options, "spark.driver.memory": "512m",
            "spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.standalone.submit.waitAppCompletion": "true"}).succeeded()
        assert cluster.driver_wrote("stdout") == "[1, 2]\n"
        return processes.messages(cluster.driver_wrote("stderr"))

    return submit


def test_in_cluster_mode_the_folder_is_in_the_users_home_on_the_default_file_system(run, spark, tmp_path):
    with hdfs.running(spark(hdfs.SPARK)) as storage:
        start, *_, end = run(storage.uri)
        home = f"/user/{getpass.getuser()}/glowplug-profiles"
        (name,) = storage.list(home)
        copy = storage.fetch(f"{storage.uri}{home}/{name}", tmp_path / "copy")
    assert f"; the profile goes to {storage.uri}{home} (default, the user's home); " in start
    assert end.startswith(f"profile written to {storage.uri}{home}/{name}: 2 processes, ")
    check(copy, name)


def test_in_cluster_mode_a_home_on_the_workers_own_disk_is_warned_of(run, tmp_path):
    warning, start, *_, end = run("file:///", f"-Duser.home={tmp_path}")
    (folder,) = (tmp_path / "glowplug-profiles").iterdir()
    assert warning == (f"WARN the profile goes to {folder.parent} on the disk of whichever worker runs this driver: "
                       "set spark.glowplug.dir to a folder on a shared file system (hdfs://, s3a://, gs://, …)")
    assert f"; the profile goes to {folder.parent} (default, the user's home); " in start
    assert end.startswith(f"profile written to {folder}: 2 processes, ")
    check(folder, folder.name)


def check(path, name: str) -> None:
    folder = folders.Folder(path)
    assert folder.summary["application"]["id"] == name
    work = folder.profile.where(lambda sample: "Endings.work" in sample.stack, process="0", stage="0")
    assert work.total("cpu") == pytest.approx(1.4e9, rel=0.1)
