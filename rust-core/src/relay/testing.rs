//! A process that samples what a test tells it to.

use super::wire::{pack, seal, Head};
use super::Delta;
use crate::profile::{
    Cells, Dictionary, Frame, Mark, NameId, NodeId, ProcessIdentity, ProcessStatus, Profile, TaskTotals,
    Values,
};
use flate2::{read::ZlibDecoder, write::ZlibEncoder, Compression};
use std::io::{Read, Write};

pub(crate) const SECOND: u64 = 1_000_000_000;

/// xorshift64*: the same numbers in every run.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

pub(crate) struct Sender {
    pub process: ProcessIdentity,
    pub status: ProcessStatus,
    pub dictionary: Dictionary,
    pub cells: Cells,
    pub tasks: Vec<TaskTotals>,
    pub seq: u64,
    pub epoch: u32,
    mark: Mark,
}

impl Sender {
    pub(crate) fn new(id: &str) -> Sender {
        Sender::with_uuid(id, &format!("uuid-of-{id}"))
    }

    pub(crate) fn with_uuid(id: &str, uuid: &str) -> Sender {
        let process = ProcessIdentity {
            uuid: uuid.into(),
            id: id.into(),
            host: format!("host-{id}"),
            pid: 4711,
            java: "OpenJDK 64-Bit Server VM 17.0.9".into(),
            glowplug: "0.1.0".into(),
            jar: "/jars/glowplug.jar".into(),
            started: 1,
            engines: vec!["cpu=timers(10ms)".into(), "alloc=off".into()],
        };
        Sender {
            process,
            status: ProcessStatus::default(),
            dictionary: Dictionary::default(),
            cells: Cells::default(),
            tasks: Vec::new(),
            seq: 0,
            epoch: 0,
            mark: Mark::default(),
        }
    }

    pub(crate) fn sample(&mut self, stack: &[&str], labels: &[(&str, &str)], values: Values) {
        let dictionary = &mut self.dictionary;
        let mut node = Dictionary::ROOT;
        for function in stack {
            let function = dictionary.name(function);
            let file = dictionary.name("Job.java");
            let frame = dictionary.frame(Frame { function, file, line: 7 });
            node = dictionary.child(node, frame);
        }
        let labels: Vec<(NameId, NameId)> =
            labels.iter().map(|(key, value)| (dictionary.name(key), dictionary.name(value))).collect();
        let labels = dictionary.label_set(&labels);
        self.cells.add(node, labels, &values);
    }

    /// What was sampled since the last delta.
    pub(crate) fn delta(&mut self, from: u64, to: u64) -> Delta {
        let dictionary = self.dictionary.since(self.mark);
        self.mark = self.dictionary.mark();
        self.seq += 1;
        Delta {
            process: self.process.clone(),
            seq: self.seq,
            epoch: self.epoch,
            from,
            to,
            dictionary,
            cells: self.cells.take().sorted(),
            status: self.status.clone(),
            tasks: std::mem::take(&mut self.tasks),
            ..Delta::default()
        }
    }

    pub(crate) fn last(&mut self, from: u64, to: u64) -> Delta {
        Delta { last: true, ending: "shutdown".into(), ..self.delta(from, to) }
    }
}

/// Samples of all kinds in random places; the same ones for the same `random`.
pub(crate) fn random_samples(sender: &mut Sender, random: &mut Random, count: u64) {
    for _ in 0..count {
        let names: Vec<String> =
            (0..1 + random.below(12)).map(|_| format!("pkg.Class.method{}", random.below(40))).collect();
        let stack: Vec<&str> = names.iter().map(String::as_str).collect();
        let (stage, sql, user) =
            (random.below(6).to_string(), random.below(4).to_string(), random.below(3).to_string());
        let mut labels =
            vec![("thread", "Executor task launch worker"), ("stage", &stage), ("stage_attempt", "0")];
        if random.below(2) == 0 {
            labels.push(("sql_execution", &sql));
            labels.push(("user_tenant", &user));
        }
        let mut values = Values::default();
        for value in &mut values.0 {
            *value = if random.below(3) == 0 { random.below(1 << 40) } else { 0 };
        }
        sender.sample(&stack, &labels, values);
    }
}

/// Sums of all value types, to compare totals exactly.
pub(crate) fn totals<'a>(cells: impl Iterator<Item = &'a Values>) -> Values {
    let mut sum = Values::default();
    cells.for_each(|values| sum.add(values));
    sum
}

/// Values by readable stack (root first, `;` between) and labels.
pub(crate) fn readable(profile: &Profile) -> std::collections::BTreeMap<(String, String), Values> {
    let dictionary = &profile.dictionary;
    let mut rows = std::collections::BTreeMap::<_, Values>::new();
    for ((node, set), values) in profile.cells.iter() {
        let labels = dictionary.labels(set).iter();
        let mut labels: Vec<_> = labels
            .map(|(key, value)| format!("{}={}", dictionary.text(*key), dictionary.text(*value)))
            .collect();
        labels.sort();
        rows.entry((stack(dictionary, node), labels.join(" "))).or_default().add(values);
    }
    rows
}

fn stack(dictionary: &Dictionary, node: NodeId) -> String {
    let names: Vec<_> = dictionary
        .path(node)
        .into_iter()
        .map(|frame| dictionary.text(dictionary.frame_of(frame).function))
        .collect();
    names.join(";")
}

/// What a delta packs, before it is compressed and sealed.
pub(crate) fn body_of(delta: &Delta) -> Vec<u8> {
    let mut body = Vec::new();
    ZlibDecoder::new(pack(delta).body.as_slice()).read_to_end(&mut body).unwrap();
    body
}

/// A delta whose seal is right, whatever `change` made of its body.
pub(crate) fn sealed(
    seq: u64,
    mut body: Vec<u8>,
    level: Compression,
    change: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    change(&mut body);
    let mut encoder = ZlibEncoder::new(Vec::new(), level);
    encoder.write_all(&body).unwrap();
    let head = Head { glowplug: "0.1.0", jar: "/x.jar", seq, sent_at: None, clock_offset: None };
    seal(&head, encoder.finish().unwrap())
}

/// Damages bytes in one to four places.
pub(crate) fn changed(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(5) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => bytes.truncate(at.max(1)),
            3 => bytes.insert(at, random.next() as u8),
            _ => bytes.splice(at..at, [0xff; 9]).for_each(drop),
        }
    }
}
