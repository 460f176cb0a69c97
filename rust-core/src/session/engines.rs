//! Which engines run in this JVM, why these, and how they are set going.

use super::{Level, Plan, Shared};
use crate::facts;
use crate::jvm::{self, EventSink, RawFrame, ThreadRef, Vm};
use crate::profile::Warning;
use crate::sample::alloc::AllocationSampler;
use crate::sample::clock;
use crate::sample::cpu::{self, CpuTimers, TimerError};
use crate::sample::registry::{current_tid, Registry, Used};
use once_cell::sync::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// How CPU time is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuEngine {
    /// Per-thread timers; each thread records its own stack. With what proved them.
    Timers(String),
    /// The sampler thread walks the stacks, for the reason given.
    Sampler(String),
    /// Switched off.
    Off,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engines {
    cpu: CpuEngine,
    debug_non_safepoints: bool,
    allocations: AllocEngine,
}

/// How allocations are measured, where they are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AllocEngine {
    /// The JVM picks allocations.
    Sampled,
    /// The sampler thread reads the threads' counters of allocated bytes, for the reason given.
    Counters(String),
    /// Not at all, for the reason given.
    Missing(String),
}

/// One engine in words, for the start line and the summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineReport {
    /// `cpu=timers(10ms)`.
    pub text: String,
    /// Why it is this one, where there was a choice.
    pub reason: Option<String>,
}

/// What decides about the CPU engine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Feature release of the JDK: 8, 17, …
    pub feature: u32,
    /// Version of the JVM, as it spells it: `17.0.15+6-Debian-1deb12u1`.
    pub version: String,
    /// `amd64` or `aarch64`.
    pub arch: &'static str,
    /// The JVM has the walker and the tables that signals need.
    pub has_walker: bool,
    /// The JVM tells what each thread has allocated.
    pub counts_allocations: bool,
    /// What came of the attempt to make a timer.
    pub timer: Result<(), TimerError>,
}

impl Machine {
    /// This machine with this JVM; makes a timer to see whether it may.
    pub fn of(vm: Option<&dyn Vm>, feature: u32, version: &str) -> Machine {
        Machine {
            feature,
            version: version.to_owned(),
            arch: std::env::consts::ARCH,
            has_walker: vm.is_some_and(|vm| vm.walker().is_some()),
            counts_allocations: vm.is_some_and(Vm::counts_allocations),
            timer: cpu::probe(),
        }
    }
}

impl Engines {
    /// Chooses for this machine.
    pub fn choose(plan: &Plan, machine: &Machine) -> Engines {
        let fact = facts::jdk(machine.feature);
        let cpu = match (plan.cpu_interval, &machine.timer) {
            (None, _) => CpuEngine::Off,
            _ if machine.arch != "x86_64" => {
                CpuEngine::Sampler(format!("per-thread timers are not proved on {} yet", machine.arch))
            }
            _ if fact.cpu == facts::CpuEngine::Sampler => CpuEngine::Sampler(fact.why.clone()),
            _ if facts::compiles_with_graal(&machine.version) => {
                CpuEngine::Sampler("stacks of code that Graal compiled are not proved yet".to_owned())
            }
            _ if !machine.has_walker => CpuEngine::Sampler(
                "this JVM does not export AsyncGetCallTrace and its field tables (not HotSpot?)".to_owned(),
            ),
            (_, Err(error)) => CpuEngine::Sampler(error.to_string()),
            (_, Ok(())) => CpuEngine::Timers(fact.proof(&machine.version)),
        };
        let allocations = match fact.alloc {
            facts::AllocEngine::Sampled => AllocEngine::Sampled,
            facts::AllocEngine::Counters => {
                let why =
                    format!("JDK {} has no sampled allocation events (11 and newer have)", machine.feature);
                match machine.counts_allocations {
                    true => AllocEngine::Counters(format!("{why}: bytes as threads count them, no objects")),
                    false => {
                        AllocEngine::Missing(format!("{why}, nor counters of its threads (not HotSpot?)"))
                    }
                }
            }
        };
        Engines { cpu, debug_non_safepoints: fact.debug_non_safepoints, allocations }
    }

    /// Each engine in words.
    pub fn describe(&self, plan: &Plan) -> Vec<EngineReport> {
        let report = |text: String, reason: Option<String>| EngineReport { text, reason };
        let interval = plan.cpu_interval.map(duration).unwrap_or_default();
        vec![
            match &self.cpu {
                CpuEngine::Timers(proof) => report(format!("cpu=timers({interval})"), Some(proof.clone())),
                CpuEngine::Sampler(why) => {
                    report(format!("cpu=sampler-thread({interval})"), Some(why.clone()))
                }
                CpuEngine::Off => report("cpu=off".to_owned(), None),
            },
            report(
                plan.wall_interval
                    .map_or("wall=off".to_owned(), |interval| format!("wall=sweep({})", duration(interval))),
                None,
            ),
            match (plan.alloc_interval, &self.allocations) {
                (None, _) => report("alloc=off".to_owned(), None),
                (Some(interval), AllocEngine::Sampled) => {
                    report(format!("alloc=jvmti({})", size(interval)), None)
                }
                (Some(_), AllocEngine::Counters(why)) => {
                    report("alloc=counters".to_owned(), Some(why.clone()))
                }
                (Some(_), AllocEngine::Missing(why)) => report("alloc=off".to_owned(), Some(why.clone())),
            },
            report(if plan.cpu_interval.is_some() { "runtime=on" } else { "runtime=off" }.to_owned(), None),
        ]
    }

    /// True if the sweeps charge what threads have allocated.
    pub(crate) fn counts_allocations(&self) -> bool {
        matches!(self.allocations, AllocEngine::Counters(_))
    }

    /// Has the JVM tell of threads, and enrolls those that run. On a thread that is in the JVM.
    ///
    /// # Errors
    /// A sentence; nothing is profiled then.
    pub(crate) fn watch(&self, shared: &Shared) -> Result<(), String> {
        let sink = Box::leak(Box::new(Events {
            registry: shared.registry,
            timers: shared.timers,
            allocations: shared.allocations,
            class_cpu: shared.class_cpu.clone(),
            counting: self.counts_allocations().then(|| shared.vm.clone()),
        }));
        jvm::watch(sink);
        shared.vm.watch_threads().map_err(|error| error.to_string())?;
        for thread in shared.vm.threads() {
            if let Err(reference) = shared.registry.enroll(thread.tid, thread.jni_env, thread.reference) {
                shared.vm.release(reference);
            }
        }
        Ok(())
    }

    /// Has the engines do what the plan says; the slow part of a start, on the sampler thread. Called again when
    /// the plan has changed: what runs already is set anew, what is missing is started.
    pub(crate) fn start(&self, shared: &Shared) {
        let plan = shared.plan();
        match (&self.cpu, plan.cpu_interval) {
            (CpuEngine::Timers(_), Some(interval)) => {
                let timers = shared.timers.get_or_init(|| self.prepare_timers(shared));
                if let Some(timers) = timers {
                    timers.start(interval.as_nanos() as u64, plan.depth);
                }
            }
            _ => {
                if let Some(timers) = shared.timers() {
                    timers.stop();
                }
            }
        }
        shared.allocations.set_depth(plan.depth);
        match (plan.alloc_interval, &self.allocations) {
            (Some(interval), AllocEngine::Sampled) => start_allocations(shared, interval),
            _ => shared.allocations.set_interval(0),
        }
    }

    /// Timers that can be started; `None`, which was said then: the sampler thread measures CPU.
    fn prepare_timers(&self, shared: &Shared) -> Option<&'static CpuTimers> {
        static WALKER: OnceCell<Option<jvm::call_trace::Walker>> = OnceCell::new();
        let walker = WALKER.get_or_init(|| shared.vm.walker()).as_ref()?;
        if self.debug_non_safepoints {
            shared.vm.debug_non_safepoints();
        }
        if let Err(error) = shared.vm.prepare_walker() {
            let message = format!("{error}; CPU is sampled by the sampler thread instead");
            shared.warn(Level::Warn, Warning { code: "walker-not-prepared".to_owned(), message });
            return None;
        }
        let timers = CpuTimers::install(shared.registry, shared.ring, walker);
        if timers.is_none() {
            let message =
                "no real-time signal is free; CPU is sampled by the sampler thread instead".to_owned();
            shared.warn(Level::Warn, Warning { code: "no-free-signal".to_owned(), message });
        }
        timers
    }
}

fn start_allocations(shared: &Shared, interval: u64) {
    match shared.vm.sample_allocations(interval) {
        Ok(()) => shared.allocations.set_interval(interval),
        Err(error) => {
            let message =
                format!("{error} (another agent may hold the capability); allocations are not profiled");
            shared.warn(Level::Warn, Warning { code: "allocations-not-sampled".to_owned(), message });
        }
    }
}

/// What application threads tell.
struct Events {
    registry: &'static Registry,
    timers: &'static OnceCell<Option<&'static CpuTimers>>,
    allocations: &'static AllocationSampler,
    class_cpu: Arc<AtomicU64>,
    /// Where allocations are counted: who knows what a thread has allocated.
    counting: Option<Arc<dyn Vm + Send + Sync>>,
}

impl EventSink for Events {
    fn thread_started(&self, jni_env: usize, reference: &dyn Fn() -> ThreadRef) {
        if super::IS_SAMPLER.get() || self.registry.is_closed() {
            return;
        }
        let tid = current_tid();
        self.registry.dismiss_forerunner(tid, jni_env).inspect(|record| cpu::delete_timer(record));
        let slot = match self.registry.enroll(tid, jni_env, reference()) {
            Ok(slot) => slot,
            Err(reference) => return self.registry.abandon(reference),
        };
        if let Some(Some(timers)) = self.timers.get() {
            timers.arm(slot);
        }
    }

    fn thread_ended(&self) {
        let cpu = clock::read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0);
        let allocated = self.counting.as_ref().and_then(|vm| {
            let record = self.registry.current()?;
            vm.own_allocated_bytes(record.jni_env())
        });
        let used = Used { cpu, allocated: allocated.unwrap_or(0) };
        self.registry.dismiss(current_tid(), used).inspect(|record| cpu::delete_timer(record));
    }

    fn class_prepared(&self, make_ids: &dyn Fn()) {
        // All CPU of the profiler's own threads is counted anyway.
        if super::IS_SAMPLER.get() || self.registry.current().is_some_and(|record| record.is_own()) {
            return make_ids();
        }
        let now = || clock::read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0);
        let begin = now();
        make_ids();
        self.class_cpu.fetch_add(now().saturating_sub(begin), Ordering::Relaxed);
    }

    fn allocated(&self, size: u64, walk: &mut dyn FnMut(usize, &mut [RawFrame]) -> usize) {
        self.allocations.record(size, walk);
    }
}

fn duration(interval: Duration) -> String {
    let nanoseconds = interval.as_nanos();
    match nanoseconds {
        _ if nanoseconds % 1_000_000_000 == 0 => format!("{}s", nanoseconds / 1_000_000_000),
        _ if nanoseconds % 1_000_000 == 0 => format!("{}ms", nanoseconds / 1_000_000),
        _ => format!("{}us", nanoseconds / 1_000),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes % (1 << 20) == 0 => format!("{}MiB", bytes >> 20),
        _ if bytes % (1 << 10) == 0 => format!("{}KiB", bytes >> 10),
        _ => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{machine, plan};
    use super::*;

    fn described(plan: &Plan, machine: &Machine) -> Vec<String> {
        let engines = Engines::choose(plan, machine);
        engines
            .describe(plan)
            .into_iter()
            .map(|report| match report.reason {
                Some(reason) => format!("{} because {reason}", report.text),
                None => report.text,
            })
            .collect()
    }

    #[test]
    fn seventeen_has_everything() {
        assert_eq!(
            described(&plan(), &machine(17)),
            [
                "cpu=timers(10ms) because proved on JDK 17.0.15",
                "wall=sweep(50ms)",
                "alloc=jvmti(2MiB)",
                "runtime=on"
            ]
        );
    }

    #[test]
    fn an_update_that_was_not_measured_is_told() {
        let update = |version: &str| {
            let machine = Machine { version: version.to_owned(), ..machine(17) };
            described(&plan(), &machine)[0].clone()
        };
        assert_eq!(update("17.0.15"), "cpu=timers(10ms) because proved on JDK 17.0.15");
        assert_eq!(update("17.0.1+12"), "cpu=timers(10ms) because proved on JDK 17.0.15, this is 17.0.1");
        assert_eq!(
            update("17.0.9+9-jvmci-23.0-b22"),
            "cpu=sampler-thread(10ms) because stacks of code that Graal compiled are not proved yet"
        );
    }

    #[test]
    fn eight_and_arm_run_on_the_sampler_thread_and_say_why() {
        assert_eq!(
            described(&plan(), &machine(8))[..3],
            [
                "cpu=sampler-thread(10ms) because JDK 8 needs its method ids made ahead of time before a signal handler \
                 may walk a stack",
                "wall=sweep(50ms)",
                "alloc=counters because JDK 8 has no sampled allocation events (11 and newer have): bytes as threads \
                 count them, no objects",
            ]
        );
        assert_eq!(
            described(&plan(), &Machine { arch: "aarch64", ..machine(17) })[0],
            "cpu=sampler-thread(10ms) because per-thread timers are not proved on aarch64 yet"
        );
    }

    #[test]
    fn eight_without_counters_has_no_allocations_and_says_why() {
        let machine = Machine { counts_allocations: false, ..machine(8) };
        assert_eq!(
            described(&plan(), &machine)[2],
            "alloc=off because JDK 8 has no sampled allocation events (11 and newer have), nor counters of its threads \
             (not HotSpot?)"
        );
        assert!(!Engines::choose(&plan(), &machine).counts_allocations());
    }

    #[test]
    fn a_refused_timer_is_the_reason() {
        assert_eq!(
            described(&plan(), &Machine { timer: Err(TimerError::SignalLimit), ..machine(17) })[0],
            "cpu=sampler-thread(10ms) because the limit of pending signals (ulimit -i) is reached"
        );
    }

    #[test]
    fn what_is_off_is_off() {
        let off = Plan { cpu_interval: None, wall_interval: None, alloc_interval: None, ..plan() };
        assert_eq!(described(&off, &machine(17)), ["cpu=off", "wall=off", "alloc=off", "runtime=off"]);
        assert_eq!(described(&off, &machine(8))[2], "alloc=off");
    }
}
