//! Warnings and folds, said once and counted.

use super::summary::{SummaryFolded, SummaryWarning};
use crate::profile::Warning;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Warnings by (code, message), in the order of their first coming.
#[derive(Default)]
pub(super) struct Warnings {
    rows: Vec<(Warning, u64)>,
    places: HashMap<Warning, usize>,
    unsaid: Vec<Warning>,
    /// Warnings that found no row any more.
    beyond: u64,
}

impl Warnings {
    /// Counts a warning that came `count` times. `said`: the process that sent it has logged it.
    pub(super) fn add(&mut self, warning: Warning, count: u64, said: bool) {
        if let Some(place) = self.places.get(&warning) {
            self.rows[*place].1 = self.rows[*place].1.saturating_add(count);
            return;
        }
        if self.rows.len() == MAX_WARNINGS {
            self.beyond = self.beyond.saturating_add(count);
            return;
        }
        if !said {
            self.unsaid.push(warning.clone());
        }
        self.places.insert(warning.clone(), self.rows.len());
        self.rows.push((warning, count));
    }

    pub(super) fn take_unsaid(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.unsaid)
    }

    pub(super) fn summary(&self) -> Vec<SummaryWarning> {
        let row = |(Warning { code, message }, count): &(Warning, u64)| SummaryWarning {
            code: code.clone(),
            message: message.clone(),
            count: *count,
        };
        let mut rows: Vec<_> = self.rows.iter().map(row).collect();
        if self.beyond > 0 {
            rows.push(SummaryWarning {
                code: "more-warnings".into(),
                message: format!("more than {MAX_WARNINGS} different warnings: the others are only counted"),
                count: self.beyond,
            });
        }
        rows
    }
}

const MAX_WARNINGS: usize = 500;

/// What became of the folder's files.
#[derive(Default)]
pub(super) struct FileResults {
    /// Files whose last writing failed, with the cause.
    unwritten: BTreeMap<String, String>,
    /// The others: a file is in one of the two.
    written: BTreeSet<String>,
    first: Option<String>,
}

impl FileResults {
    pub(super) fn written(&mut self, path: &str) {
        self.unwritten.remove(path);
        self.written.insert(path.to_string());
    }

    /// Answers the first failure's message, so that all of them count as one.
    pub(super) fn failed(&mut self, path: &str, error: &str) -> String {
        self.written.remove(path);
        self.unwritten.insert(path.to_string(), error.to_string());
        let told = "each report tries again, and the last line of this application says what came of it";
        self.first.get_or_insert_with(|| format!("{path} could not be written: {error}; {told}")).clone()
    }

    /// In words; `None` where all files are there.
    pub(super) fn failures(&self) -> Option<String> {
        let (path, error) = self.unwritten.first_key_value()?;
        let (failed, all) = (self.unwritten.len(), self.unwritten.len() + self.written.len());
        Some(format!("{failed} of {all} files could not be written, the first of them {path}: {error}"))
    }
}

/// What lost its own place, by kind.
#[derive(Default)]
pub(super) struct FoldedTotals(BTreeMap<&'static str, (u64, u64)>);

impl FoldedTotals {
    pub(super) fn add(&mut self, what: &'static str, count: u64, cpu: u64) {
        if count == 0 {
            return;
        }
        let (counts, weights) = self.0.entry(what).or_default();
        *counts = counts.saturating_add(count);
        *weights = weights.saturating_add(cpu);
    }

    pub(super) fn summary(&self) -> Vec<SummaryFolded> {
        let row = |(what, (count, weight)): (&&str, &(u64, u64))| SummaryFolded {
            what: what.to_string(),
            count: *count,
            weight: *weight,
        };
        self.0.iter().map(row).collect()
    }
}
