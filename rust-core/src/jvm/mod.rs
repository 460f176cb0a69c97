//! All knowledge of the JVM, behind the trait [`Vm`].
//!
//! libjvm is reached by `dlsym` alone, so the crate links and its tests run on a machine with no
//! Java. What varies by release is asked of the room `facts`.

pub mod call_trace;
// Asked by what walks on from callers.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod code_heaps;
mod events;
mod hotspot;
mod structs;

pub use events::{watch, EventSink};
pub use hotspot::{Hotspot, VmError};

use crate::profile::ThreadState;

/// A `jmethodID`. Never dereferenced; only handed back to JVMTI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MethodId(pub u64);

/// A JNI global reference to a `java.lang.Thread`, owned by whoever holds it until it is
/// [released](Vm::release).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadRef(pub usize);

/// One frame as the JVM tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawFrame {
    /// Which method.
    pub method: MethodId,
    /// Byte-code index, negative in native methods.
    pub bci: i32,
}

/// A Java thread that was found alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundThread {
    /// Kernel thread id.
    pub tid: i32,
    /// Address of the thread's JNIEnv, 0 where it cannot be known.
    pub jni_env: usize,
    /// The thread object.
    pub reference: ThreadRef,
}

/// What a thread did when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStack {
    /// Its state; [`ThreadState::Idle`] is not decided here.
    pub state: ThreadState,
    /// Leaf first, at most as many as asked for.
    pub frames: Vec<RawFrame>,
}

/// Names of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodInfo {
    /// JVM signature of the class: `Lorg/foo/Bar;`.
    pub class_signature: String,
    /// Name of the method.
    pub name: String,
    /// The class's SourceFile.
    pub file: Option<String>,
    /// (first byte-code index, line), sorted by index.
    pub lines: Vec<(i32, u32)>,
}

/// The line of a byte-code index in such a table, 0 where it is not known.
pub fn line_at(lines: &[(i32, u32)], bci: i32) -> u32 {
    let after = lines.partition_point(|(start, _)| *start <= bci);
    match after.checked_sub(1) {
        Some(index) if bci >= 0 => lines[index].1,
        _ => 0,
    }
}

/// What the engines need of a JVM. All calls come from the sampler thread, but where it says otherwise.
pub trait Vm {
    /// Makes the calling thread known to the JVM; every other call comes after it, on that thread.
    ///
    /// # Errors
    /// A sentence for the start line if the JVM refuses.
    fn enter(&self) -> Result<(), VmError>;

    /// Takes the calling thread out of the JVM again.
    fn leave(&self);

    /// Java threads alive now, each with a new reference.
    fn threads(&self) -> Vec<FoundThread>;

    /// A thread's present name.
    fn thread_name(&self, thread: ThreadRef) -> Option<String>;

    /// Stack and state of each thread, in the order asked; `None` for one that has ended.
    fn stacks(&self, threads: &[ThreadRef], depth: usize) -> Vec<Option<ThreadStack>>;

    /// The kernel's name of the JVM's thread that takes the [`stacks`](Self::stacks); `None` where the calling thread does.
    fn stacks_taken_by(&self) -> Option<&'static str>;

    /// Returns once no safepoint is under way.
    fn wait_for_safepoint(&self);

    /// Names of a method; `None` when its class was unloaded.
    fn method(&self, id: MethodId) -> Option<MethodInfo>;

    /// Gives a reference back.
    fn release(&self, thread: ThreadRef);

    /// Has the JVM tell of threads that start and end, through [`watch`].
    ///
    /// # Errors
    /// [`VmError::Refused`] with the function that refused.
    fn watch_threads(&self) -> Result<(), VmError>;

    /// The walker for signal handlers; `None` where this JVM has none, or threads cannot be told apart
    /// by kernel id.
    fn walker(&self) -> Option<call_trace::Walker>;

    /// Switches on what the signal walker needs: class events, and method ids of all loaded
    /// classes.
    ///
    /// # Errors
    /// [`VmError::Refused`] with the function that refused.
    fn prepare_walker(&self) -> Result<(), VmError>;

    /// Makes the JIT keep line information inside inlined code from now on; false where it cannot.
    fn debug_non_safepoints(&self) -> bool;

    /// Starts allocation samples: one each `interval` bytes on average.
    ///
    /// # Errors
    /// [`VmError::Refused`]: before Java 11, or while another agent holds the capability.
    fn sample_allocations(&self, interval: u64) -> Result<(), VmError>;

    /// Changes the mean number of bytes between allocation samples.
    ///
    /// # Errors
    /// [`VmError::Refused`] if sampling was not started.
    fn set_allocation_interval(&self, interval: u64) -> Result<(), VmError>;

    /// True if this JVM tells what each thread has allocated.
    fn counts_allocations(&self) -> bool;

    /// Bytes that the thread with this JNIEnv has allocated in its life; `None` where that cannot be known, or the
    /// thread is gone. Who asks makes sure that it was not gone meanwhile, with another one in its place.
    fn allocated_bytes(&self, jni_env: usize) -> Option<u64>;

    /// The same for the calling thread, whose own JNIEnv it is; from any thread.
    fn own_allocated_bytes(&self, jni_env: usize) -> Option<u64>;
}
