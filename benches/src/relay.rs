use crate::tree::filled;
use crate::Operation;
use glowplug::profile::{IdMap, Mark, ProcessIdentity, Profile};
use glowplug::relay::{decode, encode, Delta};
use std::hint::black_box;

pub(crate) static OPERATIONS: [Operation; 4] = [
    Operation {
        name: "encode a first delta of 1000 cells with its names",
        repeats: 10,
        prepare: encode_first,
    },
    Operation { name: "encode a delta of 1000 cells", repeats: 50, prepare: encode_later },
    Operation { name: "decode and check a first delta of 1000 cells", repeats: 10, prepare: decode_first },
    Operation { name: "merge 100 deltas of 1000 cells", repeats: 2, prepare: merge_hundred },
];

const CELLS: usize = 1_000;
const PROCESSES: usize = 10;
const DELTAS: usize = 100;

fn encode_first() -> Box<dyn FnMut()> {
    let delta = first();
    Box::new(move || {
        black_box(encode(&delta));
    })
}

fn encode_later() -> Box<dyn FnMut()> {
    let delta = later();
    Box::new(move || {
        black_box(encode(&delta));
    })
}

fn decode_first() -> Box<dyn FnMut()> {
    let bytes = encode(&first());
    Box::new(move || {
        black_box(decode(&bytes).expect("the delta is whole"));
    })
}

/// Ten processes send ten deltas each, as the driver gets them: bytes in, one profile out.
fn merge_hundred() -> Box<dyn FnMut()> {
    let (first, later) = (encode(&first()), encode(&later()));
    Box::new(move || {
        let mut merged = Profile::default();
        for process in 0..PROCESSES {
            let label = (merged.dictionary.name("process"), merged.dictionary.name(&process.to_string()));
            let mut map = IdMap::default();
            for at in 0..DELTAS / PROCESSES {
                let delta = decode(if at == 0 { &first } else { &later }).expect("the delta is whole");
                map.extend(&mut merged.dictionary, &delta.dictionary, &[label]).expect("its names are known");
                for ((node, labels), values) in map.cells(&delta.cells).expect("its ids are known") {
                    merged.cells.add(node, labels, &values);
                }
            }
        }
        black_box(merged);
    })
}

/// What a process sends first: all names, and its values.
fn first() -> Delta {
    let profile = filled(CELLS);
    let mut dictionary = profile.dictionary.since(Mark::default());
    // The driver alone gives the label `process`, and refuses a delta that has one.
    dictionary
        .strings
        .iter_mut()
        .filter(|text| *text == "process")
        .for_each(|text| *text = "job_group".to_owned());
    Delta { dictionary, ..delta(&profile) }
}

/// What it sends then: no new name.
fn later() -> Delta {
    let profile = filled(CELLS);
    Delta { dictionary: profile.dictionary.since(profile.dictionary.mark()), ..delta(&profile) }
}

fn delta(profile: &Profile) -> Delta {
    Delta {
        process: ProcessIdentity {
            uuid: "0123".to_owned(),
            id: "1".to_owned(),
            ..ProcessIdentity::default()
        },
        seq: 1,
        from: 1_000_000_000,
        to: 2_000_000_000,
        cells: profile.cells.sorted(),
        ..Delta::default()
    }
}
