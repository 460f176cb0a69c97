//! Brings one dictionary's ids into another.

use super::{
    CellKey, Dictionary, DictionaryPart, Frame, FrameId, LabelSetId, Mark, NameId, NodeId, Profile, Values,
};

/// For each id of a foreign dictionary the id that means the same here.
#[derive(Debug, Default, Clone)]
pub struct IdMap {
    strings: Vec<NameId>,
    frames: Vec<FrameId>,
    nodes: Vec<NodeId>,
    label_sets: Vec<LabelSetId>,
}

/// Adds the whole of `from` to `into`; `extra` labels are added to every label set.
pub fn merge(into: &mut Profile, from: &Profile, extra: &[(NameId, NameId)]) {
    let mut map = IdMap::default();
    map.extend(&mut into.dictionary, &from.dictionary.since(Mark::default()), extra)
        .expect("a whole dictionary refers to nothing outside itself");
    for ((node, labels), values) in from.cells.iter() {
        into.cells.add(map.nodes[node.0 as usize], map.label_sets[labels.0 as usize], values);
    }
}

/// A part that refers to ids that it does not bring and that were not brought before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the dictionary part refers to an id that is not known")]
pub struct UnknownId;

impl IdMap {
    /// How much of the foreign dictionary is known.
    pub fn mark(&self) -> Mark {
        Mark {
            strings: self.strings.len() as u32,
            frames: self.frames.len() as u32,
            nodes: self.nodes.len() as u32,
            label_sets: self.label_sets.len() as u32,
        }
    }

    /// Forgets all: the foreign dictionary starts anew.
    pub fn clear(&mut self) {
        *self = IdMap::default();
    }

    /// Takes the rows of `part` into `target`. Rows that are known already are skipped, so a part
    /// may begin earlier than what is known, but not later. `extra` labels are added to every set.
    ///
    /// # Errors
    /// [`UnknownId`] if the part begins after what is known or refers to an id beyond its own rows;
    /// rows before the bad one stay taken, which is harmless: they are only names.
    pub fn extend(
        &mut self,
        target: &mut Dictionary,
        part: &DictionaryPart,
        extra: &[(NameId, NameId)],
    ) -> Result<(), UnknownId> {
        let skip = |known: usize, base: u32| known.checked_sub(base as usize).ok_or(UnknownId);
        for text in part.strings.iter().skip(skip(self.strings.len(), part.base.strings)?) {
            self.strings.push(target.name(text));
        }
        for frame in part.frames.iter().skip(skip(self.frames.len(), part.base.frames)?) {
            let frame = Frame {
                function: self.name(frame.function)?,
                file: self.name(frame.file)?,
                line: frame.line,
            };
            self.frames.push(target.frame(frame));
        }
        for node in part.nodes.iter().skip(skip(self.nodes.len(), part.base.nodes)?) {
            let id = if self.nodes.is_empty() {
                Dictionary::ROOT
            } else {
                target.child(self.node(node.parent)?, self.frame(node.frame)?)
            };
            self.nodes.push(id);
        }
        for set in part.label_sets.iter().skip(skip(self.label_sets.len(), part.base.label_sets)?) {
            let mut labels = Vec::with_capacity(set.len() + extra.len());
            for (key, value) in set {
                labels.push((self.name(*key)?, self.name(*value)?));
            }
            labels.extend_from_slice(extra);
            self.label_sets.push(target.label_set(&labels));
        }
        Ok(())
    }

    /// The node here that means the foreign `id`.
    pub fn node(&self, id: NodeId) -> Result<NodeId, UnknownId> {
        self.nodes.get(id.0 as usize).copied().ok_or(UnknownId)
    }

    /// The label set here that means the foreign `id`.
    pub fn label_set(&self, id: LabelSetId) -> Result<LabelSetId, UnknownId> {
        self.label_sets.get(id.0 as usize).copied().ok_or(UnknownId)
    }

    /// The cells under the ids that they have here; all of them, or none.
    ///
    /// # Errors
    /// [`UnknownId`] if one cell's node or label set was never brought.
    pub fn cells(&self, cells: &[(CellKey, Values)]) -> Result<Vec<(CellKey, Values)>, UnknownId> {
        cells
            .iter()
            .map(|((node, labels), values)| Ok(((self.node(*node)?, self.label_set(*labels)?), *values)))
            .collect()
    }

    /// Sends what comes under a label set to another set of the same dictionary.
    pub fn relabel(&mut self, mut new_set: impl FnMut(LabelSetId) -> LabelSetId) {
        for set in &mut self.label_sets {
            *set = new_set(*set);
        }
    }

    /// Bytes on the heap.
    pub fn memory(&self) -> usize {
        size_of::<u32>()
            * (self.strings.capacity()
                + self.frames.capacity()
                + self.nodes.capacity()
                + self.label_sets.capacity())
    }

    fn name(&self, id: NameId) -> Result<NameId, UnknownId> {
        self.strings.get(id.0 as usize).copied().ok_or(UnknownId)
    }

    fn frame(&self, id: FrameId) -> Result<FrameId, UnknownId> {
        self.frames.get(id.0 as usize).copied().ok_or(UnknownId)
    }
}
