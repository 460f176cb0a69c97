//! The life of a profiler in one JVM: owns the threads, the clock, the periods, the shutdown.

mod collector;
mod engines;
mod governor;
mod inbox;
mod labels;
mod sampler;
mod sender;
#[cfg(test)]
pub(crate) mod testing;

pub use engines::{CpuEngine, EngineReport, Engines, Machine};
pub use inbox::Inbox;
pub use sender::{Outgoing, Sender};

pub use crate::sample::clock::{Clock, SystemClock};

use crate::jvm::Vm;
use crate::profile::{Dictionary, TaskLabels, TaskTotals, Warning};
use crate::relay::Delta;
use crate::sample::alloc::AllocationSampler;
use crate::sample::cpu::{delete_timer, CpuTimers};
use crate::sample::registry::{current_tid, Registry, Used};
use crate::sample::ring::{Ring, RING_WORDS};
use crate::sample::TaskLabelId;
use crate::settings::Settings;
use labels::LabelTable;
use once_cell::sync::OnceCell;
use parking_lot::{Condvar, Mutex, RwLock};
use sampler::Sampler;
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a session is to do; the part of [`Settings`] that the sampler thread needs.
#[derive(Debug, Clone)]
pub struct Plan {
    /// CPU time between samples of one thread; `None`: off.
    pub cpu_interval: Option<Duration>,
    /// Wall time between sweeps; `None`: off.
    pub wall_interval: Option<Duration>,
    /// Mean bytes between allocation samples; `None`: off.
    pub alloc_interval: Option<u64>,
    /// Most frames of a stack.
    pub depth: usize,
    /// Threads left out of wall.
    pub threads_exclude: Vec<String>,
    /// Part of the process's CPU that the profiler may use.
    pub overhead_limit: f64,
    /// Bytes for tree and names.
    pub memory_limit: usize,
    /// Periods' length: no delta spans a border.
    pub report_interval: Duration,
}

impl Plan {
    /// The plan that the settings ask for.
    pub fn of(settings: &Settings) -> Plan {
        /// Tree and names of one process.
        const MEMORY: u64 = 12 << 20;
        Plan {
            cpu_interval: settings.cpu_interval,
            wall_interval: settings.wall_interval,
            alloc_interval: settings.alloc_interval,
            depth: settings.depth,
            threads_exclude: settings.threads_exclude.clone(),
            overhead_limit: settings.overhead_limit,
            memory_limit: settings.memory_limit.unwrap_or(MEMORY) as usize,
            report_interval: settings.report_interval,
        }
    }
}

/// How loud a line is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Every user must see it: the line at the start, and the one at the end.
    Announce,
    /// Everything is as it should be.
    Info,
    /// Something failed or is missing.
    Warn,
}

/// Takes what a session hands on; called on the sampler thread, must not wait.
pub trait DeltaSink: Send + Sync {
    /// The next delta, in order.
    fn delta(&self, delta: Delta);

    /// True if the driver wants all names again.
    fn names_are_wanted(&self) -> bool {
        false
    }

    /// Gives the driver all names.
    fn names(&self, _dictionary: &Dictionary, _epoch: u32) {}

    /// Something that the user should know now, at `level`; it also goes with the next delta.
    fn warned(&self, _level: Level, _warning: &Warning) {}

    /// The sampler thread ended by a panic: no more deltas come.
    fn failed(&self, message: String);
}

/// A profiler at work. There is one for the life of the JVM; it can be paused.
pub struct Session {
    shared: Arc<Shared>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// A delta that the sampler thread was asked for.
pub struct AskedDelta {
    finished: Arc<(Mutex<bool>, Condvar)>,
}

impl AskedDelta {
    /// Waits for it until `deadline`. False: the sampler thread is late, as it can be where CPU is short; the delta may
    /// still come. True also when that thread has ended by a failure, which it tells itself.
    pub fn has_come_by(&self, deadline: Instant) -> bool {
        let (done, woken) = &*self.finished;
        let mut done = done.lock();
        while !*done {
            if woken.wait_until(&mut done, deadline).timed_out() {
                return *done;
            }
        }
        true
    }
}

/// A request to the sampler thread to hand on what it has.
pub(crate) struct Closing {
    last: bool,
    ending: String,
    finished: Arc<(Mutex<bool>, Condvar)>,
}

impl Closing {
    fn done(&self) {
        *self.finished.0.lock() = true;
        self.finished.1.notify_all();
    }
}

/// What the sampler thread, the application's threads and the bridge share.
pub(crate) struct Shared {
    vm: Arc<dyn Vm + Send + Sync>,
    clock: Arc<dyn Clock>,
    registry: &'static Registry,
    ring: &'static Ring,
    allocations: &'static AllocationSampler,
    /// CPU nanoseconds that application threads spent on our class events, until they are counted.
    class_cpu: Arc<AtomicU64>,
    labels: Arc<LabelTable>,
    plan: RwLock<Arc<Plan>>,
    /// The engines that carry the plan out.
    engines: Mutex<Engines>,
    /// The plan has changed, and the sampler thread has not seen it yet.
    replanned: AtomicBool,
    sink: Arc<dyn DeltaSink>,
    /// Set when CPU is to be measured by timers for the first time; then `None` where there can be none.
    timers: &'static OnceCell<Option<&'static CpuTimers>>,
    first_delta: Duration,
    delta_interval: AtomicU64,
    clock_offset: AtomicI64,
    paused: AtomicBool,
    tasks: Mutex<Vec<TaskTotals>>,
    warnings: Mutex<HashMap<Warning, u64>>,
    requests: Mutex<Requests>,
    woken: Condvar,
    panic_in: Mutex<Option<String>>,
}

#[derive(Default)]
struct Requests {
    stop: bool,
    closing: Vec<Closing>,
}

#[derive(Clone, Copy)]
struct RunningTask {
    totals: TaskTotals,
    begun: Reading,
}

/// What clocks and counter of a thread say.
#[derive(Clone, Copy)]
struct Reading {
    cpu: u64,
    time: u64,
    /// `None` where this JVM does not tell.
    allocated: Option<u64>,
}

impl Reading {
    fn used(self) -> Used {
        Used { cpu: self.cpu, allocated: self.allocated.unwrap_or(0) }
    }
}

impl RunningTask {
    fn ended(self, end: Reading) -> TaskTotals {
        let allocated = end.allocated.zip(self.begun.allocated);
        TaskTotals {
            cpu: end.cpu.saturating_sub(self.begun.cpu),
            wall: end.time.saturating_sub(self.begun.time),
            alloc_bytes: allocated.map_or(0, |(end, begun)| end.saturating_sub(begun)),
            ..self.totals
        }
    }
}

thread_local! {
    static TASK: Cell<Option<RunningTask>> = const { Cell::new(None) };
    static IS_SAMPLER: Cell<bool> = const { Cell::new(false) };
}

/// The first delta leaves early, so that an executor that lives for seconds is seen.
const FIRST_DELTA: Duration = Duration::from_secs(4);
/// Until the driver says otherwise.
const DELTA_INTERVAL: Duration = Duration::from_secs(10);

impl Session {
    /// Has the JVM tell of threads, on the calling thread, which must be one of the JVM's; then starts the
    /// sampler thread, which sets the engines going.
    ///
    /// # Errors
    /// A sentence for the start line; nothing is profiled then.
    pub fn launch(
        vm: Arc<dyn Vm + Send + Sync>,
        clock: Arc<dyn Clock>,
        plan: Plan,
        engines: Engines,
        sink: Arc<dyn DeltaSink>,
    ) -> Result<Session, String> {
        let shared = Arc::new(Shared::new(vm, clock, plan, engines, sink));
        shared.vm.enter().map_err(|error| error.to_string())?;
        let watched = shared.engines.lock().watch(&shared);
        shared.vm.leave();
        watched?;
        let thread = start_sampler(shared.clone()).map_err(|error| error.to_string())?;
        Ok(Session { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Does from now on what these say, paused or not until now.
    pub fn replan(&self, plan: Plan, engines: Engines) {
        *self.shared.plan.write() = Arc::new(plan);
        *self.shared.engines.lock() = engines;
        self.shared.paused.store(false, Ordering::Release);
        self.shared.replanned.store(true, Ordering::Release);
        // With the lock, or the sampler thread may have looked and not wait yet.
        drop(self.shared.requests.lock());
        self.shared.woken.notify_all();
    }

    /// A task begins on the calling thread.
    pub fn task_started(&self, task: u64, labels: TaskLabels) {
        let number = |key: &str| {
            let (_, value) = labels.0.iter().find(|(known, _)| known == key)?;
            value.parse().ok()
        };
        let totals = TaskTotals {
            task,
            stage: number("stage").unwrap_or(0),
            stage_attempt: number("stage_attempt").unwrap_or(0),
            ..TaskTotals::default()
        };
        let label = self.shared.labels.id(labels);
        let begun = self.reading();
        TASK.set(Some(RunningTask { totals, begun }));
        self.shared.registry.label_current(label, begun.used());
    }

    /// The task of the calling thread ends; its labels are cleared.
    pub fn task_ended(&self) {
        let end = self.reading();
        self.shared.registry.label_current(TaskLabelId(0), end.used());
        let Some(task) = TASK.take() else { return };
        let totals = task.ended(end);
        self.shared.tasks.lock().push(totals);
    }

    /// Of the calling thread.
    fn reading(&self) -> Reading {
        let Shared { clock, registry, vm, .. } = &*self.shared;
        let record = registry.current();
        Reading {
            cpu: clock.thread_cpu(current_tid()).unwrap_or(0),
            time: clock.monotonic(),
            allocated: record.and_then(|record| vm.own_allocated_bytes(record.jni_env())),
        }
    }

    /// The calling thread is the profiler's own: its cost is counted, not its stacks.
    pub fn own_thread(&self) {
        if let Some(record) = self.shared.registry.disown_current() {
            delete_timer(record);
        }
    }

    /// Asks the sampler thread to hand on all it has; `None` when that thread has ended.
    pub fn ask_for_delta(&self, last: bool, ending: &str) -> Option<AskedDelta> {
        let finished = Arc::new((Mutex::new(false), Condvar::new()));
        {
            let mut requests = self.shared.requests.lock();
            if requests.stop || !self.is_alive() {
                return None;
            }
            requests.closing.push(Closing { last, ending: ending.to_owned(), finished: finished.clone() });
        }
        self.shared.woken.notify_all();
        Some(AskedDelta { finished })
    }

    /// Stops taking samples until [`replan`](Self::replan); threads and handlers stay.
    pub fn pause(&self) {
        self.shared.paused.store(true, Ordering::Release);
        if let Some(timers) = self.shared.timers() {
            timers.stop();
        }
        self.shared.allocations.set_interval(0);
    }

    /// Ends the sampler thread; waits for it, at most `timeout`.
    pub fn stop(&self, timeout: Duration) -> bool {
        self.pause();
        self.shared.requests.lock().stop = true;
        self.shared.woken.notify_all();
        let deadline = Instant::now() + timeout;
        while self.is_alive() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        !self.is_alive()
    }

    /// True while the sampler thread runs.
    pub fn is_alive(&self) -> bool {
        self.thread.lock().as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Sets the time between deltas.
    pub fn set_delta_interval(&self, interval: Duration) {
        self.shared.delta_interval.store(interval.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Sets the driver's clock minus ours, in nanoseconds: borders of periods are the driver's.
    pub fn set_clock_offset(&self, nanoseconds: i64) {
        self.shared.clock_offset.store(nanoseconds, Ordering::Relaxed);
    }

    /// Sends a warning that was logged already with the next delta.
    pub fn report(&self, warning: Warning) {
        self.shared.report(warning);
    }

    /// Makes the sampler thread panic, in tests.
    pub fn inject_panic(&self, place: &str) {
        *self.shared.panic_in.lock() = Some(place.to_owned());
    }
}

fn start_sampler(shared: Arc<Shared>) -> std::io::Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new().name("glowplug-sampler".to_owned()).spawn(move || {
        IS_SAMPLER.set(true);
        crate::sample::block_signals();
        let run = || {
            shared.vm.enter().map_err(|error| error.to_string())?;
            shared.start_engines();
            Sampler::new(shared.clone()).run();
            Ok(())
        };
        let failure = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(result) => result.err(),
            Err(panic) => Some(panic_text(&*panic)),
        };
        if let Some(message) = failure {
            shared.silence();
            shared.sink.failed(message);
        }
        shared.answer_all();
        for thread in shared.registry.close() {
            shared.vm.release(thread);
        }
        shared.vm.leave();
    })
}

impl Shared {
    fn new(
        vm: Arc<dyn Vm + Send + Sync>,
        clock: Arc<dyn Clock>,
        plan: Plan,
        engines: Engines,
        sink: Arc<dyn DeltaSink>,
    ) -> Shared {
        // Threads and handlers may look at these at any time until the process ends.
        let registry: &'static Registry = Box::leak(Box::default());
        let ring: &'static Ring = Box::leak(Box::new(Ring::new(RING_WORDS)));
        let allocations: &'static AllocationSampler =
            Box::leak(Box::new(AllocationSampler::new(registry, ring)));
        Shared {
            vm,
            clock,
            registry,
            ring,
            allocations,
            class_cpu: Arc::default(),
            labels: Arc::default(),
            plan: RwLock::new(Arc::new(plan)),
            sink,
            timers: Box::leak(Box::default()),
            engines: Mutex::new(engines),
            replanned: AtomicBool::new(false),
            first_delta: FIRST_DELTA,
            delta_interval: AtomicU64::new(DELTA_INTERVAL.as_nanos() as u64),
            clock_offset: AtomicI64::new(0),
            paused: AtomicBool::new(false),
            tasks: Mutex::default(),
            warnings: Mutex::default(),
            requests: Mutex::default(),
            woken: Condvar::new(),
            panic_in: Mutex::new(None),
        }
    }

    fn plan(&self) -> Arc<Plan> {
        self.plan.read().clone()
    }

    fn timers(&self) -> Option<&'static CpuTimers> {
        self.timers.get().copied().flatten()
    }

    fn start_engines(&self) {
        let engines = self.engines.lock().clone();
        engines.start(self);
    }

    fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Acquire)
    }

    /// Waits for a request; `None` when the session stops, `Some(None)` when the time is over.
    fn await_request(&self, wait: Duration) -> Option<Option<Closing>> {
        let deadline = Instant::now() + wait;
        let mut requests = self.requests.lock();
        loop {
            if !requests.closing.is_empty() {
                return Some(Some(requests.closing.remove(0)));
            }
            if requests.stop {
                return None;
            }
            if self.replanned.load(Ordering::Acquire) {
                return Some(None);
            }
            if self.woken.wait_until(&mut requests, deadline).timed_out() {
                return Some(None);
            }
        }
    }

    fn answer_all(&self) {
        let mut requests = self.requests.lock();
        requests.stop = true;
        for closing in requests.closing.drain(..) {
            closing.done();
        }
    }

    /// No more samples are taken: nobody would fold them.
    fn silence(&self) {
        self.paused.store(true, Ordering::Release);
        if let Some(timers) = self.timers() {
            timers.stop();
        }
        self.allocations.set_interval(0);
    }

    fn delta_interval(&self) -> Duration {
        Duration::from_nanos(self.delta_interval.load(Ordering::Relaxed))
    }

    fn driver_time(&self, own: u64) -> u64 {
        own.saturating_add_signed(self.clock_offset.load(Ordering::Relaxed))
    }

    fn hand_on(&self, delta: Delta) {
        self.sink.delta(delta);
    }

    fn names_are_wanted(&self) -> bool {
        self.sink.names_are_wanted()
    }

    fn give_names(&self, dictionary: &Dictionary, epoch: u32) {
        self.sink.names(dictionary, epoch);
    }

    fn warn(&self, level: Level, warning: Warning) {
        self.sink.warned(level, &warning);
        self.report(warning);
    }

    fn report(&self, warning: Warning) {
        *self.warnings.lock().entry(warning).or_default() += 1;
    }

    fn take_warnings(&self) -> Vec<(Warning, u64)> {
        let mut warnings: Vec<_> = self.warnings.lock().drain().collect();
        warnings.sort_by(|(left, _), (right, _)| left.code.cmp(&right.code));
        warnings
    }

    fn fixed_memory(&self) -> usize {
        let scratch = if self.timers().is_some() { CpuTimers::MEMORY } else { 0 };
        RING_WORDS * size_of::<u64>() + scratch
    }

    fn test_panic(&self, place: &str) -> bool {
        self.panic_in.lock().take_if(|wanted| wanted == place).is_some()
    }
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic without a text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_what_its_thread_used_from_its_start_to_its_end() {
        let totals = TaskTotals { task: 9, stage: 3, stage_attempt: 1, ..TaskTotals::default() };
        let begun = Reading { cpu: 100, time: 1_000, allocated: Some(4_096) };
        let task = RunningTask { totals, begun };
        let end = Reading { cpu: 150, time: 1_200, allocated: Some(10_096) };
        assert_eq!(task.ended(end), TaskTotals { cpu: 50, wall: 200, alloc_bytes: 6_000, ..totals });
        let untold = Reading { allocated: None, ..end };
        assert_eq!(task.ended(untold).alloc_bytes, 0);
        let begun = Reading { allocated: None, ..begun };
        assert_eq!(RunningTask { totals, begun }.ended(end).alloc_bytes, 0, "not all since the thread began");
    }
}
