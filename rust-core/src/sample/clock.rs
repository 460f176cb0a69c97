//! The clocks of this process and of its threads.

use std::os::unix::fs::MetadataExt;

/// Where the engines get time from; tests bring their own.
pub trait Clock: Send + Sync {
    /// Monotonic nanoseconds; intervals are measured with it.
    fn monotonic(&self) -> u64;

    /// Unix nanoseconds by the machine's clock.
    fn unix(&self) -> u64;

    /// CPU nanoseconds that a thread has used; `None` if it has ended.
    fn thread_cpu(&self, tid: i32) -> Option<u64>;

    /// CPU nanoseconds of the whole process.
    fn process_cpu(&self) -> u64;

    /// How many threads the process has; far cheaper than their ids.
    fn thread_count(&self) -> u64;

    /// Kernel ids of all threads of the process.
    fn threads(&self) -> Vec<i32>;

    /// The kernel's name of a thread (at most 15 bytes).
    fn thread_comm(&self, tid: i32) -> Option<String>;
}

/// The clocks of the kernel.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn monotonic(&self) -> u64 {
        read(libc::CLOCK_MONOTONIC).unwrap_or(0)
    }

    fn unix(&self) -> u64 {
        read(libc::CLOCK_REALTIME).unwrap_or(0)
    }

    fn thread_cpu(&self, tid: i32) -> Option<u64> {
        read(thread_clock(tid))
    }

    fn process_cpu(&self) -> u64 {
        read(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
    }

    fn thread_count(&self) -> u64 {
        // The folder's links are one per thread, itself and its parent (proc_task_getattr).
        std::fs::metadata("/proc/self/task").map_or(0, |folder| folder.nlink().saturating_sub(2))
    }

    fn threads(&self) -> Vec<i32> {
        let Ok(entries) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    fn thread_comm(&self, tid: i32) -> Option<String> {
        let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm")).ok()?;
        Some(text.trim_end_matches('\n').to_owned())
    }
}

/// The CPU clock of another thread of this process. Linux encodes it as the inverted thread id with
/// CPUCLOCK_SCHED (2) and CPUCLOCK_PERTHREAD_MASK (4) below (`posix-timers.h`); glibc has no call.
pub(crate) fn thread_clock(tid: i32) -> libc::clockid_t {
    (!tid << 3) | 6
}

/// Nanoseconds of a clock; signal-safe.
pub(crate) fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes our own variable; clock_gettime is async-signal-safe (POSIX).
    let code = unsafe { libc::clock_gettime(clock, &mut time) };
    (code == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Nanoseconds between two values of a clock.
pub(crate) fn resolution(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes our own variable.
    let code = unsafe { libc::clock_getres(clock, &mut time) };
    (code == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_clock_runs_only_while_it_works() {
        let clock = SystemClock;
        // SAFETY: no arguments, no failure.
        let tid = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
        let before = clock.thread_cpu(tid).expect("own clock");
        std::thread::sleep(std::time::Duration::from_millis(30));
        let slept = clock.thread_cpu(tid).expect("own clock");
        assert!(slept - before < 10_000_000, "slept 30 ms, used {} ns", slept - before);
        while clock.thread_cpu(tid).expect("own clock") - slept < 5_000_000 {}
        assert!(clock.threads().contains(&tid));
        assert!(clock.thread_count() > 0);
        assert_eq!(clock.thread_cpu(i32::MAX - 7), None);
    }
}
