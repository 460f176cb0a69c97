//! Whether a process is profiled at all.

use super::found::{Chosen, Found};
use super::keys::{Source, CLOUDS, KEYS};
use super::places::Place;
use super::values::{Enabled, Value};
use super::Role;

/// The answer.
#[derive(Debug)]
pub(crate) struct Decision {
    /// `Err` says in one sentence why this process is not profiled.
    pub(crate) run: Result<(), String>,
    /// What the driver has to tell its executors, because they cannot see what decided it.
    pub(crate) passed_on: Option<bool>,
}

/// Decides from all that was found, the highest place first, and from the values that count.
pub(crate) fn decide(found: &[Found], chosen: &Chosen, role: Role) -> Decision {
    let (application, basis) = application(found);
    let hidden = basis.is_some_and(|basis| basis.place.hidden_from_executors());
    let passed_on = hidden.then_some(application.is_ok());
    Decision { run: application.and_then(|()| role_switch(chosen, role)), passed_on }
}

/// Whether anything starts in this application, and which finding says so.
fn application(found: &[Found]) -> (Result<(), String>, Option<&Found>) {
    let own = enabled(found).find(|(at, _)| at.place != Place::PassedOn);
    match own {
        Some((at, Enabled::Yes)) => (Ok(()), Some(at)),
        Some((at, Enabled::No)) => (Err(is_false(at)), Some(at)),
        Some((at, Enabled::Requested)) => match request(found) {
            Some(request) => (Ok(()), Some(request)),
            None => (Err(waits(at)), Some(at)),
        },
        None => unasked(found),
    }
}

/// Nobody set `enabled` here: the vendors' variables decide, then the driver.
fn unasked(found: &[Found]) -> (Result<(), String>, Option<&Found>) {
    let variables: Vec<_> = cloud_switches(found, |at| at.place.holds_environment()).collect();
    if let Some((at, _)) = variables.iter().find(|(_, on)| *on) {
        return (Ok(()), Some(at));
    }
    if let Some((at, _)) = variables.first() {
        return (Err(format!("{}, and nothing else asks for a profile", is_false(at))), Some(at));
    }
    match enabled(found).next() {
        Some((at, Enabled::No)) => (Err(is_false(at)), Some(at)),
        passed_on => (Ok(()), passed_on.map(|(at, _)| at)),
    }
}

/// What a job asks with where `enabled` is `requested`: `true` at a lower place, a vendor's
/// variable, Google's properties, or the driver that was asked.
fn request(found: &[Found]) -> Option<&Found> {
    let yes = |passed_on: bool| {
        let mut answers = enabled(found).filter(move |(at, _)| (at.place == Place::PassedOn) == passed_on);
        let first = answers.find(|(_, value)| *value != Enabled::Requested);
        first.filter(|(_, value)| *value == Enabled::Yes).map(|(at, _)| at)
    };
    let vendors = || cloud_switches(found, |at| at.source.is_some()).find(|(_, on)| *on).map(|(at, _)| at);
    yes(false).or_else(vendors).or_else(|| yes(true))
}

fn role_switch(chosen: &Chosen, role: Role) -> Result<(), String> {
    let name = match role {
        Role::Driver => "driver.enabled",
        Role::Executor => "executor.enabled",
        // A JVM with the agent alone does not know yet what it will be.
        Role::Agent => return Ok(()),
    };
    match chosen.found(name) {
        Some(at) if at.value == Some(Value::Switch(false)) => Err(is_false(at)),
        _ => Ok(()),
    }
}

/// What was found for `enabled` and understood, the highest place first.
fn enabled(found: &[Found]) -> impl Iterator<Item = (&Found, Enabled)> {
    found.iter().filter_map(|at| match at.value {
        Some(Value::Enabled(enabled)) => Some((at, enabled)),
        _ => None,
    })
}

/// For each cloud the highest of the findings that count for its switch.
fn cloud_switches<'a>(
    found: &'a [Found],
    counts: impl Fn(&Found) -> bool + 'a,
) -> impl Iterator<Item = (&'a Found, bool)> {
    CLOUDS.iter().filter_map(move |cloud| {
        let mut places = found.iter().filter(|at| KEYS[at.key].name == cloud.switch && counts(at));
        places.find_map(|at| match at.value {
            Some(Value::Switch(on)) => Some((at, on)),
            _ => None,
        })
    })
}

fn is_false(at: &Found) -> String {
    format!("{} is false ({})", at.origin_key, at.origin)
}

fn waits(at: &Found) -> String {
    let variables: Vec<_> = super::keys::spellings(Source::Environment).collect();
    format!(
        "{} is requested ({}) and this job does not ask: set spark.glowplug.enabled, cloud.profiler.enable, \
         dataproc.profiling.enabled or one of {} to true",
        at.origin_key,
        at.origin,
        variables.join(", ")
    )
}
