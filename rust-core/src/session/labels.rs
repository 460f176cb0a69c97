//! Ids for the labels of tasks, so that a thread carries one number.

use crate::profile::TaskLabels;
use crate::sample::TaskLabelId;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

/// All label combinations that tasks of this process had.
#[derive(Debug, Default)]
pub(crate) struct LabelTable {
    rows: RwLock<Rows>,
}

#[derive(Debug, Default)]
struct Rows {
    by_id: Vec<Arc<TaskLabels>>,
    ids: HashMap<Arc<TaskLabels>, TaskLabelId>,
}

/// The driver keeps 2 000 stage attempts; a process that has seen ten times as many combinations
/// labels what comes after as `other`.
const MAX_COMBINATIONS: usize = 20_000;

impl LabelTable {
    /// The id of a combination; 0 only for no labels.
    pub(crate) fn id(&self, labels: TaskLabels) -> TaskLabelId {
        if labels.0.is_empty() {
            return TaskLabelId(0);
        }
        if let Some(id) = self.rows.read().ids.get(&labels) {
            return *id;
        }
        let mut rows = self.rows.write();
        let labels = if rows.by_id.len() < MAX_COMBINATIONS { labels } else { overflow() };
        if let Some(id) = rows.ids.get(&labels) {
            return *id;
        }
        let labels = Arc::new(labels);
        rows.by_id.push(labels.clone());
        let id = TaskLabelId(rows.by_id.len() as u32);
        rows.ids.insert(labels, id);
        id
    }

    /// The labels behind an id.
    pub(crate) fn labels(&self, id: TaskLabelId) -> Option<Arc<TaskLabels>> {
        let index = id.0.checked_sub(1)? as usize;
        self.rows.read().by_id.get(index).cloned()
    }
}

fn overflow() -> TaskLabels {
    TaskLabels(vec![("stage".to_owned(), "other".to_owned())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(number: usize) -> TaskLabels {
        TaskLabels(vec![("stage".to_owned(), number.to_string())])
    }

    #[test]
    fn equal_labels_share_an_id_and_no_labels_have_none() {
        let table = LabelTable::default();
        assert_eq!(table.id(TaskLabels::default()), TaskLabelId(0));
        assert_eq!(table.id(stage(7)), TaskLabelId(1));
        assert_eq!(table.id(stage(8)), TaskLabelId(2));
        assert_eq!(table.id(stage(7)), TaskLabelId(1));
        assert_eq!(*table.labels(TaskLabelId(2)).expect("known"), stage(8));
        assert_eq!(table.labels(TaskLabelId(0)), None);
        assert_eq!(table.labels(TaskLabelId(3)), None);
    }

    #[test]
    fn a_flood_of_labels_ends_in_other() {
        let table = LabelTable::default();
        for number in 0..MAX_COMBINATIONS {
            table.id(stage(number));
        }
        let first = table.id(stage(MAX_COMBINATIONS));
        assert_eq!(table.id(stage(MAX_COMBINATIONS + 1)), first);
        assert_eq!(*table.labels(first).expect("known"), overflow());
        assert_eq!(table.id(stage(5)), TaskLabelId(6), "what was known stays");
    }
}
