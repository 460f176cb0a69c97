//! The table of keys. The parser, the start line, the suggestions for a misspelt name and
//! docs/SETTINGS.md are all made of it; a new setting is a new row here.

use super::values::{Kind, Unit};
use once_cell::sync::Lazy;
use rustc_hash::FxHashMap;
use std::time::Duration;

/// What every key of ours begins with.
pub(crate) const PREFIX: &str = "spark.glowplug.";

/// Environment variable with CodeGuru's settings in JSON.
pub(crate) const CONTEXT: &str = "PROFILING_CONTEXT";

/// One setting.
#[derive(Debug)]
pub(crate) struct Key {
    /// Name without [`PREFIX`].
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: Default,
    /// First version that knows the key.
    pub(crate) since: &'static str,
    /// For docs/SETTINGS.md, Markdown.
    pub(crate) doc: &'static str,
    /// The value is never printed.
    pub(crate) secret: bool,
    /// Where this version does nothing with the value: the part that is missing.
    pub(crate) missing: Option<&'static str>,
    /// The driver hands it to executors that cannot see where it was set.
    pub(crate) passed_on: bool,
    /// The same setting in others' spellings, the first one first.
    pub(crate) vendor: &'static [(Source, &'static str)],
}

/// What holds where nobody set the key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Default {
    /// A value, as a user would write it.
    Value(&'static str),
    /// No single value: in words, for docs/SETTINGS.md.
    Unset(&'static str),
}

/// Where others' spellings are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// An environment variable, also in its conf forms.
    Environment,
    /// A field of [`CONTEXT`].
    ContextField,
    /// A property of Dataproc.
    Property,
}

/// A vendor's spelling of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spelling {
    /// Index in [`KEYS`].
    pub(crate) key: usize,
    /// Place among the key's spellings; of two that are set, the first one counts.
    pub(crate) place: usize,
}

/// A cloud that reports can go to; its keys are a group of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cloud {
    /// For messages.
    pub(crate) title: &'static str,
    /// What its keys begin with, after [`PREFIX`].
    pub(crate) group: &'static str,
    /// Its switch, without [`PREFIX`].
    pub(crate) switch: &'static str,
}

pub(crate) const CLOUDS: [Cloud; 2] = [
    Cloud { title: "Amazon CodeGuru Profiler", group: "codeguru.", switch: "codeguru.enabled" },
    Cloud { title: "Google Cloud Profiler", group: "google.", switch: "google.enabled" },
];

pub(crate) static KEYS: &[Key] = &[
    Key {
        default: Default::Value("true"),
        passed_on: false,
        vendor: &[(Source::Environment, "ENABLE_GLOWPLUG_PROFILER")],
        ..Key::new(
            "enabled",
            Kind::Enabled,
            "Whether anything starts. `requested`: nothing starts until a job asks for it, with `true` here, with an \
             `ENABLE_*_PROFILER` variable at `true`, or with `cloud.profiler.enable` or \
             `dataproc.profiling.enabled` at `true`. For administrators who put the plugin into \
             `spark-defaults.conf`.",
        )
    },
    Key {
        default: Default::Value("true"),
        passed_on: false,
        ..Key::new(
            "driver.enabled",
            Kind::Switch,
            "Whether the driver is profiled. At `false` it still gathers what the executors send. In local mode, where \
             one process is both, this one counts.",
        )
    },
    Key {
        default: Default::Value("true"),
        ..Key::new("executor.enabled", Kind::Switch, "Whether executors are profiled; without effect in local mode.")
    },
    Key {
        default: Default::Unset(
            "`./glowplug-profiles` of the driver in client and local mode, `<home>/glowplug-profiles` on the \
             default file system in cluster mode",
        ),
        ..Key::new(
            "dir",
            Kind::Folder,
            "Where the driver writes: a local path or the URI of any Hadoop file system. Each application gets a \
             folder of its own in it. `none`: no folder.",
        )
    },
    Key {
        default: Default::Unset("the first of `java.io.tmpdir`, the working directory, `LOCAL_DIRS`, `spark.local.dir` and the user's home that works"),
        passed_on: false,
        ..Key::new(
            "native.dir",
            Kind::LocalPath,
            "Where the native library is unpacked to first. The file system must allow execution; the file is \
             removed as soon as it is loaded.",
        )
    },
    Key {
        default: Default::Value("5m"),
        ..Key::new("report.interval", seconds(10, 3600), "One report, and one file in `periods/`, covers this time.")
    },
    Key {
        default: Default::Unset("the larger of `10s` and 6 ms for each executor"),
        ..Key::new(
            "relay.interval",
            seconds(1, 300),
            "Time between two deltas from an executor to the driver. An executor that is killed loses what it has \
             not sent.",
        )
    },
    Key {
        default: Default::Value("3s"),
        ..Key::new(
            "shutdown.wait",
            seconds(0, 30),
            "How long the driver waits at its end for the last deltas of executors. Not at all in local mode.",
        )
    },
    Key {
        default: Default::Value("1000"),
        ..Key::new(
            "depth",
            Kind::Count { min: 16, max: 1000 },
            "Frames kept of a stack. A deeper one keeps its leaf and its root around `[truncated]`; its root if it has fewer than \
             2048 frames.",
        )
    },
    Key {
        default: Default::Value("Signal Dispatcher,Attach Listener"),
        ..Key::new("threads.exclude", Kind::List, "Names of threads that are left out of wall time.")
    },
    Key {
        default: Default::Value("10ms"),
        ..Key::new(
            "cpu.interval",
            milliseconds(1, 10_000, true),
            "CPU time of a thread between two of its samples. Kernels tick 100 to 1000 times a second, and a timer \
             cannot fire more often than the tick.",
        )
    },
    Key {
        default: Default::Value("50ms"),
        ..Key::new(
            "wall.interval",
            milliseconds(10, 60_000, true),
            "Time between two looks at every thread and its state.",
        )
    },
    Key {
        default: Default::Value("2m"),
        ..Key::new(
            "alloc.interval",
            Kind::Size { min: 16 << 10, max: 1 << 30, off: true },
            "Mean number of bytes allocated between two samples; widened where a process allocates so fast that \
             samples would cost too much. On JDK 8 threads count what they allocate, so that only `off` \
             makes a difference.",
        )
    },
    Key {
        default: Default::Value("off"),
        missing: Some("the lock engine"),
        ..Key::new("lock.threshold", milliseconds(0, 60_000, true), "Shortest wait for a lock that is recorded.")
    },
    Key {
        default: Default::Value("false"),
        missing: Some("the heap engine"),
        ..Key::new("heap.enabled", Kind::Switch, "Whether reports have live objects by class.")
    },
    Key {
        default: Default::Value("500ms"),
        missing: Some("the heap engine"),
        ..Key::new("heap.maxPause", milliseconds(10, 60_000, false), "Longest pause that a look at the heap may take.")
    },
    Key {
        default: Default::Value("1%"),
        ..Key::new(
            "overhead.limit",
            Kind::Share { min: 0.001, max: 0.5 },
            "Part of the process's CPU that the profiler may use, but always 1 ms a second. Over it the engines slow \
             down.",
        )
    },
    Key {
        default: Default::Unset("`12m` in an executor; in the driver `64m` and 20 KiB for each executor, `256m` at most"),
        ..Key::new(
            "memory.limit",
            Kind::Size { min: 4 << 20, max: 4 << 30, off: false },
            "Native memory for call tree and names. Over it the driver sums the smallest weights under `[folded]`; an executor \
             hands its samples on early and begins a new tree, so nothing of it is lost.",
        )
    },
    Key {
        default: Default::Value("false"),
        missing: Some("the profiler of Python workers"),
        ..Key::new("python", Kind::Switch, "Whether Python workers are profiled.")
    },
    Key {
        default: Default::Value("false"),
        missing: Some("control of a running application"),
        ..Key::new("control", Kind::Switch, "Whether engines can be switched from the Spark UI.")
    },
    Key {
        default: Default::Unset("the system's certificates"),
        missing: Some("an upload target"),
        passed_on: false,
        ..Key::new("tls.ca", Kind::LocalPath, "PEM file with certificates that are trusted on top of the system's.")
    },
    Key {
        default: Default::Value("false"),
        missing: Some("the CodeGuru target"),
        vendor: &[(Source::Environment, "ENABLE_AMAZON_PROFILER")],
        ..Key::new("codeguru.enabled", Kind::Switch, "Whether profiles go to Amazon CodeGuru Profiler.")
    },
    Key {
        default: Default::Unset("none"),
        vendor: &[(Source::ContextField, "profilingGroupName")],
        ..Key::new(
            "codeguru.group",
            Kind::Text,
            "Profiling group in CodeGuru. Names the profile in the folder too, where `google.name` does not.",
        )
    },
    Key {
        default: Default::Value("false"),
        missing: Some("the CodeGuru target"),
        vendor: &[(Source::ContextField, "driverEnabled")],
        ..Key::new("codeguru.driver.enabled", Kind::Switch, "Whether the driver reports to CodeGuru.")
    },
    Key {
        default: Default::Value("true"),
        missing: Some("the CodeGuru target"),
        vendor: &[(Source::ContextField, "executorEnabled")],
        ..Key::new("codeguru.executor.enabled", Kind::Switch, "Whether executors report to CodeGuru.")
    },
    Key {
        default: Default::Value("1.0"),
        missing: Some("the CodeGuru target"),
        vendor: &[(Source::ContextField, "probability")],
        ..Key::new(
            "codeguru.probability",
            Kind::Share { min: 0.0, max: 1.0 },
            "Part of the executors that report to CodeGuru.",
        )
    },
    Key {
        default: Default::Value("true"),
        missing: Some("the CodeGuru target"),
        vendor: &[(Source::ContextField, "heapSummaryEnabled")],
        ..Key::new(
            "codeguru.heapSummary.enabled",
            Kind::Switch,
            "Whether CodeGuru gets a heap summary, where the heap engine runs.",
        )
    },
    Key {
        default: Default::Value("false"),
        missing: Some("the Cloud Profiler target"),
        vendor: &[
            (Source::Environment, "ENABLE_GOOGLE_PROFILER"),
            (Source::Property, "cloud.profiler.enable"),
            (Source::Property, "dataproc.profiling.enabled"),
        ],
        ..Key::new("google.enabled", Kind::Switch, "Whether profiles go to Google Cloud Profiler.")
    },
    Key {
        default: Default::Unset("the application's name"),
        vendor: &[(Source::Property, "cloud.profiler.name"), (Source::Property, "dataproc.profiling.name")],
        ..Key::new("google.name", Kind::Text, "Name of the profile, in Cloud Profiler and in the folder.")
    },
    Key {
        default: Default::Unset("none"),
        vendor: &[(Source::Property, "cloud.profiler.service.version")],
        ..Key::new("google.version", Kind::Text, "Version of the profile, in Cloud Profiler and in the folder.")
    },
];

impl Key {
    const fn new(name: &'static str, kind: Kind, doc: &'static str) -> Key {
        Key {
            name,
            kind,
            default: Default::Unset(""),
            since: "0.1.0",
            doc,
            secret: false,
            missing: None,
            passed_on: true,
            vendor: &[],
        }
    }

    /// The key as users write it.
    pub(crate) fn full_name(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }
}

/// Index in [`KEYS`] of a name without [`PREFIX`].
pub(crate) fn find(name: &str) -> Option<usize> {
    BY_NAME.get(name).copied()
}

/// The key that a vendor spells `name`.
pub(crate) fn find_spelling(source: Source, name: &str) -> Option<Spelling> {
    SPELLINGS.get(&(source, name)).copied()
}

/// All names of one source, in the table's order.
pub(crate) fn spellings(source: Source) -> impl Iterator<Item = &'static str> {
    KEYS.iter().flat_map(|key| key.vendor).filter(move |(from, _)| *from == source).map(|(_, name)| *name)
}

const fn milliseconds(min: u64, max: u64, off: bool) -> Kind {
    Kind::Duration {
        unit: Unit::Milliseconds,
        min: Duration::from_millis(min),
        max: Duration::from_millis(max),
        off,
    }
}

const fn seconds(min: u64, max: u64) -> Kind {
    Kind::Duration {
        unit: Unit::Seconds,
        min: Duration::from_secs(min),
        max: Duration::from_secs(max),
        off: false,
    }
}

static BY_NAME: Lazy<FxHashMap<&str, usize>> =
    Lazy::new(|| KEYS.iter().enumerate().map(|(index, key)| (key.name, index)).collect());

static SPELLINGS: Lazy<FxHashMap<(Source, &str), Spelling>> = Lazy::new(|| {
    let rows = KEYS.iter().enumerate();
    let spellings = rows.flat_map(|(index, key)| {
        let places = key.vendor.iter().enumerate();
        places.map(move |(place, spelling)| (*spelling, Spelling { key: index, place }))
    });
    spellings.collect()
});

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_default_is_a_value_that_its_key_takes() {
        for key in KEYS {
            if let Default::Value(text) = key.default {
                assert!(key.kind.parse(text).is_ok(), "{}={text}", key.name);
            }
        }
    }

    #[test]
    fn no_name_and_no_spelling_stands_twice() {
        let names: BTreeSet<_> = KEYS.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), KEYS.len());
        let spellings: Vec<_> = KEYS.iter().flat_map(|key| key.vendor).collect();
        assert_eq!(SPELLINGS.len(), spellings.len());
    }

    #[test]
    fn names_are_found_in_every_spelling() {
        let name = |index: usize| KEYS[index].name;
        assert_eq!(find("cpu.interval").map(name), Some("cpu.interval"));
        assert_eq!(find("cpu.intervall"), None);
        let google = find_spelling(Source::Property, "dataproc.profiling.enabled").unwrap();
        assert_eq!((name(google.key), google.place), ("google.enabled", 2));
        assert_eq!(find_spelling(Source::Environment, "dataproc.profiling.enabled"), None);
    }

    #[test]
    fn every_switch_of_a_cloud_is_a_key_of_its_group() {
        for cloud in CLOUDS {
            assert!(cloud.switch.starts_with(cloud.group));
            assert!(find(cloud.switch).is_some());
        }
    }

    #[test]
    fn the_fields_of_the_context_are_the_five_of_the_codeguru_plugin() {
        let fields: Vec<_> = spellings(Source::ContextField).collect();
        let known =
            ["profilingGroupName", "driverEnabled", "executorEnabled", "probability", "heapSummaryEnabled"];
        assert_eq!(fields, known);
    }
}
