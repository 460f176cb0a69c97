//! AsyncGetCallTrace: the JVM's own walker, callable from a signal handler.
//!
//! Not in any header; declared after `forte.cpp` of OpenJDK. Everything here that runs in a handler
//! neither allocates nor locks.

#[cfg(target_arch = "x86_64")]
use super::code_heaps::Code;
use super::code_heaps::CodeHeaps;
use super::structs;
use libc::c_void;

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

/// The walker, and what it needs to know of the code that the JVM makes.
#[derive(Debug)]
pub struct Walker {
    function: AsyncGetCallTrace,
    /// Asked where a walk begins again at a caller, which is done on x86-64 alone so far.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    code: Option<CodeHeaps>,
}

impl Walker {
    /// Finds the walker in the running libjvm.
    pub(super) fn find() -> Option<Walker> {
        let function = structs::symbol("AsyncGetCallTrace");
        if function.is_null() {
            return None;
        }
        Some(Walker {
            // SAFETY: the symbol has this signature in every HotSpot from 8 to 25.
            function: unsafe { std::mem::transmute::<*mut c_void, AsyncGetCallTrace>(function) },
            code: CodeHeaps::read(),
        })
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

    /// What is read here, and where, rests on registers and stack words that may be anything: memory is
    /// read where the kernel says that it can be, and the walker is told of code that is in use alone.
    #[cfg(target_arch = "x86_64")]
    unsafe fn walk_from_caller(&self, trace: &mut CallTrace, depth: i32, context: *mut c_void) {
        let Some(code) = &self.code else { return };
        // SAFETY: the kernel's context of this very handler; it is put back as it was below.
        let registers = unsafe { &mut (*(context as *mut libc::ucontext_t)).uc_mcontext.gregs };
        let (rip, rsp, rbp) = (libc::REG_RIP as usize, libc::REG_RSP as usize, libc::REG_RBP as usize);
        let saved = (registers[rip], registers[rsp], registers[rbp]);
        let top = Top { pc: saved.0 as usize, sp: saved.1 as usize, fp: saved.2 as usize };
        let mut walk_from = |from: Top| {
            if code.code_at(from.pc).is_none() {
                return false;
            }
            registers[rip] = from.pc as i64;
            registers[rsp] = from.sp as i64;
            registers[rbp] = from.fp as i64;
            // SAFETY: as in `walk`; the pc lies in code that is in use.
            unsafe { (self.function)(trace, depth, context) };
            trace.frame_count > 0
        };
        if code.contain(top.pc) {
            let frame = frame_of_stub(code, top.pc);
            let _ = frame.is_some() && top.caller_by_frame().is_some_and(&mut walk_from)
                || top.caller_by_code().is_some_and(&mut walk_from)
                || frame.and_then(|words| top.caller_by_size(words)).is_some_and(&mut walk_from)
                || frame.is_some() && top.caller_by_call(code).is_some_and(walk_from);
        } else if let Some(top) = top.out_of_native(code) {
            let _ = walk_from(top)
                || frame_of_stub(code, top.pc)
                    .and_then(|words| top.caller_by_size(words))
                    .is_some_and(walk_from);
        }
        (registers[rip], registers[rsp], registers[rbp]) = saved;
    }

    #[cfg(not(target_arch = "x86_64"))]
    unsafe fn walk_from_caller(&self, _trace: &mut CallTrace, _depth: i32, _context: *mut c_void) {}
}

/// Words of a stub's frame; `None` if it is not a stub that runs there.
#[cfg(target_arch = "x86_64")]
fn frame_of_stub(code: &CodeHeaps, pc: usize) -> Option<usize> {
    match code.code_at(pc)? {
        Code::Stub { frame } => Some(frame),
        Code::Method => None,
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

/// Stubs and the JVM's leaf functions have small frames.
#[cfg(target_arch = "x86_64")]
const LARGEST_FRAME: usize = 4096;

#[cfg(target_arch = "x86_64")]
impl Top {
    /// The caller of code that has set up a frame of the usual kind; `None` if there seems to be none.
    fn caller_by_frame(self) -> Option<Top> {
        if self.fp % 8 != 0 || self.fp < self.sp || self.fp - self.sp >= LARGEST_FRAME {
            return None;
        }
        Some(Top { pc: word(self.fp + 8)?, sp: self.fp + 16, fp: word(self.fp)? })
    }

    /// The innermost caller in the JVM's own code; libjvm is compiled with frame pointers.
    fn out_of_native(self, code: &CodeHeaps) -> Option<Top> {
        const MOST_LEAVES: usize = 8;
        let mut top = self;
        for _ in 0..MOST_LEAVES {
            top = top.caller_by_frame()?;
            if code.contain(top.pc) {
                return Some(top);
            }
        }
        None
    }

    /// The caller of compiled code that has no whole frame, which the next instruction tells: what HotSpot
    /// emits around a method's body (`MachPrologNode`, `MachEpilogNode` in x86_64.ad).
    fn caller_by_code(self) -> Option<Top> {
        let before = word(self.pc - 1)?.to_le_bytes()[0];
        match (word(self.pc)?.to_le_bytes(), before) {
            // pop rbp; sub rsp, n after push rbp
            ([0x5d, ..], _) | ([0x48, 0x81 | 0x83, 0xec, ..], 0x55) => self.above(8, word(self.sp)?),
            // mov [rsp + n], rbp after sub rsp
            ([0x48, 0x89, 0x6c, 0x24, n, ..], _) => self.above(usize::from(n) + 8, self.fp),
            ([0x48, 0x89, 0xac, 0x24, n0, n1, n2, n3], _) => {
                self.above(u32::from_le_bytes([n0, n1, n2, n3]) as usize + 8, self.fp)
            }
            // The first instruction, or the last.
            _ => self.above(0, self.fp),
        }
    }

    /// The caller of a stub whose frame is whole, by the frame's size (C2's runtime stubs, which the walker
    /// takes for frames that are never whole). They save rbp below the return address.
    fn caller_by_size(self, words: usize) -> Option<Top> {
        if !(2..LARGEST_FRAME / 8).contains(&words) {
            return None;
        }
        self.above(words * 8 - 8, word(self.sp + words * 8 - 16)?)
    }

    /// The caller of a stub that tells no size of its frame and uses rbp for something else, as those of SHA-2 do: the
    /// first word up the stack that lies behind a call of this very stub in a compiled method. Stubs save rbp first.
    fn caller_by_call(self, code: &CodeHeaps) -> Option<Top> {
        // The one of SHA-256 has 0.6 kB, aligned to 32 bytes; a search in vain takes 13 us.
        const MOST_WORDS: usize = 128;
        let sp = self.sp.next_multiple_of(8);
        (1..MOST_WORDS).map(|index| sp + index * 8).find_map(|at| {
            let pc = word(at)?;
            let called = code.contain(pc) && self.was_called_before(pc);
            (called && code.code_at(pc) == Some(Code::Method)).then_some(())?;
            Some(Top { pc, sp: at + 8, fp: word(at - 8)? })
        })
    }

    /// Whether the instruction before `pc` calls what runs here: `call` with an offset, or, as C2 calls its leaf stubs,
    /// `mov r10, address` and `call r10` (`Java_To_Runtime` in x86_64.ad).
    fn was_called_before(self, pc: usize) -> bool {
        // The one of SHA-512 has 80 rounds and 9 kB.
        const LARGEST_STUB: usize = 32 << 10;
        let begins_at = |entry: usize| entry <= self.pc && self.pc - entry < LARGEST_STUB;
        let bytes = |at: usize| word(at).map(usize::to_le_bytes);
        let by_offset = || match bytes(pc - 5)? {
            [0xe8, n0, n1, n2, n3, ..] => {
                Some(pc.wrapping_add_signed(i32::from_le_bytes([n0, n1, n2, n3]) as isize))
            }
            _ => None,
        };
        let by_register = || match (bytes(pc - 13)?, bytes(pc - 8)?) {
            ([0x49, 0xba, ..], [_, _, _, _, _, 0x41, 0xff, 0xd2]) => word(pc - 11),
            _ => None,
        };
        by_register().or_else(by_offset).is_some_and(begins_at)
    }

    /// The caller whose return address lies `offset` above the stack pointer.
    fn above(self, offset: usize, fp: usize) -> Option<Top> {
        Some(Top { pc: word(self.sp + offset)?, sp: self.sp + offset + 8, fp })
    }
}

/// The word at an address, `None` where none can be read. Signal-safe, and takes a tenth of a microsecond.
#[cfg(target_arch = "x86_64")]
fn word(address: usize) -> Option<usize> {
    // The kernel copies the set before it looks at what to do with it, so that an impossible request
    // changes nothing and tells whether there was something to copy (`rt_sigprocmask` in kernel/signal.c).
    const NO_REQUEST: i32 = -1;
    // SAFETY: the kernel checks the address; nothing is written.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            NO_REQUEST,
            address,
            std::ptr::null_mut::<u64>(),
            size_of::<u64>(),
        )
    };
    // SAFETY: errno is the thread's own; the handler puts back what was in it.
    if answer != -1 || unsafe { *libc::__errno_location() } != libc::EINVAL {
        return None;
    }
    // SAFETY: just read by the kernel. The stack and the code heaps, which are asked for, are not taken away
    // from under a thread that runs on them.
    Some(unsafe { (address as *const usize).read_unaligned() })
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    use crate::jvm::code_heaps::tests::Invented;

    const RETURN: usize = 0x7f00_0000_1234;

    /// A stack of five words, and code that the thread is about to run from its second byte on.
    fn caller(code: &[u8; 12], stack: &[usize; 5]) -> Top {
        let top = Top { pc: code.as_ptr() as usize + 1, sp: stack.as_ptr() as usize, fp: 0xfeed };
        let caller = top.caller_by_code().expect("readable");
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
    fn an_offset_into_nowhere_is_no_caller() {
        let far = code(&[0x00, 0x48, 0x89, 0xac, 0x24, 0xf0, 0xff, 0xff, 0xff]);
        let top = Top { pc: far.as_ptr() as usize + 1, sp: 0x1000, fp: 0xfeed };
        assert_eq!(top.caller_by_code(), None);
        assert_eq!(Top { pc: 0x1001, sp: far.as_ptr() as usize, fp: 0xfeed }.caller_by_code(), None);
    }

    #[test]
    fn the_caller_of_a_stub_of_known_size() {
        let mut stack = [RETURN + 7; 16];
        (stack[4], stack[5]) = (0xabc0, RETURN);
        let top = Top { pc: 0, sp: stack.as_ptr() as usize, fp: 0 };
        assert_eq!(top.caller_by_size(6), Some(Top { pc: RETURN, sp: top.sp + 48, fp: 0xabc0 }));
        assert_eq!(top.caller_by_size(0), None, "a size that is not known");
        assert_eq!(top.caller_by_size(1 << 20), None);
    }

    #[test]
    fn the_caller_of_a_stub_that_keeps_no_frame_is_behind_a_call_of_that_stub() {
        let mut invented = Invented::new();
        let (stub, other) = (invented.stub(9, 0), invented.stub(400, 0));
        let [by_register, by_offset, elsewhere, stale] =
            [20, 30, 40, 50].map(|segment| invented.method(segment));
        let write = |at: usize, bytes: &[u8]| {
            // SAFETY: inside the invented heap's memory.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) }
        };
        let call_by_register = |pc: usize, target: usize| {
            write(pc - 13, &[0x49, 0xba]);
            write(pc - 11, &target.to_le_bytes());
            write(pc - 3, &[0x41, 0xff, 0xd2]);
        };
        call_by_register(by_register, stub - 16);
        write(by_offset - 5, &[0xe8]);
        write(by_offset - 4, &((stub - 16).wrapping_sub(by_offset) as i32).to_le_bytes());
        call_by_register(elsewhere, other);
        let heaps = invented.heaps();
        let caller = |words: [usize; 8]| {
            let mut stack = [0_usize; 160];
            stack[4..12].copy_from_slice(&words);
            let at = std::hint::black_box(&mut stack).as_ptr() as usize;
            let top = Top { pc: stub, sp: at, fp: stub + 64 };
            top.caller_by_call(&heaps).map(|caller| Top { sp: caller.sp - at, ..caller })
        };
        let found = |pc: usize| Some(Top { pc, sp: 9 * 8, fp: 0xabc0 });
        // A method that called something else, one that called nothing, and an address in a stub are passed over.
        assert_eq!(
            caller([elsewhere, stale, other, 0xabc0, by_register, 1, 2, by_offset]),
            found(by_register)
        );
        assert_eq!(caller([7, stale, 0, 0xabc0, by_offset, by_register, 2, 3]), found(by_offset));
        assert_eq!(caller([elsewhere, stale, other, 0xabc0, stub, 1, 2, 3]), None);
    }

    #[test]
    fn leaf_functions_are_left_by_their_frames() {
        let mut invented = Invented::new();
        let method = invented.method(5);
        let heaps = invented.heaps();
        let mut stack = [0_usize; 12];
        let at = stack.as_ptr() as usize;
        // Two native frames: the inner one was called at 0x5000, the outer one from the JVM's code.
        (stack[2], stack[3]) = (at + 6 * 8, 0x5000);
        stack[6..8].copy_from_slice(&[0xabc0, method]);
        let top = Top { pc: 0x4000, sp: at, fp: at + 2 * 8 };
        assert_eq!(top.out_of_native(&heaps), Some(Top { pc: method, sp: at + 8 * 8, fp: 0xabc0 }));
        std::hint::black_box(&mut stack)[7] = 0x5000;
        assert_eq!(top.out_of_native(&heaps), None, "0xabc0 is no frame");
        assert_eq!(Top { fp: at + 4096, ..top }.out_of_native(&heaps), None, "too far");
        assert_eq!(Top { fp: at + 17, ..top }.out_of_native(&heaps), None, "not a frame");
    }

    #[test]
    fn a_stack_that_ends_is_not_read_beyond_its_end() {
        // SAFETY: two pages of our own, the second of which nobody may read; unmapped below.
        unsafe {
            let pages = libc::mmap(
                std::ptr::null_mut(),
                8192,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(pages, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(pages.add(4096), 4096, libc::PROT_NONE), 0);
            let end = pages as usize + 4096;
            *((end - 8) as *mut usize) = RETURN;
            assert_eq!(word(end - 8), Some(RETURN));
            assert_eq!((word(end - 4), word(end), word(0)), (None, None, None));
            assert_eq!(Top { pc: 0, sp: end - 64, fp: end - 8 }.caller_by_frame(), None);
            assert_eq!(Top { pc: 0, sp: end - 64, fp: end + 64 }.caller_by_frame(), None);
            assert_eq!(Top { pc: 0, sp: end - 64, fp: 0 }.caller_by_size(20), None);
            libc::munmap(pages, 8192);
        }
    }
}
