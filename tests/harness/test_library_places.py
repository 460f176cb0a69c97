"""The library where the first place of it does not work: another one is taken, the user is told, and nothing is left behind."""

import os
import re
import subprocess

import pytest

from support import folders, library, processes

UNPACKED = r"glowplug-[0-9a-f]+/libglowplug\.so"


@pytest.fixture
def mounted(tmp_path):
    """mounted("noexec") -> a folder with a file system of its own, in memory and mounted with these options; gone at the end."""
    places = []

    def mount(options: str):
        place = tmp_path / "mounted"
        place.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "glowplug-test", place], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"this user may not mount here: {done.stderr.strip()}")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", place], check=True)


@pytest.fixture
def told(jar, jdk, program, tmp_path):
    """told(folder) -> what a JVM says whose java.io.tmpdir that is; it works in tmp_path / "work", and profiles."""
    work = tmp_path / "work"
    work.mkdir()

    def run(temporary) -> list:
        idle = program("IdleThreads")
        command = [jdk(17) / "bin/java", f"-Djava.io.tmpdir={temporary}", f"-javaagent:{jar}", "-cp", idle.jar, idle.main, 1, 1]
        environment = {name: value for name, value in os.environ.items() if name != "LOCAL_DIRS"}
        done = subprocess.run([str(word) for word in command], cwd=work, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert [file.name for file in work.iterdir()] == ["glowplug-profiles"], "the library is gone from the working directory"
        (folder,) = (work / "glowplug-profiles").iterdir()
        assert folders.Folder(folder).profile.where(lambda sample: "IdleThreads.await" in sample.stack).total("wall") > 0
        return processes.messages(done.stderr)

    return run


def test_a_temporary_folder_mounted_noexec_is_passed_over(mounted, told, tmp_path):
    temporary = mounted("noexec,size=64m")
    warning, start, end = told(temporary)
    unpacked = rf"{temporary}/{UNPACKED}"
    assert re.fullmatch(rf"WARN the native library is loaded from {tmp_path}/work/{UNPACKED}; passed over: {temporary} \(java\.io\.tmpdir\): "
                        rf"{unpacked}: {unpacked}: failed to map segment from shared object(: Operation not permitted)?", warning), warning
    assert start.startswith("profiling this JVM from its start on ") and end.startswith("profile written to ")
    assert list(temporary.iterdir()) == []


def test_a_full_temporary_folder_is_passed_over(mounted, told, tmp_path):
    temporary = mounted("size=1m")
    warning, start, end = told(temporary)
    assert re.fullmatch(rf"WARN the native library is loaded from {tmp_path}/work/{UNPACKED}; passed over: {temporary} \(java\.io\.tmpdir\): "
                        "IO No space left on device", warning), warning
    assert start.startswith("profiling this JVM from its start on ") and end.startswith("profile written to ")
    assert list(temporary.iterdir()) == []


def test_a_relative_temporary_folder_is_passed_over(told, tmp_path):
    warning, start, end = told("tmp")
    assert re.fullmatch(rf"WARN the native library is loaded from {tmp_path}/work/{UNPACKED}; passed over: tmp \(java\.io\.tmpdir\) is not an "
                        "absolute path", warning), warning
    assert start.startswith("profiling this JVM from its start on ") and end.startswith("profile written to ")


def test_a_library_of_another_build_that_is_installed_is_passed_over(spark, application, jar, tmp_path):
    ours = library.read(jar)
    build = library.build_of(ours)
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "libglowplug.so").write_bytes(library.of_another_build(ours))
    clocks = processes.Clocks(tmp_path / "clocks")
    chosen = spark("3.5.9")
    # It goes into LD_LIBRARY_PATH, and the JVM puts that into java.library.path.
    run = chosen.submit("local[1]", application("LongTasks", chosen), args=[clocks.folder, 1, 1],
                        conf={"spark.driver.extraLibraryPath": installed}).succeeded()
    assert run.stdout == "[0]\n"
    warning, start, _ = processes.messages(run.stderr)
    assert re.fullmatch(rf"WARN the native library is loaded from \S+/{UNPACKED}; passed over: {installed}/libglowplug\.so \(java\.library\.path\) is "
                        rf"build {re.escape(build[:-1])}~, and this jar is build {re.escape(build)}", warning), warning
    assert start.startswith("profiling driver and executor (local mode) on ")
    busy = folders.Folder(run.folder).profile.where(lambda sample: "LongTasks.spinRounds" in sample.stack, stage="0")
    assert busy.total("cpu") == pytest.approx(1e9, rel=0.1)
