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
    /// `leaf` frames from the leaf, the rest from the root, if the look went that deep; what lay between is gone.
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

/// Deepest stack that is looked at: the frame limit of a report (1000) plus as much again, so that the
/// root is still seen where the middle is cut.
pub const MAX_WALK: usize = 2048;

/// What is kept of a stack; both sides leaf first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept<'a, F> {
    /// All of it, or the side of the leaf.
    pub leaf: &'a [F],
    /// The side of the root of a stack that was cut; empty where the look did not reach it.
    pub root: Option<&'a [F]>,
}

impl<'a, F> Kept<'a, F> {
    /// At most `depth` of the frames of a look that goes [`MAX_WALK`] deep.
    pub fn of(frames: &'a [F], depth: usize) -> Kept<'a, F> {
        if frames.len() >= MAX_WALK {
            return Kept { leaf: &frames[..depth.min(frames.len())], root: Some(&[]) };
        }
        if frames.len() <= depth {
            return Kept { leaf: frames, root: None };
        }
        let leaf = leaf_side(depth);
        Kept { leaf: &frames[..leaf], root: Some(&frames[frames.len() - (depth - leaf)..]) }
    }

    /// All frames that are kept, and how many of them are the leaf's.
    pub(crate) fn joined(&self) -> (Joined<'a, F>, u64) {
        let second = self.root.unwrap_or_default();
        (Joined { first: self.leaf, second, at: 0 }, self.leaf.len() as u64)
    }
}

/// How many frames of a cut stack are kept at the leaf: three quarters, for that is where time goes.
fn leaf_side(depth: usize) -> usize {
    depth - depth / 4
}

/// Two slices in a row (`Chain` does not know its length).
pub(crate) struct Joined<'a, F> {
    first: &'a [F],
    second: &'a [F],
    at: usize,
}

impl<'a, F> Iterator for Joined<'a, F> {
    type Item = &'a F;

    fn next(&mut self) -> Option<&'a F> {
        let item = match self.at.checked_sub(self.first.len()) {
            None => self.first.get(self.at),
            Some(rest) => self.second.get(rest),
        };
        self.at += 1;
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.first.len() + self.second.len()).saturating_sub(self.at);
        (left, Some(left))
    }
}

impl<F> ExactSizeIterator for Joined<'_, F> {}

/// Tag bit of a record in the ring: its stack was cut.
const CUT: u64 = 1 << 32;

/// The frames of a record that says how many of them are the leaf's.
fn read_frames(tag: u64, leaf: u64, words: &[u64]) -> Frames {
    let frames: Vec<RawFrame> = words.iter().map(|word| unpack(*word)).collect();
    let leaf = (leaf as usize).min(frames.len());
    match tag & CUT {
        0 => Frames::Whole(frames),
        _ => Frames::Cut { frames, leaf },
    }
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
        return alloc::read_record(tag, words);
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
    fn a_deep_stack_keeps_its_leaf_and_its_root() {
        let frames: Vec<usize> = (0..3000).collect();
        assert_eq!(Kept::of(&frames[..8], 8), Kept { leaf: &frames[..8], root: None });
        assert_eq!(Kept::of(&frames[..9], 8), Kept { leaf: &frames[..6], root: Some(&frames[7..9]) });
        assert_eq!(
            Kept::of(&frames[..2047], 8),
            Kept { leaf: &frames[..6], root: Some(&frames[2045..2047]) }
        );
        let unreached = Kept::of(&frames[..MAX_WALK], 8);
        assert_eq!(unreached, Kept { leaf: &frames[..8], root: Some(&[]) }, "what was seen last is no root");
        let (joined, leaf) = Kept::of(&frames[..100], 8).joined();
        assert_eq!((joined.copied().collect::<Vec<_>>(), leaf), (vec![0, 1, 2, 3, 4, 5, 98, 99], 6));
    }

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
