//! JDKs and Spark versions.

use super::table;
use once_cell::sync::Lazy;
use serde::Deserialize;

/// What a JDK lets the engines do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JdkFact {
    from: u32,
    to: u32,
    /// Whether this feature release was measured.
    pub known: bool,
    /// The cpu engine on x86-64. On aarch64 the sampler thread is the choice for every JDK.
    pub cpu: CpuEngine,
    /// Whether HotSpot's flag DebugNonSafepoints is turned on.
    pub debug_non_safepoints: bool,
    /// Where allocations come from.
    pub alloc: AllocEngine,
    /// How the wall engine takes stacks.
    pub sweep: Sweep,
    /// Versions that were measured, as the JVM spells them up to the build: `17.0.15`, `25.504` for 8u504.
    updates: Vec<String>,
    /// Why the sampler thread, for the start line; empty where timers are the choice.
    #[serde(default)]
    pub why: String,
    #[serde(flatten)]
    evidence: Evidence,
}

impl JdkFact {
    /// What speaks for the choice on a JVM of this version, for the start line.
    pub fn proof(&self, version: &str) -> String {
        let measured = self.updates.join(" and ");
        let update = version.split(['+', '-']).next().unwrap_or_default();
        match self.updates.iter().any(|known| known == update) {
            true => format!("proved on JDK {update}"),
            false => format!("proved on JDK {measured}, this is {update}"),
        }
    }
}

/// Whether a JVM of this version, as it spells it, compiles with Graal: 17.0.9+9-jvmci-23.0-b22 does.
pub fn compiles_with_graal(version: &str) -> bool {
    version.contains("jvmci")
}

/// How CPU samples are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CpuEngine {
    /// Per-thread CPU timers: the signalled thread records its own stack.
    Timers,
    /// The sampler thread walks stacks and weighs each by its thread's CPU clock.
    Sampler,
}

/// Where allocations come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AllocEngine {
    /// JVMTI's sampled allocations.
    Sampled,
    /// The threads' counters of allocated bytes.
    Counters,
}

/// How the wall engine takes stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sweep {
    /// One thread at a time.
    Each,
    /// All in one call, because each call stops all threads.
    List,
}

/// What a Spark version has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SparkFact {
    from: (u32, u32),
    /// Whether this version, or a later one of the same line, was tried.
    pub known: bool,
    /// Whether plugins hear of tasks; without it there are no stage labels.
    pub task_callbacks: bool,
    #[serde(flatten)]
    evidence: Evidence,
}

/// When and by what a row was shown.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Evidence {
    seen: String,
    by: String,
}

/// The fact for a feature release: 8, 11, 17, ….
pub fn jdk(feature: u32) -> &'static JdkFact {
    let row = JDKS.jdk.iter().find(|row| (row.from..=row.to).contains(&feature));
    row.expect("the rows cover all releases")
}

/// The fact for a version as Spark spells it: `3.5.9`. `None`: older than 3.0, or no version.
pub fn spark(version: &str) -> Option<&'static SparkFact> {
    let mut parts = version.split(['.', '-']);
    let mut number = || parts.next()?.parse::<u32>().ok();
    let version = (number()?, number()?);
    SPARKS.spark.iter().rev().find(|row| row.from <= version)
}

#[derive(Deserialize)]
struct Jdks {
    jdk: Vec<JdkFact>,
}

#[derive(Deserialize)]
struct Sparks {
    spark: Vec<SparkFact>,
}

static JDKS: Lazy<Jdks> = Lazy::new(|| table("jdks.toml", include_str!("jdks.toml")));
static SPARKS: Lazy<Sparks> = Lazy::new(|| table("sparks.toml", include_str!("sparks.toml")));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_jdks() {
        let choice = |feature| {
            let fact = jdk(feature);
            assert!(fact.known);
            (fact.cpu, fact.debug_non_safepoints, fact.alloc, fact.sweep)
        };
        use {AllocEngine::*, CpuEngine::*, Sweep::*};
        assert_eq!(choice(8), (Sampler, true, Counters, List));
        assert_eq!(choice(11), (Timers, true, Sampled, List));
        assert_eq!(choice(17), (Timers, false, Sampled, Each));
        assert_eq!(choice(21), (Timers, true, Sampled, Each));
        assert_eq!(choice(25), (Timers, true, Sampled, Each));
    }

    #[test]
    fn every_other_jdk_runs_on_the_sampler_thread() {
        for feature in (0..200).chain([u32::MAX]).filter(|feature| ![8, 11, 17, 21, 25].contains(feature)) {
            let fact = jdk(feature);
            assert!(!fact.known, "{feature}");
            assert_eq!(fact.cpu, CpuEngine::Sampler, "{feature}");
            assert_eq!(fact.alloc == AllocEngine::Sampled, feature > 11, "{feature}");
            assert_eq!(fact.sweep == Sweep::Each, feature > 17, "{feature}");
            assert_eq!(fact.debug_non_safepoints, feature > 21, "{feature}");
        }
    }

    #[test]
    fn spark_versions() {
        let callbacks = |version| spark(version).map(|fact| (fact.known, fact.task_callbacks));
        assert_eq!(callbacks("3.0.3"), Some((true, false)));
        assert_eq!(callbacks("3.1.1"), Some((true, true)));
        assert_eq!(callbacks("3.5.9-amzn-1"), Some((true, true)));
        assert_eq!(callbacks("4.3.0"), Some((true, true)));
        assert_eq!(callbacks("4.4.0-SNAPSHOT"), Some((false, true)));
        assert_eq!(callbacks("5.0"), Some((false, true)));
        assert_eq!(callbacks("2.4.8"), None);
        assert_eq!(callbacks("unknown"), None);
    }

    #[test]
    fn every_row_is_dated_and_says_what_showed_it() {
        let jdks = JDKS.jdk.iter().map(|row| &row.evidence);
        for evidence in jdks.chain(SPARKS.spark.iter().map(|row| &row.evidence)) {
            assert_eq!(evidence.seen.len(), "2026-11-29".len());
            assert!(!evidence.by.is_empty());
        }
        for row in &JDKS.jdk {
            assert_eq!(row.why.is_empty(), row.cpu == CpuEngine::Timers, "{}", row.from);
            assert_eq!(row.updates.is_empty(), !row.known, "{}", row.from);
        }
    }
}
