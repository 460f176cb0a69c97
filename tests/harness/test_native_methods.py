"""Every function that the library exports to Java is guarded: a panic in it becomes an exception, and the JVM lives on."""

import subprocess
import zipfile

from support import elf


def test_a_panic_in_any_native_method_is_an_exception_in_java(jar, program, jdk):
    prefix = "Java_io_glowplug_core_Native_"
    library = elf.Elf(zipfile.ZipFile(jar).read("native/linux-x86_64/libglowplug.so"))
    symbols = [symbol for symbol in library.exported_symbols() if symbol.startswith("Java_")]
    names = {symbol.removeprefix(prefix) for symbol in symbols}
    assert len(names) == 14 and not any(name.startswith("Java_") for name in names), symbols

    application = program("NativePanics")
    run = subprocess.run([jdk(17) / "bin/java", "-cp", application.jar, application.main, jar], capture_output=True, text=True,
                         env={"GLOWPLUG_TEST_NATIVE_PANIC": ",".join(names)}, timeout=60)
    assert run.returncode == 0, run.stderr
    expected = {f"{name}: io.glowplug.core.NativeError: {name} panicked: injected into {name}" for name in names}
    expected |= {"Core.open: io.glowplug.core.NativeError: buildId panicked: injected into buildId", "alive"}
    assert set(run.stdout.splitlines()) == expected
