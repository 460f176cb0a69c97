//! A profile becomes bytes: pprof, collapsed stacks, and the page with its data.

pub mod collapsed;
mod layer;
pub mod page;
pub mod pprof;
pub mod text;

use crate::profile::{CellKey, LabelKey, LabelSetId, Profile, Values};

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
        let mut rows = self.profile.cells.sorted();
        if self.filter.is_some() {
            rows.retain(|((_, labels), _)| self.holds(*labels));
        }
        rows
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

/// gzip with no time stamp, so that equal input gives equal bytes.
fn gzip_writer() -> flate2::write::GzEncoder<Vec<u8>> {
    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default())
}
