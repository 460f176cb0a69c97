//! The driver's side: every process's deltas become one profile, and the profile becomes the folder.
//!
//! Nothing here reads a clock: times are the driver's, Unix nanoseconds, and come with each call.

mod encoder;
mod folder;
mod formats;
mod merged;
mod own;
mod periods;
mod processes;
mod stages;
mod summary;
#[cfg(test)]
mod tests;
mod warnings;

pub use encoder::{Edition, Encoder, Page, Part};
pub use folder::{folder_name, FolderFile};
pub use formats::Formats;
pub use own::OwnProcess;
pub use summary::{
    Summary, SummaryApplication, SummaryFolded, SummaryProcess, SummaryProfile, SummarySetting, SummaryStage,
    SummaryTasks, SummaryWarning, SUMMARY_FORMAT,
};

use crate::profile::{Engine, IdMap, Lost, LostCause, ProcessStatus, ValueType, Values, Warning};
use crate::relay::{decode, encode_answer, Answer, Delta, DeltaError, PROTOCOL};
use crate::settings::Settings;
use folder::Folder;
use merged::{Merged, NotMerged};
use processes::{Processes, MAX_PROCESSES_OF_ONE_ID};
use stages::{Stages, MAX_STAGES};
use std::collections::BTreeMap;
use std::time::Duration;
use warnings::{FileResults, FoldedTotals, Warnings};

/// What is known of an application when it starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApplicationInfo {
    /// Spark's application id.
    pub id: String,
    /// The application's name.
    pub name: String,
    /// YARN's attempt number, empty where there is none.
    pub attempt: String,
    /// Spark's version.
    pub spark: String,
    /// Scala's version.
    pub scala: String,
    /// The driver's jar.
    pub jar: String,
    /// The driver's engines, as its start line says them.
    pub engines: String,
    /// The driver's effective settings; secrets are hidden already.
    pub settings: Vec<SummarySetting>,
}

/// What Spark's listener bus tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplicationEvent {
    /// The scheduler knows an executor.
    ExecutorAdded {
        /// Executor id.
        id: String,
        /// Its host.
        host: String,
    },
    /// The scheduler has given an executor up.
    ExecutorRemoved {
        /// Executor id.
        id: String,
        /// Spark's words.
        reason: String,
    },
    /// A stage attempt begins.
    StageSubmitted {
        /// Stage id.
        stage: u32,
        /// Attempt.
        attempt: u32,
        /// Spark's name of it.
        name: String,
    },
    /// A stage attempt has ended.
    StageCompleted {
        /// Stage id.
        stage: u32,
        /// Attempt.
        attempt: u32,
        /// Spark's name of it.
        name: String,
        /// executorCpuTime + executorDeserializeCpuTime.
        cpu_ns: u64,
        /// Why it failed.
        failure: Option<String>,
    },
}

/// Takes what is secret out of a text.
pub type Redact = Box<dyn Fn(&str) -> String + Send>;

/// One application, from its start to its folder.
pub struct Application {
    info: ApplicationInfo,
    profile: SummaryProfile,
    cpu_interval: u64,
    relay_interval: Option<Duration>,
    memory_limit: Option<u64>,
    redact: Redact,
    processes: Processes,
    merged: Merged,
    stages: Stages,
    folder: Folder,
    warnings: Warnings,
    folded: FoldedTotals,
    files: FileResults,
}

impl Application {
    /// `folder` is the application's own folder; `None`: no files.
    pub fn new(
        info: ApplicationInfo,
        settings: &Settings,
        folder: Option<String>,
        encoder: Box<dyn Encoder>,
        redact: Redact,
    ) -> Self {
        let name = settings.profile_name.clone().unwrap_or_else(|| info.name.clone());
        Application {
            profile: SummaryProfile {
                group: settings.profile_group.clone().unwrap_or_else(|| name.clone()),
                version: settings.profile_version.clone().unwrap_or_default(),
                name,
            },
            cpu_interval: settings.cpu_interval.map_or(0, |interval| interval.as_nanos() as u64),
            relay_interval: settings.relay_interval,
            memory_limit: settings.memory_limit,
            folder: Folder::new(folder, settings.report_interval, encoder),
            redact,
            processes: Processes::default(),
            merged: Merged::default(),
            stages: Stages::default(),
            warnings: Warnings::default(),
            folded: FoldedTotals::default(),
            files: FileResults::default(),
            info,
        }
    }

    /// A delta as it came from the executor that Spark calls `executor_id`; answers the answer's bytes.
    pub fn receive(&mut self, executor_id: &str, bytes: &[u8], now_ns: u64) -> Vec<u8> {
        let answer = match decode(bytes) {
            Ok(delta) if delta.process.id == executor_id => self.ingest(delta, now_ns),
            Ok(_) => self.malformed(executor_id, "it names another executor", now_ns),
            Err(DeltaError::Protocol { theirs, glowplug, jar }) => {
                self.foreign(executor_id, theirs, &glowplug, &jar)
            }
            Err(error) => self.malformed(executor_id, &error.to_string(), now_ns),
        };
        encode_answer(&answer)
    }

    /// Takes a delta in, the driver's own too. A process's first delta has seq 1 and a dictionary that
    /// begins at 0, in each application anew.
    pub fn ingest(&mut self, mut delta: Delta, now_ns: u64) -> Answer {
        let id = delta.process.id.clone();
        if self.processes.executor(&id).is_none() {
            return self.stranger(&id, now_ns);
        }
        correct_clock(&mut delta, now_ns);
        let label = self.processes.label(&id);
        let Some(process) = self.processes.process(&delta.process) else {
            return self.one_too_many(&id);
        };
        process.heard = now_ns;
        let acknowledged = process.seq;
        if delta.seq != acknowledged + 1 {
            let repeat = delta.seq <= acknowledged;
            self.folded.add(if repeat { "repeated deltas" } else { "deltas out of order" }, 1, 0);
            return Answer { resend_names: !repeat, ..self.answer(acknowledged, now_ns) };
        }
        if delta.epoch != process.epoch {
            process.epoch = delta.epoch;
            process.map.clear();
        }
        let period = self.folder.period_for(&delta, now_ns);
        let sum = match self.merged.add(&mut process.map, &delta, &label, period.index) {
            Ok(sum) => sum,
            Err(NotMerged::NamesMissing) => {
                return Answer { resend_names: true, ..self.answer(acknowledged, now_ns) };
            }
            Err(NotMerged::TooDeep) => return self.malformed(&id, "its tree is too deep", now_ns),
        };
        process.seq = delta.seq;
        process.status = delta.status.clone();
        let to = delta.to.min(now_ns);
        if let Some((at, _)) = &mut process.ended {
            // A driver that waits for its executors at its end goes on being profiled.
            *at = to;
        }
        if delta.last {
            process.ended = Some((to, delta.ending.clone()));
            process.map.clear();
            self.processes.ended(&id);
        }
        if period.late {
            self.folded.add("late deltas", 1, sum.get(ValueType::Cpu));
        }
        self.count(&id, &delta, &sum);
        self.bound();
        self.answer(delta.seq, now_ns)
    }

    /// Takes in what Spark's listener bus tells.
    pub fn event(&mut self, event: ApplicationEvent, now_ns: u64) {
        match event {
            ApplicationEvent::ExecutorAdded { id, host } => self.processes.added(id, host, now_ns),
            ApplicationEvent::ExecutorRemoved { id, reason } => {
                let reason = (self.redact)(&reason);
                self.processes.removed(&id, reason, now_ns);
            }
            ApplicationEvent::StageSubmitted { stage, attempt, name } => {
                self.stages.submitted(stage, attempt, (self.redact)(&name));
            }
            ApplicationEvent::StageCompleted { stage, attempt, name, cpu_ns, failure } => {
                let failure = failure.map(|failure| (self.redact)(&failure));
                self.stages.completed(stage, attempt, (self.redact)(&name), cpu_ns, failure);
            }
        }
        if self.stages.len() > MAX_STAGES + MAX_STAGES / 10 {
            self.bound_stages();
        }
    }

    /// Counts a warning of the driver itself. `said`: it is in the log already.
    pub fn warn(&mut self, warning: Warning, said: bool) {
        self.warnings.add(warning, 1, said);
    }

    /// Warnings that have not been logged yet.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        self.warnings.take_unsaid()
    }

    /// Executors whose last delta can still come.
    pub fn awaited(&self, now_ns: u64) -> usize {
        self.processes.awaited(now_ns)
    }

    /// What must be written now; mostly nothing.
    pub fn due(&mut self, now_ns: u64) -> Vec<FolderFile> {
        let grace = self.next_interval() + CLOSING_GRACE;
        self.processes.forget_removed(now_ns);
        let over = now_ns.saturating_sub(grace.as_nanos() as u64);
        let mut files = self.close_periods(now_ns, |end| end <= over);
        if self.folder.is_due(now_ns, grace) {
            files.extend(self.write(now_ns, false));
        }
        files
    }

    /// The whole folder, for the last time.
    pub fn finish(&mut self, now_ns: u64) -> Vec<FolderFile> {
        for (id, count) in self.processes.strangers() {
            self.warnings.add(stranger_warning(id), count, false);
        }
        let mut files = self.close_periods(now_ns, |_| true);
        files.extend(self.write(now_ns, true));
        files
    }

    /// What `summary.json` says.
    pub fn summary(&mut self) -> Summary {
        self.bound_all_labels();
        Summary {
            format: SUMMARY_FORMAT,
            glowplug: env!("CARGO_PKG_VERSION").to_string(),
            profile: self.profile.clone(),
            application: SummaryApplication {
                id: self.info.id.clone(),
                name: self.info.name.clone(),
                attempt: self.info.attempt.clone(),
                spark: self.info.spark.clone(),
                scala: self.info.scala.clone(),
            },
            processes: self.processes.summary(),
            stages: self.stages.summary(&self.merged),
            settings: self.info.settings.clone(),
            warnings: self.warnings.summary(),
            folded: self.folded.summary(),
        }
    }

    /// The merged profile.
    pub fn merged(&self) -> &crate::profile::Profile {
        &self.merged.profile
    }

    /// Bytes on the heap, estimated.
    pub fn memory(&mut self) -> usize {
        self.merged.memory()
            + self.folder.memory()
            + self.processes.maps().map(|map| map.memory()).sum::<usize>()
    }

    /// A file of the folder was written, or removed; `error`: it was not. Failures are counted, and the
    /// first one is to be said.
    pub fn file_done(&mut self, path: &str, error: Option<&str>) {
        let Some(error) = error else {
            self.files.written(path);
            return;
        };
        let message = self.files.failed(path, error);
        self.warnings.add(Warning { code: "file-not-written".to_string(), message }, 1, false);
    }

    /// Where the result is, what it covers, what was lost and what it cost. An error: files of it could
    /// not be written.
    pub fn end_line(&self) -> Result<String, String> {
        let (mut samples, mut of_cpu, mut own_cpu, mut process_cpu) = (0u64, 0u64, 0u64, 0u64);
        let mut losses = BTreeMap::<LostCause, u64>::new();
        for ProcessStatus { samples: by_engine, lost, own_cpu: own, process_cpu: all, .. } in
            self.processes.iter().map(|process| &process.status)
        {
            for (engine, count) in by_engine {
                samples = samples.saturating_add(*count);
                of_cpu = of_cpu.saturating_add(if *engine == Engine::Cpu { *count } else { 0 });
            }
            own_cpu = own_cpu.saturating_add(*own);
            process_cpu = process_cpu.saturating_add(*all);
            for Lost { cause, count } in lost {
                let sum = losses.entry(*cause).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        let losses: Vec<_> = losses.iter().filter(|(_, count)| **count > 0).collect();
        let lost = match losses.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(**count)) {
            0 => "none lost".to_string(),
            sum => {
                // Wall time's samples would make little of it: they always have a stack.
                let share = |cause: LostCause, count: u64| match (cause, of_cpu) {
                    (LostCause::NotWalkable, 1..) => {
                        format!(", {:.1} % of the CPU samples", count as f64 * 100.0 / of_cpu as f64)
                    }
                    _ => String::new(),
                };
                let causes: Vec<_> = losses
                    .iter()
                    .map(|(cause, count)| format!("{count} {}{}", words(**cause), share(**cause, **count)))
                    .collect();
                format!("{sum} without a full stack ({})", causes.join(", "))
            }
        };
        let processes = match self.processes.len() {
            1 => "1 process".to_string(),
            count => format!("{count} processes"),
        };
        let cost = match process_cpu {
            0 => "own cost not known".to_string(),
            _ => format!("own cost {:.2} % of their CPU", own_cpu as f64 * 100.0 / process_cpu as f64),
        };
        let covers = format!("{processes}, {samples} samples, {lost}, {cost}");
        match (self.folder.place(), self.files.failures()) {
            (None, _) => Ok(format!("profile kept out of files (spark.glowplug.dir=none): {covers}")),
            (Some(place), None) => Ok(format!("profile written to {place}: {covers}")),
            (Some(place), Some(failures)) => {
                Err(format!("profile NOT written to {place}: {failures}; {covers}"))
            }
        }
    }

    fn count(&mut self, id: &str, delta: &Delta, sum: &Values) {
        for task in &delta.tasks {
            self.stages.task(task);
        }
        for (warning, count) in &delta.warnings {
            let message = (self.redact)(&warning.message);
            self.warnings.add(Warning { code: warning.code.clone(), message }, *count, true);
        }
        self.folder.sampled(delta, sum);
        let Some(executor) = self.processes.executor(id) else { return };
        executor.cpu = executor.cpu.saturating_add(sum.get(ValueType::Cpu));
        executor.changed = true;
        let cpu = executor.cpu;
        let Some(falling) = self.processes.displaced_by(id) else { return };
        let fell = self.processes.executor(&falling).map_or(0, |executor| {
            executor.labelled = false;
            executor.cpu
        });
        self.merged.fall(self.processes.maps(), &falling);
        for map in self.processes.maps_of(id) {
            self.merged.rise(map, id);
        }
        if let Some(executor) = self.processes.executor(id) {
            executor.labelled = true;
        }
        self.folded.add("executors that fell to other", 1, fell);
        self.folded.add("executors that rose from other", 1, cpu);
    }

    fn bound(&mut self) {
        let limit = self.memory_cap();
        let maps = self.processes.bound_maps(limit / 2);
        if self.merged.labels_grew() {
            self.bound_all_labels();
        }
        let room = limit.saturating_sub(maps + self.folder.memory());
        if self.merged.bound_memory(room, &mut self.folded) {
            self.processes.maps().for_each(IdMap::clear);
            let message = format!(
                "the merged profile reached its {} MiB: the lightest values went to [folded]; \
                 spark.glowplug.memory.limit sets the cap",
                limit >> 20
            );
            self.warn_once("memory-limit", message);
        }
    }

    fn bound_all_labels(&mut self) {
        self.bound_stages();
        self.merged.bound_labels(self.processes.maps(), &mut self.folded);
    }

    fn bound_stages(&mut self) {
        let going = self.stages.take_excess(&self.merged);
        self.folded.add("stage attempts without samples", going.unsampled, 0);
        if !going.sampled.is_empty() {
            self.folded.add("stage attempts", going.sampled.len() as u64, going.cpu);
            self.merged.fold_stages(self.processes.maps(), &going.sampled);
        }
    }

    fn memory_cap(&self) -> usize {
        let cap = (BASE_MEMORY + MEMORY_PER_EXECUTOR * self.processes.len()).min(MAX_MEMORY);
        self.memory_limit.map_or(cap, |limit| limit as usize)
    }

    /// `ack` is 0 where it is not known whose delta came.
    fn answer(&self, ack: u64, now_ns: u64) -> Answer {
        Answer {
            ack,
            next_interval_ms: self.next_interval().as_millis() as u64,
            driver_time: now_ns,
            ..Answer::default()
        }
    }

    fn next_interval(&self) -> Duration {
        let by_load = Duration::from_millis(6 * self.processes.running() as u64);
        self.relay_interval.unwrap_or(SHORTEST_INTERVAL.max(by_load))
    }
    fn stranger(&mut self, id: &str, now_ns: u64) -> Answer {
        self.folded.add("deltas of unknown executors", 1, 0);
        if self.processes.stranger(id, now_ns) {
            self.warnings.add(stranger_warning(id), 1, false);
        }
        self.answer(0, now_ns)
    }

    fn one_too_many(&mut self, id: &str) -> Answer {
        let reason = format!(
            "more than {MAX_PROCESSES_OF_ONE_ID} processes call themselves executor {id}, or one uses \
             another's uuid: this one is not merged"
        );
        self.refuse("too-many-processes", reason)
    }

    /// A delta that cannot be used. It may have been changed on its way, so it goes again a few times.
    fn malformed(&mut self, id: &str, cause: &str, now_ns: u64) -> Answer {
        self.folded.add("refused deltas", 1, 0);
        let Some(executor) = self.processes.executor(id) else { return self.stranger(id, now_ns) };
        executor.malformed += 1;
        if executor.malformed > MAX_MALFORMED {
            let reason =
                format!("executor {id} sends what cannot be used ({cause}): it is not merged further");
            return self.refuse("deltas-refused", reason);
        }
        let message = format!("a delta of executor {id} was not used, it will be sent again: {cause}");
        self.warn_once("delta-refused", message);
        self.answer(0, now_ns)
    }

    fn foreign(&mut self, id: &str, theirs: u32, glowplug: &str, jar: &str) -> Answer {
        let reason = format!(
            "executor {id} runs Glowplug {glowplug} ({jar}, protocol {theirs}), the driver {} ({}, protocol \
             {PROTOCOL}): it is not merged and writes its own executors/{id}.pb.gz; use one version for both",
            env!("CARGO_PKG_VERSION"),
            self.info.jar
        );
        self.folded.add("refused deltas", 1, 0);
        self.refuse("foreign-protocol", (self.redact)(&reason))
    }

    fn refuse(&mut self, code: &str, reason: String) -> Answer {
        self.warn_once(code, reason.clone());
        Answer { refused: Some(reason), ..Answer::default() }
    }

    fn warn_once(&mut self, code: &str, message: String) {
        self.warnings.add(Warning { code: code.to_string(), message }, 1, false);
    }
}

/// Before a process knows the driver's clock, it says when it sent: it was sent now.
fn correct_clock(delta: &mut Delta, now_ns: u64) {
    let Some(sent_at) = delta.sent_at.take() else { return };
    let offset = now_ns as i64 - sent_at as i64;
    delta.from = delta.from.saturating_add_signed(offset);
    delta.to = delta.to.saturating_add_signed(offset);
    delta.process.started = delta.process.started.saturating_add_signed(offset);
}

fn stranger_warning(id: &str) -> Warning {
    let message = format!(
        "deltas came from executor {id:?}, which the scheduler does not know: they were not merged, and were \
         counted"
    );
    Warning { code: "unknown-executor".to_string(), message }
}

fn words(cause: LostCause) -> &'static str {
    match cause {
        LostCause::RingFull => "came faster than they could be taken",
        LostCause::NotWalkable => "with a stack that could not be walked",
        LostCause::NoScratch => "found no free buffer",
        LostCause::NameLost => "with a class that was unloaded",
        LostCause::DeltaDropped => "dropped because the driver did not answer",
    }
}

const SHORTEST_INTERVAL: Duration = Duration::from_secs(10);
/// A delta that was closed at a period's border is here this long after the interval that it waits.
const CLOSING_GRACE: Duration = Duration::from_secs(5);
const MAX_MALFORMED: u64 = 5;
const BASE_MEMORY: usize = 64 << 20;
const MEMORY_PER_EXECUTOR: usize = 20 << 10;
const MAX_MEMORY: usize = 256 << 20;
