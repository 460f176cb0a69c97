//! Keeps secrets out of everything that is printed, written or sent.
//!
//! The rules are Spark's own: what `spark.redaction.regex` finds in a key or in its value hides the
//! value, and what `spark.redaction.string.regex` finds in a text is cut out of it.

use super::{keys, Origin, Triple, Warning};
use regex_lite::Regex;

/// Stands for what is hidden.
pub(crate) const HIDDEN: &str = "***";

/// Spark's default of `spark.redaction.regex`.
const DEFAULT_PATTERN: &str = "(?i)secret|password|token|access[.]?key";

const KEY_PATTERN: &str = "spark.redaction.regex";
const TEXT_PATTERN: &str = "spark.redaction.string.regex";
const SQL_TEXT_PATTERN: &str = "spark.sql.redaction.string.regex";

/// What to hide.
#[derive(Debug, Clone)]
pub struct Redaction {
    keys: Regex,
    texts: Texts,
}

#[derive(Debug, Clone)]
enum Texts {
    /// Cut out what these patterns find.
    Cut(Vec<Regex>),
    /// A pattern was not understood: no text can be trusted.
    HideAll,
}

impl Redaction {
    /// From the values of `spark.redaction.regex` and `spark.redaction.string.regex`; `None` or an
    /// empty text where they are not set. The warnings say which pattern was not understood and what is hidden for it.
    pub fn new(key_pattern: Option<&str>, text_pattern: Option<&str>) -> (Redaction, Vec<Warning>) {
        Redaction::build((KEY_PATTERN, key_pattern), &[(TEXT_PATTERN, text_pattern)])
    }

    /// From what Spark's conf says, the pattern for SQL texts included.
    pub fn from_conf(triples: &[Triple]) -> (Redaction, Vec<Warning>) {
        let value = |key: &str| {
            let found = triples.iter().find(|triple| triple.origin == Origin::Conf && triple.key == key);
            found.map(|triple| triple.value.as_str())
        };
        let texts = [TEXT_PATTERN, SQL_TEXT_PATTERN].map(|key| (key, value(key)));
        Redaction::build((KEY_PATTERN, value(KEY_PATTERN)), &texts)
    }

    /// `value` as it may be shown beside `key`: all of it hidden, or with the secret parts cut out.
    pub fn redact_value(&self, key: &str, value: &str) -> String {
        if self.hides(key, value) {
            return HIDDEN.to_string();
        }
        self.redact_text(value)
    }

    /// `text` without what is secret in it: a description, an SQL text, a label.
    pub fn redact_text(&self, text: &str) -> String {
        let patterns = match &self.texts {
            Texts::Cut(patterns) => patterns,
            Texts::HideAll => return HIDDEN.to_string(),
        };
        let cut = |text: String, pattern: &Regex| match pattern.is_match(&text) {
            true => pattern.replace_all(&text, regex_lite::NoExpand(HIDDEN)).into_owned(),
            false => text,
        };
        patterns.iter().fold(text.to_string(), cut)
    }

    /// Whether the whole value is secret.
    pub(crate) fn hides(&self, key: &str, value: &str) -> bool {
        let name = key.strip_prefix(keys::PREFIX).unwrap_or(key);
        let marked = keys::find(name).is_some_and(|index| keys::KEYS[index].secret);
        marked || self.keys.is_match(key) || self.keys.is_match(value)
    }

    fn build(keys: (&str, Option<&str>), texts: &[(&str, Option<&str>)]) -> (Redaction, Vec<Warning>) {
        let mut warnings = Vec::new();
        let (key, pattern) = keys;
        let pattern = pattern.filter(|pattern| !pattern.is_empty()).unwrap_or(DEFAULT_PATTERN);
        let keys = compile(key, pattern).unwrap_or_else(|what| {
            warnings.push(what.warning("the default pattern hides values instead"));
            Regex::new(DEFAULT_PATTERN).expect("the default pattern compiles")
        });
        let set = texts.iter().filter_map(|(key, pattern)| Some((key, pattern.filter(|p| !p.is_empty())?)));
        let mut patterns = Vec::new();
        let mut hide_all = false;
        for (key, pattern) in set {
            match compile(key, pattern) {
                Ok(pattern) => patterns.push(pattern),
                Err(what) => {
                    warnings
                        .push(what.warning("every description and every printed value is hidden instead"));
                    hide_all = true;
                }
            }
        }
        let texts = if hide_all { Texts::HideAll } else { Texts::Cut(patterns) };
        (Redaction { keys, texts }, warnings)
    }
}

/// A pattern that this core cannot use.
struct BadPattern<'a> {
    key: &'a str,
    cause: regex_lite::Error,
}

impl BadPattern<'_> {
    fn warning(&self, instead: &str) -> Warning {
        let BadPattern { key, cause } = self;
        let message = format!(
            "{key} is a pattern that Glowplug cannot use ({cause}); allowed is Java's syntax without look-around, \
             back references and possessive quantifiers; {instead}"
        );
        Warning { code: "redaction-pattern", message }
    }
}

fn compile<'a>(key: &'a str, pattern: &str) -> Result<Regex, BadPattern<'a>> {
    Regex::new(pattern).map_err(|cause| BadPattern { key, cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conf(key: &str, value: &str) -> Triple {
        Triple { key: key.to_string(), value: value.to_string(), origin: Origin::Conf }
    }

    #[test]
    fn sparks_default_hides_by_key_and_by_value() {
        let (redaction, warnings) = Redaction::new(None, None);
        assert_eq!(warnings, []);
        assert_eq!(redaction.redact_value("spark.my.Secret", "x"), "***");
        assert_eq!(redaction.redact_value("fs.s3a.access.key", "x"), "***");
        assert_eq!(redaction.redact_value("spark.glowplug.dir", "/a?accessKey=b"), "***");
        assert_eq!(redaction.redact_value("spark.glowplug.dir", "/profiles"), "/profiles");
        assert_eq!(redaction.redact_text("my password is x"), "my password is x");
    }

    #[test]
    fn a_pattern_for_keys_replaces_the_default() {
        let (redaction, _) = Redaction::new(Some("(?i)tenant"), None);
        assert_eq!(redaction.redact_value("spark.Tenant", "x"), "***");
        assert_eq!(redaction.redact_value("spark.secret", "x"), "x");
    }

    #[test]
    fn texts_lose_what_the_pattern_finds() {
        let (redaction, warnings) = Redaction::new(None, Some(r"(?i)ssn=\d{3}-\d{2}|\bcard \d+"));
        assert_eq!(warnings, []);
        let text = "select * where SSN=123-45 and card 4711 $0";
        assert_eq!(redaction.redact_text(text), "select * where *** and *** $0");
        assert_eq!(redaction.redact_value("spark.glowplug.dir", "/card 1/x"), "/***/x");
    }

    #[test]
    fn the_pattern_for_sql_texts_counts_too() {
        let triples = [
            conf("spark.redaction.string.regex", "alpha"),
            conf("spark.sql.redaction.string.regex", "beta"),
            Triple { origin: Origin::Hadoop, ..conf("spark.redaction.regex", "gamma") },
        ];
        let (redaction, warnings) = Redaction::from_conf(&triples);
        assert_eq!(warnings, []);
        assert_eq!(redaction.redact_text("alpha beta gamma"), "*** *** gamma");
    }

    #[test]
    fn an_empty_pattern_is_none() {
        let (redaction, warnings) = Redaction::new(Some(""), Some(""));
        assert_eq!(warnings, []);
        assert_eq!(redaction.redact_value("spark.glowplug.dir", "/x"), "/x");
        assert_eq!(redaction.redact_value("spark.secret", "x"), "***");
        assert_eq!(redaction.redact_text("text"), "text");
    }

    #[test]
    fn an_unusable_pattern_for_keys_falls_back_to_the_default() {
        let (redaction, warnings) = Redaction::new(Some("(?<!x)secret"), None);
        assert_eq!(redaction.redact_value("spark.secret", "x"), "***");
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].code, "redaction-pattern");
        assert!(warnings[0]
            .message
            .starts_with("spark.redaction.regex is a pattern that Glowplug cannot use ("));
        assert!(warnings[0].message.ends_with("; the default pattern hides values instead"));
    }

    #[test]
    fn an_unusable_pattern_for_texts_hides_every_text() {
        let (redaction, warnings) = Redaction::new(None, Some("(?=a)b"));
        assert_eq!(redaction.redact_text("harmless"), "***");
        assert_eq!(redaction.redact_value("spark.glowplug.dir", "/x"), "***");
        assert!(warnings[0]
            .message
            .ends_with("; every description and every printed value is hidden instead"));
    }
}
