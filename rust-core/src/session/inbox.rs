//! Deltas on their way from the sampler thread, which never waits for whoever takes them.

use super::{DeltaSink, Level};
use crate::profile::{Dictionary, Warning};
use crate::relay::Delta;
use parking_lot::Mutex;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the sampler thread puts things down for the io thread.
#[derive(Default)]
pub struct Inbox {
    deltas: Mutex<VecDeque<Delta>>,
    failure: Mutex<Option<String>>,
    names: Mutex<Option<(Dictionary, u32)>>,
    names_are_wanted: AtomicBool,
    unsaid: Mutex<Vec<(Level, String)>>,
    /// What was said: a warning by its code, what is no failure by its words.
    said: Mutex<HashSet<String>>,
}

impl Inbox {
    /// Takes all deltas, in order.
    pub fn take(&self) -> Vec<Delta> {
        self.deltas.lock().drain(..).collect()
    }

    /// How many deltas wait.
    pub fn len(&self) -> usize {
        self.deltas.lock().len()
    }

    /// True if none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lines to be logged: each code of a warning once in the life of the process, each other text once.
    pub fn take_warnings(&self) -> Vec<(Level, String)> {
        std::mem::take(&mut *self.unsaid.lock())
    }

    /// Why the sampler thread has ended, told once.
    pub fn take_failure(&self) -> Option<String> {
        self.failure.lock().take()
    }

    /// Has the sampler thread give the whole dictionary.
    pub fn want_names(&self) {
        self.names_are_wanted.store(true, Ordering::Release);
    }

    /// The whole dictionary and its epoch, once it was given.
    pub fn take_names(&self) -> Option<(Dictionary, u32)> {
        self.names.lock().take()
    }
}

impl DeltaSink for Inbox {
    fn delta(&self, delta: Delta) {
        self.deltas.lock().push_back(delta);
    }

    fn names_are_wanted(&self) -> bool {
        self.names_are_wanted.swap(false, Ordering::AcqRel)
    }

    fn names(&self, dictionary: &Dictionary, epoch: u32) {
        *self.names.lock() = Some((dictionary.clone(), epoch));
    }

    fn warned(&self, level: Level, warning: &Warning) {
        let once = if level == Level::Warn { &warning.code } else { &warning.message };
        if self.said.lock().insert(once.clone()) {
            self.unsaid.lock().push((level, warning.message.clone()));
        }
    }

    fn failed(&self, message: String) {
        *self.failure.lock() = Some(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_logged_once_whatever_its_text_and_news_once_by_their_text() {
        let inbox = Inbox::default();
        let warning = |message: &str| Warning { code: "slow".to_owned(), message: message.to_owned() };
        let logged = |level, message| {
            inbox.warned(level, &warning(message));
            inbox.take_warnings().len()
        };
        assert_eq!(
            ["twice as long", "four times as long", "twice as long"].map(|text| logged(Level::Info, text)),
            [1, 1, 0]
        );
        assert_eq!(["timer 7", "timer 8", "timer 7"].map(|text| logged(Level::Warn, text)), [1, 0, 0]);
    }

    #[test]
    fn names_are_given_once_for_one_wish() {
        let inbox = Inbox::default();
        assert!(!inbox.names_are_wanted());
        inbox.want_names();
        assert!(inbox.names_are_wanted());
        assert!(!inbox.names_are_wanted(), "the wish is fulfilled by whoever saw it");
        inbox.names(&Dictionary::default(), 3);
        assert_eq!(inbox.take_names().map(|(_, epoch)| epoch), Some(3));
        assert!(inbox.take_names().is_none());
    }
}
