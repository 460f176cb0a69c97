//! The driver's own deltas: they come without bytes, without seq, and cannot be lost on the way.

use super::Application;
use crate::profile::{Dictionary, Mark, ProcessIdentity, Warning};
use crate::relay::Delta;
use std::collections::VecDeque;

/// What one application has taken of the JVM that it runs in.
#[derive(Debug, Default)]
pub struct OwnProcess {
    /// Seq of the last delta.
    seq: u64,
    /// Deltas that wait for the names that the application has dropped.
    stuck: VecDeque<Delta>,
}

impl OwnProcess {
    /// Gives the application a delta of its own JVM. False: it goes in once
    /// [`names`](Self::names) was called.
    pub fn ingest(
        &mut self,
        application: &mut Application,
        who: &ProcessIdentity,
        delta: Delta,
        now: u64,
    ) -> bool {
        let mut delta = Delta { process: who.clone(), ..delta };
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
            let who = delta.process.clone();
            self.ingest(application, &who, delta, now);
        }
    }
}
