//! What a process says of itself beside its samples.

use serde::{Deserialize, Serialize};

/// One engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// CPU time.
    Cpu,
    /// Wall time by state.
    Wall,
    /// Allocations.
    Alloc,
    /// CPU of the JVM's own threads.
    Runtime,
}

/// Why a sample has no stack, or was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LostCause {
    /// The ring was full: the sample's weight is lost.
    RingFull,
    /// The stack could not be walked: its weight stands under `[unknown]`.
    NotWalkable,
    /// All scratch buffers were taken: its weight stands under `[unknown]`.
    NoScratch,
    /// The class was unloaded before its name was read.
    NameLost,
    /// Deltas that did not fit in the queue.
    DeltaDropped,
}

/// Counted losses of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Why.
    pub cause: LostCause,
    /// How many samples.
    pub count: u64,
}

/// Who a process is; does not change while it lives.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Random, 32 hex digits: one per JVM and core.
    pub uuid: String,
    /// `driver` or the executor id.
    pub id: String,
    /// Host name.
    pub host: String,
    /// Operating system's process id.
    pub pid: u32,
    /// `java.vm.name java.vm.version`.
    pub java: String,
    /// Version of Glowplug.
    pub glowplug: String,
    /// The jar that the process runs, for the line that names two versions which do not fit.
    pub jar: String,
    /// When profiling began, Unix nanoseconds by the process's own clock.
    pub started: u64,
    /// One text per engine: `cpu=timers(10ms)`, `alloc=off`.
    pub engines: Vec<String>,
}

/// Running totals since the start of the process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessStatus {
    /// Samples by engine.
    pub samples: Vec<(Engine, u64)>,
    /// Losses by cause.
    pub lost: Vec<Lost>,
    /// CPU of all samples that were handed on, nanoseconds; what arrives adds up to it.
    pub sampled_cpu: u64,
    /// CPU of the profiler's own threads and handlers, nanoseconds.
    pub own_cpu: u64,
    /// CPU of the whole process, nanoseconds.
    pub process_cpu: u64,
    /// Longest time that one sweep held the sampler thread, nanoseconds.
    pub longest_pause: u64,
    /// Native memory that the profiler holds, bytes.
    pub native_memory: u64,
}

impl ProcessStatus {
    /// What came after `before`, an earlier status of the same process.
    pub fn since(&self, before: &ProcessStatus) -> ProcessStatus {
        let count = |engine: Engine| {
            before.samples.iter().find(|(known, _)| *known == engine).map_or(0, |(_, count)| *count)
        };
        let lost = |cause: LostCause| {
            before.lost.iter().find(|lost| lost.cause == cause).map_or(0, |lost| lost.count)
        };
        ProcessStatus {
            samples: self
                .samples
                .iter()
                .map(|(engine, all)| (*engine, all.saturating_sub(count(*engine))))
                .collect(),
            lost: self
                .lost
                .iter()
                .map(|all| Lost { count: all.count.saturating_sub(lost(all.cause)), ..*all })
                .collect(),
            sampled_cpu: self.sampled_cpu.saturating_sub(before.sampled_cpu),
            own_cpu: self.own_cpu.saturating_sub(before.own_cpu),
            process_cpu: self.process_cpu.saturating_sub(before.process_cpu),
            ..self.clone()
        }
    }
}

/// Totals of one task; sent once, when the task has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskTotals {
    /// Task attempt id (TID).
    pub task: u64,
    /// Stage id.
    pub stage: u32,
    /// Stage attempt number.
    pub stage_attempt: u32,
    /// CPU of the task's thread, nanoseconds.
    pub cpu: u64,
    /// Wall time, nanoseconds.
    pub wall: u64,
    /// Bytes allocated by the task's thread, 0 where unknown.
    pub alloc_bytes: u64,
}

/// Something that a user should know, said once and counted after.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Warning {
    /// Stable short name, kebab-case: `unknown-key`.
    pub code: String,
    /// What happened, what is done now, what to do.
    pub message: String,
}
