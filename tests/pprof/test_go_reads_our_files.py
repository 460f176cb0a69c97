"""Our pprof files as Go's pprof reads them, the reader that most tools for such files are built on."""

import re


def rows(top):
    """The table of -top as {function: (flat, cumulative)}."""
    table = top.split("flat  flat%   sum%        cum   cum%\n")[1]
    found = re.findall(r"^ *(\S+) +\S+% +\S+% +(\S+) +\S+%  (.*)$", table, re.MULTILINE)
    return {function: (flat, cumulative) for flat, cumulative, function in found}


def test_top_shows_cpu_unless_asked_otherwise(pprof, ours):
    top = pprof("-top", ours)
    assert "Type: cpu\n" in top
    assert "Duration: 300s, Total samples = 85ms" in top
    assert rows(top) == {
        "org.acme.Job.$anonfun$run$1": ("40ms", "40ms"),
        "org.acme.Job.other": ("30ms", "30ms"),
        "a;b": ("10ms", "10ms"),
        "[GC]": ("5ms", "5ms"),
        "java.lang.Thread.run": ("0", "80ms"),
    }


def test_each_value_has_its_type_and_unit(pprof, ours):
    raw = pprof("-raw", ours)
    assert (
        "samples/count cpu/nanoseconds[dflt] wall/nanoseconds alloc_objects/count alloc_space/bytes "
        "contentions/count delay/nanoseconds\n"
    ) in raw
    assert "PeriodType: cpu nanoseconds\nPeriod: 10000000\n" in raw
    assert "Comment: profile: Acme nightly\n" in raw
    assert rows(pprof("-top", "-sample_index=wall", ours))["java.lang.Object.wait"] == ("1s", "1s")
    assert rows(pprof("-top", "-sample_index=alloc_space", ours))["java.lang.Thread.run"] == ("0", "3MB")


def test_files_and_lines_are_there(pprof, ours):
    lines = rows(pprof("-top", "-lines", ours))
    assert lines["org.acme.Job.$anonfun$run$1 Job.scala:5"] == ("40ms", "40ms")
    assert lines["org.acme.Job.other Job.scala:7"] == ("0", "30ms")
    assert lines["org.acme.Job.other Job.scala:8"] == ("30ms", "30ms")


def test_labels_are_tags_to_focus_on(pprof, ours):
    # A bare number would be a range of a numeric label: stage is a text.
    stage = rows(pprof("-top", "-tagfocus=stage=^3$", ours))
    assert stage == {
        "org.acme.Job.$anonfun$run$1": ("40ms", "40ms"),
        "a;b": ("10ms", "10ms"),
        "java.lang.Thread.run": ("0", "50ms"),
    }
    assert rows(pprof("-top", "-tagfocus=user_team=ærø", ours))["java.lang.Thread.run"] == ("0", "30ms")


def test_two_files_merge_to_the_nanosecond(pprof, ours, tmp_path):
    merged = tmp_path / "merged.pb.gz"
    pprof("-proto", "-output", merged, ours, ours)
    assert "8   80000002 " in pprof("-raw", merged)
