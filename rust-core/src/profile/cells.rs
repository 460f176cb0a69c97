//! Values by (node, label set).

use super::{LabelSetId, NodeId};
use rustc_hash::FxHashMap;

/// What a value counts; the order is the order of sample types in a pprof file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum ValueType {
    /// CPU samples taken, unweighted.
    Samples = 0,
    /// CPU time in nanoseconds.
    Cpu = 1,
    /// Wall time in nanoseconds.
    Wall = 2,
    /// Objects allocated (estimated).
    AllocObjects = 3,
    /// Bytes allocated (estimated).
    AllocSpace = 4,
    /// Contended waits.
    Contentions = 5,
    /// Time waited for locks in nanoseconds.
    Delay = 6,
}

/// All value types with their pprof name and unit, in pprof order.
pub const VALUE_TYPES: [(ValueType, &str, &str); 7] = [
    (ValueType::Samples, "samples", "count"),
    (ValueType::Cpu, "cpu", "nanoseconds"),
    (ValueType::Wall, "wall", "nanoseconds"),
    (ValueType::AllocObjects, "alloc_objects", "count"),
    (ValueType::AllocSpace, "alloc_space", "bytes"),
    (ValueType::Contentions, "contentions", "count"),
    (ValueType::Delay, "delay", "nanoseconds"),
];

/// One cell's values, indexed by [`ValueType`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Values(pub [u64; VALUE_TYPES.len()]);

impl Values {
    /// A cell with one value set.
    pub fn of(value: ValueType, amount: u64) -> Self {
        let mut values = Values::default();
        values.0[value as usize] = amount;
        values
    }

    /// The CPU value of one sample: `count` samples that stand for `nanoseconds`.
    pub fn cpu(count: u64, nanoseconds: u64) -> Self {
        let mut values = Values::of(ValueType::Cpu, nanoseconds);
        values.0[ValueType::Samples as usize] = count;
        values
    }

    /// One value.
    pub fn get(&self, value: ValueType) -> u64 {
        self.0[value as usize]
    }

    /// Adds saturating, so that hostile input cannot wrap a total.
    pub fn add(&mut self, other: &Values) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }

    /// What decides which cells and labels are kept: CPU + wall / 16 + bytes / 1 KiB. A CPU nanosecond
    /// is what a fold must keep first, idle wall time is plentiful, and allocations weigh bytes.
    pub fn weight(&self) -> u64 {
        self.get(ValueType::Cpu)
            .saturating_add(self.get(ValueType::Wall) / 16)
            .saturating_add(self.get(ValueType::AllocSpace) / 1024)
    }

    /// True if nothing was measured.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|value| *value == 0)
    }
}

/// Where a value stands.
pub type CellKey = (NodeId, LabelSetId);

/// Values by node and label set.
#[derive(Debug, Clone, Default)]
pub struct Cells(FxHashMap<CellKey, Values>);

impl Cells {
    /// Adds to one cell.
    pub fn add(&mut self, node: NodeId, labels: LabelSetId, values: &Values) {
        self.0.entry((node, labels)).or_default().add(values);
    }

    /// All cells, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (CellKey, &Values)> {
        self.0.iter().map(|(key, values)| (*key, values))
    }

    /// All cells, ordered by node and label set.
    pub fn sorted(&self) -> Vec<(CellKey, Values)> {
        self.sorted_where(|_| true)
    }

    /// The cells of the label sets that `takes` wants, ordered by node and label set.
    pub fn sorted_where(&self, mut takes: impl FnMut(LabelSetId) -> bool) -> Vec<(CellKey, Values)> {
        let wanted = self.0.iter().filter(|((_, labels), _)| takes(*labels));
        let mut rows: Vec<_> = wanted.map(|(key, values)| (*key, *values)).collect();
        rows.sort_unstable_by_key(|(key, _)| *key);
        rows
    }

    /// One cell.
    pub fn get(&self, node: NodeId, labels: LabelSetId) -> Option<&Values> {
        self.0.get(&(node, labels))
    }

    /// Takes all cells out and leaves none.
    pub fn take(&mut self) -> Cells {
        std::mem::take(self)
    }

    /// Moves the values of each label set to the set that `new_set` names.
    pub fn relabel(&mut self, mut new_set: impl FnMut(LabelSetId) -> LabelSetId) {
        for ((node, labels), values) in self.take().0 {
            self.add(node, new_set(labels), &values);
        }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Estimated bytes on the heap.
    pub fn memory(&self) -> usize {
        // hashbrown keeps at most 7/8 of its slots full and doubles: between 1.14 and 2.29 slots a row.
        self.0.capacity() * (size_of::<CellKey>() + size_of::<Values>() + 1)
    }
}
