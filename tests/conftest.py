"""The fixtures of every suite; tests/README.md explains them."""

import functools

import pytest

from support import apps, jdks, machine, profile, spark as spark_support, tools, versions


@pytest.fixture(scope="session")
def jar():
    """The jar under test, as Gradle built it."""
    version = next(line.split('"')[1] for line in (machine.ROOT / "Cargo.toml").read_text().splitlines() if line.startswith("version"))
    path = machine.ROOT / f"jvm-plugin/build/libs/glowplug-spark-{version}.jar"
    assert path.exists(), "no jar: build it with ./gradlew :jvm-plugin:jar"
    return path


@pytest.fixture(scope="session")
def spark(jar, tmp_path_factory):
    """spark("3.5.9") -> support.spark.Spark; spark("3.5.9", java=25) on another JDK than the version's own."""
    work = tmp_path_factory.mktemp("spark")
    return functools.cache(lambda version, java=None: spark_support.Spark(version, jar, work, java))


@pytest.fixture(scope="session")
def application():
    """application("Name", spark("3.5.9")) -> tests/apps/Name.java, compiled against that Spark."""
    return apps.spark_application


@pytest.fixture(scope="session")
def program():
    """program("Name") -> tests/apps/Name.java, compiled against the JDK alone."""
    return apps.java_program


@pytest.fixture(scope="session")
def jdk():
    """jdk(25) -> a JAVA_HOME."""
    return jdks.java_home


@pytest.fixture(scope="session")
def read_profile():
    """read_profile(path) -> support.profile.Profile."""
    return profile.read


@pytest.fixture(scope="session")
def pprof():
    """pprof("-top", file) -> what Go's pprof prints."""
    return lambda *arguments: machine.output([tools.pprof(), *arguments])


def pytest_terminal_summary(terminalreporter):
    """`record_property("told", …)` is printed although the test has passed, unlike what it prints."""
    told = [f"{report.nodeid}: {text}" for report in terminalreporter.getreports("passed")
            for name, text in report.user_properties if name == "told"]
    if told:
        terminalreporter.section("told")
        for line in told:
            terminalreporter.write_line(line)


def pytest_generate_tests(metafunc):
    """`spark_version` and `java_version` run through the versions of this run, those of check or of checkAll."""
    if "spark_version" in metafunc.fixturenames:
        metafunc.parametrize("spark_version", versions.SPARKS)
    if "java_version" in metafunc.fixturenames:
        metafunc.parametrize("java_version", versions.JAVAS)
