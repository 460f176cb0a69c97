#!/usr/bin/env python3
"""Counts instructions per operation of the core and compares them with benches/baseline.json.

Fails where an operation needs over 15 % more than its baseline, or has none. `--write` takes today's counts as the new
baseline: commit it together with the change that explains it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BENCHES = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCHES.parent / "jvm-plugin/packaging"))
import native  # noqa: E402

BASELINE = BENCHES / "baseline.json"
LIMIT = 1.15
TARGET = f"{native.PLATFORMS['linux-x86_64']}.{native.GLIBC}"


def main():
    write = sys.argv[1:] == ["--write"]
    if sys.argv[1:] and not write:
        sys.exit(f"usage: {sys.argv[0]} [--write]")
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is missing: apt-get install valgrind")
    program = build()
    listed = operations(program)
    # What else runs changes no count.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = [(name, pool.submit(per_operation, program, name, repeats)) for repeats, name in listed]
        counts = {name: count.result() for name, count in counted}
    if write:
        BASELINE.write_text(json.dumps(counts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    baseline = json.loads(BASELINE.read_text(encoding="utf-8"))
    failures = [name for name, count in counts.items() if not compare(name, count, baseline.get(name))]
    failures += [f"{name} (in baseline.json only)" for name in baseline if name not in counts]
    print(f"{len(counts) - len(failures)} passed, {len(failures)} failed")
    if failures:
        sys.exit("over the baseline: " + ", ".join(failures))


def build():
    """As the packaged library is built: what is counted is what is shipped, and its crates are compiled already."""
    built = subprocess.run(
        ["cargo", "zigbuild", "--release", "--locked", "--target", TARGET, "-p", "glowplug-benches", "--bin", "instructions",
         "--message-format=json"],
        cwd=BENCHES, env=native.build_environment(), check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    artifacts = (json.loads(line) for line in built.stdout.splitlines())
    return next(found["executable"] for found in artifacts if found.get("executable"))


def operations(program):
    listed = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [(int(repeats), name) for repeats, name in (line.split("\t") for line in listed.splitlines())]


def per_operation(program, name, repeats):
    """Two runs differ by `repeats` operations and by nothing else."""
    first = instructions(program, name, repeats)
    return (instructions(program, name, 2 * repeats) - first) // repeats


def instructions(program, name, times):
    counted = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, name, str(times)],
        check=True, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    return int(re.search(r"Collected : (\d+)", counted.stderr).group(1))


def compare(name, count, baseline):
    if baseline is None:
        print(f"{count:>12}  no baseline  {name}")
        return False
    print(f"{count:>12}  {100 * (count / baseline - 1):+6.1f} %     {name}")
    return count <= LIMIT * baseline


if __name__ == "__main__":
    main()
