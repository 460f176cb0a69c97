//! CPU of the threads that are not Java's: collectors, compilers, the JVM's own, foreign ones, ours.

use super::clock::Clock;
use super::registry::Registry;
use std::collections::HashMap;

/// Reads the clocks of all threads of the process that no other engine covers.
#[derive(Debug, Default)]
pub struct RuntimeThreads {
    seen: HashMap<i32, Seen>,
    started: bool,
    count: u64,
    since_list: u32,
}

#[derive(Debug)]
struct Seen {
    cpu: u64,
    root: &'static str,
    comm: String,
    round: u64,
}

/// As long as the process has as many threads as before, only each tenth look lists them: the list costs
/// a microsecond per thread.
const LOOKS_PER_LIST: u32 = 10;

/// CPU of one thread since the last look.
#[derive(Debug, PartialEq, Eq)]
pub struct RuntimeCpu<'a> {
    /// `[GC]`, `[JIT]`, `[VM]`, `[native]` or `[glowplug]`.
    pub root: &'static str,
    /// The kernel's name of the thread.
    pub thread: &'a str,
    /// CPU nanoseconds.
    pub nanoseconds: u64,
}

impl RuntimeThreads {
    /// Hands what each thread used since the last call to `each`. The first call only looks.
    ///
    /// A thread that was not there before is counted from its beginning, or from the end that a Java thread
    /// has told of, after which it still runs for a moment. It is counted when it is seen a second time: a
    /// Java thread that begins has not told of that yet.
    pub fn collect(&mut self, clock: &dyn Clock, registry: &Registry, mut each: impl FnMut(RuntimeCpu)) {
        let round = self.seen.values().map(|seen| seen.round).max().unwrap_or(0) + 1;
        for tid in self.candidates(clock, registry) {
            if registry.find(tid).is_some_and(|record| !record.is_own()) {
                self.seen.remove(&tid);
                continue;
            }
            let Some(cpu) = clock.thread_cpu(tid) else { continue };
            let Some(seen) = self.seen.get_mut(&tid) else {
                let Some(comm) = clock.thread_comm(tid) else { continue };
                let root = root_of(&comm);
                let cpu = if self.started { registry.departed(tid).unwrap_or(0) } else { cpu };
                self.seen.insert(tid, Seen { cpu, root, comm, round });
                continue;
            };
            let used = cpu.saturating_sub(seen.cpu);
            (seen.cpu, seen.round) = (cpu, round);
            if used > 0 {
                each(RuntimeCpu { root: seen.root, thread: &seen.comm, nanoseconds: used });
            }
        }
        self.seen.retain(|_, seen| seen.round == round);
        self.started = true;
    }

    /// The threads to be looked at: all, or those that were there.
    fn candidates(&mut self, clock: &dyn Clock, registry: &Registry) -> Vec<i32> {
        let count = clock.thread_count();
        self.since_list += 1;
        if self.started && count == self.count && self.since_list < LOOKS_PER_LIST {
            return self.seen.keys().copied().collect();
        }
        (self.count, self.since_list) = (count, 0);
        let threads = clock.threads();
        registry.forget_departed(&threads);
        threads
    }
}

/// Which root a thread's CPU stands under, by the name that HotSpot gives it (cut to 15 bytes by the
/// kernel). Names of 8 to 25, read from the sources and from running JVMs, 2026-11.
fn root_of(comm: &str) -> &'static str {
    const ROOTS: [(&str, &[&str]); 4] = [
        ("[glowplug]", &["glowplug-"]),
        (
            "[GC]",
            &[
                "GC Thread",
                "G1 ",
                "GC task thread",
                "ParGC",
                "Gang worker",
                "Concurrent Mark",
                "CMS ",
                "ZDirector",
                "ZDriver",
                "ZWorker",
                "ZStat",
                "ZUncommitter",
                "ZUnmapper",
                "XDirector",
                "XDriver",
                "XWorker",
                "XStat",
                "RuntimeWorker",
                "Shenandoah",
                "StrDedup",
            ],
        ),
        ("[JIT]", &["C1 CompilerThre", "C2 CompilerThre", "JVMCI", "Sweeper thread"]),
        (
            "[VM]",
            &["VM Thread", "VM Periodic", "Monitor Deflati", "Service Thread", "Notification Th", "Cleaner"],
        ),
    ];
    ROOTS
        .iter()
        .find(|(_, names)| names.iter().any(|name| comm.starts_with(name)))
        .map_or("[native]", |(root, _)| *root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::ThreadRef;
    use parking_lot::Mutex;

    #[derive(Default)]
    struct Process(Mutex<Vec<(i32, u64, &'static str)>>, Mutex<usize>);

    impl Clock for Process {
        fn monotonic(&self) -> u64 {
            0
        }
        fn unix(&self) -> u64 {
            0
        }
        fn thread_cpu(&self, tid: i32) -> Option<u64> {
            self.0.lock().iter().find(|row| row.0 == tid).map(|row| row.1)
        }
        fn process_cpu(&self) -> u64 {
            0
        }
        fn thread_count(&self) -> u64 {
            self.0.lock().len() as u64
        }
        fn threads(&self) -> Vec<i32> {
            *self.1.lock() += 1;
            self.0.lock().iter().map(|row| row.0).collect()
        }
        fn thread_comm(&self, tid: i32) -> Option<String> {
            self.0.lock().iter().find(|row| row.0 == tid).map(|row| row.2.to_owned())
        }
    }

    fn collected(threads: &mut RuntimeThreads, process: &Process, registry: &Registry) -> Vec<(String, u64)> {
        let mut rows = Vec::new();
        threads.collect(process, registry, |cpu| {
            rows.push((format!("{} {}", cpu.root, cpu.thread), cpu.nanoseconds))
        });
        rows
    }

    #[test]
    fn collectors_compilers_and_foreign_threads_are_told_apart() {
        let process = Process::default();
        let registry = Registry::new();
        let mut threads = RuntimeThreads::default();
        registry.enroll(9, 1, ThreadRef(1)).expect("a slot");
        *process.0.lock() = vec![(1, 50, "GC Thread#0"), (2, 60, "C2 CompilerThre"), (9, 70, "main")];
        assert_eq!(collected(&mut threads, &process, &registry), [], "what was before does not count");
        *process.0.lock() =
            vec![(1, 55, "GC Thread#0"), (2, 66, "C2 CompilerThre"), (9, 90, "main"), (3, 5, "grpc")];
        assert_eq!(
            collected(&mut threads, &process, &registry),
            [("[GC] GC Thread#0".to_owned(), 5), ("[JIT] C2 CompilerThre".to_owned(), 6)]
        );
        *process.0.lock() = vec![(3, 8, "grpc"), (4, 1, "glowplug-sampl")];
        assert_eq!(
            collected(&mut threads, &process, &registry),
            [("[native] grpc".to_owned(), 8)],
            "a new thread counts from its beginning at the second look"
        );
    }

    #[test]
    fn threads_are_listed_when_their_number_changes_and_now_and_then() {
        let process = Process::default();
        let registry = Registry::new();
        let mut threads = RuntimeThreads::default();
        *process.0.lock() = vec![(1, 0, "GC Thread#0")];
        for look in 1..=9 {
            process.0.lock()[0].1 = look;
            let expected = if look == 1 { vec![] } else { vec![("[GC] GC Thread#0".to_owned(), 1)] };
            assert_eq!(collected(&mut threads, &process, &registry), expected);
        }
        assert_eq!(*process.1.lock(), 1);
        process.0.lock().push((2, 0, "VM Thread"));
        collected(&mut threads, &process, &registry);
        assert_eq!(*process.1.lock(), 2, "one more");
        for _ in 0..10 {
            collected(&mut threads, &process, &registry);
        }
        assert_eq!(*process.1.lock(), 3, "one may have ended as another began");
    }

    #[test]
    fn a_java_thread_that_is_ending_is_not_counted_as_foreign() {
        let process = Process::default();
        let registry = Registry::new();
        let mut threads = RuntimeThreads::default();
        assert_eq!(collected(&mut threads, &process, &registry), []);
        *process.0.lock() = vec![(7, 1_000_000, "Thread-1")];
        assert_eq!(collected(&mut threads, &process, &registry), []);
        process.0.lock().clear();
        assert_eq!(collected(&mut threads, &process, &registry), []);
    }

    #[test]
    fn a_java_thread_that_takes_long_to_end_counts_from_the_end_that_it_told_of() {
        let process = Process::default();
        let registry = Registry::new();
        let mut threads = RuntimeThreads::default();
        registry.enroll(7, 1, ThreadRef(1)).expect("a slot");
        *process.0.lock() = vec![(7, 0, "Thread-1")];
        assert_eq!(collected(&mut threads, &process, &registry), []);
        registry.dismiss(7, crate::sample::registry::Used { cpu: 2_000_000, allocated: 0 });
        *process.0.lock() = vec![(7, 2_000_300, "Thread-1"), (8, 0, "java")];
        assert_eq!(collected(&mut threads, &process, &registry), []);
        process.0.lock()[0].1 = 2_000_500;
        assert_eq!(
            collected(&mut threads, &process, &registry),
            [("[native] Thread-1".to_owned(), 500)],
            "its timer has told of the rest"
        );
        process.0.lock().remove(0);
        collected(&mut threads, &process, &registry);
        assert_eq!(registry.departed(7), None);
    }

    #[test]
    fn names_of_the_jvms_threads() {
        for (comm, root) in [
            ("GC Thread#3", "[GC]"),
            ("G1 Conc#0", "[GC]"),
            ("G1 Refine#0", "[GC]"),
            ("ParGC Thread#1", "[GC]"),
            ("ZWorkerYoung#0", "[GC]"),
            ("C1 CompilerThre", "[JIT]"),
            ("VM Thread", "[VM]"),
            ("VM Periodic Tas", "[VM]"),
            ("glowplug-sampl", "[glowplug]"),
            ("java", "[native]"),
        ] {
            assert_eq!(root_of(comm), root, "{comm}");
        }
    }
}
