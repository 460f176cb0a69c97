"""Refuses a jar that users could not load: check_jar.py <jar> [<page bundle>]. Exit code 1 names what is wrong."""

import re
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from native import GLIBC, PLATFORMS, build_id
from support.elf import Elf

LARGEST = 8_000_000
STAND_IN = b"glowplug: the page bundle is missing"
# What any glibc system has; anything else may be absent from a slim container.
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1",
             "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
BUILD_ID = re.compile(rb"glowplug-build-id=([^;\0]+);")
FILES = ["META-INF/LICENSE", "META-INF/THIRD-PARTY"]
MANIFEST = {
    "Main-Class": "io.glowplug.Main",
    "Premain-Class": "io.glowplug.GlowplugAgent",
    "Agent-Class": "io.glowplug.GlowplugAgent",
}


def main(jar: Path, bundle: Path) -> None:
    found = problems(jar, bundle.read_bytes())
    for problem in found:
        print(f"{jar.name}: {problem}", file=sys.stderr)
    sys.exit(1 if found else 0)


def problems(jar: Path, bundle: bytes) -> list:
    found = []
    if jar.stat().st_size >= LARGEST:
        found.append(f"{jar.stat().st_size} bytes, must be under {LARGEST}")
    with zipfile.ZipFile(jar) as archive:
        names = set(archive.namelist())
        found += [f"{name} is missing" for name in FILES if name not in names]
        found += manifest_problems(archive.read("META-INF/MANIFEST.MF").decode())
        for platform in PLATFORMS:
            name = f"native/{platform}/libglowplug.so"
            if name not in names:
                found.append(f"{name} is missing")
                continue
            found += [f"{name}: {problem}" for problem in library_problems(archive.read(name), platform, bundle)]
    return found


def manifest_problems(manifest: str) -> list:
    lines = manifest.replace("\r\n", "\n").replace("\n ", "").splitlines()
    return [f"the manifest lacks {key}: {value}" for key, value in MANIFEST.items() if f"{key}: {value}" not in lines]


def library_problems(content: bytes, platform: str, bundle: bytes) -> list:
    elf = Elf(content)
    found = []
    if platform != f"linux-{elf.machine}":
        found.append(f"is for {elf.machine}")
    for library, version in elf.needed_versions():
        if version.startswith("GLIBC_") and not is_old(version[len("GLIBC_"):]):
            found.append(f"needs {version} of {library}, must need nothing newer than GLIBC_{GLIBC}")
    found += [f"needs {library}" for library in elf.needed_libraries() if library not in LIBRARIES]
    builds = {build.decode() for build in BUILD_ID.findall(content)}
    if builds != {build_id()}:
        found.append(f"is of build {', '.join(builds) or 'unknown'}, not of {build_id()}")
    if STAND_IN in content:
        found.append("was built without the page bundle")
    elif bundle not in content:
        found.append("does not carry this build's page bundle")
    return found


def is_old(glibc: str) -> bool:
    if glibc == "PRIVATE":
        return False
    return [int(part) for part in glibc.split(".")] <= [int(part) for part in GLIBC.split(".")]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
