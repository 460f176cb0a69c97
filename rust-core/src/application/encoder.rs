//! What the application needs of the output formats.

use super::summary::Summary;
use crate::profile::Profile;

/// Turns profiles into files.
pub trait Encoder: Send {
    /// A pprof file.
    fn pprof(&self, profile: &Profile, part: &Part<'_>) -> Vec<u8>;

    /// One pprof file that holds what both hold; an error says why a file cannot be read.
    fn merge(&self, first: &[u8], second: &[u8]) -> Result<Vec<u8>, String>;

    /// The page and its data.
    fn page(&self, profile: &Profile, part: &Part<'_>, edition: &Edition<'_>) -> Page;
}

/// What of a profile is written, and what the file says of it.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    /// Only the sets whose `process` label is this; `None`: all.
    pub process: Option<&'a str>,
    /// Begin of the time covered, Unix nanoseconds.
    pub from: u64,
    /// End of the time covered.
    pub to: u64,
    /// CPU time between two samples of a thread, nanoseconds; 0 where there is none.
    pub period: u64,
    /// Name of the profile.
    pub name: &'a str,
    /// The engines, as the start line says them.
    pub engines: &'a str,
}

/// What the page says beside the graph.
#[derive(Debug, Clone)]
pub struct Edition<'a> {
    /// The same as in `summary.json`.
    pub summary: &'a Summary,
    /// Counts up with each writing of the folder.
    pub number: u64,
    /// No more will come.
    pub complete: bool,
}

/// The page and its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// `page.json.gz`.
    pub data: Vec<u8>,
    /// `index.html`.
    pub html: Vec<u8>,
}
