//! Files that lie beside this test: one of ours, which other readers are tried on, and one that Go wrote.

use glowplug::encode::pprof::{decode, encode};
use glowplug::encode::{comments, ProfileView};
use glowplug::profile::{Dictionary, Frame, Profile, ValueType, Values};
use std::path::Path;

const OURS: &str = "tests/data/ours.pb.gz";

/// Two stages in two executors, a driver that waits, hostile names. tests/pprof/ holds what Go's
/// pprof has to read in it.
fn ours() -> Profile {
    let mut profile = Profile::default();
    let stage_3 = [("process", "1"), ("stage", "3"), ("thread", "Executor task launch worker")];
    add(&mut profile, &[RUN, ("org.acme.Job.$anonfun$run$1", 5)], &stage_3, Values::cpu(4, 40_000_001));
    add(&mut profile, &[RUN, ("a;b\nc \u{202e}</script> 12", 3)], &stage_3, Values::cpu(1, 10_000_000));
    let stage_4 = [("process", "2"), ("stage", "4"), ("user_team", "ærø 🔥")];
    add(
        &mut profile,
        &[RUN, ("org.acme.Job.other", 7), ("org.acme.Job.other", 8)],
        &stage_4,
        Values::cpu(3, 30_000_000),
    );
    add(&mut profile, &[("[GC]", 0)], &[("process", "2")], Values::cpu(0, 5_000_000));
    let driver = [("process", "driver"), ("thread_state", "WAITING")];
    add(
        &mut profile,
        &[RUN, ("java.lang.Object.wait", 0)],
        &driver,
        Values::of(ValueType::Wall, 1_000_000_000),
    );
    let mut allocated = Values::of(ValueType::AllocObjects, 3);
    allocated.add(&Values::of(ValueType::AllocSpace, 3 << 20));
    add(&mut profile, &[RUN, ("org.acme.Job.$anonfun$run$1", 6)], &stage_3, allocated);
    profile
}

const RUN: (&str, u32) = ("java.lang.Thread.run", 840);

fn add(profile: &mut Profile, stack: &[(&str, u32)], labels: &[(&str, &str)], values: Values) {
    let dictionary = &mut profile.dictionary;
    let mut node = Dictionary::ROOT;
    for (function, line) in stack {
        let file = dictionary.name(if *line > 0 { "Job.scala" } else { "" });
        let function = dictionary.name(function);
        let frame = dictionary.frame(Frame { function, file, line: *line });
        node = dictionary.child(node, frame);
    }
    let labels: Vec<_> =
        labels.iter().map(|(key, value)| (dictionary.name(key), dictionary.name(value))).collect();
    let set = dictionary.label_set(&labels);
    profile.cells.add(node, set, &values);
}

#[test]
fn our_file_is_what_it_was() {
    let profile = ours();
    let bytes = encode(&ProfileView {
        profile: &profile,
        filter: None,
        from_ns: 1_796_250_060_000_000_000,
        duration_ns: 300_000_000_000,
        period_ns: 10_000_000,
        comments: vec![comments("Acme nightly", "cpu=timers(10ms)")[0].clone(), "version-free".to_owned()],
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(OURS);
    if std::env::var_os("GLOWPLUG_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, &bytes).expect("the file can be written");
    }
    let kept = std::fs::read(&path).expect("the file is there");
    assert_eq!(unpacked(&bytes), unpacked(&kept), "GLOWPLUG_WRITE_GOLDEN=1 writes the file anew");
}

/// Another version of the compressor may pack the same bytes otherwise.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(bytes), &mut plain).expect("gzip");
    plain
}

/// Go's runtime wrote it: one busy function, first without a label and then under `stage=7`, with an inlined call.
#[test]
fn a_file_of_go_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/go-cpu.pb.gz");
    let decoded = decode(&std::fs::read(path).expect("the file is there")).expect("a pprof file");
    assert_eq!(decoded.ignored_types, Vec::<String>::new());
    assert_eq!(decoded.period_ns, 10_000_000);
    let profile = &decoded.profile;
    assert_eq!(profile.total(ValueType::Cpu), profile.total(ValueType::Samples) * decoded.period_ns);
    let labelled: u64 = profile
        .cells
        .iter()
        .filter(|((_, labels), _)| profile.dictionary.label(*labels, "stage") == Some("7"))
        .map(|(_, values)| values.get(ValueType::Samples))
        .sum();
    assert_eq!((profile.total(ValueType::Samples), labelled), (TOTAL, LABELLED));
    let inlined = profile.cells.iter().any(|((node, _), _)| {
        let path = profile.dictionary.path(node);
        let names: Vec<&str> = path
            .iter()
            .map(|frame| profile.dictionary.text(profile.dictionary.frame_of(*frame).function))
            .collect();
        names.ends_with(&["main.busy", "main.step"])
    });
    assert!(inlined, "main.step was inlined into main.busy, and stands below it");
}

const TOTAL: u64 = 50;
const LABELLED: u64 = 30;
