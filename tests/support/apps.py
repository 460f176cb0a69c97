"""Test applications: tests/apps/*.java and the guide's, each compiled against the Spark that runs it, and kept by content."""

import dataclasses
import hashlib
import zipfile
from pathlib import Path

from . import jdks, machine, versions

SOURCES = machine.ROOT / "tests/apps"
GUIDE = machine.ROOT / "docs/guide"


@dataclasses.dataclass
class Application:
    main: str
    jar: Path


def spark_application(name: str, spark) -> Application:
    """tests/apps/<name>.java (class <name>, no package) for one Spark version."""
    return _for_spark(SOURCES / f"{name}.java", spark)


def guide_application(name: str, spark) -> Application:
    """docs/guide/<name>.java for one Spark version."""
    return _for_spark(GUIDE / f"{name}.java", spark)


def java_program(name: str) -> Application:
    """tests/apps/<name>.java with nothing but the JDK on its class path; runs from Java 8 on."""
    return _compile(SOURCES / f"{name}.java", "", 8, "java")


def hdfs_program(class_path: str) -> Application:
    """tests/apps/Hdfs.java, against Hadoop's servers."""
    return _compile(SOURCES / "Hdfs.java", class_path, 8, "hadoop")


def _for_spark(source: Path, spark) -> Application:
    release = 17 if versions.is_at_least(spark.version, "4.0.0") else 8
    return _compile(source, f"{spark.home}/jars/*", release, spark.version)


def _compile(source: Path, class_path: str, release: int, against: str) -> Application:
    name = source.stem
    key = hashlib.sha256(source.read_bytes() + f"{against} {release}".encode()).hexdigest()[:12]
    folder = machine.cached(f"apps/{name}-{against}-{key}", f"compiling {source.name} for {against}",
                            lambda folder: _make_jar(source, class_path, release, folder))
    return Application(name, folder / f"{name}.jar")


def _make_jar(source: Path, class_path: str, release: int, folder: Path) -> None:
    classes = folder / "classes"
    # -g: profiles name files and lines.
    machine.run([jdks.java_home(17) / "bin/javac", "-nowarn", "-g", "-proc:none", "-encoding", "UTF-8", "--release", release,
                 "-cp", class_path, "-d", classes, source])
    with zipfile.ZipFile(folder / f"{source.stem}.jar", "w") as jar:
        for file in sorted(classes.rglob("*.class")):
            jar.write(file, file.relative_to(classes))
