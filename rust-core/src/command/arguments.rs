//! Options and paths of one command.

use super::Failure;
use crate::settings::near;

/// What a command understands: each option that takes a value, in its spellings, and each that does not.
pub(super) struct Syntax {
    pub(super) with_value: &'static [&'static [&'static str]],
    pub(super) flags: &'static [&'static str],
}

/// What was given.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) paths: Vec<String>,
    pub(super) help: bool,
    values: Vec<(&'static str, String)>,
    flags: Vec<&'static str>,
}

impl Arguments {
    /// Options may stand before, between and after the paths; `--` ends them.
    pub(super) fn parse(args: &[String], syntax: &Syntax) -> Result<Self, Failure> {
        let mut arguments = Arguments::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match arg.as_str() {
                "--" => arguments.paths.extend(rest.by_ref().cloned()),
                "--help" | "-h" => arguments.help = true,
                option if option.starts_with('-') && option.len() > 1 => {
                    arguments.option(option, &mut rest, syntax)?;
                }
                path => arguments.paths.push(path.to_owned()),
            }
        }
        Ok(arguments)
    }

    fn option<'a>(
        &mut self,
        text: &str,
        rest: &mut impl Iterator<Item = &'a String>,
        syntax: &Syntax,
    ) -> Result<(), Failure> {
        let (option, attached) = match text.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (text, None),
        };
        if let Some(flag) = syntax.flags.iter().find(|flag| **flag == option) {
            self.flags.push(flag);
            return Ok(());
        }
        let Some(spellings) = syntax.with_value.iter().find(|spellings| spellings.contains(&option)) else {
            let known: Vec<&str> =
                syntax.with_value.iter().copied().flatten().chain(syntax.flags).copied().collect();
            return Err(Failure::Use(format!("there is no option `{option}`{}", nearest(option, &known))));
        };
        let name = spellings[0];
        let value = attached
            .or_else(|| rest.next().cloned())
            .ok_or_else(|| Failure::Use(format!("`{option}` needs a value")))?;
        if self.values.iter().any(|(known, _)| *known == name) {
            return Err(Failure::Use(format!("`{name}` is given twice")));
        }
        self.values.push((name, value));
        Ok(())
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.flags.contains(&name)
    }
}

/// `; did you mean ...?`, or all that is known where nothing is near.
pub(super) fn nearest(text: &str, known: &[&str]) -> String {
    match near(text, known.iter().copied()) {
        Some(word) => format!("; did you mean `{word}`? Known: {}", known.join(", ")),
        None => format!("; known: {}", known.join(", ")),
    }
}
