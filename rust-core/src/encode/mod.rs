//! A profile becomes bytes: pprof, collapsed stacks, and the page with its data.

pub mod collapsed;
pub mod page;
pub mod pprof;
pub mod text;

use crate::profile::{CellKey, LabelKey, LabelSetId, Profile, Values};
use rustc_hash::FxHashMap;

/// What of a profile is written, and what the file says of it.
#[derive(Debug, Clone)]
pub struct ProfileView<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// Only the sets whose `process` label is this; `None`: all.
    pub filter: Option<&'a str>,
    /// Begin of the time covered, Unix nanoseconds.
    pub from_ns: u64,
    /// Length of the time covered.
    pub duration_ns: u64,
    /// CPU time between two samples of a thread; 0 where there is none.
    pub period_ns: u64,
    /// Lines for people: see [`comments`].
    pub comments: Vec<String>,
}

impl ProfileView<'_> {
    /// The cells of the view, ordered by node and label set.
    fn rows(&self) -> Vec<(CellKey, Values)> {
        // A report of fifty executors makes fifty views: what is filtered out is not sorted first.
        let mut taken: FxHashMap<LabelSetId, bool> = FxHashMap::default();
        self.profile.cells.sorted_where(|labels| *taken.entry(labels).or_insert_with(|| self.holds(labels)))
    }

    fn holds(&self, labels: LabelSetId) -> bool {
        let process = self.profile.dictionary.label(labels, LabelKey::Process.as_str());
        self.filter.is_none() || process == self.filter
    }
}

/// The comments that every file of ours carries: profile name, engines, version.
pub fn comments(profile: &str, engines: &str) -> Vec<String> {
    vec![
        format!("profile: {profile}"),
        format!("engines: {engines}"),
        format!("glowplug: {}", env!("CARGO_PKG_VERSION")),
    ]
}

/// Bytes given to the compressor at once.
const GZIP_CHUNK: usize = 64 << 10;

/// gzip with no time stamp, so that equal input gives equal bytes.
fn gzip_writer() -> flate2::write::GzEncoder<Vec<u8>> {
    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default())
}

#[cfg(test)]
pub(crate) mod testing {
    use crate::profile::{Frame, NameId, Profile, ValueType, Values};

    /// Adds a cell; frames root first, as `function:line` in `File.java`.
    pub(crate) fn add(profile: &mut Profile, stack: &[&str], labels: &[(&str, &str)], values: Values) {
        let mut node = crate::profile::Dictionary::ROOT;
        for text in stack {
            let (function, line) = text.rsplit_once('#').unwrap_or((text, "0"));
            let file = if text.contains('#') { "File.java" } else { "" };
            let function = profile.dictionary.name(function);
            let file = profile.dictionary.name(file);
            let frame = Frame { function, file, line: line.parse().expect("a line number") };
            let frame = profile.dictionary.frame(frame);
            node = profile.dictionary.child(node, frame);
        }
        let labels: Vec<(NameId, NameId)> = labels
            .iter()
            .map(|(key, value)| (profile.dictionary.name(key), profile.dictionary.name(value)))
            .collect();
        let set = profile.dictionary.label_set(&labels);
        profile.cells.add(node, set, &values);
    }

    /// Two processes, two stages, a recursion, wall by state.
    pub(crate) fn small() -> Profile {
        let mut profile = Profile::default();
        let executor = [("process", "1"), ("stage", "3"), ("stage_attempt", "0")];
        add(&mut profile, &["main#1", "com.acme.Job.run#10"], &executor, Values::cpu(3, 30_000_000));
        add(&mut profile, &["main#1", "com.acme.Job.run#11"], &executor, Values::cpu(1, 10_000_500));
        add(
            &mut profile,
            &["main#1", "com.acme.Job.run#10", "a.B.walk#5", "a.B.walk#5"],
            &executor,
            Values::cpu(2, 20_000_000),
        );
        add(&mut profile, &["[GC]"], &[("process", "1")], Values::cpu(0, 7_000_000));
        add(&mut profile, &["main#2"], &[("process", "driver")], Values::cpu(1, 5_000_000));
        add(
            &mut profile,
            &["main#2", "java.lang.Object.wait"],
            &[("process", "driver"), ("thread_state", "IDLE")],
            Values::of(ValueType::Wall, 1_000_000_000),
        );
        let mut allocated = Values::of(ValueType::AllocSpace, 4096);
        allocated.0[ValueType::AllocObjects as usize] = 2;
        add(&mut profile, &["main#1", "com.acme.Job.run#10"], &executor, allocated);
        profile
    }
}
