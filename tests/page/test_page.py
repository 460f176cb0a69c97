import base64
import gzip
import hashlib
import re
from collections import Counter
from urllib.parse import quote

from page import expected
from page import generate
import pytest

from support import versions

HASH = "org.apache.spark.unsafe.map.BytesToBytesMap.safeLookup"
RULES = "com.acme.etl.pricing.rules.RuleEngine.evaluateAll"
TRANSFORM = generate.TRANSFORM[0]
# Texts and an expression.
SEARCHES = ["UnsafeRow", "/^org\\.apache\\.spark\\..*\\.(hash|sort)\\d+$/", "compare1", "transformDown"]
WORKER_ROW = generate.WORKER[3:]


def test_the_report_opens_from_disk_and_tells_what_it_is_of(job, open_page):
    viewer = open_page(job.path)
    assert viewer.page.title() == "nightly-sessionize"
    assert viewer.text("h1") == "nightly-sessionize"
    header = viewer.text("header")
    samples = expected.total(job.profile, "samples")
    for text in ["application_1764456060000_0042", "attempt 1", "Spark 3.5.9", "2025-11-29 22:41:00 – 22:46:02 UTC (5 min 2 s)", "4 processes", f"{samples:,} CPU samples", "17 without a full stack", "1 warning", "3 folded"]:
        assert text in header
    assert viewer.requests == [viewer.url]
    viewer.shot("report")


def test_the_page_has_a_policy_of_its_own_that_lets_in_its_one_script_and_no_network(job, open_page):
    script = re.search(r"<script>(.*)</script>\n</body>", job.path.read_text("utf-8"), re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    viewer = open_page(job.path)
    policy = viewer.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert policy == f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


@pytest.mark.parametrize(
    "attempt, refused",
    [
        ("document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.hacked = 1' }))", "script-src-elem inline"),
        ("void setTimeout('window.hacked = 1')", "script-src eval"),
        ("void fetch('{elsewhere}').catch(() => {})", "connect-src {elsewhere}"),
        ("void (new Image().src = '{elsewhere}')", "img-src {elsewhere}"),
    ],
    ids=["an inline script", "a text as code", "a fetch", "an image"],
)
def test_the_pages_policy_refuses_what_comes_in_from_outside(job, open_page, elsewhere, attempt, refused):
    viewer = open_page(job.path)
    viewer.page.evaluate(attempt.replace("{elsewhere}", elsewhere.url))
    viewer.wait("violations.length > 0")
    assert viewer.page.evaluate("violations.splice(0)") == [refused.replace("{elsewhere}", elsewhere.url)]
    assert viewer.page.evaluate("window.hacked") is None
    assert elsewhere.asked == []
    # What was asked for here is no problem at the end: Chromium says that it refused, and announces what it does not send.
    assert all("Content Security Policy" in error for error in viewer.errors)
    viewer.errors.clear()
    viewer.requests[:] = [url for url in viewer.requests if url != elsewhere.url]


def test_details_tell_processes_stages_warnings_and_what_was_folded(job, open_page):
    viewer = open_page(job.path)
    viewer.page.get_by_text("Details").click()
    details = viewer.text(".details")
    for text in ["lost-samples 17 samples of executor 2 were lost", "ip-10-0-4-12", "17 (0.", "parquet at Sessionize.scala:44", "98.0 %", "stage attempts 3 40.0 ms", "cpu=timers(10ms), wall=sweep(50ms), alloc=jvmti(2MiB), runtime=on", "a CPU sample stands for 10 ms"]:
        assert text in details
    viewer.shot("details")
    viewer.page.locator(".details").get_by_role("button", name="5", exact=True).click()
    viewer.settle()
    assert viewer.numbers()["total"] == expected.total(job.profile, stage="5")


@pytest.mark.parametrize(
    "tab, measure, shown",
    [
        ("CPU", "cpu", lambda value: f"{expected.seconds(value)} CPU time in all"),
        ("Wall", "wall", lambda value: f"{expected.seconds(value)} wall time in all"),
        ("Latency", "latency", lambda value: f"{expected.seconds(value)} latency in all"),
        ("Alloc bytes", "alloc_space", lambda value: f"{value / 2**30:.2f} GiB allocated bytes in all"),
        ("Alloc objects", "alloc_objects", lambda value: f"{value / 1e6:.2f} M allocated objects in all"),
        ("Samples", "samples", lambda value: f"{value:,} CPU samples in all"),
    ],
)
def test_each_kind_of_value_has_its_total_and_its_unit(job, open_page, tab, measure, shown):
    viewer = open_page(job.path)
    viewer.measure(tab)
    value = expected.total(job.profile, measure)
    assert viewer.numbers()["total"] == value
    assert viewer.text(".sum") == shown(value)
    assert viewer.frames()[0]["total"] == value
    viewer.shot(f"measure-{measure}")


def test_frames_of_the_large_report_weigh_what_the_samples_say(large, open_page):
    viewer = open_page(large.path, "folded=false")
    assert viewer.page.evaluate("window.glowplug.inspect.page.tree.name.length") == 100_000
    frames = viewer.frames()
    assert len(frames) > 500
    totals = {}
    for stack, value in expected.passing(large.profile):
        for depth in range(len(stack)):
            totals[stack[: depth + 1]] = totals.get(stack[: depth + 1], 0) + value
    by_weight = {}
    for path, value in totals.items():
        by_weight.setdefault((path[-1], value), []).append(path)
    whole = expected.total(large.profile)
    for frame in frames[1:]:
        # A frame is as wide as its share.
        [name] = frame["names"]
        assert (name, frame["total"]) in by_weight
        assert frame["width"] == pytest.approx(1400 * frame["total"] / whole, abs=0.2) or frame["width"] == pytest.approx(1385 * frame["total"] / whole, abs=0.2)
    viewer.shot("large")


def test_hot_spots_start_with_self_and_have_callers_above(job, open_page):
    viewer = open_page(job.path)
    viewer.view("Hot spots")
    frames = viewer.frames("hot")
    root = frames[0]
    first = [frame for frame in frames if frame["y"] == root["y"] - 19]
    selfs = Counter()
    for stack, value in expected.passing(job.profile):
        selfs[stack[-1]] += value
    assert len(first) > 20
    for frame in first:
        assert len(frame["names"]) == 1
        assert frame["total"] == selfs[frame["names"][0]]
    hottest = max(selfs, key=selfs.get)
    assert first[0]["names"] == [hottest]
    above = [frame for frame in frames if frame["y"] == root["y"] - 38 and frame["x"] < first[0]["width"]]
    assert above[0]["names"][0] == "java.math.BigDecimal.divide"
    viewer.shot("hot-spots")
    viewer.click_frame(first[0])
    assert viewer.frames("hot")[0]["names"] == [hottest]
    assert viewer.frames("hot")[0]["total"] == selfs[hottest]


def test_latency_is_coloured_by_state_and_its_legend_switches_states(job, open_page):
    viewer = open_page(job.path)
    viewer.measure("Latency")
    by_state = {state: sum(v["wall"] for _, l, v in job.profile.samples if l.get("thread_state") == state and "wall" in v) for state in generate.STATES}
    whole = sum(by_state[state] for state in generate.STATES[:5])
    legend = viewer.text(".legend")
    for state in generate.STATES[:5]:
        assert f"{state} {expected.percent(by_state[state], whole)}" in legend
    row = viewer.pixels(0, 2, 1380, 1)
    bands = [colour for at, colour in enumerate(row) if at == 0 or row[at - 1] != colour]
    assert len([colour for colour in dict.fromkeys(bands)]) >= 5
    edge = round(1400 * by_state["RUNNABLE"] / whole)
    assert row[edge - 5] != row[edge + 5] and row[300] == row[edge - 5]
    viewer.shot("latency")
    viewer.page.locator(".legend").get_by_role("button", name=re.compile("^RUNNABLE")).click()
    viewer.settle()
    assert viewer.numbers()["total"] == whole - by_state["RUNNABLE"]
    assert "off=RUNNABLE" in viewer.hash()
    viewer.shot("latency-waits")


def test_wall_time_can_be_filtered_by_state(job, open_page):
    viewer = open_page(job.path)
    viewer.measure("Wall")
    viewer.choose("State", "BLOCKED")
    assert viewer.numbers()["total"] == expected.total(job.profile, "wall", thread_state="BLOCKED")


@pytest.mark.parametrize(
    "label, value, key, raw",
    [
        ("Stage", "4 · parquet at Sessionize.scala:44", "stage", "4"),
        ("Stage", "outside of tasks", "stage", None),
        ("SQL", "2", "sql_execution", "2"),
        ("Process", "1 · ip-10-0-4-11", "process", "1"),
        ("Job group", "pricing", "job_group", "pricing"),
        ("Team", "growth", "user_team", "growth"),
        ("Attempt", "1", "stage_attempt", "1"),
    ],
)
def test_a_filter_shows_only_what_carries_the_label(job, open_page, label, value, key, raw):
    viewer = open_page(job.path)
    viewer.choose(label, value)
    whole, part = expected.total(job.profile), expected.total(job.profile, **{key: raw})
    assert 0 < part < whole
    assert viewer.numbers() == {"total": part, "all": whole, "found": None}
    assert viewer.frames()[0]["total"] == part
    assert viewer.text(".sum") == f"{expected.seconds(part)} in this filter, {expected.percent(part, whole)} of all CPU time"


def test_filters_of_two_labels_hold_together_and_of_two_values_add_up(job, open_page):
    viewer = open_page(job.path)
    viewer.choose("Stage", "4 · parquet at Sessionize.scala:44")
    viewer.choose("Stage", "7 · parquet at Sessionize.scala:47")
    assert viewer.numbers()["total"] == expected.total(job.profile, stage={"4", "7"})
    viewer.choose("Process", "2 · ip-10-0-4-12")
    assert viewer.numbers()["total"] == expected.total(job.profile, stage={"4", "7"}, process="2")
    viewer.shot("filtered")
    viewer.goto(viewer.hash()[1:])
    assert viewer.numbers()["total"] == expected.total(job.profile, stage={"4", "7"}, process="2")
    viewer.page.get_by_text("Clear filters").click()
    viewer.settle()
    assert viewer.numbers()["total"] == expected.total(job.profile)


def test_the_list_of_values_tells_their_shares_under_the_other_filters(job, open_page):
    viewer = open_page(job.path, "label.process=1")
    viewer.page.locator(".pick", has_text="Stage").first.click()
    rows = [" ".join(text.split()) for text in viewer.page.locator(".popover label").all_inner_texts()]
    whole = expected.total(job.profile, process="1")
    stage = expected.total(job.profile, process="1", stage="4")
    assert rows[0] == f"4 · parquet at Sessionize.scala:44 {expected.seconds(stage)} {expected.percent(stage, whole)}"
    assert len(rows) == 4
    viewer.shot("filter-values")


@pytest.mark.parametrize("text", SEARCHES if versions.FULL else SEARCHES[:2])
def test_a_search_tells_the_share_of_all_stacks_with_a_hit(large, open_page, text):
    viewer = open_page(large.path)
    viewer.search(text)
    pattern = re.compile(text[1:-1] if text.startswith("/") else re.escape(text), re.IGNORECASE)
    weight = expected.holding(large.profile, pattern.search)
    names = {name for stack, _ in expected.passing(large.profile) for name in stack if pattern.search(name)}
    found = viewer.numbers()["found"]
    assert found["weight"] == weight
    assert found["methods"] == len(names)
    assert viewer.found() == f"{expected.percent(weight, expected.total(large.profile))} of all CPU time · {len(names):,} methods".replace(" 1 methods", " 1 method")


def test_a_search_share_is_of_the_filter_and_of_the_zoomed_frame(job, open_page):
    viewer = open_page(job.path)
    viewer.choose("Stage", "7 · parquet at Sessionize.scala:47")
    viewer.search("BigDecimal")
    matches = lambda name: "BigDecimal" in name
    weight, whole = expected.holding(job.profile, matches, stage="7"), expected.total(job.profile, stage="7")
    assert viewer.found() == f"{expected.percent(weight, whole)} of CPU time in this filter · 2 methods"
    viewer.click_frame(viewer.holding(RULES), x=60)
    inside = sum(value for stack, value in expected.passing(job.profile, stage="7") if RULES in stack)
    assert viewer.found() == f"{expected.percent(weight, whole)} of CPU time in this filter · {expected.percent(weight, inside)} of the zoomed frame · 2 methods"


def test_search_hits_are_drawn_last_and_at_least_two_pixels_wide(large, open_page):
    viewer = open_page(large.path)
    viewer.search("compare12")
    hits = viewer.hits()
    narrow = [hit for hit in hits if hit["width"] == 2]
    assert len(hits) > 20 and len(narrow) > 10
    assert all(hit["width"] >= 2 for hit in hits)
    colour = (0xB3, 0x14, 0x7D)
    for hit in narrow[:25]:
        x = min(round(hit["x"]), 1398)
        row = viewer.pixels(x, int(hit["y"]) + 9, 2, 1)
        assert row == [colour, colour], hit
    ticks = viewer.ticks()
    assert len(ticks) > 10
    strip = viewer.pixels(0, 3, 1380, 1)
    for tick in ticks:
        if tick < 1378:
            assert strip[tick] == colour and strip[tick + 1] == colour
    viewer.shot("search")


def test_a_search_that_finds_nothing_or_is_no_expression_says_so(job, open_page):
    viewer = open_page(job.path)
    viewer.search("no such method")
    assert viewer.found() == "No method has this in its name."
    viewer.search("/(/")
    assert viewer.found().startswith("Not an expression: ")
    viewer.search("")
    assert viewer.found() == ""


def test_a_click_zooms_and_the_callers_become_a_breadcrumb(job, open_page):
    viewer = open_page(job.path)
    assert viewer.crumbs() == [f"all · {expected.seconds(expected.total(job.profile))}"]
    gap = viewer.frame("com.acme.etl.sessionize.Gap.between")
    viewer.click_frame(gap)
    frames = viewer.frames()
    assert frames[0]["names"] == ["com.acme.etl.sessionize.Gap.between"]
    assert frames[0]["y"] == 0 and frames[0]["width"] > 1380
    assert frames[0]["total"] == expected.holding(job.profile, lambda name: name == "com.acme.etl.sessionize.Gap.between")
    crumbs = viewer.crumbs()
    assert crumbs[0].startswith("all · ") and crumbs[-1] == "Gap.between" and crumbs[-2] == "SessionWindowMerger.λmerge"
    viewer.shot("zoomed")
    viewer.page.locator(".crumbs").get_by_role("button", name="SessionWindowMerger.λmerge").click()
    viewer.settle()
    assert "com.acme.etl.sessionize.SessionWindowMerger$.$anonfun$merge$3" in viewer.frames()[0]["names"]
    viewer.press("Escape")
    assert viewer.frames()[0]["names"] == ["com.acme.etl.sessionize.Gap.between"]
    viewer.press("Escape")
    assert viewer.frames()[0]["total"] == expected.total(job.profile)


def test_a_link_and_the_browsers_back_button_keep_the_zoom(job, open_page):
    viewer = open_page(job.path)
    viewer.click_frame(viewer.frame("com.acme.etl.sessionize.Gap.between"))
    link = viewer.hash()
    viewer.page.go_back()
    viewer.settle()
    assert viewer.frames()[0]["total"] == expected.total(job.profile)
    viewer.goto(link[1:])
    assert viewer.frames()[0]["names"] == ["com.acme.etl.sessionize.Gap.between"]


def test_filter_zoom_and_search_hold_together_back_and_forward(job, open_page):
    viewer = open_page(job.path)
    viewer.choose("Stage", "7 · parquet at Sessionize.scala:47")
    viewer.click_frame(viewer.holding(RULES), x=60)
    viewer.search("BigDecimal")
    viewer.view("Hot spots")
    seen = lambda: (viewer.frames("hot" if "view=hot" in viewer.hash() else "flame")[0]["total"], viewer.numbers())
    hot = seen()
    viewer.page.go_back()
    viewer.settle()
    zoomed = seen()
    whole = expected.total(job.profile, stage="7")
    weight = expected.holding(job.profile, lambda name: "BigDecimal" in name, stage="7")
    assert zoomed[0] == sum(value for stack, value in expected.passing(job.profile, stage="7") if RULES in stack)
    assert (zoomed[1]["total"], zoomed[1]["found"]["weight"]) == (whole, weight)
    viewer.page.go_back()
    viewer.settle()
    assert seen()[0] == whole
    viewer.page.go_back()
    viewer.settle()
    assert seen()[0] == expected.total(job.profile)
    for _ in range(2):
        viewer.page.go_forward()
        viewer.settle()
    assert seen() == zoomed
    viewer.page.go_forward()
    viewer.settle()
    assert seen() == hot


def test_a_zoom_that_the_filter_leaves_nothing_of_shows_the_nearest_caller_and_says_so(job, open_page):
    viewer = open_page(job.path)
    viewer.click_frame(viewer.frame("com.acme.etl.sessionize.Gap.between"))
    viewer.choose("Stage", "5 · parquet at Sessionize.scala:45")
    assert "The zoomed frame has no CPU time under these filters" in viewer.text(".note")
    assert viewer.frames()[0]["total"] == expected.total(job.profile, stage="5")


def test_chains_are_folded_until_their_mark_is_clicked(job, open_page):
    viewer = open_page(job.path)
    chain = viewer.holding(WORKER_ROW[0])
    assert chain["names"] == WORKER_ROW
    rows = max(frame["y"] for frame in viewer.frames())
    viewer.click_frame(chain, x=10)
    assert viewer.holding(WORKER_ROW[0])["names"] == [WORKER_ROW[0]]
    assert viewer.holding(WORKER_ROW[5])["names"] == [WORKER_ROW[5]]
    assert max(frame["y"] for frame in viewer.frames()) == rows + 19 * 5
    viewer.shot("unfolded-chain")


def test_a_recursion_is_one_row_that_tells_how_deep_it_goes(report, open_page):
    walk, visit, leaf = generate.WALK, generate.VISIT, generate.LEAF
    profile = report("recursive").profile
    viewer = open_page(report("recursive").path)
    ring = viewer.frame(walk, visit)
    assert ring["times"] == 200
    assert ring["total"] == expected.holding(profile, lambda name: name == walk)
    assert ring["self"] == expected.self_of(profile, walk) + expected.self_of(profile, visit)
    assert viewer.frame(leaf)["total"] == expected.self_of(profile, leaf)
    assert viewer.frame(generate.DESCEND)["times"] == 60
    viewer.hover_frame(ring)
    seconds = lambda name: expected.seconds(expected.holding(profile, lambda other: other == name))
    tip = viewer.text(".tip")
    assert tip.startswith("Recursion, up to 200 times in a stack, of 2 methods that call each other")
    assert f"{walk}: total {seconds(walk)}, self 0 s" in tip
    assert f"{visit}: total {seconds(visit)}, self {expected.seconds(expected.self_of(profile, visit))}" in tip
    viewer.shot("recursion")

    viewer.click_frame(viewer.frame(leaf))
    assert viewer.frames()[0]["total"] == expected.self_of(profile, leaf)
    assert viewer.crumbs()[-2:] == ["Plan.walk ×200", "Expression.eval"]
    link = viewer.hash()
    viewer.press("Escape")
    viewer.goto(link[1:])
    assert viewer.frames()[0]["total"] == expected.self_of(profile, leaf)
    viewer.press("Escape")

    rows = len({frame["y"] for frame in viewer.frames()})
    viewer.click_frame(ring, x=10)
    assert len({frame["y"] for frame in viewer.frames()}) > rows
    assert viewer.frame(walk)["times"] == 1
    viewer.click_frame(viewer.frame(walk), button="right")
    viewer.page.get_by_role("menuitem", name="Fold again").click()
    viewer.settle()
    assert viewer.frame(walk, visit)["times"] == 200
    viewer.page.get_by_label("Fold chains and recursion").uncheck()
    viewer.settle()
    assert all(len(frame["names"]) == 1 and frame["times"] == 1 for frame in viewer.frames())


def test_a_recursive_method_weighs_the_same_folded_and_not(report, open_page):
    profile = report("recursive").profile
    total = expected.holding(profile, lambda name: name == generate.VISIT)
    for folded in ["true", "false"]:
        viewer = open_page(report("recursive").path, f"folded={folded}&view=sandwich&method={quote(generate.VISIT)}")
        assert viewer.text(".middle p").startswith(f"Total {expected.seconds(total)} ")
        assert viewer.frames("callers")[0]["total"] == viewer.frames("callees")[0]["total"] == total
        viewer.view("Top methods")
        rows = [" ".join(text.split()) for text in viewer.page.locator("tbody tr").all_inner_texts()]
        [row] = [row for row in rows if "Plan.visit" in row]
        own = expected.self_of(profile, generate.VISIT)
        whole = expected.total(profile)
        assert row.endswith(f"{expected.seconds(own)} {expected.percent(own, whole)} {expected.seconds(total)} {expected.percent(total, whole)} {total / 1e6:.2f}")


def test_a_zoom_beyond_a_recursion_keeps_all_of_its_weight_in_hot_spots(report, open_page):
    profile = report("recursive").profile
    viewer = open_page(report("recursive").path, "view=hot")
    weight = expected.self_of(profile, generate.LEAF)
    [main] = [frame for frame in viewer.frames("hot") if frame["names"][0] == "com.acme.Main.main" and frame["total"] == weight]
    viewer.click_frame(main)
    assert viewer.frames("hot")[0]["names"] == main["names"]
    assert viewer.frames("hot")[0]["total"] == weight
    assert viewer.page.locator(".note").count() == 0
    viewer.shot("recursion-hot")


def test_the_deepest_recursion_of_the_large_report_is_told(large, open_page):
    viewer = open_page(large.path)
    deepest = max(stack.count(TRANSFORM) for stack, _ in expected.passing(large.profile))
    ring = viewer.holding(TRANSFORM)
    assert ring["names"] == generate.TRANSFORM
    assert ring["times"] == deepest
    assert ring["total"] == expected.holding(large.profile, lambda name: name == TRANSFORM)


def test_folding_can_be_switched_off(job, open_page):
    viewer = open_page(job.path)
    viewer.page.get_by_label("Fold chains").uncheck()
    viewer.settle()
    assert all(len(frame["names"]) == 1 for frame in viewer.frames())
    assert "folded=false" in viewer.hash()
    viewer.shot("unfolded")


def test_a_sandwich_tells_callers_and_callees_with_their_weights(job, open_page):
    viewer = open_page(job.path, f"view=sandwich&method={quote(HASH)}")
    whole = expected.total(job.profile)
    total = expected.holding(job.profile, lambda name: name == HASH)
    own = expected.self_of(job.profile, HASH)
    assert viewer.text(".middle p") == (
        f"Total {expected.seconds(total)} · {expected.percent(total, whole)} of all CPU time — self {expected.seconds(own)} · {expected.percent(own, whole)} — in 1 place of the call tree, recursion counted once"
    )
    callers = {frame["names"][0]: frame["total"] for frame in viewer.frames("callers") if frame["y"] == viewer.frames("callers")[0]["y"] - 19}
    assert callers == expected.callers(job.profile, HASH)
    callees = {frame["names"][0]: frame["total"] for frame in viewer.frames("callees") if frame["y"] == 19}
    assert callees == expected.callees(job.profile, HASH)
    viewer.shot("sandwich")


def test_a_sandwich_counts_recursion_once(large, open_page):
    viewer = open_page(large.path, f"view=sandwich&method={quote(TRANSFORM)}")
    total = expected.holding(large.profile, lambda name: name == TRANSFORM)
    assert total < expected.total(large.profile)
    assert viewer.frames("callees")[0]["total"] == total
    assert viewer.frames("callers")[0]["total"] == total
    above = [frame for frame in viewer.frames("callers") if frame["y"] == viewer.frames("callers")[0]["y"] - 19]
    assert {frame["names"][0]: frame["total"] for frame in above} == expected.callers(large.profile, TRANSFORM)
    viewer.shot("sandwich-recursion")


def test_a_sandwich_of_a_frame_is_one_key_away_and_escape_leads_back(job, open_page):
    viewer = open_page(job.path)
    viewer.click_frame(viewer.holding(HASH), button="right")
    viewer.page.get_by_role("menuitem", name="Sandwich").click()
    viewer.settle()
    assert viewer.text(".middle h2") == "BytesToBytesMap.safeLookup"
    viewer.press("Escape")
    assert viewer.frames("flame")[0]["total"] == expected.total(job.profile)


def test_the_top_table_is_a_table_of_self_total_and_core_seconds(job, open_page):
    viewer = open_page(job.path, "view=top&measure=alloc_space")
    rows = expected.top(job.profile, "alloc_space")
    cpu = expected.top(job.profile, "cpu")
    whole = expected.total(job.profile, "alloc_space")
    name, (own, total) = max(rows.items(), key=lambda entry: (entry[1][0], entry[1][1]))
    cells = [" ".join(text.split()) for text in viewer.page.locator("tbody tr").first.locator("th, td").all_inner_texts()]
    assert cells[0].startswith(name.rsplit(".", 2)[1] + "." + name.rsplit(".", 1)[1])
    assert cells[1:] == [f"{own / 2**20:.0f} MiB", expected.percent(own, whole), f"{total / 2**20:.0f} MiB", expected.percent(total, whole), f"{cpu[name][1] / 1e6:.2f}"]
    viewer.page.get_by_role("button", name="Core-seconds").click()
    viewer.settle()
    assert viewer.page.locator("th[aria-sort='descending']").inner_text().strip().startswith("Core-seconds")
    seconds = [float(text.replace(",", "")) for text in viewer.page.locator("tbody tr td:last-child").all_inner_texts()[:40] if text]
    assert seconds == sorted(seconds, reverse=True)
    viewer.shot("top")


def test_the_top_table_counts_recursion_once(large, open_page):
    viewer = open_page(large.path, "view=top&search=transformDownWithPruning")
    rows = expected.top(large.profile)
    own, total = rows[TRANSFORM]
    whole = expected.total(large.profile)
    cells = [" ".join(text.split()) for text in viewer.page.locator("tbody tr").first.locator("td").all_inner_texts()]
    assert cells == ["" if own == 0 else expected.seconds(own), "" if own == 0 else expected.percent(own, whole), expected.seconds(total), expected.percent(total, whole), f"{total / 1e6:.2f}"]


def test_the_legend_dims_a_layer_and_leaves_one_out(job, open_page):
    viewer = open_page(job.path)
    row = viewer.holding(WORKER_ROW[0])
    before = viewer.pixels(1000, int(row["y"]) + 3, 1, 1)
    viewer.page.locator(".legend").get_by_role("button", name=re.compile("^Spark core")).click()
    viewer.settle()
    assert viewer.pixels(1000, int(row["y"]) + 3, 1, 1) != before
    viewer.page.get_by_role("button", name="Leave out Spark core").click()
    viewer.settle()
    names = {name for frame in viewer.frames() for name in frame["names"]}
    assert not any(generate.layer(name) == 3 for name in names if name)
    assert viewer.frames()[0]["total"] == expected.total(job.profile)
    viewer.shot("layers")


def test_names_are_shortened_in_frames_and_full_in_the_tooltip(job, open_page):
    viewer = open_page(job.path)
    viewer.hover_frame(viewer.frame("com.acme.etl.sessionize.Gap.between"))
    tip = viewer.text(".tip")
    value, whole = expected.self_of(job.profile, "java.time.temporal.ChronoUnit.between"), expected.total(job.profile)
    assert tip.startswith("com.acme.etl.sessionize.Gap.between Total")
    assert f"{expected.seconds(value)} · {expected.percent(value, whole)} of all CPU time" in tip
    viewer.shot("tooltip")


def test_the_full_name_is_copied(job, open_page):
    viewer = open_page(job.path, permissions=["clipboard-read", "clipboard-write"])
    viewer.click_frame(viewer.frame("com.acme.etl.sessionize.Gap.between"), button="right")
    viewer.shot("menu")
    viewer.page.get_by_role("menuitem", name="Copy full name").click()
    viewer.wait("navigator.clipboard.readText().then(text => text === 'com.acme.etl.sessionize.Gap.between')")
    viewer.settle()
    assert viewer.text(".status") == "Copied: com.acme.etl.sessionize.Gap.between"


def test_the_graph_can_be_walked_by_keyboard(job, open_page):
    viewer = open_page(job.path)
    viewer.press("ArrowDown", "ArrowDown")
    assert viewer.text(".status").startswith("Thread.run: ")
    viewer.press("ArrowRight")
    assert viewer.text(".status").startswith("[GC]: ")
    viewer.press("ArrowLeft", "ArrowDown", "ArrowDown")
    assert viewer.text(".status").startswith("Executor$TaskRunner.run: ")
    viewer.shot("keyboard")
    viewer.press("Enter")
    assert viewer.frames()[0]["names"] == WORKER_ROW
    viewer.press(" ")
    assert viewer.frames()[0]["names"] == WORKER_ROW or viewer.frames()[0]["names"] == [WORKER_ROW[0]]
    viewer.press("Escape")
    assert viewer.frames()[0]["total"] == expected.total(job.profile)
    viewer.press("/")
    viewer.page.keyboard.type("Gap")
    viewer.settle()
    assert viewer.numbers()["found"]["methods"] == 1
    viewer.press("Enter")
    assert viewer.text(".status").startswith("Gap.between: ")
    viewer.press("2")
    assert viewer.page.locator("[role=tab][aria-selected=true]").inner_text() == "Hot spots"
    viewer.press("1", "?")
    assert viewer.page.get_by_role("dialog", name="Keys and help").is_visible()
    viewer.shot("help")
    viewer.press("Escape")
    assert viewer.page.get_by_role("dialog", name="Keys and help").count() == 0


def test_a_screen_reader_finds_the_graph_a_live_region_and_tables(job, open_page):
    viewer = open_page(job.path)
    label = viewer.page.locator("canvas").get_attribute("aria-label")
    assert label == f"Flame graph, CPU time, all · {expected.seconds(expected.total(job.profile))}: {expected.seconds(expected.total(job.profile))}, 100 % of all CPU time, self 0 s. Arrow keys walk, Enter zooms, Escape goes back."
    assert viewer.page.locator("canvas").get_attribute("role") == "application"
    assert viewer.page.locator(".status[role=status][aria-live=polite]").count() == 1
    viewer.view("Top methods")
    assert viewer.page.get_by_role("table").count() == 1
    assert viewer.page.get_by_role("columnheader", name="Method").count() == 1
    assert viewer.page.get_by_role("rowheader").count() == 100


def test_dark_follows_the_system_and_the_button_overrules_it(job, open_page):
    viewer = open_page(job.path, color_scheme="dark")
    assert viewer.pixels(5, 600, 1, 1) == [(0x15, 0x17, 0x1B)]
    viewer.shot("dark")
    button = viewer.page.get_by_role("button", name="Theme:")
    button.click()
    viewer.settle()
    assert viewer.pixels(5, 600, 1, 1) == [(255, 255, 255)]
    button.click()
    viewer.settle()
    assert viewer.pixels(5, 600, 1, 1) == [(0x15, 0x17, 0x1B)]
    viewer.page.emulate_media(color_scheme="light")
    viewer.settle()
    assert viewer.pixels(5, 600, 1, 1) == [(0x15, 0x17, 0x1B)]
    button.click()
    viewer.settle()
    assert viewer.pixels(5, 600, 1, 1) == [(255, 255, 255)]


def test_hostile_names_are_text_and_nothing_else(report, open_page):
    hostile = report("hostile")
    viewer = open_page(hostile.path)
    assert viewer.page.title() == hostile.profile.title.replace("\u202e", "\u202e")
    assert viewer.text("h1") == '</title><script>window.hacked=1</script> "quoted" \\u202e 😀'
    for frame in viewer.frames()[1:]:
        viewer.hover_frame(frame)
    viewer.page.get_by_text("Details").click()
    assert "<img src=x onerror=window.hacked=1>" in viewer.text(".details")
    viewer.shot("hostile")
    viewer.page.get_by_text("Hide details").click()
    viewer.page.locator(".pick", has_text="Stage").first.click()
    viewer.press("Escape")
    viewer.view("Sandwich")
    viewer.view("Top methods")
    table = viewer.text("tbody")
    for text in ["Right\\u202eToLeft", "Zero\\u200bWidth\\ufeff", "Line\\u000aBreak\\u2028", "</script><script>window.hacked=1</script>", "🔥", "__proto__", "constructor"]:
        assert text in table
    assert not re.search("[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]", viewer.page.locator("tbody").inner_text())
    assert "10,0" in table and len(table) < 20_000
    viewer.search("</script>")
    assert viewer.numbers()["found"]["methods"] == 1
    assert viewer.page.evaluate("window.hacked") is None
    root = "document.getElementById('glowplug-page').shadowRoot"
    assert viewer.page.evaluate(f"{root}.querySelectorAll('script, img, iframe, b:not(p b):not(.sum b)').length") == 0
    viewer.shot("hostile-top")


def test_a_view_of_hostile_names_survives_its_own_link(report, open_page):
    hostile = report("hostile")
    viewer = open_page(hostile.path)
    viewer.click_frame(viewer.frames()[2], x=60)
    zoomed = viewer.frames()[0]["names"]
    viewer.goto(viewer.hash()[1:])
    assert viewer.frames()[0]["names"] == zoomed


@pytest.mark.parametrize("tab, words", [("CPU", "This profile has no CPU time."), ("Latency", "This profile has no latency."), ("Alloc bytes", "This profile has no allocated bytes.")])
def test_a_report_without_samples_says_so_in_words(report, open_page, tab, words):
    viewer = open_page(report("empty").path)
    viewer.measure(tab)
    text = viewer.text("main")
    assert text.startswith(words)
    assert "cpu=timers(10ms), wall=off, alloc=off, runtime=on" in text
    for view in ["Hot spots", "Sandwich", "Top methods"]:
        viewer.view(view)
        assert viewer.text("main").startswith(words)
    viewer.shot("empty")


def test_filters_that_leave_nothing_say_so_and_can_be_cleared(job, open_page):
    viewer = open_page(job.path, "label.stage=4&label.process=driver")
    assert viewer.text("main").startswith("No CPU time under these filters.")
    viewer.page.locator("main").get_by_text("Clear filters").click()
    viewer.settle()
    assert viewer.frames()[0]["total"] == expected.total(job.profile)


@pytest.mark.parametrize("kind", ["only_cpu", "only_zeros"])
def test_a_measure_that_was_not_taken_names_the_engine_and_its_setting(report, open_page, kind):
    viewer = open_page(report(kind).path)
    viewer.measure("Wall")
    assert viewer.text("main") == "This profile has no wall time. The wall engine was off: spark.glowplug.wall.interval=50ms switches it on. Engines: cpu=timers(10ms), wall=off, alloc=off, runtime=on"
    assert viewer.page.locator(".segments .without").all_inner_texts() == ["Wall", "Latency", "Alloc bytes", "Alloc objects"]


def test_a_measure_without_a_value_of_an_engine_that_ran_does_not_say_that_it_was_off(report, open_page):
    viewer = open_page(report("recursive").path)
    viewer.measure("Wall")
    assert viewer.text("main").startswith("This profile has no wall time. No thread was seen in this window. Engines: ")


def test_waits_for_locks_have_tabs_only_where_they_were_measured(report, open_page):
    viewer = open_page(report("only_cpu").path)
    assert viewer.page.get_by_role("radio").all_inner_texts() == ["CPU", "Wall", "Latency", "Alloc bytes", "Alloc objects", "Samples"]
    viewer = open_page(report("locks").path)
    viewer.measure("Lock wait")
    assert viewer.text(".sum") == "2.50 s time waited for locks in all"
    viewer.measure("Contentions")
    assert viewer.text(".sum") == "12 lock contentions in all"


def test_damaged_data_and_the_empty_template_say_what_is_wrong(report, template, tmp_path, open_page):
    whole = report("only_cpu").path.read_text("utf-8")
    cases = [
        (re.sub(r'(id="glowplug-data">)[^<]+', r"\1H4sIAAAAAAAAA6tWyk", whole), "The profile data cannot be inflated: the file was changed or cut short."),
        (re.sub(r'(id="glowplug-data">)[^<]+', r"\1***", whole), "The data in this page is not valid base64: the file was changed or cut short."),
        (template.read_text("utf-8"), "This page is the empty template: no profile was put into it."),
    ]
    for at, (html, message) in enumerate(cases):
        path = tmp_path / f"{at}.html"
        path.write_text(html, "utf-8")
        viewer = open_page(path)
        assert viewer.text("[role=alert]") == message


def test_collapsed_stacks_of_the_filter_can_be_saved(job, open_page):
    viewer = open_page(job.path, "label.stage=4")
    with viewer.page.expect_download() as waiting:
        viewer.page.get_by_text("Collapsed .gz").click()
    download = waiting.value
    assert download.suggested_filename == "application_1764456060000_0042-cpu.collapsed.gz"
    lines = gzip.decompress(open(download.path(), "rb").read()).decode().splitlines()
    stacks = Counter()
    for stack, value in expected.passing(job.profile, stage="4"):
        stacks[";".join(stack)] += value
    assert dict((line.rsplit(" ", 1)[0], int(line.rsplit(" ", 1)[1])) for line in lines) == dict(stacks)


def test_the_page_reads_well_on_a_small_window(job, open_page):
    viewer = open_page(job.path, viewport={"width": 800, "height": 600})
    assert viewer.page.evaluate("document.documentElement.scrollWidth") <= 800
    assert viewer.page.locator("canvas").bounding_box()["height"] > 150
    viewer.shot("small")


def test_nothing_is_cut_off_on_the_window_of_a_telephone(job, open_page):
    viewer = open_page(job.path, viewport={"width": 420, "height": 800})
    assert viewer.page.evaluate("document.documentElement.scrollWidth") <= 420
    for text in ["Details ▾", "17 without a full stack"]:
        box = viewer.page.get_by_text(text).bounding_box()
        assert 0 <= box["x"] and box["x"] + box["width"] <= 420
    assert viewer.page.locator("canvas").bounding_box()["height"] > 300
    viewer.choose("Stage", "4 · parquet at Sessionize.scala:44")
    assert viewer.numbers()["total"] == expected.total(job.profile, stage="4")
    viewer.shot("telephone")


def test_a_graph_higher_than_the_window_scrolls_inside_it(large, open_page):
    viewer = open_page(large.path)
    canvas = viewer.page.locator("canvas")
    height = canvas.bounding_box()["height"]
    assert height < 900
    before = viewer.frames()[0]["y"]
    viewer.page.mouse.move(600, 500)
    viewer.page.mouse.wheel(0, 600)
    viewer.page.wait_for_timeout(200)
    viewer.settle()
    assert canvas.bounding_box()["height"] == height
    assert viewer.frames()[0]["y"] < before
    viewer.shot("scrolled")
