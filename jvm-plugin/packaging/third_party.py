"""Writes THIRD-PARTY: every piece of others' code that is packed into the jar, with its licence.

third_party.py <file>. A package of the page counts as packed if package.json names it under `dependencies`.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from native import PLATFORMS
from support import machine

LLVM_EXCEPTION = """---- LLVM Exceptions to the Apache 2.0 License ----

As an exception, if, as a result of your compiling your source code, portions
of this Software are embedded into an Object form of such source code, you
may redistribute such embedded portions in such Object form without complying
with the conditions of Sections 4(a), 4(b) and 4(d) of the License.

In addition, if you combine or link compiled forms of this Software with
software that is licensed under the GPLv2 ("Combined Software") and if a
court of competent jurisdiction determines that the patent provision (Section
3), the indemnity provision (Section 9) or other Section of the License
conflicts with the conditions of the GPLv2, you may retroactively and
prospectively choose to deem waived or otherwise exclude such Section(s) of
the License, but only in their entirety and only with respect to the Combined
Software."""
LICENCE_FILES = ("LICEN", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")
HEAD = """Glowplug packs code of these projects, each under the licence that stands beside it.
The numbers in brackets name the licence texts and notices below.
"""


def main(target: Path) -> None:
    pieces = [rust_standard_library(), unwinder(), *crates(), *npm_packages()]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(render(pieces), encoding="utf-8")


def render(pieces: list) -> str:
    texts = {}
    lines = [HEAD]
    for piece in sorted(pieces, key=lambda piece: (piece["name"].lower(), piece["version"])):
        numbers = sorted({texts.setdefault(text, len(texts) + 1) for text in piece["texts"]})
        references = ", ".join(map(str, numbers))
        lines.append(f"{piece['name']} {piece['version']}: {piece['licence']} [{references}]\n    {piece['source']}")
    lines += [f"\n{'=' * 80}\n[{number}]\n\n{text}" for text, number in texts.items()]
    return "\n".join(lines) + "\n"


def rust_standard_library() -> dict:
    toolchain = (machine.ROOT / "rust-toolchain.toml").read_text().splitlines()
    return {
        "name": "Rust standard library",
        "version": next(line.split('"')[1] for line in toolchain if line.startswith("channel")),
        "licence": "MIT OR Apache-2.0",
        "source": "https://github.com/rust-lang/rust",
        "texts": ["Copyright (c) The Rust Project Contributors", apache()],
    }


def unwinder() -> dict:
    """The linker puts it in, where Rust asks for libgcc_s."""
    pins = (machine.ROOT / "jvm-plugin/packaging/requirements.txt").read_text().splitlines()
    zig = next(line.split("==")[1].split()[0] for line in pins if line.startswith("ziglang=="))
    return {
        "name": "LLVM libunwind",
        "version": f"of Zig {zig}",
        "licence": "Apache-2.0 WITH LLVM-exception",
        "source": "https://github.com/llvm/llvm-project",
        "texts": [apache(), LLVM_EXCEPTION],
    }


def crates() -> list:
    packed = {}
    for triple in PLATFORMS.values():
        metadata = json.loads(machine.output(
            ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", triple],
            cwd=machine.ROOT, stderr=None))
        packages = {package["id"]: package for package in metadata["packages"]}
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        own = next(id for id, package in packages.items() if package["name"] == "glowplug")
        for id in linked(own, nodes, packages) - {own}:
            packed[id] = packages[id]
    return [crate(package) for package in packed.values()]


def linked(own: str, nodes: dict, packages: dict) -> set:
    """What ends up in the library: normal dependencies, but not those that only run at build time."""
    found, waiting = set(), [own]
    while waiting:
        id = waiting.pop()
        if id in found or any("proc-macro" in target["kind"] for target in packages[id]["targets"]):
            continue
        found.add(id)
        waiting += [dependency["pkg"] for dependency in nodes[id]["deps"]
                    if any(kind["kind"] is None for kind in dependency["dep_kinds"])]
    return found


def crate(package: dict) -> dict:
    licence = package["license"].replace("/", " OR ").replace("  ", " ")
    return piece(package["name"], package["version"], licence, package["repository"] or package["homepage"],
                 Path(package["manifest_path"]).parent)


def npm_packages() -> list:
    ui = machine.ROOT / "ui"
    lock = json.loads((ui / "package-lock.json").read_text())
    return [npm_package(ui / path) for path, entry in lock["packages"].items() if path and not entry.get("dev")]


def npm_package(folder: Path) -> dict:
    package = json.loads((folder / "package.json").read_text())
    repository = package.get("repository", package.get("homepage"))
    source = repository["url"] if isinstance(repository, dict) else repository
    return piece(package["name"], package["version"], package["license"], source, folder)


def piece(name: str, version: str, licence: str, source: str, folder: Path) -> dict:
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name.upper().startswith(LICENCE_FILES))
    texts = ["\n".join(line.rstrip() for line in file.read_text(errors="replace").strip().splitlines()) for file in files]
    if not texts and "Apache-2.0" in licence:
        texts = [apache()]
    if not texts:
        sys.exit(f"{name} {version} ({licence}) comes without a licence text: it cannot be packed")
    return {"name": name, "version": version, "licence": licence, "source": source, "texts": texts}


def apache() -> str:
    return (machine.ROOT / "LICENSE").read_text().strip()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
