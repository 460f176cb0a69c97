//! Closed periods: one pprof file each, at most [`MAX_PERIODS`], then widened.
//!
//! The files' bytes stay here, for a file system may not give back what was written to it.

use super::encoder::Encoder;
use super::summary::basic;

/// Files of closed periods, oldest first.
#[derive(Default)]
pub(super) struct Periods {
    closed: Vec<Closed>,
}

struct Closed {
    path: String,
    bytes: Vec<u8>,
    /// How many periods the file covers.
    width: u64,
}

/// What must change in the folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    Write(String, Vec<u8>),
    Remove(String),
}

impl Periods {
    /// Takes the file of a closed period that began at `from`, and merges neighbours where there are
    /// too many files, or more than `room` bytes of them. An error says which file was given up.
    pub(super) fn close(
        &mut self,
        from: u64,
        bytes: Vec<u8>,
        room: usize,
        encoder: &dyn Encoder,
    ) -> (Vec<Change>, Vec<String>) {
        let path = format!("periods/{}.pb.gz", basic(from));
        let mut changes = vec![Change::Write(path.clone(), bytes.clone())];
        let mut errors = Vec::new();
        self.closed.push(Closed { path, bytes, width: 1 });
        while self.closed.len() > MAX_PERIODS || (self.memory() > room && self.closed.len() > 1) {
            self.widen(&mut changes, &mut errors, encoder);
        }
        // The last word on a path is the one that counts.
        let mut last = std::collections::BTreeMap::new();
        for change in changes {
            let (Change::Write(path, _) | Change::Remove(path)) = &change;
            last.insert(path.clone(), change);
        }
        (last.into_values().collect(), errors)
    }

    pub(super) fn memory(&self) -> usize {
        self.closed.iter().map(|closed| closed.bytes.capacity()).sum()
    }

    /// Merges the oldest two neighbours of the smallest width, so that widths double.
    fn widen(&mut self, changes: &mut Vec<Change>, errors: &mut Vec<String>, encoder: &dyn Encoder) {
        let pairs = 1..self.closed.len();
        let width = |at: usize| self.closed[at - 1].width.max(self.closed[at].width);
        let at = pairs.min_by_key(|at| width(*at)).expect("there are two files");
        let second = self.closed.remove(at);
        let first = &mut self.closed[at - 1];
        changes.push(Change::Remove(second.path.clone()));
        match encoder.merge(&first.bytes, &second.bytes) {
            Ok(merged) => {
                first.bytes = merged;
                first.width += second.width;
                changes.push(Change::Write(first.path.clone(), first.bytes.clone()));
            }
            Err(error) => errors.push(format!("{}: {error}", second.path)),
        }
    }
}

/// Files of closed periods.
pub(super) const MAX_PERIODS: usize = 60;
