//! The driver's own deltas: they come without bytes, without seq, and cannot be lost on the way.

use super::Application;
use crate::profile::{Dictionary, Mark, ProcessIdentity, ProcessStatus, Warning};
use crate::relay::Delta;
use std::collections::VecDeque;

/// What one application has taken of the JVM that it runs in.
#[derive(Debug, Default)]
pub struct OwnProcess {
    /// Seq of the last delta.
    seq: u64,
    /// Deltas that wait for the names that the application has dropped.
    stuck: VecDeque<Delta>,
    /// The JVM's totals when the application began.
    before: ProcessStatus,
}

impl OwnProcess {
    /// `before`: the JVM's running totals, which belong to former applications.
    pub fn beginning_at(before: ProcessStatus) -> Self {
        OwnProcess { before, ..OwnProcess::default() }
    }

    /// Gives the application a delta of its own JVM. False: it goes in once
    /// [`names`](Self::names) was called.
    pub fn ingest(
        &mut self,
        application: &mut Application,
        who: &ProcessIdentity,
        delta: Delta,
        now: u64,
    ) -> bool {
        let status = delta.status.since(&self.before);
        self.place(application, Delta { process: who.clone(), status, ..delta }, now)
    }

    fn place(&mut self, application: &mut Application, mut delta: Delta, now: u64) -> bool {
        if !self.stuck.is_empty() {
            self.stuck.push_back(delta);
            return false;
        }
        delta.seq = self.seq + 1;
        if application.ingest(delta.clone(), now).resend_names {
            self.stuck.push_back(delta);
            return false;
        }
        self.seq += 1;
        true
    }

    /// The names that stuck deltas wait for. What is left of a former epoch cannot be named any more.
    pub fn names(&mut self, application: &mut Application, dictionary: &Dictionary, epoch: u32, now: u64) {
        let mut whole = Some(dictionary.since(Mark::default()));
        for mut delta in std::mem::take(&mut self.stuck) {
            if delta.epoch != epoch {
                let message = "samples were dropped: their names went with a full dictionary".to_owned();
                application.warn(Warning { code: "names-dropped".to_owned(), message }, false);
                continue;
            }
            if let Some(whole) = whole.take() {
                delta.dictionary = whole;
            }
            self.place(application, delta, now);
        }
    }
}
