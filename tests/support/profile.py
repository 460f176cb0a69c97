"""Reads pprof files for assertions: profile.read(path).where(stage="3").total("cpu")."""

import collections
import dataclasses
import gzip
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Frame:
    name: str
    file: str
    line: int


@dataclasses.dataclass
class Sample:
    frames: list  # of Frame, root first
    values: dict  # type -> number
    labels: dict  # key -> text

    @property
    def stack(self) -> list:
        return [frame.name for frame in self.frames]


@dataclasses.dataclass
class Profile:
    samples: list
    types: list  # of (type, unit), in the file's order
    default_type: str
    period: int
    period_type: tuple
    time_ns: int
    duration_ns: int
    comments: list

    def where(self, predicate=None, **labels) -> "Profile":
        """The samples that have all these labels (None: that lack the label), and that the predicate takes."""
        chosen = [sample for sample in self.samples
                  if all(sample.labels.get(key) == value for key, value in labels.items()) and (predicate is None or predicate(sample))]
        return dataclasses.replace(self, samples=chosen)

    def total(self, kind: str) -> int:
        return sum(sample.values[kind] for sample in self.samples)

    def by_label(self, key: str, kind: str) -> dict:
        return self._sums(kind, lambda sample: [sample.labels.get(key)])

    def self_by_name(self, kind: str) -> dict:
        return self._sums(kind, lambda sample: sample.stack[-1:])

    def total_by_name(self, kind: str) -> dict:
        """A function that calls itself counts once."""
        return self._sums(kind, lambda sample: set(sample.stack))

    def by_stack(self, kind: str) -> dict:
        return self._sums(kind, lambda sample: [tuple(sample.stack)])

    def names(self) -> set:
        return {name for sample in self.samples for name in sample.stack}

    def _sums(self, kind: str, keys) -> dict:
        sums = collections.Counter()
        for sample in self.samples:
            for key in keys(sample) if sample.values[kind] else ():
                sums[key] += sample.values[kind]
        return dict(sums.most_common())


def read(path: Path) -> Profile:
    return parse(Path(path).read_bytes())


def parse(content: bytes) -> Profile:
    message = _message(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
    texts = [text.decode("utf-8") for text in message[6]]
    types = [_value_type(entry, texts) for entry in message[1]]
    functions = {_one(entry, 1): entry for entry in map(_message, message[5])}
    locations = {_one(entry, 1): _frames(entry, functions, texts) for entry in map(_message, message[4])}
    return Profile(
        samples=[_sample(_message(entry), types, locations, texts) for entry in message[2]],
        types=types,
        default_type=texts[_one(message, 14)],
        period=_one(message, 12),
        period_type=_value_type(message[11][0], texts) if message[11] else ("", ""),
        time_ns=_one(message, 9),
        duration_ns=_one(message, 10),
        comments=[texts[index] for index in _numbers(message, 13)],
    )


def _sample(message: dict, types: list, locations: dict, texts: list) -> Sample:
    labels = {}
    for label in map(_message, message[3]):
        labels[texts[_one(label, 1)]] = texts[_one(label, 2)] if label[2] else _one(label, 3)
    # The file has the leaf first, and in a location the innermost inlined function first.
    frames = [frame for location in _numbers(message, 1) for frame in locations[location]][::-1]
    values = [_signed(value) for value in _numbers(message, 2)]
    if len(values) != len(types):
        raise ValueError(f"a sample has {len(values)} values for {len(types)} types")
    return Sample(frames, {kind: value for (kind, _), value in zip(types, values)}, labels)


def _frames(location: dict, functions: dict, texts: list) -> list:
    frames = []
    for line in map(_message, location[4]):
        function = functions[_one(line, 1)]
        frames.append(Frame(texts[_one(function, 2)], texts[_one(function, 4)], _signed(_one(line, 2))))
    return frames


def _value_type(content: bytes, texts: list) -> tuple:
    message = _message(content)
    return texts[_one(message, 1)], texts[_one(message, 2)]


def _message(content: bytes) -> dict:
    """Field number -> its values in order: numbers, or bytes."""
    fields, at = collections.defaultdict(list), 0
    while at < len(content):
        key, at = _varint(content, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(content, at)
        elif wire == 2:
            size, at = _varint(content, at)
            value, at = content[at:at + size], at + size
        else:
            raise ValueError(f"field {number} has wire type {wire}, which pprof does not use")
        fields[number].append(value)
    if at != len(content):
        raise ValueError("the message is cut")
    return fields


def _varint(content: bytes, at: int) -> tuple:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _numbers(message: dict, field: int) -> list:
    """A repeated number, packed or not."""
    found = []
    for value in message[field]:
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            found.append(number)
    return found


def _one(message: dict, field: int) -> int:
    return message[field][-1] if message[field] else 0


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
