use super::*;
use crate::encode::{page, pprof};
use crate::profile::{Engine, Profile, TaskTotals, ThreadState, VALUE_TYPES};
use crate::relay::testing::{
    body_of, changed, random_samples, readable, sealed, totals, Random, Sender, SECOND,
};
use crate::relay::{decode_answer, encode, Answered, Outbox};
use crate::settings::{resolve, Role};
use flate2::Compression;
use std::collections::BTreeSet;

/// A border of five-minute periods.
const T: u64 = 1_796_009_400 * SECOND;
const PERIOD: u64 = 300 * SECOND;
const TASK: &str = "Executor task launch worker";

/// Writes one line for each stack: what a test can read, add and compare.
struct Lines;

impl Encoder for Lines {
    fn pprof(&self, profile: &Profile, part: &Part<'_>) -> Vec<u8> {
        let only = part.process.map(|process| format!("process={process}"));
        let rows = readable(profile).into_iter();
        let held =
            |labels: &str| only.as_ref().is_none_or(|only| labels.split(' ').any(|label| label == only));
        let rows: Rows = rows.filter(|((_, labels), _)| held(labels)).collect();
        write(&rows)
    }

    fn merge(&self, first: &[u8], second: &[u8]) -> Result<Vec<u8>, String> {
        let mut rows = read(first);
        for (key, values) in read(second) {
            rows.entry(key).or_default().add(&values);
        }
        Ok(write(&rows))
    }

    fn page(&self, profile: &Profile, part: &Part<'_>, edition: &Edition<'_>) -> Page {
        let html = format!("edition {} {}", edition.number, if edition.complete { "complete" } else { "" });
        Page { data: self.pprof(profile, part), html: html.into_bytes() }
    }
}

type Rows = BTreeMap<(String, String), Values>;

fn write(rows: &Rows) -> Vec<u8> {
    let line = |((stack, labels), values): (&(String, String), &Values)| {
        format!("{stack}|{labels}|{:?}\n", values.0)
    };
    rows.iter().map(line).collect::<String>().into_bytes()
}

fn read(bytes: &[u8]) -> Rows {
    let text = std::str::from_utf8(bytes).unwrap();
    let row = |line: &str| {
        let [stack, labels, values] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let mut row = Values::default();
        let values = values.trim_matches(['[', ']']).split(", ");
        row.0.iter_mut().zip(values).for_each(|(slot, value)| *slot = value.parse().unwrap());
        ((stack.to_string(), labels.to_string()), row)
    };
    text.lines().map(row).collect()
}

fn sum_of(bytes: &[u8]) -> Values {
    totals(read(bytes).values())
}

fn settings() -> Settings {
    Settings { report_interval: Duration::from_nanos(PERIOD), ..resolve(&[], Role::Driver).settings }
}

fn info() -> ApplicationInfo {
    ApplicationInfo {
        id: "app-1".into(),
        name: "Nightly".into(),
        spark: "3.5.1".into(),
        scala: "2.12".into(),
        jar: "/driver/glowplug.jar".into(),
        engines: "cpu=timers(10ms)".into(),
        ..ApplicationInfo::default()
    }
}

fn application_with(settings: &Settings) -> Application {
    let folder = Some("/profiles/app-1".to_string());
    Application::new(info(), settings, folder, Box::new(Lines), Box::new(|text| text.replace("hush", "***")))
}

/// An application whose scheduler knows the executors `0..executors`.
fn application(executors: u32) -> Application {
    let mut application = application_with(&settings());
    for id in 0..executors {
        add(&mut application, &id.to_string());
    }
    application
}

fn add(application: &mut Application, id: &str) {
    application.event(ApplicationEvent::ExecutorAdded { id: id.into(), host: format!("host-{id}") }, T);
}

fn folded(application: &mut Application, what: &str) -> (u64, u64) {
    let rows = application.summary().folded;
    rows.iter().find(|row| row.what == what).map_or((0, 0), |row| (row.count, row.weight))
}

fn sum(application: &Application) -> Values {
    totals(application.merged().cells.iter().map(|(_, values)| values))
}

fn by_process(application: &Application) -> BTreeMap<String, u64> {
    let profile = application.merged();
    let mut cpu = BTreeMap::new();
    for ((_, set), values) in profile.cells.iter() {
        let process = profile.dictionary.label(set, "process").expect("each set has the label");
        *cpu.entry(process.to_string()).or_default() += values.get(ValueType::Cpu);
    }
    cpu
}

fn contents(files: Vec<FolderFile>) -> BTreeMap<String, Vec<u8>> {
    files.into_iter().filter_map(|file| Some((file.path, file.bytes?))).collect()
}

/// Applies changes to a folder.
fn apply(folder: &mut BTreeMap<String, Vec<u8>>, files: Vec<FolderFile>) {
    for file in files {
        match file.bytes {
            Some(bytes) => folder.insert(file.path, bytes),
            None => folder.remove(&file.path),
        };
    }
}

fn cpu_delta(sender: &mut Sender, nanoseconds: u64, from: u64) -> Delta {
    sender.sample(&["a.Main.run", "a.Job.work"], &[("thread", TASK)], Values::cpu(1, nanoseconds));
    sender.delta(from, from + SECOND)
}

#[test]
fn each_process_stands_under_its_own_label_and_the_parts_add_up() {
    let mut application = application(2);
    let mut random = Random(7);
    for id in ["driver", "0", "1"] {
        let mut sender = Sender::new(id);
        for step in 0..3 {
            random_samples(&mut sender, &mut random, 200);
            assert_eq!(application.ingest(sender.delta(T + step, T + step + 1), T + SECOND).ack, step + 1);
        }
    }
    let whole = sum(&application);
    let files = contents(application.finish(T + 2 * SECOND));
    let paths: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "driver.pb.gz",
            "executors/0.pb.gz",
            "executors/1.pb.gz",
            "index.html",
            "page.json.gz",
            "periods/20261130T033000Z.pb.gz",
            "profile.pb.gz",
            "summary.json"
        ]
    );
    let mut parts = Values::default();
    for path in ["driver.pb.gz", "executors/0.pb.gz", "executors/1.pb.gz"] {
        parts.add(&sum_of(&files[path]));
    }
    assert_eq!(parts, whole);
    assert_eq!(sum_of(&files["profile.pb.gz"]), whole);
    assert_eq!(sum_of(&files["periods/20261130T033000Z.pb.gz"]), whole);
}

#[test]
fn the_files_themselves_add_up_to_the_nanosecond() {
    let folder = Some("/profiles/app-1".to_string());
    let mut application =
        Application::new(info(), &settings(), folder, Box::new(Formats), Box::new(str::to_string));
    let mut random = Random(21);
    let mut senders: Vec<Sender> = ["driver", "0", "1"].map(Sender::new).into();
    ["0", "1"].iter().for_each(|id| add(&mut application, id));
    let mut files = BTreeMap::new();
    for index in 0..62 {
        let (sender, now) = (&mut senders[index as usize % 3], T + index * PERIOD);
        random_samples(sender, &mut random, 20);
        application.ingest(sender.delta(now, now + SECOND), now + SECOND);
        apply(&mut files, application.due(now + 20 * SECOND));
    }
    let whole = sum(&application);
    apply(&mut files, application.finish(T + 62 * PERIOD));
    let sum_of = |path: &String| {
        let read = pprof::decode(&files[path]).unwrap();
        totals(read.profile.cells.iter().map(|(_, values)| values))
    };
    let sum_below = |start: &str| {
        let sums: Vec<Values> = files.keys().filter(|path| path.starts_with(start)).map(sum_of).collect();
        totals(sums.iter())
    };
    let mut processes = sum_below("executors/");
    processes.add(&sum_below("driver.pb.gz"));
    assert_eq!(sum_below("profile.pb.gz"), whole);
    assert_eq!(processes, whole);
    assert_eq!(sum_below("periods/"), whole);
    assert_eq!(files.keys().filter(|path| path.starts_with("periods/")).count(), 60);
    let page = page::read_info(&files["page.json.gz"]).unwrap();
    assert!(page.complete);
    assert_eq!(page.processes.len(), 3);
    let summary: Summary = serde_json::from_slice(&files["summary.json"]).unwrap();
    assert_eq!(summary, application.summary());
}

#[test]
fn a_repeated_delta_is_acknowledged_again_and_counted_once() {
    let mut application = application(1);
    let delta = cpu_delta(&mut Sender::new("0"), 500, T);
    assert_eq!(application.ingest(delta.clone(), T).ack, 1);
    assert_eq!(application.ingest(delta, T).ack, 1);
    assert_eq!(application.merged().total(ValueType::Cpu), 500);
    assert_eq!(folded(&mut application, "repeated deltas"), (1, 0));
}

#[test]
fn a_delta_out_of_order_waits_for_the_one_before() {
    let mut application = application(1);
    let mut sender = Sender::new("0");
    let deltas: Vec<Delta> = (0..3).map(|step| cpu_delta(&mut sender, 1 << step, T)).collect();
    for (at, ack) in [(2, 0), (0, 1), (2, 1), (1, 2), (0, 2), (2, 3)] {
        assert_eq!(application.ingest(deltas[at].clone(), T).ack, ack);
    }
    assert_eq!(application.merged().total(ValueType::Cpu), 7);
}

#[test]
fn an_unknown_executor_is_not_merged_until_the_scheduler_knows_it() {
    let mut application = application(1);
    let delta = cpu_delta(&mut Sender::new("9"), 500, T);
    let bytes = encode(&delta);
    for (now, unsaid) in [(T, 0), (T + 29 * SECOND, 0), (T + 30 * SECOND, 1), (T + 60 * SECOND, 0)] {
        assert_eq!(decode_answer(&application.receive("9", &bytes, now)).unwrap().ack, 0);
        assert_eq!(application.take_warnings().len(), unsaid);
    }
    assert_eq!(folded(&mut application, "deltas of unknown executors"), (4, 0));
    assert_eq!(application.merged().total(ValueType::Cpu), 0);
    add(&mut application, "9");
    assert_eq!(decode_answer(&application.receive("9", &bytes, T)).unwrap().ack, 1);
    assert_eq!(application.merged().total(ValueType::Cpu), 500);
}

#[test]
fn an_executor_that_stays_unknown_is_named_at_the_end() {
    let mut application = application(1);
    application.ingest(cpu_delta(&mut Sender::new("666"), 1, T), T);
    application.finish(T);
    let said = application.take_warnings();
    assert_eq!(said.len(), 1);
    assert_eq!(
        said[0].message,
        "deltas came from executor \"666\", which the scheduler does not know: they were not merged, and were \
         counted"
    );
}

#[test]
fn a_foreign_protocol_is_refused_with_both_versions_and_jars() {
    let mut application = application(1);
    let mut bytes = vec![8, 9, 0x12, 3];
    bytes.extend(b"7.0");
    bytes.extend([0x1a, 8]);
    bytes.extend(b"/new.jar");
    let answer = decode_answer(&application.receive("0", &bytes, T)).unwrap();
    let reason = "executor 0 runs Glowplug 7.0 (/new.jar, protocol 9), the driver 0.1.0 (/driver/glowplug.jar, \
                  protocol 1): it is not merged and writes its own executors/0.pb.gz; use one version for both";
    assert_eq!(answer.refused.as_deref(), Some(reason));
    application.receive("0", &bytes, T);
    let said = application.take_warnings();
    assert_eq!(said, [Warning { code: "foreign-protocol".into(), message: reason.into() }]);
    assert_eq!(application.summary().warnings[0].count, 2);
}

#[test]
fn broken_deltas_are_counted_and_asked_for_again_until_the_sixth() {
    let mut application = application(1);
    let bytes = encode(&cpu_delta(&mut Sender::new("0"), 500, T));
    let oversized = vec![0; crate::relay::MAX_DELTA_BYTES + 1];
    let broken = [&bytes[..bytes.len() - 9], &oversized, &[], &[0xff; 50], &bytes[..40]];
    for bytes in broken {
        let answer = decode_answer(&application.receive("0", bytes, T)).unwrap();
        assert_eq!((answer.ack, answer.refused), (0, None));
    }
    assert_eq!(decode_answer(&application.receive("0", &bytes, T)).unwrap().ack, 1);
    assert!(decode_answer(&application.receive("0", &oversized, T)).unwrap().refused.is_some());
    assert_eq!(folded(&mut application, "refused deltas"), (6, 0));
    assert_eq!(application.merged().total(ValueType::Cpu), 500);
}

#[test]
fn a_delta_that_names_another_executor_is_refused() {
    let mut application = application(2);
    let bytes = encode(&cpu_delta(&mut Sender::new("1"), 500, T));
    assert_eq!(decode_answer(&application.receive("0", &bytes, T)).unwrap().ack, 0);
    assert_eq!(application.merged().total(ValueType::Cpu), 0);
    assert_eq!(folded(&mut application, "refused deltas"), (1, 0));
}

#[test]
fn a_uuid_belongs_to_one_executor_and_an_executor_has_few() {
    let mut application = application(2);
    assert_eq!(application.ingest(cpu_delta(&mut Sender::with_uuid("0", "same"), 1, T), T).ack, 1);
    assert!(application.ingest(cpu_delta(&mut Sender::with_uuid("1", "same"), 2, T), T).refused.is_some());
    for uuid in ["a", "b", "c", "d", "e"] {
        let answer = application.ingest(cpu_delta(&mut Sender::with_uuid("1", uuid), 4, T), T);
        assert_eq!(answer.refused.is_some(), uuid == "e");
    }
    assert_eq!(application.merged().total(ValueType::Cpu), 1 + 4 * 4);
}

#[test]
fn a_hundred_thousand_changed_deltas_are_merged_or_counted_and_do_no_harm() {
    const ROUNDS: u64 = 100_000;
    let mut application = application(1);
    let mut random = Random(99);
    let mut sender = Sender::new("0");
    random_samples(&mut sender, &mut random, 5);
    let delta = sender.delta(T, T + SECOND);
    let (bytes, body) = (encode(&delta), body_of(&delta));
    let (mut acknowledged, mut merged, mut refused, mut largest) = (0, 0, 0, 0);
    for round in 0..ROUNDS {
        // Half of them have a seal that is right: the damage is seen by whoever reads what is in them.
        let bytes = if round % 2 == 0 {
            sealed(acknowledged + 1, body.clone(), Compression::none(), |body| changed(body, &mut random))
        } else {
            let mut bytes = bytes.clone();
            changed(&mut bytes, &mut random);
            bytes
        };
        let answer = decode_answer(&application.receive("0", &bytes, T)).expect("an answer");
        if answer.refused.is_none() && answer.ack == acknowledged + 1 {
            acknowledged = answer.ack;
            merged += 1;
        }
        if round % 1_000 == 999 {
            refused += folded(&mut application, "refused deltas").0;
            largest = largest.max(application.memory());
            application = self::application(1);
            acknowledged = 0;
        }
    }
    println!("{refused} refused, {merged} merged, {largest} bytes");
    assert!(refused > ROUNDS / 2 && merged > ROUNDS / 50, "{refused} refused, {merged} merged");
    assert!(largest < 4 << 20, "{largest} bytes");
    assert!(application.summary().warnings.len() <= 501);
    application.finish(T);
}

#[test]
fn a_clock_ten_minutes_off_is_corrected() {
    for offset in [-600i64, 600].map(|seconds| seconds * SECOND as i64) {
        let mut application = application(1);
        let own = |time: u64| time.saturating_add_signed(offset);
        let mut sender = Sender::new("0");
        sender.process.started = own(T + SECOND);
        let mut outbox = Outbox::new(sender.process.clone(), Duration::from_nanos(PERIOD));
        for (cpu, at) in [(3, T + 5 * SECOND), (5, T + 15 * SECOND), (7, T + PERIOD + 5 * SECOND)] {
            outbox.push(cpu_delta(&mut sender, cpu, own(at - SECOND)));
            let out = outbox.next(own(at)).unwrap();
            let answer = decode_answer(&application.receive("0", &out.bytes, at)).unwrap();
            assert_eq!(outbox.answered(out.token, Ok(answer), own(at)), Answered::Delivered);
        }
        assert_eq!(application.summary().processes[0].started, "2026-11-30T03:30:01Z");
        let files = contents(application.finish(T + PERIOD + 6 * SECOND));
        assert_eq!(sum_of(&files["periods/20261130T033004Z.pb.gz"]), Values::cpu(2, 8));
        assert_eq!(sum_of(&files["periods/20261130T033500Z.pb.gz"]), Values::cpu(1, 7));
    }
}

#[test]
fn a_driver_that_is_profiled_while_it_waits_for_its_executors_keeps_its_ending() {
    let mut application = application(0);
    let mut sender = Sender::new("driver");
    let ends = |application: &mut Application| application.summary().processes[0].ended.clone().unwrap();
    application.ingest(cpu_delta(&mut sender, 5, T), T);
    assert_eq!(application.summary().processes[0].ending, None);
    let last = Delta { last: true, ending: "shutdown".into(), ..sender.delta(T, T + SECOND) };
    application.ingest(last, T + SECOND);
    assert_eq!(ends(&mut application), "2026-11-30T03:30:01Z");
    // A border of periods comes while it waits. Names begin anew after a last delta.
    let more = Delta { seq: 3, epoch: 1, ..cpu_delta(&mut Sender::new("driver"), 7, T + SECOND) };
    application.ingest(more, T + 2 * SECOND);
    assert_eq!(application.summary().processes[0].ending.as_deref(), Some("shutdown"));
    assert_eq!(ends(&mut application), "2026-11-30T03:30:02Z");
    assert_eq!(sum_of(&contents(application.finish(T + 3 * SECOND))["driver.pb.gz"]), Values::cpu(2, 12));
}

#[test]
fn an_executor_that_dies_leaves_all_that_was_acknowledged() {
    let mut application = application(1);
    let mut sender = Sender::new("0");
    let mut random = Random(3);
    let mut acknowledged = Values::default();
    for step in 0..5 {
        random_samples(&mut sender, &mut random, 100);
        let delta = sender.delta(T + step * SECOND, T + (step + 1) * SECOND);
        acknowledged.add(&totals(delta.cells.iter().map(|(_, values)| values)));
        application.ingest(delta, T + (step + 1) * SECOND);
    }
    let reason = "Command exited with code 137, hush".to_string();
    application.event(ApplicationEvent::ExecutorRemoved { id: "0".into(), reason }, T + 9 * SECOND);
    assert_eq!(application.awaited(T + 9 * SECOND), 0);
    let process = &application.summary().processes[0];
    assert_eq!(process.ending.as_deref(), Some("removed: Command exited with code 137, ***"));
    assert_eq!(process.ended.as_deref(), Some("2026-11-30T03:30:09Z"));
    let files = contents(application.finish(T + 10 * SECOND));
    assert_eq!(sum_of(&files["executors/0.pb.gz"]), acknowledged);
}

#[test]
fn lost_answers_and_repeats_change_nothing() {
    let mut application = application(1);
    let mut sender = Sender::new("0");
    let mut outbox = Outbox::new(sender.process.clone(), Duration::from_nanos(PERIOD));
    let mut random = Random(17);
    let mut sampled = Values::default();
    let mut now = T;
    for round in 0..60 {
        random_samples(&mut sender, &mut random, 30);
        let delta = sender.delta(now, now + SECOND);
        sampled.add(&totals(delta.cells.iter().map(|(_, values)| values)));
        outbox.push(delta);
        now += SECOND;
        while let Some(mut out) = outbox.next(now) {
            // A third never arrives, a third arrives and its answer is lost; now and then one is damaged.
            let fate = random.below(3);
            if round % 15 == 14 {
                out.bytes.truncate(100);
            }
            let answer = (fate > 0).then(|| application.receive("0", &out.bytes, now));
            let answer = answer.filter(|_| fate == 2).ok_or("lost".to_string());
            outbox.answered(out.token, answer.map(|bytes| decode_answer(&bytes).unwrap()), now);
        }
    }
    while !outbox.is_empty() {
        now += 60 * SECOND;
        let Some(out) = outbox.next(now) else { continue };
        let answer = decode_answer(&application.receive("0", &out.bytes, now)).unwrap();
        outbox.answered(out.token, Ok(answer), now);
    }
    assert_eq!(sum(&application), sampled);
}

#[test]
fn a_new_epoch_brings_its_own_names() {
    let mut application = application(1);
    let mut first = Sender::new("0");
    application.ingest(cpu_delta(&mut first, 5, T), T);
    let mut second = Sender::new("0");
    (second.seq, second.epoch) = (1, 1);
    second.sample(&["b.Other.work"], &[("stage", "4"), ("stage_attempt", "0")], Values::cpu(1, 7));
    assert_eq!(application.ingest(second.delta(T, T), T).ack, 2);
    let rows = readable(application.merged());
    let row = |stack: &str, labels: &str| rows[&(stack.to_string(), labels.to_string())];
    assert_eq!(
        row("a.Main.run;a.Job.work", "process=0 thread=Executor task launch worker"),
        Values::cpu(1, 5)
    );
    assert_eq!(row("b.Other.work", "process=0 stage=4 stage_attempt=0"), Values::cpu(1, 7));
}

#[test]
fn names_that_the_driver_does_not_have_are_asked_for() {
    let mut application = application(1);
    let mut sender = Sender::new("0");
    cpu_delta(&mut sender, 1, T);
    sender.seq = 0;
    let answer = application.ingest(cpu_delta(&mut sender, 5, T), T);
    assert_eq!((answer.ack, answer.resend_names), (0, true));
    assert_eq!(application.merged().total(ValueType::Cpu), 0);
}

#[test]
fn periods_get_what_lies_between_their_borders_and_late_deltas_are_counted() {
    let mut application = application(1);
    let mut sender = Sender::new("0");
    application.ingest(cpu_delta(&mut sender, 1, T), T + SECOND);
    application.ingest(cpu_delta(&mut sender, 2, T + PERIOD - SECOND), T + PERIOD);
    application.ingest(cpu_delta(&mut sender, 4, T + PERIOD), T + PERIOD + SECOND);
    // 10 s interval + 5 s: the period is open as long as a delta of it can be on its way.
    assert!(!contents(application.due(T + PERIOD + 14 * SECOND))
        .keys()
        .any(|path| path.starts_with("periods")));
    let files = contents(application.due(T + PERIOD + 15 * SECOND));
    assert_eq!(sum_of(&files["periods/20261130T033000Z.pb.gz"]), Values::cpu(2, 3));
    application.ingest(cpu_delta(&mut sender, 8, T + PERIOD - SECOND), T + PERIOD + 60 * SECOND);
    assert_eq!(folded(&mut application, "late deltas"), (1, 8));
    let files = contents(application.finish(T + PERIOD + 61 * SECOND));
    assert_eq!(sum_of(&files["periods/20261130T033500Z.pb.gz"]), Values::cpu(2, 12));
    assert_eq!(sum_of(&files["profile.pb.gz"]), Values::cpu(4, 15));
}

#[test]
fn the_folder_is_written_after_15_seconds_then_each_period_and_at_the_end() {
    let mut application = application(1);
    let mut sender = Sender::new("0");
    let mut editions = Vec::new();
    for second in 0..700 {
        let now = T + 20 * SECOND + second * SECOND;
        if second % 10 == 0 {
            application.ingest(cpu_delta(&mut sender, 1, now - SECOND), now);
        }
        if let Some(html) = contents(application.due(now)).get("index.html") {
            editions.push((second, String::from_utf8(html.clone()).unwrap()));
        }
    }
    // The first sample was at -1 s, borders are at 280 and 580.
    assert_eq!(editions, [(14, "edition 1 ".into()), (295, "edition 2 ".into()), (595, "edition 3 ".into())]);
    let files = contents(application.finish(T + 720 * SECOND));
    assert_eq!(files["index.html"], b"edition 4 complete");
    assert_eq!(files.keys().filter(|path| path.starts_with("periods")).count(), 1);
}

#[test]
fn periods_beyond_sixty_are_widened_and_nothing_is_lost() {
    let mut application = application(1);
    let mut sender = Sender::new("0");
    let mut folder = BTreeMap::new();
    for index in 0..200 {
        application
            .ingest(cpu_delta(&mut sender, 1 + index, T + index * PERIOD), T + index * PERIOD + SECOND);
        apply(&mut folder, application.due(T + index * PERIOD + 20 * SECOND));
    }
    apply(&mut folder, application.finish(T + 200 * PERIOD));
    let periods: Vec<_> = folder.iter().filter(|(path, _)| path.starts_with("periods")).collect();
    assert_eq!(periods.len(), 60);
    let sums: Vec<Values> = periods.iter().map(|(_, bytes)| sum_of(bytes)).collect();
    assert_eq!(totals(sums.iter()), Values::cpu(200, 20_100));
    let widths: BTreeSet<u64> = sums.iter().map(|sum| sum.get(ValueType::Samples)).collect();
    assert_eq!(widths, BTreeSet::from([2, 4]));
}

#[test]
fn sixty_executors_leave_fifty_labels_and_other() {
    let mut application = application(60);
    let mut senders: Vec<Sender> = (0..60).map(|id| Sender::new(&id.to_string())).collect();
    for (id, sender) in senders.iter_mut().enumerate() {
        application.ingest(cpu_delta(sender, (60 - id as u64) * SECOND, T), T);
    }
    let cpu = by_process(&application);
    assert_eq!(cpu.len(), 51);
    assert_eq!(cpu["other"], (1..=10).map(|seconds| seconds * SECOND).sum::<u64>());
    assert_eq!(cpu["0"], 60 * SECOND);

    // Executor 59 had the least; now it has more than the smallest one with a label, 49 with 11 s.
    let mut folder = BTreeMap::new();
    apply(&mut folder, application.due(T + 20 * SECOND));
    application.ingest(cpu_delta(&mut senders[59], 20 * SECOND, T), T + 20 * SECOND);
    application.ingest(cpu_delta(&mut senders[59], 5 * SECOND, T), T + 20 * SECOND);
    application.ingest(cpu_delta(&mut senders[49], SECOND, T), T + 20 * SECOND);
    let cpu = by_process(&application);
    assert_eq!(cpu.len(), 51);
    // What came before it rose, and the delta that made it rise, is in `other`.
    assert_eq!(cpu["59"], 5 * SECOND);
    assert_eq!(
        cpu["other"],
        (2..=10).map(|seconds| seconds * SECOND).sum::<u64>() + (1 + 20 + 11 + 1) * SECOND
    );
    assert_eq!(folded(&mut application, "executors that fell to other"), (1, 11 * SECOND));
    assert_eq!(folded(&mut application, "executors that rose from other"), (1, 21 * SECOND));
    apply(&mut folder, application.finish(T + 30 * SECOND));
    assert_eq!(folder.keys().filter(|path| path.starts_with("executors/")).count(), 50);
    assert!(folder.contains_key("executors/59.pb.gz") && !folder.contains_key("executors/49.pb.gz"));
}

#[test]
fn two_thousand_stage_attempts_keep_their_place() {
    let mut application = application(1);
    let mut sender = Sender::new("0");
    for stage in 0..2300u32 {
        let name = format!("stage {stage}");
        application.event(ApplicationEvent::StageSubmitted { stage, attempt: 0, name: name.clone() }, T);
        let label = stage.to_string();
        let labels = [("stage", label.as_str()), ("stage_attempt", "0"), ("thread", TASK)];
        sender.sample(&["a.Main.run"], &labels, Values::cpu(1, 1000 + u64::from(stage)));
        // Stage 3 still runs.
        if stage != 3 {
            let completed =
                ApplicationEvent::StageCompleted { stage, attempt: 0, name, cpu_ns: 1, failure: None };
            application.event(completed, T);
        }
    }
    application.ingest(sender.delta(T, T + 1), T + 1);
    let summary = application.summary();
    assert_eq!(summary.stages.len(), 2000);
    assert_eq!((summary.stages[0].stage, summary.stages[1].stage), (3, 301));
    assert_eq!(summary.stages[1].cpu_ns, 1301);
    let smallest: u64 = (0..=300).filter(|stage| *stage != 3).map(|stage| 1000 + stage).sum();
    let rows = readable(application.merged());
    let other = ("a.Main.run".to_string(), format!("process=0 stage=other thread={TASK}"));
    assert_eq!(rows[&other], Values::cpu(300, smallest));
    assert_eq!(folded(&mut application, "stage attempts"), (300, smallest));
}

#[test]
fn five_hundred_sql_executions_keep_their_label() {
    let mut application = application(1);
    let mut sender = Sender::new("0");
    for sql in 0..600u64 {
        let label = sql.to_string();
        sender.sample(&["a.Main.run"], &[("sql_execution", &label)], Values::cpu(1, 1000 + sql));
    }
    application.ingest(sender.delta(T, T + 1), T + 1);
    let smallest: u64 = (0..100).map(|sql| 1000 + sql).sum();
    assert_eq!(folded(&mut application, "SQL executions"), (100, smallest));
    let rows = readable(application.merged());
    let other = ("a.Main.run".to_string(), "process=0 sql_execution=other".to_string());
    assert_eq!(rows[&other], Values::cpu(100, smallest));
    assert_eq!(rows.len(), 501);
}

#[test]
fn every_fold_keeps_every_total() {
    for seed in 1..=3 {
        let mut random = Random(seed);
        let settings = Settings { memory_limit: Some(200 << 10), ..settings() };
        let mut application = application_with(&settings);
        let mut senders: Vec<Sender> = (0..55).map(|id| Sender::new(&id.to_string())).collect();
        (0..55).for_each(|id| add(&mut application, &id.to_string()));
        let mut sampled = Values::default();
        let mut folder = BTreeMap::new();
        for step in 0..70 {
            let now = T + step * 20 * SECOND;
            let sender = &mut senders[random.below(55) as usize];
            random_samples(sender, &mut random, 40);
            let user = random.next().to_string();
            sender.sample(&["a.B.c"], &[("user_random", &user), ("stage", &user[..3])], Values::cpu(1, 9));
            let delta = sender.delta(now, now + SECOND);
            let (names, mut again) = (sender.dictionary.since(Default::default()), delta.clone());
            again.dictionary = names;
            sampled.add(&totals(delta.cells.iter().map(|(_, values)| values)));
            let seq = delta.seq;
            let mut answer = application.ingest(delta, now);
            if answer.resend_names {
                answer = application.ingest(again, now);
            }
            assert_eq!(answer.ack, seq);
            apply(&mut folder, application.due(now));
        }
        assert!(folded(&mut application, "cells").0 > 0);
        apply(&mut folder, application.finish(T + 1400 * SECOND));
        assert_eq!(sum(&application), sampled);
        assert_eq!(sum_of(&folder["profile.pb.gz"]), sampled);
        let periods = folder.iter().filter(|(path, _)| path.starts_with("periods/"));
        let sums: Vec<Values> = periods.map(|(_, bytes)| sum_of(bytes)).collect();
        assert_eq!(totals(sums.iter()), sampled);
    }
}

#[test]
fn memory_stays_under_the_limit() {
    let limit = 3 << 20;
    let mut application = application_with(&Settings { memory_limit: Some(limit), ..settings() });
    add(&mut application, "0");
    let mut sender = Sender::new("0");
    let mut random = Random(5);
    for step in 0..40 {
        random_samples(&mut sender, &mut random, 400);
        let delta = sender.delta(T + step, T + step + 1);
        let mut again = delta.clone();
        again.dictionary = sender.dictionary.since(Default::default());
        if application.ingest(delta, T).resend_names {
            application.ingest(again, T);
        }
        assert!(application.memory() as u64 <= limit, "{} bytes", application.memory());
    }
    let codes: Vec<String> = application.take_warnings().into_iter().map(|warning| warning.code).collect();
    assert_eq!(codes, ["memory-limit"]);
}

#[test]
fn stages_are_summed_by_thread_and_state() {
    let mut application = application(1);
    let mut sender = Sender::new("0");
    let stage =
        |thread, state| [("stage", "7"), ("stage_attempt", "1"), ("thread", thread), ("thread_state", state)];
    let own = |thread| [("stage", "7"), ("stage_attempt", "1"), ("thread", thread)];
    sender.sample(&["a.B.c"], &own(TASK), Values::cpu(1, 100));
    sender.sample(&["a.B.d"], &own(TASK), Values::cpu(1, 20));
    sender.sample(&["a.B.d"], &own(TASK), Values::of(ValueType::AllocSpace, 4096));
    sender.sample(&["a.B.c"], &own("stdout writer for python"), Values::cpu(1, 3));
    for (state, wall) in [(ThreadState::Runnable, 40), (ThreadState::Waiting, 60)] {
        sender.sample(&["a.B.c"], &stage(TASK, state.as_str()), Values::of(ValueType::Wall, wall));
    }
    sender.sample(&["a.B.c"], &[("thread", TASK)], Values::cpu(1, 1000));
    let task = TaskTotals { task: 1, stage: 7, stage_attempt: 1, cpu: 130, wall: 99, alloc_bytes: 5000 };
    sender.tasks = vec![task, TaskTotals { task: 2, cpu: 1, ..task }];
    application.ingest(sender.delta(T, T + 1), T + 1);
    let failure = Some("hush, it failed".to_string());
    let name = "count at Job.scala:5".to_string();
    let completed = ApplicationEvent::StageCompleted { stage: 7, attempt: 1, name, cpu_ns: 125, failure };
    application.event(completed, T + 2);
    assert_eq!(
        application.summary().stages,
        [SummaryStage {
            stage: 7,
            attempt: 1,
            name: "count at Job.scala:5".into(),
            failure: Some("***, it failed".into()),
            cpu_ns: 120,
            helper_cpu_ns: 3,
            python_cpu_ns: 0,
            spark_cpu_ns: 125,
            wall_ns: [("RUNNABLE".to_string(), 40), ("WAITING".to_string(), 60)].into(),
            alloc_bytes: 4096,
            tasks: SummaryTasks { count: 2, cpu_ns: 131, wall_ns: 198, alloc_bytes: 10_000 },
        }]
    );
}

#[test]
fn the_summary_is_what_the_output_contract_says() {
    let mut settings = settings();
    settings.profile_name = Some("etl".into());
    settings.profile_version = Some("1.2".into());
    settings.profile_group = Some("night".into());
    let mut application = application_with(&settings);
    application.info.settings = vec![SummarySetting {
        key: "spark.glowplug.dir".into(),
        value: "/profiles".into(),
        origin: "conf".into(),
    }];
    let mut sender = Sender::new("driver");
    sender.process.started = T + 123_456_789;
    sender.status = ProcessStatus {
        samples: vec![(Engine::Wall, 40), (Engine::Cpu, 12)],
        lost: vec![Lost { cause: LostCause::RingFull, count: 1 }],
        own_cpu: 5_000_000,
        process_cpu: 2_500_000_000,
        longest_pause: 1_500_000,
        native_memory: 4096,
        sampled_cpu: 2_000_000_001,
    };
    let mut delta = sender.last(T, T + 2 * SECOND);
    delta.warnings.push((Warning { code: "unknown-key".into(), message: "hush".into() }, 2));
    application.ingest(delta, T + 2 * SECOND);
    let json = serde_json::to_string(&application.summary()).unwrap();
    assert_eq!(
        json,
        r#"{"format":1,"glowplug":"0.1.0","profile":{"name":"etl","version":"1.2","group":"night"},"#
            .to_owned()
            + r#""application":{"id":"app-1","name":"Nightly","attempt":"","spark":"3.5.1","scala":"2.12"},"#
            + r#""processes":[{"id":"driver","host":"host-driver","pid":4711,"#
            + r#""java":"OpenJDK 64-Bit Server VM 17.0.9","started":"2026-11-30T03:30:00.123Z","#
            + r#""ended":"2026-11-30T03:30:02Z","ending":"shutdown","engines":["cpu=timers(10ms)","alloc=off"],"#
            + r#""samples":{"cpu":12,"wall":40},"lost":{"ring_full":1},"sampled_cpu_ns":2000000001,"own_cpu_seconds":0.005,"#
            + r#""process_cpu_seconds":2.5,"longest_pause_ms":1.5,"native_memory_bytes":4096}],"stages":[],"#
            + r#""settings":[{"key":"spark.glowplug.dir","value":"/profiles","origin":"conf"}],"#
            + r#""warnings":[{"code":"unknown-key","message":"***","count":2}],"folded":[]}"#
    );
    assert_eq!(
        application.end_line(),
        Ok("profile written to /profiles/app-1: 1 process, 52 samples, 1 without a full stack (1 came faster than \
            they could be taken), own cost 0.20 % of their CPU"
            .to_owned())
    );
}

#[test]
fn files_that_cannot_be_written_are_said_once_and_at_the_end() {
    let mut application = application(0);
    application.ingest(cpu_delta(&mut Sender::new("driver"), 5, T), T);
    let path = |name: &str| format!("/profiles/app-1/{name}");
    application.file_done(&path("index.html"), Some("disk full"));
    application.file_done(&path("profile.pb.gz"), Some("disk full"));
    application.file_done(&path("summary.json"), None);
    let said: Vec<_> = application.take_warnings().into_iter().map(|warning| warning.message).collect();
    assert_eq!(
        said,
        ["/profiles/app-1/index.html could not be written: disk full; each report tries again, and the last line of \
          this application says what came of it"]
    );
    application.file_done(&path("index.html"), Some("disk full"));
    assert_eq!(application.take_warnings(), []);
    assert_eq!(application.summary().warnings[0].count, 3);
    application.file_done(&path("index.html"), None);
    assert_eq!(
        application.end_line(),
        Err("profile NOT written to /profiles/app-1: 1 of 3 files could not be written, the first of them \
             /profiles/app-1/profile.pb.gz: disk full; 1 process, 0 samples, none lost, own cost not known"
            .to_owned())
    );
    application.file_done(&path("profile.pb.gz"), None);
    assert!(application.end_line().is_ok(), "a later report has brought all of them");
}

#[test]
fn a_second_application_of_one_jvm_is_not_charged_the_first_ones_samples() {
    let status = |samples: u64, cpu: u64| ProcessStatus {
        samples: vec![(Engine::Cpu, samples)],
        lost: vec![Lost { cause: LostCause::NotWalkable, count: samples / 10 }],
        sampled_cpu: cpu,
        own_cpu: cpu / 100,
        process_cpu: 2 * cpu,
        ..ProcessStatus::default()
    };
    let mut application = application(0);
    let mut sender = Sender::new("driver");
    let mut delta = cpu_delta(&mut sender, 5, T);
    delta.status = status(150, 1_500);
    let who = delta.process.clone();
    OwnProcess::beginning_at(status(100, 1_000)).ingest(&mut application, &who, delta, T);
    let summary = serde_json::to_value(application.summary()).unwrap();
    let process = &summary["processes"][0];
    assert_eq!(process["samples"]["cpu"], 50);
    assert_eq!(process["lost"]["not_walkable"], 5);
    assert_eq!(process["sampled_cpu_ns"], 500);
    let line = application.end_line().expect("no file failed");
    assert!(
        line.contains(
            "50 samples, 5 without a full stack (5 with a stack that could not be walked, 10.0 % of the CPU samples)"
        ),
        "{line}"
    );
}

#[test]
fn without_a_folder_nothing_is_written() {
    let mut application =
        Application::new(info(), &settings(), None, Box::new(Lines), Box::new(str::to_string));
    application.ingest(cpu_delta(&mut Sender::new("driver"), 5, T), T);
    assert_eq!(application.due(T + 400 * SECOND), []);
    assert_eq!(application.finish(T + 500 * SECOND), []);
    assert_eq!(
        application.end_line(),
        Ok("profile kept out of files (spark.glowplug.dir=none): 1 process, 0 samples, none lost, own cost not known"
            .to_owned())
    );
}

#[test]
fn executors_are_awaited_until_their_last_delta_or_their_end() {
    let mut application = application(3);
    application.event(ApplicationEvent::ExecutorAdded { id: "driver".into(), host: "h".into() }, T);
    assert_eq!(application.awaited(T + SECOND), 3);
    let mut sender = Sender::new("0");
    application.ingest(cpu_delta(&mut sender, 1, T), T);
    // Executors that never said anything are not profiled.
    assert_eq!(application.awaited(T + 31 * SECOND), 1);
    application.ingest(sender.last(T, T + 1), T + 1);
    assert_eq!(application.awaited(T + SECOND), 2);
    application.event(ApplicationEvent::ExecutorRemoved { id: "1".into(), reason: "idle".into() }, T);
    assert_eq!(application.awaited(T + SECOND), 1);
}

#[test]
fn the_interval_grows_with_the_executors() {
    let mut sender = Sender::new("driver");
    assert_eq!(application(3).ingest(sender.delta(T, T), T).next_interval_ms, 10_000);
    assert_eq!(application(2000).ingest(Sender::new("driver").delta(T, T), T).next_interval_ms, 12_000);
    let mut settings = settings();
    settings.relay_interval = Some(Duration::from_secs(2));
    let answer = application_with(&settings).ingest(Sender::new("driver").delta(T, T), T);
    assert_eq!((answer.next_interval_ms, answer.driver_time), (2000, T));
}

#[test]
fn names_of_files_and_folders_are_tame() {
    assert_eq!(folder_name("application_17_0001", "2"), "application_17_0001_2");
    assert_eq!(folder_name("local-1796", ""), "local-1796");
    assert_eq!(folder_name("../etc", ""), "_.._etc-cfae66bc");
    let mut application = application(0);
    for id in ["../../x", "a b"] {
        add(&mut application, id);
        application.ingest(cpu_delta(&mut Sender::new(id), 1, T), T);
    }
    let files = contents(application.finish(T));
    let executors: Vec<&String> = files.keys().filter(|path| path.starts_with("executors/")).collect();
    assert_eq!(executors.len(), 2);
    assert!(executors.iter().all(|path| path.matches('/').count() == 1), "{executors:?}");
}

#[test]
fn all_value_types_are_kept_apart() {
    let mut application = application(1);
    let mut sender = Sender::new("0");
    for (index, (value, _, _)) in VALUE_TYPES.iter().enumerate() {
        sender.sample(&["a.B.c"], &[], Values::of(*value, 10 + index as u64));
    }
    application.ingest(sender.delta(T, T + 1), T + 1);
    assert_eq!(sum(&application), Values([10, 11, 12, 13, 14, 15, 16]));
}
