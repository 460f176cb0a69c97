"""Builds the core for every platform that the jar serves: native.py <output folder>.

Leaves native/<platform>/libglowplug.so there. The C library is zig's, so that the result loads on anything from
glibc 2.17 on, whatever this machine has.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from support import machine

GLIBC = "2.17"
PLATFORMS = {"linux-x86_64": "x86_64-unknown-linux-gnu", "linux-aarch64": "aarch64-unknown-linux-gnu"}
SOURCES = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "rust-core/Cargo.toml", "rust-core/build.rs", "rust-core/src",
           "ui/dist/index.html"]


def main(output: Path) -> None:
    add_standard_libraries()
    targets = [word for triple in PLATFORMS.values() for word in ("--target", f"{triple}.{GLIBC}")]
    machine.run(["cargo", "zigbuild", "--locked", "--release", "-p", "glowplug", "--lib", *targets],
                cwd=machine.ROOT, env=build_environment())

    built = Path(os.environ.get("CARGO_TARGET_DIR") or machine.ROOT / "target")
    for platform, triple in PLATFORMS.items():
        folder = output / "native" / platform
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built / triple / "release" / "libglowplug.so", folder / "libglowplug.so")


def build_environment() -> dict:
    """What cargo is run with: who builds with the same has what is built here already."""
    if not (machine.ROOT / "ui/dist/index.html").exists():
        sys.exit("ui/dist/index.html is missing: ./gradlew :jvm-plugin:jar makes it")
    tools = machine.virtual_environment(Path(__file__).with_name("requirements.txt"))
    return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "GLOWPLUG_BUILD_ID": source_hash(), "GLOWPLUG_REQUIRE_PAGE": "1"}


def build_id() -> str:
    """What the library calls itself: equal for two builds of the same sources, on whatever machine."""
    return f"{version()}+{source_hash()}"


def source_hash() -> str:
    digest = hashlib.sha256()
    for file in sorted(file for source in SOURCES for file in files_of(machine.ROOT / source)):
        digest.update(str(file.relative_to(machine.ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def files_of(path: Path) -> list:
    return [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]


def version() -> str:
    lines = (machine.ROOT / "Cargo.toml").read_text().splitlines()
    return next(line.split('"')[1] for line in lines if line.startswith("version"))


def add_standard_libraries() -> None:
    installed = machine.output(["rustc", "--print", "sysroot"], cwd=machine.ROOT).strip()
    for triple in PLATFORMS.values():
        if (Path(installed) / "lib/rustlib" / triple / "lib").is_dir():
            continue
        machine.say(f"fetching Rust's standard library for {triple} by rustup")
        if subprocess.run(["rustup", "target", "add", triple], cwd=machine.ROOT).returncode:
            sys.exit(f"Rust's standard library for {triple} is missing, and rustup could not fetch it")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
