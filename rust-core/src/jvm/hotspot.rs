//! A running HotSpot, reached through its JVMTI and JNI tables.

use super::call_trace::Walker;
use super::structs::{KernelReader, VmStructs};
use super::{events, FoundThread, MethodId, MethodInfo, RawFrame, ThreadRef, ThreadStack, Vm};
use crate::facts;
use crate::profile::ThreadState;
use jni::strings::JNIStr;
use jvmti_bindings::sys::jni::{
    jfieldID, jobject, jthread, JNIEnv, JNINativeInterface_, JavaVM, JavaVMAttachArgs,
};
use jvmti_bindings::sys::jvmti::{self, jvmtiCapabilities, jvmtiEnv, jvmtiError, jvmtiInterface_1_};
use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::cell::Cell;
use std::ptr::null_mut;

/// Why the JVM cannot be profiled, or not by one engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VmError {
    /// GetEnv gave no JVMTI.
    #[error("this JVM offers no JVMTI 1.2 (error {0})")]
    NoJvmti(i32),
    /// A JVMTI function refused.
    #[error("{function} failed with JVMTI error {code}")]
    Refused {
        /// Name of the function.
        function: &'static str,
        /// JVMTI's error code.
        code: i32,
    },
    /// The sampler thread could not be attached.
    #[error("the sampler thread could not be attached to the JVM (error {0})")]
    NotAttached(i32),
}

/// The JVM of this process.
pub struct Hotspot {
    java_vm: *mut JavaVM,
    jvmti: *mut jvmtiEnv,
    structs: Option<VmStructs>,
    feature: u32,
    /// Where a JNIEnv lies in its JavaThread; the same in all of them.
    env_offset: OnceCell<usize>,
    /// Opened with the first look at another thread's memory. One looks at a time.
    memory: Mutex<Option<KernelReader>>,
}

// SAFETY: JavaVM and JVMTI environments may be used from any attached thread (JVMTI specification,
// "Environments"); what depends on the thread (JNIEnv) is kept in a thread-local.
unsafe impl Send for Hotspot {}
// SAFETY: as above.
unsafe impl Sync for Hotspot {}

thread_local! {
    /// JNIEnv of a thread that has entered.
    static JNI_ENV: Cell<*mut JNIEnv> = const { Cell::new(null_mut()) };
    /// Reused by the thread that sweeps: 32 KB.
    static FRAMES: Cell<Vec<jvmti::jvmtiFrameInfo>> = const { Cell::new(Vec::new()) };
    /// True if it was `enter` that made the thread known to the JVM.
    static ATTACHED_HERE: Cell<bool> = const { Cell::new(false) };
}

/// JNI 1.6, the newest version that JDK 8 knows and that has what we call.
const JNI_VERSION: i32 = 0x0001_0006;

impl Hotspot {
    /// Opens the JVM that owns `java_vm`; `feature` is its feature release (8, 17, …).
    ///
    /// # Errors
    /// [`VmError::NoJvmti`] where the JVM has none.
    ///
    /// # Safety
    /// `java_vm` is the pointer that JNI_OnLoad got.
    pub unsafe fn open(java_vm: *mut std::ffi::c_void, feature: u32) -> Result<Hotspot, VmError> {
        let java_vm = java_vm.cast::<JavaVM>();
        let mut jvmti: *mut std::ffi::c_void = null_mut();
        // SAFETY: the caller's promise.
        let code = unsafe { ((**java_vm).GetEnv)(java_vm, &mut jvmti, jvmti::JVMTI_VERSION_1_2) };
        if code != 0 || jvmti.is_null() {
            return Err(VmError::NoJvmti(code));
        }
        let hotspot = Hotspot {
            java_vm,
            jvmti: jvmti.cast(),
            structs: VmStructs::read(),
            feature,
            env_offset: OnceCell::new(),
            memory: Mutex::new(None),
        };
        hotspot.ask_for_files_and_lines();
        Ok(hotspot)
    }

    /// The JVM tells of source files and lines to whom it has granted these. HotSpot grants both at any time; another JVM
    /// that does not leaves frames without them, as a class file without them does.
    fn ask_for_files_and_lines(&self) {
        let mut capabilities = jvmtiCapabilities::default();
        capabilities.set_can_get_source_file_name(true);
        capabilities.set_can_get_line_numbers(true);
        let _ = self.add_capabilities(&capabilities);
    }

    fn add_capabilities(&self, capabilities: &jvmtiCapabilities) -> Result<(), VmError> {
        // SAFETY: a live environment and the caller's capability set, which is only read.
        check("AddCapabilities", unsafe {
            call(self.table().AddCapabilities, |add| add(self.jvmti, capabilities))
        })
    }

    fn notify(&self, event: u32, enable: bool) -> Result<(), VmError> {
        let mode = if enable { jvmti::JVMTI_ENABLE } else { jvmti::JVMTI_DISABLE };
        // SAFETY: a live environment; NULL means all threads.
        check("SetEventNotificationMode", unsafe {
            call(self.table().SetEventNotificationMode, |set| set(self.jvmti, mode, event, null_mut()))
        })
    }

    fn for_each_class(&self, mut body: impl FnMut(jobject)) -> Result<(), VmError> {
        let mut count = 0;
        let mut classes = null_mut();
        // SAFETY: a live environment; the array and its local references are ours to free.
        unsafe {
            check(
                "GetLoadedClasses",
                call(self.table().GetLoadedClasses, |get| get(self.jvmti, &mut count, &mut classes)),
            )?;
            self.expect_locals(count);
            for index in 0..count.max(0) as usize {
                let class = *classes.add(index);
                body(class);
                self.drop_local(class);
            }
            self.deallocate(classes);
        }
        Ok(())
    }

    fn table(&self) -> &jvmtiInterface_1_ {
        // SAFETY: a JVMTI environment's table lives as long as the environment, which we never dispose.
        unsafe { &*(*self.jvmti).functions }
    }

    /// JNI table and environment of this thread; `None` if it has not entered.
    fn jni(&self) -> Option<(&JNINativeInterface_, *mut JNIEnv)> {
        let env = JNI_ENV.get();
        // SAFETY: set by `enter` on this thread and cleared by `leave`.
        (!env.is_null()).then(|| unsafe { (&**env, env) })
    }

    fn entered(&self, env: *mut std::ffi::c_void, attached_here: bool) {
        JNI_ENV.set(env.cast());
        ATTACHED_HERE.set(attached_here);
        if self.env_offset.get().is_none() {
            if let Some(offset) = self.learn_env_offset() {
                let _ = self.env_offset.set(offset);
            }
        }
    }

    /// Learns where a JNIEnv lies in a JavaThread, from the calling thread's.
    fn learn_env_offset(&self) -> Option<usize> {
        let (jni, env) = self.jni()?;
        let eetop = self.eetop()?;
        let mut thread = null_mut();
        // SAFETY: a thread that has entered; the local reference is dropped.
        unsafe {
            let get = self.table().GetCurrentThread?;
            if get(self.jvmti, &mut thread) != jvmti::JVMTI_ERROR_NONE || thread.is_null() {
                return None;
            }
            self.expect_locals(1);
            let java_thread = (jni.GetLongField)(env, thread, eetop) as usize;
            self.drop_local(thread);
            (env as usize).checked_sub(java_thread).filter(|_| java_thread != 0)
        }
    }

    /// The field of `java.lang.Thread` that holds the address of its JavaThread, in every release since 1.2.
    fn eetop(&self) -> Option<jfieldID> {
        let (jni, env) = self.jni()?;
        // SAFETY: a thread that has entered; the local reference is dropped, and so is the exception.
        unsafe {
            let class = (jni.FindClass)(env, c"java/lang/Thread".as_ptr());
            if class.is_null() {
                (jni.ExceptionClear)(env);
                return None;
            }
            let eetop = (jni.GetFieldID)(env, class, c"eetop".as_ptr(), c"J".as_ptr());
            (jni.DeleteLocalRef)(env, class);
            if eetop.is_null() {
                (jni.ExceptionClear)(env);
                return None;
            }
            Some(eetop)
        }
    }

    /// The JavaThread of a JNIEnv; `None` for no JNIEnv.
    fn java_thread(&self, jni_env: usize) -> Option<usize> {
        jni_env.checked_sub(*self.env_offset.get()?).filter(|java_thread| *java_thread != 0)
    }

    /// Tells JNI that JVMTI has just made so many local references, which -Xcheck:jni counts.
    fn expect_locals(&self, count: i32) {
        // MaxJNILocalCapacity: more is refused.
        const MOST: i32 = 65_536;
        if let Some((jni, env)) = self.jni() {
            // SAFETY: a thread that has entered; where it is refused an exception would be pending.
            unsafe {
                if (jni.EnsureLocalCapacity)(env, count.clamp(0, MOST)) != 0 {
                    (jni.ExceptionClear)(env);
                }
            }
        }
    }

    fn drop_local(&self, reference: jobject) {
        if let Some((jni, env)) = self.jni() {
            // SAFETY: a local reference of this thread that is not used after.
            unsafe { (jni.DeleteLocalRef)(env, reference) };
        }
    }

    /// Frees memory that JVMTI gave us.
    ///
    /// # Safety
    /// `memory` came from this environment and is not used after.
    unsafe fn deallocate<T>(&self, memory: *mut T) {
        if let (Some(deallocate), false) = (self.table().Deallocate, memory.is_null()) {
            // SAFETY: the caller's promise.
            unsafe { deallocate(self.jvmti, memory.cast()) };
        }
    }

    /// Copies and frees a C string that JVMTI gave us.
    ///
    /// # Safety
    /// As [`deallocate`](Self::deallocate); NULL gives an empty text.
    unsafe fn text(&self, raw: *mut std::os::raw::c_char) -> String {
        if raw.is_null() {
            return String::new();
        }
        // SAFETY: the caller's promise: NUL-terminated, modified UTF-8.
        unsafe {
            let text = Cow::from(JNIStr::from_ptr(raw)).into_owned();
            self.deallocate(raw);
            text
        }
    }

    fn class_names(&self, method: MethodId) -> Option<(String, Option<String>)> {
        let (_, env) = self.jni()?;
        let mut class = null_mut();
        // SAFETY: JVMTI checks the id and answers with an error when its class is gone; the class is a
        // local reference of this thread.
        unsafe {
            let get = self.table().GetMethodDeclaringClass?;
            if get(self.jvmti, method.0 as *mut _, &mut class) != jvmti::JVMTI_ERROR_NONE {
                return None;
            }
            let mut signature = null_mut();
            let found = call(self.table().GetClassSignature, |get| {
                get(self.jvmti, class, &mut signature, null_mut())
            });
            let mut source = null_mut();
            let has_source = call(self.table().GetSourceFileName, |get| get(self.jvmti, class, &mut source));
            ((**env).DeleteLocalRef)(env, class);
            if found != jvmti::JVMTI_ERROR_NONE {
                return None;
            }
            let file = (has_source == jvmti::JVMTI_ERROR_NONE).then(|| self.text(source));
            Some((self.text(signature), file))
        }
    }

    fn lines(&self, method: MethodId) -> Vec<(i32, u32)> {
        let mut count = 0;
        let mut table = null_mut();
        // SAFETY: as in `class_names`; the table is ours to deallocate.
        unsafe {
            let found = call(self.table().GetLineNumberTable, |get| {
                get(self.jvmti, method.0 as *mut _, &mut count, &mut table)
            });
            if found != jvmti::JVMTI_ERROR_NONE {
                return Vec::new();
            }
            let mut lines: Vec<(i32, u32)> = std::slice::from_raw_parts(table, count.max(0) as usize)
                .iter()
                .map(|entry| (entry.start_location as i32, entry.line_number.max(0) as u32))
                .collect();
            self.deallocate(table);
            lines.sort_unstable();
            lines
        }
    }

    /// One handshake per thread (17 and newer): nobody else stops.
    fn stack_of(&self, thread: ThreadRef, depth: usize) -> Option<ThreadStack> {
        let mut frames = FRAMES.take();
        frames.resize(depth, jvmti::jvmtiFrameInfo::default());
        let mut count = 0;
        let mut state = 0;
        // SAFETY: a global reference that we hold; the buffer holds `depth` frames.
        unsafe {
            let thread = thread.0 as jthread;
            let get = self.table().GetStackTrace?;
            if get(self.jvmti, thread, 0, depth as i32, frames.as_mut_ptr(), &mut count)
                != jvmti::JVMTI_ERROR_NONE
            {
                return None;
            }
            let get = self.table().GetThreadState?;
            if get(self.jvmti, thread, &mut state) != jvmti::JVMTI_ERROR_NONE {
                return None;
            }
        }
        let stack = frames[..count.max(0) as usize].iter().map(events::raw_frame).collect();
        FRAMES.set(frames);
        Some(ThreadStack { state: thread_state(state)?, frames: stack })
    }

    /// One stop of the world for all of them: before 17 a single stack costs just as much.
    fn stacks_in_one_stop(&self, threads: &[ThreadRef], depth: usize) -> Vec<Option<ThreadStack>> {
        let list: Vec<jthread> = threads.iter().map(|thread| thread.0 as jthread).collect();
        let mut infos = null_mut();
        // SAFETY: global references that we hold; the JVM returns one row per thread, in one block
        // that holds the frames too and is freed as a whole.
        unsafe {
            let found = call(self.table().GetThreadListStackTraces, |get| {
                get(self.jvmti, list.len() as i32, list.as_ptr(), depth as i32, &mut infos)
            });
            if found != jvmti::JVMTI_ERROR_NONE {
                return vec![None; threads.len()];
            }
            self.expect_locals(list.len() as i32);
            let stacks = std::slice::from_raw_parts(infos, list.len())
                .iter()
                .zip(&list)
                .map(|(info, asked)| {
                    // HotSpot hands our own reference back, where the specification tells of a new one.
                    if info.thread != *asked {
                        self.drop_local(info.thread);
                    }
                    let count = info.frame_count.max(0) as usize;
                    let frames: Vec<RawFrame> = if count == 0 {
                        Vec::new()
                    } else {
                        std::slice::from_raw_parts(info.frame_buffer, count)
                            .iter()
                            .map(events::raw_frame)
                            .collect()
                    };
                    Some(ThreadStack { state: thread_state(info.state)?, frames })
                })
                .collect();
            self.deallocate(infos);
            stacks
        }
    }
}

impl Vm for Hotspot {
    fn enter(&self) -> Result<(), VmError> {
        let mut env: *mut std::ffi::c_void = null_mut();
        // SAFETY: the JVM's own pointer; writes our own variable.
        if unsafe { ((**self.java_vm).GetEnv)(self.java_vm, &mut env, JNI_VERSION) } == 0 {
            self.entered(env, false);
            return Ok(());
        }
        let mut name = *b"glowplug-sampler\0";
        let mut args =
            JavaVMAttachArgs { version: JNI_VERSION, name: name.as_mut_ptr().cast(), group: null_mut() };
        // SAFETY: the JVM's own pointer; as a daemon the thread does not keep the JVM alive.
        let code = unsafe {
            ((**self.java_vm).AttachCurrentThreadAsDaemon)(self.java_vm, &mut env, (&raw mut args).cast())
        };
        if code != 0 || env.is_null() {
            return Err(VmError::NotAttached(code));
        }
        self.entered(env, true);
        Ok(())
    }

    fn leave(&self) {
        JNI_ENV.set(null_mut());
        if ATTACHED_HERE.replace(false) {
            // SAFETY: the thread was attached by `enter` and holds no Java frame.
            unsafe { ((**self.java_vm).DetachCurrentThread)(self.java_vm) };
        }
    }

    fn threads(&self) -> Vec<FoundThread> {
        let (Some((jni, env)), Some(structs)) = (self.jni(), &self.structs) else { return Vec::new() };
        let mut count = 0;
        let mut threads = null_mut();
        let mut found = Vec::new();
        // A listed thread may end and its JavaThread be freed while we look, so that memory is read
        // through the kernel. Reused memory belongs to a younger thread, whose id it then tells.
        let Some(memory) = KernelReader::open() else { return found };
        let Some(eetop) = self.eetop() else { return found };
        // SAFETY: a thread that has entered; all local references are dropped.
        unsafe {
            let listed = call(self.table().GetAllThreads, |get| get(self.jvmti, &mut count, &mut threads));
            if listed != jvmti::JVMTI_ERROR_NONE {
                return found;
            }
            self.expect_locals(count);
            for index in 0..count.max(0) as usize {
                let thread = *threads.add(index);
                let java_thread = (jni.GetLongField)(env, thread, eetop) as usize;
                if let Some(tid) = structs.kernel_tid(&memory, java_thread) {
                    let reference = ThreadRef((jni.NewGlobalRef)(env, thread) as usize);
                    let jni_env = self.env_offset.get().map_or(0, |offset| java_thread.wrapping_add(*offset));
                    found.push(FoundThread { tid, jni_env, reference });
                }
                (jni.DeleteLocalRef)(env, thread);
            }
            self.deallocate(threads);
        }
        found
    }

    fn thread_name(&self, thread: ThreadRef) -> Option<String> {
        let mut info = jvmti::jvmtiThreadInfo::default();
        // SAFETY: a global reference that we hold; what is returned is freed.
        unsafe {
            let get = self.table().GetThreadInfo?;
            if get(self.jvmti, thread.0 as jthread, &mut info) != jvmti::JVMTI_ERROR_NONE {
                return None;
            }
            if !info.thread_group.is_null() {
                self.drop_local(info.thread_group);
            }
            if !info.context_class_loader.is_null() {
                self.drop_local(info.context_class_loader);
            }
            Some(self.text(info.name))
        }
    }

    fn stacks(&self, threads: &[ThreadRef], depth: usize) -> Vec<Option<ThreadStack>> {
        if threads.is_empty() {
            return Vec::new();
        }
        match facts::jdk(self.feature).sweep {
            facts::Sweep::Each => threads.iter().map(|thread| self.stack_of(*thread, depth)).collect(),
            facts::Sweep::List => self.stacks_in_one_stop(threads, depth),
        }
    }

    fn stacks_taken_by(&self) -> Option<&'static str> {
        match facts::jdk(self.feature).sweep {
            facts::Sweep::Each => None,
            facts::Sweep::List => Some("VM Thread"),
        }
    }

    fn wait_for_safepoint(&self) {
        let mut state = 0;
        // Any call that enters the VM from native code waits at its border (ThreadInVMfromNative).
        // SAFETY: a live environment; NULL means the calling thread, which has entered.
        let _ = unsafe { call(self.table().GetThreadState, |get| get(self.jvmti, null_mut(), &mut state)) };
    }

    fn method(&self, id: MethodId) -> Option<MethodInfo> {
        let mut name = null_mut();
        // SAFETY: JVMTI checks the id; the text is ours to free.
        let name = unsafe {
            let get = self.table().GetMethodName?;
            if get(self.jvmti, id.0 as *mut _, &mut name, null_mut(), null_mut()) != jvmti::JVMTI_ERROR_NONE {
                return None;
            }
            self.text(name)
        };
        let (class_signature, file) = self.class_names(id)?;
        Some(MethodInfo { class_signature, name, file, lines: self.lines(id) })
    }

    fn release(&self, thread: ThreadRef) {
        if let Some((jni, env)) = self.jni() {
            // SAFETY: a global reference that is not used after.
            unsafe { (jni.DeleteGlobalRef)(env, thread.0 as jobject) };
        }
    }

    fn walker(&self) -> Option<Walker> {
        self.structs.as_ref().and_then(|_| Walker::find())
    }

    fn debug_non_safepoints(&self) -> bool {
        self.structs.as_ref().is_some_and(|structs| structs.set_bool_flag("DebugNonSafepoints"))
    }

    fn prepare_walker(&self) -> Result<(), VmError> {
        self.notify(jvmti::JVMTI_EVENT_CLASS_LOAD, true)?;
        self.notify(jvmti::JVMTI_EVENT_CLASS_PREPARE, true)?;
        self.for_each_class(|class| {
            // SAFETY: `class` is a live local reference of this thread.
            unsafe { events::make_method_ids(self.jvmti, class) }
        })
    }

    fn watch_threads(&self) -> Result<(), VmError> {
        let callbacks = events::callbacks();
        let size = jvmti::event_callbacks_size_for_feature(self.feature as u16);
        // SAFETY: a live environment; the JVM copies `size` bytes of the table, which are its prefix.
        check("SetEventCallbacks", unsafe {
            call(self.table().SetEventCallbacks, |set| set(self.jvmti, &callbacks, size))
        })?;
        self.notify(jvmti::JVMTI_EVENT_THREAD_START, true)?;
        self.notify(jvmti::JVMTI_EVENT_THREAD_END, true)
    }

    fn sample_allocations(&self, interval: u64) -> Result<(), VmError> {
        self.add_capabilities(&jvmtiCapabilities::for_heap_sampling())?;
        self.set_allocation_interval(interval)?;
        self.notify(jvmti::JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, true)
    }

    fn set_allocation_interval(&self, interval: u64) -> Result<(), VmError> {
        let interval = i32::try_from(interval).unwrap_or(i32::MAX);
        // SAFETY: a live environment.
        check("SetHeapSamplingInterval", unsafe {
            call(self.table().SetHeapSamplingInterval, |set| set(self.jvmti, interval))
        })
    }

    fn counts_allocations(&self) -> bool {
        self.structs.as_ref().is_some_and(|structs| structs.allocations.is_some())
    }

    fn allocated_bytes(&self, jni_env: usize) -> Option<u64> {
        let fields = self.structs.as_ref()?.allocations?;
        let java_thread = self.java_thread(jni_env)?;
        let mut memory = self.memory.lock();
        if memory.is_none() {
            *memory = KernelReader::open();
        }
        fields.of(memory.as_ref()?, java_thread)
    }

    fn own_allocated_bytes(&self, jni_env: usize) -> Option<u64> {
        let fields = self.structs.as_ref()?.allocations?;
        let java_thread = self.java_thread(jni_env)?;
        // SAFETY: the caller's promise: this is the calling thread's JNIEnv, which lies in its JavaThread.
        Some(unsafe { fields.of_current(java_thread) })
    }
}

/// `None` for a thread that has not started or has ended.
fn thread_state(bits: i32) -> Option<ThreadState> {
    if bits & jvmti::JVMTI_THREAD_STATE_ALIVE == 0 {
        return None;
    }
    Some(if bits & jvmti::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER != 0 {
        ThreadState::Blocked
    } else if bits & jvmti::JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT != 0
        || bits & jvmti::JVMTI_THREAD_STATE_SLEEPING != 0
    {
        ThreadState::TimedWaiting
    } else if bits & jvmti::JVMTI_THREAD_STATE_WAITING != 0 {
        ThreadState::Waiting
    } else if bits & jvmti::JVMTI_THREAD_STATE_IN_NATIVE != 0 {
        ThreadState::Native
    } else {
        ThreadState::Runnable
    })
}

/// Calls a slot of JVMTI's table; an empty slot counts as "not available".
fn call<F>(slot: Option<F>, body: impl FnOnce(F) -> jvmtiError) -> jvmtiError {
    slot.map_or(jvmtiError::NOT_AVAILABLE, body)
}

fn check(function: &'static str, error: jvmtiError) -> Result<(), VmError> {
    if error == jvmti::JVMTI_ERROR_NONE {
        return Ok(());
    }
    Err(VmError::Refused { function, code: error.raw() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_states_as_the_jvm_reports_them() {
        assert_eq!(thread_state(0x291), Some(ThreadState::Waiting), "parked");
        assert_eq!(thread_state(0x191), Some(ThreadState::Waiting), "Object.wait");
        assert_eq!(thread_state(0xe1), Some(ThreadState::TimedWaiting), "sleep");
        assert_eq!(thread_state(0x401), Some(ThreadState::Blocked), "monitor");
        assert_eq!(thread_state(0x5), Some(ThreadState::Runnable), "running");
        assert_eq!(thread_state(0x40_0005), Some(ThreadState::Native), "running native");
        assert_eq!(thread_state(0x2), None, "ended");
    }
}
