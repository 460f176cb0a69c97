//! What the triples come to: the settings, where each came from, and what the user should know.

use super::found::{read, Chosen, Found};
use super::keys::{Default, KEYS, PREFIX};
use super::switches::{decide, Decision};
use super::values::Value;
use super::wording::{bad_values, missing_parts, shown, without_secrets};
use super::{Folder, Origin, Redaction, Role, Settings, Triple, Warning};

/// What the triples come to.
#[derive(Debug, Clone)]
pub struct Resolution {
    /// What will be done.
    pub settings: Settings,
    /// The settings that have a value and where it came from, in the table's order.
    pub effective: Vec<Effective>,
    /// What the user should know, in order.
    pub warnings: Vec<Warning>,
    /// What the driver hands to its executors: settings that they cannot see where they were set.
    /// Holds no secret: the map is visible in Spark's UI and event log.
    pub passed_on: Vec<(String, String)>,
    /// What to hide wherever something is printed, written or sent.
    pub redaction: Redaction,
}

/// One setting that has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    /// Full key: `spark.glowplug.dir`.
    pub key: String,
    /// The value as it may be printed.
    pub value: String,
    /// Where it was found.
    pub origin: Origin,
    /// The key as it was written there; empty for a default.
    pub origin_key: String,
}

/// Resolves `triples` for a process of `role`.
///
/// The order of places, the first one wins: `spark.glowplug.*` (conf, agent options, system
/// properties, Hadoop configuration); a vendor's spelling in the process's own environment, in the
/// conf forms of an environment variable, as a property set in code, with `spark.` before it, in
/// `spark.hadoop.*` and the Hadoop configuration, in system properties; what the driver passed on;
/// the default. A value that is not understood is skipped, with a warning.
pub fn resolve(triples: &[Triple], role: Role) -> Resolution {
    let (redaction, mut warnings) = Redaction::from_conf(triples);
    let found = read(triples, role, &redaction, &mut warnings);
    let chosen = Chosen::of(&found);
    warnings.extend(bad_values(&found, &chosen, &redaction));
    warnings.extend(missing_parts(&chosen, &redaction));
    let decision = decide(&found, &chosen, role);
    let passed_on = match role {
        Role::Driver => passed_on(&chosen, &decision, &redaction),
        Role::Executor | Role::Agent => Vec::new(),
    };
    let gather = role == Role::Driver && (decision.run.is_ok() || executors_run(triples, &passed_on));
    let effective = effective(&chosen, &redaction);
    let settings = settings(&chosen, decision.run, gather, &effective);
    Resolution { settings, effective, warnings, passed_on, redaction }
}

fn passed_on(chosen: &Chosen<'_>, decision: &Decision, redaction: &Redaction) -> Vec<(String, String)> {
    let enabled = decision.passed_on.map(|on| (format!("{PREFIX}enabled"), on.to_string()));
    let others = chosen.all_found().filter_map(|(key, at)| {
        let text = at.text.trim();
        let handed_over = key.passed_on && at.place.hidden_from_executors();
        (handed_over && without_secrets(at, redaction) == text).then(|| (key.full_name(), text.to_string()))
    });
    enabled.into_iter().chain(others).collect()
}

/// Whether executors are profiled, as far as their driver can tell.
fn executors_run(triples: &[Triple], passed_on: &[(String, String)]) -> bool {
    let conf =
        triples.iter().filter(|triple| triple.origin == Origin::Conf && triple.key.starts_with("spark."));
    let passed_on = passed_on.iter().map(|(key, value)| Triple {
        key: key.clone(),
        value: value.clone(),
        origin: Origin::Driver,
    });
    let seen: Vec<_> = conf.cloned().chain(passed_on).collect();
    resolve(&seen, Role::Executor).settings.run.is_ok()
}

fn settings(chosen: &Chosen<'_>, run: Result<(), String>, gather: bool, effective: &[Effective]) -> Settings {
    let printable = |name: &str| {
        chosen.text(name)?;
        let shown = effective.iter().find(|row| row.key.strip_prefix(PREFIX) == Some(name));
        shown.map(|row| row.value.clone())
    };
    let dir = match chosen.value("dir") {
        Some(Value::Text(Some(path))) => Folder::At(path.clone()),
        Some(_) => Folder::Off,
        None => Folder::Default,
    };
    let threads_exclude = match chosen.value("threads.exclude") {
        Some(Value::List(names)) => names.clone(),
        _ => unreachable!("threads.exclude is a list with a default"),
    };
    let depth = match chosen.value("depth") {
        Some(Value::Count(frames)) => *frames as usize,
        _ => unreachable!("depth is a count with a default"),
    };
    let overhead_limit = match chosen.value("overhead.limit") {
        Some(Value::Share(share)) => *share,
        _ => unreachable!("overhead.limit is a share with a default"),
    };
    Settings {
        run,
        gather,
        dir,
        native_dir: chosen.text("native.dir"),
        report_interval: chosen.duration("report.interval").expect("report.interval has a default"),
        relay_interval: chosen.duration("relay.interval"),
        shutdown_wait: chosen.duration("shutdown.wait").expect("shutdown.wait has a default"),
        depth,
        threads_exclude,
        cpu_interval: chosen.duration("cpu.interval"),
        wall_interval: chosen.duration("wall.interval"),
        alloc_interval: chosen.size("alloc.interval"),
        overhead_limit,
        memory_limit: chosen.size("memory.limit"),
        profile_name: printable("google.name").or_else(|| printable("codeguru.group")),
        profile_version: printable("google.version"),
        profile_group: printable("codeguru.group"),
    }
}

fn effective(chosen: &Chosen<'_>, redaction: &Redaction) -> Vec<Effective> {
    let found = |at: &Found| (shown(at, redaction), at.origin, at.origin_key.clone());
    let rows = KEYS.iter().filter_map(|key| {
        let (value, origin, origin_key) = match (chosen.found(key.name), key.default) {
            (Some(at), _) => found(at),
            (None, Default::Value(text)) if key.missing.is_none() => {
                (text.to_string(), Origin::Default, String::new())
            }
            (None, _) => return None,
        };
        Some(Effective { key: key.full_name(), value, origin, origin_key })
    });
    rows.collect()
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
