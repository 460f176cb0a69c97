//! pprof's profile.proto: written for our files, read back from any writer.
//!
//! Samples are streamed into the compressor as they are made, so that a file costs its tables and
//! its compressed bytes, never all samples at once.

use super::{gzip_writer, ProfileView, GZIP_CHUNK};
use crate::profile::{
    fold_smallest, Cells, Dictionary, Folded, Frame, FrameId, IdMap, Mark, NameId, NodeId, Profile,
    ValueType, Values, VALUE_TYPES,
};
use flate2::read::MultiGzDecoder;
use prost::Message;
use rustc_hash::FxHashMap;
use std::io::{Read, Write};

/// No file of ours is larger than this.
pub const LARGEST_FILE: usize = 64 << 20;

/// The view as a gzipped pprof file of at most [`LARGEST_FILE`] bytes. Equal input gives equal bytes.
pub fn encode(view: &ProfileView) -> Vec<u8> {
    encode_within(view, LARGEST_FILE).0
}

/// As [`encode`], with another limit; also says what went to `[folded]` to stay below it.
pub fn encode_within(view: &ProfileView, limit: usize) -> (Vec<u8>, Folded) {
    let mut folded = Folded::default();
    let bytes = write(view, folded);
    if bytes.len() <= limit {
        return (bytes, folded);
    }
    let mut smaller = filtered(view);
    loop {
        let before = size(&smaller);
        let more = fold_smallest(&mut smaller);
        folded.cells += more.cells;
        folded.cpu = folded.cpu.saturating_add(more.cpu);
        let bytes = write(&ProfileView { profile: &smaller, filter: None, ..view.clone() }, folded);
        // One cell for each label set is what no fold can halve.
        if bytes.len() <= limit || size(&smaller) == before {
            return (bytes, folded);
        }
    }
}

/// A pprof file that was read.
#[derive(Debug, Clone, Default)]
pub struct Decoded {
    /// Stacks, labels and the values of those sample types that we know.
    pub profile: Profile,
    /// Begin of the time covered, Unix nanoseconds; 0 where the file does not say.
    pub from_ns: u64,
    /// Length of the time covered.
    pub duration_ns: u64,
    /// Nanoseconds between samples; 0 where the period is none of CPU or wall time.
    pub period_ns: u64,
    /// Comments of the writer.
    pub comments: Vec<String>,
    /// Sample types of the file, as `name/unit`, that have no place among ours.
    pub ignored_types: Vec<String>,
}

impl Decoded {
    /// The whole of it as a view.
    pub fn view(&self) -> ProfileView<'_> {
        ProfileView {
            profile: &self.profile,
            filter: None,
            from_ns: self.from_ns,
            duration_ns: self.duration_ns,
            period_ns: self.period_ns,
            comments: self.comments.clone(),
        }
    }
}

/// Why bytes are no profile that we can show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The gzip stream is damaged.
    #[error("the gzip stream is damaged or cut: {0}")]
    Gzip(String),
    /// More than a profile can be.
    #[error("more than {} MiB when unpacked", LARGEST_UNPACKED >> 20)]
    TooLarge,
    /// No protobuf message of this shape.
    #[error("not a pprof file: {0}")]
    NotPprof(String),
    /// An index or id points nowhere.
    #[error("a damaged pprof file: {0}")]
    Dangling(&'static str),
    /// A difference of two profiles.
    #[error("it holds negative values: a difference of two profiles cannot be shown")]
    Negative,
    /// More frames than any program has.
    #[error("a stack has more than {DEEPEST_STACK} frames")]
    TooDeep,
    /// Another kind of profile.
    #[error("none of its sample types ({found}) is known; known are {}", known_types())]
    NoKnownType {
        /// What it has.
        found: String,
    },
}

/// Reads a pprof file, gzipped or plain, ours or another writer's.
///
/// # Errors
/// [`DecodeError`] says what is wrong with the bytes.
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let message = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        let limit = LARGEST_UNPACKED + 1;
        MultiGzDecoder::new(bytes)
            .take(limit)
            .read_to_end(&mut plain)
            .map_err(|error| DecodeError::Gzip(error.to_string()))?;
        if plain.len() as u64 == limit {
            return Err(DecodeError::TooLarge);
        }
        proto::Profile::decode(plain.as_slice())
    } else {
        proto::Profile::decode(bytes)
    };
    Reader::new(message.map_err(|error| DecodeError::NotPprof(error.to_string()))?)?.read()
}

/// Adds up profiles: the time covered is the span of all.
pub fn merge(parts: impl IntoIterator<Item = Decoded>) -> Decoded {
    let mut merged = Decoded::default();
    let mut until = 0;
    for part in parts {
        add(&mut merged.profile, &part.profile, &[]);
        if part.from_ns > 0 {
            let earliest = if merged.from_ns == 0 { part.from_ns } else { merged.from_ns.min(part.from_ns) };
            merged.from_ns = earliest;
            until = until.max(part.from_ns.saturating_add(part.duration_ns));
        } else {
            merged.duration_ns = merged.duration_ns.max(part.duration_ns);
        }
        merged.period_ns = merged.period_ns.max(part.period_ns);
        extend_new(&mut merged.comments, part.comments);
        extend_new(&mut merged.ignored_types, part.ignored_types);
    }
    merged.duration_ns = merged.duration_ns.max(until.saturating_sub(merged.from_ns));
    merged
}

/// Adds a profile's cells to another; `extra` labels, of the target's dictionary, go on every set.
pub fn add(target: &mut Profile, part: &Profile, extra: &[(NameId, NameId)]) {
    let mut ids = IdMap::default();
    let whole = part.dictionary.since(Mark::default());
    let known = ids.extend(&mut target.dictionary, &whole, extra);
    debug_assert!(known.is_ok(), "a dictionary knows its own ids");
    for ((node, labels), values) in part.cells.sorted() {
        if let (Ok(node), Ok(labels)) = (ids.node(node), ids.label_set(labels)) {
            target.cells.add(node, labels, &values);
        }
    }
}

/// A pprof file inflates about tenfold; ours end at 64 MiB.
const LARGEST_UNPACKED: u64 = 1 << 30;

/// A short file can name one location a million times in each sample; writers cut far below this.
const DEEPEST_STACK: usize = 65_536;

const DEFAULT_TYPE: &str = "cpu";

fn known_types() -> String {
    VALUE_TYPES.map(|(_, name, _)| name).join(", ")
}

fn extend_new(known: &mut Vec<String>, more: Vec<String>) {
    for text in more {
        if !known.contains(&text) {
            known.push(text);
        }
    }
}

/// The view as a profile of its own, which can be folded.
pub(super) fn filtered(view: &ProfileView) -> Profile {
    let mut cells = Cells::default();
    for ((node, labels), values) in view.rows() {
        cells.add(node, labels, &values);
    }
    Profile { dictionary: view.profile.dictionary.clone(), cells }
}

/// What a fold makes smaller while it can.
pub(super) fn size(profile: &Profile) -> (u32, usize) {
    (profile.dictionary.mark().nodes, profile.cells.len())
}

fn write(view: &ProfileView, folded: Folded) -> Vec<u8> {
    let mut out = Output { gzip: gzip_writer(), buffer: Vec::new() };
    let mut tables = Tables::new(&view.profile.dictionary);
    for (_, name, unit) in VALUE_TYPES {
        let value_type = tables.value_type(name, unit);
        out.field(1, &value_type);
    }
    let mut sample = proto::Sample::default();
    let mut stack: Option<NodeId> = None;
    for ((node, labels), values) in view.rows() {
        if stack != Some(node) {
            tables.stack(node, &mut sample.location_id);
            stack = Some(node);
        }
        sample.value.clear();
        // A pprof value is signed; a total beyond 2^63 cannot be said.
        sample.value.extend(values.0.iter().map(|value| i64::try_from(*value).unwrap_or(i64::MAX)));
        sample.label.clear();
        for (key, value) in view.profile.dictionary.labels(labels) {
            let (key, str) = (tables.name(*key), tables.name(*value));
            sample.label.push(proto::Label { key, str, ..Default::default() });
        }
        out.field(2, &sample);
    }
    out.field(
        3,
        &proto::Mapping {
            id: MAPPING,
            filename: tables.text("java"),
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            ..Default::default()
        },
    );
    for location in &tables.locations {
        out.field(4, location);
    }
    for function in &tables.functions {
        out.field(5, function);
    }
    let mut comments: Vec<i64> = view.comments.iter().map(|comment| tables.text(comment)).collect();
    if folded != Folded::default() {
        let said =
            format!("folded: {} cells, {} ns of CPU, to stay below the size limit", folded.cells, folded.cpu);
        comments.push(tables.text(&said));
    }
    let rest = proto::Profile {
        time_nanos: signed(view.from_ns),
        duration_nanos: signed(view.duration_ns),
        period_type: Some(tables.value_type("cpu", "nanoseconds")),
        period: signed(view.period_ns),
        comment: comments,
        default_sample_type: tables.text(DEFAULT_TYPE),
        string_table: tables.strings.into_iter().map(String::into_bytes).collect(),
        ..Default::default()
    };
    out.message(&rest);
    out.finish()
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

const MAPPING: u64 = 1;

/// Writes the fields of one message; protobuf allows them in any order and in several pieces.
struct Output {
    gzip: flate2::write::GzEncoder<Vec<u8>>,
    buffer: Vec<u8>,
}

impl Output {
    fn field<M: Message>(&mut self, tag: u32, message: &M) {
        prost::encoding::message::encode(tag, message, &mut self.buffer);
        self.flush();
    }

    fn message<M: Message>(&mut self, message: &M) {
        self.buffer.extend(message.encode_to_vec());
        self.flush();
    }

    fn flush(&mut self) {
        // Each call into the compressor clears room for 32 KiB: few large calls are several times cheaper.
        if self.buffer.len() >= GZIP_CHUNK {
            self.pass_on();
        }
    }

    fn pass_on(&mut self) {
        self.gzip.write_all(&self.buffer).expect("a Vec takes all bytes");
        self.buffer.clear();
    }

    fn finish(mut self) -> Vec<u8> {
        self.pass_on();
        self.gzip.finish().expect("a Vec takes all bytes")
    }
}

/// The file's tables as they grow with the samples.
struct Tables<'a> {
    dictionary: &'a Dictionary,
    strings: Vec<String>,
    string_ids: FxHashMap<String, i64>,
    name_ids: FxHashMap<NameId, i64>,
    functions: Vec<proto::Function>,
    function_ids: FxHashMap<(NameId, NameId), u64>,
    locations: Vec<proto::Location>,
    location_ids: FxHashMap<FrameId, u64>,
}

impl<'a> Tables<'a> {
    fn new(dictionary: &'a Dictionary) -> Self {
        let mut tables = Tables {
            dictionary,
            strings: Vec::new(),
            string_ids: FxHashMap::default(),
            name_ids: FxHashMap::default(),
            functions: Vec::new(),
            function_ids: FxHashMap::default(),
            locations: Vec::new(),
            location_ids: FxHashMap::default(),
        };
        tables.text("");
        tables
    }

    fn text(&mut self, text: &str) -> i64 {
        if let Some(id) = self.string_ids.get(text) {
            return *id;
        }
        let id = self.strings.len() as i64;
        self.strings.push(text.to_owned());
        self.string_ids.insert(text.to_owned(), id);
        id
    }

    fn name(&mut self, name: NameId) -> i64 {
        if let Some(id) = self.name_ids.get(&name) {
            return *id;
        }
        let id = self.text(self.dictionary.text(name));
        self.name_ids.insert(name, id);
        id
    }

    fn value_type(&mut self, name: &str, unit: &str) -> proto::ValueType {
        proto::ValueType { r#type: self.text(name), unit: self.text(unit) }
    }

    /// The locations of a node's path, leaf first.
    fn stack(&mut self, mut node: NodeId, locations: &mut Vec<u64>) {
        locations.clear();
        while node != Dictionary::ROOT {
            let at = self.dictionary.node(node);
            let location = self.location(at.frame);
            locations.push(location);
            node = at.parent;
        }
    }

    fn location(&mut self, id: FrameId) -> u64 {
        if let Some(known) = self.location_ids.get(&id) {
            return *known;
        }
        let frame = self.dictionary.frame_of(id);
        let function_id = self.function(frame);
        let location = self.locations.len() as u64 + 1;
        let line = vec![proto::Line { function_id, line: i64::from(frame.line) }];
        self.locations.push(proto::Location {
            id: location,
            mapping_id: MAPPING,
            line,
            ..Default::default()
        });
        self.location_ids.insert(id, location);
        location
    }

    fn function(&mut self, frame: Frame) -> u64 {
        let key = (frame.function, frame.file);
        if let Some(known) = self.function_ids.get(&key) {
            return *known;
        }
        let id = self.functions.len() as u64 + 1;
        let name = self.name(frame.function);
        let filename = self.name(frame.file);
        self.functions.push(proto::Function { id, name, system_name: name, filename, start_line: 0 });
        self.function_ids.insert(key, id);
        id
    }
}

/// A value column of the file: which of ours it is, and what one of its units is in ours.
#[derive(Clone, Copy)]
struct Column {
    index: usize,
    value: ValueType,
    scale: u64,
}

struct Reader {
    message: proto::Profile,
    strings: Vec<String>,
    columns: Vec<Column>,
    ignored_types: Vec<String>,
    functions: FxHashMap<u64, usize>,
    locations: FxHashMap<u64, usize>,
    frames: FxHashMap<u64, Vec<FrameId>>,
    decoded: Profile,
}

impl Reader {
    fn new(mut message: proto::Profile) -> Result<Self, DecodeError> {
        let strings = std::mem::take(&mut message.string_table);
        let functions = message.function.iter().enumerate().map(|(at, function)| (function.id, at)).collect();
        let locations = message.location.iter().enumerate().map(|(at, location)| (location.id, at)).collect();
        let mut reader = Reader {
            message,
            strings: strings.into_iter().map(lossy).collect(),
            columns: Vec::new(),
            ignored_types: Vec::new(),
            functions,
            locations,
            frames: FxHashMap::default(),
            decoded: Profile::default(),
        };
        reader.read_types()?;
        Ok(reader)
    }

    fn read_types(&mut self) -> Result<(), DecodeError> {
        if self.message.sample_type.is_empty() {
            return Err(DecodeError::NotPprof("it has no sample type".to_owned()));
        }
        for (index, value_type) in self.message.sample_type.iter().enumerate() {
            let (name, unit) = (self.text(value_type.r#type)?, self.text(value_type.unit)?);
            match column(name, unit) {
                Some((value, scale)) => self.columns.push(Column { index, value, scale }),
                None => self.ignored_types.push(format!("{name}/{unit}")),
            }
        }
        if self.columns.is_empty() {
            return Err(DecodeError::NoKnownType { found: self.ignored_types.join(", ") });
        }
        Ok(())
    }

    fn read(mut self) -> Result<Decoded, DecodeError> {
        for sample in std::mem::take(&mut self.message.sample) {
            let node = self.node(&sample.location_id)?;
            let labels = self.labels(&sample.label)?;
            let values = self.values(&sample.value)?;
            if !values.is_zero() {
                self.decoded.cells.add(node, labels, &values);
            }
        }
        let comments = self
            .message
            .comment
            .iter()
            .map(|id| self.text(*id).map(str::to_owned))
            .collect::<Result<_, _>>()?;
        Ok(Decoded {
            from_ns: unsigned(self.message.time_nanos),
            duration_ns: unsigned(self.message.duration_nanos),
            period_ns: self.period()?,
            comments,
            ignored_types: self.ignored_types,
            profile: self.decoded,
        })
    }

    fn period(&self) -> Result<u64, DecodeError> {
        let Some(period_type) = &self.message.period_type else { return Ok(0) };
        let scale = match column(self.text(period_type.r#type)?, self.text(period_type.unit)?) {
            Some((ValueType::Cpu | ValueType::Wall, scale)) => scale,
            _ => return Ok(0),
        };
        Ok(unsigned(self.message.period).saturating_mul(scale))
    }

    fn node(&mut self, leaf_first: &[u64]) -> Result<NodeId, DecodeError> {
        let mut node = Dictionary::ROOT;
        let mut depth = 0;
        for location in leaf_first.iter().rev() {
            if !self.frames.contains_key(location) {
                let frames = self.location(*location)?;
                self.frames.insert(*location, frames);
            }
            let frames = &self.frames[location];
            depth += frames.len();
            if depth > DEEPEST_STACK {
                return Err(DecodeError::TooDeep);
            }
            for frame in frames {
                node = self.decoded.dictionary.child(node, *frame);
            }
        }
        Ok(node)
    }

    /// The frames of one location, caller first: its last line is the function into which the
    /// others were inlined.
    fn location(&mut self, id: u64) -> Result<Vec<FrameId>, DecodeError> {
        let at = *self.locations.get(&id).ok_or(DecodeError::Dangling("a sample has an unknown location"))?;
        let location = std::mem::take(&mut self.message.location[at]);
        if location.line.is_empty() {
            let function = self.decoded.dictionary.name(&format!("0x{:x}", location.address));
            let file = NameId(0);
            return Ok(vec![self.decoded.dictionary.frame(Frame { function, file, line: 0 })]);
        }
        let mut frames = Vec::with_capacity(location.line.len());
        for line in location.line.iter().rev() {
            let unknown = DecodeError::Dangling("a location has an unknown function");
            let function = &self.message.function[*self.functions.get(&line.function_id).ok_or(unknown)?];
            let name = text(&self.strings, function.name)?;
            let file = text(&self.strings, function.filename)?;
            let function = self.decoded.dictionary.name(name);
            let file = self.decoded.dictionary.name(file);
            let line = u32::try_from(line.line).unwrap_or(0);
            frames.push(self.decoded.dictionary.frame(Frame { function, file, line }));
        }
        Ok(frames)
    }

    fn labels(&mut self, labels: &[proto::Label]) -> Result<crate::profile::LabelSetId, DecodeError> {
        let mut pairs = Vec::with_capacity(labels.len());
        for label in labels {
            let key = self.decoded.dictionary.name(text(&self.strings, label.key)?);
            let value = match label.str {
                0 => self.decoded.dictionary.name(&label.num.to_string()),
                str => self.decoded.dictionary.name(text(&self.strings, str)?),
            };
            pairs.push((key, value));
        }
        Ok(self.decoded.dictionary.label_set(&pairs))
    }

    fn values(&self, values: &[i64]) -> Result<Values, DecodeError> {
        if values.len() != self.message.sample_type.len() {
            return Err(DecodeError::Dangling("a sample has not one value for each sample type"));
        }
        let mut sum = Values::default();
        for column in &self.columns {
            let value = u64::try_from(values[column.index]).map_err(|_| DecodeError::Negative)?;
            sum.add(&Values::of(column.value, value.saturating_mul(column.scale)));
        }
        Ok(sum)
    }

    fn text(&self, id: i64) -> Result<&str, DecodeError> {
        text(&self.strings, id)
    }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn text(strings: &[String], id: i64) -> Result<&str, DecodeError> {
    usize::try_from(id)
        .ok()
        .and_then(|id| strings.get(id))
        .map(String::as_str)
        .ok_or(DecodeError::Dangling("an index is beyond the string table"))
}

fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Which of our values a file's sample type is, and its unit in ours.
fn column(name: &str, unit: &str) -> Option<(ValueType, u64)> {
    let (value, _, ours) = VALUE_TYPES.into_iter().find(|(_, known, _)| *known == name)?;
    let scale = match (ours, unit) {
        ("nanoseconds", "nanoseconds") | ("bytes", "bytes") | ("count", "count") => 1,
        ("nanoseconds", "microseconds") => 1_000,
        ("nanoseconds", "milliseconds") => 1_000_000,
        ("nanoseconds", "seconds") => 1_000_000_000,
        _ => return None,
    };
    Some((value, scale))
}

/// profile.proto of github.com/google/pprof, message by message.
mod proto {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub sample: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        pub mapping: Vec<Mapping>,
        #[prost(message, repeated, tag = "4")]
        pub location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub function: Vec<Function>,
        /// Bytes: Go's writer lets text through that is no UTF-8.
        #[prost(bytes = "vec", repeated, tag = "6")]
        pub string_table: Vec<Vec<u8>>,
        #[prost(int64, tag = "7")]
        pub drop_frames: i64,
        #[prost(int64, tag = "8")]
        pub keep_frames: i64,
        #[prost(int64, tag = "9")]
        pub time_nanos: i64,
        #[prost(int64, tag = "10")]
        pub duration_nanos: i64,
        #[prost(message, optional, tag = "11")]
        pub period_type: Option<ValueType>,
        #[prost(int64, tag = "12")]
        pub period: i64,
        #[prost(int64, repeated, tag = "13")]
        pub comment: Vec<i64>,
        #[prost(int64, tag = "14")]
        pub default_sample_type: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct ValueType {
        #[prost(int64, tag = "1")]
        pub r#type: i64,
        #[prost(int64, tag = "2")]
        pub unit: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Sample {
        #[prost(uint64, repeated, tag = "1")]
        pub location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub value: Vec<i64>,
        #[prost(message, repeated, tag = "3")]
        pub label: Vec<Label>,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Label {
        #[prost(int64, tag = "1")]
        pub key: i64,
        #[prost(int64, tag = "2")]
        pub str: i64,
        #[prost(int64, tag = "3")]
        pub num: i64,
        #[prost(int64, tag = "4")]
        pub num_unit: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Mapping {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub memory_start: u64,
        #[prost(uint64, tag = "3")]
        pub memory_limit: u64,
        #[prost(uint64, tag = "4")]
        pub file_offset: u64,
        #[prost(int64, tag = "5")]
        pub filename: i64,
        #[prost(int64, tag = "6")]
        pub build_id: i64,
        #[prost(bool, tag = "7")]
        pub has_functions: bool,
        #[prost(bool, tag = "8")]
        pub has_filenames: bool,
        #[prost(bool, tag = "9")]
        pub has_line_numbers: bool,
        #[prost(bool, tag = "10")]
        pub has_inline_frames: bool,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Location {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub mapping_id: u64,
        #[prost(uint64, tag = "3")]
        pub address: u64,
        #[prost(message, repeated, tag = "4")]
        pub line: Vec<Line>,
        #[prost(bool, tag = "5")]
        pub is_folded: bool,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Line {
        #[prost(uint64, tag = "1")]
        pub function_id: u64,
        #[prost(int64, tag = "2")]
        pub line: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Function {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(int64, tag = "2")]
        pub name: i64,
        #[prost(int64, tag = "3")]
        pub system_name: i64,
        #[prost(int64, tag = "4")]
        pub filename: i64,
        #[prost(int64, tag = "5")]
        pub start_line: i64,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{add as add_stack, small};
    use super::super::{comments, ProfileView};
    use super::*;
    use std::collections::BTreeMap;

    fn view(profile: &Profile) -> ProfileView<'_> {
        ProfileView {
            profile,
            filter: None,
            from_ns: 1_790_000_000_000_000_000,
            duration_ns: 300_000_000_000,
            period_ns: 10_000_000,
            comments: comments("Acme nightly", "cpu=timers(10ms)"),
        }
    }

    /// Stacks and labels as text, with their values: what two profiles must agree in.
    fn content(profile: &Profile) -> BTreeMap<(Vec<String>, Vec<String>), [u64; 7]> {
        let dictionary = &profile.dictionary;
        let mut content = BTreeMap::new();
        for ((node, labels), values) in profile.cells.iter() {
            let stack = dictionary.path(node).into_iter().map(|frame| {
                let frame = dictionary.frame_of(frame);
                format!("{} {}:{}", dictionary.text(frame.function), dictionary.text(frame.file), frame.line)
            });
            let mut labels: Vec<String> = dictionary
                .labels(labels)
                .iter()
                .map(|(key, value)| format!("{}={}", dictionary.text(*key), dictionary.text(*value)))
                .collect();
            labels.sort();
            let twice = content.insert((stack.collect(), labels), values.0);
            assert_eq!(twice, None);
        }
        content
    }

    fn message(bytes: &[u8]) -> proto::Profile {
        let mut plain = Vec::new();
        MultiGzDecoder::new(bytes).read_to_end(&mut plain).expect("gzip");
        proto::Profile::decode(plain.as_slice()).expect("a pprof message")
    }

    #[test]
    fn what_is_written_reads_back_equal() {
        let profile = small();
        let decoded = decode(&encode(&view(&profile))).expect("our own file");
        assert_eq!(content(&decoded.profile), content(&profile));
        assert_eq!(decoded.from_ns, 1_790_000_000_000_000_000);
        assert_eq!(decoded.duration_ns, 300_000_000_000);
        assert_eq!(decoded.period_ns, 10_000_000);
        assert_eq!(
            decoded.comments,
            [
                "profile: Acme nightly",
                "engines: cpu=timers(10ms)",
                concat!("glowplug: ", env!("CARGO_PKG_VERSION"))
            ]
        );
        assert_eq!(decoded.ignored_types, Vec::<String>::new());
    }

    #[test]
    fn sample_types_stand_in_the_order_of_the_output_contract() {
        let message = message(&encode(&view(&small())));
        let text = |id: i64| String::from_utf8(message.string_table[id as usize].clone()).expect("UTF-8");
        let types: Vec<String> = message
            .sample_type
            .iter()
            .map(|value_type| format!("{}/{}", text(value_type.r#type), text(value_type.unit)))
            .collect();
        assert_eq!(
            types,
            [
                "samples/count",
                "cpu/nanoseconds",
                "wall/nanoseconds",
                "alloc_objects/count",
                "alloc_space/bytes",
                "contentions/count",
                "delay/nanoseconds"
            ]
        );
        assert_eq!(text(message.default_sample_type), "cpu");
        let period_type = message.period_type.expect("a period type");
        assert_eq!((text(period_type.r#type), text(period_type.unit)), ("cpu".into(), "nanoseconds".into()));
        assert_eq!(text(0), "");
    }

    #[test]
    fn locations_and_functions_are_shared() {
        let message = message(&encode(&view(&small())));
        // main:1, run:10, run:11, walk:5, [GC], main:2, wait.
        assert_eq!(message.location.len(), 7);
        assert_eq!(message.function.len(), 5);
        // Wall and CPU carry other labels here, allocation and CPU of one line share a sample.
        assert_eq!(message.sample.len(), 6);
        let walk =
            &message.sample.iter().find(|sample| sample.location_id.len() == 4).expect("the recursion");
        assert_eq!(walk.location_id[0], walk.location_id[1]);
        assert_eq!(walk.value, [2, 20_000_000, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn labels_are_strings_only() {
        let message = message(&encode(&view(&small())));
        for sample in &message.sample {
            for label in &sample.label {
                assert_eq!((label.num, label.num_unit), (0, 0));
                assert!(label.str > 0);
            }
        }
    }

    #[test]
    fn equal_input_gives_equal_bytes() {
        assert_eq!(encode(&view(&small())), encode(&view(&small())));
    }

    #[test]
    fn a_filter_keeps_one_process() {
        let profile = small();
        let only = |process| {
            let bytes = encode(&ProfileView { filter: Some(process), ..view(&profile) });
            decode(&bytes).expect("our own file").profile
        };
        assert_eq!(only("driver").total(ValueType::Cpu), 5_000_000);
        assert_eq!(only("driver").total(ValueType::Wall), 1_000_000_000);
        assert_eq!(only("1").total(ValueType::Cpu), 67_000_500);
        assert_eq!(only("2").cells.len(), 0);
    }

    #[test]
    fn the_merged_total_is_the_sum_of_the_parts_to_the_nanosecond() {
        let profile = small();
        let part = |process, from_ns, duration_ns| {
            let part = ProfileView { filter: Some(process), from_ns, duration_ns, ..view(&profile) };
            decode(&encode(&part)).expect("our own file")
        };
        let merged = merge([part("driver", 5_000, 100), part("1", 4_000, 300)]);
        assert_eq!(content(&merged.profile), content(&profile));
        assert_eq!((merged.from_ns, merged.duration_ns), (4_000, 1_100));
        assert_eq!(merged.comments.len(), 3);
        let doubled = merge([merged.clone(), merged]);
        assert_eq!(doubled.profile.total(ValueType::Cpu), 2 * 72_000_500);
        assert_eq!(doubled.profile.cells.len(), profile.cells.len());
    }

    #[test]
    fn a_profile_over_the_limit_folds_and_keeps_its_totals() {
        let mut profile = Profile::default();
        for stack in 0..2_000u64 {
            let name = format!("com.acme.C{}.m", stack.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            add_stack(&mut profile, &["main", &name], &[("process", "1")], Values::cpu(1, 1_000 + stack));
        }
        let whole = encode(&view(&profile));
        let (bytes, folded) = encode_within(&view(&profile), whole.len() / 3);
        assert!(bytes.len() <= whole.len() / 3);
        let decoded = decode(&bytes).expect("our own file");
        assert_eq!(decoded.profile.total(ValueType::Cpu), profile.total(ValueType::Cpu));
        assert_eq!(decoded.profile.total(ValueType::Samples), 2_000);
        // 2 000 cells, then 1 000 and [folded], then 500 and [folded].
        assert_eq!(folded.cells, 1_000 + 501);
        assert_eq!(
            decoded.comments.last().map(String::as_str),
            Some(
                format!("folded: 1501 cells, {} ns of CPU, to stay below the size limit", folded.cpu)
                    .as_str()
            )
        );
        assert!(decoded.profile.dictionary.find_name("com.acme.C0.m").is_none(), "the lightest went");
    }

    #[test]
    fn a_limit_that_no_fold_reaches_ends_with_one_cell_for_each_label_set() {
        let mut profile = Profile::default();
        for stage in 0..50 {
            add_stack(&mut profile, &["main"], &[("stage", &stage.to_string())], Values::cpu(1, 1_000));
        }
        let (bytes, _) = encode_within(&view(&profile), 1);
        let decoded = decode(&bytes).expect("our own file");
        assert_eq!(decoded.profile.cells.len(), 50);
        assert_eq!(decoded.profile.total(ValueType::Cpu), 50_000);
    }

    #[test]
    fn hostile_names_round_trip() {
        let mut profile = Profile::default();
        let long = "n".repeat(10_000);
        let names = [
            "</script><script>",
            "\"'`{{x}}",
            "a;b\nc",
            "\u{202e}evil",
            "\u{0}",
            "🔥日本",
            "__proto__",
            &long,
        ];
        for name in names {
            add_stack(&mut profile, &[name], &[("job_description", name)], Values::cpu(1, 1));
        }
        let decoded = decode(&encode(&view(&profile))).expect("our own file");
        assert_eq!(content(&decoded.profile), content(&profile));
    }

    /// A message as another writer makes it: inlined lines, numeric labels, other units, an address
    /// without a function, text that is no UTF-8.
    fn foreign() -> proto::Profile {
        let strings: [&[u8]; 9] = [
            b"",
            b"cpu",
            b"milliseconds",
            b"inuse_space",
            b"bytes",
            b"main.leaf\xff",
            b"main.caller",
            b"x.go",
            b"size",
        ];
        proto::Profile {
            sample_type: vec![
                proto::ValueType { r#type: 1, unit: 2 },
                proto::ValueType { r#type: 3, unit: 4 },
            ],
            sample: vec![proto::Sample {
                location_id: vec![70, 90],
                value: vec![12, 99],
                label: vec![proto::Label { key: 8, num: 64, num_unit: 4, str: 0 }],
            }],
            location: vec![
                proto::Location { id: 90, address: 0xbeef, ..Default::default() },
                proto::Location {
                    id: 70,
                    line: vec![
                        proto::Line { function_id: 4, line: 8 },
                        proto::Line { function_id: 5, line: -1 },
                    ],
                    ..Default::default()
                },
            ],
            function: vec![
                proto::Function { id: 4, name: 5, filename: 7, ..Default::default() },
                proto::Function { id: 5, name: 6, ..Default::default() },
            ],
            string_table: strings.map(<[u8]>::to_vec).to_vec(),
            period_type: Some(proto::ValueType { r#type: 1, unit: 2 }),
            period: 10,
            ..Default::default()
        }
    }

    #[test]
    fn another_writers_file_is_read() {
        let decoded = decode(&foreign().encode_to_vec()).expect("plain protobuf");
        assert_eq!(
            content(&decoded.profile),
            BTreeMap::from([(
                (
                    vec!["0xbeef :0".into(), "main.caller :0".into(), "main.leaf\u{fffd} x.go:8".into()],
                    vec!["size=64".into()]
                ),
                [0, 12_000_000, 0, 0, 0, 0, 0]
            )])
        );
        assert_eq!(decoded.ignored_types, ["inuse_space/bytes"]);
        assert_eq!(decoded.period_ns, 10_000_000);
    }

    #[test]
    fn damaged_files_are_named() {
        let damaged = |change: fn(&mut proto::Profile)| {
            let mut message = foreign();
            change(&mut message);
            decode(&message.encode_to_vec()).expect_err("damaged")
        };
        assert_eq!(
            damaged(|message| message.sample[0].location_id[0] = 1),
            DecodeError::Dangling("a sample has an unknown location")
        );
        assert_eq!(
            damaged(|message| message.location[1].line[0].function_id = 1),
            DecodeError::Dangling("a location has an unknown function")
        );
        assert_eq!(
            damaged(|message| message.function[0].name = 1_000),
            DecodeError::Dangling("an index is beyond the string table")
        );
        assert_eq!(
            damaged(|message| message.sample[0].value = vec![1]),
            DecodeError::Dangling("a sample has not one value for each sample type")
        );
        assert_eq!(damaged(|message| message.sample[0].value[0] = -1), DecodeError::Negative);
        assert_eq!(
            damaged(|message| message.sample[0].location_id = vec![90; DEEPEST_STACK + 1]),
            DecodeError::TooDeep
        );
        assert_eq!(
            damaged(|message| message.sample_type[0].r#type = 3).to_string(),
            "none of its sample types (inuse_space/milliseconds, inuse_space/bytes) is known; known are samples, \
             cpu, wall, alloc_objects, alloc_space, contentions, delay"
        );
        assert_eq!(
            decode(b"").expect_err("empty"),
            DecodeError::NotPprof("it has no sample type".to_owned())
        );
        assert!(matches!(decode(b"<html>").expect_err("HTML"), DecodeError::NotPprof(_)));
        let whole = encode(&view(&small()));
        assert!(matches!(decode(&whole[..whole.len() / 2]).expect_err("cut"), DecodeError::Gzip(_)));
    }

    #[test]
    fn no_cut_or_flipped_byte_panics() {
        let plain = foreign().encode_to_vec();
        for at in 0..plain.len() {
            let _ = decode(&plain[..at]);
            for bit in 0..8 {
                let mut flipped = plain.clone();
                flipped[at] ^= 1 << bit;
                let _ = decode(&flipped);
            }
        }
    }
}
