"""Reads what an ELF library needs of others: enough of the format for the packaging checks."""

import struct

MACHINES = {62: "x86_64", 183: "aarch64"}
DYNAMIC, VERSION_NEEDED, DYNAMIC_SYMBOLS = 6, 0x6FFFFFFE, 11
NEEDED = 1


class Elf:
    def __init__(self, content: bytes):
        if content[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        self._content = content
        self.machine = MACHINES.get(self._number("H", 18), "unknown")
        offset, size, count = self._number("Q", 40), self._number("H", 58), self._number("H", 60)
        self._sections = [struct.unpack_from("<IIQQQQIIQQ", content, offset + i * size) for i in range(count)]

    def needed_libraries(self) -> list:
        section = self._only(DYNAMIC)
        entries = [struct.unpack_from("<qQ", self._content, at) for at in range(section[4], section[4] + section[5], 16)]
        return [self._text(section, value) for tag, value in entries if tag == NEEDED]

    def needed_versions(self) -> list:
        """(library, version) of each symbol version that the loader must find, as ("libc.so.6", "GLIBC_2.17")."""
        section = self._only(VERSION_NEEDED)
        found, at = [], section[4]
        for _ in range(section[7]):
            _, count, file, first, following = struct.unpack_from("<HHIII", self._content, at)
            entry = at + first
            for _ in range(count):
                _, _, _, name, next_entry = struct.unpack_from("<IHHII", self._content, entry)
                found.append((self._text(section, file), self._text(section, name)))
                entry += next_entry
            at += following
        return found

    def exported_symbols(self) -> list:
        section = self._only(DYNAMIC_SYMBOLS)
        symbols = [struct.unpack_from("<IBBHQQ", self._content, at) for at in range(section[4], section[4] + section[5], 24)]
        return [self._text(section, name) for name, _, _, home, _, _ in symbols if home and name]

    def _only(self, kind: int) -> tuple:
        return next(section for section in self._sections if section[1] == kind)

    def _text(self, section: tuple, offset: int) -> str:
        start = self._sections[section[6]][4] + offset
        return self._content[start:self._content.index(b"\0", start)].decode()

    def _number(self, form: str, at: int) -> int:
        return struct.unpack_from("<" + form, self._content, at)[0]
