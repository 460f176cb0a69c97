"""A folder on a real HDFS: written whole by the driver, and read by the command as if it were local."""

import re
import subprocess

import pytest

from support import folders, hdfs, processes

PLACE = "team profiles"


@pytest.fixture(scope="module")
def chosen(spark):
    return spark(hdfs.SPARK)


@pytest.fixture(scope="module")
def storage(chosen):
    with hdfs.running(chosen) as started:
        yield started


@pytest.fixture(scope="module")
def run(chosen, application, storage):
    return chosen.submit("local[2]", application("Endings", chosen), args=["no-stop"], conf={"spark.glowplug.dir": f"{storage.uri}/{PLACE}"}).succeeded()


@pytest.fixture(scope="module")
def remote(run, storage):
    """The folder's URI."""
    (name,) = storage.list(f"/{PLACE}")
    return f"{storage.uri}/{PLACE}/{name}"


@pytest.fixture(scope="module")
def copy(storage, remote, tmp_path_factory):
    return storage.fetch(remote, tmp_path_factory.mktemp("hdfs") / "copy")


def test_the_folder_is_whole_and_the_job_is_untouched(run, remote, copy):
    assert run.stdout == "[1, 2]\n"
    folder = folders.Folder(copy)
    assert folder.files == {"index.html", "page.json.gz", "profile.pb.gz", "driver.pb.gz", "summary.json", "periods/*.pb.gz"}
    work = folder.profile.where(lambda sample: "Endings.work" in sample.stack, process="driver", stage="0")
    assert work.total("cpu") == pytest.approx(1.4e9, rel=0.1)
    start, end = processes.messages(run.stderr)
    assert f"the profile goes to {remote.rpartition('/')[0]} (spark.glowplug.dir)" in start
    assert end.startswith(f"profile written to {remote}: 1 process, ")


def test_the_command_reports_a_folder_on_hdfs(remote, copy, storage, jar, tmp_path):
    page = tmp_path / "page.html"
    reported = command(jar, storage, "report", remote, "-o", page)
    assert (reported.returncode, reported.stdout) == (0, f"{page}: {-(-page.stat().st_size // 1000)} kB, processes: 1\n"), reported.stderr
    assert folders.data_of_page(page.read_text())["names"] == folders.Folder(copy).page["names"]


def test_the_command_says_of_a_folder_on_hdfs_what_it_says_of_its_local_copy(remote, copy, storage, jar):
    there, here = (command(jar, storage, "top", "-n", "5", folder) for folder in (remote, copy))
    assert (there.returncode, there.stdout) == (0, here.stdout)
    assert re.search(r"^ +\d+\.\d\d s .*  Endings\.work$", there.stdout, re.M), there.stdout


def test_a_folder_that_is_not_on_hdfs_is_named(remote, storage, jar):
    failed = command(jar, storage, "top", f"{remote}-gone")
    assert failed.returncode == 1
    assert f"{remote}-gone" in failed.stderr.splitlines()[-1]


def test_without_hadoop_on_the_class_path_the_command_says_how_to_get_it_there(remote, jar):
    failed = subprocess.run([hdfs.java(), "-jar", jar, "top", remote], capture_output=True, text=True)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "HADOOP_CLASSPATH" in failed.stderr and remote in failed.stderr, failed.stderr


def command(jar, storage, *arguments):
    """As users run it where Hadoop is installed."""
    return subprocess.run([str(word) for word in (hdfs.java(), "-jar", jar, *arguments)], capture_output=True, text=True,
                          env={"HADOOP_CLASSPATH": storage.class_path})
