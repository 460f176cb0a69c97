"""The versions that are tested: tests/versions.json, and which of them this run is about."""

import json
import os

from .machine import ROOT

TABLE = json.loads((ROOT / "tests/versions.json").read_text())
# `checkAll` sets it: every version, full sizes and durations.
FULL = os.environ.get("GLOWPLUG_FULL") == "1"
SPARKS = TABLE["full" if FULL else "check"]["spark"]
JAVAS = TABLE["full" if FULL else "check"]["java"]


def is_at_least(version: str, minimum: str) -> bool:
    return [int(part) for part in version.split(".")] >= [int(part) for part in minimum.split(".")]
