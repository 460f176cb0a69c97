//! `report`: one file out of a folder or of pprof files.

use super::arguments::{Arguments, Syntax};
use super::input::{self, Input};
use super::top::value_type;
use super::{Done, Failure};
use crate::encode::{collapsed, page, pprof};
use std::fs;
use std::path::Path;

pub(super) const HELP: &str = "\
java -jar glowplug-spark.jar report <folder or pprof files> -o <file>

Adds profiles up and writes one file; the ending of its name says what:
  .html        the flame graph as a page that opens from disk, with no network
  .pb.gz       one pprof file
  .collapsed   one line for each stack, for flamegraph.pl and others

  -o, --output <file>   where to
  --title <text>        heading of the page; the application's name if left out
  --value <type>        for .collapsed: cpu (if left out), wall, alloc_space, ...

A folder is what Glowplug wrote for one application: profile.pb.gz in it is read; where there is none, periods/, or
executors/ with driver.pb.gz, or tasks/. A file may come from any profiler that writes pprof.

Examples:
  java -jar glowplug-spark.jar report glowplug-profiles/app-20261129224100-0007 -o page.html
  java -jar glowplug-spark.jar report app-1/periods/20261129T22*.pb.gz -o evening.html
  java -jar glowplug-spark.jar report app-1/executors/7.pb.gz -o executor-7.collapsed --value wall
";

pub(super) fn run(args: &[String]) -> Result<Done, Failure> {
    let arguments = Arguments::parse(args, &SYNTAX)?;
    if arguments.help {
        return Ok(Done::said(HELP.to_owned()));
    }
    let Some(output) = arguments.value("--output") else {
        return Err(Failure::Use("say where to: `-o page.html`".to_owned()));
    };
    let format = format_of(output)?;
    if format != Format::Collapsed && arguments.value("--value").is_some() {
        return Err(Failure::Use("`--value` is for .collapsed: the other files hold all values".to_owned()));
    }
    let value = value_type(arguments.value("--value").unwrap_or("cpu"))?;
    let Input { decoded, mut info, mut notes } = input::read(&arguments.paths)?;
    if let Some(title) = arguments.value("--title") {
        info.title = title.to_owned();
    }
    let view = decoded.view();
    let bytes = match format {
        Format::Page => {
            if cfg!(page_bundle_missing) {
                notes.push("this build has no page: the file holds the data but shows nothing".to_owned());
            }
            page::html(&page::data(&view, &info), &info.title).into_bytes()
        }
        Format::Pprof => pprof::encode(&view),
        Format::Collapsed => {
            let mut bytes = Vec::new();
            collapsed::write(&view, value, &mut bytes).map_err(|error| Failure::Input(error.to_string()))?;
            bytes
        }
    };
    write_whole(Path::new(output), &bytes)
        .map_err(|error| Failure::Input(format!("{output}: cannot be written: {error}")))?;
    let processes = input::processes(&decoded.profile).len();
    Ok(Done {
        stdout: format!("{output}: {} kB, processes: {processes}\n", bytes.len().div_ceil(1000)),
        notes,
    })
}

const SYNTAX: Syntax = Syntax { with_value: &[&["--output", "-o"], &["--title"], &["--value"]], flags: &[] };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Page,
    Pprof,
    Collapsed,
}

fn format_of(output: &str) -> Result<Format, Failure> {
    const ENDINGS: [(&str, Format); 3] =
        [(".html", Format::Page), (".pb.gz", Format::Pprof), (".collapsed", Format::Collapsed)];
    let found = ENDINGS.into_iter().find(|(ending, _)| output.ends_with(ending));
    found.map(|(_, format)| format).ok_or_else(|| {
        Failure::Use(format!(
            "`{output}`: the name must end in .html, .pb.gz or .collapsed, which says what is written"
        ))
    })
}

/// A file is whole or absent.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}
