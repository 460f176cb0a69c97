//! What the core asks the Java thread glowplug-io to do.

use super::fields::encode_with_blob;
use crate::session::Level;
use std::collections::{HashMap, VecDeque};

/// The queue of work, and who waits for which answer.
#[derive(Debug, Default)]
pub(crate) struct Work {
    queue: VecDeque<Job>,
    waiting: HashMap<i64, Asked>,
    last_token: i64,
}

/// One piece of work.
#[derive(Debug)]
pub(crate) enum Job {
    /// A line for the log.
    Log { level: Level, message: String },
    /// A file to be written whole.
    File { application: i32, path: String, content: Vec<u8> },
    /// A file to be removed.
    Delete { application: i32, path: String },
    /// A delta to be sent to the driver; the token is the outbox's.
    Delta { token: u64, bytes: Vec<u8> },
}

/// What an answer is for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The file at this path, for this application.
    File { application: i32, path: String },
    /// The delta of this outbox token.
    Delta(u64),
}

impl Work {
    pub(crate) fn push(&mut self, job: Job) {
        self.queue.push_back(job);
    }

    /// The next piece as the io thread reads it.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        let job = self.queue.pop_front()?;
        self.last_token += 1;
        let token = self.last_token;
        let (asked, message) = match job {
            Job::Log { level, message } => {
                return Some(encode_with_blob(&["0", "log", word(level), &message], &[]))
            }
            Job::File { application, path, content } => {
                let message = encode_with_blob(&[&token.to_string(), "file", &path, "whole"], &content);
                (Asked::File { application, path }, message)
            }
            Job::Delete { application, path } => {
                let message = encode_with_blob(&[&token.to_string(), "delete", &path], &[]);
                (Asked::File { application, path }, message)
            }
            Job::Delta { token: delta, bytes } => {
                (Asked::Delta(delta), encode_with_blob(&[&token.to_string(), "delta"], &bytes))
            }
        };
        self.waiting.insert(token, asked);
        Some(message)
    }

    /// What the answer with this token is for.
    pub(crate) fn answered(&mut self, token: i64) -> Option<Asked> {
        self.waiting.remove(&token)
    }

    /// Files of this application that are not written yet.
    pub(crate) fn files_of(&self, wanted: i32) -> usize {
        let queued = self.queue.iter().filter(|job| {
            matches!(job, Job::File { application, .. } | Job::Delete { application, .. } if *application == wanted)
        });
        let under_way = self
            .waiting
            .values()
            .filter(|asked| matches!(asked, Asked::File { application, .. } if *application == wanted));
        queued.count() + under_way.count()
    }

    /// True while a delta is queued or under way.
    pub(crate) fn has_delta(&self) -> bool {
        self.queue.iter().any(|job| matches!(job, Job::Delta { .. }))
            || self.waiting.values().any(|asked| matches!(asked, Asked::Delta(_)))
    }
}

/// The level as Java spells it.
pub(crate) fn word(level: Level) -> &'static str {
    match level {
        Level::Announce => "ANNOUNCE",
        Level::Info => "INFO",
        Level::Warn => "WARN",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_count_until_they_are_answered() {
        let mut work = Work::default();
        work.push(Job::File { application: 1, path: "/p/summary.json".into(), content: b"{}".to_vec() });
        work.push(Job::Log { level: Level::Warn, message: "slow".into() });
        assert_eq!((work.files_of(1), work.files_of(2)), (1, 0));
        assert_eq!(work.take(), Some(encode_with_blob(&["1", "file", "/p/summary.json", "whole"], b"{}")));
        assert_eq!(work.files_of(1), 1, "under way");
        assert_eq!(work.take(), Some(encode_with_blob(&["0", "log", "WARN", "slow"], &[])));
        assert_eq!(work.take(), None);
        assert_eq!(work.answered(1), Some(Asked::File { application: 1, path: "/p/summary.json".into() }));
        assert_eq!(work.answered(1), None);
        assert_eq!(work.files_of(1), 0);
    }

    #[test]
    fn a_delta_is_under_way_until_it_is_answered() {
        let mut work = Work::default();
        work.push(Job::Delta { token: 9, bytes: vec![1] });
        assert!(work.has_delta());
        work.take();
        assert!(work.has_delta());
        assert_eq!(work.answered(1), Some(Asked::Delta(9)));
        assert!(!work.has_delta());
    }
}
