//! Reads one value: durations and sizes as Spark writes them, switches, shares, lists.

use std::time::Duration;
use thiserror::Error;

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// `true` or `false`.
    Switch,
    /// `true`, `false` or `requested`.
    Enabled,
    /// A duration; a bare number is in `unit`.
    Duration { unit: Unit, min: Duration, max: Duration, off: bool },
    /// A size; a bare number is bytes.
    Size { min: u64, max: u64, off: bool },
    /// A whole number.
    Count { min: u64, max: u64 },
    /// A part of one: `1%` or `0.01`.
    Share { min: f64, max: f64 },
    /// A path or URI, or `none`.
    Folder,
    /// An absolute path of the local file system.
    LocalPath,
    /// Any text but an empty one.
    Text,
    /// Texts with commas between; may be empty.
    List,
}

/// A unit of time that Spark knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Seconds,
}

/// A value that was understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Switch(bool),
    Enabled(Enabled),
    /// `None`: off.
    Duration(Option<Duration>),
    /// `None`: off.
    Size(Option<u64>),
    Count(u64),
    Share(f64),
    /// A text, a path, or a folder, of which `None` is `none`.
    Text(Option<String>),
    List(Vec<String>),
}

/// The three answers to "does anything start?".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enabled {
    Yes,
    No,
    Requested,
}

/// Why a value was not understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ValueError {
    #[error("is empty")]
    Empty,
    #[error("is not understood")]
    NotUnderstood,
    #[error("has the unknown unit {0:?}")]
    UnknownUnit(String),
    #[error("has a fraction, which Spark's durations and sizes do not take")]
    Fraction,
    #[error("has no unit")]
    NoUnit,
    #[error("is out of range")]
    OutOfRange,
    #[error("is not an absolute path")]
    NotAbsolute,
    #[error("begins with ~, which only a shell turns into a home")]
    Tilde,
    #[error("names a host in a file: URI, whose path begins with three slashes")]
    FileHost,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Milliseconds => "milliseconds",
            Unit::Seconds => "seconds",
        }
    }
}

impl Kind {
    /// Reads `text`. Blanks round the value count for nothing, nor do quotes that a shell left.
    pub(crate) fn parse(self, text: &str) -> Result<Value, ValueError> {
        let bare = without_quotes(text.trim());
        match self {
            Kind::List => Ok(Value::List(list(bare))),
            _ if bare.is_empty() => Err(ValueError::Empty),
            Kind::Switch => switch(bare).map(Value::Switch),
            Kind::Enabled if bare.eq_ignore_ascii_case("requested") => Ok(Value::Enabled(Enabled::Requested)),
            Kind::Enabled => {
                switch(bare).map(|on| Value::Enabled(if on { Enabled::Yes } else { Enabled::No }))
            }
            Kind::Duration { off: true, .. } if bare.eq_ignore_ascii_case("off") => Ok(Value::Duration(None)),
            Kind::Duration { unit, min, max, .. } => {
                let value = in_range(duration(bare, unit)?, min, max)?;
                Ok(Value::Duration(Some(value)))
            }
            Kind::Size { off: true, .. } if bare.eq_ignore_ascii_case("off") => Ok(Value::Size(None)),
            Kind::Size { min, max, .. } => Ok(Value::Size(Some(in_range(size(bare)?, min, max)?))),
            Kind::Count { min, max } => Ok(Value::Count(in_range(count(bare)?, min, max)?)),
            Kind::Share { min, max } => Ok(Value::Share(in_range(share(bare)?, min, max)?)),
            Kind::Folder if bare.eq_ignore_ascii_case("none") => Ok(Value::Text(None)),
            Kind::Folder if bare == "~" || bare.starts_with("~/") => Err(ValueError::Tilde),
            Kind::Folder if names_a_host(bare) => Err(ValueError::FileHost),
            Kind::LocalPath if !bare.starts_with('/') => Err(ValueError::NotAbsolute),
            Kind::Folder | Kind::LocalPath | Kind::Text => Ok(Value::Text(Some(bare.to_string()))),
        }
    }

    /// What is allowed, in words: `a duration from 1ms to 10s such as 10ms, or off`.
    pub(crate) fn allowed(self) -> String {
        let or_off = |off: bool| if off { ", or off" } else { "" };
        match self {
            Kind::Switch => "true or false".to_string(),
            Kind::Enabled => "true, false or requested".to_string(),
            Kind::Duration { min, max, off, .. } => {
                format!("a duration from {} to {}{}", show_duration(min), show_duration(max), or_off(off))
            }
            Kind::Size { min, max, off } => {
                format!("a size from {} to {}{}", show_size(min), show_size(max), or_off(off))
            }
            Kind::Count { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Share { min, max } => {
                format!("a share from {}% to {}%, written like 1% or 0.01", min * 100.0, max * 100.0)
            }
            Kind::Folder => "a path or URI of a folder, or none".to_string(),
            Kind::LocalPath => "an absolute path of the local file system".to_string(),
            Kind::Text => "a text".to_string(),
            Kind::List => "names with commas between".to_string(),
        }
    }
}

/// The shortest spelling that Spark reads: `10ms`, `5m`.
fn show_duration(value: Duration) -> String {
    let micros = value.as_micros();
    let units =
        [("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000)];
    let fitting = units.iter().find(|(_, unit)| micros > 0 && micros % unit == 0);
    match fitting {
        Some((name, unit)) => format!("{}{name}", micros / unit),
        None if micros == 0 => "0s".to_string(),
        None => format!("{micros}us"),
    }
}

/// The shortest spelling that Spark reads: `2m`, `512k`.
fn show_size(value: u64) -> String {
    let units = [("g", 30), ("m", 20), ("k", 10)];
    match units.iter().find(|(_, shift)| value > 0 && value % (1 << shift) == 0) {
        Some((name, shift)) => format!("{}{name}", value >> shift),
        None => format!("{value}b"),
    }
}

/// Takes off one pair of quotes that stands round the whole text.
pub(crate) fn without_quotes(text: &str) -> &str {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner.trim();
        }
    }
    text
}

/// `file://tmp/x` is the path `/x` on the host `tmp`.
fn names_a_host(folder: &str) -> bool {
    folder.strip_prefix("file://").is_some_and(|rest| !rest.starts_with('/'))
}

fn switch(text: &str) -> Result<bool, ValueError> {
    if text.eq_ignore_ascii_case("true") {
        return Ok(true);
    }
    if text.eq_ignore_ascii_case("false") {
        return Ok(false);
    }
    Err(ValueError::NotUnderstood)
}

fn duration(text: &str, bare_unit: Unit) -> Result<Duration, ValueError> {
    let (number, unit) = number_and_unit(text)?;
    let micros_per_unit: u64 = match unit.as_str() {
        "" => match bare_unit {
            Unit::Milliseconds => 1_000,
            Unit::Seconds => 1_000_000,
        },
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" | "min" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return Err(ValueError::UnknownUnit(unit)),
    };
    number.checked_mul(micros_per_unit).map(Duration::from_micros).ok_or(ValueError::OutOfRange)
}

fn size(text: &str) -> Result<u64, ValueError> {
    let (number, unit) = number_and_unit(text)?;
    let shift = match unit.as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        "p" | "pb" | "pib" => 50,
        _ => return Err(ValueError::UnknownUnit(unit)),
    };
    number.checked_mul(1 << shift).ok_or(ValueError::OutOfRange)
}

fn count(text: &str) -> Result<u64, ValueError> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit()) {
        return Err(ValueError::NotUnderstood);
    }
    text.parse().map_err(|_| ValueError::OutOfRange)
}

fn number_and_unit(text: &str) -> Result<(u64, String), ValueError> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(if text.starts_with('-') { ValueError::OutOfRange } else { ValueError::NotUnderstood });
    }
    if unit.starts_with(['.', ',']) {
        return Err(ValueError::Fraction);
    }
    let unit = unit.trim_start().to_ascii_lowercase();
    if !unit.chars().all(|c| c.is_alphabetic()) {
        return Err(ValueError::NotUnderstood);
    }
    let number = number.parse().map_err(|_| ValueError::OutOfRange)?;
    Ok((number, unit))
}

fn share(text: &str) -> Result<f64, ValueError> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let value: f64 = number.parse().map_err(|_| ValueError::NotUnderstood)?;
    if scale == 1.0 && value > 1.0 {
        return Err(ValueError::NoUnit);
    }
    Ok(value / scale)
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_string).collect()
}

fn in_range<T: PartialOrd>(value: T, min: T, max: T) -> Result<T, ValueError> {
    // NaN compares with nothing, so it is out of every range.
    if value >= min && value <= max {
        Ok(value)
    } else {
        Err(ValueError::OutOfRange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Kind = Kind::Duration {
        unit: Unit::Milliseconds,
        min: Duration::from_millis(1),
        max: Duration::from_secs(7 * 86_400),
        off: true,
    };
    const SIZE: Kind = Kind::Size { min: 1, max: 1 << 50, off: true };

    fn micros(text: &str) -> Result<u128, ValueError> {
        match INTERVAL.parse(text)? {
            Value::Duration(Some(value)) => Ok(value.as_micros()),
            other => panic!("{other:?}"),
        }
    }

    fn bytes(text: &str) -> Result<u64, ValueError> {
        match SIZE.parse(text)? {
            Value::Size(Some(value)) => Ok(value),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn durations_are_read_as_spark_writes_them() {
        assert_eq!(micros("10ms"), Ok(10_000));
        assert_eq!(micros("1500us"), Ok(1_500));
        assert_eq!(micros("5m"), Ok(300_000_000));
        assert_eq!(micros("5min"), Ok(300_000_000));
        assert_eq!(micros("1h"), Ok(3_600_000_000));
        assert_eq!(micros("1d"), Ok(86_400_000_000));
        assert_eq!(micros(" 3S "), Ok(3_000_000));
        assert_eq!(micros("\"20ms\""), Ok(20_000));
    }

    #[test]
    fn a_bare_duration_is_in_the_unit_of_its_key() {
        let seconds = Kind::Duration {
            unit: Unit::Seconds,
            min: Duration::ZERO,
            max: Duration::from_secs(60),
            off: false,
        };
        assert_eq!(micros("10"), Ok(10_000));
        assert_eq!(seconds.parse("10"), Ok(Value::Duration(Some(Duration::from_secs(10)))));
    }

    #[test]
    fn bad_durations_say_what_is_wrong() {
        assert_eq!(micros("10xs"), Err(ValueError::UnknownUnit("xs".to_string())));
        assert_eq!(micros("0.5s"), Err(ValueError::Fraction));
        assert_eq!(micros("-1s"), Err(ValueError::OutOfRange));
        assert_eq!(micros("0"), Err(ValueError::OutOfRange));
        assert_eq!(micros("8d"), Err(ValueError::OutOfRange));
        assert_eq!(micros("99999999999999999999h"), Err(ValueError::OutOfRange));
        assert_eq!(micros("9999999999999999d"), Err(ValueError::OutOfRange));
        assert_eq!(micros("fast"), Err(ValueError::NotUnderstood));
        assert_eq!(micros("10ms 5s"), Err(ValueError::NotUnderstood));
        assert_eq!(micros(""), Err(ValueError::Empty));
        assert_eq!(micros("''"), Err(ValueError::Empty));
    }

    #[test]
    fn sizes_are_binary_in_every_spelling() {
        for text in ["2m", "2mb", "2MiB", "2M", "2097152", "2048k", "2 MB"] {
            assert_eq!(bytes(text), Ok(2_097_152), "{text}");
        }
        assert_eq!(bytes("1t"), Ok(1 << 40));
        assert_eq!(bytes("1g"), Ok(1 << 30));
    }

    #[test]
    fn bad_sizes_say_what_is_wrong() {
        assert_eq!(bytes("2ms"), Err(ValueError::UnknownUnit("ms".to_string())));
        assert_eq!(bytes("1.5m"), Err(ValueError::Fraction));
        assert_eq!(bytes("99999999p"), Err(ValueError::OutOfRange));
        assert_eq!(bytes("-2m"), Err(ValueError::OutOfRange));
    }

    #[test]
    fn off_is_a_value_only_where_the_key_takes_it() {
        let never_off = Kind::Size { min: 1, max: 1 << 40, off: false };
        assert_eq!(INTERVAL.parse("off"), Ok(Value::Duration(None)));
        assert_eq!(SIZE.parse("OFF"), Ok(Value::Size(None)));
        assert_eq!(never_off.parse("off"), Err(ValueError::NotUnderstood));
    }

    #[test]
    fn switches_are_read_quoted_and_in_any_case() {
        for text in ["true", "True", "TRUE ", "\"true\"", "'true'"] {
            assert_eq!(Kind::Switch.parse(text), Ok(Value::Switch(true)), "{text}");
        }
        assert_eq!(Kind::Switch.parse("\"False\""), Ok(Value::Switch(false)));
        for text in ["yes", "1", "tru", "requested"] {
            assert_eq!(Kind::Switch.parse(text), Err(ValueError::NotUnderstood), "{text}");
        }
        assert_eq!(Kind::Enabled.parse("'requested'"), Ok(Value::Enabled(Enabled::Requested)));
        assert_eq!(Kind::Enabled.parse("TRUE"), Ok(Value::Enabled(Enabled::Yes)));
        assert_eq!(Kind::Enabled.parse("false"), Ok(Value::Enabled(Enabled::No)));
        assert_eq!(Kind::Enabled.parse("on request"), Err(ValueError::NotUnderstood));
    }

    #[test]
    fn shares_are_percent_or_fractions() {
        let limit = Kind::Share { min: 0.001, max: 0.5 };
        assert_eq!(limit.parse("1%"), Ok(Value::Share(0.01)));
        assert_eq!(limit.parse("0.02"), Ok(Value::Share(0.02)));
        assert_eq!(limit.parse("2"), Err(ValueError::NoUnit));
        assert_eq!(limit.parse("51%"), Err(ValueError::OutOfRange));
        assert_eq!(limit.parse("NaN"), Err(ValueError::OutOfRange));
        assert_eq!(limit.parse("inf"), Err(ValueError::NoUnit));
        assert_eq!(limit.parse("-1%"), Err(ValueError::OutOfRange));
    }

    #[test]
    fn counts_are_whole_numbers_in_range() {
        let depth = Kind::Count { min: 16, max: 1_000 };
        assert_eq!(depth.parse("1000"), Ok(Value::Count(1_000)));
        for text in ["-1", "15", "1001", "9999999999999999999999999999999999999999"] {
            assert_eq!(depth.parse(text), Err(ValueError::OutOfRange), "{text}");
        }
        for text in ["deep", "1e3", "100.5", "-"] {
            assert_eq!(depth.parse(text), Err(ValueError::NotUnderstood), "{text}");
        }
    }

    #[test]
    fn folders_paths_and_lists() {
        assert_eq!(Kind::Folder.parse("none"), Ok(Value::Text(None)));
        assert_eq!(Kind::Folder.parse(" s3://b/x y "), Ok(Value::Text(Some("s3://b/x y".to_string()))));
        assert_eq!(Kind::Folder.parse("  "), Err(ValueError::Empty));
        assert_eq!(Kind::Folder.parse("~/profiles"), Err(ValueError::Tilde));
        assert_eq!(Kind::Folder.parse("~backup"), Ok(Value::Text(Some("~backup".to_string()))));
        assert_eq!(Kind::Folder.parse("file://tmp/x"), Err(ValueError::FileHost));
        for folder in ["file:///tmp/x", "file:/tmp/x", "'/a b/c'", "hdfs://host/x"] {
            let bare = folder.trim_matches('\'').to_string();
            assert_eq!(Kind::Folder.parse(folder), Ok(Value::Text(Some(bare))));
        }
        assert_eq!(Kind::LocalPath.parse("\"/tmp\""), Ok(Value::Text(Some("/tmp".to_string()))));
        assert_eq!(Kind::LocalPath.parse("tmp"), Err(ValueError::NotAbsolute));
        assert_eq!(Kind::LocalPath.parse("/tmp"), Ok(Value::Text(Some("/tmp".to_string()))));
        let names = vec!["Signal Dispatcher".to_string(), "a".to_string()];
        assert_eq!(Kind::List.parse(" Signal Dispatcher, ,a"), Ok(Value::List(names)));
        assert_eq!(Kind::List.parse(""), Ok(Value::List(Vec::new())));
    }

    #[test]
    fn what_is_allowed_is_said_in_words() {
        assert_eq!(INTERVAL.allowed(), "a duration from 1ms to 7d, or off");
        assert_eq!(Kind::Size { min: 16 << 10, max: 1 << 30, off: false }.allowed(), "a size from 16k to 1g");
        assert_eq!(
            Kind::Share { min: 0.001, max: 0.5 }.allowed(),
            "a share from 0.1% to 50%, written like 1% or 0.01"
        );
        assert_eq!(show_duration(Duration::from_micros(1_500)), "1500us");
        assert_eq!(show_duration(Duration::ZERO), "0s");
        assert_eq!(show_size(1_000), "1000b");
    }
}
