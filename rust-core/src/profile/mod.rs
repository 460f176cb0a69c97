//! The model: names, frames, a call tree, label sets, and values by (node, label set).
//!
//! Everything here is append-only and addressed by dense `u32` ids, so that a delta is "what was
//! appended since the mark" plus the cells that changed, and merging is a walk over id tables.
//! This room knows nothing of the JVM or of any output format.

mod cells;
mod dictionary;
mod fold;
mod labels;
mod merge;
pub mod names;
mod status;

pub use cells::{CellKey, Cells, ValueType, Values, VALUE_TYPES};
pub use dictionary::{Dictionary, DictionaryPart, Frame, FrameId, LabelSetId, Mark, NameId, Node, NodeId};
pub use fold::{fold_cells, fold_smallest, rebuild, Folded};
pub use labels::{LabelKey, TaskLabels, ThreadState, MAX_LABEL};
pub use merge::{merge, IdMap, UnknownId};
pub use status::{Engine, Lost, LostCause, ProcessIdentity, ProcessStatus, TaskTotals, Warning};

/// A call tree with the values of its cells.
#[derive(Debug, Default, Clone)]
pub struct Profile {
    /// Names, frames, nodes and label sets.
    pub dictionary: Dictionary,
    /// Values by node and label set.
    pub cells: Cells,
}

impl Profile {
    /// Sum of one value type over all cells.
    pub fn total(&self, value: ValueType) -> u64 {
        self.cells.iter().map(|(_, values)| values.get(value)).sum()
    }
}
