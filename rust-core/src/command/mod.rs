//! The command line: the same for `java -jar glowplug-spark.jar` and the developers' binary.
//!
//! Paths are local: Java fetches what lies on another file system first.

mod arguments;
mod input;
mod report;
mod top;

use arguments::nearest;

/// What a command leaves: the caller prints it and ends with the exit code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// 0 done, 1 the input cannot be used, 2 the command line is wrong.
    pub exit: i32,
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
}

/// Runs a command; `args` are those after the program's name.
pub fn run(args: &[String]) -> Outcome {
    let Some((command, rest)) = args.split_first() else {
        return Outcome { exit: WRONG_USE, stdout: String::new(), stderr: HELP.to_owned() };
    };
    let done = match command.as_str() {
        "report" => report::run(rest),
        "top" => top::run(rest),
        "--help" | "-h" | "help" => Ok(Done::said(HELP.to_owned())),
        "--version" | "version" => Ok(Done::said(format!("glowplug {}\n", env!("CARGO_PKG_VERSION")))),
        unknown => {
            Err(Failure::Use(format!("there is no command `{unknown}`{}", nearest(unknown, &COMMANDS))))
        }
    };
    match done {
        Ok(Done { stdout, notes }) => Outcome { exit: 0, stdout, stderr: lines(&notes) },
        Err(Failure::Use(message)) => failed(WRONG_USE, &format!("{message}\nSee `{PROGRAM} --help`.")),
        Err(Failure::Input(message)) => failed(WRONG_INPUT, &message),
    }
}

const COMMANDS: [&str; 2] = ["report", "top"];
const PROGRAM: &str = "java -jar glowplug-spark.jar";
const WRONG_INPUT: i32 = 1;
const WRONG_USE: i32 = 2;

const HELP: &str = "\
Glowplug shows where a Spark application spends its CPU, its time and its memory.

  java -jar glowplug-spark.jar report <folder or pprof files> -o page.html   the flame graph as one page
  java -jar glowplug-spark.jar top <folder or pprof files>                   the hottest functions as a table

`<command> --help` tells its options, with examples. `--version` tells the version.
";

/// A command that went through.
#[derive(Debug, Default)]
struct Done {
    stdout: String,
    /// Lines for standard error: what a user should know of the input.
    notes: Vec<String>,
}

impl Done {
    fn said(stdout: String) -> Self {
        Done { stdout, notes: Vec::new() }
    }
}

/// Why a command did not go through.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Use(String),
    #[error("{0}")]
    Input(String),
}

fn failed(exit: i32, message: &str) -> Outcome {
    Outcome { exit, stdout: String::new(), stderr: format!("glowplug: {message}\n") }
}

fn lines(notes: &[String]) -> String {
    notes.iter().map(|note| format!("glowplug: {note}\n")).collect()
}

#[cfg(test)]
mod tests;
