//! Writes docs/SETTINGS.md from the table of keys.

use super::keys::{self, Default, Key, Source, CONTEXT, KEYS};
use super::places::conf_forms;
use super::values::Kind;
use super::Role;

/// The whole of docs/SETTINGS.md, in Markdown.
pub fn document() -> String {
    let rows: String = KEYS.iter().map(row).collect();
    let sections: String = KEYS.iter().map(section).collect();
    let driver_forms = quoted(conf_forms(Role::Driver).iter().copied());
    let executor_forms = quoted(conf_forms(Role::Executor).iter().copied());
    let variables = quoted(keys::spellings(Source::Environment));
    let fields = quoted(keys::spellings(Source::ContextField));
    format!(
        "\
# Settings

Every setting is a key of Spark's conf: `--conf spark.glowplug.dir=hdfs:///profiles`, a line of
`spark-defaults.conf`, or `SparkConf.set` before the SparkContext is made. No setting is needed. The line that each
process logs at its start says which values hold and where each comes from.

This page is generated from the table that the program itself reads.

## All keys

| key | default | allowed |
|---|---|---|
{rows}
## Values

* Durations and sizes are written as everywhere in Spark: `10ms`, `30s`, `5m` (minutes), `1h`; `512k`, `2m` or `2mb` or
  `2MiB` (all of them binary), `1g`. Fractions are not taken.
* `off` switches an engine off, where the key allows it.
* A value that is not understood or out of range is ignored with a warning that names the key, the value, what is
  allowed, and what is used instead.
* A key that does not exist, and a variable `ENABLE_…_PROFILER` that does not exist, is warned of with the nearest one
  that does.
* Values whose key or text matches `spark.redaction.regex` are printed as `***`; what `spark.redaction.string.regex`
  matches is cut out of every text.

## Which value counts

Where the same setting is found at several places, the first of these counts:

1. its own key `spark.glowplug.*`: in Spark's conf, in the options of `-javaagent`, in the JVM's system properties, in
   the Hadoop configuration;
2. another spelling of it (named with each key below):
   1. the environment of the process itself,
   2. its environment as conf spells it: in an executor {executor_forms}, in the driver
      {driver_forms},
   3. `cloud.profiler.*` and `dataproc.profiling.*` set in code,
   4. the same with `spark.` before it,
   5. the same with `spark.hadoop.` before it, and the Hadoop configuration,
   6. the same as a system property;
3. what the driver passed on to its executors;
4. the default.

## When nothing starts

* Nothing starts where `spark.glowplug.enabled` is `false`.
* Nothing starts where nobody set `spark.glowplug.enabled`, and all that are set of
  {variables} say `false`.
* With `requested` nothing starts until the job says `true` to one of them, to `cloud.profiler.enable` or to
  `dataproc.profiling.enabled`.
* `spark.glowplug.driver.enabled` and `spark.glowplug.executor.enabled` leave out one role.

## {CONTEXT}

The environment variable of Amazon's CodeGuru plugin: JSON with the fields
{fields}.
It is read in every shape in which consoles, shells and YARN's launch script leave it: escaped once or more, within
quotes, or with its quotes eaten. Where only a fragment is left, the warning names what cut it. It speaks of CodeGuru
alone: folder and Spark UI follow `spark.glowplug.*`.

## Each key
{sections}"
    )
}

fn row(key: &Key) -> String {
    let default = match key.default {
        Default::Value(text) => code(text),
        Default::Unset(words) => words.to_string(),
    };
    format!("| [`{}`](#{}) | {default} | {} |\n", key.full_name(), anchor(key), key.kind.allowed())
}

fn section(key: &Key) -> String {
    let mut text = format!("\n### {}\n\n{}\n\n", key.full_name(), key.doc);
    if let Some(part) = key.missing {
        text.push_str(&format!("* Has no effect yet: {part} is not built into this version.\n"));
    }
    text.push_str(&format!("* Type: {}; allowed is {}.\n", type_of(key.kind), key.kind.allowed()));
    match key.default {
        Default::Value(value) => text.push_str(&format!("* Default: {}.\n", code(value))),
        Default::Unset(words) => text.push_str(&format!("* Default: {words}.\n")),
    }
    let spellings = key.vendor.iter().map(|(source, name)| match source {
        Source::Environment => format!("environment variable `{name}`"),
        Source::ContextField => format!("field `{name}` of `{CONTEXT}`"),
        Source::Property => format!("property `{name}`"),
    });
    let spellings: Vec<_> = spellings.collect();
    if !spellings.is_empty() {
        text.push_str(&format!("* Other spellings: {}.\n", spellings.join(", ")));
    }
    if key.secret {
        text.push_str("* Secret: never printed.\n");
    }
    text.push_str(&format!("* Since {}.\n", key.since));
    text
}

fn type_of(kind: Kind) -> String {
    match kind {
        Kind::Switch => "switch".to_string(),
        Kind::Enabled => "switch with a third answer".to_string(),
        Kind::Duration { unit, .. } => format!("duration, a number alone is {}", unit.name()),
        Kind::Size { .. } => "size, a number alone is bytes".to_string(),
        Kind::Count { .. } => "number".to_string(),
        Kind::Share { .. } => "share".to_string(),
        Kind::Folder => "path or URI".to_string(),
        Kind::LocalPath => "local path".to_string(),
        Kind::Text => "text".to_string(),
        Kind::List => "list".to_string(),
    }
}

/// The anchor that GitHub gives the key's heading.
fn anchor(key: &Key) -> String {
    key.full_name().to_lowercase().replace('.', "")
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(code).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// `UPDATE=1 cargo test settings_page` writes the page anew.
    #[test]
    fn the_settings_page_is_what_the_table_says() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/SETTINGS.md");
        let expected = document();
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(page.parent().unwrap()).unwrap();
            std::fs::write(&page, &expected).unwrap();
        }
        let written = std::fs::read_to_string(&page).unwrap();
        assert!(written == expected, "docs/SETTINGS.md is stale: UPDATE=1 cargo test settings_page");
    }

    #[test]
    fn a_key_is_described_whole() {
        let key = &KEYS[keys::find("alloc.interval").unwrap()];
        assert_eq!(
            row(key),
            "| [`spark.glowplug.alloc.interval`](#sparkglowplugallocinterval) | `2m` | a size from 16k to 1g, or off |\n"
        );
        assert!(section(key).ends_with(
            "* Type: size, a number alone is bytes; allowed is a size from 16k to 1g, or off.\n* Default: `2m`.\n* \
             Since 0.1.0.\n"
        ));
    }
}
