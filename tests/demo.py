"""Profiles the sample application on a real Spark: demo.py <Maven repository folder> <version>"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support import distributions, jdks, machine

SPARK = "3.5.9"
MASTER = "local-cluster[2,1,1024]"


def main(repository: Path, version: str) -> None:
    work = machine.ROOT / "build/demo"
    settings = work / "ivysettings.xml"
    settings.write_text(ivy_settings(repository))
    spark = distributions.own_home(SPARK, work / "spark")
    java = jdks.java_home(17)
    # What an earlier demo resolved would hide what was just built.
    shutil.rmtree(work / "ivy", ignore_errors=True)

    command = [
        spark / "bin/spark-submit", "--master", MASTER,
        "--packages", f"io.glowplug:glowplug-spark:{version}",
        "--conf", f"spark.jars.ivySettings={settings}", "--conf", f"spark.jars.ivy={work / 'ivy'}",
        "--conf", "spark.plugins=io.glowplug.GlowplugPlugin",
        # The application is in the package: there is no other jar to name.
        "--class", "io.glowplug.SampleSparkApp", "spark-internal",
    ]
    print("$", *command, sep=" ", flush=True)
    environment = {**os.environ, "SPARK_HOME": str(spark), "JAVA_HOME": str(java), "SPARK_LOCAL_IP": "127.0.0.1"}
    before = folders(work)
    if subprocess.run(command, cwd=work, env=environment).returncode:
        sys.exit("demo: the sample application failed; what it said stands above")
    new = folders(work) - before
    if len(new) != 1 or not (new_folder := new.pop()).joinpath("index.html").exists():
        sys.exit(f"demo: the sample application ran, but left no page under {work / 'glowplug-profiles'}")

    jar = repository / f"io/glowplug/glowplug-spark/{version}/glowplug-spark-{version}.jar"
    print("\nThe five hottest methods:\n", flush=True)
    subprocess.run([java / "bin/java", "-jar", jar, "top", "--methods", "-n", "5", new_folder], check=True)
    print(f"\nThe flame graph: {new_folder / 'index.html'}")


def folders(work: Path) -> set:
    return set((work / "glowplug-profiles").glob("*"))


def ivy_settings(repository: Path) -> str:
    return f"""<ivysettings>
  <settings defaultResolver="glowplug"/>
  <resolvers>
    <ibiblio name="glowplug" m2compatible="true" root="{repository.as_uri()}"/>
  </resolvers>
</ivysettings>
"""


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
