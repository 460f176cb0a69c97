//! The one profile that all processes are merged into, and its bounds.
//!
//! The cells of the open periods share the merged profile's dictionary, so a process needs one id map
//! only. Folding values, labels or processes keeps every total.

use super::warnings::FoldedTotals;
use crate::profile::{
    fold_cells, rebuild, Cells, Dictionary, DictionaryPart, IdMap, LabelKey, LabelSetId, NameId, Profile,
    UnknownId, ValueType, Values,
};
use crate::relay::{Delta, MAX_DEPTH};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Stands for what has no label of its own.
pub(super) const OTHER: &str = "other";

#[derive(Default)]
pub(super) struct Merged {
    pub profile: Profile,
    /// Values of the periods that are not closed, by the same ids.
    pub open: BTreeMap<u64, Cells>,
    /// Depth of each node, as far as it was needed.
    depths: Vec<u16>,
    /// Label sets at the last look at the labels' bounds.
    bounded_at: u32,
}

/// Why a delta was not merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotMerged {
    /// It builds on names that are not known here.
    NamesMissing,
    /// Its tree is deeper than a stack can be.
    TooDeep,
}

/// A stage attempt, as the labels spell it.
pub(super) type StageAttempt = (String, String);

impl Merged {
    /// Adds a delta's values; all of them, or none. The result is their sum.
    pub(super) fn add(
        &mut self,
        map: &mut IdMap,
        delta: &Delta,
        process: &str,
        period: u64,
    ) -> Result<Values, NotMerged> {
        self.check_depth(map, &delta.dictionary)?;
        let dictionary = &mut self.profile.dictionary;
        let label = (dictionary.name(LabelKey::Process.as_str()), dictionary.name(process));
        map.extend(dictionary, &delta.dictionary, &[label]).map_err(|UnknownId| NotMerged::NamesMissing)?;
        let cells = map.cells(&delta.cells).map_err(|UnknownId| NotMerged::NamesMissing)?;
        let mut sum = Values::default();
        if cells.is_empty() {
            return Ok(sum);
        }
        let open = self.open.entry(period).or_default();
        for ((node, labels), values) in cells {
            self.profile.cells.add(node, labels, &values);
            open.add(node, labels, &values);
            sum.add(&values);
        }
        Ok(sum)
    }

    /// What comes through `map` gets another `process` label from now on.
    pub(super) fn rise(&mut self, map: &mut IdMap, process: &str) {
        let dictionary = &mut self.profile.dictionary;
        let label = (dictionary.name(LabelKey::Process.as_str()), dictionary.name(process));
        map.relabel(|set| {
            let mut labels = dictionary.labels(set).to_vec();
            labels.push(label);
            dictionary.label_set(&labels)
        });
    }

    /// All that stands under the process's label goes to `other`.
    pub(super) fn fall<'a>(&mut self, maps: impl Iterator<Item = &'a mut IdMap>, process: &str) {
        let label = (LabelKey::Process.as_str().to_string(), process.to_string());
        self.fold_labels(maps, &FxHashSet::from_iter([label]));
    }

    /// True if so many label sets have come that the labels' bounds should be looked at.
    pub(super) fn labels_grew(&self) -> bool {
        self.profile.dictionary.mark().label_sets > self.bounded_at + 200
    }

    /// Sum of values by label set.
    pub(super) fn by_label_set(&self) -> FxHashMap<LabelSetId, Values> {
        let mut sums = FxHashMap::<LabelSetId, Values>::default();
        for ((_, set), values) in self.profile.cells.iter() {
            sums.entry(set).or_default().add(values);
        }
        sums
    }

    /// CPU and weight by stage attempt.
    pub(super) fn by_stage(&self) -> FxHashMap<StageAttempt, Values> {
        let mut stages = FxHashMap::<StageAttempt, Values>::default();
        for (set, values) in self.by_label_set() {
            if let Some(stage) = stage_of(&self.profile.dictionary, set) {
                stages.entry(stage).or_default().add(&values);
            }
        }
        stages
    }

    /// Sends stage attempts to `other`.
    pub(super) fn fold_stages<'a>(
        &mut self,
        maps: impl Iterator<Item = &'a mut IdMap>,
        stages: &FxHashSet<StageAttempt>,
    ) {
        let other = self.other();
        let keys = [LabelKey::Stage, LabelKey::StageAttempt].map(|key| self.key(key.as_str()));
        self.change_labels(maps, |dictionary, set| {
            if !stages.contains(&stage_of(dictionary, set)?) {
                return None;
            }
            let mut labels = dictionary.labels(set).to_vec();
            labels.retain(|(key, _)| !keys.contains(key));
            labels.push((keys[0], other));
            Some(labels)
        });
    }

    /// Holds the number of values of every other label: the smallest that have no sample in an open
    /// period go to `other`, and the lightest user keys beyond [`MAX_USER_KEYS`] go altogether.
    pub(super) fn bound_labels<'a>(
        &mut self,
        maps: impl Iterator<Item = &'a mut IdMap>,
        folded: &mut FoldedTotals,
    ) {
        self.bounded_at = self.profile.dictionary.mark().label_sets;
        let open: FxHashSet<LabelSetId> =
            self.open.values().flat_map(Cells::iter).map(|((_, set), _)| set).collect();
        let mut values = LabelValues::new();
        let dictionary = &self.profile.dictionary;
        for (set, sum) in self.by_label_set() {
            for (key, value) in dictionary.labels(set) {
                let (key, value) = (dictionary.text(*key), dictionary.text(*value));
                if cap_of(key).is_none() || value == OTHER {
                    continue;
                }
                let row = values.entry(key.to_string()).or_default().entry(value.to_string()).or_default();
                row.0 |= open.contains(&set);
                row.1 = row.1.saturating_add(sum.weight());
                row.2 = row.2.saturating_add(sum.get(ValueType::Cpu));
            }
        }
        let mut going = FxHashSet::default();
        let extra = user_keys_beyond(&values);
        for (key, rows) in values {
            let cap = if extra.contains(&key) { 0 } else { cap_of(&key).unwrap_or(usize::MAX) };
            let mut rows: Vec<_> = rows.into_iter().collect();
            rows.sort_by(|(a, x), (b, y)| (y.0, y.1).cmp(&(x.0, x.1)).then_with(|| a.cmp(b)));
            for (value, (_, _, cpu)) in rows.into_iter().skip(cap) {
                folded.add(words_of(&key), 1, cpu);
                going.insert((key.clone(), value));
            }
        }
        if !going.is_empty() {
            self.fold_labels(maps, &going);
        }
    }

    /// Brings the heap under `limit` bytes. Returns true if ids have changed: every id map must be
    /// cleared.
    pub(super) fn bound_memory(&mut self, limit: usize, folded: &mut FoldedTotals) -> bool {
        // Each round halves the cells; what rounds do not bring down is names, or labels.
        while self.memory() > limit {
            let part = fold_cells(&mut self.profile.dictionary, &mut self.profile.cells);
            folded.add("cells", part.cells, part.cpu);
            for cells in self.open.values_mut() {
                fold_cells(&mut self.profile.dictionary, cells);
            }
            if part.cells == 0 || self.profile.dictionary.memory() > limit / 2 {
                let mut tables: Vec<&mut Cells> = vec![&mut self.profile.cells];
                tables.extend(self.open.values_mut());
                rebuild(&mut self.profile.dictionary, &mut tables);
                self.depths.clear();
                self.bounded_at = 0;
                return true;
            }
        }
        false
    }

    pub(super) fn memory(&self) -> usize {
        self.profile.dictionary.memory()
            + self.profile.cells.memory()
            + self.open.values().map(Cells::memory).sum::<usize>()
            + self.depths.capacity() * size_of::<u16>()
    }

    fn check_depth(&mut self, map: &IdMap, part: &DictionaryPart) -> Result<(), NotMerged> {
        for id in self.depths.len() as u32..self.profile.dictionary.mark().nodes {
            let parent = self.profile.dictionary.node(crate::profile::NodeId(id)).parent;
            let depth = if id == 0 { 0 } else { self.depths[parent.0 as usize] + 1 };
            self.depths.push(depth);
        }
        let mut depths: Vec<u16> = Vec::with_capacity(part.nodes.len());
        for node in &part.nodes {
            let above = match node.parent.0.checked_sub(part.base.nodes) {
                // Only the root is its own parent.
                Some(row) if row as usize >= depths.len() => {
                    depths.push(0);
                    continue;
                }
                Some(row) => depths[row as usize],
                None => {
                    let parent = map.node(node.parent).map_err(|UnknownId| NotMerged::NamesMissing)?;
                    self.depths[parent.0 as usize]
                }
            };
            if above >= MAX_DEPTH {
                return Err(NotMerged::TooDeep);
            }
            depths.push(above + 1);
        }
        Ok(())
    }

    /// Sends (key, value) pairs to `other`.
    fn fold_labels<'a>(
        &mut self,
        maps: impl Iterator<Item = &'a mut IdMap>,
        going: &FxHashSet<(String, String)>,
    ) {
        let other = self.other();
        let find = |text: &String| self.profile.dictionary.find_name(text);
        let going: FxHashSet<(NameId, NameId)> =
            going.iter().filter_map(|(key, value)| Some((find(key)?, find(value)?))).collect();
        self.change_labels(maps, |dictionary, set| {
            let labels = dictionary.labels(set);
            if !labels.iter().any(|label| going.contains(label)) {
                return None;
            }
            let fold =
                |label: &(NameId, NameId)| (label.0, if going.contains(label) { other } else { label.1 });
            Some(labels.iter().map(fold).collect())
        });
    }

    fn change_labels<'a>(
        &mut self,
        maps: impl Iterator<Item = &'a mut IdMap>,
        change: impl Fn(&Dictionary, LabelSetId) -> Option<Vec<(NameId, NameId)>>,
    ) {
        let dictionary = &mut self.profile.dictionary;
        let table: Vec<LabelSetId> = (0..dictionary.mark().label_sets)
            .map(LabelSetId)
            .map(|set| match change(dictionary, set) {
                Some(labels) => dictionary.label_set(&labels),
                None => set,
            })
            .collect();
        let new_set = |set: LabelSetId| table[set.0 as usize];
        self.profile.cells.relabel(new_set);
        for cells in self.open.values_mut() {
            cells.relabel(new_set);
        }
        for map in maps {
            map.relabel(new_set);
        }
    }

    fn other(&mut self) -> NameId {
        self.profile.dictionary.name(OTHER)
    }

    fn key(&mut self, key: &str) -> NameId {
        self.profile.dictionary.name(key)
    }
}

/// Values of `stage` and `stage_attempt`, where a stage has a label of its own.
pub(super) fn stage_of(dictionary: &Dictionary, set: LabelSetId) -> Option<StageAttempt> {
    let stage = dictionary.label(set, LabelKey::Stage.as_str())?;
    if stage == OTHER {
        return None;
    }
    let attempt = dictionary.label(set, LabelKey::StageAttempt.as_str()).unwrap_or("0");
    Some((stage.to_string(), attempt.to_string()))
}

/// Key, value -> whether an open period has it, weight, CPU.
type LabelValues = BTreeMap<String, FxHashMap<String, (bool, u64, u64)>>;

/// The lightest of the keys that the application's own code has set, as many as there are too many.
fn user_keys_beyond(values: &LabelValues) -> FxHashSet<String> {
    let mut keys: Vec<(u64, &String)> = values
        .iter()
        .filter(|(key, _)| key.starts_with(USER))
        .map(|(key, rows)| (rows.values().map(|(_, weight, _)| weight).sum(), key))
        .collect();
    keys.sort();
    let beyond = keys.len().saturating_sub(MAX_USER_KEYS);
    keys.into_iter().take(beyond).map(|(_, key)| key.clone()).collect()
}

/// Stage attempts are bounded with the table of stages, processes by rank, states by their nature.
fn cap_of(key: &str) -> Option<usize> {
    match key {
        "sql_execution" | "job_group" | "job_description" | "thread" | "session" | "user" | "query" => {
            Some(500)
        }
        _ if key.starts_with(USER) => Some(500),
        _ => None,
    }
}

fn words_of(key: &str) -> &'static str {
    match key {
        "sql_execution" => "SQL executions",
        "job_group" => "job groups",
        "job_description" => "job descriptions",
        "thread" => "thread names",
        _ => "label values",
    }
}

const USER: &str = "user_";
const MAX_USER_KEYS: usize = 20;
