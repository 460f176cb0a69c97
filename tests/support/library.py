"""The native library that the jar carries, and the same library of another build."""

import zipfile
from pathlib import Path

PATH = "native/linux-x86_64/libglowplug.so"
BUILD_MARK = b"glowplug-build-id="


def read(jar: Path) -> bytes:
    return zipfile.ZipFile(jar).read(PATH)


def build_of(library: bytes) -> str:
    begin, end = _build(library)
    return library[begin:end].decode()


def of_another_build(library: bytes) -> bytes:
    """The build id ends in ~ instead."""
    _, end = _build(library)
    return library[:end - 1] + b"~" + library[end:]


def _build(library: bytes) -> tuple:
    begin = library.index(BUILD_MARK) + len(BUILD_MARK)
    return begin, library.index(b";", begin)
