"""What the profiler costs a Spark application: run.py <jar> [--scale 0.2] [--quads 4] [--spark 3.5.9]

Runs come in quads: off, on, on, off. Each gives two ratios on/off (its first half and its second) and one control, the
ratio of its two offs. A ratio is of the JVM's CPU seconds in the last pass over the queries, so neither Spark's start
nor the first compilations count. Printed: medians with their quartiles. A difference below the spread of the control
is not resolved, and the last line says so.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support import distributions, jdks  # noqa: E402

HERE = Path(__file__).resolve().parent
PASSES = 2


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="glowplug-overhead-") as folder:
        bench = Bench(options, Path(folder))
        bench.run("off")  # Fills the page cache; counts for nothing.
        ratios, controls = [], []
        for quad in range(options.quads):
            first, on, again, last = (bench.run(kind) for kind in ("off", "on", "on", "off"))
            ratios += [on / first, again / last]
            controls.append(last / first)
            print(f"quad {quad + 1}: off {first:.2f} on {on:.2f} on {again:.2f} off {last:.2f} CPU s", flush=True)
    report(options, ratios, controls)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jar", type=Path)
    parser.add_argument("--scale", type=float, default=0.2)
    parser.add_argument("--quads", type=int, default=4)
    parser.add_argument("--spark", default="3.5.9")
    return parser.parse_args()


class Bench:
    def __init__(self, options, work: Path):
        self.options = options
        self.work = work
        self.home = distributions.own_home(options.spark, work / "spark")
        self.java = jdks.java_home(17)
        self.udf = self._udf_jar()

    def run(self, kind: str) -> float:
        """CPU seconds of the last pass."""
        jars = [str(self.udf)] + ([str(self.options.jar.resolve())] if kind == "on" else [])
        conf = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "8",
            "spark.driver.memory": "3g",
            "spark.driver.extraJavaOptions": "-Xms3g -XX:+AlwaysPreTouch -XX:+UseParallelGC -XX:ParallelGCThreads=2",
            "spark.local.dir": str(self.work / "local"),
            "spark.sql.warehouse.dir": str(self.work / "warehouse"),
        }
        if kind == "on":
            conf["spark.plugins"] = "io.glowplug.GlowplugPlugin"
        command = [self.home / "bin/spark-submit", "--master", "local[2]", "--jars", ",".join(jars)]
        for key, value in conf.items():
            command += ["--conf", f"{key}={value}"]
        command += [HERE / "workload.py", self.options.scale, PASSES]
        environment = {**os.environ, "SPARK_HOME": str(self.home), "JAVA_HOME": str(self.java), "SPARK_LOCAL_IP": "127.0.0.1",
                       "SPARK_CONF_DIR": str(ROOT / "tests/conf")}
        done = subprocess.run([str(word) for word in command], cwd=self.work, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"the workload failed ({kind}):\n{done.stderr[-4000:]}")
        return json.loads(done.stdout.strip().splitlines()[-1])[-1]["cpu"]

    def _udf_jar(self) -> Path:
        classes = self.work / "classes"
        classes.mkdir()
        subprocess.run([self.java / "bin/javac", "--release", "8", "-Xlint:-options", "-nowarn", "-cp", f"{self.home}/jars/*", "-d", classes,
                        HERE / "Mix.java"], check=True)
        jar = self.work / "mix.jar"
        subprocess.run([self.java / "bin/jar", "cf", jar, "-C", classes, "."], check=True)
        return jar


def report(options, ratios: list, controls: list) -> None:
    spread = max(controls) - min(controls)
    today = datetime.date.today().isoformat()
    print(f"\n{today}, Spark {options.spark}, scale {options.scale}, {os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}")
    print(f"on/off:  {summary(ratios)}  ({len(ratios)} pairs)")
    print(f"off/off: {summary(controls)}  ({len(controls)} pairs, spread {spread:.3f})")
    difference = statistics.median(ratios) - 1
    resolved = abs(difference) > spread / 2
    print(f"The profiler costs {difference:+.1%} of CPU" + ("" if resolved else ": less than the control's own spread, so not resolved"))


def summary(values: list) -> str:
    if len(values) < 2:
        return f"{values[0]:.3f}"
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"median {median:.3f} [{low:.3f} .. {high:.3f}]"


if __name__ == "__main__":
    main()
