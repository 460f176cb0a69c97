//! When and with what the folder is written.

use super::encoder::{Edition, Encoder, Part};
use super::periods::{Change, Periods};
use super::processes::DRIVER;
use super::{Application, Summary};
use crate::profile::{Profile, Values};
use crate::relay::{period_of, Delta};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A file of the folder that must change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderFile {
    /// Path below the application's folder, with `/`.
    pub path: String,
    /// All of its content; `None`: the file goes, if it is there.
    pub bytes: Option<Vec<u8>>,
}

/// Name of an application's folder.
pub fn folder_name(application: &str, attempt: &str) -> String {
    match attempt {
        "" => file_name(application),
        attempt => file_name(&format!("{application}_{attempt}")),
    }
}

/// Where the files are, and what stands in them.
pub(super) struct Folder {
    place: Option<String>,
    interval: Duration,
    encoder: Box<dyn Encoder>,
    periods: Periods,
    /// Periods before this one are closed.
    open_from: Option<u64>,
    first_sample: Option<u64>,
    last_sample: u64,
    edition: u64,
    written_at: u64,
    changed: bool,
    executor_files: BTreeSet<String>,
}

/// The period that a delta's values go to.
pub(super) struct Period {
    pub index: u64,
    /// Its own one was closed before it came.
    pub late: bool,
}

impl Folder {
    pub(super) fn new(place: Option<String>, interval: Duration, encoder: Box<dyn Encoder>) -> Self {
        Folder {
            place,
            interval,
            encoder,
            periods: Periods::default(),
            open_from: None,
            first_sample: None,
            last_sample: 0,
            edition: 0,
            written_at: 0,
            changed: false,
            executor_files: BTreeSet::new(),
        }
    }

    pub(super) fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// A delta is of the period in which its middle lies: clock estimates differ by milliseconds, and
    /// a delta ends at the border.
    pub(super) fn period_for(&mut self, delta: &Delta, now: u64) -> Period {
        let now = period_of(now, self.interval);
        let own = period_of(delta.from + delta.to.saturating_sub(delta.from) / 2, self.interval);
        let open_from = *self.open_from.get_or_insert(own.clamp(now.saturating_sub(1), now));
        Period { index: own.clamp(open_from, now.max(open_from)), late: own < open_from }
    }

    pub(super) fn sampled(&mut self, delta: &Delta, sum: &Values) {
        self.changed = true;
        if sum.is_zero() {
            return;
        }
        let first = self.first_sample.get_or_insert(delta.from);
        *first = delta.from.min(*first);
        self.last_sample = self.last_sample.max(delta.to);
    }

    pub(super) fn is_due(&self, now: u64, grace: Duration) -> bool {
        let Some(first) = self.first_sample.filter(|_| self.changed && self.place.is_some()) else {
            return false;
        };
        if self.edition == 0 {
            return first + FIRST_WRITE <= now;
        }
        let borders = |at: u64| period_of(at.saturating_sub(grace.as_nanos() as u64), self.interval);
        borders(now) > borders(self.written_at)
    }

    pub(super) fn memory(&self) -> usize {
        self.periods.memory()
    }
}

impl Application {
    /// Closes the periods that end so early that `is_over` says so.
    pub(super) fn close_periods(&mut self, now: u64, is_over: impl Fn(u64) -> bool) -> Vec<FolderFile> {
        let interval = self.folder.interval.as_nanos() as u64;
        let over: Vec<u64> =
            self.merged.open.keys().copied().filter(|index| is_over((index + 1) * interval)).collect();
        if over.is_empty() {
            return Vec::new();
        }
        self.bound_all_labels();
        let mut files = BTreeMap::new();
        for index in over {
            let Some(mut cells) = self.merged.open.remove(&index) else { continue };
            self.folder.open_from = Some(index + 1);
            if self.folder.place.is_none() {
                continue;
            }
            let (start, end) = (index * interval, (index + 1) * interval);
            let from = self.folder.first_sample.unwrap_or(start).clamp(start, end);
            std::mem::swap(&mut self.merged.profile.cells, &mut cells);
            let part = self.part(None, from, end.min(now).max(from));
            let bytes = self.folder.encoder.pprof(&self.merged.profile, &part);
            std::mem::swap(&mut self.merged.profile.cells, &mut cells);
            let room = self.memory_cap() / 8;
            let folder = &mut self.folder;
            let (changes, errors) = folder.periods.close(from, bytes, room, folder.encoder.as_ref());
            for change in changes {
                match change {
                    Change::Write(path, bytes) => files.insert(path, Some(bytes)),
                    Change::Remove(path) => files.insert(path, None),
                };
            }
            for error in errors {
                let message = format!("a period's file could not be merged with its neighbour: {error}");
                self.warn_once("period-lost", message);
            }
        }
        files.into_iter().map(|(path, bytes)| FolderFile { path, bytes }).collect()
    }

    /// All files but the periods'.
    pub(super) fn write(&mut self, now: u64, complete: bool) -> Vec<FolderFile> {
        if self.folder.place.is_none() {
            return Vec::new();
        }
        self.folder.edition += 1;
        self.folder.written_at = now;
        self.folder.changed = false;
        let summary = self.summary();
        let changed = self.changed_executors();
        let profile = &self.merged.profile;
        let encoder = &self.folder.encoder;
        let from = self.folder.first_sample.unwrap_or(now);
        let to = self.folder.last_sample.max(from);
        let pprof = |process| encoder.pprof(profile, &self.part(process, from, to));
        let edition = Edition { summary: &summary, number: self.folder.edition, complete };
        let page = encoder.page(profile, &self.part(None, from, to), &edition);
        let mut files = vec![
            file("index.html", page.html),
            file("page.json.gz", page.data),
            file("profile.pb.gz", pprof(None)),
            file("summary.json", json(&summary)),
        ];
        if has_process(profile, DRIVER) {
            files.push(file("driver.pb.gz", pprof(Some(DRIVER))));
        }
        files.extend(changed.iter().map(|id| file(&executor_path(id), pprof(Some(id)))));
        files.extend(self.fallen_files());
        files
    }

    fn part<'a>(&'a self, process: Option<&'a str>, from: u64, to: u64) -> Part<'a> {
        Part {
            process,
            from,
            to,
            period: self.cpu_interval,
            name: &self.profile.name,
            engines: &self.info.engines,
        }
    }

    /// Executors with a label whose file is older than their values.
    fn changed_executors(&mut self) -> Vec<String> {
        let labelled = self.processes.labelled().filter(|(_, executor)| executor.changed);
        let ids: Vec<String> = labelled.map(|(id, _)| id.to_string()).collect();
        for id in &ids {
            if let Some(executor) = self.processes.executor(id) {
                executor.changed = false;
            }
            self.folder.executor_files.insert(id.clone());
        }
        ids
    }

    /// Files of executors that are in `other` now.
    fn fallen_files(&mut self) -> Vec<FolderFile> {
        let labelled: BTreeSet<&str> = self.processes.labelled().map(|(id, _)| id).collect();
        let fallen = |id: &String| !labelled.contains(id.as_str());
        let ids: Vec<String> = self.folder.executor_files.iter().filter(|id| fallen(id)).cloned().collect();
        for id in &ids {
            self.folder.executor_files.remove(id);
        }
        ids.iter().map(|id| FolderFile { path: executor_path(id), bytes: None }).collect()
    }
}

fn executor_path(id: &str) -> String {
    format!("executors/{}.pb.gz", file_name(id))
}

fn has_process(profile: &Profile, process: &str) -> bool {
    let labels = |set| profile.dictionary.label(set, crate::profile::LabelKey::Process.as_str());
    profile.cells.iter().any(|((_, set), _)| labels(set) == Some(process))
}

fn file(path: &str, bytes: Vec<u8>) -> FolderFile {
    FolderFile { path: path.to_string(), bytes: Some(bytes) }
}

fn json(summary: &Summary) -> Vec<u8> {
    serde_json::to_vec_pretty(summary).expect("a summary has string keys and finite numbers")
}

/// A name that no file system takes for anything else; what had to be changed is told apart by a hash.
fn file_name(text: &str) -> String {
    let safe = |character: char| match character {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '.' | '_' | '-' => character,
        _ => '_',
    };
    let name: String = text.chars().map(safe).take(LONGEST_NAME).collect();
    let name = if name.starts_with('.') { format!("_{name}") } else { name };
    if name == text && !name.is_empty() {
        return name;
    }
    // FNV-1a: the same name for the same id in every run and version.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{name}-{:08x}", hash as u32)
}

/// The page is readable this long after the first sample.
const FIRST_WRITE: u64 = 15_000_000_000;
const LONGEST_NAME: usize = 120;
