"""Spark's distributions, out of PySpark's source archives: no wheel is built, and nothing is installed."""

import functools
import os
import tarfile
from pathlib import Path

from . import machine, versions


# Not all that is found there: a `work` that somebody's own run left would be every run's.
LAID_OUT = ("bin", "jars", "sbin", "python", "deps")


@functools.cache
def spark_home(version: str) -> Path:
    return machine.cached(f"spark/{version}", f"fetching Spark {version} (pyspark, Python package index)",
                          lambda folder: _unpack(folder, version))


def own_home(version: str, folder: Path) -> Path:
    """A SPARK_HOME in `folder` for one run: the workers of `local-cluster` write below it, executors' logs among it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in LAID_OUT:
        link = folder / name
        if not link.exists():
            link.symlink_to(spark_home(version) / name)
    return folder


def _unpack(folder: Path, version: str) -> None:
    tools = machine.virtual_environment(machine.ROOT / "tests/requirements.txt")
    requirement = folder / "requirement.txt"
    requirement.write_text(f"pyspark=={version} --hash=sha256:{versions.TABLE['spark'][version]['sha256']}\n")
    machine.run([tools / "python", "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--require-hashes",
                 "--no-binary=:all:", "--dest", folder, "-r", requirement])
    archive = folder / f"pyspark-{version}.tar.gz"
    with tarfile.open(archive) as content:
        members = [member for member in content if _inside(member).split("/")[0] in ("deps", "lib", "pyspark")]
        for member in members:
            member.name = _inside(member)
        content.extractall(folder, members)
    archive.unlink()
    requirement.unlink()
    _lay_out(folder)


def _inside(member: tarfile.TarInfo) -> str:
    return member.name.partition("/")[2]


def _lay_out(folder: Path) -> None:
    """As in the binary distribution: bin and jars on top, the Python side under python/."""
    (folder / "python").mkdir()
    for name in ("pyspark", "lib"):
        (folder / name).rename(folder / "python" / name)
    for name in ("bin", "jars", "sbin"):
        os.rename(folder / "deps" / name, folder / name)
    for script in (folder / "bin").iterdir():
        script.chmod(0o755)
