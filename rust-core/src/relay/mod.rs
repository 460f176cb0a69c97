//! Deltas, both ways: encoded and queued in an executor, decoded and checked in the driver.
//!
//! A process's dictionary is sent once, as it grows; each delta carries the rows that were appended
//! since the one before, and the cells that were added since. An executor keeps a delta until it
//! is acknowledged; the driver drops repeats by (uuid, seq).

mod outbox;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod wire;

pub use outbox::{Answered, Outbox, Outgoing, Sent};
pub use wire::{decode, decode_answer, encode, encode_answer, DeltaError};

pub use crate::profile::MAX_LABEL;
use crate::profile::{CellKey, DictionaryPart, ProcessIdentity, ProcessStatus, TaskTotals, Values, Warning};
use std::time::Duration;

/// Version of the wire format; another one is refused.
pub const PROTOCOL: u32 = 1;

/// No delta is larger, neither as it is sent nor unpacked.
pub const MAX_DELTA_BYTES: usize = 1 << 20;

/// The last delta of a process goes in pieces of this size: it leaves while the process dies.
pub const LAST_DELTA_BYTES: usize = 64 << 10;

/// No call tree is deeper: `spark.glowplug.depth` ends at 1000, and marks stand around a cut stack.
pub const MAX_DEPTH: u16 = 1100;

/// Characters kept of a name.
pub const MAX_NAME: usize = 1000;

/// Which period a time belongs to; periods begin at multiples of `interval` since 1970.
pub fn period_of(time: u64, interval: Duration) -> u64 {
    time / (interval.as_nanos() as u64).max(1)
}

/// What a process hands to the driver since the last one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Delta {
    /// Who sends it.
    pub process: ProcessIdentity,
    /// Counts up from 1 for each process.
    pub seq: u64,
    /// Counts up when the sender's dictionary started anew: ids of the former epoch mean nothing.
    pub epoch: u32,
    /// Begin of the time covered, Unix nanoseconds: by the sender's clock until it is pushed into an
    /// [`Outbox`], by the driver's once it is decoded and `sent_at` is `None`.
    pub from: u64,
    /// End of the time covered.
    pub to: u64,
    /// The sender's clock when it sent this, where it did not know the driver's: the times here and
    /// `process.started` are then the sender's.
    pub sent_at: Option<u64>,
    /// The process sends no more after this one.
    pub last: bool,
    /// How it ended, on the last one: `shutdown`, `hook`.
    pub ending: String,
    /// New names, frames, nodes and label sets.
    pub dictionary: DictionaryPart,
    /// Values since the last delta, sorted by key.
    pub cells: Vec<(CellKey, Values)>,
    /// Running totals.
    pub status: ProcessStatus,
    /// Tasks that ended.
    pub tasks: Vec<TaskTotals>,
    /// Warnings since the last delta, with how often each came.
    pub warnings: Vec<(Warning, u64)>,
}

/// What the driver answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// All deltas up to this seq have arrived; 0 says nothing of what came before.
    pub ack: u64,
    /// Milliseconds until the next delta.
    pub next_interval_ms: u64,
    /// What the engines shall do.
    pub order: Order,
    /// The driver's clock, Unix nanoseconds.
    pub driver_time: u64,
    /// Go on with the delta after `ack`, and send the whole dictionary with it.
    pub resend_names: bool,
    /// The delta's protocol is not the driver's: both versions, for the log. Sends end here.
    pub refused: Option<String>,
}

/// What the driver wants of a process's engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As set.
    #[default]
    Normal,
    /// Only the sampler thread.
    Safe,
    /// No sampling.
    Off,
}
