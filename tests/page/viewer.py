"""The page in a browser: what a reader does with it, and what it draws."""

import time


class Viewer:
    def __init__(self, context, path, fragment, screenshots):
        self.context = context
        self.screenshots = screenshots
        self.errors, self.requests = [], []
        self.page = context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(f"error: {error}"))
        self.page.on("console", lambda message: self.errors.append(f"console: {message.text}") if message.type in ("error", "warning") else None)
        self.page.on("dialog", lambda dialog: (self.errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.add_init_script("window.violations = []; addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective + ' ' + e.blockedURI))")
        self.url = path if str(path).startswith("http") else f"file://{path}"
        self.goto(fragment)

    def goto(self, fragment=""):
        self.page.goto("about:blank")
        self.requests.clear()
        self.page.goto(self.url + (f"#{fragment}" if fragment else ""))
        self.wait("window.glowplug !== undefined")
        self.settle()

    def wait(self, expression, seconds=20):
        # Not wait_for_function: it evaluates in the page, which the page's policy forbids.
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"{expression} did not come true"
            time.sleep(0.02)

    def settle(self):
        """Two frames on: state is rendered, the canvas drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")

    def problems(self):
        violations = self.page.evaluate("window.violations")
        foreign = [url for url in self.requests if not url.startswith((self.url.split("#")[0].rsplit("/", 1)[0], "data:", "blob:"))]
        return self.errors + [f"violation: {violation}" for violation in violations] + [f"request: {url}" for url in foreign]

    # what is shown

    def frames(self, pane="flame", least=0):
        """The frames that are at least so many pixels wide: a large graph has tens of thousands."""
        return self.page.evaluate("([pane, least]) => window.glowplug.inspect.frames(pane).filter(frame => frame.width >= least)", [pane, least])

    def root(self, pane="flame"):
        return self.page.evaluate("pane => window.glowplug.inspect.frames(pane)[0]", pane)

    def hits(self, pane="flame"):
        return self.page.evaluate("pane => window.glowplug.inspect.hits(pane)", pane)

    def ticks(self, pane="flame"):
        return self.page.evaluate("pane => Array.from(window.glowplug.inspect.ticks(pane))", pane)

    def numbers(self):
        return self.page.evaluate("() => { const n = window.glowplug.inspect.numbers(); return { total: n.total, all: n.all, found: n.found && { kind: n.found.kind, weight: n.found.weight, methods: n.found.methods, places: n.found.places } } }")

    def frame(self, *names, pane="flame"):
        """The first frame whose row holds exactly these names."""
        for frame in self.frames(pane):
            if frame["names"] == list(names):
                return frame
        raise AssertionError(f"no frame {names}")

    def holding(self, name, pane="flame"):
        """The first frame whose row holds this name, alone or in a chain."""
        for frame in self.frames(pane):
            if name in frame["names"]:
                return frame
        raise AssertionError(f"no frame holds {name}")

    def text(self, selector):
        return " ".join(self.page.locator(selector).first.inner_text().split())

    def found(self):
        return self.text("#found")

    def crumbs(self):
        return [" ".join(text.split()) for text in self.page.locator(".crumbs li").all_inner_texts()]

    def hash(self):
        return self.page.evaluate("location.hash")

    def pixels(self, x, y, width, height, canvas=0):
        """RGB of a rectangle of a canvas, row by row."""
        data = self.page.evaluate(
            """([at, x, y, w, h]) => {
                const canvas = document.getElementById('glowplug-page').shadowRoot.querySelectorAll('canvas')[at]
                const copy = new OffscreenCanvas(w, h).getContext('2d', { willReadFrequently: true })
                copy.drawImage(canvas, -x, -y)
                return Array.from(copy.getImageData(0, 0, w, h).data)
            }""",
            [canvas, x, y, width, height],
        )
        return [tuple(data[i : i + 3]) for i in range(0, len(data), 4)]

    # what a reader does

    def click_frame(self, frame, pane_at=0, x=None, **options):
        box = self.page.locator("canvas").nth(pane_at).bounding_box()
        inside = frame["width"] / 2 if x is None else x
        self.page.mouse.click(box["x"] + frame["x"] + inside, box["y"] + frame["y"] + 8, **options)
        self.settle()

    def hover_frame(self, frame, pane_at=0):
        box = self.page.locator("canvas").nth(pane_at).bounding_box()
        self.page.mouse.move(box["x"] + frame["x"] + frame["width"] / 2, box["y"] + frame["y"] + 8)
        self.settle()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def search(self, text):
        self.page.locator("input[aria-label='Search for methods']").fill(text)
        self.settle()

    def measure(self, name):
        self.page.get_by_role("radio", name=name, exact=True).click()
        self.settle()

    def view(self, name):
        self.page.get_by_role("tab", name=name).click()
        self.settle()

    def choose(self, label, value):
        """Ticks a value in a label's list."""
        self.page.locator(".filter", has=self.page.locator(".key", has_text=label)).first.locator(".pick").click()
        self.page.locator(".popover label", has=self.page.get_by_text(value, exact=True)).locator("input").click()
        self.page.keyboard.press("Escape")
        self.settle()

    def shot(self, name):
        self.settle()
        self.page.screenshot(path=str(self.screenshots / f"{name}.png"))
