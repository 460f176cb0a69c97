//! Keeps a profile under its memory cap: the lowest weights fold into `[folded]`.

use super::{Cells, Dictionary, Frame, LabelSetId, NodeId, Profile, ValueType};
use rustc_hash::FxHashMap;

/// What a fold took away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Folded {
    /// Cells that went to `[folded]`.
    pub cells: u64,
    /// Their CPU in nanoseconds.
    pub cpu: u64,
}

/// Rebuilds `profile` with the heaviest cells only, about half of them; the rest is summed under
/// one `[folded]` node per label set, so that every total stays as it was. Ids change: whoever
/// keeps ids of this profile starts anew.
pub fn fold_smallest(profile: &mut Profile) -> Folded {
    let folded = fold_cells(&mut profile.dictionary, &mut profile.cells);
    rebuild(&mut profile.dictionary, &mut [&mut profile.cells]);
    folded
}

/// Sums the lighter half of the cells under one `[folded]` node per label set. No id changes, and
/// no total.
pub fn fold_cells(dictionary: &mut Dictionary, cells: &mut Cells) -> Folded {
    let mut rows = cells.take().sorted();
    rows.sort_by_key(|(_, values)| std::cmp::Reverse(values.weight()));
    let keep = rows.len() / 2;
    let target = folded_node(dictionary);
    let mut folded = Folded::default();
    for (index, ((node, labels), values)) in rows.into_iter().enumerate() {
        if index < keep || node == target {
            cells.add(node, labels, &values);
            continue;
        }
        folded.cells += 1;
        folded.cpu = folded.cpu.saturating_add(values.get(ValueType::Cpu));
        cells.add(target, labels, &values);
    }
    folded
}

/// Drops every row of the dictionary that no cell needs. Ids change, in `tables` too: whoever keeps
/// other ids of this dictionary starts anew.
pub fn rebuild(dictionary: &mut Dictionary, tables: &mut [&mut Cells]) {
    let old = std::mem::take(dictionary);
    let mut rebuilt = Rebuild { from: &old, nodes: FxHashMap::default(), label_sets: FxHashMap::default() };
    for cells in tables {
        for ((node, labels), values) in cells.take().sorted() {
            let labels = rebuilt.label_set(dictionary, labels);
            let node = rebuilt.node(dictionary, node);
            cells.add(node, labels, &values);
        }
    }
}

fn folded_node(dictionary: &mut Dictionary) -> NodeId {
    let function = dictionary.name("[folded]");
    let file = dictionary.name("");
    let frame = dictionary.frame(Frame { function, file, line: 0 });
    dictionary.child(Dictionary::ROOT, frame)
}

struct Rebuild<'a> {
    from: &'a Dictionary,
    nodes: FxHashMap<NodeId, NodeId>,
    label_sets: FxHashMap<LabelSetId, LabelSetId>,
}

impl Rebuild<'_> {
    fn node(&mut self, to: &mut Dictionary, id: NodeId) -> NodeId {
        let mut missing = Vec::new();
        let mut at = id;
        let mut known = loop {
            if at == Dictionary::ROOT {
                break Dictionary::ROOT;
            }
            if let Some(known) = self.nodes.get(&at) {
                break *known;
            }
            missing.push(at);
            at = self.from.node(at).parent;
        };
        for old in missing.into_iter().rev() {
            let frame = self.from.frame_of(self.from.node(old).frame);
            let function = to.name(self.from.text(frame.function));
            let file = to.name(self.from.text(frame.file));
            let frame = to.frame(Frame { function, file, line: frame.line });
            known = to.child(known, frame);
            self.nodes.insert(old, known);
        }
        known
    }

    fn label_set(&mut self, to: &mut Dictionary, id: LabelSetId) -> LabelSetId {
        if let Some(known) = self.label_sets.get(&id) {
            return *known;
        }
        let labels: Vec<_> = self
            .from
            .labels(id)
            .iter()
            .map(|(key, value)| (to.name(self.from.text(*key)), to.name(self.from.text(*value))))
            .collect();
        let set = to.label_set(&labels);
        self.label_sets.insert(id, set);
        set
    }
}
