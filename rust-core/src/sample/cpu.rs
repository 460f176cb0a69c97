//! CPU engine by per-thread timers: when a thread has used another interval of CPU, the kernel
//! signals that very thread, and its handler records its own stack.
//!
//! The kernel looks at these timers once per tick. Expiries that it could not deliver one by one are
//! counted by it as overrun and weigh in. A thread's first expiry is drawn so that each tick which
//! interrupts it, the first of its life among them, is picked with the same probability: threads that
//! live shorter than one interval are seen as often as their CPU deserves.

use super::registry::{current_tid, Registry, Slot, ThreadRecord};
use super::ring::Ring;
use super::{clock, pack, read_frames, Frames, Kept, RawStack, TaskLabelId, Weight, CUT, MAX_WALK};
use crate::jvm::call_trace::{CallFrame, Walker};
use crate::jvm::{MethodId, RawFrame};
use parking_lot::Mutex;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Handlers that may walk at the same time: at most one per core runs, and one more waits preempted.
const SCRATCH_BUFFERS: usize = 16;

/// Why a thread got no timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimerError {
    /// The user's limit of pending signals is reached (`ulimit -i`).
    #[error("the limit of pending signals (ulimit -i) is reached")]
    SignalLimit,
    /// The thread has ended meanwhile.
    #[error("the thread has ended")]
    Gone,
    /// Anything else, with its errno.
    #[error("timer_create failed with errno {0}")]
    Other(i32),
}

/// The engine; lives for the rest of the process once its handler is installed.
pub struct CpuTimers {
    registry: &'static Registry,
    ring: &'static Ring,
    walker: &'static Walker,
    depth: AtomicUsize,
    signal: libc::c_int,
    running: AtomicBool,
    interval: AtomicU64,
    random: AtomicU64,
    tick: u64,
    refusal: Mutex<Option<TimerError>>,
    handler_nanoseconds: AtomicU64,
    scratch: [Scratch; SCRATCH_BUFFERS],
}

struct Scratch {
    taken: AtomicBool,
    frames: UnsafeCell<Box<[CallFrame; MAX_WALK]>>,
}

// SAFETY: `frames` is touched only by whoever swapped `taken` from false to true.
unsafe impl Sync for CpuTimers {}
// SAFETY: the buffers are plain memory.
unsafe impl Send for CpuTimers {}

/// The engine that the handler finds.
static ENGINE: AtomicPtr<CpuTimers> = AtomicPtr::new(std::ptr::null_mut());

impl CpuTimers {
    /// Bytes of the scratch buffers.
    pub const MEMORY: usize = SCRATCH_BUFFERS * MAX_WALK * size_of::<CallFrame>();

    /// Builds the engine and installs its handler on a free real-time signal. SIGPROF is left alone:
    /// JFR's CPU-time sampling (25) and other profilers want it.
    ///
    /// Only one engine can exist; `None` if there is one already or no signal is free.
    pub fn install(
        registry: &'static Registry,
        ring: &'static Ring,
        walker: &'static Walker,
    ) -> Option<&'static CpuTimers> {
        let signal = free_signal()?;
        let blank = CallFrame { bci: 0, method: 0 };
        let engine = Box::into_raw(Box::new(CpuTimers {
            registry,
            ring,
            walker,
            depth: AtomicUsize::new(1),
            signal,
            running: AtomicBool::new(false),
            interval: AtomicU64::new(0),
            random: AtomicU64::new(clock::read(libc::CLOCK_REALTIME).unwrap_or(0) | 1),
            // The coarse clocks move with the tick.
            tick: clock::resolution(libc::CLOCK_MONOTONIC_COARSE).unwrap_or(0),
            refusal: Mutex::new(None),
            handler_nanoseconds: AtomicU64::new(0),
            scratch: std::array::from_fn(|_| Scratch {
                taken: AtomicBool::new(false),
                frames: UnsafeCell::new(Box::new([blank; MAX_WALK])),
            }),
        }));
        if ENGINE.compare_exchange(std::ptr::null_mut(), engine, Ordering::AcqRel, Ordering::Acquire).is_err()
        {
            // SAFETY: made above and never published.
            drop(unsafe { Box::from_raw(engine) });
            return None;
        }
        // SAFETY: a zeroed sigaction is valid; the handler is async-signal-safe, stays installed for
        // the life of the process, and the library is pinned.
        let installed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_expiry as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
            libc::sigaction(signal, &action, std::ptr::null_mut()) == 0
        };
        // SAFETY: leaked above.
        installed.then(|| unsafe { &*engine })
    }

    /// Number of the signal in use.
    pub fn signal(&self) -> i32 {
        self.signal
    }

    /// Sets the interval for timers to come and, with [`retime`](Self::retime), for those that are.
    pub fn start(&self, interval: u64, depth: usize) {
        self.depth.store(depth, Ordering::Relaxed);
        self.running.store(true, Ordering::Release);
        self.retime(interval);
        for slot in self.registry.live() {
            self.arm(slot);
        }
    }

    /// Handlers do nothing from now on; they stay installed, since a signal may be on its way.
    pub fn stop(&self) {
        self.running.store(false, Ordering::Release);
        for slot in self.registry.live() {
            if let Some(record) = self.registry.record(slot) {
                delete_timer(record);
            }
        }
    }

    /// True between start and stop.
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// Makes a thread's timer. A thread that gets none is for the sampler thread to sweep, which
    /// [`take_refusal`](Self::take_refusal) tells.
    pub fn arm(&self, slot: Slot) {
        let Some(record) = self.registry.record(slot) else { return };
        if record.timer().is_some() || !self.is_running() || record.is_own() {
            return;
        }
        let generation = record.generation();
        let value = u64::from(slot.0) | u64::from(generation) << 32;
        match create_timer(record.tid(), self.signal, value) {
            Ok(timer) => {
                let interval = self.interval.load(Ordering::Relaxed);
                record.set_timer(timer, interval);
                set_timer(timer, first_expiry(self.next_random(), interval, self.tick), interval);
                // A thread that has ended since found no timer to delete; the next one would go without.
                if record.generation() != generation {
                    delete_timer(record);
                }
            }
            Err(TimerError::Gone) => {}
            Err(error) => *self.refusal.lock() = Some(error),
        }
    }

    /// Why a thread got no timer since the last call.
    pub fn take_refusal(&self) -> Option<TimerError> {
        self.refusal.lock().take()
    }

    /// Changes the interval of all timers.
    pub fn retime(&self, interval: u64) {
        self.interval.store(interval, Ordering::Relaxed);
        for slot in self.registry.live() {
            let Some(record) = self.registry.record(slot) else { continue };
            if let Some(timer) = record.timer() {
                record.set_interval(interval);
                set_timer(timer, first_expiry(self.next_random(), interval, self.tick), interval);
            }
        }
    }

    /// CPU nanoseconds spent in handlers since the last call.
    pub fn take_handler_time(&self) -> u64 {
        self.handler_nanoseconds.swap(0, Ordering::Relaxed)
    }

    fn next_random(&self) -> u64 {
        // xorshift64 (Marsaglia 2003); two threads that draw the same number do no harm.
        let mut state = self.random.load(Ordering::Relaxed);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.random.store(state, Ordering::Relaxed);
        state
    }

    /// Records the interrupted thread's stack. Signal-safe.
    ///
    /// # Safety
    /// In the handler, on the thread that was signalled, with the handler's context.
    unsafe fn sample(&self, info: &TimerInfo, context: *mut libc::c_void) {
        let slot = Slot(info.value as u32);
        let Some(record) = self.registry.record(slot) else { return };
        if record.generation() != (info.value >> 32) as u32 || record.is_own() {
            return;
        }
        // By the thread's own CPU: a thread that is preempted here costs nobody anything.
        let begin = clock::read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0);
        let count = 1 + info.overrun.max(0) as u64;
        let sample = Sample {
            weight: record.interval().saturating_mul(count),
            slot,
            label: record.label(),
            time: clock::read(libc::CLOCK_MONOTONIC).unwrap_or(0),
        };
        match record.jni_env() {
            0 => sample.write_failed(self.ring, NOT_A_JAVA_THREAD),
            // SAFETY: the generation says that the environment is this thread's.
            jni_env => unsafe { self.walk_and_write(&sample, jni_env, context) },
        }
        let end = clock::read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(begin);
        self.handler_nanoseconds.fetch_add(end.saturating_sub(begin), Ordering::Relaxed);
    }

    /// # Safety
    /// As [`sample`](Self::sample); `jni_env` is the calling thread's.
    unsafe fn walk_and_write(&self, sample: &Sample, jni_env: usize, context: *mut libc::c_void) {
        let Some(scratch) = self.scratch.iter().find(|scratch| !scratch.taken.swap(true, Ordering::Acquire))
        else {
            sample.write_failed(self.ring, NO_SCRATCH);
            return;
        };
        // SAFETY: we took the buffer; the rest is the caller's promise.
        match unsafe {
            let frames = &mut **scratch.frames.get();
            self.walker.walk(jni_env as *mut _, context, &mut frames[..])
        } {
            Ok(frames) => sample.write(self.ring, self.depth.load(Ordering::Relaxed), frames),
            Err(failure) => sample.write_failed(self.ring, failure.0),
        }
        scratch.taken.store(false, Ordering::Release);
    }
}

/// Deletes a thread's timer, if it has one.
pub(crate) fn delete_timer(record: &ThreadRecord) {
    if let Some(timer) = record.take_timer() {
        // SAFETY: a timer that we made and have just taken out of its record.
        unsafe { libc::syscall(libc::SYS_timer_delete, timer) };
    }
}

/// Codes in a record's tag beside AsyncGetCallTrace's own (0 to -11).
const NOT_A_JAVA_THREAD: i32 = -100;
const NO_SCRATCH: i32 = -101;

struct Sample {
    weight: u64,
    slot: Slot,
    label: TaskLabelId,
    time: u64,
}

impl Sample {
    fn head(&self, leaf: u64) -> [u64; 4] {
        [self.weight, u64::from(self.slot.0) | u64::from(self.label.0) << 32, self.time, leaf]
    }

    fn write(&self, ring: &Ring, depth: usize, frames: &[CallFrame]) {
        let word = |frame: &CallFrame| pack(RawFrame { method: MethodId(frame.method), bci: frame.bci });
        let kept = Kept::of(frames, depth);
        let (frames, leaf) = kept.joined();
        // The tag of a CPU record: kind 0, a failure as a positive number, and whether the stack was cut.
        let tag = if kept.root.is_some() { CUT } else { 0 };
        ring.write(tag, &self.head(leaf), frames.map(word), self.weight);
    }

    fn write_failed(&self, ring: &Ring, code: i32) {
        ring.write(u64::from(code.unsigned_abs()), &self.head(0), std::iter::empty(), self.weight);
    }
}

/// Reads a record that a CPU handler wrote.
pub(super) fn read_record(tag: u64, words: &[u64]) -> Option<RawStack> {
    let [weight, owner, time, leaf, body @ ..] = words else { return None };
    let failure = -((tag & 0xffff) as i32);
    let frames = match failure {
        0 => read_frames(tag, *leaf, body),
        NO_SCRATCH => Frames::NoScratch,
        code => Frames::NotWalkable(code),
    };
    Some(RawStack {
        weight: Weight::Cpu(*weight),
        thread: Slot(*owner as u32),
        label: TaskLabelId((*owner >> 32) as u32),
        time: *time,
        frames,
    })
}

/// The head of siginfo_t for SI_TIMER on 64-bit Linux (`siginfo.h`).
#[repr(C)]
struct TimerInfo {
    signal: i32,
    errno: i32,
    code: i32,
    _padding: i32,
    timer: i32,
    overrun: i32,
    value: u64,
}

const SI_TIMER: i32 = -2;

unsafe extern "C" fn on_expiry(_: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: errno is the thread's own; it is put back below, for the interrupted code may look at it.
    let errno = unsafe { *libc::__errno_location() };
    let engine = ENGINE.load(Ordering::Acquire);
    // SAFETY: the kernel's siginfo for the time of the handler; the layout is tested below.
    let info = unsafe { &*info.cast::<TimerInfo>() };
    if info.code == SI_TIMER && !engine.is_null() {
        // SAFETY: an engine is never freed once it is published.
        let engine = unsafe { &*engine };
        if engine.running.load(Ordering::Acquire) {
            // SAFETY: we are in the handler, on the signalled thread.
            unsafe { engine.sample(info, context) };
        }
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// The first real-time signal that nobody handles. The lowest six are left to others: glibc hides
/// two, and tools that want one tend to take the first.
fn free_signal() -> Option<libc::c_int> {
    (libc::SIGRTMIN() + 6..=libc::SIGRTMAX()).find(|signal| {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: asks only; writes our own variable.
        unsafe {
            libc::sigaction(*signal, std::ptr::null(), action.as_mut_ptr()) == 0
                && action.assume_init().sa_sigaction == libc::SIG_DFL
        }
    })
}

/// A timer on another thread's CPU clock that signals that thread. By raw syscalls: glibc wraps timer
/// ids and knows no clocks of other threads.
fn create_timer(tid: i32, signal: i32, value: u64) -> Result<i32, TimerError> {
    let mut timer: i32 = 0;
    // SAFETY: a zeroed sigevent is valid; the kernel copies it and writes one `int`.
    let code = unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_value.sival_ptr = value as *mut _;
        event.sigev_signo = signal;
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_notify_thread_id = tid;
        libc::syscall(libc::SYS_timer_create, clock::thread_clock(tid), &mut event, &mut timer)
    };
    if code == 0 {
        return Ok(timer);
    }
    match std::io::Error::last_os_error().raw_os_error().unwrap_or(0) {
        libc::EAGAIN => Err(TimerError::SignalLimit),
        libc::EINVAL | libc::ESRCH => Err(TimerError::Gone),
        errno => Err(TimerError::Other(errno)),
    }
}

/// CPU nanoseconds to a timer's first expiry: a random one of the ticks of an interval, each as likely
/// as its part of the interval. (A random point of the interval would miss most threads that end
/// before the tick after it; from whole ticks on, the tick that delivers is equally likely for all.)
fn first_expiry(random: u64, interval: u64, tick: u64) -> u64 {
    let at = random % interval.max(1);
    // Zero would disarm the timer.
    (at - at % tick.max(1)).max(1)
}

fn set_timer(timer: i32, first: u64, interval: u64) {
    let time = |nanoseconds: u64| libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    };
    let spec = libc::itimerspec { it_interval: time(interval), it_value: time(first) };
    // SAFETY: a live timer of ours; the kernel only reads. It fails if the thread has just ended.
    unsafe {
        libc::syscall(libc::SYS_timer_settime, timer, 0, &spec, std::ptr::null_mut::<libc::itimerspec>())
    };
}

/// True if this kernel gives the calling thread a CPU timer; the reason if not.
///
/// # Errors
/// [`TimerError`] as [`CpuTimers::arm`] would give it.
pub fn probe() -> Result<(), TimerError> {
    let timer = create_timer(current_tid(), libc::SIGRTMIN() + 6, 0)?;
    // SAFETY: made above, never armed.
    unsafe { libc::syscall(libc::SYS_timer_delete, timer) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::call_trace::CallFrame;

    fn frames(count: usize) -> Vec<CallFrame> {
        (0..count).map(|index| CallFrame { bci: index as i32, method: 0x7000 + index as u64 }).collect()
    }

    fn written(depth: usize, frames: &[CallFrame]) -> RawStack {
        let ring = Ring::new(1 << 12);
        let sample = Sample { weight: 30_000_000, slot: Slot(5), label: TaskLabelId(9), time: 77 };
        sample.write(&ring, depth, frames);
        let mut read = None;
        ring.drain(|tag, words| read = read_record(tag, words));
        read.expect("one record")
    }

    #[test]
    fn a_stack_comes_through_the_ring_whole() {
        let stack = written(1000, &frames(3));
        assert_eq!(stack.weight, Weight::Cpu(30_000_000));
        assert_eq!((stack.thread, stack.label, stack.time), (Slot(5), TaskLabelId(9), 77));
        let Frames::Whole(frames) = stack.frames else { panic!("cut") };
        assert_eq!(frames.iter().map(|frame| frame.method.0).collect::<Vec<_>>(), [0x7000, 0x7001, 0x7002]);
    }

    #[test]
    fn a_deep_stack_keeps_leaf_and_root() {
        let Frames::Cut { frames, leaf } = written(8, &frames(100)).frames else { panic!("not cut") };
        assert_eq!(leaf, 6);
        let methods: Vec<_> = frames.iter().map(|frame| frame.method.0 - 0x7000).collect();
        assert_eq!(methods, [0, 1, 2, 3, 4, 5, 98, 99]);
    }

    #[test]
    fn a_failed_walk_keeps_its_weight_and_code() {
        let ring = Ring::new(64);
        let sample = Sample { weight: 10, slot: Slot(1), label: TaskLabelId(0), time: 1 };
        for code in [-3, 0, NO_SCRATCH] {
            sample.write_failed(&ring, code);
        }
        let mut frames = Vec::new();
        ring.drain(|tag, words| frames.push(read_record(tag, words).expect("a record").frames));
        assert_eq!(frames[0], Frames::NotWalkable(-3));
        assert_eq!(frames[2], Frames::NoScratch);
    }

    #[test]
    fn the_signal_info_has_the_kernels_layout() {
        assert_eq!(std::mem::offset_of!(TimerInfo, code), 8);
        assert_eq!(std::mem::offset_of!(TimerInfo, timer), 16);
        assert_eq!(std::mem::offset_of!(TimerInfo, overrun), 20);
        assert_eq!(std::mem::offset_of!(TimerInfo, value), 24);
    }

    #[test]
    fn threads_of_any_length_are_seen_as_often_as_their_cpu_deserves() {
        const STEP: usize = 20_000;
        for (interval, tick) in [(10_000_000, 4_000_000), (10_000_000, 1_000_000), (20_000_000, 10_000_000)] {
            for life in [500_000, 3_000_000, 7_000_000, 25_000_000_u64] {
                let (mut weight, mut threads) = (0, 0);
                for random in (0..interval).step_by(STEP) {
                    let first = first_expiry(random, interval, tick);
                    for phase in (STEP as u64..tick).step_by(5 * STEP) {
                        // The kernel delivers at the first tick after an expiry, with what has expired till then.
                        let last_tick = (phase..life).step_by(tick as usize).last();
                        let expired =
                            last_tick.filter(|at| *at >= first).map(|at| 1 + (at - first) / interval);
                        weight += expired.unwrap_or(0) * interval;
                        threads += 1;
                    }
                }
                let covered = weight as f64 / (threads * life) as f64;
                assert!((0.97..1.03).contains(&covered), "{covered} of {life} at {interval}/{tick}");
            }
        }
    }

    #[test]
    fn a_timer_signals_the_thread_that_burns_cpu_as_often_as_it_should() {
        static HITS: AtomicU64 = AtomicU64::new(0);
        static WRONG: AtomicU64 = AtomicU64::new(0);
        unsafe extern "C" fn count(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
            // SAFETY: the kernel's siginfo.
            let info = unsafe { &*info.cast::<TimerInfo>() };
            if info.code != SI_TIMER || info.value != 0x1_0000_0002 {
                WRONG.fetch_add(1, Ordering::Relaxed);
            }
            HITS.fetch_add(1 + info.overrun as u64, Ordering::Relaxed);
        }
        let signal = libc::SIGRTMAX() - 1;
        // SAFETY: installs a handler that only counts.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = count as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
        }
        let timer = create_timer(current_tid(), signal, 0x1_0000_0002).expect("a timer");
        let start = clock::read(libc::CLOCK_THREAD_CPUTIME_ID).expect("clock");
        set_timer(timer, 1_000_000, 1_000_000);
        let used = loop {
            let used = clock::read(libc::CLOCK_THREAD_CPUTIME_ID).expect("clock") - start;
            if used > 200_000_000 {
                break used;
            }
        };
        // SAFETY: made above.
        unsafe { libc::syscall(libc::SYS_timer_delete, timer) };
        let hits = HITS.load(Ordering::Relaxed);
        assert_eq!(WRONG.load(Ordering::Relaxed), 0);
        let expected = used / 1_000_000;
        // One tick (at most 10 ms) may be under way when the clock is read.
        assert!(hits + 11 >= expected && hits <= expected + 1, "{hits} expiries in {expected} ms");
    }
}
