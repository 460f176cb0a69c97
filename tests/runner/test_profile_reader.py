"""The tests' own pprof reader, on a file whose every number is known."""

import pytest

from support import profile
from support.protobuf import block, number, varint


TEXTS = ["", "cpu", "nanoseconds", "samples", "count", "stage", "3", "main", "App.java", "work", "bytes"]
CONTENT = b"".join([
    block(1, number(1, 3) + number(2, 4)), block(1, number(1, 1) + number(2, 2)),
    # work, inlined into main, under main: once with labels and packed numbers, once without.
    block(2, block(1, varint(1) + varint(2)) + block(2, varint(2) + varint(700)) + block(3, number(1, 5) + number(2, 6)) + block(3, number(1, 10) + number(3, 64))),
    block(2, number(1, 2) + number(2, 1) + number(2, 2**64 - 5)),
    block(4, number(1, 1) + block(4, number(1, 2) + number(2, 12)) + block(4, number(1, 1) + number(2, 30))),
    block(4, number(1, 2) + block(4, number(1, 1) + number(2, 31))),
    block(5, number(1, 1) + number(2, 7) + number(4, 8)), block(5, number(1, 2) + number(2, 9) + number(4, 8)),
    *(block(6, text) for text in TEXTS),
    number(9, 1000), number(10, 2000), block(11, number(1, 1) + number(2, 2)), number(12, 10), number(13, 9), number(14, 1),
])


def test_everything_in_the_file_is_read():
    read = profile.parse(CONTENT)
    assert (read.types, read.default_type, read.period, read.period_type) == ([("samples", "count"), ("cpu", "nanoseconds")], "cpu", 10, ("cpu", "nanoseconds"))
    assert (read.time_ns, read.duration_ns, read.comments) == (1000, 2000, ["work"])
    main, inlined = profile.Frame("main", "App.java", 30), profile.Frame("work", "App.java", 12)
    assert read.samples[0].frames == [profile.Frame("main", "App.java", 31), main, inlined]
    assert read.samples[0].values == {"samples": 2, "cpu": 700}
    assert read.samples[0].labels == {"stage": "3", "bytes": 64}
    assert read.samples[1].values == {"samples": 1, "cpu": -5}


def test_sums_by_name_and_label():
    read = profile.parse(CONTENT)
    assert read.total("cpu") == 695
    assert read.where(stage="3").total("cpu") == 700
    assert read.where(stage=None).total("samples") == 1
    assert read.by_label("stage", "samples") == {"3": 2, None: 1}
    assert read.self_by_name("cpu") == {"work": 700, "main": -5}
    # main stands twice in the first stack, and counts once.
    assert read.total_by_name("cpu") == {"work": 700, "main": 695}


def test_a_cut_file_is_no_profile():
    with pytest.raises(ValueError, match="the message is cut"):
        profile.parse(CONTENT + block(6, "cut")[:-1])
