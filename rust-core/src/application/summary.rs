//! `summary.json`, as docs/OUTPUT.md describes it. Fields may be added; renaming or removing one needs
//! a major version.

use crate::profile::{Engine, LostCause};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use time::format_description::well_known::Rfc3339;
use time::OffsetDateTime;

/// Version of `summary.json`.
pub const SUMMARY_FORMAT: u32 = 1;

/// All of `summary.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SUMMARY_FORMAT`].
    pub format: u32,
    /// Version of Glowplug.
    pub glowplug: String,
    /// What a cloud or a dashboard calls this profile.
    pub profile: SummaryProfile,
    /// The application.
    pub application: SummaryApplication,
    /// Every process that sent anything, in the order of its first delta.
    pub processes: Vec<SummaryProcess>,
    /// Stage attempts, by stage and attempt.
    pub stages: Vec<SummaryStage>,
    /// Effective settings of the driver.
    pub settings: Vec<SummarySetting>,
    /// What a user should know, said once and counted.
    pub warnings: Vec<SummaryWarning>,
    /// What lost its own place, and what it weighed.
    pub folded: Vec<SummaryFolded>,
}

/// Name, version and group of the profile.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SummaryProfile {
    /// Set by the user, else the application's name.
    pub name: String,
    /// Set by the user, else empty.
    pub version: String,
    /// Set by the user, else the name.
    pub group: String,
}

/// The application.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SummaryApplication {
    /// Spark's application id.
    pub id: String,
    /// The application's name.
    pub name: String,
    /// YARN's attempt number, empty where there is none.
    pub attempt: String,
    /// Spark's version.
    pub spark: String,
    /// Scala's version.
    pub scala: String,
}

/// One JVM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryProcess {
    /// `driver` or the executor id.
    pub id: String,
    /// Host name.
    pub host: String,
    /// Operating system's process id.
    pub pid: u32,
    /// `java.vm.name java.vm.version`.
    pub java: String,
    /// When profiling began.
    pub started: String,
    /// When it sent its last delta or the scheduler removed it; absent while it runs.
    pub ended: Option<String>,
    /// `shutdown`, `hook`, or `removed: ` and Spark's reason; absent while it runs.
    pub ending: Option<String>,
    /// One text per engine: `cpu=timers(10ms)`.
    pub engines: Vec<String>,
    /// Samples by engine.
    pub samples: BTreeMap<Engine, u64>,
    /// Losses by cause.
    pub lost: BTreeMap<LostCause, u64>,
    /// CPU of all samples that it has handed on; less in `profile.pb.gz` is a loss on the way.
    pub sampled_cpu_ns: u64,
    /// CPU of the profiler in it.
    pub own_cpu_seconds: f64,
    /// CPU of the whole process.
    pub process_cpu_seconds: f64,
    /// Longest time that one sweep held the sampler thread.
    pub longest_pause_ms: f64,
    /// Native memory of the profiler.
    pub native_memory_bytes: u64,
}

/// One stage attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SummaryStage {
    /// Stage id.
    pub stage: u32,
    /// Attempt.
    pub attempt: u32,
    /// Spark's name of the stage.
    pub name: String,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<String>,
    /// CPU of its task threads: the sum of their sample weights in `profile.pb.gz`.
    pub cpu_ns: u64,
    /// CPU of other threads that worked for it.
    pub helper_cpu_ns: u64,
    /// CPU of its Python workers.
    pub python_cpu_ns: u64,
    /// Spark's executorCpuTime + executorDeserializeCpuTime.
    pub spark_cpu_ns: u64,
    /// Wall time of its task threads by state.
    pub wall_ns: BTreeMap<String, u64>,
    /// Bytes allocated by its task threads.
    pub alloc_bytes: u64,
    /// Clock totals of its tasks that have ended.
    pub tasks: SummaryTasks,
}

/// Totals over the ended tasks of a stage attempt, by the clocks of their threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SummaryTasks {
    /// Tasks.
    pub count: u64,
    /// CPU.
    pub cpu_ns: u64,
    /// Wall time.
    pub wall_ns: u64,
    /// Bytes allocated.
    pub alloc_bytes: u64,
}

/// One effective setting.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SummarySetting {
    /// The key.
    pub key: String,
    /// The value; `***` if it is secret.
    pub value: String,
    /// Where it came from.
    pub origin: String,
}

/// One warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryWarning {
    /// Stable short name.
    pub code: String,
    /// What happened, what is done now, what to do.
    pub message: String,
    /// How often.
    pub count: u64,
}

/// What lost its own place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryFolded {
    /// What kind of thing: `executors`, `stage attempts`, `cells`, ...
    pub what: String,
    /// How many.
    pub count: u64,
    /// Their CPU in nanoseconds.
    pub weight: u64,
}

/// RFC 3339 in UTC, to the millisecond.
pub(super) fn rfc3339(nanoseconds: u64) -> String {
    let milliseconds = nanoseconds / 1_000_000 * 1_000_000;
    at(milliseconds).format(&Rfc3339).expect("the years that a u64 can hold have four digits")
}

/// RFC 3339's basic spelling to the second, for file names: `20261129T224100Z`.
pub(super) fn basic(nanoseconds: u64) -> String {
    let format = time::macros::format_description!("[year][month][day]T[hour][minute][second]Z");
    at(nanoseconds).format(&format).expect("the years that a u64 can hold have four digits")
}

fn at(nanoseconds: u64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(nanoseconds.into()).expect("a u64 ends in the year 2554")
}
