"""A page that the core wrote: its numbers are those of the samples in the pprof file, and what `top` prints for it."""

import gzip
import json
import re

import pytest

from page import expected, generate, pprof_file
from support import jdks, machine

SLOW = "com.acme.etl.sessionize.SessionWindowMerger$.merge"


@pytest.fixture(scope="session")
def command(jar):
    """Runs the jar's command and gives what it printed."""
    return lambda *arguments: machine.output([jdks.java_home(17) / "bin/java", "-jar", jar, *arguments])


@pytest.fixture(scope="session")
def folder(job, tmp_path_factory):
    """A folder of an application, as far as `report` and `top` read it."""
    folder = tmp_path_factory.mktemp("application")
    pprof_file.write(job.profile, folder / "profile.pb.gz")
    (folder / "page.json.gz").write_bytes(gzip.compress(json.dumps(job.profile.data()).encode()))
    return folder


@pytest.fixture(scope="session")
def page_of_the_core(command, folder):
    command("report", folder, "-o", folder / "page.html")
    return folder / "page.html"


def rows_of(top):
    """function -> (self, its share, total, its share), as printed."""
    return {row[4]: row[:4] for row in re.findall(r"^ *(\S+ s) +(\S+ %) +(\S+ s) +(\S+ %)  (\S+)$", top, re.M)}


def test_the_total_of_the_cores_page_is_that_of_the_samples_and_of_top(job, folder, command, page_of_the_core, open_page):
    total = expected.total(job.profile)
    viewer = open_page(page_of_the_core)
    assert viewer.numbers()["total"] == total
    assert viewer.text(".sum") == f"{expected.seconds(total)} CPU time in all"
    assert command("top", folder).splitlines()[0] == f"cpu: {total / 1e6:.2f} s is 100 %"


@pytest.mark.parametrize("kind", ["cpu", "wall", "alloc_space", "alloc_objects", "samples"])
def test_each_measure_of_the_cores_page_has_the_total_of_the_samples(job, page_of_the_core, open_page, kind):
    viewer = open_page(page_of_the_core, f"measure={kind}")
    assert viewer.numbers()["total"] == expected.total(job.profile, kind) > 0


def test_a_search_in_the_cores_page_finds_the_share_that_top_prints(job, folder, command, page_of_the_core, open_page):
    found, whole = expected.holding(job.profile, lambda name: name == SLOW), expected.total(job.profile)
    viewer = open_page(page_of_the_core)
    viewer.search(SLOW)
    assert viewer.numbers()["found"] == {"kind": "hits", "weight": found, "methods": 1, "places": 1}
    rows = rows_of(command("top", folder, "--sort", "total", "-n", "1000"))
    assert rows[SLOW][2:] == (f"{found / 1e6:.2f} s", f"{100 * found / whole:.1f} %")
    assert rows[SLOW][3] in viewer.found()


def test_a_stage_of_the_cores_page_weighs_what_top_prints_for_it(job, folder, command, page_of_the_core, open_page):
    viewer = open_page(page_of_the_core)
    viewer.choose("Stage", "5 · parquet at Sessionize.scala:45")
    stage = expected.total(job.profile, stage="5")
    assert viewer.numbers()["total"] == stage
    assert command("top", folder, "--stage", "5").startswith(f"cpu of stage 5: {stage / 1e6:.2f} s is 100 % (")


def test_the_core_reads_the_page_data_that_the_other_tests_are_made_of(job, page_of_the_core):
    packed = re.search(r'id="glowplug-data">([^<]+)<', page_of_the_core.read_text("utf-8")).group(1)
    written, ours = generate.unpacked(packed), job.profile.data()
    facts = [key for key in ours if key not in ("names", "layers", "nodes", "labels", "cells")]
    # A key or a value of another form would be left out, or the core would pass over all of it.
    assert {key: written[key] for key in facts} == {key: ours[key] for key in facts}
    assert sorted(written) == sorted(ours)
    assert dict(zip(written["names"], written["layers"])) == dict(zip(ours["names"], ours["layers"]))


OF_EACH_LAYER = {
    "com.acme.Job.run": ("#ff9d4d", "#b3530a"),
    generate.codegen(1, "processNext"): ("#f7cd52", "#7d6410"),
    "org.apache.spark.sql.execution.SortExec.doExecute": ("#9cc2f5", "#2f5c96"),
    "org.apache.spark.scheduler.Task.run": ("#8fd6cb", "#1d6a62"),
    "org.apache.parquet.hadoop.ParquetFileReader.readNextRowGroup": ("#b5d98a", "#4a6b22"),
    "java.util.HashMap.put": ("#d6d3cc", "#53524f"),
    "py4j.GatewayConnection.run": ("#c9b4f0", "#654c9c"),
    "[GC]": ("#eda7a3", "#8a4141"),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_frame_of_the_cores_page_has_the_colour_of_its_names_layer(command, tmp_path, open_page, scheme):
    profile = generate.Profile("layers")
    for name in OF_EACH_LAYER:
        profile.add([name], {"process": "driver"}, cpu=1_000_000, samples=100)
    page = tmp_path / "page.html"
    command("report", pprof_file.write(profile, tmp_path / "layers.pb.gz"), "-o", page)
    viewer = open_page(page, color_scheme=scheme)
    drawn = {}
    for frame in viewer.frames()[1:]:
        # Above the label, inside the frame.
        [pixel] = viewer.pixels(int(frame["x"] + frame["width"] / 2), int(frame["y"]) + 1, 1, 1)
        drawn[frame["names"][0]] = "#%02x%02x%02x" % pixel
    assert drawn == {name: colours[scheme == "dark"] for name, colours in OF_EACH_LAYER.items()}
