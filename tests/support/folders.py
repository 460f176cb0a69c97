"""What an application's folder holds, read for assertions."""

import base64
import gzip
import json
import re
from pathlib import Path

from . import profile

DATA = re.compile(r'<script type="text/plain" id="glowplug-data">([^<]*)</script>')


class Folder:
    def __init__(self, path: Path):
        self.path = path
        self.summary = json.loads((path / "summary.json").read_text())
        self.profile = profile.read(path / "profile.pb.gz")
        self.page = json.loads(gzip.decompress((path / "page.json.gz").read_bytes()))

    @property
    def files(self) -> set:
        """All files, with the time in the names of the periods' files as *."""
        names = {str(file.relative_to(self.path)) for file in self.path.rglob("*") if file.is_file()}
        return {re.sub(r"^periods/\d{8}T\d{6}Z", "periods/*", name) for name in names}

    @property
    def processes(self) -> dict:
        return {process["id"]: process for process in self.summary["processes"]}

    def stage_of(self, **labels) -> str:
        """The one stage that the samples with these labels have."""
        stages = {sample.labels.get("stage") for sample in self.profile.where(**labels).samples}
        assert len(stages) == 1, f"{labels} has the stages {stages}"
        return stages.pop()


def data_of_page(html: str) -> dict:
    """The data inside index.html."""
    return json.loads(gzip.decompress(base64.b64decode(DATA.search(html)[1])))


def contents(path: Path) -> dict:
    """File name -> content, unpacked where it is packed; of index.html also the data in it."""
    found = {}
    for file in path.rglob("*"):
        if not file.is_file():
            continue
        name, content = str(file.relative_to(path)), file.read_bytes()
        found[name] = gzip.decompress(content) if name.endswith(".gz") else content
        data = DATA.search(content.decode(errors="replace")) if name.endswith(".html") else None
        if data:
            found[f"{name} data"] = gzip.decompress(base64.b64decode(data[1]))
    return found
