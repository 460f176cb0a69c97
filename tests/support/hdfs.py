"""A real HDFS in a JVM of its own. Its client is Spark's own Hadoop; the servers come from Hadoop's test artifact."""

import contextlib
import subprocess
import tempfile
from pathlib import Path

from . import apps, jdks, machine

# Of the same Hadoop as jvm-plugin/build.gradle's `hadoopVersion`, which this Spark brings.
SPARK = "3.5.9"
SERVERS = machine.ROOT / "jvm-plugin/build/hdfs"
# Hadoop's servers make classes at run time.
OPTIONS = ["--add-opens=java.base/java.lang=ALL-UNNAMED", "-Xmx300m", "-XX:+UseSerialGC"]

CORE_SITE = "<configuration><property><name>fs.defaultFS</name><value>{}</value></property></configuration>"


class Hdfs:
    def __init__(self, uri: str, class_path: str):
        self.uri = uri
        self.class_path = class_path

    def fetch(self, path: str, target: Path) -> Path:
        """A local copy of a folder."""
        self._shell("-get", path, target)
        return target

    def list(self, path: str) -> list:
        """The names in a folder."""
        return [line.rpartition("/")[2] for line in self._shell("-ls", "-C", path).splitlines()]

    def _shell(self, *arguments) -> str:
        return machine.output([java(), "-cp", self.class_path, "org.apache.hadoop.fs.FsShell", *arguments])


@contextlib.contextmanager
def running(spark):
    """An Hdfs for as long as the context lasts; `spark` is a support.spark.Spark of SPARK's version."""
    assert spark.version == SPARK
    servers = list(SERVERS.glob("hadoop-client-minicluster-*.jar"))
    assert len(servers) == 1, "no HDFS: fetch it with ./gradlew :jvm-plugin:hdfsForTests"
    class_path = f"{spark.jars}/*:{servers[0]}"
    program = apps.hdfs_program(class_path)
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "log", "w") as log:
        command = [java(), *OPTIONS, "-cp", f"{class_path}:{program.jar}", program.main, Path(folder) / "data"]
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            uri = process.stdout.readline().strip()
            assert uri.startswith("hdfs://"), f"HDFS did not start: {(Path(folder) / 'log').read_text()[-3000:]}"
            # As `hadoop classpath` prints it: Hadoop's settings come first.
            (Path(folder) / "core-site.xml").write_text(CORE_SITE.format(uri))
            yield Hdfs(uri, f"{folder}:{class_path}")
        finally:
            process.kill()
            process.wait()


def java() -> Path:
    return jdks.java_home(17) / "bin/java"
