"""Secrets, planted wherever the profiler looks: none is in the folder, in a line of ours, or once more in the event log."""

import concurrent.futures
import re

import pytest

from support import folders, processes

# What spark.redaction.string.regex matches; the application puts it into SQL text, descriptions, labels, names and failures.
TEXT = "AKIAGLOWPLUGSECRET7"
# What stands under a key that spark.redaction.regex matches.
VALUES = {
    "spark.hidden.password": "swordfish-in-conf",
    "spark.executorEnv.STORE_TOKEN": "swordfish-in-executor-env",
    "spark.hadoop.fs.s3a.secret.key": "swordfish-in-hadoop",
    "spark.glowplug.label.password": "swordfish-as-setting",
    "spark.glowplug.google.acces.key": "swordfish-under-unknown-key",
    # The pattern also hides a value that it matches.
    "spark.glowplug.depth": "password=swordfish-in-value",
    "spark.glowplug.google.name": "token-swordfish-in-name",
    "spark.yarn.appMasterEnv.PROFILING_CONTEXT": '{"profilingGroupName":"secret-swordfish-in-context"',
    "spark.executorEnv.PROFILING_CONTEXT": '{"profilingGroupName":"secret-swordfish-in-executor-context"',
}
ENVIRONMENT = {"DB_PASSWORD": "swordfish-in-env", "ENABLE_TOKEN_PROFILER": "swordfish-in-switch"}
SECRETS = re.compile(rf"{TEXT}|swordfish-[a-z-]+")


@pytest.fixture(scope="module")
def runs(spark, application, tmp_path_factory):
    """Without the plugin, and with it, at the same time."""
    chosen = spark("4.3.0")
    program = application("KeepsSecrets", chosen)

    def run_and_log(plugin):
        events = tmp_path_factory.mktemp("events")
        conf = {**VALUES, "spark.redaction.string.regex": "AKIA[A-Z0-9]+", "spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri(),
                "spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false"}
        run = chosen.submit("local-cluster[1,1,1024]", program, args=[TEXT], conf=conf, env=ENVIRONMENT, plugin=plugin)
        log = "".join(file.read_text() for file in events.rglob("*") if file.is_file() and not file.name.startswith("."))
        return run.succeeded(), log

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(run_and_log, (False, True)))


def test_the_job_had_the_secret_where_it_could_be_seen(runs):
    (plain, plain_log), (run, _) = runs
    assert run.stdout == plain.stdout == "[[190]]\n[1]\nfailed as planned\n"
    assert SECRETS.search(plain_log), "the event log itself holds it"


def test_no_file_of_the_folder_holds_a_secret(runs):
    run = runs[1][0]
    contents = folders.contents(run.folder)
    assert {"index.html", "index.html data", "page.json.gz", "profile.pb.gz", "driver.pb.gz", "executors/0.pb.gz", "summary.json"} <= set(contents)
    for name, content in contents.items():
        assert SECRETS.findall(content.decode(errors="replace")) == [], name


def test_what_was_hidden_is_marked(runs):
    folder = folders.Folder(runs[1][0].folder)
    query = folder.profile.where(stage="0", process="0")
    assert query.total("cpu") > 0.5e9
    labels = {key: set(query.by_label(key, "cpu")) for key in ("job_group", "job_description", "user_customer", "user_password")}
    assert labels == {"job_group": {"group of ***"}, "job_description": {"describes ***"}, "user_customer": {"customer ***"}, "user_password": {"***"}}
    assert "called at ***" in {stage["name"] for stage in folder.summary["stages"]}
    failures = [stage["failure"] for stage in folder.summary["stages"] if stage.get("failure")]
    assert len(failures) == 1 and "failed over ***" in failures[0]
    settings = {setting["key"]: setting["value"] for setting in folder.summary["settings"]}
    assert settings["spark.glowplug.google.name"] == "***"
    assert folder.summary["profile"]["name"] == "***"
    assert folder.summary["application"]["name"] == folder.page["title"] == "keeps ***"


def test_no_line_of_ours_holds_a_secret(runs):
    run = runs[1][0]
    lines = processes.messages(run.stderr) + processes.messages(run.executor_stderr["0"])
    assert [line for line in lines if line.startswith("WARN spark.glowplug.depth=*** ")]
    assert [line for line in lines if SECRETS.search(line)] == []


def test_the_event_log_holds_a_secret_no_more_often_than_without_the_plugin(runs):
    (_, plain), (_, log) = runs
    without, with_plugin = ({secret: text.count(secret) for secret in set(SECRETS.findall(plain + log))} for text in (plain, log))
    assert with_plugin == without
