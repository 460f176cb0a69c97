//! Allocation engine: the JVM picks allocations (JEP 331), the allocating thread records its stack.

use super::registry::{Registry, Slot};
use super::ring::Ring;
use super::{clock, pack, read_frames, Kept, RawStack, TaskLabelId, Weight, CUT, MAX_WALK};
use crate::jvm::{MethodId, RawFrame};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The engine's side on application threads.
#[derive(Debug)]
pub struct AllocationSampler {
    registry: &'static Registry,
    ring: &'static Ring,
    depth: AtomicUsize,
    /// Mean bytes between samples, as the JVM was told; 0 while off.
    interval: AtomicU64,
    taken: AtomicU64,
    nanoseconds: AtomicU64,
}

/// Tag of an allocation record: kind 1 in the upper bits.
pub(super) const ALLOCATION: u64 = 1 << 36;

const NO_FRAME: RawFrame = RawFrame { method: MethodId(0), bci: 0 };

thread_local! {
    /// Reused by each thread that allocates much: 16 bytes a frame.
    static BUFFER: Cell<Option<Box<[RawFrame]>>> = const { Cell::new(None) };
}

impl AllocationSampler {
    /// Off until [`set_interval`](Self::set_interval).
    pub fn new(registry: &'static Registry, ring: &'static Ring) -> AllocationSampler {
        AllocationSampler {
            registry,
            ring,
            depth: AtomicUsize::new(1),
            interval: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            nanoseconds: AtomicU64::new(0),
        }
    }

    /// Keeps at most this many frames from now on.
    pub fn set_depth(&self, depth: usize) {
        self.depth.store(depth, Ordering::Relaxed);
    }

    /// The interval that the JVM works with from now on; 0 ignores what still comes.
    pub fn set_interval(&self, interval: u64) {
        self.interval.store(interval, Ordering::Relaxed);
    }

    /// Samples taken and nanoseconds spent since the last call.
    pub fn take_counts(&self) -> (u64, u64) {
        (self.taken.swap(0, Ordering::Relaxed), self.nanoseconds.swap(0, Ordering::Relaxed))
    }

    /// Records one picked allocation of the calling thread. `walk` fills a buffer with its frames from a place on.
    pub fn record(&self, size: u64, walk: &mut dyn FnMut(usize, &mut [RawFrame]) -> usize) {
        let interval = self.interval.load(Ordering::Relaxed);
        let Some(thread) = self.registry.current().filter(|_| interval > 0) else { return };
        if thread.is_own() {
            return;
        }
        let begin = clock::read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0);
        let now = clock::read(libc::CLOCK_MONOTONIC).unwrap_or(0);
        // A thread that is being torn down has no locals any more: its sample goes.
        let Ok(buffer) = BUFFER.try_with(Cell::take) else { return };
        let depth = self.depth.load(Ordering::Relaxed);
        // One more than is kept, to see whether there is more.
        let buffer = buffer.filter(|buffer| buffer.len() == depth + 1);
        let mut buffer = buffer.unwrap_or_else(|| vec![NO_FRAME; depth + 1].into());
        let count = walk(0, &mut buffer).min(buffer.len());
        let mut deep = Vec::new();
        let frames = if count <= depth {
            &buffer[..count]
        } else {
            // Deep stacks are rare: no thread keeps a buffer for them.
            deep.extend_from_slice(&buffer);
            deep.resize(MAX_WALK, NO_FRAME);
            let more = walk(count, &mut deep[count..]);
            &deep[..MAX_WALK.min(count + more)]
        };
        let kept = Kept::of(frames, depth);
        let bytes = estimated_bytes(size, interval);
        let objects = (bytes / size.max(1)).max(1);
        let Some(slot) = self.registry.current_slot() else { return };
        let owner = u64::from(slot.0) | u64::from(thread.label().0) << 32;
        let (frames, leaf) = kept.joined();
        let head = [bytes, owner, now, objects, leaf];
        let tag = if kept.root.is_some() { ALLOCATION | CUT } else { ALLOCATION };
        self.ring.write(tag, &head, frames.map(|frame| pack(*frame)), 0);
        let _ = BUFFER.try_with(|cell| cell.set(Some(buffer)));
        self.taken.fetch_add(1, Ordering::Relaxed);
        let end = clock::read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(begin);
        self.nanoseconds.fetch_add(end.saturating_sub(begin), Ordering::Relaxed);
    }
}

/// Bytes that a picked object stands for. The JVM picks at exponential distances of mean `interval`,
/// so an object of `size` bytes is picked with probability `1 - exp(-size / interval)`.
pub(crate) fn estimated_bytes(size: u64, interval: u64) -> u64 {
    if size == 0 {
        return interval;
    }
    let picked = -(-(size as f64) / interval as f64).exp_m1();
    (size as f64 / picked).round() as u64
}

/// Reads a record that [`AllocationSampler::record`] wrote.
pub(super) fn read_record(tag: u64, words: &[u64]) -> Option<RawStack> {
    let [bytes, owner, time, objects, leaf, body @ ..] = words else { return None };
    Some(RawStack {
        weight: Weight::Alloc { objects: *objects, bytes: *bytes },
        thread: Slot(*owner as u32),
        label: TaskLabelId((*owner >> 32) as u32),
        time: *time,
        frames: read_frames(tag, *leaf, body),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::registry::{current_tid, Used};
    use crate::sample::Frames;

    #[test]
    fn a_small_object_stands_for_the_interval_and_a_large_one_for_itself() {
        assert_eq!(estimated_bytes(16, 2 << 20), (2 << 20) + 8);
        assert_eq!(estimated_bytes(100 << 20, 2 << 20), 100 << 20);
        // size == interval: 1 / (1 - 1/e) = 1.58198 intervals.
        assert_eq!(estimated_bytes(1_000_000, 1_000_000), 1_581_977);
    }

    #[test]
    fn a_deep_allocation_keeps_the_leaf_and_the_root_of_its_stack() {
        let registry: &'static Registry = Box::leak(Box::new(Registry::new()));
        let ring: &'static Ring = Box::leak(Box::new(Ring::new(1 << 10)));
        let sampler = AllocationSampler::new(registry, ring);
        sampler.set_depth(8);
        sampler.set_interval(1 << 20);
        registry.enroll(current_tid(), 1, crate::jvm::ThreadRef(0)).expect("a slot");
        for stack in [8, 9, 100, 5000] {
            sampler.record(1000, &mut |start: usize, frames: &mut [RawFrame]| {
                let wanted = start.min(stack)..stack.min(start + frames.len());
                for (frame, method) in frames.iter_mut().zip(wanted.clone()) {
                    *frame = RawFrame { method: MethodId(method as u64), bci: 0 };
                }
                wanted.len()
            });
        }
        let mut read = Vec::new();
        ring.drain(|tag, words| read.push(read_record(tag, words).expect("a record").frames));
        let frames = |methods: &[u64]| -> Vec<RawFrame> {
            methods.iter().map(|method| RawFrame { method: MethodId(*method), bci: 0 }).collect()
        };
        assert_eq!(
            read,
            [
                Frames::Whole(frames(&[0, 1, 2, 3, 4, 5, 6, 7])),
                Frames::Cut { frames: frames(&[0, 1, 2, 3, 4, 5, 7, 8]), leaf: 6 },
                Frames::Cut { frames: frames(&[0, 1, 2, 3, 4, 5, 98, 99]), leaf: 6 },
                Frames::Cut { frames: frames(&[0, 1, 2, 3, 4, 5, 6, 7]), leaf: 8 },
            ]
        );
        registry.dismiss(current_tid(), Used::default());
    }

    #[test]
    fn an_allocation_carries_thread_label_and_frames() {
        let registry: &'static Registry = Box::leak(Box::new(Registry::new()));
        let ring: &'static Ring = Box::leak(Box::new(Ring::new(1 << 10)));
        let sampler = AllocationSampler::new(registry, ring);
        sampler.set_depth(100);
        let mut walk = |_: usize, frames: &mut [RawFrame]| {
            frames[0] = RawFrame { method: MethodId(0xabc), bci: 4 };
            frames[1] = RawFrame { method: MethodId(0xdef), bci: -1 };
            2
        };
        let slot = registry.enroll(current_tid(), 1, crate::jvm::ThreadRef(0)).expect("a slot");
        registry.label_current(TaskLabelId(3), Used::default());
        sampler.record(1000, &mut walk);
        sampler.set_interval(1 << 20);
        sampler.record(1000, &mut walk);
        let mut stacks = Vec::new();
        ring.drain(|tag, words| {
            assert_eq!(tag, ALLOCATION);
            stacks.extend(read_record(tag, words));
        });
        assert_eq!(stacks.len(), 1, "nothing is recorded while the engine is off");
        assert_eq!(stacks[0].weight, Weight::Alloc { objects: 1049, bytes: 1_049_076 });
        assert_eq!((stacks[0].thread, stacks[0].label), (slot, TaskLabelId(3)));
        assert_eq!(
            stacks[0].frames,
            Frames::Whole(vec![
                RawFrame { method: MethodId(0xabc), bci: 4 },
                RawFrame { method: MethodId(0xdef), bci: -1 }
            ])
        );
        registry.dismiss(current_tid(), Used::default());
    }
}
