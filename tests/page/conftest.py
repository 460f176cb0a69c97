import shutil
import subprocess
from pathlib import Path

import generate
import pytest
from playwright.sync_api import sync_playwright
from viewer import Viewer

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="session")
def dist():
    """The built bundle; built here where nobody has."""
    ui = ROOT / "ui"
    if not (ui / "dist" / "index.html").exists():
        if not (ui / "node_modules").exists():
            subprocess.run(["npm", "ci"], cwd=ui, check=True)
        subprocess.run(["npm", "run", "build"], cwd=ui, check=True)
    return ui / "dist"


@pytest.fixture(scope="session")
def template(dist):
    return dist / "index.html"


@pytest.fixture(scope="session")
def screenshots():
    folder = ROOT / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def browser():
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert executable is not None, "The page's tests need Chromium; none is on the PATH."
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def open_page(browser, screenshots):
    """Opens a file in a context of its own. At the end: no error, no violated policy, no request but for the file."""
    viewers = []

    def open_(path, fragment="", **context):
        context.setdefault("viewport", {"width": 1400, "height": 900})
        viewer = Viewer(browser.new_context(accept_downloads=True, **context), path, fragment, screenshots)
        viewers.append(viewer)
        return viewer

    yield open_
    for viewer in viewers:
        problems = viewer.problems()
        viewer.context.close()
        assert problems == []


class Report:
    def __init__(self, profile, template, folder):
        self.profile = profile
        self.path = generate.write(profile, template, folder / "index.html")


@pytest.fixture(scope="session")
def report(template, tmp_path_factory):
    """Makes a report of a profile, once for each kind."""
    made = {}

    def report_(kind):
        if kind not in made:
            made[kind] = Report(getattr(generate, kind)(), template, tmp_path_factory.mktemp(kind))
        return made[kind]

    return report_


@pytest.fixture(scope="session")
def job(report):
    return report("spark_sql")


@pytest.fixture(scope="session")
def large(report):
    return report("spark_shaped")
