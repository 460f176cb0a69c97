//! A JVM and a clock that say what a test wants.

use super::{Clock, DeltaSink, Engines, Inbox, Machine, Plan, Shared};
use crate::jvm::call_trace::Walker;
use crate::jvm::{FoundThread, MethodId, MethodInfo, RawFrame, ThreadRef, ThreadStack, Vm, VmError};
use crate::profile::ThreadState;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Every method is `App.m<its id>`, every thread waits in `App.m1`; time stands still until it is set.
#[derive(Default)]
pub(crate) struct Stage {
    pub(super) monotonic: AtomicU64,
    pub(super) unix: AtomicU64,
    /// CPU of the threads that live.
    pub(crate) threads: Mutex<BTreeMap<i32, u64>>,
    /// What the JVM was told.
    pub(super) allocation_intervals: Mutex<Vec<u64>>,
}

/// What the sampler thread shares, on this stage, with all engines on.
pub(super) fn shared(stage: &Arc<Stage>) -> Arc<Shared> {
    shared_into(stage, Arc::new(Inbox::default()))
}

/// The same, with a sink to look into.
pub(super) fn shared_into(stage: &Arc<Stage>, sink: Arc<dyn DeltaSink>) -> Arc<Shared> {
    let plan = plan();
    let engines = Engines::choose(&plan, &machine(17));
    Arc::new(Shared::new(stage.clone(), stage.clone(), plan, engines, sink))
}

/// A machine on which every engine can run, as far as the JDK lets it.
pub(crate) fn machine(feature: u32) -> Machine {
    Machine {
        feature,
        version: format!("{feature}.0.15+6-LTS"),
        arch: "x86_64",
        has_walker: true,
        counts_allocations: true,
        timer: Ok(()),
    }
}

pub(crate) fn plan() -> Plan {
    Plan {
        cpu_interval: Some(Duration::from_millis(10)),
        wall_interval: Some(Duration::from_millis(50)),
        alloc_interval: Some(2 << 20),
        depth: 1000,
        threads_exclude: Vec::new(),
        overhead_limit: 0.01,
        memory_limit: 12 << 20,
        report_interval: Duration::from_secs(300),
    }
}

impl Clock for Stage {
    fn monotonic(&self) -> u64 {
        self.monotonic.load(Ordering::Relaxed)
    }
    fn unix(&self) -> u64 {
        self.unix.load(Ordering::Relaxed)
    }
    fn thread_cpu(&self, tid: i32) -> Option<u64> {
        self.threads.lock().get(&tid).copied()
    }
    fn process_cpu(&self) -> u64 {
        0
    }
    fn thread_count(&self) -> u64 {
        0
    }
    fn threads(&self) -> Vec<i32> {
        Vec::new()
    }
    fn thread_comm(&self, _: i32) -> Option<String> {
        None
    }
}

impl Vm for Stage {
    fn enter(&self) -> Result<(), VmError> {
        Ok(())
    }
    fn leave(&self) {}
    fn threads(&self) -> Vec<FoundThread> {
        Vec::new()
    }
    fn thread_name(&self, _: ThreadRef) -> Option<String> {
        None
    }
    fn stacks(&self, threads: &[ThreadRef], _: usize) -> Vec<Option<ThreadStack>> {
        let frames = vec![RawFrame { method: MethodId(1), bci: 0 }];
        vec![Some(ThreadStack { state: ThreadState::Waiting, frames }); threads.len()]
    }
    fn stacks_taken_by(&self) -> Option<&'static str> {
        None
    }
    fn wait_for_safepoint(&self) {}
    fn method(&self, id: MethodId) -> Option<MethodInfo> {
        Some(MethodInfo {
            class_signature: "LApp;".to_owned(),
            name: format!("m{}", id.0),
            file: None,
            lines: Vec::new(),
        })
    }
    fn release(&self, _: ThreadRef) {}
    fn watch_threads(&self) -> Result<(), VmError> {
        Ok(())
    }
    fn walker(&self) -> Option<Walker> {
        None
    }
    fn prepare_walker(&self) -> Result<(), VmError> {
        Ok(())
    }
    fn debug_non_safepoints(&self) -> bool {
        false
    }
    fn sample_allocations(&self, _: u64) -> Result<(), VmError> {
        Ok(())
    }
    fn set_allocation_interval(&self, interval: u64) -> Result<(), VmError> {
        self.allocation_intervals.lock().push(interval);
        Ok(())
    }
    fn counts_allocations(&self) -> bool {
        true
    }
    fn allocated_bytes(&self, _: usize) -> Option<u64> {
        None
    }
    fn own_allocated_bytes(&self, _: usize) -> Option<u64> {
        None
    }
}
