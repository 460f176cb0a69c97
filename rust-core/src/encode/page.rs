//! The page and its data: a columnar JSON, described in docs/OUTPUT.md.

use super::layer::layer;
use super::pprof::filtered;
use super::text::html as escaped;
use super::{gzip_writer, ProfileView};
use crate::profile::{
    fold_smallest, CellKey, Dictionary, Folded, LabelKey, LabelSetId, NameId, NodeId, ValueType, Values,
};
use base64::prelude::{Engine, BASE64_STANDARD};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::io::Write;

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
    /// CPU samples.
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
        let more = fold_smallest(&mut smaller);
        folded.cells += more.cells;
        folded.cpu = folded.cpu.saturating_add(more.cpu);
        let mut info = info.clone();
        info.folded.push(PageFolded {
            what: "page cells".to_owned(),
            count: folded.cells,
            weight: folded.cpu / NANOSECONDS_PER_MICROSECOND,
        });
        let bytes = write(&ProfileView { profile: &smaller, filter: None, ..view.clone() }, &info);
        // One cell is what no fold can halve.
        if bytes.len() <= limit || smaller.cells.len() <= 1 {
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
        layers: tree.names.iter().map(|name| layer(name)).collect(),
        names: tree.names,
        nodes: Nodes { name: tree.name, up: tree.up },
        labels: labels(&view.profile.dictionary, &sets),
        cells,
    };
    let mut gzip = gzip_writer();
    serde_json::to_writer(std::io::BufWriter::new(&mut gzip), &data).expect("page data are plain JSON");
    gzip.flush().and_then(|()| gzip.finish()).expect("a Vec takes all bytes")
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
