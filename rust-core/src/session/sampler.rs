//! The sampler thread's loop.

use super::collector::Collector;
use super::governor::{Costs, Governor, MAX_FACTOR, WINDOW};
use super::{Closing, Level, Shared};
use crate::profile::{Mark, ProcessStatus, TaskTotals, ValueType, Warning};
use crate::relay::{period_of, Delta};
use crate::sample::cpu::CpuTimers;
use crate::sample::registry::Used;
use crate::sample::runtime::RuntimeThreads;
use crate::sample::sweep::{Leftover, Process, SweepPlan, Sweeper};
use crate::sample::{read_record, registry};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

/// The ring holds 2 000 samples, and class names can go away: neither waits longer.
const DRAIN: u64 = 50_000_000;
/// How much longer than [`DRAIN`] is waited where all intervals are longer: class names still wait for 0.2 s at most.
const MOST_DRAINS_SKIPPED: u32 = 4;
/// Threads of the JVM itself are looked at once a second, and costs are taken.
const SECOND: u64 = 1_000_000_000;
/// Without the wall engine threads are still swept, for names, ends, and CPU of threads without timer.
const SWEEP_WITHOUT_WALL: u64 = 100_000_000;
/// Allocation samples a second above which the JVM is told to pick fewer.
const ALLOCATIONS_PER_SECOND: u64 = 200;

pub(super) struct Sampler {
    shared: Arc<Shared>,
    collector: Collector,
    sweeper: Sweeper,
    runtime: RuntimeThreads,
    governor: Governor,
    mark: Mark,
    delta_from: u64,
    /// When the last delta was handed on; `None` before the first.
    last_delta: Option<u64>,
    begun: u64,
    sampled_cpu: u64,
    own_cpu: u64,
    longest_pause: u64,
    alloc_interval: u64,
    /// Allocations are what the threads' own counters say: this JVM tells of none.
    counts_allocations: bool,
    refusal_told: bool,
    limit_told: bool,
    due: Due,
}

/// Monotonic nanoseconds at which each chore comes next.
#[derive(Debug, Default)]
struct Due {
    drain: u64,
    sweep: u64,
    runtime: u64,
    second: u64,
    governor: u64,
}

impl Due {
    fn from(now: u64) -> Due {
        Due { drain: now + DRAIN, sweep: now, runtime: now, second: now, governor: now + WINDOW }
    }
}

impl Sampler {
    pub(super) fn new(shared: Arc<Shared>) -> Sampler {
        let collector = Collector::new(shared.vm.clone(), shared.registry, shared.labels.clone());
        let plan = shared.plan();
        let counts_allocations = shared.engines.lock().counts_allocations();
        Sampler {
            sweeper: Sweeper::new(plan.threads_exclude.clone()),
            governor: Governor::new(plan.overhead_limit),
            alloc_interval: plan.alloc_interval.unwrap_or(0),
            counts_allocations,
            delta_from: shared.clock.unix(),
            collector,
            shared,
            runtime: RuntimeThreads::default(),
            mark: Mark::default(),
            last_delta: None,
            begun: 0,
            sampled_cpu: 0,
            own_cpu: 0,
            longest_pause: 0,
            refusal_told: false,
            limit_told: false,
            due: Due::default(),
        }
    }

    /// Runs until the session stops. A panic ends it, and is told by whoever called.
    pub(super) fn run(&mut self) {
        self.begun = self.shared.clock.monotonic();
        self.due = Due::from(self.begun);
        loop {
            let due = &self.due;
            let next = due.drain.min(due.sweep).min(due.runtime).min(due.second).min(self.next_delta());
            let wait = Duration::from_nanos(next.saturating_sub(self.shared.clock.monotonic()));
            let Some(request) = self.shared.await_request(wait) else { return };
            if self.shared.replanned.swap(false, Ordering::AcqRel) {
                self.take_plan();
            }
            if self.shared.test_panic("sampler") {
                panic!("injected on the sampler thread");
            }
            self.chores(self.shared.clock.monotonic());
            match request {
                Some(closing) => self.close(Some(closing)),
                None if self.delta_is_due() => self.close(None),
                None => {}
            }
        }
    }

    /// Another SparkContext, or the plugin after the agent, wants something else.
    fn take_plan(&mut self) {
        self.shared.start_engines();
        let plan = self.shared.plan();
        self.sweeper.exclude(plan.threads_exclude.clone());
        self.governor = Governor::new(plan.overhead_limit);
        self.alloc_interval = plan.alloc_interval.unwrap_or(0);
        self.due = Due::from(self.shared.clock.monotonic());
    }

    fn chores(&mut self, now: u64) {
        if now >= self.due.sweep {
            self.sweep();
            self.due.sweep = now + self.sweep_interval();
            // A sweep drains first; both at once wake the thread half as often.
            self.due.drain = now + self.drain_interval();
        }
        if now >= self.due.drain {
            self.drain();
            self.due.drain = now + self.drain_interval();
        }
        if now >= self.due.runtime {
            self.look_at_runtime();
            self.due.runtime = now + SECOND * u64::from(self.governor.factor());
        }
        if now >= self.due.second {
            self.every_second();
            self.due.second = now + SECOND;
        }
        if now >= self.due.governor {
            self.govern(now);
            self.due.governor = now + WINDOW;
        }
    }

    /// Where samples are rarer, so are looks into the ring: each wakes the thread.
    fn drain_interval(&self) -> u64 {
        DRAIN * u64::from(self.governor.factor().min(MOST_DRAINS_SKIPPED))
    }

    fn sweep_interval(&self) -> u64 {
        let plan = self.shared.plan();
        let wall = plan.wall_interval.map_or(SWEEP_WITHOUT_WALL, |interval| interval.as_nanos() as u64);
        let by_sweep = plan.cpu_interval.filter(|_| self.shared.timers().is_none());
        let interval = by_sweep.map_or(wall, |interval| (interval.as_nanos() as u64).min(wall));
        interval * u64::from(self.governor.factor())
    }

    fn sweep(&mut self) {
        self.forget_ended();
        let shared = self.shared.clone();
        if shared.is_paused() {
            self.sweeper.skip();
            return;
        }
        let begin = shared.clock.monotonic();
        let process = Process { vm: &*shared.vm, clock: &*shared.clock, registry: shared.registry };
        self.own_cpu += self.sweeper.sweep(process, self.sweep_plan(), &mut self.collector);
        self.longest_pause = self.longest_pause.max(shared.clock.monotonic() - begin);
    }

    fn sweep_plan(&self) -> SweepPlan {
        let plan = self.shared.plan();
        SweepPlan {
            wall: plan.wall_interval.is_some(),
            cpu: plan.cpu_interval.is_some(),
            allocations: self.counts_allocations && plan.alloc_interval.is_some(),
            depth: plan.depth,
        }
    }

    /// Charges threads that had ended at the last call with what they left.
    fn forget_ended(&mut self) {
        // What a thread wrote before it ended is folded under its name before the slot is free.
        self.drain();
        let plan = self.sweep_plan();
        let shared = self.shared.clone();
        let collector = &mut self.collector;
        let paused = shared.is_paused();
        self.sweeper.forget_ended(&*shared.vm, shared.registry, |slot, left| {
            let kept = |wanted: bool, value: u64| if wanted && !paused { value } else { 0 };
            let cpu = kept(plan.cpu, left.used.cpu);
            let used = Used { cpu, allocated: kept(plan.allocations, left.used.allocated) };
            collector.forget(slot, Leftover { used, rested: kept(plan.wall, left.rested) });
        });
    }

    fn drain(&mut self) {
        let collector = &mut self.collector;
        self.shared.ring.drain(|tag, words| {
            if let Some(stack) = read_record(tag, words) {
                collector.add(&stack);
            }
        });
        let (count, weight) = self.shared.ring.take_dropped();
        if count > 0 {
            self.collector.add_lost(count, weight);
        }
    }

    /// Charges CPU of the threads that are not Java's; it takes a look at every thread of the process.
    fn look_at_runtime(&mut self) {
        let shared = self.shared.clone();
        let collector = &mut self.collector;
        let paused = shared.is_paused();
        self.runtime.collect(&*shared.clock, shared.registry, |cpu| {
            if !paused && shared.plan().cpu_interval.is_some() {
                collector.add_runtime(&cpu);
            }
        });
    }

    fn every_second(&mut self) {
        let shared = self.shared.clone();
        let (taken, nanoseconds) = shared.allocations.take_counts();
        self.own_cpu += nanoseconds + shared.class_cpu.swap(0, Ordering::Relaxed);
        self.pace_allocations(taken);
        if let Some(timers) = shared.timers() {
            self.own_cpu += timers.take_handler_time();
            self.tell_refusal(timers);
        }
    }

    /// Says once that threads run without a timer, whenever that begins.
    fn tell_refusal(&mut self, timers: &CpuTimers) {
        let Some(error) = timers.take_refusal().filter(|_| !self.refusal_told) else { return };
        self.refusal_told = true;
        let message = format!("{error}; threads without a timer are sampled by the sampler thread instead");
        self.shared.warn(Level::Warn, Warning { code: "timer-refused".to_owned(), message });
    }

    /// Doubles the distance of allocation samples while there are too many, and halves it again.
    fn pace_allocations(&mut self, taken: u64) {
        if self.counts_allocations {
            return;
        }
        let Some(set) = self.shared.plan().alloc_interval else { return };
        let floor = set * u64::from(self.governor.factor());
        let interval = if taken > ALLOCATIONS_PER_SECOND {
            self.alloc_interval.saturating_mul(2)
        } else if taken < ALLOCATIONS_PER_SECOND / 4 {
            (self.alloc_interval / 2).max(floor)
        } else {
            self.alloc_interval.max(floor)
        };
        if interval != self.alloc_interval && self.shared.vm.set_allocation_interval(interval).is_ok() {
            self.alloc_interval = interval;
            self.shared.allocations.set_interval(interval);
        }
    }

    fn govern(&mut self, now: u64) {
        let costs = Costs { time: now, own: self.sampling_cpu(), process: self.shared.clock.process_cpu() };
        let step = self.governor.look(costs);
        if self.governor.is_at_its_end() && !self.limit_told {
            self.limit_told = true;
            let limit = 100.0 * self.shared.plan().overhead_limit;
            let message = format!(
                "the profiler uses more than spark.glowplug.overhead.limit ({limit} % of the process's CPU), though all \
                 intervals are {MAX_FACTOR} times as long as set; an engine that is off costs nothing"
            );
            self.shared.warn(Level::Warn, Warning { code: "overhead-limit-exceeded".to_owned(), message });
        }
        let Some(factor) = step else { return };
        if let (Some(timers), Some(interval)) = (self.shared.timers(), self.shared.plan().cpu_interval) {
            timers.retime(interval.as_nanos() as u64 * u64::from(factor));
        }
        let limit = 100.0 * self.shared.plan().overhead_limit;
        let message = format!(
            "to stay within spark.glowplug.overhead.limit ({limit} % of the process's CPU), all intervals are now \
             {factor} times as long as set; weights follow, so sums stay right"
        );
        // Nothing failed: this is how the limit is kept.
        self.shared.warn(Level::Info, Warning { code: "intervals-stretched".to_owned(), message });
    }

    fn own_cpu_total(&self) -> u64 {
        let clock = &self.shared.clock;
        let threads = self.shared.registry.live().into_iter().filter_map(|slot| {
            let record = self.shared.registry.record(slot)?;
            record.is_own().then(|| clock.thread_cpu(record.tid())).flatten()
        });
        self.sampling_cpu() + threads.sum::<u64>()
    }

    /// What intervals govern: this thread, handlers and callbacks. A folder costs the io thread the same however few samples
    /// are in it.
    fn sampling_cpu(&self) -> u64 {
        self.own_cpu + self.shared.clock.thread_cpu(registry::current_tid()).unwrap_or(0)
    }

    /// The driver's answer to a delta can bring the next one forward.
    fn next_delta(&self) -> u64 {
        let (from, interval) = match self.last_delta {
            Some(at) => (at, self.shared.delta_interval()),
            None => (self.begun, self.shared.first_delta),
        };
        from + interval.as_nanos() as u64
    }

    fn delta_is_due(&self) -> bool {
        let shared = &self.shared;
        let now = shared.driver_time(shared.clock.unix());
        let crossed = period_of(now, shared.plan().report_interval)
            != period_of(shared.driver_time(self.delta_from), shared.plan().report_interval);
        crossed
            || shared.clock.monotonic() >= self.next_delta()
            || self.collector.memory() > shared.plan().memory_limit
    }

    /// Hands on what was collected since the last delta.
    fn close(&mut self, request: Option<Closing>) {
        if request.is_some() {
            self.sweeper.read_all();
            self.sweep();
            // What ended since the sweep before that one: there may be no other.
            self.forget_ended();
            self.look_at_runtime();
            self.every_second();
        }
        let shared = self.shared.clone();
        let now = shared.clock.unix();
        let cells = self.collector.take_cells().sorted();
        self.sampled_cpu += cells.iter().map(|(_, values)| values.get(ValueType::Cpu)).sum::<u64>();
        let tasks: Vec<TaskTotals> = std::mem::take(&mut *shared.tasks.lock());
        let dictionary = self.collector.dictionary();
        let delta = Delta {
            epoch: self.collector.epoch(),
            from: self.delta_from,
            to: now,
            last: request.as_ref().is_some_and(|closing| closing.last),
            ending: request.as_ref().map(|closing| closing.ending.clone()).unwrap_or_default(),
            dictionary: dictionary.since(self.mark),
            cells,
            status: self.status(),
            tasks,
            warnings: shared.take_warnings(),
            ..Delta::default()
        };
        self.mark = dictionary.mark();
        self.delta_from = now;
        self.last_delta = Some(shared.clock.monotonic());
        shared.hand_on(delta);
        // Whoever comes after the last delta knows none of the names.
        let last = request.as_ref().is_some_and(|closing| closing.last);
        if last || self.collector.memory() > shared.plan().memory_limit / 2 {
            self.collector.start_epoch();
            self.sweeper.look_at_all();
            self.mark = Mark::default();
        } else if shared.names_are_wanted() {
            shared.give_names(self.collector.dictionary(), self.collector.epoch());
        }
        if let Some(closing) = request {
            closing.done();
        }
    }

    fn status(&self) -> ProcessStatus {
        ProcessStatus {
            samples: self.collector.samples(),
            lost: self.collector.lost(),
            sampled_cpu: self.sampled_cpu,
            own_cpu: self.own_cpu_total(),
            process_cpu: self.shared.clock.process_cpu(),
            longest_pause: self.longest_pause,
            native_memory: (self.collector.memory() + self.shared.fixed_memory()) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{shared, shared_into, Stage};
    use super::super::Inbox;
    use super::*;
    use crate::jvm::ThreadRef;

    const MIB: u64 = 1 << 20;

    #[test]
    fn allocation_samples_are_rarer_while_there_are_many_and_never_denser_than_set() {
        let stage = Arc::new(Stage::default());
        let mut sampler = Sampler::new(shared(&stage));
        for taken in [201, 5_000, 200, 50, 49, 10, 0, 0] {
            sampler.pace_allocations(taken);
        }
        assert_eq!(*stage.allocation_intervals.lock(), [4 * MIB, 8 * MIB, 4 * MIB, 2 * MIB]);
    }

    #[test]
    fn a_folder_that_is_written_stretches_no_interval_and_is_counted() {
        let stage = Arc::new(Stage::default());
        let shared = shared(&stage);
        let registry = shared.registry;
        // Only a thread itself can say that it is the profiler's own.
        let writer = std::thread::spawn(move || {
            registry.enroll(registry::current_tid(), 0, ThreadRef(1)).expect("a slot");
            registry.disown_current().expect("its slot").tid()
        });
        let writer = writer.join().expect("the writer");
        let mut sampler = Sampler::new(shared);
        for window in 1..=6 {
            stage.threads.lock().insert(writer, window * SECOND);
            sampler.govern(window * WINDOW);
        }
        assert_eq!((sampler.governor.factor(), sampler.own_cpu_total()), (1, 6 * SECOND));
        stage.threads.lock().insert(registry::current_tid(), 6 * SECOND);
        sampler.govern(7 * WINDOW);
        assert_eq!((sampler.governor.factor(), sampler.own_cpu_total()), (2, 12 * SECOND));
    }

    #[test]
    fn a_delta_ends_where_a_period_ends() {
        let stage = Arc::new(Stage::default());
        let minutes = |minutes: u64| minutes * 60 * SECOND;
        stage.unix.store(minutes(20) - 2 * SECOND, Ordering::Relaxed);
        let shared = shared(&stage);
        let sampler = Sampler::new(shared.clone());
        let due_at = |unix: u64| {
            stage.unix.store(unix, Ordering::Relaxed);
            sampler.delta_is_due()
        };
        assert_eq!([due_at(minutes(20) - 1), due_at(minutes(20))], [false, true]);
        // The driver's clock, which is a minute ahead, says where periods end.
        shared.clock_offset.store(minutes(1) as i64, Ordering::Relaxed);
        assert_eq!([due_at(minutes(20)), due_at(minutes(24) - 1), due_at(minutes(24))], [false, false, true]);
    }

    #[test]
    fn what_a_thread_rested_is_in_the_last_delta_though_it_ends_just_before() {
        const SWEEP: u64 = 50_000_000;
        let stage = Arc::new(Stage::default());
        let inbox = Arc::new(Inbox::default());
        let shared = shared_into(&stage, inbox.clone());
        let mut sampler = Sampler::new(shared.clone());
        stage.threads.lock().insert(41, 7);
        shared.registry.enroll(41, 1, ThreadRef(41)).expect("a slot");
        for round in 0..30 {
            stage.monotonic.store(round * SWEEP, Ordering::Relaxed);
            sampler.sweep();
        }
        stage.threads.lock().remove(&41);
        shared.registry.dismiss(41, registry::Used::default()).expect("it was there");
        sampler.close(Some(Closing { last: true, ending: "shutdown".to_owned(), finished: Arc::default() }));
        let deltas = inbox.take();
        let wall =
            deltas.iter().flat_map(|delta| &delta.cells).map(|(_, values)| values.get(ValueType::Wall));
        assert_eq!(wall.sum::<u64>(), 29 * SWEEP);
    }

    #[test]
    fn a_delta_is_due_after_its_time() {
        let stage = Arc::new(Stage::default());
        let shared = shared(&stage);
        let mut sampler = Sampler::new(shared.clone());
        let due_at = |sampler: &Sampler, seconds: u64| {
            stage.monotonic.store(seconds * SECOND, Ordering::Relaxed);
            sampler.delta_is_due()
        };
        assert_eq!([3, 4].map(|at| due_at(&sampler, at)), [false, true], "the first one leaves early");
        sampler.close(None);
        assert_eq!([13, 14].map(|at| due_at(&sampler, at)), [false, true]);
    }
}
