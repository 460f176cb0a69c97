//! The engines: each turns what happens in the process into [`RawStack`]s.
//!
//! * [`cpu`]: per-thread CPU timers; the signalled thread records its own stack into the [`ring`].
//! * [`sweep`]: the sampler thread looks at all Java threads: wall time by state, and CPU time
//!   where a thread has no timer.
//! * [`alloc`]: the JVM picks allocations; the allocating thread records its stack into the ring.
//! * [`runtime`]: CPU of threads that are not Java's.

pub mod alloc;
pub mod clock;
pub mod cpu;
pub mod registry;
pub mod ring;
pub mod runtime;
pub mod sweep;

use crate::jvm::{MethodId, RawFrame};

/// Id of the labels that the bridge gave to a task; 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TaskLabelId(pub u32);

/// Which engine took a stack, with its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// CPU nanoseconds that the sample stands for.
    Cpu(u64),
    /// Estimated objects and bytes that the sample stands for.
    Alloc {
        /// Objects.
        objects: u64,
        /// Bytes.
        bytes: u64,
    },
}

/// One sample, leaf first, as an engine hands it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawStack {
    /// What it stands for.
    pub weight: Weight,
    /// Slot of the thread in the [`registry`].
    pub thread: registry::Slot,
    /// Labels of the task that the thread ran.
    pub label: TaskLabelId,
    /// When it was taken, monotonic nanoseconds.
    pub time: u64,
    /// The frames, leaf first.
    pub frames: Frames,
}

/// The frames of a sample, or why there are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frames {
    /// The whole stack.
    Whole(Vec<RawFrame>),
    /// `leaf` frames from the leaf, the rest from the root; what lay between is gone.
    Cut {
        /// The frames that were kept.
        frames: Vec<RawFrame>,
        /// How many of them belong to the leaf side.
        leaf: usize,
    },
    /// The walker failed with this code of AsyncGetCallTrace.
    NotWalkable(i32),
    /// All scratch buffers were taken.
    NoScratch,
}

/// Blocks all signals on the calling thread: a profiler's thread must not run others' handlers.
pub fn block_signals() {
    // SAFETY: fills and passes our own set.
    unsafe {
        let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// Reads one record of the ring; `None` for one that this version does not write.
pub fn read_record(tag: u64, words: &[u64]) -> Option<RawStack> {
    if tag & alloc::ALLOCATION != 0 {
        return alloc::read_record(words);
    }
    cpu::read_record(tag, words)
}

/// A frame in one word: method in the upper 48 bits (user space has 47), byte-code index below.
pub(crate) fn pack(frame: RawFrame) -> u64 {
    let bci = if frame.bci < 0 { NATIVE_BCI } else { (frame.bci as u64).min(NATIVE_BCI - 1) };
    frame.method.0 << 16 | bci
}

/// Inverse of [`pack`].
pub(crate) fn unpack(word: u64) -> RawFrame {
    let bci = word & 0xffff;
    RawFrame { method: MethodId(word >> 16), bci: if bci == NATIVE_BCI { -1 } else { bci as i32 } }
}

const NATIVE_BCI: u64 = 0xffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_survives_packing() {
        for bci in [0, 1, 65_534] {
            let frame = RawFrame { method: MethodId(0x7fff_dead_beef), bci };
            assert_eq!(unpack(pack(frame)), frame);
        }
        let native = RawFrame { method: MethodId(0x7fff_dead_beef), bci: -3 };
        assert_eq!(unpack(pack(native)).bci, -1);
    }
}
