//! From paths to one profile.

use super::Failure;
use crate::encode::page::{read_info, PageInfo, PageProcess, PAGE_FOLDED_CELLS, PAGE_FORMAT};
use crate::encode::pprof::{self, Decoded};
use crate::profile::{LabelKey, Profile, ValueType};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What a command works on.
pub(super) struct Input {
    pub(super) decoded: Decoded,
    /// What the page says beside the graph.
    pub(super) info: PageInfo,
    /// What a user should know of the files.
    pub(super) notes: Vec<String>,
}

/// Reads folders and pprof files and adds them up.
pub(super) fn read(paths: &[String]) -> Result<Input, Failure> {
    if paths.is_empty() {
        return Err(Failure::Use("name a folder of Glowplug, or pprof files".to_owned()));
    }
    let mut files = Vec::new();
    for path in paths {
        files.extend(files_of(Path::new(path))?);
    }
    let mut parts = Vec::new();
    let mut notes = Vec::new();
    for file in &files {
        let part = read_file(file)?;
        if !part.ignored_types.is_empty() {
            let ignored = part.ignored_types.join(", ");
            notes.push(format!("{}: left out {ignored}, which have no view here", file.display()));
        }
        parts.push(part);
    }
    if parts.len() > 1 && parts.iter().all(|part| !has_processes(&part.profile)) {
        parts = files.iter().zip(parts).map(|(file, part)| named_as_process(file, part)).collect();
    }
    let decoded = pprof::merge(parts);
    if decoded.profile.cells.is_empty() {
        return Err(Failure::Input(format!("{}: no sample in it", paths.join(", "))));
    }
    let info = page_beside(&files).unwrap_or_else(|| info_of(&decoded, &files));
    Ok(Input { decoded, info, notes })
}

/// The processes of a profile by name, with their CPU samples.
pub(super) fn processes(profile: &Profile) -> BTreeMap<String, u64> {
    let mut processes = BTreeMap::new();
    for ((_, labels), values) in profile.cells.iter() {
        if let Some(process) = profile.dictionary.label(labels, LabelKey::Process.as_str()) {
            *processes.entry(process.to_owned()).or_default() += values.get(ValueType::Samples);
        }
    }
    processes
}

const WHOLE: &str = "profile.pb.gz";
const DRIVER: &str = "driver.pb.gz";
const PAGE_DATA: &str = "page.json.gz";
/// Where parts lie in a folder without the whole, best first: periods hold every process, `executors` those with
/// most CPU. One of them is read, because they hold the same samples.
const PARTS: [&str; 4] = ["periods", "executors", "tasks", ""];

fn files_of(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !path.is_dir() {
        return Err(Failure::Input(format!("{}: no such file or folder", path.display())));
    }
    if path.join(WHOLE).is_file() {
        return Ok(vec![path.join(WHOLE)]);
    }
    for folder in PARTS {
        let mut files = profiles_in(&path.join(folder));
        if folder == "executors" && path.join(DRIVER).is_file() {
            files.push(path.join(DRIVER));
        }
        if !files.is_empty() {
            return Ok(files);
        }
    }
    Err(Failure::Input(match applications_in(path).as_slice() {
        [] => format!(
            "{}: no profile in this folder (looked for {WHOLE}, {DRIVER}, executors/, periods/, tasks/)",
            path.display()
        ),
        [newest, ..] => format!(
            "{}: holds folders of applications; name one of them, the newest is {}",
            path.display(),
            newest.display()
        ),
    }))
}

fn profiles_in(folder: &Path) -> Vec<PathBuf> {
    let is_profile = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.is_file() && [".pb.gz", ".pb", ".pprof"].iter().any(|ending| name.ends_with(ending))
    };
    let mut files: Vec<PathBuf> = entries(folder).filter(is_profile).collect();
    files.sort();
    files
}

/// Folders below that hold a whole profile, newest first.
fn applications_in(folder: &Path) -> Vec<PathBuf> {
    let written = |path: &PathBuf| path.join(WHOLE).metadata().and_then(|file| file.modified()).ok();
    let mut found: Vec<(SystemTime, PathBuf)> =
        entries(folder).filter_map(|path| written(&path).map(|time| (time, path))).collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn read_file(file: &Path) -> Result<Decoded, Failure> {
    let bytes = fs::read(file).map_err(|error| Failure::Input(format!("{}: {error}", file.display())))?;
    pprof::decode(&bytes).map_err(|error| Failure::Input(format!("{}: {error}", file.display())))
}

fn has_processes(profile: &Profile) -> bool {
    profile.dictionary.find_name(LabelKey::Process.as_str()).is_some()
}

/// Files of another profiler say nothing of processes: each file stands for one.
fn named_as_process(file: &Path, part: Decoded) -> Decoded {
    let mut profile = Profile::default();
    let key = profile.dictionary.name(LabelKey::Process.as_str());
    let value = profile.dictionary.name(&stem(file));
    pprof::add(&mut profile, &part.profile, &[(key, value)]);
    Decoded { profile, ..part }
}

fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ending = [".pb.gz", ".pb", ".pprof"].into_iter().find(|ending| name.ends_with(ending)).unwrap_or("");
    name[..name.len() - ending.len()].to_owned()
}

/// What the page of the same folder said.
fn page_beside(files: &[PathBuf]) -> Option<PageInfo> {
    let [file] = files else { return None };
    if file.file_name()? != WHOLE {
        return None;
    }
    let mut info = read_info(&fs::read(file.with_file_name(PAGE_DATA)).ok()?).ok()?;
    info.folded.retain(|folded| folded.what != PAGE_FOLDED_CELLS);
    Some(info)
}

fn info_of(decoded: &Decoded, files: &[PathBuf]) -> PageInfo {
    let comment = |key: &str| {
        let mut found = decoded.comments.iter().filter_map(|comment| comment.strip_prefix(key));
        found.next().unwrap_or_default().to_owned()
    };
    let named = comment("profile: ");
    let title = match files {
        [file] if named.is_empty() => stem(file),
        files if named.is_empty() => format!("{} profiles", files.len()),
        _ => named,
    };
    let milliseconds = |nanoseconds: u64| nanoseconds / 1_000_000;
    PageInfo {
        format: PAGE_FORMAT,
        title,
        from: milliseconds(decoded.from_ns),
        to: milliseconds(decoded.from_ns.saturating_add(decoded.duration_ns)),
        complete: true,
        engine: comment("engines: "),
        period_us: decoded.period_ns / 1_000,
        glowplug: comment("glowplug: "),
        processes: processes(&decoded.profile)
            .into_iter()
            .map(|(id, samples)| PageProcess { id, samples, ..Default::default() })
            .collect(),
        ..Default::default()
    }
}
