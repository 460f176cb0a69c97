//! The page and its data: a columnar JSON, described in docs/OUTPUT.md.

use super::pprof::filtered;
use super::text::html as escaped;
use super::{gzip_writer, ProfileView, GZIP_CHUNK};
use crate::profile::{
    fold_smallest, CellKey, Dictionary, Folded, LabelKey, LabelSetId, NameId, NodeId, ValueType, Values,
};
use base64::prelude::{Engine, BASE64_STANDARD};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::io::BufWriter;

/// `index.html` is no larger than this.
pub const LARGEST_PAGE: usize = 10 << 20;

/// What the page says beside the graph; the order of the fields is their order in the file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PageInfo {
    /// Version of the data's format: [`PAGE_FORMAT`].
    pub format: u32,
    /// Heading, the application's name.
    pub title: String,
    /// The application.
    pub application: PageApplication,
    /// Begin of the time covered, Unix milliseconds.
    pub from: u64,
    /// End of the time covered.
    pub to: u64,
    /// Counts up with each edition.
    pub seq: u64,
    /// No more will come.
    #[serde(rename = "final")]
    pub complete: bool,
    /// The engines, as in the start line.
    pub engine: String,
    /// CPU time between samples, microseconds.
    pub period_us: u64,
    /// Version of Glowplug.
    pub glowplug: String,
    /// The processes.
    pub processes: Vec<PageProcess>,
    /// The stages.
    pub stages: Vec<PageStage>,
    /// What a user should know.
    pub warnings: Vec<PageWarning>,
    /// What was folded to stay below a limit.
    pub folded: Vec<PageFolded>,
}

/// [`PageFolded::what`] of the cells that [`data`] folds.
pub const PAGE_FOLDED_CELLS: &str = "page cells";

/// Version of the page data.
pub const PAGE_FORMAT: u32 = 1;

/// The application that the page shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PageApplication {
    /// Application id.
    pub id: String,
    /// Application name.
    pub name: String,
    /// Attempt, "" if there is one only.
    pub attempt: String,
    /// Spark's version.
    pub spark: String,
    /// Scala's version.
    pub scala: String,
}

/// One process on the page.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PageProcess {
    /// `driver` or the executor id.
    pub id: String,
    /// Host name.
    pub host: String,
    /// How it ended, "" while it runs.
    pub ended: String,
    /// CPU of the profiler in it, seconds.
    pub own_cpu_s: f64,
    /// CPU of the process, seconds.
    pub process_cpu_s: f64,
    /// Samples of all engines.
    pub samples: u64,
    /// Samples without a stack, or not taken.
    pub lost: u64,
}

/// One stage attempt on the page.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PageStage {
    /// Stage id.
    pub stage: u32,
    /// Attempt.
    pub attempt: u32,
    /// Spark's name of the stage.
    pub name: String,
    /// CPU of its task threads by samples, milliseconds.
    pub cpu_ms: u64,
    /// The same by Spark.
    pub spark_cpu_ms: u64,
}

/// A warning on the page.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PageWarning {
    /// Stable short name.
    pub code: String,
    /// What happened.
    pub message: String,
    /// How often.
    pub count: u64,
}

/// What was folded away.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PageFolded {
    /// What kind of thing.
    pub what: String,
    /// How many.
    pub count: u64,
    /// Their CPU, microseconds.
    pub weight: u64,
}

/// The view as gzipped page data, small enough for a page of [`LARGEST_PAGE`] bytes.
pub fn data(view: &ProfileView, info: &PageInfo) -> Vec<u8> {
    let room = LARGEST_PAGE - TEMPLATE.len() - LONGEST_TITLE;
    data_within(view, info, room / 4 * 3)
}

/// As [`data`], with another limit of the gzipped bytes.
pub fn data_within(view: &ProfileView, info: &PageInfo, limit: usize) -> Vec<u8> {
    let bytes = write(view, info);
    if bytes.len() <= limit {
        return bytes;
    }
    let mut smaller = filtered(view);
    let mut folded = Folded::default();
    loop {
        let before = super::pprof::size(&smaller);
        let more = fold_smallest(&mut smaller);
        folded.cells += more.cells;
        folded.cpu = folded.cpu.saturating_add(more.cpu);
        let mut info = info.clone();
        info.folded.push(PageFolded {
            what: PAGE_FOLDED_CELLS.to_owned(),
            count: folded.cells,
            weight: folded.cpu / NANOSECONDS_PER_MICROSECOND,
        });
        let bytes = write(&ProfileView { profile: &smaller, filter: None, ..view.clone() }, &info);
        // One cell for each label set is what no fold can halve.
        if bytes.len() <= limit || super::pprof::size(&smaller) == before {
            return bytes;
        }
    }
}

/// A page that shows `data_gz`; it needs nothing beside it.
pub fn html(data_gz: &[u8], title: &str) -> String {
    fill(TEMPLATE, data_gz, title)
}

/// What page data say beside the graph.
///
/// # Errors
/// The bytes are no gzip, or no page data.
pub fn read_info(data_gz: &[u8]) -> Result<PageInfo, serde_json::Error> {
    serde_json::from_reader(std::io::BufReader::new(flate2::read::GzDecoder::new(data_gz)))
}

const TEMPLATE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
const DATA_PLACE: &str = r#"<script type="text/plain" id="glowplug-data"></script>"#;
const DATA_PLACE_OPEN: usize = DATA_PLACE.len() - "</script>".len();
const TITLE_PLACE: &str = "__GLOWPLUG_TITLE__";
/// Escaped, in bytes, with room to spare: the title is cut.
const LONGEST_TITLE: usize = 64 << 10;
const TITLE_CHARACTERS: usize = 1000;

const NANOSECONDS_PER_MICROSECOND: u64 = 1_000;

fn fill(template: &str, data_gz: &[u8], title: &str) -> String {
    let title = escaped(&title.chars().take(TITLE_CHARACTERS).collect::<String>());
    // Split before anything is put in: a title that looks like a placeholder stays text.
    let (before, after) = template.split_once(DATA_PLACE).unwrap_or((template, ""));
    let mut page = before.replace(TITLE_PLACE, &title);
    page.push_str(&DATA_PLACE[..DATA_PLACE_OPEN]);
    BASE64_STANDARD.encode_string(data_gz, &mut page);
    page.push_str(&DATA_PLACE[DATA_PLACE_OPEN..]);
    page.push_str(&after.replace(TITLE_PLACE, &title));
    page
}

/// The value types of the page; times in microseconds, because nanoseconds pass what a JavaScript
/// number holds exactly after 104 CPU-days.
const PAGE_TYPES: [(ValueType, &str, &str, u64); 7] = [
    (ValueType::Cpu, "cpu", "us", NANOSECONDS_PER_MICROSECOND),
    (ValueType::Wall, "wall", "us", NANOSECONDS_PER_MICROSECOND),
    (ValueType::AllocSpace, "alloc_space", "bytes", 1),
    (ValueType::AllocObjects, "alloc_objects", "count", 1),
    (ValueType::Samples, "samples", "count", 1),
    (ValueType::Contentions, "contentions", "count", 1),
    (ValueType::Delay, "delay", "us", NANOSECONDS_PER_MICROSECOND),
];

#[derive(Serialize)]
struct Data<'a> {
    #[serde(flatten)]
    info: &'a PageInfo,
    types: Vec<Type>,
    names: Vec<&'a str>,
    layers: Vec<u8>,
    nodes: Nodes,
    labels: Labels<'a>,
    cells: Vec<SetCells>,
}

#[derive(Serialize)]
struct Type {
    name: &'static str,
    unit: &'static str,
}

#[derive(Serialize)]
struct Nodes {
    name: Vec<u32>,
    up: Vec<u32>,
}

#[derive(Serialize)]
struct Labels<'a> {
    keys: Vec<&'a str>,
    values: Vec<Vec<&'a str>>,
    sets: Vec<Vec<i32>>,
}

#[derive(Serialize)]
struct SetCells {
    set: usize,
    node: Vec<u32>,
    v: serde_json::Map<String, serde_json::Value>,
}

fn write(view: &ProfileView, info: &PageInfo) -> Vec<u8> {
    let rows = view.rows();
    let mut tree = Tree::new(&view.profile.dictionary);
    let mut sets: Vec<LabelSetId> = rows.iter().map(|((_, set), _)| *set).collect();
    sets.sort_unstable();
    sets.dedup();
    let cells = cells(&rows, &sets, &mut tree);
    let total = |value: ValueType| rows.iter().any(|(_, values)| values.get(value) > 0);
    let types = PAGE_TYPES
        .into_iter()
        .filter(|(value, ..)| !matches!(value, ValueType::Contentions | ValueType::Delay) || total(*value))
        .map(|(_, name, unit, _)| Type { name, unit })
        .collect();
    let data = Data {
        info,
        types,
        layers: tree.names.iter().map(|name| crate::facts::layer(name) as u8).collect(),
        names: tree.names,
        nodes: Nodes { name: tree.name, up: tree.up },
        labels: labels(&view.profile.dictionary, &sets),
        cells,
    };
    let mut chunks = BufWriter::with_capacity(GZIP_CHUNK, gzip_writer());
    serde_json::to_writer(&mut chunks, &data).expect("page data are plain JSON");
    let gzip = chunks.into_inner().expect("a Vec takes all bytes");
    gzip.finish().expect("a Vec takes all bytes")
}

/// The page's tree: lines are summed away, so that one function under one parent is one node.
struct Tree<'a> {
    dictionary: &'a Dictionary,
    names: Vec<&'a str>,
    name_ids: FxHashMap<NameId, u32>,
    name: Vec<u32>,
    up: Vec<u32>,
    node_ids: FxHashMap<(u32, u32), u32>,
    known: FxHashMap<NodeId, u32>,
}

impl<'a> Tree<'a> {
    fn new(dictionary: &'a Dictionary) -> Self {
        Tree {
            dictionary,
            names: vec![""],
            name_ids: FxHashMap::from_iter([(NameId(0), 0)]),
            name: vec![0],
            up: vec![0],
            node_ids: FxHashMap::default(),
            known: FxHashMap::from_iter([(Dictionary::ROOT, 0)]),
        }
    }

    fn node(&mut self, id: NodeId) -> u32 {
        let mut missing = Vec::new();
        let mut at = id;
        let mut parent = loop {
            if let Some(known) = self.known.get(&at) {
                break *known;
            }
            missing.push(at);
            at = self.dictionary.node(at).parent;
        };
        for id in missing.into_iter().rev() {
            let function = self.dictionary.frame_of(self.dictionary.node(id).frame).function;
            let name = self.name(function);
            parent = self.child(parent, name);
            self.known.insert(id, parent);
        }
        parent
    }

    fn child(&mut self, parent: u32, name: u32) -> u32 {
        let next = self.name.len() as u32;
        let id = *self.node_ids.entry((parent, name)).or_insert(next);
        if id == next {
            self.name.push(name);
            self.up.push(next - parent);
        }
        id
    }

    fn name(&mut self, id: NameId) -> u32 {
        let next = self.names.len() as u32;
        let known = *self.name_ids.entry(id).or_insert(next);
        if known == next {
            self.names.push(self.dictionary.text(id));
        }
        known
    }
}

fn cells(rows: &[(CellKey, Values)], sets: &[LabelSetId], tree: &mut Tree) -> Vec<SetCells> {
    let positions: FxHashMap<LabelSetId, usize> =
        sets.iter().enumerate().map(|(at, set)| (*set, at)).collect();
    let mut by_set: Vec<FxHashMap<u32, Values>> = vec![FxHashMap::default(); sets.len()];
    for ((node, set), values) in rows {
        by_set[positions[set]].entry(tree.node(*node)).or_default().add(values);
    }
    by_set.into_iter().enumerate().map(|(set, cells)| set_cells(set, cells)).collect()
}

fn set_cells(set: usize, cells: FxHashMap<u32, Values>) -> SetCells {
    let mut cells: Vec<(u32, Values)> = cells.into_iter().collect();
    cells.sort_unstable_by_key(|(node, _)| *node);
    let mut before = 0;
    let node = cells.iter().map(|(node, _)| node - std::mem::replace(&mut before, *node)).collect();
    let mut v = serde_json::Map::new();
    for (value, name, _, scale) in PAGE_TYPES {
        let column: Vec<u64> = scaled(cells.iter().map(|(_, values)| values.get(value)), scale);
        if column.iter().any(|amount| *amount > 0) {
            v.insert(name.to_owned(), column.into());
        }
    }
    SetCells { set, node, v }
}

/// Each amount in the larger unit; what a division leaves goes to the next one, so that the sum of
/// a set is true to one unit however many cells it has.
fn scaled(amounts: impl Iterator<Item = u64>, scale: u64) -> Vec<u64> {
    let mut rest = 0;
    amounts
        .map(|amount| {
            let due = amount.saturating_add(rest);
            rest = due % scale;
            due / scale
        })
        .collect()
}

fn labels<'a>(dictionary: &'a Dictionary, sets: &[LabelSetId]) -> Labels<'a> {
    let mut keys: Vec<NameId> =
        sets.iter().flat_map(|set| dictionary.labels(*set)).map(|(key, _)| *key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.sort_by_key(|key| {
        let key = dictionary.text(*key);
        let ours = LabelKey::ALL.iter().position(|known| known.as_str() == key);
        (ours.unwrap_or(LabelKey::ALL.len()), key)
    });
    let mut values: Vec<Vec<&str>> = vec![Vec::new(); keys.len()];
    let mut value_ids: FxHashMap<(NameId, NameId), i32> = FxHashMap::default();
    let mut rows = Vec::with_capacity(sets.len());
    for set in sets {
        let mut row = vec![-1; keys.len()];
        for (key, value) in dictionary.labels(*set) {
            let column = keys.iter().position(|known| known == key).expect("keys come from these sets");
            let next = values[column].len() as i32;
            let id = *value_ids.entry((*key, *value)).or_insert(next);
            if id == next {
                values[column].push(dictionary.text(*value));
            }
            row[column] = id;
        }
        rows.push(row);
    }
    Labels { keys: keys.into_iter().map(|key| dictionary.text(key)).collect(), values, sets: rows }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{add, small};
    use super::*;
    use crate::profile::Profile;
    use serde_json::{json, Value};
    use std::io::Read;

    fn view(profile: &Profile) -> ProfileView<'_> {
        ProfileView { profile, filter: None, from_ns: 0, duration_ns: 0, period_ns: 0, comments: vec![] }
    }

    fn parse(data: &[u8]) -> Value {
        let mut text = String::new();
        flate2::read::GzDecoder::new(data).read_to_string(&mut text).expect("gzip");
        serde_json::from_str(&text).expect("JSON")
    }

    #[test]
    fn data_are_columns() {
        let info = PageInfo {
            format: PAGE_FORMAT,
            title: "Acme".into(),
            application: PageApplication { id: "app-1".into(), name: "Acme".into(), ..Default::default() },
            from: 5,
            to: 9,
            seq: 2,
            complete: true,
            engine: "cpu=timers(10ms)".into(),
            period_us: 10_000,
            glowplug: "0.1.0".into(),
            ..Default::default()
        };
        assert_eq!(
            parse(&data(&view(&small()), &info)),
            json!({
                "format": 1, "title": "Acme",
                "application": {"id": "app-1", "name": "Acme", "attempt": "", "spark": "", "scala": ""},
                "from": 5, "to": 9, "seq": 2, "final": true,
                "engine": "cpu=timers(10ms)", "period_us": 10_000, "glowplug": "0.1.0",
                "types": [
                    {"name": "cpu", "unit": "us"}, {"name": "wall", "unit": "us"},
                    {"name": "alloc_space", "unit": "bytes"}, {"name": "alloc_objects", "unit": "count"},
                    {"name": "samples", "unit": "count"}
                ],
                "names": ["", "main", "com.acme.Job.run", "a.B.walk", "[GC]", "java.lang.Object.wait"],
                "layers": [0, 0, 0, 0, 7, 5],
                // main:1 and main:2 are one node, and so are the two lines of run.
                "nodes": {"name": [0, 1, 2, 3, 3, 4, 5], "up": [0, 1, 1, 1, 1, 5, 5]},
                "labels": {
                    "keys": ["process", "stage", "stage_attempt", "thread_state"],
                    "values": [["1", "driver"], ["3"], ["0"], ["IDLE"]],
                    "sets": [[0, 0, 0, -1], [0, -1, -1, -1], [1, -1, -1, -1], [1, -1, -1, 0]]
                },
                "cells": [
                    {"set": 0, "node": [2, 2], "v": {
                        "cpu": [40_000, 20_000], "alloc_space": [4096, 0], "alloc_objects": [2, 0],
                        "samples": [4, 2]
                    }},
                    {"set": 1, "node": [5], "v": {"cpu": [7_000]}},
                    {"set": 2, "node": [1], "v": {"cpu": [5_000], "samples": [1]}},
                    {"set": 3, "node": [6], "v": {"wall": [1_000_000]}}
                ],
                "processes": [], "stages": [], "warnings": [], "folded": []
            })
        );
        assert_eq!(read_info(&data(&view(&small()), &info)).expect("page data"), info);
    }

    #[test]
    fn microseconds_sum_to_the_true_total() {
        assert_eq!(scaled([400, 400, 400, 900, 1_000].into_iter(), 1_000), [0, 0, 1, 1, 1]);
        assert_eq!(scaled([3, 4].into_iter(), 1), [3, 4]);
    }

    #[test]
    fn only_what_has_values_is_in_the_tree() {
        let profile = small();
        let driver = ProfileView { filter: Some("driver"), ..view(&profile) };
        let parsed = parse(&data(&driver, &PageInfo::default()));
        assert_eq!(parsed["names"], json!(["", "main", "java.lang.Object.wait"]));
        assert_eq!(parsed["nodes"], json!({"name": [0, 1, 2], "up": [0, 1, 1]}));
    }

    #[test]
    fn data_over_the_limit_fold_and_say_so() {
        let mut profile = Profile::default();
        for stack in 0..1_000u64 {
            let name = format!("com.acme.C{}.m", stack.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            add(&mut profile, &["main", &name], &[("process", "1")], Values::cpu(1, 1_000_000));
        }
        let whole = data(&view(&profile), &PageInfo::default());
        let smaller = data_within(&view(&profile), &PageInfo::default(), whole.len() * 2 / 3);
        assert!(smaller.len() <= whole.len() * 2 / 3);
        let parsed = parse(&smaller);
        assert_eq!(parsed["folded"], json!([{"what": "page cells", "count": 500, "weight": 500_000}]));
        let column = parsed["cells"][0]["v"]["cpu"].as_array().expect("a column");
        assert_eq!(column.iter().filter_map(Value::as_u64).sum::<u64>(), 1_000_000);
    }

    #[test]
    fn a_limit_that_no_fold_reaches_ends() {
        let bytes = data_within(&view(&small()), &PageInfo::default(), 1);
        let parsed = parse(&bytes);
        assert_eq!(parsed["labels"]["sets"].as_array().map(Vec::len), Some(4));
    }

    #[test]
    fn the_page_holds_data_and_an_escaped_title() {
        let template =
            "<title>__GLOWPLUG_TITLE__</title><script type=\"text/plain\" id=\"glowplug-data\"></script>\
                        <h1>__GLOWPLUG_TITLE__</h1>";
        let title = "</title><script type=\"text/plain\" id=\"glowplug-data\"></script>";
        let shown = "&lt;/title&gt;&lt;script type=&quot;text/plain&quot; id=&quot;glowplug-data&quot;&gt;&lt;/script&gt;";
        assert_eq!(
            fill(template, b"\x1f\x8bdata", title),
            format!(
                "<title>{shown}</title><script type=\"text/plain\" id=\"glowplug-data\">H4tkYXRh</script>\
                 <h1>{shown}</h1>"
            )
        );
    }

    #[test]
    fn the_template_has_both_places_and_room_for_data() {
        assert_eq!(TEMPLATE.matches(DATA_PLACE).count(), 1);
        assert!(TEMPLATE.contains(TITLE_PLACE));
        assert!(TEMPLATE.len() < LARGEST_PAGE / 10);
        assert!(html(&[0; 3_000], "t").contains(&"A".repeat(4_000)));
    }

    #[test]
    fn the_longest_title_leaves_the_page_below_its_limit() {
        let title = "\u{10fffd}'".repeat(2_000);
        assert!(escaped(&title.chars().take(TITLE_CHARACTERS).collect::<String>()).len() * 2 < LONGEST_TITLE);
    }
}
