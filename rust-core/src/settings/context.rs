//! Reads `PROFILING_CONTEXT`, CodeGuru's JSON, in whatever shape consoles and shells leave it.
//!
//! The value passes through up to four layers of quoting on its way (a user's shell, a service's
//! console, yarn-env.sh, YARN's launch script), and each of them can add a level of escapes or eat
//! the quotes. So: JSON first; then a pair of outer quotes off, or one level of backslashes off, and
//! again; at last the bare form `{key:value,key:value}` that YARN's launch script leaves of JSON.

use super::values::without_quotes;
use serde_json::Value;
use std::collections::BTreeMap;
use thiserror::Error;

/// More than this is no context, and escapes are taken off by copying.
const LONGEST: usize = 64 * 1024;

/// Levels of quotes and escapes that are taken off. Three were seen: shell, console, launch script.
const LEVELS: usize = 4;

/// Why a context was not understood; says what made it so, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ContextError {
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    #[error(
        "only a fragment without braces is left of the JSON: bash expands {{a,b}} where the value stands unquoted \
         in a shell file; put single quotes round it"
    )]
    NoBraces,
    #[error(
        "its end is missing: the value was cut at a blank or a comma; write the JSON without blanks and quote all \
         of it"
    )]
    NoEnd,
    #[error("its beginning is missing: the value was cut at a blank or a comma; quote all of it")]
    NoBeginning,
    #[error("it is no JSON object: {{\"name\":\"value\",…}} is")]
    NotAnObject,
    #[error(
        "{0:?} in it is no field with a value: fields look like \"name\":\"value\", with commas between"
    )]
    NoField(String),
}

/// The fields with their values as text, by name. Nulls are left out.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, String>, ContextError> {
    if text.len() > LONGEST {
        return Err(ContextError::TooLong);
    }
    let mut text = straight_quotes(text.trim());
    for _ in 0..LEVELS {
        match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => return Ok(fields(object)),
            Ok(Value::String(inner)) => text = inner.trim().to_string(),
            Ok(_) => return Err(ContextError::NotAnObject),
            Err(_) => match without_a_level(&text) {
                Some(inner) => text = inner,
                None => break,
            },
        }
    }
    bare(&text)
}

fn fields(object: serde_json::Map<String, Value>) -> BTreeMap<String, String> {
    let text = |value: Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    object.into_iter().filter_map(|(name, value)| Some((name, text(value)?))).collect()
}

/// Takes off a pair of outer quotes, or else one level of backslashes.
fn without_a_level(text: &str) -> Option<String> {
    let inner = without_quotes(text);
    if inner.len() < text.len() {
        return Some(inner.to_string());
    }
    if !text.contains('\\') {
        return None;
    }
    let mut inner = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        inner.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    Some(inner)
}

/// `{key:value,key:value}`; quotes that are left over do not count, `=` counts as `:`.
fn bare(text: &str) -> Result<BTreeMap<String, String>, ContextError> {
    let inner = match (text.strip_prefix('{'), text.strip_suffix('}')) {
        (Some(rest), Some(_)) => rest.strip_suffix('}').unwrap_or(""),
        (Some(_), None) => return Err(ContextError::NoEnd),
        (None, Some(_)) => return Err(ContextError::NoBeginning),
        (None, None) if text.starts_with('[') || !text.contains([':', '=']) => {
            return Err(ContextError::NotAnObject);
        }
        (None, None) => return Err(ContextError::NoBraces),
    };
    let mut fields = BTreeMap::new();
    for part in inner.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once([':', '=']).ok_or_else(|| ContextError::NoField(clip(part)))?;
        let name = unquoted(name);
        if name.is_empty() {
            return Err(ContextError::NoField(clip(part)));
        }
        let value = unquoted(value);
        if value != "null" {
            fields.insert(name.to_string(), value.to_string());
        }
    }
    Ok(fields)
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '"' || c == '\'')
}

fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Documents and chat programs turn quotes into typographic ones, and people paste from there.
fn straight_quotes(text: &str) -> String {
    let straight = |c: char| match c {
        '\u{201c}' | '\u{201d}' | '\u{201e}' => '"',
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{a0}' => ' ',
        other => other,
    };
    text.chars().map(straight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).into_iter().collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    /// What every form below says.
    fn group_and_driver() -> Vec<(String, String)> {
        pairs(&[("driverEnabled", "true"), ("profilingGroupName", "G-1")])
    }

    #[test]
    fn json_as_the_plugin_documents_it() {
        assert_eq!(read(r#"{"profilingGroupName":"G-1","driverEnabled":"true"}"#), group_and_driver());
    }

    #[test]
    fn json_with_real_booleans_blanks_and_lines() {
        assert_eq!(
            read("\n{ \"profilingGroupName\" : \"G-1\",\n  \"driverEnabled\" : true }\n"),
            group_and_driver()
        );
    }

    #[test]
    fn backslashes_of_a_conf_value_on_kubernetes_and_standalone() {
        assert_eq!(
            read(r#"{\"profilingGroupName\":\"G-1\",\"driverEnabled\":\"true\"}"#),
            group_and_driver()
        );
    }

    #[test]
    fn escaped_comma_of_the_emr_form_after_the_launch_script() {
        assert_eq!(read(r#"{"profilingGroupName":"G-1"\,"driverEnabled":"true"}"#), group_and_driver());
    }

    #[test]
    fn emr_json_string_pasted_with_three_backslashes() {
        let text = r#"{\\\"profilingGroupName\\\":\\\"G-1\\\"\\,\\\"driverEnabled\\\":\\\"true\\\"}"#;
        assert_eq!(read(text), group_and_driver());
    }

    #[test]
    fn quotes_eaten_by_yarns_launch_script() {
        assert_eq!(read("{profilingGroupName:G-1,driverEnabled:true}"), group_and_driver());
    }

    #[test]
    fn quotes_eaten_within_single_quotes() {
        assert_eq!(read("'{profilingGroupName:G-1,driverEnabled:true}'"), group_and_driver());
    }

    #[test]
    fn single_quotes_that_no_shell_took_off() {
        assert_eq!(read(r#"'{"profilingGroupName":"G-1","driverEnabled":"true"}'"#), group_and_driver());
        assert_eq!(
            read(r#"'{\"profilingGroupName\":\"G-1\",\"driverEnabled\":\"true\"}'"#),
            group_and_driver()
        );
    }

    #[test]
    fn double_quotes_that_no_shell_took_off() {
        assert_eq!(read(r#""{"profilingGroupName":"G-1","driverEnabled":"true"}""#), group_and_driver());
        assert_eq!(read(r#""{profilingGroupName:G-1,driverEnabled:true}""#), group_and_driver());
    }

    #[test]
    fn a_json_string_with_the_json_in_it() {
        assert_eq!(
            read(r#""{\"profilingGroupName\":\"G-1\",\"driverEnabled\":\"true\"}""#),
            group_and_driver()
        );
    }

    #[test]
    fn a_json_string_in_a_json_string() {
        let text = r#""\"{\\\"profilingGroupName\\\":\\\"G-1\\\",\\\"driverEnabled\\\":true}\"""#;
        assert_eq!(read(text), group_and_driver());
    }

    #[test]
    fn single_quotes_in_place_of_double_ones() {
        assert_eq!(read("{'profilingGroupName':'G-1','driverEnabled':'true'}"), group_and_driver());
    }

    #[test]
    fn doubled_quotes_of_a_windows_console() {
        assert_eq!(
            read(r#"{""profilingGroupName"":""G-1"",""driverEnabled"":""true""}"#),
            group_and_driver()
        );
    }

    #[test]
    fn typographic_quotes_of_a_document() {
        assert_eq!(read("{“profilingGroupName”:“G-1”,\u{a0}“driverEnabled”:“true”}"), group_and_driver());
    }

    #[test]
    fn a_java_map_printed() {
        assert_eq!(read("{profilingGroupName=G-1, driverEnabled=true}"), group_and_driver());
    }

    #[test]
    fn half_of_the_quotes_eaten_and_a_comma_too_much() {
        assert_eq!(read(r#"{profilingGroupName:"G-1",driverEnabled:true,}"#), group_and_driver());
    }

    #[test]
    fn all_five_fields_and_an_unknown_one() {
        let text = r#"{"profilingGroupName":"G","driverEnabled":false,"executorEnabled":"true","heapSummaryEnabled":null,"probability":0.05,"region":"x"}"#;
        let expected = [
            ("driverEnabled", "false"),
            ("executorEnabled", "true"),
            ("probability", "0.05"),
            ("profilingGroupName", "G"),
            ("region", "x"),
        ];
        assert_eq!(read(text), pairs(&expected));
    }

    #[test]
    fn an_empty_object_has_no_fields() {
        assert_eq!(read("{}"), []);
        assert_eq!(read(" { } "), []);
    }

    #[test]
    fn a_fragment_of_bashs_brace_expansion_names_the_cause() {
        assert_eq!(parse(r#""driverEnabled":"true""#), Err(ContextError::NoBraces));
        assert_eq!(parse("driverEnabled:true"), Err(ContextError::NoBraces));
        assert_eq!(parse("driverEnabled=true"), Err(ContextError::NoBraces));
        assert_eq!(
            ContextError::NoBraces.to_string(),
            "only a fragment without braces is left of the JSON: bash expands {a,b} where the value stands unquoted \
             in a shell file; put single quotes round it"
        );
    }

    #[test]
    fn a_value_cut_at_a_blank_names_the_cause() {
        assert_eq!(parse(r#"{"profilingGroupName":"G-1","#), Err(ContextError::NoEnd));
        assert_eq!(parse(r#"{\"profilingGroupName\":\"G-1\","#), Err(ContextError::NoEnd));
        assert_eq!(parse("{"), Err(ContextError::NoEnd));
        assert_eq!(parse(r#""driverEnabled":"true"}"#), Err(ContextError::NoBeginning));
        assert_eq!(parse("}"), Err(ContextError::NoBeginning));
    }

    #[test]
    fn other_json_and_broken_fields_are_refused() {
        for text in ["[]", "true", "1", "[1,2", r#"[{"a":"b""#, "G-1"] {
            assert_eq!(parse(text), Err(ContextError::NotAnObject), "{text}");
        }
        assert_eq!(ContextError::NotAnObject.to_string(), r#"it is no JSON object: {"name":"value",…} is"#);
        assert_eq!(
            parse("{profilingGroupName}"),
            Err(ContextError::NoField("profilingGroupName".to_string()))
        );
        assert_eq!(parse("{:G}"), Err(ContextError::NoField(":G".to_string())));
        assert_eq!(parse(&"{".repeat(70_000)), Err(ContextError::TooLong));
    }

    #[test]
    fn hostile_texts_end_in_an_error() {
        assert_eq!(parse(&"[".repeat(60_000)), Err(ContextError::NotAnObject));
        assert_eq!(parse(&"\\".repeat(60_000)), Err(ContextError::NotAnObject));
        assert_eq!(parse("\u{0}"), Err(ContextError::NotAnObject));
    }
}
