"""Programs that the tests use: Go's pprof, a browser."""

import functools
import os
import shutil
from pathlib import Path

from . import machine, versions

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@functools.cache
def pprof() -> Path:
    """Go's pprof: run it as [pprof(), "-top", file]."""
    version = versions.TABLE["pprof"]
    return machine.cached(f"pprof/{version}", f"fetching Go's pprof {version} (Go module proxy)", lambda folder: _install_pprof(folder, version)) / "pprof"


@functools.cache
def chromium() -> str:
    if not any(shutil.which(name) for name in BROWSERS):
        machine.system_packages("chromium", "fonts-dejavu-core")
    return next(shutil.which(name) for name in BROWSERS if shutil.which(name))


def _install_pprof(folder: Path, version: str) -> None:
    if not shutil.which("go"):
        machine.system_packages("golang-go", "ca-certificates")
    environment = {**os.environ, "GOBIN": str(folder), "GOPATH": str(folder / "path"), "GOFLAGS": "-modcacherw"}
    machine.run(["go", "install", f"github.com/google/pprof@{version}"], env=environment)
    shutil.rmtree(folder / "path")
