//! One slot per thread, readable from a signal handler.
//!
//! A timer's signal carries slot and generation, so that the handler finds the thread's JNIEnv and
//! label with one index, and a signal that outlives its thread fails the generation test.

use super::TaskLabelId;
use crate::jvm::ThreadRef;
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Index of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot(pub u32);

/// What the engines know of a thread; all of it may be read in a handler.
#[derive(Debug, Default)]
pub struct ThreadRecord {
    /// Odd while a thread owns the slot; goes up at each change of owner.
    generation: AtomicU32,
    /// Kernel thread id.
    tid: AtomicI32,
    /// JNIEnv of the thread, 0 once it is ending.
    jni_env: AtomicUsize,
    /// Global reference to the thread object, 0 where there is none.
    reference: AtomicUsize,
    /// Labels of the task that the thread runs, below the number of times that they changed.
    label: AtomicU64,
    /// Kernel id of the thread's timer plus one; 0 is none (kernel ids begin at 0).
    timer: AtomicI32,
    /// CPU nanoseconds that one expiry stands for.
    interval: AtomicU64,
    /// The thread is the profiler's own.
    own: AtomicBool,
    /// CPU nanoseconds at the end of a thread that had no timer.
    final_cpu: AtomicU64,
    /// Bytes that the thread had allocated at its end, 0 where nobody counts them.
    final_allocated: AtomicU64,
    /// Where the labels changed, since the sampler looked; only kept while the thread has no timer.
    turns: Mutex<Vec<Turn>>,
}

/// Until here the thread ran with these labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) label: TaskLabelId,
    pub(super) until: Used,
}

/// A task of a millisecond gives two turns, and a look comes once in 0.64 s at the latest; what is beyond is charged with
/// the labels that come next.
const MOST_TURNS: usize = 4_096;

impl ThreadRecord {
    /// Kernel thread id.
    pub fn tid(&self) -> i32 {
        self.tid.load(Ordering::Relaxed)
    }

    /// JNIEnv, 0 where the thread cannot be walked.
    pub fn jni_env(&self) -> usize {
        self.jni_env.load(Ordering::Acquire)
    }

    /// The thread object; whoever sees the thread end releases it.
    pub fn reference(&self) -> Option<ThreadRef> {
        Some(ThreadRef(self.reference.load(Ordering::Acquire))).filter(|reference| reference.0 != 0)
    }

    /// Labels of the task that the thread runs.
    pub fn label(&self) -> TaskLabelId {
        self.label_mark().label()
    }

    /// Equal at two times if the labels did not change in between.
    pub(super) fn label_mark(&self) -> LabelMark {
        LabelMark(self.label.load(Ordering::Acquire))
    }

    /// CPU nanoseconds that one expiry stands for.
    pub fn interval(&self) -> u64 {
        self.interval.load(Ordering::Relaxed)
    }

    /// True for the profiler's own threads.
    pub fn is_own(&self) -> bool {
        self.own.load(Ordering::Relaxed)
    }

    /// True while the thread's CPU is sampled by a timer.
    pub fn has_timer(&self) -> bool {
        self.timer.load(Ordering::Relaxed) != 0
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// The turns since the last call, in order.
    pub(super) fn take_turns(&self) -> Vec<Turn> {
        std::mem::take(&mut *self.turns.lock())
    }

    fn turn(&self, label: TaskLabelId, used: Used) {
        let before = self.label_mark();
        if !self.has_timer() {
            let mut turns = self.turns.lock();
            if turns.len() < MOST_TURNS {
                turns.push(Turn { label: before.label(), until: used });
            }
        }
        // Last: who sees the new label finds the turn.
        self.label.store(before.changed_to(label).0, Ordering::Release);
    }

    pub(super) fn set_timer(&self, timer: i32, interval: u64) {
        self.interval.store(interval, Ordering::Relaxed);
        self.timer.store(timer + 1, Ordering::Relaxed);
    }

    pub(super) fn set_interval(&self, interval: u64) {
        self.interval.store(interval, Ordering::Relaxed);
    }

    pub(super) fn timer(&self) -> Option<i32> {
        self.timer.load(Ordering::Relaxed).checked_sub(1).filter(|timer| *timer >= 0)
    }

    fn take_end(&self, slot: Slot) -> Ended {
        Ended {
            slot,
            reference: Some(ThreadRef(self.reference.swap(0, Ordering::AcqRel))).filter(|taken| taken.0 != 0),
            used: Used {
                cpu: self.final_cpu.load(Ordering::Relaxed),
                allocated: self.final_allocated.load(Ordering::Relaxed),
            },
        }
    }

    pub(super) fn take_timer(&self) -> Option<i32> {
        self.timer.swap(0, Ordering::Relaxed).checked_sub(1).filter(|timer| *timer >= 0)
    }
}

/// A thread that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The slot that it had.
    pub slot: Slot,
    /// The reference to it, which is to be released.
    pub reference: Option<ThreadRef>,
    /// What it had used; no CPU if a timer sampled it.
    pub used: Used,
}

/// What a thread has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// CPU nanoseconds.
    pub cpu: u64,
    /// Bytes that it has allocated.
    pub allocated: u64,
}

/// Labels, and how often they had changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LabelMark(u64);

impl LabelMark {
    pub(super) fn label(self) -> TaskLabelId {
        TaskLabelId(self.0 as u32)
    }

    fn changed_to(self, label: TaskLabelId) -> LabelMark {
        let changes = (self.0 >> 32) as u32;
        LabelMark(u64::from(changes.wrapping_add(1)) << 32 | u64::from(label.0))
    }
}

const CHUNK: usize = 256;
const CHUNKS: usize = 256;

/// All slots: up to 65 536 threads, in chunks that are never freed.
#[derive(Debug)]
pub struct Registry {
    chunks: [AtomicPtr<[ThreadRecord; CHUNK]>; CHUNKS],
    book: Mutex<Book>,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Book {
    by_tid: HashMap<i32, Slot>,
    free: Vec<Slot>,
    /// Slots whose thread has ended since the last report; the ring may still hold their samples.
    ended: Vec<Slot>,
    /// Ended before that: to be reported next, and free from then on.
    cooling: Vec<Slot>,
    abandoned: Vec<ThreadRef>,
    /// Kernel ids of threads that have told of their end and may still run, with the CPU that they had used.
    departed: HashMap<i32, u64>,
    used: u32,
}

thread_local! {
    /// The calling thread's slot and generation, `u32::MAX` while unknown.
    static OWN_SLOT: Cell<(u32, u32)> = const { Cell::new((u32::MAX, 0)) };
}

impl Registry {
    /// No threads.
    pub fn new() -> Registry {
        Registry {
            chunks: [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS],
            book: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// The record of a slot; `None` if no thread ever had it. Signal-safe.
    pub fn record(&self, slot: Slot) -> Option<&ThreadRecord> {
        let chunk = self.chunks.get(slot.0 as usize / CHUNK)?.load(Ordering::Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: a chunk is leaked once it is stored, so it lives as long as the process.
        Some(unsafe { &(*chunk)[slot.0 as usize % CHUNK] })
    }

    /// Gives a thread a slot and takes over its reference. `Err` gives the reference back: the thread
    /// has a slot already, or all are taken.
    pub fn enroll(&self, tid: i32, jni_env: usize, reference: ThreadRef) -> Result<Slot, ThreadRef> {
        let mut book = self.book.lock();
        if book.by_tid.contains_key(&tid) {
            return Err(reference);
        }
        self.fill_slot(&mut book, tid, jni_env, reference).ok_or(reference)
    }

    fn fill_slot(&self, book: &mut Book, tid: i32, jni_env: usize, reference: ThreadRef) -> Option<Slot> {
        let slot = match book.free.pop() {
            Some(slot) => slot,
            None => self.next_slot(book)?,
        };
        let record = self.record(slot)?;
        record.tid.store(tid, Ordering::Relaxed);
        record.label.store(0, Ordering::Relaxed);
        record.turns.lock().clear();
        record.own.store(false, Ordering::Relaxed);
        record.final_cpu.store(0, Ordering::Relaxed);
        record.reference.store(reference.0, Ordering::Release);
        record.jni_env.store(jni_env, Ordering::Release);
        record.generation.fetch_add(1, Ordering::AcqRel);
        book.by_tid.insert(tid, slot);
        book.departed.remove(&tid);
        Some(slot)
    }

    /// Ends a thread's hold of its slot; returns the record so that the caller deletes the timer. `used` is
    /// what the thread's clock and counter say at its end.
    pub fn dismiss(&self, tid: i32, used: Used) -> Option<&ThreadRecord> {
        let mut book = self.book.lock();
        let slot = book.by_tid.remove(&tid)?;
        let record = self.record(slot)?;
        // First of all: a handler that still comes must not use an environment that is going away.
        record.jni_env.store(0, Ordering::Release);
        record.generation.fetch_add(1, Ordering::AcqRel);
        record.final_cpu.store(if record.has_timer() { 0 } else { used.cpu }, Ordering::Relaxed);
        record.final_allocated.store(used.allocated, Ordering::Relaxed);
        if !self.is_closed() {
            book.ended.push(slot);
            book.departed.insert(tid, used.cpu);
        }
        Some(record)
    }

    /// Ends the hold of a thread that ended without a word, if the calling thread has got its kernel id: one
    /// that was listed as it ended, or that the JVM never knew to be gone. Returns as [`dismiss`](Self::dismiss).
    pub fn dismiss_forerunner(&self, tid: i32, jni_env: usize) -> Option<&ThreadRecord> {
        let forerunner = self.find(tid).is_some_and(|record| record.jni_env() != jni_env);
        if forerunner {
            self.dismiss(tid, Used::default())
        } else {
            None
        }
    }

    /// Threads that had ended at the last call, for whoever keeps something by slot: what they wrote into
    /// the ring before that call has been drained meanwhile. Their slots are free from now on.
    pub fn take_ended(&self) -> Vec<Ended> {
        let mut book = self.book.lock();
        let ended = std::mem::take(&mut book.ended);
        let cooled = std::mem::replace(&mut book.cooling, ended);
        let rows = cooled.iter().filter_map(|slot| self.record(*slot).map(|record| record.take_end(*slot)));
        let rows = rows.collect();
        book.free.extend(cooled);
        rows
    }

    /// CPU nanoseconds of a thread when it told of its end, after which it still runs for a moment.
    pub fn departed(&self, tid: i32) -> Option<u64> {
        self.book.lock().departed.get(&tid).copied()
    }

    /// Forgets threads that have told of their end and are not among those that exist.
    pub fn forget_departed(&self, existing: &[i32]) {
        let departed = &mut self.book.lock().departed;
        if !departed.is_empty() {
            *departed = existing.iter().filter_map(|tid| departed.remove_entry(tid)).collect();
        }
    }

    /// Nobody sweeps any more: gives back all references, which would keep the threads' objects alive. From
    /// now on no thread may be enrolled.
    pub fn close(&self) -> Vec<ThreadRef> {
        let mut book = self.book.lock();
        self.closed.store(true, Ordering::Release);
        book.departed.clear();
        let mut references = std::mem::take(&mut book.abandoned);
        for slot in 0..book.used {
            let ended = self.record(Slot(slot)).map(|record| record.take_end(Slot(slot)));
            references.extend(ended.and_then(|ended| ended.reference));
        }
        references
    }

    /// True from [`close`](Self::close) on.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Takes a reference that nobody needs, to be released by the sampler.
    pub fn abandon(&self, reference: ThreadRef) {
        self.book.lock().abandoned.push(reference);
    }

    /// References to be released.
    pub fn take_abandoned(&self) -> Vec<ThreadRef> {
        std::mem::take(&mut self.book.lock().abandoned)
    }

    /// Slots in use now.
    pub fn live(&self) -> Vec<Slot> {
        let mut slots: Vec<Slot> = self.book.lock().by_tid.values().copied().collect();
        slots.sort_unstable_by_key(|slot| slot.0);
        slots
    }

    /// The record of a thread by its kernel id.
    pub fn find(&self, tid: i32) -> Option<&ThreadRecord> {
        let slot = *self.book.lock().by_tid.get(&tid)?;
        self.record(slot)
    }

    /// Sets the labels of the calling thread's task and tells which were there before; `used` is what the thread's
    /// clock and counter say now.
    pub fn label_current(&self, label: TaskLabelId, used: Used) -> Option<TaskLabelId> {
        let record = self.current()?;
        let before = record.label();
        record.turn(label, used);
        Some(before)
    }

    /// Marks a thread as the profiler's own.
    pub fn disown(&self, slot: Slot) {
        if let Some(record) = self.record(slot) {
            record.own.store(true, Ordering::Relaxed);
        }
    }

    /// Marks the calling thread as the profiler's own.
    pub fn disown_current(&self) -> Option<&ThreadRecord> {
        let record = self.current()?;
        record.own.store(true, Ordering::Relaxed);
        Some(record)
    }

    /// The calling thread's record.
    pub fn current(&self) -> Option<&ThreadRecord> {
        self.record(self.current_slot()?)
    }

    /// The calling thread's slot.
    pub fn current_slot(&self) -> Option<Slot> {
        let (slot, generation) = OWN_SLOT.get();
        if self.record(Slot(slot)).is_some_and(|record| record.generation() == generation) {
            return Some(Slot(slot));
        }
        let slot = *self.book.lock().by_tid.get(&current_tid())?;
        OWN_SLOT.set((slot.0, self.record(slot)?.generation()));
        Some(slot)
    }

    fn next_slot(&self, book: &mut Book) -> Option<Slot> {
        let slot = Slot(book.used);
        let chunk = self.chunks.get(slot.0 as usize / CHUNK)?;
        if chunk.load(Ordering::Acquire).is_null() {
            let fresh: Box<[ThreadRecord; CHUNK]> =
                Box::new(std::array::from_fn(|_| ThreadRecord::default()));
            chunk.store(Box::into_raw(fresh), Ordering::Release);
        }
        book.used += 1;
        Some(slot)
    }
}

impl Default for Registry {
    fn default() -> Self {
        Registry::new()
    }
}

/// Kernel id of the calling thread. Signal-safe.
pub(crate) fn current_tid() -> i32 {
    // SAFETY: no arguments, no failure.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadRef = ThreadRef(0x77);

    #[test]
    fn a_slot_is_used_again_only_after_its_end_was_reported() {
        let registry = Registry::new();
        let first = registry.enroll(101, 0x10, THREAD).expect("a slot");
        assert_eq!(registry.enroll(101, 0x10, ThreadRef(9)), Err(ThreadRef(9)), "the same thread");
        let generation = registry.record(first).expect("record").generation();
        let used = Used { cpu: 5_000, allocated: 64 };
        registry.dismiss(101, used).expect("it was there");
        let second = registry.enroll(102, 0x20, THREAD).expect("a slot");
        assert_ne!(second, first);
        assert_eq!(registry.take_ended(), []);
        assert_eq!(registry.enroll(103, 0x30, THREAD), Ok(Slot(2)), "its samples may still be in the ring");
        assert_eq!(registry.take_ended(), [Ended { slot: first, reference: Some(THREAD), used }]);
        assert_eq!(registry.take_ended(), []);
        assert_eq!(registry.enroll(104, 0x40, THREAD), Ok(first));
        assert_eq!(registry.record(first).expect("record").generation(), generation + 2);
        assert_eq!(registry.live(), vec![first, second, Slot(2)]);
    }

    #[test]
    fn a_thread_takes_the_place_of_one_that_ended_without_a_word() {
        let registry = Registry::new();
        let first = registry.enroll(101, 0x10, THREAD).expect("a slot");
        assert!(registry.dismiss_forerunner(101, 0x10).is_none(), "listed, and then heard of its start");
        assert!(registry.dismiss_forerunner(102, 0x10).is_none(), "nobody had the id");
        let gone = registry.dismiss_forerunner(101, 0x20).expect("another thread");
        assert_eq!((gone.jni_env(), gone.generation()), (0, 2));
        let second = registry.enroll(101, 0x20, ThreadRef(9)).expect("a slot");
        assert_ne!(second, first);
        assert_eq!(registry.find(101).map(ThreadRecord::jni_env), Some(0x20));
        assert_eq!(registry.take_ended(), []);
        assert_eq!(
            registry.take_ended(),
            [Ended { slot: first, reference: Some(THREAD), used: Used::default() }]
        );
    }

    #[test]
    fn a_closed_registry_keeps_no_thread_alive() {
        let registry = Registry::new();
        registry.enroll(101, 0x10, ThreadRef(1)).expect("a slot");
        registry.enroll(102, 0x20, ThreadRef(2)).expect("a slot");
        registry.dismiss(101, Used::default());
        registry.abandon(ThreadRef(3));
        assert_eq!(registry.close(), [ThreadRef(3), ThreadRef(1), ThreadRef(2)]);
        assert!(registry.is_closed());
        assert!(registry.dismiss(102, Used { cpu: 7, allocated: 0 }).is_some());
        assert_eq!((registry.departed(102), registry.close()), (None, vec![]));
    }

    #[test]
    fn labels_belong_to_the_calling_thread() {
        let registry = Registry::new();
        assert_eq!(registry.label_current(TaskLabelId(7), Used::default()), None, "not enrolled");
        let slot = registry.enroll(current_tid(), 1, THREAD).expect("a slot");
        assert_eq!(registry.label_current(TaskLabelId(7), Used::default()), Some(TaskLabelId(0)));
        assert_eq!(registry.record(slot).expect("record").label(), TaskLabelId(7));
        assert_eq!(registry.label_current(TaskLabelId(0), Used::default()), Some(TaskLabelId(7)));
        registry.dismiss(current_tid(), Used::default());
        assert_eq!(registry.label_current(TaskLabelId(9), Used::default()), None);
    }

    #[test]
    fn more_threads_than_one_chunk_holds() {
        let registry = Registry::new();
        for tid in 1..=1_000 {
            assert_eq!(registry.enroll(tid, 1, THREAD), Ok(Slot(tid as u32 - 1)));
        }
        assert!(registry.record(Slot(1_023)).is_some());
        assert!(registry.record(Slot(1_024)).is_none());
        assert!(registry.record(Slot(u32::MAX)).is_none());
    }
}
