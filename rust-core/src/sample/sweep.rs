//! The sampler thread's look at all Java threads.
//!
//! A thread whose CPU clock stands where it stood has not run, so its stack and state are what they
//! were: it costs one clock read, and a thread that rests for long not even that each time. One that
//! had a core all the time is where its CPU samples saw it, and is not held up. The others are asked
//! for their stack. Wall time is charged to what a thread did at the end of the time that passed; CPU
//! time likewise, for threads that have no timer, and on old JVMs what they have allocated; but what such a
//! thread used before its labels changed is charged with the labels that it had then. Labels go with
//! the stack: where they change while it is taken, the thread is looked at again next time and charged
//! with what it did before.

use super::clock::Clock;
use super::cpu::delete_timer;
use super::registry::{LabelMark, Registry, Slot, ThreadRecord, Turn, Used};
use super::{Kept, TaskLabelId, MAX_WALK};
use crate::jvm::{RawFrame, ThreadRef, ThreadStack, Vm};
use crate::profile::ThreadState;

/// Where a thread is.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// Its state; [`ThreadState::Idle`] is not decided here.
    pub state: ThreadState,
    /// Its stack.
    pub frames: Kept<'a, RawFrame>,
}

/// Takes what a sweep finds.
pub trait SweepSink {
    /// The thread in this slot is seen for the first time, or under a new name.
    fn named(&mut self, slot: Slot, name: &str);

    /// The thread's stack and state have changed; `None` if it could not be walked.
    fn changed(&mut self, slot: Slot, found: Option<Found<'_>>);

    /// The thread had a core all the time since the last sweep. If a CPU sample told where it is, that is
    /// where it is now, with the labels of that sample.
    fn ran(&mut self, slot: Slot) -> Option<TaskLabelId>;

    /// The thread spent `nanoseconds` of wall time where it is now.
    fn wall(&mut self, slot: Slot, label: TaskLabelId, nanoseconds: u64);

    /// The thread spent `nanoseconds` of CPU where it is now.
    fn cpu(&mut self, slot: Slot, label: TaskLabelId, nanoseconds: u64);

    /// The thread has used this with these labels, and was not seen meanwhile.
    fn unseen(&mut self, slot: Slot, label: TaskLabelId, used: Used);

    /// The thread has allocated `bytes` on its way to where it is now.
    fn allocated(&mut self, slot: Slot, label: TaskLabelId, bytes: u64);
}

/// What a sweep is to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepPlan {
    /// Charge wall time.
    pub wall: bool,
    /// Charge CPU time of threads without a timer.
    pub cpu: bool,
    /// Charge what threads have allocated, by their own counters.
    pub allocations: bool,
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

/// A thread that has not run for so many looks (a second, at 50 ms) rests.
const STILL: u32 = 20;
/// A thread that rests is looked at once in so many sweeps.
const RESTING_LOOKS: u32 = 8;

/// Java threads of the profiler.
const OWN_THREADS: &str = "glowplug-";

/// The sweeper's memory of the threads.
#[derive(Debug, Default)]
pub struct Sweeper {
    threads: Vec<Option<Seen>>,
    excluded: Vec<String>,
    last: Option<u64>,
    calls_since_first_sweep: u32,
    round: u32,
    read_all: bool,
    look_at_all: bool,
    /// The thread of the JVM that takes the stacks, once it was looked for; `None` where the calling one does.
    worker: Option<Option<i32>>,
}

/// What a thread that has ended was not charged with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leftover {
    /// What it allocated, and the CPU that one without timer used, after it was looked at last.
    pub used: Used,
    /// Wall nanoseconds that it rested, where it was seen last.
    pub rested: u64,
}

/// A thread whose stack is asked for.
struct Look {
    slot: Slot,
    reference: ThreadRef,
    is_new: bool,
    label: LabelMark,
}

/// What a thread is charged with.
struct Charge {
    slot: Slot,
    /// What it has used since its labels changed last.
    used: Used,
    elapsed: u64,
    /// Its labels, if its CPU is charged by sweeps.
    timerless: Option<TaskLabelId>,
}

#[derive(Debug)]
struct Seen {
    cpu: u64,
    /// Bytes that are charged already; `None` while they are not counted.
    allocated: Option<u64>,
    /// Until when wall time is charged, monotonic nanoseconds.
    charged: u64,
    /// When it was passed over last.
    passed_over: u64,
    /// Looks in a row at which the thread had not run.
    still: u32,
    named: u64,
    name: String,
    excluded: bool,
    /// Labels that go with the stack that was seen last.
    label: TaskLabelId,
    look_again: bool,
}

impl Seen {
    /// True if this sweep passes over the thread: it has rested for long and runs no task. Its time is
    /// charged at a later look, to what it does then, so that sums stay right and unbiased.
    fn rests(&self, round: u32, slot: Slot, label: TaskLabelId) -> bool {
        let turn = round.wrapping_add(slot.0) % RESTING_LOOKS == 0;
        self.still >= STILL && label == TaskLabelId(0) && !self.look_again && !turn
    }

    /// Wall nanoseconds of the sweeps that passed it over since it was charged last. What came after the last of them counts
    /// for nothing, as the time before the first sweep that sees a thread counts as if it had lived all of it.
    fn rested(&self) -> u64 {
        if self.excluded {
            0
        } else {
            self.passed_over.saturating_sub(self.charged)
        }
    }

    /// What the thread used from `settled` nanoseconds of CPU to a turn, of what is to be charged.
    fn used_until(&mut self, turn: Turn, settled: u64, plan: SweepPlan, born: bool) -> Used {
        let counted = plan.allocations && turn.until.allocated > 0;
        Used {
            cpu: if plan.cpu { turn.until.cpu.saturating_sub(settled) } else { 0 },
            allocated: if counted { self.count(turn.until.allocated, born) } else { 0 },
        }
    }

    /// Bytes to be charged, where the counter says `now`; all of them if the thread was `born` since the last sweep. The
    /// counter of a thread that runs may for a moment be ahead, never for long: so it is what it was at most.
    fn count(&mut self, now: u64, born: bool) -> u64 {
        let before = self.allocated.or(born.then_some(0));
        self.allocated = Some(now.max(before.unwrap_or(0)));
        before.map_or(0, |before| now.saturating_sub(before))
    }
}

impl Sweeper {
    /// `excluded`: names of threads that are left out of wall.
    pub fn new(excluded: Vec<String>) -> Sweeper {
        Sweeper { excluded, ..Sweeper::default() }
    }

    /// Leaves out others from now on.
    pub fn exclude(&mut self, excluded: Vec<String>) {
        for seen in self.threads.iter_mut().flatten() {
            seen.excluded = excluded.contains(&seen.name);
        }
        self.excluded = excluded;
    }

    /// Forgets threads that have ended and gives their references back. With each comes what is not charged yet.
    pub fn forget_ended(&mut self, vm: &dyn Vm, registry: &Registry, mut each: impl FnMut(Slot, Leftover)) {
        for reference in registry.take_abandoned() {
            vm.release(reference);
        }
        for ended in registry.take_ended() {
            let seen = self.threads.get_mut(ended.slot.0 as usize).and_then(Option::take);
            let at_first = self.was_born_here().then_some(0);
            let rested = seen.as_ref().map_or(0, Seen::rested);
            let (cpu, allocated) = seen.map_or((at_first, at_first), |seen| (Some(seen.cpu), seen.allocated));
            let since = |now: u64, before: Option<u64>| before.map_or(0, |before| now.saturating_sub(before));
            let used =
                Used { cpu: since(ended.used.cpu, cpu), allocated: since(ended.used.allocated, allocated) };
            each(ended.slot, Leftover { used, rested });
            if let Some(reference) = ended.reference {
                vm.release(reference);
            }
        }
        if self.last.is_some() {
            self.calls_since_first_sweep += 1;
        }
    }

    /// True if a thread that the registry tells of now, and that no sweep has seen, was born after a sweep. It ended
    /// after the last call of `forget_ended` but one; if no sweep came before that, nobody knows what it had used
    /// when we came.
    fn was_born_here(&self) -> bool {
        self.calls_since_first_sweep >= 2
    }

    /// The next sweep reads every thread's clock, so that all time until then is charged.
    pub fn read_all(&mut self) {
        self.read_all = true;
    }

    /// The next sweep looks at every thread, also at those that have not run.
    pub fn look_at_all(&mut self) {
        self.look_at_all = true;
    }

    /// The time until now counts for nothing: sampling was off.
    pub fn skip(&mut self) {
        self.last = None;
        self.calls_since_first_sweep = 0;
        self.threads.clear();
    }

    /// Looks at all threads once. Returns the CPU nanoseconds that it cost another thread than the calling one.
    pub fn sweep(&mut self, process: Process, plan: SweepPlan, sink: &mut dyn SweepSink) -> u64 {
        let Process { vm, clock, registry } = process;
        let now = clock.monotonic();
        let elapsed = now.saturating_sub(self.last.unwrap_or(now));
        self.last = Some(now);

        let look_at_all = std::mem::take(&mut self.look_at_all);
        let read_all = std::mem::take(&mut self.read_all) || look_at_all;
        self.round += 1;
        let mut look = Vec::new();
        let mut charge = Vec::new();
        for slot in registry.live() {
            let Some(record) = registry.record(slot) else { continue };
            let (Some(reference), false) = (record.reference(), record.is_own()) else { continue };
            let index = slot.0 as usize;
            if self.threads.len() <= index {
                self.threads.resize_with(index + 1, || None);
            }
            if let Some(seen) = self.threads[index].as_mut().filter(|_| !read_all) {
                if seen.rests(self.round, slot, record.label()) {
                    seen.passed_over = now;
                    continue;
                }
            }
            let Some(cpu) = clock.thread_cpu(record.tid()) else {
                // Ended without a word: a native thread that did not detach, or one listed as it ended.
                registry.dismiss(record.tid(), Used::default()).inspect(|record| delete_timer(record));
                continue;
            };
            let seen = self.threads[index].as_ref();
            let is_new = seen.is_none();
            let look_again = seen.is_some_and(|seen| seen.look_again);
            let elapsed = seen.map_or(elapsed, |seen| now - seen.charged);
            // A thread that was never seen is charged from its beginning only if we were there.
            let before = seen.map_or(if elapsed == 0 { cpu } else { 0 }, |seen| seen.cpu);
            let timerless = !record.has_timer();
            let turns = if timerless { record.take_turns() } else { Vec::new() };
            let used = cpu.saturating_sub(before);
            let has_run = used > 0 || !turns.is_empty();
            // A thread that has not run has allocated nothing.
            let counter =
                (plan.allocations && (is_new || has_run)).then(|| allocated_by(vm, record)).flatten();
            if is_new || has_run || look_at_all || look_again {
                self.refresh_name(process, slot, reference, cpu, sink);
                let had_a_core = !timerless && used > 0 && used >= elapsed / 100 * HAD_A_CORE;
                match had_a_core.then(|| sink.ran(slot)).flatten() {
                    Some(label) => self.is_known(slot, label),
                    None => look.push(Look { slot, reference, is_new, label: record.label_mark() }),
                }
            }
            if let Some(seen) = self.threads[index].as_mut() {
                seen.still = if has_run { 0 } else { seen.still.saturating_add(1) };
                let born = is_new && elapsed > 0;
                let mut settled = before;
                for turn in turns {
                    let used = seen.used_until(turn, settled, plan, born);
                    settled = settled.max(turn.until.cpu);
                    let at = Some(seen.label).filter(|_| !is_new);
                    charge_by_label(sink, slot, turn.label, at, used);
                }
                (seen.cpu, seen.charged) = (cpu.max(settled), now);
                let allocated = counter.map_or(0, |now| seen.count(now, born));
                if !plan.allocations {
                    seen.allocated = None;
                }
                if record.is_own() {
                    continue;
                }
                let cpu = if plan.cpu && timerless { cpu.saturating_sub(settled) } else { 0 };
                let timerless = timerless.then(|| record.label());
                charge.push(Charge { slot, used: Used { cpu, allocated }, elapsed, timerless });
            }
        }

        let references: Vec<_> = look.iter().map(|look| look.reference).collect();
        let (stacks, cost_elsewhere) = self.stacks(process, &references);
        for (look, stack) in look.iter().zip(&stacks) {
            let found = stack
                .as_ref()
                .map(|stack| Found { state: stack.state, frames: Kept::of(&stack.frames, plan.depth) });
            self.take(look, registry, found, sink);
        }
        for Charge { slot, used, elapsed, timerless } in charge {
            let Some(seen) = &self.threads[slot.0 as usize] else { continue };
            charge_by_label(sink, slot, timerless.unwrap_or(seen.label), Some(seen.label), used);
            if plan.wall && !seen.excluded && elapsed > 0 {
                sink.wall(slot, seen.label, elapsed);
            }
        }
        cost_elsewhere
    }

    /// Stacks of the threads, and what they cost the JVM's own thread where that one takes them: its CPU meanwhile.
    /// A collection by that thread that is under way is waited out first; one that begins at this moment is contained.
    fn stacks(&mut self, process: Process, references: &[ThreadRef]) -> (Vec<Option<ThreadStack>>, u64) {
        let Process { vm, clock, .. } = process;
        let worker = *self.worker.get_or_insert_with(|| {
            let name = vm.stacks_taken_by()?;
            clock.threads().into_iter().find(|tid| clock.thread_comm(*tid).as_deref() == Some(name))
        });
        if worker.is_some() {
            vm.wait_for_safepoint();
        }
        let cpu = || worker.and_then(|tid| clock.thread_cpu(tid)).unwrap_or(0);
        let before = cpu();
        let stacks = vm.stacks(references, MAX_WALK);
        (stacks, cpu().saturating_sub(before))
    }

    /// The thread is where a sample with this label saw it.
    fn is_known(&mut self, slot: Slot, label: TaskLabelId) {
        if let Some(seen) = &mut self.threads[slot.0 as usize] {
            (seen.label, seen.look_again) = (label, false);
        }
    }

    fn take(&mut self, look: &Look, registry: &Registry, found: Option<Found<'_>>, sink: &mut dyn SweepSink) {
        let Some(seen) = &mut self.threads[look.slot.0 as usize] else { return };
        let after = registry.record(look.slot).map(|record| record.label_mark());
        seen.look_again = after != Some(look.label);
        if !seen.look_again {
            seen.label = look.label.label();
            sink.changed(look.slot, found);
        } else if look.is_new {
            sink.changed(look.slot, None);
        }
    }

    fn refresh_name(
        &mut self,
        process: Process,
        slot: Slot,
        reference: ThreadRef,
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
        let before = seen.take();
        let (label, look_again) = before.as_ref().map_or_else(Default::default, |s| (s.label, s.look_again));
        let allocated = before.as_ref().and_then(|seen| seen.allocated);
        let (charged, still) = before.map_or((now, 0), |seen| (seen.charged, seen.still));
        *seen = Some(Seen {
            cpu,
            allocated,
            charged,
            passed_over: charged,
            still,
            named: now,
            name,
            excluded,
            label,
            look_again,
        });
    }
}

/// Charges what the thread used with the labels `label`: where it is, if it was seen with these, for which `seen`
/// are those of its last stack.
fn charge_by_label(
    sink: &mut dyn SweepSink,
    slot: Slot,
    label: TaskLabelId,
    seen: Option<TaskLabelId>,
    used: Used,
) {
    if seen != Some(label) && used != Used::default() {
        return sink.unseen(slot, label, used);
    }
    if used.cpu > 0 {
        sink.cpu(slot, label, used.cpu);
    }
    if used.allocated > 0 {
        sink.allocated(slot, label, used.allocated);
    }
}

/// What the thread's counter says; `None` if the thread was ending meanwhile, for then it may be that of another one.
fn allocated_by(vm: &dyn Vm, record: &ThreadRecord) -> Option<u64> {
    let generation = record.generation();
    let allocated = vm.allocated_bytes(record.jni_env())?;
    (record.generation() == generation).then_some(allocated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::{FoundThread, MethodId, MethodInfo, RawFrame, VmError};
    use crate::profile::ThreadState;
    use parking_lot::Mutex;
    use std::collections::BTreeMap;

    const VM_THREAD: i32 = 9;

    #[derive(Default)]
    struct Script {
        now: u64,
        cpu: BTreeMap<i32, u64>,
        allocated: BTreeMap<usize, u64>,
        counters_read: Vec<usize>,
        ends_when_read: Option<(&'static Registry, i32)>,
        /// CPU that the JVM's thread is about to use for a collection.
        collecting: u64,
        asked: Vec<usize>,
        read: Vec<i32>,
    }

    #[derive(Default)]
    struct Machine(Mutex<Script>, Mutex<Option<(&'static Registry, TaskLabelId)>>);

    impl Machine {
        /// Threads that live, each with so much CPU used.
        fn enroll_threads(&self, registry: &Registry, tids: &[i32], cpu: u64) {
            for tid in tids {
                self.0.lock().cpu.insert(*tid, cpu);
                registry.enroll(*tid, 1, ThreadRef(*tid as usize)).expect("a slot");
            }
        }
    }

    impl Clock for Machine {
        fn monotonic(&self) -> u64 {
            self.0.lock().now
        }
        fn unix(&self) -> u64 {
            0
        }
        fn thread_cpu(&self, tid: i32) -> Option<u64> {
            let mut script = self.0.lock();
            script.read.push(tid);
            script.cpu.get(&tid).copied()
        }
        fn process_cpu(&self) -> u64 {
            0
        }
        fn thread_count(&self) -> u64 {
            0
        }
        fn threads(&self) -> Vec<i32> {
            self.0.lock().cpu.keys().copied().collect()
        }
        fn thread_comm(&self, tid: i32) -> Option<String> {
            Some(if tid == VM_THREAD { "VM Thread" } else { "java" }.to_owned())
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
            if let Some(cpu) = self.0.lock().cpu.get_mut(&VM_THREAD) {
                *cpu += 40 * threads.len() as u64;
            }
            if let Some((registry, label)) = self.1.lock().take() {
                registry.label_current(label, Used::default());
            }
            let frame = RawFrame { method: MethodId(1), bci: 0 };
            threads
                .iter()
                .map(|_| Some(ThreadStack { state: ThreadState::Waiting, frames: vec![frame] }))
                .collect()
        }
        fn stacks_taken_by(&self) -> Option<&'static str> {
            Some("VM Thread")
        }
        fn wait_for_safepoint(&self) {
            let mut script = self.0.lock();
            let collecting = std::mem::take(&mut script.collecting);
            if let Some(cpu) = script.cpu.get_mut(&VM_THREAD) {
                *cpu += collecting;
            }
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
        fn counts_allocations(&self) -> bool {
            true
        }
        fn allocated_bytes(&self, jni_env: usize) -> Option<u64> {
            let mut script = self.0.lock();
            script.counters_read.push(jni_env);
            if let Some((registry, tid)) = script.ends_when_read.take() {
                registry.dismiss(tid, Used { cpu: 0, allocated: 90 });
            }
            script.allocated.get(&jni_env).copied()
        }
        fn own_allocated_bytes(&self, _: usize) -> Option<u64> {
            None
        }
    }

    #[derive(Default)]
    struct Sums {
        changes: usize,
        labels: Vec<u32>,
        wall: BTreeMap<u32, u64>,
        cpu: BTreeMap<u32, u64>,
        allocated: Vec<(u32, u64)>,
        unseen: Vec<(u32, u32, u64, u64)>,
        names: Vec<String>,
        sampled: Vec<u32>,
    }

    impl SweepSink for Sums {
        fn named(&mut self, _: Slot, name: &str) {
            self.names.push(name.to_owned());
        }
        fn changed(&mut self, _: Slot, found: Option<Found<'_>>) {
            assert!(found.is_some());
            self.changes += 1;
        }
        fn ran(&mut self, slot: Slot) -> Option<TaskLabelId> {
            self.sampled.contains(&slot.0).then_some(TaskLabelId(0))
        }
        fn wall(&mut self, slot: Slot, label: TaskLabelId, nanoseconds: u64) {
            self.labels.push(label.0);
            *self.wall.entry(slot.0).or_default() += nanoseconds;
        }
        fn cpu(&mut self, slot: Slot, _: TaskLabelId, nanoseconds: u64) {
            *self.cpu.entry(slot.0).or_default() += nanoseconds;
        }
        fn unseen(&mut self, slot: Slot, label: TaskLabelId, used: Used) {
            self.unseen.push((slot.0, label.0, used.cpu, used.allocated));
        }
        fn allocated(&mut self, slot: Slot, _: TaskLabelId, bytes: u64) {
            self.allocated.push((slot.0, bytes));
        }
    }

    const PLAN: SweepPlan = SweepPlan { wall: true, cpu: true, allocations: false, depth: 64 };
    const COUNTING: SweepPlan = SweepPlan { allocations: true, ..PLAN };

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
    fn a_task_that_begins_or_ends_while_stacks_are_taken_is_charged_from_the_next_look_on() {
        let machine = Machine::default();
        let registry: &'static Registry = Box::leak(Box::default());
        let mut sweeper = Sweeper::new(Vec::new());
        let mut sums = Sums::default();
        let tid = crate::sample::registry::current_tid();
        registry.enroll(tid, 1, ThreadRef(31)).expect("a slot");
        machine.0.lock().cpu.insert(tid, 1);
        let mut step = |used: u64, label_meanwhile: Option<u32>| {
            {
                let mut script = machine.0.lock();
                script.now += 50_000_000;
                *script.cpu.get_mut(&tid).expect("known") += used;
            }
            *machine.1.lock() = label_meanwhile.map(|label| (registry, TaskLabelId(label)));
            (sums.changes, sums.labels) = (0, Vec::new());
            sweeper.sweep(Process { vm: &machine, clock: &machine, registry }, PLAN, &mut sums);
            (sums.changes, sums.labels.clone())
        };
        assert_eq!(step(0, None), (1, vec![]), "seen for the first time");
        assert_eq!(step(5, Some(7)), (0, vec![0]), "the stack may be from before or after");
        assert_eq!(step(0, None), (1, vec![7]), "looked at again, though it has not run");
        assert_eq!(step(5, Some(0)), (0, vec![7]));
        assert_eq!(step(0, None), (1, vec![0]));
        assert_eq!(step(0, None), (0, vec![0]), "it has not run");
    }

    #[test]
    fn tasks_between_two_looks_are_charged_with_what_they_used() {
        let mut counting = Counting::new();
        let tid = crate::sample::registry::current_tid();
        let at = |cpu, allocated| Used { cpu, allocated };
        counting.enroll(tid);
        let run_to = |counting: &Counting, used: Used| {
            let mut script = counting.machine.0.lock();
            script.cpu.insert(tid, used.cpu);
            script.allocated.insert(tid as usize * 10, used.allocated);
        };
        run_to(&counting, at(100, 1_000));
        counting.sweep(COUNTING);
        let registry = counting.registry;
        registry.label_current(TaskLabelId(1), at(110, 1_001));
        registry.label_current(TaskLabelId(0), at(150, 1_201));
        registry.label_current(TaskLabelId(2), at(160, 1_203));
        run_to(&counting, at(190, 1_213));
        assert_eq!(
            counting.sweep(COUNTING),
            [(0, 1), (0, 2), (0, 10)],
            "before, between, and in the last task"
        );
        assert_eq!(counting.sums.unseen, [(0, 1, 40, 200)], "a task that nobody saw");
        assert_eq!(counting.sums.cpu, BTreeMap::from([(0, 10 + 10 + 30)]));

        registry.label_current(TaskLabelId(0), at(195, 1_220));
        run_to(&counting, at(195, 1_220));
        assert_eq!(counting.sweep(COUNTING), [(0, 7)], "the rest of a task, where it was seen last");
        assert_eq!(counting.sums.cpu, BTreeMap::from([(0, 55)]));
        assert_eq!(counting.sums.unseen.len(), 1);
    }

    #[test]
    fn a_thread_that_ends_leaves_the_cpu_that_no_sweep_saw() {
        let machine = Machine::default();
        let registry = Registry::new();
        let mut sweeper = Sweeper::new(Vec::new());
        for (tid, cpu) in [(51, 100), (52, 200)] {
            machine.0.lock().cpu.insert(tid, cpu);
            registry.enroll(tid, 1, ThreadRef(tid as usize)).expect("a slot");
        }
        let process = Process { vm: &machine, clock: &machine, registry: &registry };
        for _ in 0..3 {
            sweeper.forget_ended(&machine, &registry, |slot, _| panic!("{slot:?} has not ended"));
            sweeper.sweep(process, PLAN, &mut Sums::default());
        }
        let timed = registry.enroll(53, 1, ThreadRef(53)).expect("a slot");
        registry.record(timed).expect("record").set_timer(7, 10_000_000);
        registry.enroll(54, 1, ThreadRef(54)).expect("a slot");
        for (tid, cpu) in [(51, 130), (53, 40), (54, 50)] {
            registry.dismiss(tid, Used { cpu, allocated: 0 });
        }
        let mut ended = Vec::new();
        sweeper.forget_ended(&machine, &registry, |slot, left| ended.push((slot.0, left.used.cpu)));
        assert_eq!(ended, [], "their samples may still come");
        sweeper.forget_ended(&machine, &registry, |slot, left| ended.push((slot.0, left.used.cpu)));
        assert_eq!(ended, [(0, 30), (2, 0), (3, 50)]);
    }

    #[test]
    fn a_thread_that_ends_before_the_first_sweep_is_not_charged_with_its_life_before_us() {
        let machine = Machine::default();
        let registry = Registry::new();
        let mut sweeper = Sweeper::new(Vec::new());
        let ends = |tid: i32| {
            registry.enroll(tid, 1, ThreadRef(tid as usize)).expect("a slot");
            registry.dismiss(tid, Used { cpu: 7_000, allocated: 7_000 });
        };
        // As the sampler does: what has ended is forgotten, then comes the sweep.
        let rounds = |sweeper: &mut Sweeper, between: &dyn Fn()| {
            let mut charged = Vec::new();
            for round in 0..4 {
                sweeper.forget_ended(&machine, &registry, |_, left| {
                    charged.push((left.used.cpu, left.used.allocated))
                });
                if round == 0 {
                    between();
                }
                let process = Process { vm: &machine, clock: &machine, registry: &registry };
                sweeper.sweep(process, PLAN, &mut Sums::default());
            }
            charged
        };
        ends(51);
        assert_eq!(rounds(&mut sweeper, &|| ends(52)), [(0, 0), (0, 0)], "one just before the first sweep");
        ends(53);
        assert_eq!(rounds(&mut sweeper, &|| ends(54)), [(7_000, 7_000); 2], "born under our eyes");
        sweeper.skip();
        ends(55);
        assert_eq!(rounds(&mut sweeper, &|| ends(56)), [(0, 0), (0, 0)], "sampling was off");
    }

    #[test]
    fn a_thread_that_rests_is_passed_over_and_charged_in_full() {
        let machine = Machine::default();
        let registry = Registry::new();
        let mut sweeper = Sweeper::new(Vec::new());
        let mut sums = Sums::default();
        machine.enroll_threads(&registry, &[41, 42], 0);
        let mut now = 0;
        let mut sweep = |sweeper: &mut Sweeper, sums: &mut Sums| {
            now += 50_000_000;
            let mut script = machine.0.lock();
            script.now = now;
            script.read.clear();
            *script.cpu.get_mut(&41).expect("known") += 1_000;
            drop(script);
            sweeper.sweep(Process { vm: &machine, clock: &machine, registry: &registry }, PLAN, sums);
            machine.0.lock().read.clone()
        };
        for _ in 0..STILL {
            assert_eq!(sweep(&mut sweeper, &mut sums), [41, 42]);
        }
        let reads: Vec<_> = (0..RESTING_LOOKS).map(|_| sweep(&mut sweeper, &mut sums).len()).collect();
        assert_eq!(reads.iter().filter(|count| **count == 2).count(), 1, "{reads:?}");
        sweeper.read_all();
        assert_eq!(sweep(&mut sweeper, &mut sums), [41, 42]);
        let all = u64::from(STILL + RESTING_LOOKS) * 50_000_000;
        assert_eq!(sums.wall, BTreeMap::from([(0, all), (1, all)]));
    }

    #[test]
    fn a_thread_that_ends_while_it_rests_is_charged_up_to_the_last_sweep_of_its_life() {
        let machine = Machine::default();
        let registry = Registry::new();
        let mut sweeper = Sweeper::new(vec!["thread-42".to_string()]);
        let mut sums = Sums::default();
        machine.enroll_threads(&registry, &[41, 42], 0);
        let mut rounds = |count: u32| {
            let mut left = Vec::new();
            for _ in 0..count {
                machine.0.lock().now += 50_000_000;
                sweeper
                    .forget_ended(&machine, &registry, |slot, leftover| left.push((slot.0, leftover.rested)));
                sweeper.sweep(
                    Process { vm: &machine, clock: &machine, registry: &registry },
                    PLAN,
                    &mut sums,
                );
            }
            (left, sums.wall.values().sum::<u64>() / 50_000_000)
        };
        let looks = 1 + STILL + RESTING_LOOKS;
        let (_, charged) = rounds(looks);
        registry.dismiss(41, Used::default());
        registry.dismiss(42, Used::default());
        let (left, charged_at_last) = rounds(2);
        assert_eq!(charged_at_last, charged, "the dead are not looked at");
        let owed = u64::from(looks - 1) - charged;
        assert!(owed > 0, "it was not passed over");
        assert_eq!(left, [(0, owed * 50_000_000), (1, 0)]);
    }

    #[test]
    fn what_stacks_cost_the_thread_of_the_jvm_that_takes_them_is_told() {
        let machine = Machine::default();
        let registry = Registry::new();
        let mut sweeper = Sweeper::new(Vec::new());
        machine.0.lock().cpu.extend([(VM_THREAD, 5_000), (41, 1), (42, 1)]);
        for tid in [41, 42] {
            registry.enroll(tid, 1, ThreadRef(tid as usize)).expect("a slot");
        }
        let mut sweep = || {
            sweeper.sweep(
                Process { vm: &machine, clock: &machine, registry: &registry },
                PLAN,
                &mut Sums::default(),
            )
        };
        assert_eq!(sweep(), 80, "two stacks");
        machine.0.lock().cpu.extend([(VM_THREAD, 9_000), (42, 2)]);
        assert_eq!(sweep(), 40, "what it did between two sweeps was not for us");
        machine.0.lock().cpu.insert(42, 3);
        machine.0.lock().collecting = 7_000;
        assert_eq!(sweep(), 40, "nor the collection that we came into");
    }

    #[test]
    fn a_thread_that_ended_without_a_word_is_forgotten() {
        let machine = Machine::default();
        let registry = Registry::new();
        let mut sweeper = Sweeper::new(Vec::new());
        machine.enroll_threads(&registry, &[51, 52], 1_000);
        let mut sweep = |registry: &Registry| {
            machine.0.lock().now += 50_000_000;
            let process = Process { vm: &machine, clock: &machine, registry };
            sweeper.sweep(process, PLAN, &mut Sums::default());
        };
        sweep(&registry);
        machine.0.lock().cpu.remove(&51);
        sweep(&registry);
        assert_eq!(registry.live(), [Slot(1)]);
        assert_eq!(registry.record(Slot(0)).map(|record| record.jni_env()), Some(0));
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

    /// Threads 61, 62, … with the JNIEnv 610, 620, …
    struct Counting {
        machine: Machine,
        registry: &'static Registry,
        sweeper: Sweeper,
        sums: Sums,
    }

    impl Counting {
        fn new() -> Counting {
            let registry: &'static Registry = Box::leak(Box::default());
            Counting {
                machine: Machine::default(),
                registry,
                sweeper: Sweeper::new(Vec::new()),
                sums: Sums::default(),
            }
        }

        fn enroll(&self, tid: i32) {
            self.registry.enroll(tid, tid as usize * 10, ThreadRef(tid as usize)).expect("a slot");
            self.machine.0.lock().cpu.insert(tid, 0);
        }

        /// The thread runs and its counter comes to `allocated`.
        fn run(&self, tid: i32, allocated: u64) {
            let mut script = self.machine.0.lock();
            *script.cpu.get_mut(&tid).expect("known") += 1_000;
            script.allocated.insert(tid as usize * 10, allocated);
        }

        /// What is charged, by slot.
        fn sweep(&mut self, plan: SweepPlan) -> Vec<(u32, u64)> {
            self.machine.0.lock().now += 10_000_000;
            self.machine.0.lock().counters_read.clear();
            let process = Process { vm: &self.machine, clock: &self.machine, registry: self.registry };
            self.sweeper.sweep(process, plan, &mut self.sums);
            std::mem::take(&mut self.sums.allocated)
        }

        fn ended(&mut self) -> Vec<(u32, u64)> {
            let mut ended = Vec::new();
            for _ in 0..2 {
                let each = |slot: Slot, left: Leftover| ended.push((slot.0, left.used.allocated));
                self.sweeper.forget_ended(&self.machine, self.registry, each);
            }
            ended
        }
    }

    #[test]
    fn what_a_thread_allocates_between_two_looks_is_charged_at_the_second() {
        let mut counting = Counting::new();
        counting.enroll(61);
        counting.enroll(62);
        counting.run(61, 1_000);
        counting.run(62, 2_000);
        assert_eq!(counting.sweep(COUNTING), [], "that was before we came");
        counting.run(61, 1_300);
        assert_eq!(counting.sweep(COUNTING), [(0, 300)]);
        assert_eq!(counting.machine.0.lock().counters_read, [610], "who has not run is not even asked");
        counting.run(61, 1_300);
        counting.run(62, 2_064);
        assert_eq!(counting.sweep(COUNTING), [(1, 64)]);
        counting.enroll(63);
        counting.run(63, 512);
        assert_eq!(counting.sweep(COUNTING), [(2, 512)], "a new thread's from its beginning");
    }

    #[test]
    fn a_counter_that_was_ahead_for_a_moment_is_not_charged_twice() {
        let mut counting = Counting::new();
        counting.enroll(61);
        counting.run(61, 1_000);
        counting.sweep(COUNTING);
        let charged: Vec<_> = [1_800, 1_400, 1_700, 1_900]
            .into_iter()
            .map(|counter| {
                counting.run(61, counter);
                counting.sweep(COUNTING).iter().map(|(_, bytes)| bytes).sum::<u64>()
            })
            .collect();
        assert_eq!(charged, [800, 0, 0, 100]);
    }

    #[test]
    fn a_thread_that_ends_leaves_the_bytes_that_no_sweep_saw() {
        let mut counting = Counting::new();
        counting.enroll(62);
        counting.run(62, 100);
        for _ in 0..3 {
            assert_eq!(counting.ended(), []);
            counting.sweep(COUNTING);
        }
        counting.enroll(63);
        for (tid, allocated) in [(62, 130), (63, 50)] {
            counting.registry.dismiss(tid, Used { cpu: 0, allocated });
        }
        assert_eq!(counting.ended(), [(0, 30), (1, 50)], "63 was never seen");
    }

    #[test]
    fn a_thread_that_ends_while_its_counter_is_read_is_charged_at_its_end_alone() {
        let mut counting = Counting::new();
        counting.enroll(61);
        counting.run(61, 60);
        counting.sweep(COUNTING);
        counting.run(61, 1 << 40);
        counting.machine.0.lock().ends_when_read = Some((counting.registry, 61));
        assert_eq!(counting.sweep(COUNTING), [], "it may be another one's counter by now");
        assert_eq!(counting.ended(), [(0, 30)]);
    }

    #[test]
    fn what_is_allocated_while_the_engine_is_off_is_not_charged_later() {
        let mut counting = Counting::new();
        counting.enroll(61);
        counting.run(61, 100);
        counting.sweep(COUNTING);
        counting.run(61, 200);
        assert_eq!(counting.sweep(PLAN), []);
        assert_eq!(counting.machine.0.lock().counters_read, [0_usize; 0]);
        counting.run(61, 300);
        assert_eq!(counting.sweep(COUNTING), [], "the first look only reads");
        counting.run(61, 340);
        assert_eq!(counting.sweep(COUNTING), [(0, 40)]);
    }
}
