"""Main-thread CPU time, not wall time: the machine that tests may be busy."""

import statistics
from urllib.parse import quote

from page import generate
import pytest

LOAD_MS = 300
ZOOM_MS = 50


class Clock:
    def __init__(self, viewer):
        self.session = viewer.context.new_cdp_session(viewer.page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def milliseconds(self):
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def test_a_report_of_100_000_nodes_loads_within_its_bound(large, open_page):
    viewer = open_page(large.path)
    loads = []
    for _ in range(5):
        viewer.page.goto("about:blank")
        clock = Clock(viewer)
        before = clock.milliseconds()
        viewer.goto()
        loads.append(clock.milliseconds() - before)
    assert viewer.frames()[0]["total"] > 0
    assert statistics.median(loads) <= LOAD_MS, loads


def test_a_zoom_in_a_report_of_100_000_nodes_stays_within_its_bound(large, open_page):
    viewer = open_page(large.path)
    clock = Clock(viewer)
    root = viewer.frames()[0]["total"]
    zooms = []
    for at in range(10):
        rows = sorted({frame["y"] for frame in viewer.frames()})
        wide = [frame for frame in viewer.frames() if frame["width"] > 60 and frame["y"] == rows[1 + at % 8]]
        frame = wide[at % len(wide)]
        viewer.hover_frame(frame)
        before = clock.milliseconds()
        viewer.click_frame(frame, x=frame["width"] - 4)
        zooms.append(clock.milliseconds() - before)
        assert viewer.frames()[0]["total"] == frame["total"]
        viewer.press("Escape")
        assert viewer.frames()[0]["total"] == root
    assert statistics.median(zooms) <= ZOOM_MS, zooms


# A method that all tasks go through, so that its callees are nearly the whole profile; and one with many callers.
ITERATOR, SHARED = quote("org.apache.spark.rdd.RDD.iterator"), quote(generate.TRANSFORM[0])


@pytest.mark.parametrize(
    "fragment, pane",
    [
        ("measure=latency", "flame"),
        ("view=hot", "hot"),
        ("view=hot&measure=latency", "hot"),
        (f"view=sandwich&method={SHARED}", "callers"),
        (f"view=sandwich&method={ITERATOR}", "callees"),
        (f"view=sandwich&method={ITERATOR}&measure=latency", "callees"),
    ],
)
def test_a_zoom_in_each_view_of_100_000_nodes_stays_within_its_bound(large, open_page, fragment, pane):
    viewer = open_page(large.path, fragment)
    clock = Clock(viewer)
    zooms = []
    for at in range(5):
        frames = viewer.frames(pane)
        root = frames[0]
        rows = sorted({frame["y"] for frame in frames}, key=lambda y: abs(y - root["y"]))
        wide = sorted((frame for frame in frames if frame["y"] == rows[1 + at % min(3, len(rows) - 1)]), key=lambda frame: -frame["width"])
        frame = wide[at % min(3, len(wide))]
        pane_at = 1 if pane == "callees" else 0
        viewer.hover_frame(frame, pane_at)
        before = clock.milliseconds()
        viewer.click_frame(frame, pane_at, x=frame["width"] * 0.9)
        zooms.append(clock.milliseconds() - before)
        assert viewer.frames(pane)[0]["total"] == frame["total"]
        viewer.press("Escape")
        assert viewer.frames(pane)[0]["total"] == root["total"]
    assert statistics.median(zooms) <= ZOOM_MS, zooms
