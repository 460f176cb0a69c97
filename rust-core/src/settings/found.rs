//! Where each setting was found, and which finding counts.

use super::context;
use super::keys::{self, find_spelling, Default, Key, Source, CONTEXT, KEYS};
use super::places::{place, Name, Place};
use super::values::Value;
use super::wording::{context_not_understood, unknown_field, unknown_key, unknown_switch};
use super::{Origin, Redaction, Role, Triple, Warning};
use std::collections::BTreeSet;
use std::time::Duration;

/// A setting as it was found at one place.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// Index in [`KEYS`].
    pub(crate) key: usize,
    pub(crate) place: Place,
    /// Where a vendor's spelling was found; `None`: the key is spelt as ours.
    pub(crate) source: Option<Source>,
    /// Place of the spelling among the key's.
    pub(crate) spelling: usize,
    pub(crate) text: String,
    pub(crate) origin: Origin,
    pub(crate) origin_key: String,
    /// `None`: the text is not understood.
    pub(crate) value: Option<Value>,
}

/// For each key of the table the finding that counts, or its default.
pub(crate) struct Chosen<'a>(Vec<Choice<'a>>);

struct Choice<'a> {
    found: Option<&'a Found>,
    value: Option<Value>,
}

/// All that `triples` say to a process of `role`, by key, the highest place first.
pub(crate) fn read(
    triples: &[Triple],
    role: Role,
    redaction: &Redaction,
    warnings: &mut Vec<Warning>,
) -> Vec<Found> {
    let mut reader = Reader { role, warnings, found: Vec::new() };
    reader.read(triples);
    reader.read_context(triples, redaction);
    let mut found = reader.found;
    found.sort_by_key(|at| (at.key, at.place, at.spelling));
    found
}

impl<'a> Chosen<'a> {
    /// `found` is sorted as [`read`] does.
    pub(crate) fn of(found: &'a [Found]) -> Chosen<'a> {
        let choices = KEYS.iter().enumerate().map(|(index, key)| {
            let best = found.iter().find(|at| at.key == index && at.value.is_some());
            let value = match (best, key.default) {
                (Some(best), _) => best.value.clone(),
                (None, Default::Value(text)) => key.kind.parse(text).ok(),
                (None, Default::Unset(_)) => None,
            };
            Choice { found: best, value }
        });
        Chosen(choices.collect())
    }

    /// What counts for a name of the table; `None`: its default does.
    pub(crate) fn found(&self, name: &str) -> Option<&'a Found> {
        self.choice(name).found
    }

    /// All keys that somebody set.
    pub(crate) fn all_found(&self) -> impl Iterator<Item = (&'static Key, &'a Found)> + '_ {
        KEYS.iter().zip(&self.0).filter_map(|(key, choice)| Some((key, choice.found?)))
    }

    /// The value of a name of the table.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.choice(name).value.as_ref()
    }

    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        match self.value(name) {
            Some(Value::Duration(value)) => *value,
            _ => None,
        }
    }

    pub(crate) fn size(&self, name: &str) -> Option<u64> {
        match self.value(name) {
            Some(Value::Size(value)) => *value,
            _ => None,
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.value(name) {
            Some(Value::Text(value)) => value.clone(),
            _ => None,
        }
    }

    fn choice(&self, name: &str) -> &Choice<'a> {
        let index = keys::find(name).unwrap_or_else(|| panic!("{name} is no key of the table"));
        &self.0[index]
    }
}

struct Reader<'a> {
    role: Role,
    warnings: &'a mut Vec<Warning>,
    found: Vec<Found>,
}

impl Reader<'_> {
    fn read(&mut self, triples: &[Triple]) {
        let mut unknown = BTreeSet::new();
        for triple in triples {
            let Some((place, name)) = place(triple, self.role) else {
                continue;
            };
            match name {
                Name::Own(name) => match keys::find(name) {
                    Some(key) => self.add(key, 0, None, place, triple),
                    // The driver has warned already, or it is of another version and knows more.
                    None if place == Place::PassedOn => {}
                    None => {
                        if unknown.insert(&triple.key) {
                            self.warnings.push(unknown_key(&triple.key, name));
                        }
                    }
                },
                Name::Vendor(source, name) => match find_spelling(source, name) {
                    Some(spelling) => self.add(spelling.key, spelling.place, Some(source), place, triple),
                    None => {
                        if is_switch(source, name) && unknown.insert(&triple.key) {
                            self.warnings.push(unknown_switch(&triple.key));
                        }
                    }
                },
            }
        }
    }

    /// The highest context that can be read gives CodeGuru's fields.
    fn read_context(&mut self, triples: &[Triple], redaction: &Redaction) {
        let contexts = triples.iter().filter_map(|triple| match place(triple, self.role) {
            Some((place, Name::Vendor(Source::Environment, CONTEXT))) => Some((place, triple)),
            _ => None,
        });
        let mut contexts: Vec<_> = contexts.filter(|(_, triple)| !triple.value.trim().is_empty()).collect();
        contexts.sort_by_key(|(place, _)| *place);
        for (place, triple) in contexts {
            match context::parse(&triple.value) {
                Ok(fields) => return self.add_fields(fields, place, triple),
                Err(cause) => self.warnings.push(context_not_understood(triple, &cause, redaction)),
            }
        }
    }

    fn add_fields(
        &mut self,
        fields: impl IntoIterator<Item = (String, String)>,
        place: Place,
        context: &Triple,
    ) {
        let source = Source::ContextField;
        for (field, value) in fields {
            match find_spelling(source, &field) {
                Some(spelling) => {
                    let key = format!("{}.{field}", context.key);
                    let triple = Triple { key, value, origin: context.origin };
                    self.add(spelling.key, spelling.place, Some(source), place, &triple);
                }
                None => self.warnings.push(unknown_field(&context.key, &field)),
            }
        }
    }

    fn add(&mut self, key: usize, spelling: usize, source: Option<Source>, place: Place, triple: &Triple) {
        // A variable set to nothing is how shells and launch scripts spell "not set".
        if place == Place::Environment && triple.value.trim().is_empty() {
            return;
        }
        self.found.push(Found {
            key,
            place,
            source,
            spelling,
            text: triple.value.clone(),
            origin: triple.origin,
            origin_key: triple.key.clone(),
            value: KEYS[key].kind.parse(&triple.value).ok(),
        });
    }
}

fn is_switch(source: Source, name: &str) -> bool {
    source == Source::Environment && name.starts_with("ENABLE_") && name.ends_with("_PROFILER")
}
