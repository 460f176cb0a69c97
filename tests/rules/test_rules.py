"""The shape of the sources: rooms and their arrows, where unsafe may stand, which crates are used, what is never said."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "rust-core/src"

# Room -> rooms that it may name. Every room may read facts. The model's words (profile) may be said at the border too.
ARROWS = {
    "bridge": {"settings", "jvm", "session", "application", "command", "profile"},
    "session": {"settings", "jvm", "sample", "profile", "encode", "relay", "upload"},
    "application": {"settings", "profile", "encode", "relay", "upload"},
    "command": {"settings", "application", "profile", "encode", "upload"},
    "sample": {"jvm", "python", "profile"},
    "jvm": {"profile"},
    "relay": {"profile"},
    "encode": {"profile"},
    "settings": set(),
    "profile": set(),
    "facts": set(),
}
UNSAFE_ROOMS = {"bridge", "jvm", "sample", "python"}
TOP_LEVEL = ["Cargo.toml", "rust-core", "jvm-plugin", "build.gradle", "settings.gradle", "tests", "benches"]
# Where each of the owner's crates has its work; ureq comes with the first cloud.
CRATES = {
    "jni": "bridge",
    "robusta_jni": "bridge",
    "parking_lot": "session",
    "prost": "relay",
    "once_cell": "facts",
    "serde_json": "encode",
}


def rust_files():
    return sorted(CORE.rglob("*.rs"))


def room_of(file: Path) -> str:
    return file.relative_to(CORE).parts[0].removesuffix(".rs")


def code_of(file: Path, tests: bool = False) -> str:
    """The file without comments, and without its tests: those may reach across rooms to make what they need."""
    text = re.sub(r"//[^\n]*", "", file.read_text())
    if tests:
        return text
    return re.split(r"#\[cfg\(test\)\]\s*(?:pub(?:\(crate\))? )?mod \w+ \{", text)[0]


def is_test_file(file: Path) -> bool:
    return file.stem in {"tests", "testing"} or file.stem.endswith("_tests")


def test_arrows_between_rooms_point_one_way():
    wrong = []
    for file in rust_files():
        room = room_of(file)
        if room not in ARROWS or is_test_file(file):
            continue
        named = set(re.findall(r"\bcrate::(\w+)", code_of(file)))
        for other in re.findall(r"\bcrate::\{([^}]*)\}", code_of(file)):
            named |= set(re.findall(r"\b([a-z_]+)\b(?:::|,|$)", other))
        rooms = {name for name in named if (CORE / name).is_dir()}
        for other in sorted(rooms - ARROWS[room] - {room, "facts"}):
            wrong.append(f"{file.relative_to(ROOT)}: {room} -> {other}")
    assert wrong == []


def test_every_room_is_in_the_table():
    assert {path.name for path in CORE.iterdir() if path.is_dir()} - {"bin"} <= set(ARROWS)


def test_unsafe_stands_in_its_rooms_only_and_says_why():
    wrong = []
    for file in rust_files():
        lines = file.read_text().splitlines()
        for number, line in enumerate(lines):
            if not re.search(r"\bunsafe\b", re.sub(r"//.*|\"[^\"]*\"", "", line)):
                continue
            place = f"{file.relative_to(ROOT)}:{number + 1}"
            if room_of(file) not in UNSAFE_ROOMS:
                if "unsafe_code" not in line:
                    wrong.append(f"{place}: unsafe outside its rooms")
                continue
            declares = re.search(r"unsafe (extern|fn)|type .*unsafe", line)
            block_or_impl = re.search(r"unsafe (\{|impl)", line)
            if block_or_impl and not declares and not has_reason(lines, number):
                wrong.append(f"{place}: no SAFETY line")
    assert wrong == []


def has_reason(lines, number):
    """A SAFETY line directly above the statement that the block is in, or above the block before it in one chain."""
    for above in range(number, max(number - 12, -1), -1):
        if "SAFETY" in lines[above]:
            return True
        if above < number and lines[above].strip() in {"", "}"}:
            return False
    return False


def test_the_layout_has_the_owners_names():
    assert [name for name in TOP_LEVEL if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("crate", sorted(CRATES))
def test_a_crate_is_used_in_code_where_it_belongs(crate):
    users = {room_of(file) for file in rust_files() if re.search(rf"\b{crate}::", code_of(file))}
    assert CRATES[crate] in users, f"{crate} is used in {sorted(users)}"


def test_criterion_runs_the_benches():
    benches = [file for file in (ROOT / "benches").rglob("*.rs") if "criterion" in file.read_text()]
    assert benches, "no bench uses criterion"


def test_no_dependency_of_the_core_is_unused():
    manifest = (ROOT / "rust-core/Cargo.toml").read_text()
    names = re.findall(r"(?m)^([a-z_0-9-]+) = ", manifest.split("[dependencies]")[1].split("[lints]")[0].split("[dev-dependencies]")[0])
    code = "\n".join(code_of(file) for file in rust_files())
    unused = [name for name in names if not re.search(rf"\b{name.replace('-', '_')}\b", code)]
    assert names and unused == []


def test_the_core_links_no_jvm():
    """Only dlsym reaches libjvm, so that the tests run where there is no Java."""
    for file in rust_files():
        assert "#[link(" not in file.read_text(), file


def test_nothing_names_a_machine_or_how_it_was_made():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    never = re.compile(r"/" + r"(?:root|farm)/|/" + r"work/(?:main|wt|shared)|/home/[a-z]+/\.(?:cargo|m2)|sub" + r"agent", re.IGNORECASE)
    wrong = []
    for name in filter(None, tracked):
        file = ROOT / name
        if file.suffix in {".png", ".gz", ".jar", ".pb"} or not file.is_file():
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            if never.search(line):
                wrong.append(f"{name}:{number}: {line.strip()[:120]}")
    assert wrong == []
