"""Fetches what the suites need, before any is timed: setup.py [--full]. Says on stderr what it fetches.

setup.py --link <Spark version> <folder> fetches one Spark and leaves a SPARK_HOME in the folder.
"""

import subprocess
import sys
from pathlib import Path

from support import distributions, jdks, machine, tools, versions


def prepare(full: bool) -> None:
    chosen = versions.TABLE["full" if full else "check"]
    subprocess.run(["cargo", "fetch", "--locked"], cwd=machine.ROOT, check=True)
    machine.virtual_environment(machine.ROOT / "tests/requirements.txt")
    for version in chosen["spark"]:
        distributions.spark_home(version)
        jdks.java_home(versions.TABLE["spark"][version]["java"])
    for version in chosen["java"]:
        jdks.java_home(version)
    tools.pprof()
    tools.chromium()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--link"]:
        distributions.own_home(sys.argv[2], Path(sys.argv[3]))
    else:
        prepare(full="--full" in sys.argv[1:])
