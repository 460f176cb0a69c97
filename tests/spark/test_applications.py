"""Real applications on real Spark, each with and without the plugin: what a user gets, and that the job is untouched."""

import concurrent.futures
import dataclasses
import functools
import re

import pytest

from support import apps, folders, processes, versions

LOCAL, CLUSTER = "local[2]", "local-cluster[2,1,1024]"
TASK_THREAD = "Executor task launch worker"
# What a JVM numbers as it goes: hidden classes, lambdas, accessors, proxies.
NUMBERED = re.compile(r"0x[0-9a-f]{4,}|\$\$Lambda[$/]?\d|Generated\w*Accessor\d|LambdaForm\$[A-Z]+\d|[pP]roxy\d")
IN_A_TASK = "org.apache.spark.executor.Executor$TaskRunner.run"

# The busiest user method of each stage, by stage id.
BUSIEST = {
    "TwoGroups": ["TwoGroups.countPrimes", "TwoGroups.hashRounds"],
    "SqlReport": ["SqlReport$Weigh.weighGrains", "SqlReport$Polish.polishEdges"],
    "report.py": ["SqlReport$Weigh.weighGrains"],
}


def cases() -> list:
    if not versions.FULL:
        return [("3.5.9", LOCAL, "SqlReport"), ("3.5.9", LOCAL, "report.py"), ("4.3.0", CLUSTER, "TwoGroups")]
    # The one with most to assert on both masters, SQL on each in turn; PySpark takes this machine's Python from 3.4 on.
    java = [(version, master, "TwoGroups") for version in versions.SPARKS for master in (LOCAL, CLUSTER)]
    sql = [(version, CLUSTER if at % 2 else LOCAL, "SqlReport") for at, version in enumerate(versions.SPARKS)]
    python = [(version, LOCAL if at % 2 else CLUSTER, "report.py") for at, version in enumerate(versions.SPARKS)
              if versions.is_at_least(version, "3.4.0")]
    return java + sql + python


@dataclasses.dataclass
class Pair:
    version: str
    master: str
    name: str
    plain: object
    run: object
    folder: folders.Folder

    @property
    def has_labels(self) -> bool:
        """Spark tells plugins of tasks from 3.1 on."""
        return versions.is_at_least(self.version, "3.1.0")

    @property
    def executors(self) -> list:
        return ["0", "1"] if self.master == CLUSTER else []


def cases_of(name: str) -> list:
    """Those of one application that have labels."""
    return [case for case in cases() if case[2] == name and versions.is_at_least(case[0], "3.1.0")]


@pytest.fixture(scope="module")
def pairs(spark):
    """pairs(version, master, name): both runs, made once."""
    @functools.cache
    def make(version: str, master: str, name: str) -> Pair:
        chosen = spark(version)
        application = apps.spark_application("SqlReport" if name == "report.py" else name, chosen)
        # Side by side, but for the one whose shares of CPU and waiting are told apart most finely.
        with concurrent.futures.ThreadPoolExecutor(1 if name == "TwoGroups" else 2) as pool:
            plain, run = pool.map(functools.partial(submit, chosen, master, name, application), (False, True))
        return Pair(version, master, name, plain, run, folders.Folder(run.folder))

    return make


@pytest.fixture(scope="module", params=cases(), ids="-".join)
def pair(request, pairs):
    return pairs(*request.param)


def submit(spark, master: str, name: str, application: apps.Application, plugin: bool):
    options = {"plugin": plugin, "quick": name != "TwoGroups"}
    if name == "report.py":
        return spark.submit(master, apps.SOURCES / name, options=["--jars", str(application.jar)], **options)
    return spark.submit(master, application, **options)


def test_the_job_is_untouched(pair):
    assert pair.plain.exit_code == 0, pair.plain.tail
    assert (pair.run.exit_code, pair.run.stdout) == (pair.plain.exit_code, pair.plain.stdout)
    assert pair.plain.stdout


def test_each_process_says_at_its_start_what_is_profiled_and_how(pair):
    who = "driver" if pair.executors else "driver and executor (local mode)"
    place = f"the profile goes to {pair.run.work}/glowplug-profiles (default, the working directory)"
    expected = {"driver": start_line(pair, who, place)}
    expected.update({executor: start_line(pair, f"executor {executor}", "samples go to the driver") for executor in pair.executors})
    said = {"driver": processes.messages(pair.run.stderr)[0]}
    said.update({executor: processes.messages(log)[0] for executor, log in pair.run.executor_stderr.items()})
    assert set(said) == set(expected)
    for process, pattern in expected.items():
        assert re.fullmatch(pattern, said[process]), f"{process}: {said[process]}"


def start_line(pair, who: str, destination: str) -> str:
    ending = "" if pair.has_labels else f"; Spark {pair.version} does not tell plugins of tasks (3.1 and newer do): no stage labels"
    java = versions.TABLE["spark"][pair.version]["java"]
    cpu = (r"cpu=sampler-thread\(10ms\) \(JDK 8 needs its method ids made ahead of time [^)]*\)" if java == 8
           else rf"cpu=timers\(10ms\) \(proved on JDK {java}\.[\d.]+(, this is [\d.]+)?\)")
    return (rf"profiling {re.escape(who)} on OpenJDK 64-Bit Server VM \S+ with {cpu}, wall=\S+\(50ms\), alloc=[^;]*, "
            rf"runtime=[^;]*; not built in yet: lock, heap; {re.escape(destination)}; settings: all default{re.escape(ending)}")


def test_the_driver_says_at_its_end_where_the_profile_is(pair):
    lines = processes.messages(pair.run.stderr)
    count = "3 processes" if pair.executors else "1 process"
    assert re.fullmatch(rf"profile written to {re.escape(str(pair.folder.path))}: {count}, [1-9]\d* samples, "
                        r"(none lost|\d+ without a full stack \(.*\)), own cost \d+\.\d\d % of their CPU", lines[-1]), lines[-1]
    assert len(lines) == 2, "nothing but the start line and the end line: " + "\n".join(lines)


def test_all_processes_are_in_the_summary(pair):
    assert set(pair.folder.processes) == {"driver", *pair.executors}
    for process in pair.folder.summary["processes"]:
        assert process["ending"] == "shutdown", process
        assert pair.folder.profile.where(process=process["id"]).total("cpu") == process["sampled_cpu_ns"], "nothing was lost on the way"
        assert process["samples"]["cpu"] > 0 and process["samples"]["wall"] > 0, process
    assert pair.folder.summary["application"]["spark"] == pair.version


def test_the_folder_holds_what_it_shall(pair):
    expected = {"index.html", "page.json.gz", "profile.pb.gz", "driver.pb.gz", "summary.json", "periods/*.pb.gz"}
    assert pair.folder.files == expected | {f"executors/{executor}.pb.gz" for executor in pair.executors}
    assert folders.data_of_page((pair.folder.path / "index.html").read_text()) == pair.folder.page
    assert pair.folder.page["final"] is True


def test_the_busiest_user_method_of_each_stage_is_the_known_one(pair):
    user = re.compile(r"(TwoGroups|SqlReport)[.$]")
    if not pair.has_labels:
        on_task_threads = pair.folder.profile.where(lambda sample: sample.labels.get("thread", "").startswith(TASK_THREAD))
        assert busiest(on_task_threads, user) in BUSIEST[pair.name]
        return
    stages = sorted(large_stages(pair.folder.profile), key=int)
    found = [busiest(pair.folder.profile.where(stage=stage), user) for stage in stages]
    if pair.name == "TwoGroups":
        # Whichever thread comes first has the smaller stage id.
        found.sort()
    assert found == BUSIEST[pair.name]


def busiest(profile, user) -> str:
    return next(name for name in profile.self_by_name("cpu") if user.match(name))


def large_stages(profile) -> list:
    return [stage for stage, cpu in profile.by_label("stage", "cpu").items() if stage is not None and cpu > 700_000_000]


def test_the_cpu_of_a_stage_is_what_spark_says(pair):
    compared = 0
    for stage in pair.folder.summary["stages"]:
        if stage["spark_cpu_ns"] <= 5e9 or not pair.has_labels:
            continue
        compared += 1
        samples = pair.folder.profile.where(lambda sample: sample.labels["thread"].startswith(TASK_THREAD), stage=str(stage["stage"]),
                                            stage_attempt=str(stage["attempt"]))
        assert samples.total("cpu") == stage["cpu_ns"]
        assert abs(stage["cpu_ns"] - stage["spark_cpu_ns"]) <= 0.1 * stage["spark_cpu_ns"], stage
    if pair.has_labels:
        assert compared == (2 if pair.name == "TwoGroups" else 1)
        return
    on_task_threads = pair.folder.profile.where(lambda sample: sample.labels.get("thread", "").startswith(TASK_THREAD)).total("cpu")
    by_spark = sum(stage["spark_cpu_ns"] for stage in pair.folder.summary["stages"])
    assert by_spark > 5e9 and abs(on_task_threads - by_spark) <= 0.1 * by_spark


def test_labels_are_on_tasks_and_nowhere_else(pair):
    if not pair.has_labels:
        assert all("stage" not in sample.labels for sample in pair.folder.profile.samples)
        return
    labelled = pair.folder.profile.where(lambda sample: "stage" in sample.labels)
    assert labelled.samples
    # The JVM does not always find the way down from where it called Java itself.
    without_root = labelled.where(lambda sample: sample.stack[0] != "java.lang.Thread.run")
    assert without_root.total("cpu") <= 0.05 * labelled.total("cpu")
    for sample in labelled.samples:
        assert IN_A_TASK in sample.stack or sample in without_root.samples, sample
        assert sample.labels["thread"].startswith(TASK_THREAD), sample
        assert sample.labels.get("thread_state") != "IDLE", sample
    outside = pair.folder.profile.where(stage=None)
    assert not any({"job_group", "job_description", "sql_execution", "stage_attempt"} & set(sample.labels) for sample in outside.samples)
    assert outside.where(lambda sample: sample.labels.get("thread", "").startswith(TASK_THREAD), thread_state="IDLE").total("wall") > 0


@pytest.mark.parametrize("case", cases_of("TwoGroups"), ids="-".join)
def test_two_job_groups_at_once_are_told_apart(pairs, case):
    pair = pairs(*case)
    profile = pair.folder.profile
    groups = {"hashing": ("blue", "TwoGroups.hash"), "counting": ("green", "TwoGroups.count")}
    for group, (team, task) in groups.items():
        samples = profile.where(job_group=group)
        assert samples.total("cpu") > 5e9 * 0.9
        assert {sample.labels["stage"] for sample in samples.samples} == {pair.folder.stage_of(user_team=team)}
        assert {sample.labels["job_description"] for sample in samples.samples} == {f"the {group} job"}
        others = {"TwoGroups.hash", "TwoGroups.count"} - {task}
        assert not [sample for sample in samples.samples if others & set(sample.stack)]
        by_group = profile.where(lambda sample: task in sample.stack).by_label("job_group", "samples")
        assert set(by_group) == {group}
    planning = profile.where(lambda sample: "TwoGroups.planNextQuarter" in sample.stack)
    assert planning.total("cpu") > 1e9
    assert planning.where(stage=None, job_group=None, process="driver").total("cpu") == planning.total("cpu")


@pytest.mark.parametrize("case", [case for case in cases_of("TwoGroups") if case[1] == CLUSTER], ids="-".join)
def test_executors_name_the_same_code_alike(pairs, case):
    """Lambdas and hidden classes have other names in each JVM."""
    folder = pairs(*case).folder
    first, second = (folder.profile.where(lambda sample: "stage" in sample.labels, process=executor) for executor in ("0", "1"))
    work = {"TwoGroups$$Lambda.call", "TwoGroups.hash", "TwoGroups.allocateBuffers", "TwoGroups.hashRounds", "TwoGroups.count",
            "TwoGroups.countPrimes"}
    # What is beside the way from a thread's root to the job's methods, as the first load of a class, an executor is met in by chance.
    ways = [names_on_the_way(executor, work) for executor in (first, second)]
    assert ways[0] == ways[1]
    assert work < ways[0] and IN_A_TASK in ways[0]
    assert {name for name in ways[0] if name.startswith("TwoGroups")} == work
    assert [name for executor in (first, second) for name in executor.names() if NUMBERED.search(name)] == []


def names_on_the_way(profile, work: set) -> set:
    """Of every stack that leads to the job's methods, the names from its root to the last of them."""
    stacks = [sample.stack for sample in profile.samples if IN_A_TASK in sample.stack and not work.isdisjoint(sample.stack)]
    return {name for stack in stacks for name in stack[:1 + max(at for at, name in enumerate(stack) if name in work)]}


@pytest.mark.parametrize("case", cases_of("TwoGroups"), ids="-".join)
def test_what_the_tasks_of_a_stage_allocate_is_counted_and_found_by_samples(pairs, case):
    pair = pairs(*case)
    stages = {str(stage["stage"]): stage for stage in pair.folder.summary["stages"]}
    hashing, counting = (stages[pair.folder.stage_of(user_team=team)] for team in ("blue", "green"))
    assert (hashing["tasks"]["count"], counting["tasks"]["count"]) == (12, 12)
    buffers = 12 * 64 * 2**20
    # Spark's own part of a task is small, but for the first one in a JVM: 100 MiB.
    assert buffers <= hashing["tasks"]["alloc_bytes"] <= 1.5 * buffers
    assert 0 < counting["tasks"]["alloc_bytes"] <= 0.5 * buffers
    # Where the samples are counters, too, the same but for the borders of tasks. Else some 400 samples, give or take 20, of a
    # JVM that picks arrays of this size up to 25 % too often.
    counters = all("alloc=counters" in process["engines"] for process in pair.folder.summary["processes"])
    ratio = hashing["alloc_bytes"] / hashing["tasks"]["alloc_bytes"]
    assert abs(ratio - 1) <= (0.05 if counters else 0.4), hashing
    allocating = pair.folder.profile.where(lambda sample: "TwoGroups.allocateBuffers" in sample.stack)
    assert set(allocating.by_label("job_group", "alloc_space")) == {"hashing"}


@pytest.mark.parametrize("case", cases_of("SqlReport"), ids="-".join)
def test_a_query_is_told_by_its_execution_and_description(pairs, case):
    labelled = pairs(*case).folder.profile.where(lambda sample: "stage" in sample.labels)
    assert set(labelled.by_label("job_description", "cpu")) == {"orders by customer"}
    assert set(labelled.by_label("sql_execution", "cpu")) == {"0"}
    assert any(re.search(r"GeneratedIteratorForCodegenStage\d+\.", name) for name in labelled.names())
