//! What the user wrote becomes what will be done.
//!
//! [`Triple`]s come in raw; [`resolve`] turns them into [`Settings`] and tells, for each effective
//! setting, where it came from, and what was wrong. One table of keys makes the parser, the start
//! line and docs/SETTINGS.md.

mod context;
mod document;
mod found;
mod keys;
mod nearest;
mod places;
mod redaction;
mod resolve;
mod switches;
mod values;
mod wording;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

pub use document::document;
pub use redaction::Redaction;
pub use resolve::{resolve, Effective, Resolution};
pub use wording::describe;

pub(crate) use nearest::near;
pub(crate) use wording::TARGET_OFF;

/// One raw setting as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triple {
    /// The key as it was written.
    pub key: String,
    /// The value as it was written.
    pub value: String,
    /// Where it was found.
    pub origin: Origin,
}

/// Where a raw setting was found, in the spelling that Java hands over and the start line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// SparkConf (`conf`).
    Conf,
    /// The process's own environment (`env`).
    Environment,
    /// The Hadoop configuration (`hadoop`).
    Hadoop,
    /// System properties (`system property`).
    SystemProperty,
    /// The options of `-javaagent` (`agent`).
    Agent,
    /// What the driver passed on to its executors (`driver`).
    Driver,
    /// Nobody set it (`default`).
    Default,
}

impl Origin {
    const SPELLINGS: [(Origin, &'static str); 7] = [
        (Origin::Conf, "conf"),
        (Origin::Environment, "env"),
        (Origin::Hadoop, "hadoop"),
        (Origin::SystemProperty, "system property"),
        (Origin::Agent, "agent"),
        (Origin::Driver, "driver"),
        (Origin::Default, "default"),
    ];
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spelling = Origin::SPELLINGS.iter().find(|(origin, _)| origin == self);
        out.pad(spelling.map_or("", |(_, spelling)| spelling))
    }
}

impl FromStr for Origin {
    type Err = UnknownOrigin;

    fn from_str(text: &str) -> Result<Origin, UnknownOrigin> {
        let known = Origin::SPELLINGS.iter().find(|(_, spelling)| *spelling == text);
        known.map(|(origin, _)| *origin).ok_or_else(|| UnknownOrigin(text.to_string()))
    }
}

/// Java handed over an origin that this core does not know.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown origin of a setting: {0:?}")]
pub struct UnknownOrigin(String);

/// Something about the settings that the user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Stable short name, kebab-case: `unknown-key`.
    pub code: &'static str,
    /// What is wrong, what is allowed, what is done now. Holds no secret.
    pub message: String,
}

/// Which process asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The driver, also in local mode.
    Driver,
    /// An executor.
    Executor,
    /// A JVM with the agent, before or without a SparkContext.
    Agent,
}

/// Where the folder goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folder {
    /// Nobody said: `glowplug-profiles` in the working directory, or in the user's home on the
    /// default file system in cluster mode.
    Default,
    /// No folder.
    Off,
    /// A path or URI.
    At(String),
}

/// What will be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `Err` says in one sentence why nothing is sampled here.
    pub run: Result<(), String>,
    /// The driver gathers deltas and writes the folder: it is profiled itself, or its executors are.
    pub gather: bool,
    /// Where the folder goes.
    pub dir: Folder,
    /// First candidate for the extracted library.
    pub native_dir: Option<String>,
    /// One report covers this.
    pub report_interval: Duration,
    /// Shortest time between deltas; `None`: the driver decides.
    pub relay_interval: Option<Duration>,
    /// How long the driver waits for executors' last deltas.
    pub shutdown_wait: Duration,
    /// Frames kept of a stack.
    pub depth: usize,
    /// Thread names left out of wall.
    pub threads_exclude: Vec<String>,
    /// CPU time between samples of one thread; `None`: engine off.
    pub cpu_interval: Option<Duration>,
    /// Wall time between sweeps; `None`: engine off.
    pub wall_interval: Option<Duration>,
    /// Mean bytes between allocation samples; `None`: engine off.
    pub alloc_interval: Option<u64>,
    /// Part of the process's CPU that the profiler may use.
    pub overhead_limit: f64,
    /// Bytes of native memory for tree and names.
    pub memory_limit: Option<u64>,
    /// Name of the profile in files, with what is secret hidden; `None`: the application's name.
    pub profile_name: Option<String>,
    /// Version that the user gave the profile.
    pub profile_version: Option<String>,
    /// Profiling group that the user named for CodeGuru.
    pub profile_group: Option<String>,
}
