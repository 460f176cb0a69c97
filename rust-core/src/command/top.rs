//! `top`: the hottest functions as a table.

use super::arguments::{nearest, Arguments, Syntax};
use super::input::{self, Input};
use super::{Done, Failure};
use crate::encode::text::visible;
use crate::profile::{
    Dictionary, LabelKey, LabelSetId, NameId, NodeId, Profile, ThreadState, ValueType, VALUE_TYPES,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt::Write;

pub(super) const HELP: &str = "\
java -jar glowplug-spark.jar top <folder or pprof files> [options]

The functions with most of a value. `self`: in the function itself; `total`: in it and in all that it calls, where a function
that calls itself counts once. The first line says what 100 % is.

  -n <number>       rows, 20 if left out
  --sort <column>   self (if left out) or total: total finds who asks for work that libraries do
  --value <type>    cpu (if left out), wall, alloc_space, alloc_objects, samples, contentions, delay
  --stage <id>      only tasks of this stage
  --process <id>    only `driver`, or an executor id
  --methods         only Java's: the JVM's own work ([JIT], [GC], ...) is summed up in one line
  --idle            wall: count threads that wait for work, too

Examples:
  java -jar glowplug-spark.jar top glowplug-profiles/app-20261129224100-0007
  java -jar glowplug-spark.jar top app-1 --stage 3 --value alloc_space -n 5
  java -jar glowplug-spark.jar top app-1 --value alloc_space --sort total
  java -jar glowplug-spark.jar top app-1/periods/20261129T224100Z.pb.gz --process driver --value wall
";

pub(super) fn run(args: &[String]) -> Result<Done, Failure> {
    let arguments = Arguments::parse(args, &SYNTAX)?;
    if arguments.help {
        return Ok(Done::said(HELP.to_owned()));
    }
    let rows = match arguments.value("-n") {
        None => DEFAULT_ROWS,
        Some(text) => text
            .parse()
            .ok()
            .filter(|rows| *rows > 0)
            .ok_or_else(|| Failure::Use(format!("`-n {text}`: a whole number, 1 or more")))?,
    };
    let value = value_type(arguments.value("--value").unwrap_or("cpu"))?;
    let by_total = match arguments.value("--sort").unwrap_or("self") {
        "self" => false,
        "total" => true,
        other => return Err(Failure::Use(format!("`--sort {other}`: self or total"))),
    };
    let filter = Filter {
        stage: arguments.value("--stage"),
        process: arguments.value("--process"),
        idle: arguments.flag("--idle") || value != ValueType::Wall,
    };
    let Input { decoded, notes, .. } = input::read(&arguments.paths)?;
    filter.check(&decoded.profile)?;
    let mut table = Table::new(&decoded.profile, value, &filter, by_total);
    if table.chosen == 0 {
        return Err(Failure::Input(nothing(&decoded.profile, value, &filter)));
    }
    if arguments.flag("--methods") {
        table.keep_methods(&decoded.profile.dictionary);
    }
    Ok(Done { stdout: table.text(&decoded.profile, &filter, rows), notes })
}

/// One of our value types by its name in pprof.
pub(super) fn value_type(name: &str) -> Result<ValueType, Failure> {
    let found = VALUE_TYPES.into_iter().find(|(_, known, _)| *known == name);
    found.map(|(value, ..)| value).ok_or_else(|| {
        let known = VALUE_TYPES.map(|(_, known, _)| known);
        Failure::Use(format!("there is no value type `{name}`{}", nearest(name, &known)))
    })
}

const SYNTAX: Syntax = Syntax {
    with_value: &[&["-n"], &["--sort"], &["--value"], &["--stage"], &["--process"]],
    flags: &["--methods", "--idle"],
};

const DEFAULT_ROWS: usize = 20;

struct Filter<'a> {
    stage: Option<&'a str>,
    process: Option<&'a str>,
    idle: bool,
}

impl Filter<'_> {
    /// A stage or process that is nowhere in the profile is a slip of the user's.
    fn check(&self, profile: &Profile) -> Result<(), Failure> {
        for (key, wanted) in [(LabelKey::Stage, self.stage), (LabelKey::Process, self.process)] {
            let Some(wanted) = wanted else { continue };
            let known = values_of(profile, key);
            if !known.contains(wanted) {
                let key = key.as_str();
                return Err(Failure::Input(match known.len() {
                    0 => format!("`--{key} {wanted}`: no sample in this profile has a {key}"),
                    1 => format!("`--{key} {wanted}`: no such {key}; there is only {}", some_of(known)),
                    _ => format!("`--{key} {wanted}`: no such {key}; there are {}", some_of(known)),
                }));
            }
        }
        Ok(())
    }

    fn takes(&self, dictionary: &Dictionary, labels: LabelSetId) -> bool {
        let has = |key: LabelKey, wanted: Option<&str>| {
            wanted.is_none() || dictionary.label(labels, key.as_str()) == wanted
        };
        let idle = ThreadState::Idle.as_str();
        has(LabelKey::Stage, self.stage)
            && has(LabelKey::Process, self.process)
            && (self.idle || dictionary.label(labels, LabelKey::ThreadState.as_str()) != Some(idle))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if let Some(stage) = self.stage {
            let _ = write!(text, " of stage {stage}");
        }
        if let Some(process) = self.process {
            let _ = write!(text, " in process {}", visible(process));
        }
        if !self.idle {
            text.push_str(" (without threads that wait for work)");
        }
        text
    }
}

fn values_of(profile: &Profile, key: LabelKey) -> BTreeSet<&str> {
    let sets: BTreeSet<LabelSetId> = profile.cells.iter().map(|((_, labels), _)| labels).collect();
    sets.into_iter().filter_map(|labels| profile.dictionary.label(labels, key.as_str())).collect()
}

fn some_of(known: BTreeSet<&str>) -> String {
    const SHOWN: usize = 20;
    let more = known.len().saturating_sub(SHOWN);
    let mut sorted: Vec<&str> = known.into_iter().collect();
    sorted.sort_by_key(|text| (text.parse::<u64>().unwrap_or(u64::MAX), *text));
    let shown: Vec<_> = sorted.into_iter().take(SHOWN).map(visible).collect();
    let listed = shown.join(", ");
    if more > 0 {
        format!("{listed} and {more} more")
    } else {
        listed
    }
}

fn nothing(profile: &Profile, value: ValueType, filter: &Filter) -> String {
    let (_, name, _) = VALUE_TYPES[value as usize];
    let others: Vec<&str> = VALUE_TYPES
        .into_iter()
        .filter(|(other, ..)| profile.total(*other) > 0)
        .map(|(_, other, _)| other)
        .collect();
    format!("no {name}{} was measured; this profile has {}", filter.text(), others.join(", "))
}

#[derive(Debug, Clone, Copy, Default)]
struct Row {
    own: u64,
    total: u64,
}

struct Table {
    value: ValueType,
    /// Of the filter.
    chosen: u64,
    /// Of the whole profile.
    all: u64,
    rows: Vec<(NameId, Row)>,
    /// Rows that were taken out because they are no methods.
    others: Vec<(NameId, Row)>,
}

impl Table {
    fn new(profile: &Profile, value: ValueType, filter: &Filter, by_total: bool) -> Self {
        let dictionary = &profile.dictionary;
        let nodes = dictionary.mark().nodes as usize;
        let mut own = vec![0u64; nodes];
        let mut taken: FxHashMap<LabelSetId, bool> = FxHashMap::default();
        for ((node, labels), values) in profile.cells.iter() {
            if *taken.entry(labels).or_insert_with(|| filter.takes(dictionary, labels)) {
                let sum = &mut own[node.0 as usize];
                *sum = sum.saturating_add(values.get(value));
            }
        }
        // A parent's id is smaller than its children's: one pass from the end adds up all subtrees.
        let mut total = own.clone();
        for node in (1..nodes).rev() {
            let parent = dictionary.node(NodeId(node as u32)).parent.0 as usize;
            total[parent] = total[parent].saturating_add(total[node]);
        }
        let mut rows: FxHashMap<NameId, Row> = FxHashMap::default();
        for node in (1..nodes).filter(|node| total[*node] > 0) {
            let id = NodeId(node as u32);
            let function = function(dictionary, id);
            let row = rows.entry(function).or_default();
            row.own = row.own.saturating_add(own[node]);
            if !calls_itself(dictionary, id, function) {
                row.total = row.total.saturating_add(total[node]);
            }
        }
        let mut rows: Vec<(NameId, Row)> = rows.into_iter().collect();
        rows.sort_by(|(left, a), (right, b)| {
            let key = |row: &Row| if by_total { (row.total, row.own) } else { (row.own, row.total) };
            key(b).cmp(&key(a)).then_with(|| dictionary.text(*left).cmp(dictionary.text(*right)))
        });
        Table { value, chosen: total[0], all: profile.total(value), rows, others: Vec::new() }
    }

    fn keep_methods(&mut self, dictionary: &Dictionary) {
        let is_method = |(function, _): &(NameId, Row)| !dictionary.text(*function).starts_with('[');
        (self.rows, self.others) = std::mem::take(&mut self.rows).into_iter().partition(is_method);
    }

    fn text(&self, profile: &Profile, filter: &Filter, rows: usize) -> String {
        let (_, name, _) = VALUE_TYPES[self.value as usize];
        let said = amount(self.value, self.chosen);
        let mut text = format!("{name}{}: {said} is 100 %", filter.text());
        if self.chosen < self.all {
            let share = share(self.chosen, self.all);
            let _ = write!(text, " ({share} of the profile's {})", amount(self.value, self.all));
        }
        let _ = writeln!(text, "\n{:>12} {:>7} {:>12} {:>7}  function", "self", "", "total", "");
        for (function, row) in self.rows.iter().take(rows) {
            let _ = writeln!(
                text,
                "{:>12} {:>7} {:>12} {:>7}  {}",
                amount(self.value, row.own),
                share(row.own, self.chosen),
                amount(self.value, row.total),
                share(row.total, self.chosen),
                visible(profile.dictionary.text(*function))
            );
        }
        if self.rows.len() > rows {
            let more = self.rows.len() - rows;
            let _ = writeln!(text, "{}  in {more} more", self.sum(&self.rows[rows..]));
        }
        if !self.others.is_empty() {
            let names = self.others.iter().map(|(function, _)| visible(profile.dictionary.text(*function)));
            let names = names.collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "{}  in what is no method: {names}", self.sum(&self.others));
        }
        text
    }

    /// Only self adds up: a total holds the totals of what it calls.
    fn sum(&self, rows: &[(NameId, Row)]) -> String {
        let own: u64 = rows.iter().fold(0, |sum, (_, row)| sum.saturating_add(row.own));
        format!("{:>12} {:>7}", amount(self.value, own), share(own, self.chosen))
    }
}

fn function(dictionary: &Dictionary, node: NodeId) -> NameId {
    dictionary.frame_of(dictionary.node(node).frame).function
}

/// True if the function is on the stack above already.
fn calls_itself(dictionary: &Dictionary, node: NodeId, name: NameId) -> bool {
    let mut at = dictionary.node(node).parent;
    while at != Dictionary::ROOT {
        if function(dictionary, at) == name {
            return true;
        }
        at = dictionary.node(at).parent;
    }
    false
}

fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole as f64)
}

fn amount(value: ValueType, amount: u64) -> String {
    match VALUE_TYPES[value as usize].2 {
        "nanoseconds" => format!("{:.2} s", amount as f64 / 1e9),
        "bytes" => bytes(amount),
        _ => amount.to_string(),
    }
}

fn bytes(amount: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.into_iter().find(|(_, size)| amount >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", amount as f64 / size as f64),
        None => format!("{amount} B"),
    }
}
