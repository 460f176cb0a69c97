//! What lies where in the memory for the code that the JVM makes, found as HotSpot's own look-up finds it.
//!
//! AsyncGetCallTrace must not be told of an address in code that is being thrown away: before JDK 20 the
//! JVM ends itself there ("unsafe access to zombie method", a guarantee in `CodeCache::find_blob`, which
//! several updates of 8, 11 and 17 have even for AsyncGetCallTrace), and later ones read what is no more.

use super::structs::{Row, Table};
use std::ptr::read_volatile;

/// What a piece of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// A compiled method that is in use.
    Method,
    /// Anything else: interpreter, adapters, stubs.
    Stub {
        /// Words from the stack pointer to the end of the frame, return address and all; 0 if not known.
        frame: usize,
    },
}

/// The heaps that code lies in, of which there are up to three.
#[derive(Debug)]
pub(super) struct CodeHeaps {
    heaps: Vec<Heap>,
    layout: Layout,
}

#[derive(Debug)]
struct Heap {
    /// First byte of the heap.
    low: usize,
    /// Where the JVM keeps the end of the part that is in use; what is behind it cannot be read.
    high: *const usize,
    /// One byte for each segment: how far back its block begins, or that there is none.
    segments: *const u8,
    /// Size of a segment, as a power of two.
    shift: u32,
}

/// Offsets in a block's header, and in the blob that follows it.
#[derive(Debug)]
struct Layout {
    used: usize,
    blob: usize,
    header_size: usize,
    frame_size: usize,
    state: usize,
    /// A blob is a compiled method if its header is as large as one's.
    method_header: u16,
}

/// A segment that belongs to no block (`CodeHeap::free_sentinel`).
const FREE: u8 = 0xff;
/// `nmethod::in_use`, of all states the one that nothing goes from to the end without a stop of this thread.
const IN_USE: u8 = 0;

impl CodeHeaps {
    /// Reads where the heaps are; `None` if this JVM does not tell all of it (JDK 8 has one heap only, and
    /// no engine that would ask).
    pub(super) fn read() -> Option<CodeHeaps> {
        let fields = Table::open("gHotSpotVMStructs", "gHotSpotVMStructEntry")?;
        let types = Table::open("gHotSpotVMTypes", "gHotSpotVMTypeEntry")?;
        let (owner, name) = (fields.column("TypeName")?, fields.column("FieldName")?);
        let (offset, address) = (fields.column("Offset")?, fields.column("Address")?);
        let find = |of: &[&str], field: &str| -> Option<Row> {
            fields.entries(owner).find(|row| of.contains(&row.text(owner)) && row.text(name) == field)
        };
        let at = |of: &[&str], field: &str| Some(find(of, field)?.number(offset) as usize);
        let (type_name, type_size) = (types.column("TypeName")?, types.column("Size")?);
        let size = |of: &str| {
            let row = types.entries(type_name).find(|row| row.text(type_name) == of)?;
            Some(row.number(type_size) as usize)
        };

        let layout = Layout {
            used: at(&["HeapBlock"], "_header")? + at(&["HeapBlock::Header"], "_used")?,
            blob: size("HeapBlock")?,
            header_size: at(&["CodeBlob"], "_header_size")?,
            frame_size: at(&["CodeBlob"], "_frame_size")?,
            state: at(&["nmethod"], "_state")?,
            method_header: size("nmethod")? as u16,
        };
        // `GenericGrowableArray` up to 11, `GrowableArrayBase` after.
        let length = at(&["GrowableArrayBase", "GenericGrowableArray"], "_len")?;
        let data = at(&["GrowableArray<int>"], "_data")?;
        let (memory, map) = (at(&["CodeHeap"], "_memory")?, at(&["CodeHeap"], "_segmap")?);
        let shift = at(&["CodeHeap"], "_log2_segment_size")?;
        let (low, high) = (at(&["VirtualSpace"], "_low")?, at(&["VirtualSpace"], "_high")?);
        // SAFETY: `_heaps` is a static pointer to an array of `CodeHeap*` that is made once, before any
        // agent runs, as are the heaps; the offsets are this JVM's own.
        unsafe {
            let array = find(&["CodeCache"], "_heaps")?.static_word(address);
            if array == 0 {
                return None;
            }
            let count = *((array + length) as *const i32);
            let first = *((array + data) as *const *const usize);
            let heaps = (0..count.max(0) as usize).map(|index| {
                let heap = *first.add(index);
                Heap {
                    low: *((heap + memory + low) as *const usize),
                    high: (heap + memory + high) as *const usize,
                    segments: *((heap + map + low) as *const *const u8),
                    shift: *((heap + shift) as *const i32) as u32,
                }
            });
            Some(CodeHeaps { heaps: heaps.collect(), layout })
        }
    }

    /// True if code can lie there. Signal-safe.
    pub(super) fn contain(&self, pc: usize) -> bool {
        self.heap(pc).is_some()
    }

    /// What lies there; `None` where nothing does, or a method that is on its way out. Signal-safe.
    pub(super) fn code_at(&self, pc: usize) -> Option<Code> {
        let block = self.heap(pc)?.block(pc)?;
        let Layout { used, blob, header_size, frame_size, state, method_header } = self.layout;
        let blob = block + blob;
        // SAFETY: a block's header and a blob's lie whole in the part of the heap that is in use, which
        // never shrinks; what they say is looked at only, whatever it is.
        unsafe {
            if read_volatile((block + used) as *const u8) != 1 {
                return None;
            }
            // Two bytes wide in 25, four before, and always small.
            if read_volatile((blob + header_size) as *const u16) == method_header {
                return (read_volatile((blob + state) as *const u8) == IN_USE).then_some(Code::Method);
            }
            let frame = read_volatile((blob + frame_size) as *const i32);
            Some(Code::Stub { frame: frame.max(0) as usize })
        }
    }

    fn heap(&self, pc: usize) -> Option<&Heap> {
        // SAFETY: a field of a heap, which lives as long as the JVM.
        self.heaps.iter().find(|heap| pc >= heap.low && pc < unsafe { read_volatile(heap.high) })
    }
}

impl Heap {
    /// The block that an address in the heap belongs to.
    fn block(&self, pc: usize) -> Option<usize> {
        let mut segment = (pc - self.low) >> self.shift;
        loop {
            // SAFETY: there is a byte for each segment of the part that is in use.
            match unsafe { read_volatile(self.segments.add(segment)) } {
                0 => return Some(self.low + (segment << self.shift)),
                FREE => return None,
                back => segment = segment.checked_sub(usize::from(back))?,
            }
        }
    }
}

// SAFETY: the pointers lead to what the JVM makes once and never frees; all of it is only read.
unsafe impl Send for CodeHeaps {}
// SAFETY: as above.
unsafe impl Sync for CodeHeaps {}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const SEGMENT: usize = 128;
    const METHOD_HEADER: u16 = 320;

    /// A heap of 512 segments, of which the last 64 are not in use yet.
    pub(in crate::jvm) struct Invented {
        memory: Vec<u64>,
        segments: Vec<u8>,
        high: Box<usize>,
    }

    impl Invented {
        pub(in crate::jvm) fn new() -> Invented {
            let memory = vec![0_u64; 512 * SEGMENT / 8];
            let high = Box::new(memory.as_ptr() as usize + 448 * SEGMENT);
            Invented { memory, segments: vec![FREE; 448], high }
        }

        /// Puts a block there and returns the address of its byte 200.
        pub(in crate::jvm) fn put(
            &mut self,
            segment: usize,
            count: usize,
            header: u16,
            state: u8,
            frame: i32,
        ) -> usize {
            for (index, back) in self.segments[segment..segment + count].iter_mut().enumerate() {
                *back = index.min(0xfe) as u8;
            }
            let at = self.memory.as_mut_ptr() as usize + segment * SEGMENT;
            // SAFETY: inside `memory`.
            unsafe {
                *((at + 8) as *mut u8) = 1;
                *((at + 16 + 4) as *mut u16) = header;
                *((at + 16 + 8) as *mut i32) = frame;
                *((at + 16 + 12) as *mut u8) = state;
            }
            at + 200
        }

        pub(in crate::jvm) fn heaps(&self) -> CodeHeaps {
            let heap = Heap {
                low: self.memory.as_ptr() as usize,
                high: &raw const *self.high,
                segments: self.segments.as_ptr(),
                shift: SEGMENT.trailing_zeros(),
            };
            let layout = Layout {
                used: 8,
                blob: 16,
                header_size: 4,
                frame_size: 8,
                state: 12,
                method_header: METHOD_HEADER,
            };
            CodeHeaps { heaps: vec![heap], layout }
        }

        pub(in crate::jvm) fn method(&mut self, segment: usize) -> usize {
            self.put(segment, 2, METHOD_HEADER, IN_USE, 4)
        }

        pub(in crate::jvm) fn stub(&mut self, segment: usize, frame: i32) -> usize {
            self.put(segment, 2, 96, 0xff, frame)
        }
    }

    #[test]
    fn methods_in_use_and_stubs_are_code() {
        let mut invented = Invented::new();
        let (method, stub) = (invented.method(3), invented.stub(9, 6));
        let large = invented.put(16, 300, METHOD_HEADER, IN_USE, 4);
        let heaps = invented.heaps();
        assert_eq!(heaps.code_at(method), Some(Code::Method));
        assert_eq!(heaps.code_at(stub), Some(Code::Stub { frame: 6 }));
        assert_eq!(heaps.code_at(large + 290 * SEGMENT), Some(Code::Method), "more than one step back");
    }

    #[test]
    fn methods_on_their_way_out_and_free_blocks_are_not() {
        let mut invented = Invented::new();
        let zombies: Vec<_> =
            (1..5).map(|state| invented.put(state * 8, 2, METHOD_HEADER, state as u8, 4)).collect();
        let freed = invented.method(60);
        // SAFETY: the block's own flag.
        unsafe { *((freed - 200 + 8) as *mut u8) = 0 };
        let heaps = invented.heaps();
        for zombie in zombies {
            assert_eq!(heaps.code_at(zombie), None);
        }
        assert_eq!(heaps.code_at(freed), None);
        let low = invented.memory.as_ptr() as usize;
        assert_eq!(heaps.code_at(low + 100 * SEGMENT), None, "never given out");
        assert!(heaps.contain(low) && heaps.contain(low + 448 * SEGMENT - 1));
        assert!(
            !heaps.contain(low + 448 * SEGMENT) && !heaps.contain(low - 1),
            "not in use, or not a heap's"
        );
    }
}
