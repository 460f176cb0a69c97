//! What Spark says of stages, and the totals of their tasks.

use super::merged::{stage_of, Merged, StageAttempt};
use super::summary::{SummaryStage, SummaryTasks};
use crate::profile::{LabelKey, TaskTotals, ValueType};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Stages(BTreeMap<(u32, u32), Stage>);

#[derive(Default)]
struct Stage {
    name: String,
    running: bool,
    spark_cpu: u64,
    failure: Option<String>,
    tasks: SummaryTasks,
}

/// Stage attempts that lose their place, with their CPU by samples.
#[derive(Default)]
pub(super) struct Going {
    pub sampled: FxHashSet<StageAttempt>,
    pub cpu: u64,
    /// Attempts that no sample was ever taken of.
    pub unsampled: u64,
}

impl Stages {
    pub(super) fn submitted(&mut self, stage: u32, attempt: u32, name: String) {
        let row = self.0.entry((stage, attempt)).or_default();
        row.name = name;
        row.running = true;
    }

    pub(super) fn completed(
        &mut self,
        stage: u32,
        attempt: u32,
        name: String,
        cpu: u64,
        failure: Option<String>,
    ) {
        let row = self.0.entry((stage, attempt)).or_default();
        *row = Stage { name, running: false, spark_cpu: cpu, failure, tasks: row.tasks };
    }

    pub(super) fn task(&mut self, task: &TaskTotals) {
        let tasks = &mut self.0.entry((task.stage, task.stage_attempt)).or_default().tasks;
        tasks.count += 1;
        add(&mut tasks.cpu_ns, task.cpu);
        add(&mut tasks.wall_ns, task.wall);
        add(&mut tasks.alloc_bytes, task.alloc_bytes);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes out the smallest finished attempts beyond [`MAX_STAGES`], of equal ones the oldest.
    pub(super) fn take_excess(&mut self, merged: &Merged) -> Going {
        let sampled = merged.by_stage();
        let mut rows: FxHashMap<StageAttempt, (bool, u64)> = FxHashMap::default();
        for (stage, values) in &sampled {
            rows.insert(stage.clone(), (false, values.weight()));
        }
        for ((stage, attempt), row) in &self.0 {
            let known = rows.entry((stage.to_string(), attempt.to_string())).or_default();
            known.0 = row.running;
            known.1 = known.1.max(row.spark_cpu).max(row.tasks.cpu_ns);
        }
        let ids = |(stage, attempt): &StageAttempt| Some((stage.parse().ok()?, attempt.parse().ok()?));
        let mut rows: Vec<_> = rows.into_iter().map(|(stage, rank)| (rank, ids(&stage), stage)).collect();
        rows.sort_by(|first, second| second.cmp(first));
        let mut going = Going::default();
        for (_, ids, stage) in rows.into_iter().skip(MAX_STAGES) {
            ids.and_then(|ids| self.0.remove(&ids));
            match sampled.get(&stage) {
                Some(values) => {
                    add(&mut going.cpu, values.get(ValueType::Cpu));
                    going.sampled.insert(stage);
                }
                None => going.unsampled += 1,
            }
        }
        going
    }

    pub(super) fn summary(&self, merged: &Merged) -> Vec<SummaryStage> {
        let mut rows: BTreeMap<(u32, u32), SummaryStage> = BTreeMap::new();
        for ((stage, attempt), row) in &self.0 {
            let summary = SummaryStage {
                stage: *stage,
                attempt: *attempt,
                name: row.name.clone(),
                failure: row.failure.clone(),
                spark_cpu_ns: row.spark_cpu,
                tasks: row.tasks,
                ..SummaryStage::default()
            };
            rows.insert((*stage, *attempt), summary);
        }
        let dictionary = &merged.profile.dictionary;
        for (set, values) in merged.by_label_set() {
            let Some((stage, attempt)) = stage_of(dictionary, set) else { continue };
            let (Ok(stage), Ok(attempt)) = (stage.parse(), attempt.parse()) else { continue };
            let row = rows.entry((stage, attempt)).or_default();
            (row.stage, row.attempt) = (stage, attempt);
            let thread = dictionary.label(set, LabelKey::Thread.as_str()).unwrap_or("");
            if !thread.starts_with(TASK_THREAD) {
                add(&mut row.helper_cpu_ns, values.get(ValueType::Cpu));
                continue;
            }
            add(&mut row.cpu_ns, values.get(ValueType::Cpu));
            add(&mut row.alloc_bytes, values.get(ValueType::AllocSpace));
            if let Some(state) = dictionary.label(set, LabelKey::ThreadState.as_str()) {
                add(row.wall_ns.entry(state.to_string()).or_default(), values.get(ValueType::Wall));
            }
        }
        rows.into_values().collect()
    }
}

/// What comes from another process must not be able to overflow a sum.
fn add(sum: &mut u64, value: u64) {
    *sum = sum.saturating_add(value);
}

/// Stage attempts that keep their place.
pub(super) const MAX_STAGES: usize = 2000;

/// Threads of `Executor.threadPool`, as thread names are folded.
const TASK_THREAD: &str = "Executor task launch worker";
