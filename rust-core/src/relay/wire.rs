//! The bytes of a delta and of an answer.
//!
//! A delta is a [`Sealed`] message: a head that every protocol version can read, and a body that is
//! compressed. The body keeps its rows as columns of small numbers (differences to the row before),
//! so that a cell costs few bytes. What comes in is hostile: every size, count, text, id and value is
//! checked before it is believed.

use super::{
    Answer, Delta, Order, LAST_DELTA_BYTES, MAX_DELTA_BYTES, MAX_DEPTH, MAX_LABEL, MAX_NAME, PROTOCOL,
};
use crate::profile::{
    CellKey, DictionaryPart, Engine, Frame, FrameId, LabelKey, LabelSetId, Lost, LostCause, Mark, NameId,
    Node, NodeId, ProcessIdentity, ProcessStatus, TaskTotals, Values, Warning, VALUE_TYPES,
};
use flate2::{read::ZlibDecoder, write::ZlibEncoder, Compression};
use prost::Message;
use std::borrow::Cow;
use std::io::{Read, Write};

/// Why bytes are not a delta.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeltaError {
    /// More bytes than a delta may have.
    #[error("the delta has more than {MAX_DELTA_BYTES} bytes")]
    TooLarge,
    /// Not the messages of this protocol: cut off, or changed on the way.
    #[error("the delta cannot be read: {0}")]
    Malformed(&'static str),
    /// The sender runs another version.
    #[error("protocol {theirs} of Glowplug {glowplug} ({jar}) is not protocol {PROTOCOL}")]
    Protocol {
        /// The sender's protocol.
        theirs: u32,
        /// The sender's version.
        glowplug: String,
        /// The sender's jar.
        jar: String,
    },
    /// Columns of one table differ in length.
    #[error("the delta's {0} columns differ in length")]
    Columns(&'static str),
    /// A text is too long.
    #[error("the delta has a {0} that is too long")]
    TextTooLong(&'static str),
    /// An id points to no row.
    #[error("the delta has a {0} id out of range")]
    OutOfRange(&'static str),
    /// A number that no profile can have.
    #[error("the delta's {0} is not possible")]
    Value(&'static str),
}

/// The bytes of one delta. Texts over their caps are cut; a delta over [`MAX_DELTA_BYTES`] is the
/// caller's to split ([`super::Outbox`] does).
pub fn encode(delta: &Delta) -> Vec<u8> {
    let packed = pack(delta);
    seal(
        &Head {
            glowplug: &delta.process.glowplug,
            jar: &delta.process.jar,
            seq: delta.seq,
            sent_at: delta.sent_at,
            clock_offset: None,
        },
        packed.body,
    )
}

/// Reads and checks a delta. Allocates at most about 30 times [`MAX_DELTA_BYTES`], whatever comes.
///
/// # Errors
/// [`DeltaError`] says what is wrong; nothing of the delta is used then.
pub fn decode(bytes: &[u8]) -> Result<Delta, DeltaError> {
    if bytes.len() > MAX_DELTA_BYTES {
        return Err(DeltaError::TooLarge);
    }
    let foreign = Foreign::decode(bytes).map_err(|_| DeltaError::Malformed("no head"))?;
    if foreign.protocol == 0 {
        return Err(DeltaError::Malformed("no protocol"));
    }
    if foreign.protocol != PROTOCOL {
        return Err(DeltaError::Protocol {
            theirs: foreign.protocol,
            glowplug: cut(&foreign.glowplug, MAX_LABEL).into_owned(),
            jar: cut(&foreign.jar, MAX_NAME).into_owned(),
        });
    }
    let sealed = Sealed::decode(bytes).map_err(|_| DeltaError::Malformed("no message"))?;
    if sealed.seq == 0 {
        return Err(DeltaError::Value("seq"));
    }
    let mut delta = unpack(&sealed.body)?;
    delta.seq = sealed.seq;
    delta.sent_at = sealed.sent_at;
    delta.process.glowplug = cut(&sealed.glowplug, MAX_LABEL).into_owned();
    delta.process.jar = cut(&sealed.jar, MAX_NAME).into_owned();
    if let Some(offset) = sealed.clock_offset {
        delta.from = delta.from.saturating_add_signed(offset);
        delta.to = delta.to.saturating_add_signed(offset);
        delta.process.started = delta.process.started.saturating_add_signed(offset);
    }
    if sealed.sent_at.is_some_and(|time| time > MAX_TIME) || delta.to > MAX_TIME {
        return Err(DeltaError::Value("time"));
    }
    Ok(delta)
}

/// The bytes of an answer.
pub fn encode_answer(answer: &Answer) -> Vec<u8> {
    SealedAnswer {
        protocol: PROTOCOL,
        refused: answer.refused.clone(),
        ack: answer.ack,
        next_interval_ms: answer.next_interval_ms,
        order: match answer.order {
            Order::Normal => 0,
            Order::Safe => 1,
            Order::Off => 2,
        },
        driver_time: answer.driver_time,
        resend_names: answer.resend_names,
    }
    .encode_to_vec()
}

/// Reads an answer. One of another protocol is a refusal, whatever else it says.
///
/// # Errors
/// [`DeltaError`] if it cannot be read.
pub fn decode_answer(bytes: &[u8]) -> Result<Answer, DeltaError> {
    if bytes.len() > LAST_DELTA_BYTES {
        return Err(DeltaError::TooLarge);
    }
    let foreign = ForeignAnswer::decode(bytes).map_err(|_| DeltaError::Malformed("no answer"))?;
    if foreign.protocol != PROTOCOL {
        let text = format!("the driver speaks protocol {}, this process {PROTOCOL}", foreign.protocol);
        return Ok(Answer { refused: Some(foreign.refused.unwrap_or(text)), ..Answer::default() });
    }
    let answer = SealedAnswer::decode(bytes).map_err(|_| DeltaError::Malformed("no answer"))?;
    let order = match answer.order {
        0 => Order::Normal,
        1 => Order::Safe,
        2 => Order::Off,
        _ => return Err(DeltaError::Value("order")),
    };
    if answer.driver_time > MAX_TIME {
        return Err(DeltaError::Value("time"));
    }
    Ok(Answer {
        ack: answer.ack,
        next_interval_ms: answer.next_interval_ms,
        order,
        driver_time: answer.driver_time,
        resend_names: answer.resend_names,
        refused: answer.refused,
    })
}

/// What of a delta is known only when it is sent.
pub(super) struct Head<'a> {
    pub glowplug: &'a str,
    pub jar: &'a str,
    pub seq: u64,
    pub sent_at: Option<u64>,
    pub clock_offset: Option<i64>,
}

/// A compressed body, and its size before.
pub(super) struct Packed {
    pub body: Vec<u8>,
    pub unpacked: usize,
}

pub(super) fn pack(delta: &Delta) -> Packed {
    let body = Body::from_delta(delta).encode_to_vec();
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(body.len() / 2), Compression::fast());
    let written = encoder.write_all(&body).and_then(|()| encoder.finish());
    Packed { body: written.expect("writing to memory does not fail"), unpacked: body.len() }
}

/// The delta in a body; its times are the sender's, and it has no seq.
pub(super) fn unpack(body: &[u8]) -> Result<Delta, DeltaError> {
    let mut raw = Vec::with_capacity((body.len() * 3).min(MAX_DELTA_BYTES));
    let mut inflated = ZlibDecoder::new(body).take(MAX_DELTA_BYTES as u64 + 1);
    inflated.read_to_end(&mut raw).map_err(|_| DeltaError::Malformed("not compressed as it should be"))?;
    if raw.len() > MAX_DELTA_BYTES {
        return Err(DeltaError::TooLarge);
    }
    Body::decode(raw.as_slice()).map_err(|_| DeltaError::Malformed("no body"))?.into_delta()
}

pub(super) fn seal(head: &Head<'_>, body: Vec<u8>) -> Vec<u8> {
    Sealed {
        protocol: PROTOCOL,
        glowplug: cut(head.glowplug, MAX_LABEL).into_owned(),
        jar: cut(head.jar, MAX_NAME).into_owned(),
        seq: head.seq,
        sent_at: head.sent_at,
        clock_offset: head.clock_offset,
        body,
    }
    .encode_to_vec()
}

/// The first `limit` characters.
fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        Some((end, _)) => Cow::Owned(text[..end].to_string()),
        None => Cow::Borrowed(text),
    }
}

/// Year 2116: later times would not fit in pprof's signed nanoseconds with a duration added.
const MAX_TIME: u64 = 1 << 62;
/// One value of one cell: ten thousand threads that wait through the longest period, one hour, twice.
const MAX_VALUE: u64 = 1 << 56;
/// A running total of a process: the CPU of a hundred busy cores in a year and a half.
const MAX_TOTAL: u64 = 1 << 62;
/// A delta covers at most a day.
const MAX_SPAN: u64 = 86_400_000_000_000;
const MAX_LABELS_IN_SET: usize = 40;
const MAX_ENGINES: usize = 16;
pub(super) const MAX_WARNINGS: usize = 200;
const MAX_WARNING: usize = 2000;

/// These three fields keep number and type in every protocol.
#[derive(Clone, PartialEq, Message)]
struct Foreign {
    #[prost(uint32, tag = "1")]
    protocol: u32,
    #[prost(string, tag = "2")]
    glowplug: String,
    #[prost(string, tag = "3")]
    jar: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sealed {
    #[prost(uint32, tag = "1")]
    protocol: u32,
    #[prost(string, tag = "2")]
    glowplug: String,
    #[prost(string, tag = "3")]
    jar: String,
    #[prost(uint64, tag = "4")]
    seq: u64,
    #[prost(uint64, optional, tag = "5")]
    sent_at: Option<u64>,
    #[prost(sint64, optional, tag = "6")]
    clock_offset: Option<i64>,
    #[prost(bytes = "vec", tag = "7")]
    body: Vec<u8>,
}

/// These two fields keep number and type in every protocol.
#[derive(Clone, PartialEq, Message)]
struct ForeignAnswer {
    #[prost(uint32, tag = "1")]
    protocol: u32,
    #[prost(string, optional, tag = "2")]
    refused: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct SealedAnswer {
    #[prost(uint32, tag = "1")]
    protocol: u32,
    #[prost(string, optional, tag = "2")]
    refused: Option<String>,
    #[prost(uint64, tag = "3")]
    ack: u64,
    #[prost(uint64, tag = "4")]
    next_interval_ms: u64,
    #[prost(uint32, tag = "5")]
    order: u32,
    #[prost(uint64, tag = "6")]
    driver_time: u64,
    #[prost(bool, tag = "7")]
    resend_names: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Body {
    #[prost(string, tag = "1")]
    uuid: String,
    #[prost(string, tag = "2")]
    id: String,
    #[prost(string, tag = "3")]
    host: String,
    #[prost(uint32, tag = "4")]
    pid: u32,
    #[prost(string, tag = "5")]
    java: String,
    #[prost(uint64, tag = "6")]
    started: u64,
    #[prost(string, repeated, tag = "7")]
    engines: Vec<String>,
    #[prost(uint32, tag = "10")]
    epoch: u32,
    #[prost(uint64, tag = "11")]
    from: u64,
    #[prost(uint64, tag = "12")]
    span: u64,
    #[prost(bool, tag = "13")]
    last: bool,
    #[prost(string, tag = "14")]
    ending: String,
    /// Strings, frames, nodes, label sets.
    #[prost(uint32, repeated, tag = "20")]
    base: Vec<u32>,
    #[prost(uint32, repeated, tag = "21")]
    string_bytes: Vec<u32>,
    #[prost(string, tag = "22")]
    text: String,
    #[prost(sint64, repeated, tag = "23")]
    frame_functions: Vec<i64>,
    #[prost(sint64, repeated, tag = "24")]
    frame_files: Vec<i64>,
    #[prost(sint64, repeated, tag = "25")]
    frame_lines: Vec<i64>,
    /// Distance to the parent.
    #[prost(uint32, repeated, tag = "26")]
    node_parents: Vec<u32>,
    #[prost(sint64, repeated, tag = "27")]
    node_frames: Vec<i64>,
    #[prost(uint32, repeated, tag = "28")]
    set_sizes: Vec<u32>,
    #[prost(uint32, repeated, tag = "29")]
    set_keys: Vec<u32>,
    #[prost(uint32, repeated, tag = "30")]
    set_values: Vec<u32>,
    #[prost(sint64, repeated, tag = "40")]
    cell_nodes: Vec<i64>,
    #[prost(sint64, repeated, tag = "41")]
    cell_sets: Vec<i64>,
    /// Bit n: value type n follows in `values`.
    #[prost(uint32, repeated, tag = "42")]
    cell_masks: Vec<u32>,
    #[prost(uint64, repeated, tag = "43")]
    values: Vec<u64>,
    #[prost(uint32, repeated, tag = "50")]
    engine_kinds: Vec<u32>,
    #[prost(uint64, repeated, tag = "51")]
    engine_samples: Vec<u64>,
    #[prost(uint32, repeated, tag = "52")]
    lost_causes: Vec<u32>,
    #[prost(uint64, repeated, tag = "53")]
    lost_counts: Vec<u64>,
    #[prost(uint64, tag = "54")]
    own_cpu: u64,
    #[prost(uint64, tag = "55")]
    process_cpu: u64,
    #[prost(uint64, tag = "56")]
    longest_pause: u64,
    #[prost(uint64, tag = "57")]
    native_memory: u64,
    #[prost(uint64, tag = "58")]
    sampled_cpu: u64,
    #[prost(sint64, repeated, tag = "60")]
    task_ids: Vec<i64>,
    #[prost(uint32, repeated, tag = "61")]
    task_stages: Vec<u32>,
    #[prost(uint32, repeated, tag = "62")]
    task_attempts: Vec<u32>,
    #[prost(uint64, repeated, tag = "63")]
    task_cpu: Vec<u64>,
    #[prost(uint64, repeated, tag = "64")]
    task_wall: Vec<u64>,
    #[prost(uint64, repeated, tag = "65")]
    task_bytes: Vec<u64>,
    #[prost(string, repeated, tag = "70")]
    warning_codes: Vec<String>,
    #[prost(string, repeated, tag = "71")]
    warning_messages: Vec<String>,
    #[prost(uint64, repeated, tag = "72")]
    warning_counts: Vec<u64>,
}

const ENGINES: [Engine; 4] = [Engine::Cpu, Engine::Wall, Engine::Alloc, Engine::Runtime];
const CAUSES: [LostCause; 5] = [
    LostCause::RingFull,
    LostCause::NotWalkable,
    LostCause::NoScratch,
    LostCause::NameLost,
    LostCause::DeltaDropped,
];

/// Place in a table of all variants, which is the number on the wire.
fn number<T: PartialEq>(table: &[T], value: &T) -> u32 {
    table.iter().position(|known| known == value).expect("the table has every variant") as u32
}

/// Turns ids into differences to the one before.
#[derive(Default)]
struct Difference(i64);

impl Difference {
    fn pack(&mut self, id: u64) -> i64 {
        let difference = (id as i64).wrapping_sub(self.0);
        self.0 = id as i64;
        difference
    }

    fn unpack(&mut self, difference: i64) -> u64 {
        self.0 = self.0.wrapping_add(difference);
        self.0 as u64
    }

    fn unpack_id(&mut self, difference: i64, what: &'static str) -> Result<u32, DeltaError> {
        u32::try_from(self.unpack(difference)).map_err(|_| DeltaError::OutOfRange(what))
    }
}

impl Body {
    fn from_delta(delta: &Delta) -> Body {
        let process = &delta.process;
        let part = &delta.dictionary;
        let status = &delta.status;
        let mut body = Body {
            uuid: cut(&process.uuid, MAX_LABEL).into_owned(),
            id: cut(&process.id, MAX_LABEL).into_owned(),
            host: cut(&process.host, MAX_LABEL).into_owned(),
            pid: process.pid,
            java: cut(&process.java, MAX_LABEL).into_owned(),
            started: process.started,
            engines: process.engines.iter().map(|text| cut(text, MAX_LABEL).into_owned()).collect(),
            epoch: delta.epoch,
            from: delta.from,
            span: delta.to.saturating_sub(delta.from),
            last: delta.last,
            ending: cut(&delta.ending, MAX_LABEL).into_owned(),
            base: vec![part.base.strings, part.base.frames, part.base.nodes, part.base.label_sets],
            engine_kinds: status.samples.iter().map(|(engine, _)| number(&ENGINES, engine)).collect(),
            engine_samples: status.samples.iter().map(|(_, count)| *count).collect(),
            lost_causes: status.lost.iter().map(|lost| number(&CAUSES, &lost.cause)).collect(),
            lost_counts: status.lost.iter().map(|lost| lost.count).collect(),
            own_cpu: status.own_cpu,
            process_cpu: status.process_cpu,
            longest_pause: status.longest_pause,
            native_memory: status.native_memory,
            sampled_cpu: status.sampled_cpu,
            ..Body::default()
        };
        body.take_dictionary(part);
        body.take_cells(&delta.cells);
        body.take_tasks(&delta.tasks);
        for (warning, count) in &delta.warnings {
            body.warning_codes.push(cut(&warning.code, MAX_LABEL).into_owned());
            body.warning_messages.push(cut(&warning.message, MAX_WARNING).into_owned());
            body.warning_counts.push(*count);
        }
        body
    }

    fn take_dictionary(&mut self, part: &DictionaryPart) {
        let mut is_label = vec![false; part.strings.len()];
        for (_, value) in part.label_sets.iter().flatten() {
            let row = value.0.checked_sub(part.base.strings).map(|row| row as usize);
            if let Some(slot) = row.and_then(|row| is_label.get_mut(row)) {
                *slot = true;
            }
        }
        for (text, is_label) in part.strings.iter().zip(is_label) {
            let kept = cut(text, if is_label { MAX_LABEL } else { MAX_NAME });
            self.string_bytes.push(kept.len() as u32);
            self.text.push_str(&kept);
        }
        let [mut functions, mut files, mut lines] = [(); 3].map(|()| Difference::default());
        for frame in &part.frames {
            self.frame_functions.push(functions.pack(frame.function.0.into()));
            self.frame_files.push(files.pack(frame.file.0.into()));
            self.frame_lines.push(lines.pack(frame.line.into()));
        }
        let mut frames = Difference::default();
        for (id, node) in (part.base.nodes..).zip(&part.nodes) {
            self.node_parents.push(id.wrapping_sub(node.parent.0));
            self.node_frames.push(frames.pack(node.frame.0.into()));
        }
        for set in &part.label_sets {
            let set = &set[..set.len().min(MAX_LABELS_IN_SET)];
            self.set_sizes.push(set.len() as u32);
            self.set_keys.extend(set.iter().map(|(key, _)| key.0));
            self.set_values.extend(set.iter().map(|(_, value)| value.0));
        }
    }

    fn take_cells(&mut self, cells: &[(CellKey, Values)]) {
        let [mut nodes, mut sets] = [(); 2].map(|()| Difference::default());
        for ((node, set), values) in cells {
            self.cell_nodes.push(nodes.pack(node.0.into()));
            self.cell_sets.push(sets.pack(set.0.into()));
            let mut mask = 0;
            for (bit, value) in values.0.iter().enumerate().filter(|(_, value)| **value != 0) {
                mask |= 1 << bit;
                self.values.push(*value);
            }
            self.cell_masks.push(mask);
        }
    }

    fn take_tasks(&mut self, tasks: &[TaskTotals]) {
        let mut ids = Difference::default();
        for task in tasks {
            self.task_ids.push(ids.pack(task.task));
            self.task_stages.push(task.stage);
            self.task_attempts.push(task.stage_attempt);
            self.task_cpu.push(task.cpu);
            self.task_wall.push(task.wall);
            self.task_bytes.push(task.alloc_bytes);
        }
    }

    fn into_delta(self) -> Result<Delta, DeltaError> {
        if self.from > MAX_TIME || self.span > MAX_SPAN || self.started > MAX_TIME {
            return Err(DeltaError::Value("time"));
        }
        let dictionary = self.dictionary()?;
        let known = dictionary.end();
        Ok(Delta {
            seq: 0,
            epoch: self.epoch,
            from: self.from,
            to: self.from + self.span,
            sent_at: None,
            last: self.last,
            cells: self.cells(known)?,
            status: self.status()?,
            tasks: self.tasks()?,
            warnings: self.warnings()?,
            dictionary,
            ending: short(self.ending, "ending", MAX_LABEL)?,
            process: ProcessIdentity {
                uuid: short(self.uuid, "uuid", MAX_LABEL)?,
                id: short(self.id, "executor id", MAX_LABEL)?,
                host: short(self.host, "host", MAX_LABEL)?,
                pid: self.pid,
                java: short(self.java, "Java version", MAX_LABEL)?,
                glowplug: String::new(),
                jar: String::new(),
                started: self.started,
                engines: engines(self.engines)?,
            },
        })
    }

    fn dictionary(&self) -> Result<DictionaryPart, DeltaError> {
        let [strings, frames, nodes, label_sets] = self.base[..] else {
            return Err(DeltaError::Columns("base"));
        };
        let base = Mark { strings, frames, nodes, label_sets };
        let room = |base: u32, rows: usize, what| {
            u32::try_from(rows)
                .ok()
                .and_then(|rows| base.checked_add(rows))
                .ok_or(DeltaError::OutOfRange(what))
        };
        let strings_known = room(base.strings, self.string_bytes.len(), "string")?;
        let frames_known = room(base.frames, self.frame_functions.len(), "frame")?;
        room(base.nodes, self.node_parents.len(), "node")?;
        room(base.label_sets, self.set_sizes.len(), "label set")?;
        let strings = self.strings()?;
        Ok(DictionaryPart {
            base,
            frames: self.frames(strings_known)?,
            nodes: self.nodes(base.nodes, frames_known)?,
            label_sets: self.label_sets(base.strings, &strings)?,
            strings,
        })
    }

    fn strings(&self) -> Result<Vec<String>, DeltaError> {
        let mut rest = self.text.as_str();
        let mut strings = Vec::with_capacity(self.string_bytes.len());
        for bytes in &self.string_bytes {
            let (text, after) =
                rest.split_at_checked(*bytes as usize).ok_or(DeltaError::Malformed("texts end early"))?;
            if text.chars().nth(MAX_NAME).is_some() {
                return Err(DeltaError::TextTooLong("name"));
            }
            strings.push(text.to_string());
            rest = after;
        }
        if !rest.is_empty() {
            return Err(DeltaError::Malformed("texts left over"));
        }
        Ok(strings)
    }

    fn frames(&self, strings_known: u32) -> Result<Vec<Frame>, DeltaError> {
        let rows = self.frame_functions.len();
        if self.frame_files.len() != rows || self.frame_lines.len() != rows {
            return Err(DeltaError::Columns("frame"));
        }
        let [mut functions, mut files, mut lines] = [(); 3].map(|()| Difference::default());
        let columns = self.frame_functions.iter().zip(&self.frame_files).zip(&self.frame_lines);
        columns
            .map(|((function, file), line)| {
                let function = functions.unpack_id(*function, "string")?;
                let file = files.unpack_id(*file, "string")?;
                let line = lines.unpack_id(*line, "line")?;
                if function >= strings_known || file >= strings_known {
                    return Err(DeltaError::OutOfRange("string"));
                }
                Ok(Frame { function: NameId(function), file: NameId(file), line })
            })
            .collect()
    }

    fn nodes(&self, base: u32, frames_known: u32) -> Result<Vec<Node>, DeltaError> {
        if self.node_frames.len() != self.node_parents.len() {
            return Err(DeltaError::Columns("node"));
        }
        let mut frames = Difference::default();
        let mut depths: Vec<u16> = Vec::with_capacity(self.node_parents.len());
        let mut nodes = Vec::with_capacity(self.node_parents.len());
        for (row, (up, frame)) in self.node_parents.iter().zip(&self.node_frames).enumerate() {
            let id = base + row as u32;
            let frame = frames.unpack_id(*frame, "frame")?;
            let parent = id.checked_sub(*up).ok_or(DeltaError::OutOfRange("node"))?;
            // The root alone, which is row 0 of a dictionary that begins, is its own parent.
            if frame >= frames_known || (*up == 0) != (id == 0) {
                return Err(DeltaError::OutOfRange("node"));
            }
            let above = parent.checked_sub(base).and_then(|row| depths.get(row as usize).copied());
            let depth = above.map_or(0, |depth| depth + 1);
            if depth > MAX_DEPTH {
                return Err(DeltaError::Value("depth"));
            }
            depths.push(depth);
            nodes.push(Node { parent: NodeId(parent), frame: FrameId(frame) });
        }
        Ok(nodes)
    }

    fn label_sets(&self, base: u32, strings: &[String]) -> Result<Vec<Vec<(NameId, NameId)>>, DeltaError> {
        let rows = self.set_keys.len();
        let sum = self.set_sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size as usize));
        if self.set_values.len() != rows || sum != Some(rows) {
            return Err(DeltaError::Columns("label"));
        }
        let known = base + strings.len() as u32;
        let brought = |id: u32| id.checked_sub(base).map(|row| strings[row as usize].as_str());
        let mut pairs = self.set_keys.iter().zip(&self.set_values);
        let mut sets = Vec::with_capacity(self.set_sizes.len());
        for size in &self.set_sizes {
            let size = *size as usize;
            if size > MAX_LABELS_IN_SET {
                return Err(DeltaError::Value("number of labels"));
            }
            let mut set = Vec::with_capacity(size);
            for (key, value) in pairs.by_ref().take(size) {
                if *key >= known || *value >= known {
                    return Err(DeltaError::OutOfRange("string"));
                }
                if brought(*key).is_some_and(|key| !is_label_key(key)) {
                    return Err(DeltaError::Value("label key"));
                }
                if brought(*value).is_some_and(|value| value.chars().nth(MAX_LABEL).is_some()) {
                    return Err(DeltaError::TextTooLong("label"));
                }
                set.push((NameId(*key), NameId(*value)));
            }
            sets.push(set);
        }
        Ok(sets)
    }

    fn cells(&self, known: Mark) -> Result<Vec<(CellKey, Values)>, DeltaError> {
        let rows = self.cell_nodes.len();
        if self.cell_sets.len() != rows || self.cell_masks.len() != rows {
            return Err(DeltaError::Columns("cell"));
        }
        let [mut nodes, mut sets] = [(); 2].map(|()| Difference::default());
        let mut values = self.values.iter();
        let mut cells = Vec::with_capacity(rows);
        for ((node, set), mask) in self.cell_nodes.iter().zip(&self.cell_sets).zip(&self.cell_masks) {
            let node = nodes.unpack_id(*node, "node")?;
            let set = sets.unpack_id(*set, "label set")?;
            if node >= known.nodes || set >= known.label_sets {
                return Err(DeltaError::OutOfRange("cell"));
            }
            if *mask >> VALUE_TYPES.len() != 0 {
                return Err(DeltaError::Value("value type"));
            }
            let mut row = Values::default();
            for bit in (0..VALUE_TYPES.len()).filter(|bit| mask >> bit & 1 == 1) {
                let value = *values.next().ok_or(DeltaError::Columns("value"))?;
                if value == 0 || value > MAX_VALUE {
                    return Err(DeltaError::Value("value"));
                }
                row.0[bit] = value;
            }
            cells.push(((NodeId(node), LabelSetId(set)), row));
        }
        if values.next().is_some() {
            return Err(DeltaError::Columns("value"));
        }
        Ok(cells)
    }

    fn status(&self) -> Result<ProcessStatus, DeltaError> {
        if self.engine_kinds.len() != self.engine_samples.len()
            || self.lost_causes.len() != self.lost_counts.len()
            || self.engine_kinds.len() > ENGINES.len()
            || self.lost_causes.len() > CAUSES.len()
        {
            return Err(DeltaError::Columns("status"));
        }
        let totals =
            [self.own_cpu, self.process_cpu, self.longest_pause, self.native_memory, self.sampled_cpu];
        let mut all = totals.iter().chain(&self.engine_samples).chain(&self.lost_counts);
        if all.any(|total| *total > MAX_TOTAL) {
            return Err(DeltaError::Value("status"));
        }
        let engine = |kind: &u32| ENGINES.get(*kind as usize).copied().ok_or(DeltaError::Value("engine"));
        let cause = |kind: &u32| CAUSES.get(*kind as usize).copied().ok_or(DeltaError::Value("cause"));
        let samples = self.engine_kinds.iter().zip(&self.engine_samples);
        let lost = self.lost_causes.iter().zip(&self.lost_counts);
        Ok(ProcessStatus {
            samples: samples.map(|(kind, count)| Ok((engine(kind)?, *count))).collect::<Result<_, _>>()?,
            lost: lost
                .map(|(kind, count)| Ok(Lost { cause: cause(kind)?, count: *count }))
                .collect::<Result<_, _>>()?,
            own_cpu: self.own_cpu,
            process_cpu: self.process_cpu,
            longest_pause: self.longest_pause,
            native_memory: self.native_memory,
            sampled_cpu: self.sampled_cpu,
        })
    }

    fn tasks(&self) -> Result<Vec<TaskTotals>, DeltaError> {
        let rows = self.task_ids.len();
        let columns = [self.task_stages.len(), self.task_attempts.len()];
        let values = [&self.task_cpu, &self.task_wall, &self.task_bytes];
        if columns.iter().any(|column| *column != rows) || values.iter().any(|column| column.len() != rows) {
            return Err(DeltaError::Columns("task"));
        }
        if values.iter().any(|column| column.iter().any(|value| *value > MAX_VALUE)) {
            return Err(DeltaError::Value("task total"));
        }
        let mut ids = Difference::default();
        let row = |row: usize| TaskTotals {
            task: ids.unpack(self.task_ids[row]),
            stage: self.task_stages[row],
            stage_attempt: self.task_attempts[row],
            cpu: self.task_cpu[row],
            wall: self.task_wall[row],
            alloc_bytes: self.task_bytes[row],
        };
        Ok((0..rows).map(row).collect())
    }

    fn warnings(&self) -> Result<Vec<(Warning, u64)>, DeltaError> {
        let rows = self.warning_codes.len();
        if self.warning_messages.len() != rows || self.warning_counts.len() != rows || rows > MAX_WARNINGS {
            return Err(DeltaError::Columns("warning"));
        }
        if self.warning_counts.iter().any(|count| *count > MAX_VALUE) {
            return Err(DeltaError::Value("warning count"));
        }
        (0..rows)
            .map(|row| {
                let code = short(self.warning_codes[row].clone(), "warning code", MAX_LABEL)?;
                let message = short(self.warning_messages[row].clone(), "warning", MAX_WARNING)?;
                Ok((Warning { code, message }, self.warning_counts[row]))
            })
            .collect()
    }
}

fn short(text: String, what: &'static str, limit: usize) -> Result<String, DeltaError> {
    match text.chars().nth(limit) {
        Some(_) => Err(DeltaError::TextTooLong(what)),
        None => Ok(text),
    }
}

fn engines(texts: Vec<String>) -> Result<Vec<String>, DeltaError> {
    if texts.len() > MAX_ENGINES {
        return Err(DeltaError::Value("number of engines"));
    }
    texts.into_iter().map(|text| short(text, "engine", MAX_LABEL)).collect()
}

/// The driver alone says which process a sample is of.
fn is_label_key(key: &str) -> bool {
    let own = LabelKey::ALL.iter().any(|known| *known != LabelKey::Process && known.as_str() == key);
    own || key.starts_with("user_") || matches!(key, "session" | "user" | "query")
}
