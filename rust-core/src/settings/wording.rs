//! What users are told about their settings. Nothing here lets a secret through.

use super::context::ContextError;
use super::found::{Chosen, Found};
use super::keys::{self, Cloud, Default, Source, CLOUDS, KEYS, PREFIX};
use super::nearest::{near, nearest};
use super::redaction::HIDDEN;
use super::values::Value;
use super::{Effective, Origin, Redaction, Triple, Warning};

/// What somebody set, and where, for the start line: `settings: dir=/x (conf), enabled=true (env
/// ENABLE_GLOWPLUG_PROFILER), the rest default`.
pub fn describe(effective: &[Effective]) -> String {
    let set: Vec<_> =
        effective.iter().filter(|setting| setting.origin != Origin::Default).map(setting).collect();
    match set.is_empty() {
        true => "settings: all default".to_owned(),
        false => format!("settings: {}, the rest default", set.join(", ")),
    }
}

/// Code of what is said where a cloud's settings stand without its switch.
pub(crate) const TARGET_OFF: &str = "target-off";

pub(crate) fn unknown_key(key: &str, name: &str) -> Warning {
    let key = printable(key);
    if let Some(label) = name.strip_prefix("label.") {
        let message = format!(
            "{key} has no effect as a setting: labels are local properties, set this one with \
             SparkContext.setLocalProperty(\"{PREFIX}label.{}\", value)",
            printable(label)
        );
        return Warning { code: "label-as-setting", message };
    }
    let near = near(name, KEYS.iter().map(|key| key.name)).map(|near| format!("{PREFIX}{near}"));
    let message = format!("{key} is not a setting of this version and has no effect{}", nearest_one(near));
    Warning { code: "unknown-key", message }
}

pub(crate) fn unknown_switch(key: &str) -> Warning {
    // A key with this shape is meant for some profiler, and there are three.
    let near = nearest(key, keys::spellings(Source::Environment)).map(str::to_owned);
    let key = printable(key);
    let message = format!("{key} is not a switch of Glowplug and has no effect on it{}", nearest_one(near));
    Warning { code: "unknown-switch", message }
}

pub(crate) fn unknown_field(context: &str, field: &str) -> Warning {
    let near = near(field, keys::spellings(Source::ContextField)).map(str::to_owned);
    let field = printable(field);
    let message =
        format!("{context} has the field {field}, which is unknown and has no effect{}", nearest_one(near));
    Warning { code: "unknown-field", message }
}

fn nearest_one(near: Option<String>) -> String {
    near.map_or("; docs/SETTINGS.md lists all".to_owned(), |near| format!("; the nearest one is {near}"))
}

pub(crate) fn context_not_understood(
    context: &Triple,
    cause: &ContextError,
    redaction: &Redaction,
) -> Warning {
    let cause = redaction.redact_text(&cause.to_string());
    let message = format!(
        "{} ({}) is not understood: {cause}; allowed is JSON such as {{\"profilingGroupName\":\"name\"}}; all of it is \
         ignored",
        context.key, context.origin
    );
    Warning { code: "context-not-understood", message }
}

pub(crate) fn bad_values<'a>(
    found: &'a [Found],
    chosen: &'a Chosen<'_>,
    redaction: &'a Redaction,
) -> impl Iterator<Item = Warning> + 'a {
    found.iter().filter_map(move |at| {
        let key = &KEYS[at.key];
        let cause = key.kind.parse(&at.text).err()?;
        let instead = match (chosen.found(key.name), key.default) {
            (Some(winner), _) => {
                format!("{} ({}) is used", shown(winner, redaction), from(winner.origin, &winner.origin_key))
            }
            (None, Default::Value(text)) => format!("the default is used: {text}"),
            (None, Default::Unset(words)) => format!("the default is used: {}", words.replace('`', "")),
        };
        let (name, value, allowed) = (&at.origin_key, shown(at, redaction), key.kind.allowed());
        let message = format!("{name}={value} ({}) {cause}; allowed is {allowed}; {instead}", at.origin);
        Some(Warning { code: "bad-value", message })
    })
}

/// Settings that were understood, but of which this version has only the name.
pub(crate) fn missing_parts(chosen: &Chosen<'_>, redaction: &Redaction) -> Vec<Warning> {
    let engines = chosen.all_found().filter_map(|(key, at)| {
        let of_a_cloud = CLOUDS.iter().any(|cloud| key.name.starts_with(cloud.group));
        let off = matches!(at.value, Some(Value::Switch(false) | Value::Duration(None)));
        let part = key.missing.filter(|_| !of_a_cloud && !off)?;
        let (name, value) = (&at.origin_key, shown(at, redaction));
        let message =
            format!("{name}={value} ({}) has no effect: {part} is not built into this version", at.origin);
        Some(Warning { code: "not-built-in", message })
    });
    engines.chain(CLOUDS.iter().filter_map(|cloud| missing_cloud(cloud, chosen))).collect()
}

/// Where a value is from: `conf spark.glowplug.dir`, `default`, `driver`.
fn from(origin: Origin, origin_key: &str) -> String {
    match origin {
        // What the driver passed on and a default have no key but the setting's own.
        Origin::Driver | Origin::Default => origin.to_string(),
        _ => format!("{origin} {origin_key}"),
    }
}

/// The value as it may be printed: no secret, one line, not too long.
pub(crate) fn shown(at: &Found, redaction: &Redaction) -> String {
    printable(&without_secrets(at, redaction))
}

/// The value with what is secret in it hidden.
pub(crate) fn without_secrets(at: &Found, redaction: &Redaction) -> String {
    let text = at.text.trim();
    if redaction.hides(&at.origin_key, text) {
        return HIDDEN.to_string();
    }
    redaction.redact_value(&KEYS[at.key].full_name(), text)
}

fn setting(effective: &Effective) -> String {
    let from = match effective.origin_key == effective.key {
        true => effective.origin.to_string(),
        false => from(effective.origin, &effective.origin_key),
    };
    let name = effective.key.strip_prefix(PREFIX).unwrap_or(&effective.key);
    format!("{name}={} ({from})", effective.value)
}

fn missing_cloud(cloud: &Cloud, chosen: &Chosen<'_>) -> Option<Warning> {
    let title = cloud.title;
    match chosen.found(cloud.switch) {
        Some(at) if at.value == Some(Value::Switch(false)) => None,
        Some(at) => {
            let message = format!(
                "{} ({}) switches {title} on, but that target is not built into this version: nothing is uploaded to it",
                at.origin_key, at.origin
            );
            Some(Warning { code: "not-built-in", message })
        }
        None => {
            let (_, at) = chosen.all_found().find(|(key, _)| key.name.starts_with(cloud.group))?;
            let message = format!(
                "{} ({}) is set, but {title} is not switched on: nothing is uploaded to it",
                at.origin_key, at.origin
            );
            Some(Warning { code: TARGET_OFF, message })
        }
    }
}

fn printable(text: &str) -> String {
    const LONGEST: usize = 200;
    let mut line = String::new();
    for character in text.chars().take(LONGEST) {
        match character.is_control() {
            true => line.extend(character.escape_default()),
            false => line.push(character),
        }
    }
    if text.chars().count() > LONGEST {
        line.push('…');
    }
    line
}
