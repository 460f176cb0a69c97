"""Programs of tests/apps in a plain JVM with the jar as its agent, and what came of them."""

import dataclasses
import json
import subprocess
from pathlib import Path

import pytest

from support import profile


@dataclasses.dataclass
class Run:
    stdout: str
    stderr: str
    work: Path

    @property
    def truth(self) -> dict:
        """What the program itself measured; its last line."""
        return json.loads(self.stdout.splitlines()[-1])

    @property
    def folder(self) -> Path:
        folders = list((self.work / "glowplug-profiles").glob("jvm-*"))
        assert len(folders) == 1, f"one profile folder expected, found {folders}; stderr:\n{self.stderr}"
        return folders[0]

    @property
    def profile(self) -> profile.Profile:
        return profile.read(self.folder / "profile.pb.gz")

    @property
    def summary(self) -> dict:
        return json.loads((self.folder / "summary.json").read_text())

    @property
    def process(self) -> dict:
        (process,) = self.summary["processes"]
        return process


@pytest.fixture
def run_profiled(jar, jdk, program, tmp_path):
    """run_profiled("Kernels", 17, 20) runs tests/apps/Kernels.java with the agent on JDK 17."""

    def run(name, java_version, *arguments, agent="", options=(), before=(), timeout=300) -> Run:
        application = program(name)
        command = [*before, jdk(java_version) / "bin/java", f"-javaagent:{jar}" + (f"={agent}" if agent else ""), *options,
                   "-cp", application.jar, application.main, *arguments]
        finished = subprocess.run([str(word) for word in command], cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=timeout)
        assert finished.returncode == 0, f"exit code {finished.returncode}; stderr:\n{finished.stderr}"
        return Run(finished.stdout, finished.stderr, tmp_path)

    return run
