"""The same bundle inside another page, as the Spark UI's tab will have it."""

from page import expected


def test_the_bundle_mounts_inside_sparks_page_behind_its_policy(job, spark_ui, open_page):
    viewer = open_page(spark_ui)
    assert viewer.frames()[0]["total"] == expected.total(job.profile)
    assert sorted(url.rsplit("/", 1)[1] for url in viewer.requests) == ["", "data", "glowplug.js", "start.js"]
    viewer.shot("embedded")


def test_the_surrounding_pages_theme_is_taken_over_and_its_styles_are_not(spark_ui, open_page):
    viewer = open_page(spark_ui)
    assert viewer.pixels(5, 400, 1, 1) == [(0x15, 0x17, 0x1B)]
    viewer.page.evaluate("document.documentElement.dataset.bsTheme = 'light'")
    viewer.settle()
    assert viewer.pixels(5, 400, 1, 1) == [(255, 255, 255)]
    assert viewer.page.evaluate("getComputedStyle(document.getElementById('glowplug-page').shadowRoot.querySelector('button')).fontSize") == "13px"


def test_later_data_keep_the_zoom_and_the_filters(job, spark_ui, open_page):
    viewer = open_page(spark_ui)
    viewer.choose("Stage", "4 · parquet at Sessionize.scala:44")
    viewer.click_frame(viewer.frame("com.acme.etl.sessionize.Gap.between"))
    before = viewer.frames()[0]
    viewer.page.evaluate("async () => window.glowplug.update(new Uint8Array(await (await fetch('data')).arrayBuffer()))")
    viewer.settle()
    assert viewer.frames()[0]["names"] == before["names"]
    assert viewer.numbers()["total"] == expected.total(job.profile, stage="4")


def test_the_element_is_left_empty_when_the_page_is_taken_down(spark_ui, open_page):
    viewer = open_page(spark_ui)
    viewer.page.evaluate("window.glowplug.destroy()")
    assert viewer.page.locator("canvas").count() == 0
    viewer.press("ArrowDown", "/", "?")
