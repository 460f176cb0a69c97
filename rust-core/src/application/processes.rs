//! Who sends deltas: executors by id, as the scheduler knows them, and their processes by uuid.

use super::merged::OTHER;
use super::summary::{rfc3339, SummaryProcess};
use crate::profile::{IdMap, ProcessIdentity, ProcessStatus};
use std::collections::BTreeMap;

/// The `process` label of the driver, and its executor id where Spark names one.
pub(super) const DRIVER: &str = "driver";

/// Executors that keep their `process` label.
pub(super) const MAX_LABELLED: usize = 50;

/// Executor ids are not used twice; a JVM that starts again under one may be a restarted agent.
pub(super) const MAX_PROCESSES_OF_ONE_ID: usize = 4;

/// Executors, processes, and senders that nobody knows.
pub(super) struct Processes {
    executors: BTreeMap<String, Executor>,
    processes: BTreeMap<String, Process>,
    order: Vec<String>,
    strangers: BTreeMap<String, Stranger>,
}

#[derive(Default)]
pub(super) struct Executor {
    pub host: String,
    pub added: u64,
    pub removed: Option<(u64, String)>,
    /// Has a `process` label of its own.
    pub labelled: bool,
    /// Its CPU by samples.
    pub cpu: u64,
    /// Has values that no file holds.
    pub changed: bool,
    /// Deltas that could not be read.
    pub malformed: u64,
    uuids: Vec<String>,
    last_sent: bool,
}

pub(super) struct Process {
    pub identity: ProcessIdentity,
    pub seq: u64,
    pub epoch: u32,
    pub map: IdMap,
    pub status: ProcessStatus,
    /// When it sent its last delta, and how it ended.
    pub ended: Option<(u64, String)>,
    /// When it was heard last, by the driver's clock.
    pub heard: u64,
}

/// Deltas under an id that the scheduler has not named yet.
struct Stranger {
    since: u64,
    count: u64,
    told: bool,
}

impl Default for Processes {
    fn default() -> Self {
        let driver = Executor { labelled: true, ..Executor::default() };
        Processes {
            executors: [(DRIVER.to_string(), driver)].into(),
            processes: BTreeMap::new(),
            order: Vec::new(),
            strangers: BTreeMap::new(),
        }
    }
}

impl Processes {
    pub(super) fn added(&mut self, id: String, host: String, now: u64) {
        self.strangers.remove(&id);
        let executor = self.executors.entry(id).or_default();
        executor.host = host;
        if executor.added == 0 {
            executor.added = now;
        }
    }

    pub(super) fn removed(&mut self, id: &str, reason: String, now: u64) {
        if let Some(executor) = self.executors.get_mut(id) {
            executor.removed = Some((now, reason));
        }
    }

    pub(super) fn executor(&mut self, id: &str) -> Option<&mut Executor> {
        self.executors.get_mut(id)
    }

    /// Counts a delta of an id that the scheduler does not know. The answer is true once for each id,
    /// when it has stayed unknown so long that a late event cannot be the cause.
    pub(super) fn stranger(&mut self, id: &str, now: u64) -> bool {
        if !self.strangers.contains_key(id) && self.strangers.len() == MAX_STRANGERS {
            return false;
        }
        let fresh = Stranger { since: now, count: 0, told: false };
        let stranger = self.strangers.entry(id.to_string()).or_insert(fresh);
        stranger.count += 1;
        let tell = !stranger.told && now.saturating_sub(stranger.since) >= STRANGER_GRACE;
        stranger.told |= tell;
        tell
    }

    /// Ids that stayed unknown, with the number of their deltas.
    pub(super) fn strangers(&self) -> impl Iterator<Item = (&str, u64)> {
        self.strangers.iter().map(|(id, stranger)| (id.as_str(), stranger.count))
    }

    /// The process of a uuid, made if the executor may have one more. `None`: it may not, or the uuid
    /// is another executor's.
    pub(super) fn process(&mut self, identity: &ProcessIdentity) -> Option<&mut Process> {
        let executor = self.executors.get_mut(&identity.id)?;
        if !executor.uuids.contains(&identity.uuid) {
            if executor.uuids.len() == MAX_PROCESSES_OF_ONE_ID || self.processes.contains_key(&identity.uuid)
            {
                return None;
            }
            executor.uuids.push(identity.uuid.clone());
            self.order.push(identity.uuid.clone());
            let process = Process {
                identity: identity.clone(),
                seq: 0,
                epoch: 0,
                map: IdMap::default(),
                status: ProcessStatus::default(),
                ended: None,
                heard: 0,
            };
            self.processes.insert(identity.uuid.clone(), process);
        }
        self.processes.get_mut(&identity.uuid)
    }

    pub(super) fn ended(&mut self, id: &str) {
        if let Some(executor) = self.executors.get_mut(id) {
            executor.last_sent = true;
        }
    }

    /// The `process` label of an executor's samples. There is one for everybody until there are
    /// more than [`MAX_LABELLED`].
    pub(super) fn label(&mut self, id: &str) -> String {
        let room = self.labelled().count() < MAX_LABELLED;
        match self.executors.get_mut(id) {
            Some(executor) => {
                executor.labelled |= room;
                if executor.labelled { id } else { OTHER }.to_string()
            }
            None => OTHER.to_string(),
        }
    }

    /// The executor that `id` displaces: it has clearly less CPU. A tenth and a second keep two equal
    /// ones from changing places with every delta, for each change costs what came before.
    pub(super) fn displaced_by(&self, id: &str) -> Option<String> {
        let rising = self.executors.get(id).filter(|executor| !executor.labelled)?;
        let (smallest, executor) = self.labelled().min_by_key(|(_, executor)| executor.cpu)?;
        let clearly = executor.cpu.saturating_add(executor.cpu / 10).saturating_add(1_000_000_000);
        (rising.cpu > clearly).then(|| smallest.to_string())
    }

    /// Executors with a label of their own, without the driver.
    pub(super) fn labelled(&self) -> impl Iterator<Item = (&str, &Executor)> {
        let own = self.executors.iter().filter(|(id, executor)| executor.labelled && *id != DRIVER);
        own.map(|(id, executor)| (id.as_str(), executor))
    }

    pub(super) fn maps(&mut self) -> impl Iterator<Item = &mut IdMap> {
        self.processes.values_mut().map(|process| &mut process.map)
    }

    pub(super) fn maps_of<'a>(&'a mut self, id: &'a str) -> impl Iterator<Item = &'a mut IdMap> {
        let of = self.processes.values_mut().filter(move |process| process.identity.id == id);
        of.map(|process| &mut process.map)
    }

    /// Forgets ids until all maps take at most `limit` bytes: of the process first that was not heard
    /// for longest. It sends its names again.
    pub(super) fn bound_maps(&mut self, limit: usize) -> usize {
        let mut memory: usize = self.processes.values().map(|process| process.map.memory()).sum();
        while memory > limit {
            let with_ids = self.processes.values_mut().filter(|process| process.map.memory() > 0);
            let Some(oldest) = with_ids.min_by_key(|process| process.heard) else { break };
            memory -= oldest.map.memory();
            oldest.map.clear();
        }
        memory
    }

    /// Executors that run, as far as is known.
    pub(super) fn running(&self) -> usize {
        self.known().filter(|(_, executor)| executor.removed.is_none() && !executor.last_sent).count()
    }

    /// Executors whose last delta can still come.
    pub(super) fn awaited(&self, now: u64) -> usize {
        let awaited = |executor: &Executor| {
            let silent = executor.uuids.is_empty() && now.saturating_sub(executor.added) > SILENT_GRACE;
            executor.removed.is_none() && !executor.last_sent && !silent
        };
        self.known().filter(|(_, executor)| awaited(executor)).count()
    }

    /// Forgets ids that nobody will use: of executors that the scheduler removed a while ago.
    pub(super) fn forget_removed(&mut self, now: u64) {
        let gone = |executor: &Executor| {
            executor.removed.as_ref().is_some_and(|(at, _)| now.saturating_sub(*at) > REMOVED_GRACE)
        };
        for process in self.processes.values_mut() {
            if self.executors.get(&process.identity.id).is_some_and(gone) {
                process.map.clear();
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.processes.len()
    }

    /// All processes in the order of their first delta.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Process> {
        self.order.iter().filter_map(|uuid| self.processes.get(uuid))
    }

    pub(super) fn summary(&self) -> Vec<SummaryProcess> {
        self.iter().map(|process| self.row(process)).collect()
    }

    fn known(&self) -> impl Iterator<Item = (&String, &Executor)> {
        self.executors.iter().filter(|(id, _)| *id != DRIVER)
    }

    fn row(&self, process: &Process) -> SummaryProcess {
        let Process { identity, status, .. } = process;
        let executor = &self.executors[&identity.id];
        let removed = executor.removed.as_ref().map(|(at, reason)| (*at, format!("removed: {reason}")));
        let ended = process.ended.clone().or(removed);
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        SummaryProcess {
            id: identity.id.clone(),
            host: if identity.host.is_empty() { executor.host.clone() } else { identity.host.clone() },
            pid: identity.pid,
            java: identity.java.clone(),
            started: rfc3339(identity.started),
            ended: ended.as_ref().map(|(at, _)| rfc3339(*at)),
            ending: ended.map(|(_, how)| how),
            engines: identity.engines.clone(),
            samples: status.samples.iter().copied().collect(),
            lost: status.lost.iter().map(|lost| (lost.cause, lost.count)).collect(),
            sampled_cpu_ns: status.sampled_cpu,
            own_cpu_seconds: seconds(status.own_cpu),
            process_cpu_seconds: seconds(status.process_cpu),
            longest_pause_ms: status.longest_pause as f64 / 1e6,
            native_memory_bytes: status.native_memory,
        }
    }
}

const MAX_STRANGERS: usize = 64;
/// The listener bus of a busy driver runs seconds late.
const STRANGER_GRACE: u64 = 30_000_000_000;
/// An executor that is profiled sends its first delta within 5 s.
const SILENT_GRACE: u64 = 30_000_000_000;
const REMOVED_GRACE: u64 = 120_000_000_000;
