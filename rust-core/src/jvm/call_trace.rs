//! AsyncGetCallTrace: the JVM's own walker, callable from a signal handler.
//!
//! Not in any header; declared after `forte.cpp` of OpenJDK. Everything here that runs in a handler
//! neither allocates nor locks.

use super::structs;
use libc::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One frame in AsyncGetCallTrace's layout.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CallFrame {
    /// Byte-code index; -3 in native methods.
    pub bci: i32,
    /// `jmethodID`.
    pub method: u64,
}

#[repr(C)]
struct CallTrace {
    jni_env: *mut c_void,
    frame_count: i32,
    frames: *mut CallFrame,
}

type AsyncGetCallTrace = unsafe extern "C" fn(*mut CallTrace, i32, *mut c_void);

/// A failure code of AsyncGetCallTrace, zero or negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkFailure(pub i32);

/// In Java code, at a place that the walker does not know: a stub, or a method that has not made its
/// frame yet or has given it up already.
const UNKNOWN_JAVA: i32 = -5;
/// In Java code, but what runs is not of it: a leaf function of the JVM's own that a stub calls.
const NOT_WALKABLE_JAVA: i32 = -6;

/// The walker, the range in which interpreter and stubs lie, and that of all code that the JVM makes.
#[derive(Debug)]
pub struct Walker {
    function: AsyncGetCallTrace,
    /// Asked where a walk begins again at a caller, which is done on x86-64 alone so far.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    code: Range<usize>,
    stubs_low: AtomicUsize,
    stubs_high: AtomicUsize,
}

impl Walker {
    /// Finds the walker in the running libjvm; `code` is where the JVM keeps the code that it makes.
    pub(super) fn find(code: Range<usize>) -> Option<Walker> {
        let function = structs::symbol("AsyncGetCallTrace");
        if function.is_null() {
            return None;
        }
        Some(Walker {
            // SAFETY: the symbol has this signature in every HotSpot from 8 to 25.
            function: unsafe { std::mem::transmute::<*mut c_void, AsyncGetCallTrace>(function) },
            code,
            stubs_low: AtomicUsize::new(usize::MAX),
            stubs_high: AtomicUsize::new(0),
        })
    }

    /// Widens the range in which stubs are known to lie.
    pub(super) fn add_stub(&self, start: usize, length: usize) {
        self.stubs_low.fetch_min(start, Ordering::Relaxed);
        self.stubs_high.fetch_max(start + length, Ordering::Relaxed);
    }

    /// Walks the interrupted thread. Signal-safe.
    ///
    /// Six to ten of a hundred samples of a CPU-bound program hit array-copy and other stubs, and one
    /// to three the first and last instructions of methods and the JVM's leaf functions (measured on
    /// 17 and 25). The JVM's walker does not know these; they are popped by hand and the caller walked.
    ///
    /// # Errors
    /// The failure code; the frames are not usable then.
    ///
    /// # Safety
    /// Called in a signal handler on the thread that owns `jni_env`, with that handler's `context`.
    pub unsafe fn walk<'a>(
        &self,
        jni_env: *mut c_void,
        context: *mut c_void,
        frames: &'a mut [CallFrame],
    ) -> Result<&'a [CallFrame], WalkFailure> {
        let mut trace = CallTrace { jni_env, frame_count: 0, frames: frames.as_mut_ptr() };
        let depth = frames.len() as i32;
        // SAFETY: the buffer holds `depth` frames; the rest is the caller's promise.
        unsafe { (self.function)(&mut trace, depth, context) };
        if matches!(trace.frame_count, UNKNOWN_JAVA | NOT_WALKABLE_JAVA) {
            // SAFETY: the caller's promise: this context is of the thread that runs now.
            unsafe { self.walk_from_caller(&mut trace, depth, context) };
        }
        match trace.frame_count {
            count if count > 0 => Ok(&frames[..count as usize]),
            failure => Err(WalkFailure(failure)),
        }
    }

    #[cfg(target_arch = "x86_64")]
    unsafe fn walk_from_caller(&self, trace: &mut CallTrace, depth: i32, context: *mut c_void) {
        // SAFETY: the kernel's context of this very handler; it is put back as it was below.
        let registers = unsafe { &mut (*(context as *mut libc::ucontext_t)).uc_mcontext.gregs };
        let (rip, rsp, rbp) = (libc::REG_RIP as usize, libc::REG_RSP as usize, libc::REG_RBP as usize);
        let saved = (registers[rip], registers[rsp], registers[rbp]);
        let top = Top { pc: saved.0 as usize, sp: saved.1 as usize, fp: saved.2 as usize };
        let mut walk_from = |from: Top| {
            registers[rip] = from.pc as i64;
            registers[rsp] = from.sp as i64;
            registers[rbp] = from.fp as i64;
            // SAFETY: as in `walk`; the walker itself refuses a pc that is not in its code.
            unsafe { (self.function)(trace, depth, context) };
            trace.frame_count > 0
        };
        // SAFETY: the registers are those of this very thread; each of the ways reads its own stack.
        let _ = unsafe {
            if self.code.contains(&top.pc) {
                self.is_stub(top.pc) && top.caller_by_frame().is_some_and(&mut walk_from)
                    || walk_from(top.caller_by_code())
                    || self.is_stub(top.pc) && top.callers_by_words(&self.code).any(walk_from)
            } else {
                top.out_of_native(&self.code).is_some_and(|code| {
                    walk_from(code)
                        || self.is_stub(code.pc) && code.callers_by_words(&self.code).any(walk_from)
                })
            }
        };
        (registers[rip], registers[rsp], registers[rbp]) = saved;
    }

    #[cfg(not(target_arch = "x86_64"))]
    unsafe fn walk_from_caller(&self, _trace: &mut CallTrace, _depth: i32, _context: *mut c_void) {}

    #[cfg(target_arch = "x86_64")]
    fn is_stub(&self, pc: usize) -> bool {
        pc >= self.stubs_low.load(Ordering::Relaxed) && pc < self.stubs_high.load(Ordering::Relaxed)
    }
}

/// The registers that say where a thread is.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Top {
    pc: usize,
    sp: usize,
    fp: usize,
}

#[cfg(target_arch = "x86_64")]
impl Top {
    /// The caller of code that has set up a frame of the usual kind; `None` if there seems to be none.
    ///
    /// # Safety
    /// The registers are the calling thread's own.
    unsafe fn caller_by_frame(self) -> Option<Top> {
        // Stubs and leaf functions have small frames. Above them lie those that started the thread, so
        // what is read is the thread's own stack even where rbp was used for something else.
        const LARGEST_FRAME: usize = 4096;
        if self.fp % 8 != 0 || self.fp < self.sp || self.fp >= self.sp + LARGEST_FRAME {
            return None;
        }
        // SAFETY: just above the stack pointer, on this thread's own stack.
        let (fp, pc) = unsafe { (*(self.fp as *const usize), *((self.fp + 8) as *const usize)) };
        Some(Top { pc, sp: self.fp + 16, fp })
    }

    /// The innermost caller in the JVM's own code; libjvm is compiled with frame pointers.
    ///
    /// # Safety
    /// As [`caller_by_frame`](Self::caller_by_frame).
    unsafe fn out_of_native(self, code: &Range<usize>) -> Option<Top> {
        const MOST_LEAVES: usize = 8;
        let mut top = self;
        for _ in 0..MOST_LEAVES {
            // SAFETY: the caller's promise; each step goes up the same stack.
            top = unsafe { top.caller_by_frame() }?;
            if code.contains(&top.pc) {
                return Some(top);
            }
        }
        None
    }

    /// The caller of compiled code that has no whole frame, which the next instruction tells: what HotSpot
    /// emits around a method's body (`MachPrologNode`, `MachEpilogNode` in x86_64.ad).
    ///
    /// # Safety
    /// As above, and `pc` points at an instruction.
    unsafe fn caller_by_code(self) -> Top {
        // SAFETY: the instruction was about to run; it and what is before it in its method can be read.
        let (next, before) = unsafe { (&*(self.pc as *const [u8; 4]), *((self.pc - 1) as *const u8)) };
        // SAFETY: the thread's own stack.
        let word = |offset: usize| unsafe { *((self.sp + offset) as *const usize) };
        // SAFETY: the rest of the instruction.
        let operand =
            || unsafe { (*((self.pc + 4) as *const i8), ((self.pc + 4) as *const i32).read_unaligned()) };
        match (*next, before) {
            // pop rbp; sub rsp, n after push rbp
            ([0x5d, ..], _) | ([0x48, 0x81 | 0x83, 0xec, _], 0x55) => {
                Top { pc: word(8), sp: self.sp + 16, fp: word(0) }
            }
            // mov [rsp + n], rbp after sub rsp
            ([0x48, 0x89, 0x6c, 0x24], _) => self.above(operand().0 as usize, word),
            ([0x48, 0x89, 0xac, 0x24], _) => self.above(operand().1 as usize, word),
            // The first instruction, or the last.
            _ => Top { pc: word(0), sp: self.sp + 8, fp: self.fp },
        }
    }

    /// What may be the caller of a stub of unknown size (C2's runtime stubs, which the walker takes for
    /// frames that are never whole): the lowest words on the stack that point into code.
    ///
    /// # Safety
    /// As [`caller_by_frame`](Self::caller_by_frame).
    unsafe fn callers_by_words(self, code: &Range<usize>) -> impl Iterator<Item = Top> + '_ {
        const LARGEST_STUB: usize = 16;
        const MOST_TRIES: usize = 3;
        // SAFETY: the thread's own stack.
        let word = move |index: usize| unsafe { *((self.sp + index * 8) as *const usize) };
        (1..LARGEST_STUB)
            .filter(move |index| code.contains(&word(*index)))
            .map(move |index| Top { pc: word(index), sp: self.sp + index * 8 + 8, fp: word(index - 1) })
            .take(MOST_TRIES)
    }

    /// The caller where rbp is about to be saved `offset` above the stack pointer, below the return address.
    fn above(self, offset: usize, word: impl Fn(usize) -> usize) -> Top {
        Top { pc: word(offset + 8), sp: self.sp + offset + 16, fp: self.fp }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    const RETURN: usize = 0x7f00_0000_1234;

    /// A stack of five words, and code that the thread is about to run from its second byte on.
    fn caller(code: &[u8; 12], stack: &[usize; 5]) -> Top {
        let top = Top { pc: code.as_ptr() as usize + 1, sp: stack.as_ptr() as usize, fp: 0xfeed };
        // SAFETY: both arrays are ours, and no instruction reaches beyond them.
        let caller = unsafe { top.caller_by_code() };
        Top { sp: caller.sp - top.sp, ..caller }
    }

    fn code(bytes: &[u8]) -> [u8; 12] {
        let mut code = [0x90; 12];
        code[..bytes.len()].copy_from_slice(bytes);
        code
    }

    #[test]
    fn the_caller_of_a_method_on_its_way_in() {
        let stack = [RETURN, 1, 2, 3, 4];
        let bang = code(&[0xcc, 0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff]);
        assert_eq!(caller(&bang, &stack), Top { pc: RETURN, sp: 8, fp: 0xfeed });
        assert_eq!(caller(&code(&[0xff, 0x55]), &stack), Top { pc: RETURN, sp: 8, fp: 0xfeed });
        let stack = [0xabc0, RETURN, 2, 3, 4];
        let pushed = code(&[0x55, 0x48, 0x83, 0xec, 0x20]);
        assert_eq!(caller(&pushed, &stack), Top { pc: RETURN, sp: 16, fp: 0xabc0 });
        let pushed = code(&[0x55, 0x48, 0x81, 0xec, 0x20, 0, 0, 0]);
        assert_eq!(caller(&pushed, &stack), Top { pc: RETURN, sp: 16, fp: 0xabc0 });
    }

    #[test]
    fn the_caller_of_a_method_that_makes_its_frame_without_a_push() {
        let stack = [1, 2, 3, RETURN, 4];
        let small = code(&[0x18, 0x48, 0x89, 0x6c, 0x24, 0x10]);
        assert_eq!(caller(&small, &stack), Top { pc: RETURN, sp: 32, fp: 0xfeed });
        let large = code(&[0x00, 0x48, 0x89, 0xac, 0x24, 0x10, 0, 0, 0]);
        assert_eq!(caller(&large, &stack), Top { pc: RETURN, sp: 32, fp: 0xfeed });
        let first = code(&[0xff, 0x48, 0x81, 0xec, 0x18, 0, 0, 0]);
        assert_eq!(caller(&first, &[RETURN, 1, 2, 3, 4]), Top { pc: RETURN, sp: 8, fp: 0xfeed });
    }

    #[test]
    fn the_caller_of_a_method_on_its_way_out() {
        let popping = code(&[0x10, 0x5d, 0xc3]);
        assert_eq!(caller(&popping, &[0xabc0, RETURN, 2, 3, 4]), Top { pc: RETURN, sp: 16, fp: 0xabc0 });
        let polling = code(&[0x5d, 0x49, 0x3b, 0xa7, 0x48, 0x03, 0, 0]);
        assert_eq!(caller(&polling, &[RETURN, 1, 2, 3, 4]), Top { pc: RETURN, sp: 8, fp: 0xfeed });
        let returning = code(&[0x00, 0xc3]);
        assert_eq!(caller(&returning, &[RETURN, 1, 2, 3, 4]), Top { pc: RETURN, sp: 8, fp: 0xfeed });
    }

    #[test]
    fn the_callers_of_a_stub_are_the_words_that_point_into_code() {
        let mut stack = [7_usize; 16];
        (stack[0], stack[4], stack[5], stack[9]) = (RETURN, 0xabc0, RETURN, RETURN + 1);
        let top = Top { pc: 0, sp: stack.as_ptr() as usize, fp: 0 };
        // SAFETY: an array of as many words as are looked at.
        let callers: Vec<Top> = unsafe { top.callers_by_words(&(RETURN..RETURN + 2)).collect() };
        assert_eq!(
            callers,
            [Top { pc: RETURN, sp: top.sp + 48, fp: 0xabc0 }, Top { pc: RETURN + 1, sp: top.sp + 80, fp: 7 }]
        );
    }

    #[test]
    fn leaf_functions_are_left_by_their_frames() {
        let mut stack = [0_usize; 12];
        let at = stack.as_ptr() as usize;
        // Two native frames: the inner one was called at 0x5000, the outer one from the JVM's code.
        (stack[2], stack[3]) = (at + 6 * 8, 0x5000);
        stack[6..8].copy_from_slice(&[0xabc0, RETURN]);
        let top = Top { pc: 0x4000, sp: at, fp: at + 2 * 8 };
        let code = RETURN - 16..RETURN + 16;
        // SAFETY: the frames lie in an array of ours.
        unsafe {
            assert_eq!(top.out_of_native(&code), Some(Top { pc: RETURN, sp: at + 8 * 8, fp: 0xabc0 }));
            assert_eq!(top.out_of_native(&(0..1)), None, "0xabc0 is no frame");
            assert_eq!(Top { fp: at + 4096, ..top }.out_of_native(&code), None, "too far");
            assert_eq!(Top { fp: at + 17, ..top }.out_of_native(&code), None, "not a frame");
        }
    }
}
