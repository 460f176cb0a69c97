import base64
import re
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from page import generate
import pytest
from playwright.sync_api import sync_playwright
from page.viewer import Viewer

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


class Elsewhere:
    """A server that is not the page's, and what it was asked for."""

    def __init__(self):
        self.asked = asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                self.send_response(200)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/taken"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def elsewhere():
    server = Elsewhere()
    yield server
    server.server.shutdown()


@pytest.fixture
def spark_ui(job, dist):
    """The bundle as Spark's UI serves it: behind its policy, script and data as files of their own, in a page of other styles."""
    packed = base64.b64decode(re.search(r'id="glowplug-data">([^<]+)<', job.path.read_text("utf-8")).group(1))
    files = {
        "/proxy/app/profile/": ("text/html", SPARK_PAGE.encode()),
        "/proxy/app/profile/glowplug.js": ("text/javascript", (dist / "glowplug.js").read_bytes()),
        "/proxy/app/profile/start.js": ("text/javascript", SPARK_START.encode()),
        "/proxy/app/profile/data": ("application/octet-stream", packed),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            kind, body = files.get(self.path, ("text/plain", b""))
            self.send_response(200 if self.path in files else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Security-Policy", SPARK_POLICY)
            self.send_header("Cache-Control", "no-cache, no-store, must-revalidate")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/proxy/app/profile/"
    server.shutdown()


# What Spark 4.3 sends by default.
SPARK_POLICY = "default-src 'self'; script-src 'self' 'nonce-N0'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'self'"
SPARK_PAGE = """<!doctype html><html data-bs-theme="dark"><head><meta charset="utf-8"><title>Profile</title><link rel="icon" href="data:,">
<style>button { font-size: 40px } table { border: 9px solid red } html, body { height: 100%; margin: 0 }</style></head>
<body><div id="glowplug-page" style="height: 700px"></div><script src="glowplug.js"></script><script src="start.js"></script></body></html>"""
SPARK_START = """const load = async () => new Uint8Array(await (await fetch('data')).arrayBuffer())
Glowplug.mount(document.getElementById('glowplug-page'), { load }).then(mounted => { window.glowplug = mounted })"""
