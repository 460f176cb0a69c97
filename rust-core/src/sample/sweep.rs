//! The sampler thread's look at all Java threads.
//!
//! A thread whose CPU clock stands where it stood has not run, so its stack and state are what they
//! were: it costs one clock read. One that had a core all the time is where its CPU samples saw it,
//! and is not held up. The others are asked for their stack. Wall time is charged to what
//! a thread did at the end of the time that passed; CPU time likewise, for threads that have no
//! timer.

use super::clock::Clock;
use super::registry::{Registry, Slot};
use super::TaskLabelId;
use crate::jvm::{ThreadStack, Vm};

/// Takes what a sweep finds.
pub trait SweepSink {
    /// The thread in this slot is seen for the first time, or under a new name.
    fn named(&mut self, slot: Slot, name: &str);

    /// The thread's stack and state have changed; `None` if it could not be walked.
    fn changed(&mut self, slot: Slot, stack: Option<&ThreadStack>);

    /// The thread had a core all the time since the last sweep; true if a CPU sample told where it is.
    fn ran(&mut self, slot: Slot) -> bool;

    /// The thread spent `nanoseconds` of wall time where it is now.
    fn wall(&mut self, slot: Slot, label: TaskLabelId, nanoseconds: u64);

    /// The thread spent `nanoseconds` of CPU where it is now.
    fn cpu(&mut self, slot: Slot, label: TaskLabelId, nanoseconds: u64);
}

/// What a sweep is to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepPlan {
    /// Charge wall time.
    pub wall: bool,
    /// Charge CPU time of threads without a timer.
    pub cpu: bool,
    /// Most frames of a stack.
    pub depth: usize,
}

/// Where a sweep looks.
#[derive(Clone, Copy)]
pub struct Process<'a> {
    /// The JVM.
    pub vm: &'a dyn Vm,
    /// The clocks.
    pub clock: &'a dyn Clock,
    /// Its threads.
    pub registry: &'a Registry,
}

/// Names are read again after this long: pools rename their threads at each task, and the folded
/// name, which is all that is kept, hardly ever changes with it.
const NAME_AGE: u64 = 10_000_000_000;

/// Percent of a sweep's interval that a thread must have used to count as running all the time: the
/// rest is a thread's own page faults and our signals.
const HAD_A_CORE: u64 = 95;

/// Java threads of the profiler.
const OWN_THREADS: &str = "glowplug-";

/// The sweeper's memory of the threads.
#[derive(Debug, Default)]
pub struct Sweeper {
    threads: Vec<Option<Seen>>,
    excluded: Vec<String>,
    last: Option<u64>,
    look_at_all: bool,
}

#[derive(Debug)]
struct Seen {
    cpu: u64,
    named: u64,
    name: String,
    excluded: bool,
}

impl Sweeper {
    /// `excluded`: names of threads that are left out of wall.
    pub fn new(excluded: Vec<String>) -> Sweeper {
        Sweeper { excluded, ..Sweeper::default() }
    }

    /// Forgets threads that have ended and gives their references back.
    pub fn forget_ended(&mut self, vm: &dyn Vm, registry: &Registry, mut each: impl FnMut(Slot)) {
        for reference in registry.take_abandoned() {
            vm.release(reference);
        }
        for (slot, reference) in registry.take_ended() {
            if let Some(seen) = self.threads.get_mut(slot.0 as usize) {
                *seen = None;
            }
            if let Some(reference) = reference {
                vm.release(reference);
            }
            each(slot);
        }
    }

    /// The next sweep looks at every thread, also at those that have not run.
    pub fn look_at_all(&mut self) {
        self.look_at_all = true;
    }

    /// The time until now counts for nothing: sampling was off.
    pub fn skip(&mut self) {
        self.last = None;
        self.threads.clear();
    }

    /// Looks at all threads once.
    pub fn sweep(&mut self, process: Process, plan: SweepPlan, sink: &mut dyn SweepSink) {
        let Process { vm, clock, registry } = process;
        let now = clock.monotonic();
        let elapsed = now.saturating_sub(self.last.unwrap_or(now));
        self.last = Some(now);

        let look_at_all = std::mem::take(&mut self.look_at_all);
        let mut look = Vec::new();
        let mut charge = Vec::new();
        for slot in registry.live() {
            let Some(record) = registry.record(slot) else { continue };
            let (Some(reference), false) = (record.reference(), record.is_own()) else { continue };
            let Some(cpu) = clock.thread_cpu(record.tid()) else { continue };
            let index = slot.0 as usize;
            if self.threads.len() <= index {
                self.threads.resize_with(index + 1, || None);
            }
            let before = self.threads[index].as_ref().map(|seen| seen.cpu);
            let is_new = before.is_none();
            // A thread that was never seen is charged from its beginning only if we were there.
            let used = cpu.saturating_sub(before.unwrap_or(if elapsed == 0 { cpu } else { 0 }));
            if is_new || used > 0 || look_at_all {
                self.refresh_name(process, slot, reference, cpu, sink);
                let had_a_core = record.has_timer() && used > 0 && used >= elapsed / 100 * HAD_A_CORE;
                if !(had_a_core && sink.ran(slot)) {
                    look.push((slot, reference));
                }
            }
            if let Some(seen) = self.threads[index].as_mut() {
                seen.cpu = cpu;
                if record.is_own() {
                    continue;
                }
                charge.push((slot, record.label(), used, !record.has_timer(), seen.excluded));
            }
        }

        let references: Vec<_> = look.iter().map(|(_, reference)| *reference).collect();
        for ((slot, _), stack) in look.iter().zip(vm.stacks(&references, plan.depth)) {
            sink.changed(*slot, stack.as_ref());
        }
        for (slot, label, used, timerless, excluded) in charge {
            if plan.cpu && timerless && used > 0 {
                sink.cpu(slot, label, used);
            }
            if plan.wall && !excluded && elapsed > 0 {
                sink.wall(slot, label, elapsed);
            }
        }
    }

    fn refresh_name(
        &mut self,
        process: Process,
        slot: Slot,
        reference: crate::jvm::ThreadRef,
        cpu: u64,
        sink: &mut dyn SweepSink,
    ) {
        let now = self.last.unwrap_or_default();
        let seen = &mut self.threads[slot.0 as usize];
        if seen.as_ref().is_some_and(|seen| now - seen.named < NAME_AGE) {
            return;
        }
        let name = process.vm.thread_name(reference).unwrap_or_default();
        if seen.as_ref().is_none_or(|seen| seen.name != name) {
            sink.named(slot, &name);
        }
        if name.starts_with(OWN_THREADS) {
            process.registry.disown(slot);
        }
        let excluded = self.excluded.contains(&name);
        *seen = Some(Seen { cpu, named: now, name, excluded });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::{FoundThread, MethodId, MethodInfo, RawFrame, ThreadRef, VmError};
    use crate::profile::ThreadState;
    use parking_lot::Mutex;
    use std::collections::BTreeMap;

    #[derive(Default)]
    struct Script {
        now: u64,
        cpu: BTreeMap<i32, u64>,
        asked: Vec<usize>,
    }

    #[derive(Default)]
    struct Machine(Mutex<Script>);

    impl Clock for Machine {
        fn monotonic(&self) -> u64 {
            self.0.lock().now
        }
        fn unix(&self) -> u64 {
            0
        }
        fn thread_cpu(&self, tid: i32) -> Option<u64> {
            self.0.lock().cpu.get(&tid).copied()
        }
        fn process_cpu(&self) -> u64 {
            0
        }
        fn threads(&self) -> Vec<i32> {
            Vec::new()
        }
        fn thread_comm(&self, _: i32) -> Option<String> {
            None
        }
    }

    impl Vm for Machine {
        fn enter(&self) -> Result<(), VmError> {
            Ok(())
        }
        fn leave(&self) {}
        fn threads(&self) -> Vec<FoundThread> {
            Vec::new()
        }
        fn thread_name(&self, thread: ThreadRef) -> Option<String> {
            Some(format!("thread-{}", thread.0))
        }
        fn stacks(&self, threads: &[ThreadRef], _: usize) -> Vec<Option<ThreadStack>> {
            self.0.lock().asked.extend(threads.iter().map(|thread| thread.0));
            let frame = RawFrame { method: MethodId(1), bci: 0 };
            threads
                .iter()
                .map(|_| Some(ThreadStack { state: ThreadState::Waiting, frames: vec![frame] }))
                .collect()
        }
        fn method(&self, _: MethodId) -> Option<MethodInfo> {
            None
        }
        fn release(&self, _: ThreadRef) {}
        fn watch_threads(&self) -> Result<(), VmError> {
            Ok(())
        }
        fn walker(&self) -> Option<crate::jvm::call_trace::Walker> {
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
        fn set_allocation_interval(&self, _: u64) -> Result<(), VmError> {
            Ok(())
        }
    }

    #[derive(Default)]
    struct Sums {
        wall: BTreeMap<u32, u64>,
        cpu: BTreeMap<u32, u64>,
        names: Vec<String>,
        sampled: Vec<u32>,
    }

    impl SweepSink for Sums {
        fn named(&mut self, _: Slot, name: &str) {
            self.names.push(name.to_owned());
        }
        fn changed(&mut self, _: Slot, stack: Option<&ThreadStack>) {
            assert!(stack.is_some());
        }
        fn ran(&mut self, slot: Slot) -> bool {
            self.sampled.contains(&slot.0)
        }
        fn wall(&mut self, slot: Slot, _: TaskLabelId, nanoseconds: u64) {
            *self.wall.entry(slot.0).or_default() += nanoseconds;
        }
        fn cpu(&mut self, slot: Slot, _: TaskLabelId, nanoseconds: u64) {
            *self.cpu.entry(slot.0).or_default() += nanoseconds;
        }
    }

    const PLAN: SweepPlan = SweepPlan { wall: true, cpu: true, depth: 64 };

    #[test]
    fn only_threads_that_ran_are_asked_and_all_are_charged() {
        let machine = Machine::default();
        let registry = Registry::new();
        let mut sweeper = Sweeper::new(vec!["thread-13".to_owned()]);
        let mut sums = Sums::default();
        for (tid, cpu) in [(11, 100), (12, 200), (13, 0)] {
            machine.0.lock().cpu.insert(tid, cpu);
            registry.enroll(tid, 1, ThreadRef(tid as usize)).expect("a slot");
        }
        let mut step = |milliseconds: u64, burn: &[(i32, u64)]| {
            {
                let mut script = machine.0.lock();
                script.now += milliseconds * 1_000_000;
                script.asked.clear();
                for (tid, used) in burn {
                    *script.cpu.get_mut(tid).expect("known") += used;
                }
            }
            sweeper.sweep(Process { vm: &machine, clock: &machine, registry: &registry }, PLAN, &mut sums);
            machine.0.lock().asked.clone()
        };
        assert_eq!(step(1, &[]), [11, 12, 13], "all are new");
        assert_eq!(step(50, &[(11, 7)]), [11], "only the one that ran");
        assert_eq!(step(50, &[(11, 7), (12, 5)]), [11, 12]);
        assert_eq!(step(30, &[]), [0_usize; 0]);
        assert_eq!(sums.cpu, BTreeMap::from([(0, 14), (1, 5)]), "not what was used before we came");
        assert_eq!(sums.wall, BTreeMap::from([(0, 130_000_000), (1, 130_000_000)]), "13 is excluded");
        assert_eq!(sums.names, ["thread-11", "thread-12", "thread-13"]);
    }

    #[test]
    fn a_thread_that_had_a_core_is_not_asked_where_its_samples_told() {
        let machine = Machine::default();
        let registry = Registry::new();
        let mut sweeper = Sweeper::new(Vec::new());
        let mut sums = Sums { sampled: vec![0, 1, 3], ..Sums::default() };
        for tid in [31, 32, 33, 34] {
            machine.0.lock().cpu.insert(tid, 0);
            let slot = registry.enroll(tid, 1, ThreadRef(tid as usize)).expect("a slot");
            if tid != 34 {
                registry.record(slot).expect("record").set_timer(tid, 10_000_000);
            }
        }
        let mut step = |now: u64, burn: [u64; 4]| {
            {
                let mut script = machine.0.lock();
                script.now = now;
                script.asked.clear();
                for (tid, used) in [31, 32, 33, 34].into_iter().zip(burn) {
                    *script.cpu.get_mut(&tid).expect("known") += used;
                }
            }
            sweeper.sweep(Process { vm: &machine, clock: &machine, registry: &registry }, PLAN, &mut sums);
            machine.0.lock().asked.clone()
        };
        assert_eq!(step(1, [0; 4]), [31, 32, 33, 34]);
        // 31 is at 95 %; 32 was off its core; 33 has no sample; 34 no timer.
        assert_eq!(step(50_000_001, [47_500_000, 47_000_000, 50_000_000, 50_000_000]), [32, 33, 34]);
        assert_eq!(sums.wall[&0], 50_000_000);
    }

    #[test]
    fn a_thread_that_starts_between_sweeps_is_charged_from_its_beginning() {
        let machine = Machine::default();
        let registry = Registry::new();
        let mut sweeper = Sweeper::new(Vec::new());
        let mut sums = Sums::default();
        machine.0.lock().now = 1;
        sweeper.sweep(Process { vm: &machine, clock: &machine, registry: &registry }, PLAN, &mut sums);
        registry.enroll(21, 1, ThreadRef(21)).expect("a slot");
        machine.0.lock().cpu.insert(21, 9_000_000);
        machine.0.lock().now = 50_000_001;
        sweeper.sweep(Process { vm: &machine, clock: &machine, registry: &registry }, PLAN, &mut sums);
        assert_eq!(sums.cpu, BTreeMap::from([(0, 9_000_000)]));
    }
}
