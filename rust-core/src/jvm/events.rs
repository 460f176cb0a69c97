//! What the JVM tells by callback. The callbacks run on application threads: short, no lock that the
//! sampler thread holds for long, no panic across the border.

use super::{RawFrame, ThreadRef};
use jvmti_bindings::sys::jni::{jclass, jobject, jthread, JNIEnv};
use jvmti_bindings::sys::jvmti::{self, jvmtiEnv, jvmtiEventCallbacks, jvmtiFrameInfo};
use once_cell::sync::OnceCell;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Takes what happens on application threads.
pub trait EventSink: Send + Sync {
    /// The calling thread has started; `jni_env` is its JNIEnv. `reference` makes a new reference to
    /// it, which the sink then owns.
    fn thread_started(&self, jni_env: usize, reference: &dyn Fn() -> ThreadRef);

    /// The calling thread is about to end.
    fn thread_ended(&self);

    /// The calling thread has loaded a class, whose method ids `make_ids` makes.
    fn class_prepared(&self, make_ids: &dyn Fn());

    /// The calling thread has allocated an object that was picked for a sample. `walk` fills a
    /// buffer with the thread's frames from a place on, leaf first, and returns how many there were.
    fn allocated(&self, size: u64, walk: &mut dyn FnMut(usize, &mut [RawFrame]) -> usize);
}

/// What the callbacks reach; set once for the life of the process.
static SINK: OnceCell<&'static dyn EventSink> = OnceCell::new();

/// Sets the receiver of all events; the first call wins.
pub fn watch(sink: &'static dyn EventSink) {
    let _ = SINK.set(sink);
}

pub(super) fn callbacks() -> jvmtiEventCallbacks {
    let mut callbacks = jvmtiEventCallbacks::default();
    callbacks.ThreadStart = Some(thread_start);
    callbacks.ThreadEnd = Some(thread_end);
    callbacks.ClassLoad = Some(class_load);
    callbacks.ClassPrepare = Some(class_prepare);
    callbacks.SampledObjectAlloc = Some(sampled_object_alloc);
    callbacks
}

fn guarded(body: impl FnOnce(&dyn EventSink)) {
    let Some(sink) = SINK.get() else { return };
    // A panic in a callback would unwind into the JVM; the event is lost instead.
    let _ = catch_unwind(AssertUnwindSafe(|| body(*sink)));
}

unsafe extern "system" fn thread_start(_: *mut jvmtiEnv, jni_env: *mut JNIEnv, thread: jthread) {
    guarded(|sink| {
        sink.thread_started(jni_env as usize, &|| {
            // SAFETY: the JVM's own arguments of this callback.
            ThreadRef(unsafe { ((**jni_env).NewGlobalRef)(jni_env, thread) } as usize)
        });
    });
}

unsafe extern "system" fn thread_end(_: *mut jvmtiEnv, _: *mut JNIEnv, _: jthread) {
    guarded(|sink| sink.thread_ended());
}

/// Does nothing, but must be enabled: without it AsyncGetCallTrace answers -1 to every call
/// (`JvmtiExport::should_post_class_load` in forte.cpp; measured on 8, 17 and 25).
unsafe extern "system" fn class_load(_: *mut jvmtiEnv, _: *mut JNIEnv, _: jthread, _: jclass) {}

/// Makes the class's jmethodIDs, which AsyncGetCallTrace cannot do in a handler.
unsafe extern "system" fn class_prepare(jvmti: *mut jvmtiEnv, _: *mut JNIEnv, _: jthread, class: jclass) {
    guarded(|sink| {
        // SAFETY: both are the JVM's own arguments of this callback.
        sink.class_prepared(&|| unsafe { make_method_ids(jvmti, class) });
    });
}

/// Asks for a class's methods and forgets the answer.
///
/// # Safety
/// `jvmti` is a live environment, `class` a live reference of the calling thread.
pub(super) unsafe fn make_method_ids(jvmti: *mut jvmtiEnv, class: jclass) {
    let mut count = 0;
    let mut methods = std::ptr::null_mut();
    // SAFETY: the caller's promise; the array is ours to deallocate.
    unsafe {
        let functions = &*(*jvmti).functions;
        let (Some(get), Some(deallocate)) = (functions.GetClassMethods, functions.Deallocate) else { return };
        if get(jvmti, class, &mut count, &mut methods) == jvmti::JVMTI_ERROR_NONE {
            deallocate(jvmti, methods.cast());
        }
    }
}

unsafe extern "system" fn sampled_object_alloc(
    jvmti: *mut jvmtiEnv,
    _: *mut JNIEnv,
    thread: jthread,
    _: jobject,
    _: jclass,
    size: i64,
) {
    guarded(|sink| {
        sink.allocated(size.max(0) as u64, &mut |start, frames| {
            // SAFETY: the JVM's own arguments.
            unsafe { current_stack(jvmti, thread, start, frames) }
        });
    });
}

/// Writes the calling thread's frames from `start` on over `frames` and returns how many.
///
/// # Safety
/// `jvmti` is a live environment and `thread` the calling thread.
unsafe fn current_stack(
    jvmti: *mut jvmtiEnv,
    thread: jthread,
    start: usize,
    frames: &mut [RawFrame],
) -> usize {
    /// Deeper stacks are rare: they pay for a buffer, and for a second walk down to where the first one ended.
    const MOST: usize = 128;
    let mut buffer = [jvmtiFrameInfo::default(); MOST];
    let (first, rest) = frames.split_at_mut(frames.len().min(MOST));
    // SAFETY: the caller's promise.
    let filled = unsafe { frames_from(jvmti, thread, start, &mut buffer[..first.len()], first) };
    if filled < MOST || rest.is_empty() {
        return filled;
    }
    let mut buffer = vec![jvmtiFrameInfo::default(); rest.len()];
    // SAFETY: the caller's promise.
    filled + unsafe { frames_from(jvmti, thread, start + MOST, &mut buffer, rest) }
}

/// One call, through a `buffer` as long as `frames`.
///
/// # Safety
/// As [`current_stack`].
unsafe fn frames_from(
    jvmti: *mut jvmtiEnv,
    thread: jthread,
    start: usize,
    buffer: &mut [jvmtiFrameInfo],
    frames: &mut [RawFrame],
) -> usize {
    let mut count = 0;
    // SAFETY: the caller's promise, and a buffer of as many frames as are asked for.
    let error = unsafe {
        let Some(get) = (*(*jvmti).functions).GetStackTrace else { return 0 };
        get(jvmti, thread, start as i32, buffer.len() as i32, buffer.as_mut_ptr(), &mut count)
    };
    if error != jvmti::JVMTI_ERROR_NONE {
        return 0;
    }
    for (frame, info) in frames.iter_mut().zip(&buffer[..count.max(0) as usize]) {
        *frame = raw_frame(info);
    }
    count.max(0) as usize
}

pub(super) fn raw_frame(frame: &jvmtiFrameInfo) -> RawFrame {
    RawFrame { method: super::MethodId(frame.method as u64), bci: frame.location as i32 }
}
