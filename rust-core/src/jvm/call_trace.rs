//! AsyncGetCallTrace: the JVM's own walker, callable from a signal handler.
//!
//! Not in any header; declared after `forte.cpp` of OpenJDK. Everything here that runs in a handler
//! neither allocates nor locks.

use super::structs;
use libc::c_void;
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

/// In Java code, at a place that the walker does not know: mostly a stub.
const UNKNOWN_JAVA: i32 = -5;

/// The walker and the range in which interpreter and stubs lie.
#[derive(Debug)]
pub struct Walker {
    function: AsyncGetCallTrace,
    code_low: AtomicUsize,
    code_high: AtomicUsize,
}

impl Walker {
    /// Finds the walker in the running libjvm.
    pub fn find() -> Option<Walker> {
        let function = structs::symbol("AsyncGetCallTrace");
        if function.is_null() {
            return None;
        }
        Some(Walker {
            // SAFETY: the symbol has this signature in every HotSpot from 8 to 25.
            function: unsafe { std::mem::transmute::<*mut c_void, AsyncGetCallTrace>(function) },
            code_low: AtomicUsize::new(usize::MAX),
            code_high: AtomicUsize::new(0),
        })
    }

    /// Widens the range in which stubs are known to lie.
    pub(super) fn add_stub(&self, start: usize, length: usize) {
        self.code_low.fetch_min(start, Ordering::Relaxed);
        self.code_high.fetch_max(start + length, Ordering::Relaxed);
    }

    /// Walks the interrupted thread. Signal-safe.
    ///
    /// Six to ten of a hundred samples of a CPU-bound program hit array-copy and other stubs, which
    /// the JVM's walker does not know; the stub is then popped by hand and its caller walked.
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
        if trace.frame_count == UNKNOWN_JAVA {
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
        // A stub without a frame of its own keeps the caller's rbp; one with a frame is small.
        const LARGEST_STUB_FRAME: usize = 4096;
        // SAFETY: the kernel's context of this very handler; it is put back as it was below.
        let registers = unsafe { &mut (*(context as *mut libc::ucontext_t)).uc_mcontext.gregs };
        let (rip, rsp, rbp) = (libc::REG_RIP as usize, libc::REG_RSP as usize, libc::REG_RBP as usize);
        let saved = (registers[rip], registers[rsp], registers[rbp]);
        let (pc, sp, fp) = (saved.0 as usize, saved.1 as usize, saved.2 as usize);
        if !self.is_stub(pc) {
            return;
        }
        let has_frame = fp % 8 == 0 && fp >= sp && fp < sp + LARGEST_STUB_FRAME;
        if has_frame {
            // SAFETY: `fp` lies just above the interrupted stack pointer, on this thread's own stack.
            let (caller_fp, return_pc) = unsafe { (*(fp as *const usize), *((fp + 8) as *const usize)) };
            registers[rip] = return_pc as i64;
            registers[rsp] = (fp + 16) as i64;
            registers[rbp] = caller_fp as i64;
            // SAFETY: as in `walk`; the walker itself refuses a pc that is not in its code.
            unsafe { (self.function)(trace, depth, context) };
        }
        if trace.frame_count <= 0 {
            // SAFETY: the word at the stack pointer is on this thread's own stack.
            let return_pc = unsafe { *(sp as *const usize) };
            registers[rip] = return_pc as i64;
            registers[rsp] = (sp + 8) as i64;
            registers[rbp] = saved.2;
            // SAFETY: as above.
            unsafe { (self.function)(trace, depth, context) };
        }
        (registers[rip], registers[rsp], registers[rbp]) = saved;
    }

    #[cfg(not(target_arch = "x86_64"))]
    unsafe fn walk_from_caller(&self, _trace: &mut CallTrace, _depth: i32, _context: *mut c_void) {}

    #[cfg(target_arch = "x86_64")]
    fn is_stub(&self, pc: usize) -> bool {
        pc >= self.code_low.load(Ordering::Relaxed) && pc < self.code_high.load(Ordering::Relaxed)
    }
}
