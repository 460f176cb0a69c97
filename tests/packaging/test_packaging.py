"""The jar as users load it, and the checks that refuse a bad one."""

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml
import zipfile
from pathlib import Path

import pytest

from support import apps, folders, machine, spark as spark_support, versions
from support.elf import Elf

PACKAGING = machine.ROOT / "jvm-plugin/packaging"
BUNDLE = machine.ROOT / "ui/dist/index.html"
LIBRARY = "native/linux-x86_64/libglowplug.so"
SAMPLE = "io.glowplug.SampleSparkApp"
POM = "{http://maven.apache.org/POM/4.0.0}"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A Maven repository that `publish` has just written."""
    folder = tmp_path_factory.mktemp("published")
    machine.run(["./gradlew", "publish", f"-PrepositoryUrl={folder.as_uri()}"], cwd=machine.ROOT)
    return folder


def check(jar, bundle=BUNDLE):
    """What check_jar.py says of a jar: [] for a good one."""
    done = subprocess.run([sys.executable, PACKAGING / "check_jar.py", jar, bundle], capture_output=True, text=True)
    complaints = done.stderr.splitlines()
    assert done.returncode == (1 if complaints else 0)
    return [line.partition(": ")[2] for line in complaints]


def changed(jar, target, **entries):
    """A copy of the jar in which some entries have other content, or (None) are not there."""
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = entries.get(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return target


def carried(jar):
    """What a library must carry beside its code: the build id and the page."""
    with zipfile.ZipFile(jar) as archive:
        return re.search(rb"glowplug-build-id=[^;]+;", archive.read(LIBRARY)).group() + BUNDLE.read_bytes()


def test_the_jar_passes_its_checks(jar):
    assert check(jar) == []


def test_a_library_that_needs_a_newer_glibc_is_refused(jar, tmp_path):
    source = tmp_path / "newer.c"
    source.write_text("#include <dlfcn.h>\nvoid *newer(void) { return dlopen(\"x\", RTLD_NOW); }\n")
    machine.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "newer.so", source])
    bad = changed(jar, tmp_path / "bad.jar", **{LIBRARY: (tmp_path / "newer.so").read_bytes() + carried(jar)})
    assert check(bad) == [f"{LIBRARY}: needs GLIBC_2.34 of libc.so.6, must need nothing newer than GLIBC_2.17"]


def test_a_library_for_another_processor_is_refused(jar, tmp_path):
    with zipfile.ZipFile(jar) as archive:
        other = archive.read("native/linux-aarch64/libglowplug.so")
    assert check(changed(jar, tmp_path / "bad.jar", **{LIBRARY: other})) == [f"{LIBRARY}: is for aarch64"]


def test_a_missing_library_is_refused(jar, tmp_path):
    assert check(changed(jar, tmp_path / "bad.jar", **{LIBRARY: None})) == [f"{LIBRARY} is missing"]


def test_a_library_without_the_page_is_refused(jar, tmp_path):
    with zipfile.ZipFile(jar) as archive:
        library = archive.read(LIBRARY)
    bundle = BUNDLE.read_bytes()
    stand_in = b"glowplug: the page bundle is missing".ljust(len(bundle))
    bad = changed(jar, tmp_path / "bad.jar", **{LIBRARY: library.replace(bundle, stand_in)})
    assert check(bad) == [f"{LIBRARY}: was built without the page bundle"]


def test_a_library_with_the_page_of_another_build_is_refused(jar, tmp_path):
    other = tmp_path / "index.html"
    other.write_bytes(BUNDLE.read_bytes() + b"\n<!-- a later build -->")
    assert check(jar, other) == [f"native/linux-{machine}/libglowplug.so: does not carry this build's page bundle"
                                 for machine in ("x86_64", "aarch64")]


def test_a_library_of_another_build_is_refused(jar, tmp_path):
    with zipfile.ZipFile(jar) as archive:
        library = archive.read(LIBRARY)
    build = re.search(rb"glowplug-build-id=([^;]+);", library).group(1)
    other = build[:-12] + b"0123456789ab"
    bad = changed(jar, tmp_path / "bad.jar", **{LIBRARY: library.replace(build, other)})
    assert check(bad) == [f"{LIBRARY}: is of build {other.decode()}, not of {build.decode()}"]


def test_a_jar_without_licences_or_entry_points_is_refused(jar, tmp_path):
    bad = changed(jar, tmp_path / "bad.jar", **{"META-INF/THIRD-PARTY": None, "META-INF/MANIFEST.MF": "Manifest-Version: 1.0\r\n"})
    assert check(bad) == [
        "META-INF/THIRD-PARTY is missing",
        "the manifest lacks Main-Class: io.glowplug.Main",
        "the manifest lacks Premain-Class: io.glowplug.GlowplugAgent",
        "the manifest lacks Agent-Class: io.glowplug.GlowplugAgent",
    ]


def test_a_jar_that_is_too_large_is_refused(jar, tmp_path):
    large = tmp_path / "large.jar"
    shutil.copyfile(jar, large)
    with zipfile.ZipFile(large, "a") as archive:
        archive.writestr("padding", bytes(8_000_000), zipfile.ZIP_STORED)
    assert check(large) == [f"{large.stat().st_size} bytes, must be under 8000000"]


def test_the_needs_of_a_library_are_read_as_objdump_reads_them(jar, tmp_path):
    library = tmp_path / "libglowplug.so"
    with zipfile.ZipFile(jar) as archive:
        library.write_bytes(archive.read(LIBRARY))
    text = machine.output(["objdump", "-p", library])
    versions = {line.split()[-1] for line in text.partition("Version References:")[2].splitlines() if line.startswith("    0x")}
    needed = [line.split()[1] for line in text.splitlines() if line.strip().startswith("NEEDED")]
    elf = Elf(library.read_bytes())
    assert versions and {version for _, version in elf.needed_versions()} == versions
    assert elf.needed_libraries() == needed


def test_the_committed_third_party_notices_are_those_in_the_jar(jar):
    with zipfile.ZipFile(jar) as archive:
        packed = archive.read("META-INF/THIRD-PARTY").decode()
    assert packed == (machine.ROOT / "THIRD-PARTY").read_text(), "run ./gradlew thirdParty and commit THIRD-PARTY"


def test_a_release_has_all_that_maven_central_asks_for(repository, jar):
    folder = repository / "io/glowplug/glowplug-spark"
    (release,) = (path for path in folder.iterdir() if path.is_dir())
    name = f"glowplug-spark-{release.name}"
    files = [f"{name}.jar", f"{name}-sources.jar", f"{name}-javadoc.jar", f"{name}.pom"]
    checksums = [f"{file}.{kind}" for file in files for kind in ("md5", "sha1", "sha256", "sha512")]
    assert {path.name for path in release.iterdir()} == {*files, *checksums}
    assert (release / f"{name}.jar").read_bytes() == jar.read_bytes()
    for file in files:
        expected = machine.output(["sha1sum", release / file]).split()[0]
        assert (release / f"{file}.sha1").read_text() == expected
    assert [version.text for version in xml.parse(folder / "maven-metadata.xml").iter("version")] == [release.name]


def test_the_pom_is_complete_and_brings_no_dependency(repository):
    (file,) = repository.glob("io/glowplug/glowplug-spark/*/*.pom")
    pom = xml.parse(file).getroot()
    texts = {path: pom.findtext("/".join(POM + part for part in path.split("/"))) for path in (
        "groupId", "artifactId", "name", "url", "licenses/license/name", "licenses/license/url", "scm/url", "scm/connection",
        "scm/developerConnection", "developers/developer/name", "developers/developer/email")}
    assert texts == {
        "groupId": "io.glowplug",
        "artifactId": "glowplug-spark",
        "name": "Glowplug for Apache Spark",
        "url": "https://github.com/glowplug/glowplug",
        "licenses/license/name": "Apache-2.0",
        "licenses/license/url": "https://www.apache.org/licenses/LICENSE-2.0.txt",
        "scm/url": "https://github.com/glowplug/glowplug",
        "scm/connection": "scm:git:https://github.com/glowplug/glowplug.git",
        "scm/developerConnection": "scm:git:https://github.com/glowplug/glowplug.git",
        "developers/developer/name": "The Glowplug developers",
        "developers/developer/email": "dev@glowplug.io",
    }
    assert len(pom.findtext(POM + "description")) > 40
    assert pom.findtext(POM + "packaging", "jar") == "jar"
    assert pom.find(POM + "dependencies") is None
    assert pom.find(POM + "parent") is None


def test_a_release_is_signed_where_a_key_is_given(jar, tmp_path):
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    environment = {"GNUPGHOME": str(keys), "PATH": "/usr/bin:/bin", "GLOWPLUG_SIGN_KEY": "test@glowplug.io"}
    machine.run(["gpg", "--batch", "--passphrase", "", "--quick-generate-key", "test@glowplug.io", "ed25519"], env=environment)
    pom = machine.ROOT / "jvm-plugin/build/publications/maven/pom-default.xml"
    target = tmp_path / "repository"
    try:
        machine.run([sys.executable, PACKAGING / "deploy.py", target.as_uri(), pom, jar], env=environment)
        signatures = sorted(target.rglob("*.asc"))
        assert [path.name for path in signatures] == [f"{jar.name}.asc", f"{jar.stem}.pom.asc"]
        for signature in signatures:
            machine.run(["gpg", "--verify", signature, signature.with_suffix("")], env=environment)
    finally:
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=environment, check=True)


def test_a_repository_that_is_no_folder_is_refused(jar, tmp_path):
    done = subprocess.run([sys.executable, PACKAGING / "deploy.py", "https://example.org/maven", tmp_path / "pom", jar], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "repositoryUrl: 'https://example.org/maven' is not allowed, only file:/some/folder; nothing is published\n"


def test_packages_brings_the_plugin_and_the_sample_from_the_users_local_repository(repository, spark, tmp_path):
    local = tmp_path / ".m2/repository"
    if versions.FULL:
        machine.run(["./gradlew", f"-Dmaven.repo.local={local}", "publishToMavenLocal"], cwd=machine.ROOT)
    else:
        shutil.copytree(repository, local)
    (release,) = (path.name for path in (local / "io/glowplug/glowplug-spark").iterdir() if path.is_dir())
    # spark-internal: the application is in the package.
    sample = apps.Application(SAMPLE, "spark-internal")
    run = spark("3.5.9").submit("local[2]", sample, args=["0.05"], plugin=False, conf={"spark.plugins": spark_support.PLUGIN},
                                options=["--packages", f"io.glowplug:glowplug-spark:{release}"],
                                env={"SPARK_SUBMIT_OPTS": f"-Duser.home={tmp_path}"}).succeeded()
    assert re.fullmatch(r"SampleSparkApp: revenue 7515903331, scores -669411172, chased 8389168062163, [\d.]+ seconds", run.stdout.splitlines()[-1])
    profile = folders.Folder(run.folder).profile
    for method, group in (("slowScore", "scoring"), ("chasePointers", "chase")):
        assert set(profile.where(lambda sample: f"{SAMPLE}.{method}" in sample.stack).by_label("job_group", "cpu")) == {group}


@pytest.mark.skipif(not versions.FULL, reason="in checkAll")
def test_the_demo_shows_the_planted_hot_spots_and_where_the_page_is():
    done = subprocess.run(["./gradlew", "demo"], cwd=machine.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert " --packages io.glowplug:glowplug-spark:" in done.stdout
    hottest = re.search(r"^The five hottest methods:\n\n.*\n.*\n((?:.+\n){5})", done.stdout, re.M)[1].splitlines()
    # Which of the two is first is up to the machine's memory.
    assert {line.split()[-1] for line in hottest[:2]} == {f"{SAMPLE}.slowScore", f"{SAMPLE}.chasePointers"}
    page = Path(re.search(r"^The flame graph: (.*)$", done.stdout, re.M)[1])
    folder = folders.Folder(page.parent)
    assert folder.summary["application"]["name"] == "glowplug-sample"
    assert set(folder.processes) == {"driver", "0", "1"}
    assert folders.data_of_page(page.read_text()) == folder.page
