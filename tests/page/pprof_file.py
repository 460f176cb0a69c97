"""A profile of generate.py as a pprof file, so that the core can make the page of it."""

import gzip

from page import generate
from support.protobuf import block, number, varint

# The page's times are microseconds, those of pprof nanoseconds.
TYPES = [("samples", "count", 1), ("cpu", "nanoseconds", 1000), ("wall", "nanoseconds", 1000), ("alloc_objects", "count", 1), ("alloc_space", "bytes", 1)]


def write(profile, path):
    texts, locations = {"": 0}, {}
    text = lambda content: texts.setdefault(content, len(texts))
    value_type = lambda kind, unit: number(1, text(kind)) + number(2, text(unit))
    types = [block(1, value_type(kind, unit)) for kind, unit, _ in TYPES]
    samples = []
    for stack, labels, values in profile.samples:
        leaf_first = [locations.setdefault(name, len(locations) + 1) for name in stack][::-1]
        samples.append(block(2, b"".join([
            block(1, b"".join(map(varint, leaf_first))),
            block(2, b"".join(varint(values.get(kind, 0) * scale) for kind, _, scale in TYPES)),
            *(block(3, number(1, text(key)) + number(2, text(value))) for key, value in labels.items()),
        ])))
    frames = [block(4, number(1, at) + block(4, number(1, at))) + block(5, number(1, at) + number(2, text(name))) for name, at in locations.items()]
    facts = [block(11, value_type("cpu", "nanoseconds")), number(12, generate.PERIOD * 1000)]
    comments = [number(13, text(comment)) for comment in (f"profile: {profile.title}", f"engines: {profile.engine}", "glowplug: 0.1.0")]
    message = b"".join([*types, *samples, *frames, *facts, *comments, *(block(6, content) for content in texts)])
    path.write_bytes(gzip.compress(message, mtime=0))
    return path
