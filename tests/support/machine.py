"""What the build and the tests need from this machine: the cache, virtual environments, system packages.

Everything fetched is pinned, comes through a package manager, is named on stderr, and is kept in the cache
(`$GLOWPLUG_CACHE`, by default `~/.cache/glowplug`). A folder in the cache is whole or absent.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def cache() -> Path:
    folder = Path(os.environ.get("GLOWPLUG_CACHE") or Path.home() / ".cache" / "glowplug")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def cached(name: str, what: str, make) -> Path:
    """The cache's folder `name`; where it is absent, `make(temporary folder)` fills it first."""
    target = cache() / name
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target):
        if target.exists():
            return target
        say(what)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as temporary:
            folder = Path(temporary) / target.name
            folder.mkdir()
            make(folder)
            folder.rename(target)
    return target


def virtual_environment(requirements: Path) -> Path:
    """A virtual environment with exactly these requirements; its `bin` folder."""
    content = requirements.read_bytes() + sys.version.encode()
    name = f"venv/{requirements.parent.name}-{hashlib.sha256(content).hexdigest()[:12]}"
    marker = cache() / name / "complete"
    with _locked(cache() / name):
        if not marker.exists():
            say(f"installing {requirements.relative_to(ROOT)} from the Python package index")
            shutil.rmtree(marker.parent, ignore_errors=True)
            # Made in place: a virtual environment does not survive a move.
            run([sys.executable, "-m", "venv", marker.parent])
            run([marker.parent / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check",
                 "--only-binary=:all:", "-r", requirements])
            marker.touch()
    return marker.parent / "bin"


def system_packages(*names: str) -> None:
    """Installs what is missing of these Debian packages."""
    missing = [name for name in names if not _installed(name)]
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise RuntimeError(f"missing: {' '.join(missing)}. Install them with this system's package manager")
    say(f"installing by apt: {' '.join(missing)}")
    refresh_package_lists()
    run([*_as_root(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq",
         "--no-install-recommends", *missing], stdout=subprocess.DEVNULL)


@functools.cache
def refresh_package_lists() -> None:
    run([*_as_root(), "apt-get", "update", "-qq"])


def package_candidate(name: str) -> bool:
    """Whether this system's own package sources have the package."""
    if not shutil.which("apt-cache"):
        return False
    refresh_package_lists()
    policy = subprocess.run(["apt-cache", "policy", name], capture_output=True, text=True).stdout
    return "Candidate: " in policy and "Candidate: (none)" not in policy


def run(command, **options) -> subprocess.CompletedProcess:
    """Runs a command that must succeed; its standard output is not ours to print."""
    options.setdefault("stdout", sys.stderr)
    return subprocess.run([str(word) for word in command], check=True, **options)


def output(command, **options) -> str:
    return run(command, stdout=subprocess.PIPE, text=True, **options).stdout


def say(message: str) -> None:
    print(f"glowplug: {message}", file=sys.stderr, flush=True)


def _installed(package: str) -> bool:
    query = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package], capture_output=True, text=True)
    return query.stdout == "installed"


def _as_root() -> list:
    return [] if os.geteuid() == 0 else ["sudo"]


@contextlib.contextmanager
def _locked(target: Path):
    """Two runs that share a cache do not fill one folder at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / f".{target.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
