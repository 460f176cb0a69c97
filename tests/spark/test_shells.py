"""Shells and Python programs that start their own JVM drop INFO lines behind the logger's back: the start and the end are seen all the same."""

import re
import subprocess
import sys

import pytest

from support import distributions, processes, spark as spark_support, versions

SCALA = "println(spark.range(10).count)\n"
PYTHON = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.plugins", "{plugin}").config("spark.jars", "{jar}").config("spark.ui.enabled", "false").getOrCreate()
print(spark.range(10).count())
spark.stop()
"""


@pytest.mark.parametrize("version", ["3.3.4", "3.5.9", "4.3.0"] if versions.FULL else ["3.5.9"])
def test_spark_shell_shows_the_start_and_the_end(spark, jar, tmp_path, version):
    chosen = spark(version)
    home = distributions.own_home(version, tmp_path / "spark")
    command = [home / "bin/spark-shell", "--master", "local[2]", "--jars", jar, "--conf", f"spark.plugins={spark_support.PLUGIN}",
               "--conf", "spark.ui.enabled=false", *(f"--conf={key}={value}" for key, value in spark_support.QUICK.items())]
    check(subprocess.run([str(word) for word in command], input=SCALA, capture_output=True, text=True, cwd=tmp_path, timeout=300,
                         env=environment(chosen, home, tmp_path)), tmp_path)


@pytest.mark.skipif(not versions.FULL, reason="in checkAll")
def test_a_python_program_without_spark_submit_shows_the_start_and_the_end(spark, jar, tmp_path):
    chosen = spark("3.5.9")
    home = distributions.own_home("3.5.9", tmp_path / "spark")
    program = tmp_path / "notebook.py"
    program.write_text(PYTHON.format(plugin=spark_support.PLUGIN, jar=jar))
    paths = [home / "python", *(home / "python/lib").glob("py4j-*.zip")]
    check(subprocess.run([sys.executable, str(program)], capture_output=True, text=True, cwd=tmp_path, timeout=300,
                         env={**environment(chosen, home, tmp_path), "PYTHONPATH": ":".join(map(str, paths))}), tmp_path)


def environment(chosen, home, work) -> dict:
    """Spark's own logging, not the tests': it is what a user has."""
    (work / "conf").mkdir()
    return {**chosen.environment(home, None), "SPARK_CONF_DIR": str(work / "conf")}


def check(finished, work) -> None:
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert re.search(r"^10$", finished.stdout, re.M), finished.stdout
    assert "glowplug" not in finished.stdout.replace(str(work), "")
    start, end = processes.messages(finished.stderr)
    assert re.match(r"profiling driver and executor \(local mode\) on OpenJDK .*; the profile goes to \S+/glowplug-profiles ", start), start
    assert re.match(rf"profile written to {re.escape(str(work))}/glowplug-profiles/local-\d+: 1 process, \d+ samples, ", end), end
