"""Bad input: one JVM makes and stops a SparkContext for each case; the job runs in every one, and the user is told exactly what is wrong."""

import re
import urllib.parse
import zipfile
from pathlib import Path

import pytest

from support import folders, library, processes

# What a user wrote -> what the user reads, after "WARN ".
SETTINGS = {
    "wrong key": (
        {"spark.glowplug.cpu.intervall": "5ms"},
        "spark.glowplug.cpu.intervall is not a setting of this version and has no effect; the nearest one is spark.glowplug.cpu.interval"),
    "wrong switch": (
        {"spark.yarn.appMasterEnv.ENABLE_AMAZONE_PROFILER": "true"},
        "spark.yarn.appMasterEnv.ENABLE_AMAZONE_PROFILER is not a switch of Glowplug and has no effect on it; the nearest one is ENABLE_AMAZON_PROFILER"),
    "wrong unit": (
        {"spark.glowplug.cpu.interval": "10 parsecs"},
        'spark.glowplug.cpu.interval=10 parsecs (conf) has the unknown unit "parsecs"; allowed is a duration from 1ms to 10s, or off; '
        "the default is used: 10ms"),
    "unit of another kind": (
        {"spark.glowplug.alloc.interval": "2s"},
        'spark.glowplug.alloc.interval=2s (conf) has the unknown unit "s"; allowed is a size from 16k to 1g, or off; the default is used: 2m'),
    "out of range": (
        {"spark.glowplug.wall.interval": "2h"},
        "spark.glowplug.wall.interval=2h (conf) is out of range; allowed is a duration from 10ms to 1m, or off; the default is used: 50ms"),
    "no number": (
        {"spark.glowplug.depth": "deep"},
        "spark.glowplug.depth=deep (conf) is not understood; allowed is a whole number from 16 to 1000; the default is used: 1000"),
    "a negative number": (
        {"spark.glowplug.depth": "-1"},
        "spark.glowplug.depth=-1 (conf) is out of range; allowed is a whole number from 16 to 1000; the default is used: 1000"),
    "relative native folder": (
        {"spark.glowplug.native.dir": "lib"},
        "spark.glowplug.native.dir=lib (conf) is not an absolute path; allowed is an absolute path of the local file system; "
        "the default is used: the first of java.io.tmpdir, the working directory, LOCAL_DIRS, spark.local.dir and the user's home that works"),
    "a label as a setting": (
        {"spark.glowplug.label.team": "blue"},
        'spark.glowplug.label.team has no effect as a setting: labels are local properties, set this one with '
        'SparkContext.setLocalProperty("spark.glowplug.label.team", value)'),
    "an engine of a later version": (
        {"spark.glowplug.lock.threshold": "1ms"},
        "spark.glowplug.lock.threshold=1ms (conf) has no effect: the lock engine is not built into this version"),
}

GROUP = "G-1"
# The forms in which PROFILING_CONTEXT arrives, each of which names the group.
CONTEXTS = {
    "as documented": '{"profilingGroupName":"G-1","driverEnabled":"true"}',
    "real booleans, blanks and lines": '\n{ "profilingGroupName" : "G-1",\n  "driverEnabled" : true }\n',
    "backslashes of a conf value": r'{\"profilingGroupName\":\"G-1\",\"driverEnabled\":\"true\"}',
    "escaped comma after the launch script": r'{"profilingGroupName":"G-1"\,"driverEnabled":"true"}',
    "three backslashes of EMR's JSON": r'{\\\"profilingGroupName\\\":\\\"G-1\\\"\\,\\\"driverEnabled\\\":\\\"true\\\"}',
    "quotes eaten by the launch script": "{profilingGroupName:G-1,driverEnabled:true}",
    "single quotes round it": "'{\"profilingGroupName\":\"G-1\",\"driverEnabled\":\"true\"}'",
    "double quotes round it": '"{"profilingGroupName":"G-1","driverEnabled":"true"}"',
    "a JSON string": r'"{\"profilingGroupName\":\"G-1\",\"driverEnabled\":\"true\"}"',
    "single quotes inside": "{'profilingGroupName':'G-1','driverEnabled':'true'}",
    "typographic quotes": "{“profilingGroupName”:“G-1”,“driverEnabled”:“true”}",
    "a printed Java map": "{profilingGroupName=G-1, driverEnabled=true}",
}
# What is left of one beyond repair, and the cause that the user reads.
BROKEN_CONTEXTS = {
    "a fragment of brace expansion": (
        '"driverEnabled":"true"',
        "only a fragment without braces is left of the JSON: bash expands {a,b} where the value stands unquoted in a shell file; put single "
        "quotes round it"),
    "no object": ("[1,2", 'it is no JSON object: {"name":"value",…} is'),
    "cut at a blank": (
        '{"profilingGroupName":"G-1",',
        "its end is missing: the value was cut at a blank or a comma; write the JSON without blanks and quote all of it"),
}

# The others, driver.receive and listener.onExecutorRemoved, are called on a cluster alone: NothingLeavesThePluginTest throws there.
PLACES = ["driver.init", "driver.registerMetrics", "driver.shutdown", "executor.init", "executor.onTaskStart", "executor.onTaskSucceeded",
          "executor.onTaskFailed", "executor.shutdown", "listener.onExecutorAdded", "listener.onStageSubmitted", "listener.onStageCompleted",
          "listener.onApplicationEnd"]
# Where Spark asks for the two halves: there is no logger yet that could be told.
FACTORIES = ["plugin.driverPlugin", "plugin.executorPlugin"]


class Case:
    def __init__(self, name: str, folder: Path, messages: list, text: str):
        self.name, self.folder, self.messages, self.text = name, folder, messages, text

    @property
    def warnings(self) -> list:
        return [message.removeprefix("WARN ") for message in self.messages if message.startswith("WARN ")]

    @property
    def profiles(self) -> list:
        return [folders.Folder(path) for path in sorted(self.folder.glob("*")) if path.is_dir()] if self.folder.exists() else []

    @property
    def profile(self) -> folders.Folder:
        assert len(self.profiles) == 1, f"{self.name}: {self.messages}"
        return self.profiles[0]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("harness")


@pytest.fixture(scope="module")
def cases(spark, application, jar, work):
    """Name -> Case, of one harness JVM."""
    chosen = spark("3.5.9")
    listed = list(all_cases(jar, work))
    file = work / "cases"
    file.write_text("".join(f"case {name}\n" + "".join(f"{key} {urllib.parse.quote_plus(value)}\n" for key, value in conf.items())
                            for name, conf in listed))
    run = chosen.submit("local[1]", application("Harness", chosen), args=[file], plugin=False,
                        conf={"spark.ui.enabled": "false", "spark.plugins": "io.glowplug.GlowplugPlugin"}).succeeded()
    assert run.stdout.splitlines() == [f"{name}: 14" for name, _ in listed], "every job has its result"
    found = {}
    for name, _ in listed:
        text = run.stderr.partition(f"harness: begin {name}\n")[2].partition(f"harness: end {name}\n")[0]
        found[name] = Case(name, folder_of(work, name), processes.messages(text), text)
    return found


def folder_of(work: Path, name: str) -> Path:
    return work / "profiles" / re.sub(r"\W", "-", name)


def all_cases(jar: Path, work: Path):
    """(name, what Harness.java reads). Until the first one that loads the library, none may be loaded."""
    def case(name, loader="plugin", path=jar, **conf):
        conf = {key.replace("__", "."): value for key, value in conf.items()}
        return name, {"spark.glowplug.dir": str(folder_of(work, name)), "harness.loader": loader, "harness.jar": str(path), **conf}

    def with_conf(name, conf):
        name, settings = case(name)
        return name, {**settings, **conf}

    ours = library.read(jar)
    foreign = ours[:18] + (183).to_bytes(2, "little") + ours[20:]
    yield case("unsupported platform", loader="platform", **{"harness__property__os__arch": "riscv64"})
    yield case("missing library", "missing", changed(jar, work / "missing.jar", None))
    yield case("truncated library", "truncated", changed(jar, work / "truncated.jar", ours[:len(ours) // 2]))
    yield case("library of another architecture", "foreign", changed(jar, work / "foreign.jar", foreign))

    yield with_conf("first context", {"spark.glowplug.alloc.interval": "off", "spark.glowplug.wall.interval": "1m", "spark.glowplug.cpu.interval": "off"})
    yield with_conf("second context", {"spark.glowplug.alloc.interval": "16k"})
    yield case("another class loader", "again", jar)
    yield case("another version", "other", changed(jar, work / "other.jar", library.of_another_build(ours)))

    for name, (conf, _) in SETTINGS.items():
        yield with_conf(name, conf)
    for name, context in CONTEXTS.items():
        yield with_conf(f"context {name}", {"spark.yarn.appMasterEnv.PROFILING_CONTEXT": context})
    for name, (context, _) in BROKEN_CONTEXTS.items():
        yield with_conf(f"context {name}", {"spark.yarn.appMasterEnv.PROFILING_CONTEXT": context})
    yield with_conf("unwritable folder", {"spark.glowplug.dir": "/proc/glowplug"})
    yield with_conf("file system whose class is absent", {"spark.glowplug.dir": "s3a://bucket/profiles"})
    yield with_conf("unknown file system", {"spark.glowplug.dir": "nofs://host/profiles"})
    yield with_conf("switched off", {"spark.glowplug.enabled": "false"})
    yield with_conf("driver switched off", {"spark.glowplug.driver.enabled": "false"})
    yield with_conf("through the Hadoop configuration", {"spark.hadoop.spark.glowplug.depth": "100", "spark.hadoop.spark.glowplug.cpu.intervall": "5ms"})
    yield with_conf("on request", {"spark.glowplug.enabled": "requested"})
    yield with_conf("requested", {"spark.glowplug.enabled": "requested", "spark.yarn.appMasterEnv.ENABLE_GLOWPLUG_PROFILER": "true"})
    yield with_conf("beside another plugin", {"spark.plugins": "Harness$Other,io.glowplug.GlowplugPlugin"})
    for place in [*PLACES, *FACTORIES]:
        fails = {"harness__fails": "true"} if place == "executor.onTaskFailed" else {}
        yield case(f"throws at {place}", **{"harness__property__GLOWPLUG_TEST_THROW": place}, **fails)


def changed(jar: Path, target: Path, content) -> Path:
    """A copy of the jar with another library, or with none."""
    with zipfile.ZipFile(jar) as source, zipfile.ZipFile(target, "w") as copy:
        for entry in source.infolist():
            if entry.filename != library.PATH:
                copy.writestr(entry, source.read(entry))
        if content:
            copy.writestr(library.PATH, content)
    return target


@pytest.mark.parametrize("name", SETTINGS)
def test_a_bad_setting_is_named_with_what_is_allowed_and_what_happens(cases, name):
    case = cases[name]
    assert case.warnings == [SETTINGS[name][1]]
    told = [warning["message"] for warning in case.profile.summary["warnings"] if not warning["message"].startswith(processes.BUSY_MACHINE)]
    assert told == case.warnings, "the folder tells it too, long after the log is gone"
    assert case.profile.profile.total("cpu") > 0


@pytest.mark.parametrize("name", CONTEXTS)
def test_a_context_is_understood_in_every_form_in_which_it_arrives(cases, name):
    case = cases[f"context {name}"]
    assert case.profile.summary["profile"]["group"] == GROUP
    # It names the profile in the folder, too: no reason for a warning.
    assert case.warnings == []
    assert case.messages[0] == ("spark.yarn.appMasterEnv.PROFILING_CONTEXT.profilingGroupName (conf) is set, but Amazon CodeGuru Profiler is not "
                                "switched on: nothing is uploaded to it")


@pytest.mark.parametrize("name", BROKEN_CONTEXTS)
def test_a_context_beyond_repair_is_ignored_with_its_cause(cases, name):
    case = cases[f"context {name}"]
    assert case.profile.summary["profile"]["group"] == f"context {name}"
    assert case.warnings == [f"spark.yarn.appMasterEnv.PROFILING_CONTEXT (conf) is not understood: {BROKEN_CONTEXTS[name][1]}; allowed is JSON "
                             'such as {"profilingGroupName":"name"}; all of it is ignored']


def test_an_unsupported_platform_is_said_once(cases):
    case = cases["unsupported platform"]
    assert case.messages == ["WARN off, and the job runs on without a profile: this platform is Linux on riscv64, and Glowplug runs on Linux on x86_64 "
                             "or aarch64 with glibc 2.17 or newer"]
    assert case.profiles == []


def test_a_jar_without_the_library_is_said_once(cases):
    case = cases["missing library"]
    assert case.messages == [f"WARN off, and the job runs on without a profile: the jar holds no {library.PATH}"]
    assert case.profiles == []


@pytest.mark.parametrize("name, cause", [
    ("truncated library", r"IO the library is cut off after \d+ bytes$"),
    ("library of another architecture", r"cannot open shared object file.*Possible cause: can't load AARCH64 .*platform"),
])
def test_a_library_that_cannot_be_loaded_is_said_once_with_every_folder_that_was_tried(cases, name, cause):
    case = cases[name]
    assert len(case.messages) == 1, case.messages
    message = case.messages[0]
    begin, end = ("WARN off, and the job runs on without a profile: the native library could not be loaded from any folder: ",
                  ". Set spark.glowplug.native.dir to an absolute folder that this user may write to and execute from")
    assert message.startswith(begin) and message.endswith(end), message
    tried = message[len(begin):-len(end)].split("; ")
    assert [re.search(r" \(([a-z.]+)\): ", place)[1] for place in tried] == ["java.io.tmpdir", "user.dir", "spark.local.dir", "user.home"], tried
    assert all(re.search(cause, place) for place in tried), tried
    assert case.profiles == []


def test_two_contexts_one_after_the_other_have_a_profile_each(cases):
    first, second = cases["first context"], cases["second context"]
    for case in (first, second):
        assert case.warnings == []
        assert [message.split(" ")[0] for message in case.messages] == ["profiling", "profile"]
    assert "Harness.second" not in first.profile.profile.names()
    assert {"Harness.second"} == {"Harness.first", "Harness.second"} & second.profile.profile.names()
    assert first.profile.summary["application"]["name"] == "first context"
    assert second.profile.summary["application"]["name"] == "second context"


def test_a_later_context_has_the_engines_that_it_asks_for_and_its_own_totals(cases):
    """The first one had CPU and allocations off, and looked at threads once a minute."""
    first, second = (cases[name].profile.summary["processes"][0] for name in ("first context", "second context"))
    assert [engine.partition("=")[2] for engine in first["engines"]] == ["off", "sweep(60s)", "off", "off"]
    assert (first["samples"]["cpu"], first["samples"]["alloc"]) == (0, 0)
    assert [engine.partition("=")[2] for engine in second["engines"]] == ["timers(10ms)", "sweep(50ms)", "jvmti(16KiB)", "on"]
    profile = cases["second context"].profile.profile
    assert second["sampled_cpu_ns"] == profile.total("cpu"), "what a former context used is not this one's"
    assert second["samples"]["alloc"] > 20 and profile.total("alloc_space") > 2**20
    work = profile.where(lambda sample: "Harness.second" in sample.stack, stage="0")
    assert 0.7 * 180e6 <= work.total("cpu") <= 1.3 * 180e6
    assert work.total("wall") >= 0.7 * 180e6


def test_another_class_loader_shares_the_core(cases):
    case = cases["another class loader"]
    assert case.warnings == []
    assert case.profile.profile.where(lambda sample: "Harness.first" in sample.stack, stage="0").total("cpu") > 0


def test_another_version_in_the_same_jvm_stays_off(cases, work):
    case = cases["another version"]
    assert len(case.messages) == 1, case.messages
    assert re.fullmatch(r"WARN off, and the job runs on without a profile: another build of Glowplug runs in this JVM: (\S+) of java\.net\."
                        rf"URLClassLoader@\w+ in process \d+, while this jar \({re.escape(str(work / 'other.jar'))}\) is build \S+~\. "
                        r"Keep one of the two jars", case.messages[0]), case.messages
    assert case.profiles == []


def test_a_folder_that_cannot_be_written_is_said_with_the_cause(cases):
    check_unwritten(cases["unwritable folder"], "/proc/glowplug", "java.nio.file.NoSuchFileException: /proc/glowplug")


@pytest.mark.parametrize("name, place, cause", [
    ("file system whose class is absent", "s3a://bucket/profiles",
     "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"),
    ("unknown file system", "nofs://host/profiles", 'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "nofs"'),
])
def test_a_file_system_that_is_not_there_is_said_with_the_cause(cases, name, place, cause):
    check_unwritten(cases[name], place, cause)


def check_unwritten(case, place: str, cause: str) -> None:
    """Said once when it happens, and in the last line: nobody is told that the profile is there."""
    first, last = case.warnings
    assert re.fullmatch(rf"{re.escape(place)}/\S+ could not be written: .*{re.escape(cause)}.*; each report tries again, and the last line of this "
                        "application says what came of it", first), first
    assert re.fullmatch(rf"profile NOT written to {re.escape(place)}/\S+: (\d+) of \1 files could not be written, the first of them "
                        rf"{re.escape(place)}/\S+: .*{re.escape(cause)}.*; 1 process, \d+ samples, .*", last), last
    assert [message.split(" ")[0] for message in case.messages] == ["profiling", "WARN", "WARN"], case.messages


@pytest.mark.parametrize("name, key", [("switched off", "spark.glowplug.enabled"), ("driver switched off", "spark.glowplug.driver.enabled")])
def test_switched_off_is_said_in_one_line_and_leaves_no_folder(cases, name, key):
    case = cases[name]
    assert case.messages == [f"not profiling this process: {key} is false (conf)"]
    assert case.profiles == []


def test_keys_of_ours_in_the_hadoop_configuration_are_settings_too(cases):
    case = cases["through the Hadoop configuration"]
    # What begins with spark.hadoop. Spark itself puts there.
    settings = {row["key"]: (row["value"], row["origin"]) for row in case.profile.summary["settings"]}
    assert settings["spark.glowplug.depth"] == ("100", "hadoop")
    assert case.warnings == [SETTINGS["wrong key"][1]]


def test_on_request_nothing_starts_until_a_job_asks(cases):
    case = cases["on request"]
    assert len(case.messages) == 1 and case.messages[0].startswith("not profiling this process: spark.glowplug.enabled is requested (conf)"), case.messages
    assert case.profiles == []
    asked = cases["requested"]
    assert asked.warnings == []
    assert asked.profile.profile.where(lambda sample: "Harness.first" in sample.stack, stage="0").total("cpu") > 0


def test_another_plugin_beside_ours_works_and_so_do_we(cases):
    case = cases["beside another plugin"]
    assert case.warnings == []
    told = re.findall(r"^harness: other plugin: (.*)$", case.text, re.M)
    assert told[:3] == ["driver up", "executor up", "driver received hello"]
    # LocalSchedulerBackend.stop asks the executor to stop and does not wait.
    assert sorted(told[3:]) == ["driver down", "executor down"]
    assert case.profile.profile.where(lambda sample: "Harness.first" in sample.stack, stage="0").total("cpu") > 0


@pytest.mark.parametrize("place", PLACES)
def test_what_is_thrown_in_the_plugin_is_said_once_and_reaches_nobody(cases, place):
    case = cases[f"throws at {place}"]
    assert case.warnings == [f"{place} failed, and the job runs on without it: java.lang.NoSuchMethodError: GLOWPLUG_TEST_THROW={place}"]


@pytest.mark.parametrize("place, profiles", [("plugin.driverPlugin", 0), ("plugin.executorPlugin", 1)])
def test_a_half_that_cannot_be_made_is_said_and_spark_goes_on_with_the_other(cases, place, profiles):
    case = cases[f"throws at {place}"]
    assert case.warnings == [f"off, and the job runs on without a profile: java.lang.NoSuchMethodError: GLOWPLUG_TEST_THROW={place}"]
    assert len(case.profiles) == profiles
