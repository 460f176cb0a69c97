"""The documents say what is there: links, files, functions, messages and keys, and JSON that can be read."""

import functools
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
# Where a path in a document may begin.
PLACES = ["", "docs", "rust-core/src", "jvm-plugin/src/main/java/io/glowplug", "ui/src"]
# What a build, a run or `./gradlew checkAll` writes, and what is Spark's.
ELSEWHERE = {"docs/VERIFIED.md", "executors/", "periods/", "jars/"}
SOURCES = [("rust-core/src", "*.rs"), ("rust-core/src", "*.toml"), ("jvm-plugin/src/main/java", "*.java"), ("ui/src", "*.ts*"), ("ui", "*.html")]

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def prose(document: Path) -> str:
    """A document without its blocks of code."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.M | re.S)
    return re.sub(r"^(    .*\n)+", "\n", text, flags=re.M)


def code_spans(document: Path) -> list:
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose(document))]


def anchors(document: Path) -> set:
    """The anchors that GitHub gives a document's headings."""
    headings = re.findall(r"^#+ (.+)$", prose(document), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@functools.cache
def sources() -> str:
    return "\n".join(path.read_text() for folder, pattern in SOURCES for path in sorted((ROOT / folder).rglob(pattern)) if "node_modules" not in path.parts)


@functools.cache
def texts() -> str:
    """The sources with texts as they are printed: continued lines joined, quotes and braces unescaped."""
    text = re.sub(r"\\\n\s*", "", sources())
    text = re.sub(r'"\s*\n\s*\+ "', "", text)
    return text.replace('\\"', '"').replace("{{", "{").replace("}}", "}")


@each_document
def test_every_relative_link_leads_to_a_file_and_its_heading(document):
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(document)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


@each_document
def test_every_file_that_is_named_exists(document):
    top = "|".join(re.escape(entry.name) for entry in ROOT.iterdir())
    shape = re.compile(rf"[\w./-]+\.(rs|java|tsx?|py|toml|md|gradle)|(\w[\w.-]*/)+|({top})/[\w./-]+")
    named = [span for span in code_spans(document) if shape.fullmatch(span)]
    named = [name for name in named if name not in ELSEWHERE and not {"build", "dist"} & set(name.split("/"))]
    missing = [name for name in named if not any((ROOT / place / name).exists() for place in PLACES)]
    assert missing == []


def test_every_rust_function_that_the_architecture_names_exists():
    document = ROOT / "docs/ARCHITECTURE.md"
    named = [span for span in code_spans(document) if re.fullmatch(r"[A-Z]\w+::[a-z_]+", span) and span != "Type::function"]
    missing = [name for name in named if not re.search(rf"impl[^\n]*\b{name.split('::')[0]}\b", sources()) or f"fn {name.split('::')[1]}" not in sources()]
    assert len(named) > 20
    assert missing == []


def test_every_java_method_that_the_architecture_names_exists():
    classes = {path.stem: path.read_text() for path in (ROOT / "jvm-plugin/src/main/java").rglob("*.java")}
    named = [span.split(".") for span in code_spans(ROOT / "docs/ARCHITECTURE.md") if re.fullmatch(r"[A-Z]\w+\.[a-z]\w+", span) and span != "System.exit"]
    missing = [name for name in named if not re.search(rf"\b{name[1]}\(", classes.get(name[0], ""))]
    assert len(named) > 8
    assert missing == []


def quoted_messages() -> list:
    text = (ROOT / "docs/TROUBLESHOOTING.md").read_text()
    end_line = text.split("## The end line")[1].split("\n## ")[0]
    return re.findall(r"^### `(.+)`$", text, re.M) + re.findall(r"^\* `([^`]+)`:", end_line, re.M)


@pytest.mark.parametrize("message", quoted_messages())
def test_every_message_in_troubleshooting_is_one_of_ours(message):
    parts = [part.strip() for part in message.split("…")]
    assert max(map(len, parts)) >= 9, "too little of the message to look for"
    assert [part for part in parts if part not in texts()] == []


@each_document
def test_every_key_is_a_known_one(document):
    known = set(re.findall(r"^### (spark\.glowplug\.[\w.]+)$", (ROOT / "docs/SETTINGS.md").read_text(), re.M))
    used = set(re.findall(r"spark\.glowplug\.[\w.]*\w", document.read_text()))
    assert {key for key in used if not key.startswith("spark.glowplug.label")} - known == set()


@each_document
def test_json_can_be_read(document):
    for block in re.findall(r"^```json\n(.*?)^```$", document.read_text(), re.M | re.S):
        json.loads(block)
