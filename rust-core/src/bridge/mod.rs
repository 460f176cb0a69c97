//! The JNI border, and the only place that names Java classes.
//!
//! Each exported method is one call to [`guard`](guard::guarded): no panic leaves it, and what went
//! wrong arrives in Java as `io.glowplug.core.NativeError`, which the plugin catches everywhere.

mod core;
mod fields;
mod guard;
mod place;
mod start;
mod state;
mod work;

use self::core::CORE;
use guard::{bytes, guarded, text, to_java};
use jni::sys::{jint, JNI_VERSION_1_8};
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

/// The JVM that loaded the library.
static JAVA_VM: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Called by the JVM when the library is loaded, and again if a second loader loads it after the first
/// was collected: the image stays mapped, and so does its state.
#[no_mangle]
pub extern "system" fn JNI_OnLoad(vm: *mut jni::sys::JavaVM, _reserved: *mut c_void) -> jint {
    JAVA_VM.store(vm.cast(), Ordering::Release);
    start::pin_library();
    JNI_VERSION_1_8
}

fn java_vm() -> *mut c_void {
    JAVA_VM.load(Ordering::Acquire)
}

fn millis(milliseconds: i64) -> Duration {
    Duration::from_millis(milliseconds.max(0) as u64)
}

#[robusta_jni::bridge]
mod exports {
    use super::{bytes, guarded, millis, text, to_java, CORE};
    use robusta_jni::convert::Signature;
    use robusta_jni::jni::objects::JObject;
    use robusta_jni::jni::JNIEnv;

    #[derive(Signature)]
    #[package(io.glowplug.core)]
    pub(super) struct Native;

    #[allow(non_snake_case)]
    impl<'env: 'borrow, 'borrow> Native {
        #[call_type(unchecked)]
        pub extern "jni" fn buildId(env: &'borrow JNIEnv<'env>) -> JObject<'env> {
            guarded(env, "buildId", || super::guard::java_string(env, super::start::build_id()))
        }

        #[call_type(unchecked)]
        pub extern "jni" fn start(
            env: &'borrow JNIEnv<'env>,
            process: JObject<'env>,
            settings: JObject<'env>,
        ) -> JObject<'env> {
            guarded(env, "start", || {
                let jvm = super::start::java(env)?;
                to_java(env, &CORE.start(jvm, &bytes(env, process)?, &bytes(env, settings)?)?)
            })
        }

        #[call_type(unchecked)]
        pub extern "jni" fn openApplication(env: &'borrow JNIEnv<'env>, application: JObject<'env>) -> i32 {
            guarded(env, "openApplication", || CORE.open_application(&bytes(env, application)?))
        }

        #[call_type(unchecked)]
        pub extern "jni" fn event(env: &'borrow JNIEnv<'env>, application: i32, fields: JObject<'env>) {
            guarded(env, "event", || CORE.event(application, &bytes(env, fields)?))
        }

        #[call_type(unchecked)]
        pub extern "jni" fn ingest(
            env: &'borrow JNIEnv<'env>,
            application: i32,
            executor: JObject<'env>,
            delta: JObject<'env>,
        ) -> JObject<'env> {
            guarded(env, "ingest", || {
                let executor = text(env, executor)?;
                to_java(env, &CORE.ingest(application, &executor, &bytes(env, delta)?))
            })
        }

        #[call_type(unchecked)]
        pub extern "jni" fn taskStart(env: &'borrow JNIEnv<'env>, task: i64, labels: JObject<'env>) {
            guarded(env, "taskStart", || CORE.task_start(task, &bytes(env, labels)?))
        }

        #[call_type(unchecked)]
        pub extern "jni" fn taskEnd(env: &'borrow JNIEnv<'env>) {
            guarded(env, "taskEnd", || CORE.task_end())
        }

        #[call_type(unchecked)]
        pub extern "jni" fn take(env: &'borrow JNIEnv<'env>, milliseconds: i64) -> JObject<'env> {
            guarded(env, "take", || to_java(env, &CORE.take(millis(milliseconds))))
        }

        #[call_type(unchecked)]
        pub extern "jni" fn answer(
            env: &'borrow JNIEnv<'env>,
            token: i64,
            answer: JObject<'env>,
            error: JObject<'env>,
        ) {
            guarded(env, "answer", || {
                let error = if error.is_null() { None } else { Some(text(env, error)?) };
                let answer = if answer.is_null() { Vec::new() } else { bytes(env, answer)? };
                CORE.answer(token, &answer, error)
            })
        }

        #[call_type(unchecked)]
        pub extern "jni" fn flush(env: &'borrow JNIEnv<'env>, milliseconds: i64) -> JObject<'env> {
            guarded(env, "flush", || to_java(env, &CORE.flush(millis(milliseconds))))
        }

        #[call_type(unchecked)]
        pub extern "jni" fn closeApplication(
            env: &'borrow JNIEnv<'env>,
            application: i32,
            milliseconds: i64,
        ) -> JObject<'env> {
            guarded(env, "closeApplication", || {
                to_java(env, &CORE.close_application(application, millis(milliseconds)))
            })
        }

        #[call_type(unchecked)]
        pub extern "jni" fn stop(env: &'borrow JNIEnv<'env>) {
            guarded(env, "stop", || CORE.stop())
        }

        #[call_type(unchecked)]
        pub extern "jni" fn command(env: &'borrow JNIEnv<'env>, arguments: JObject<'env>) -> JObject<'env> {
            guarded(env, "command", || to_java(env, &super::core::command(&bytes(env, arguments)?)?))
        }

        #[call_type(unchecked)]
        pub extern "jni" fn injectPanic(env: &'borrow JNIEnv<'env>, place: JObject<'env>) {
            guarded(env, "injectPanic", || {
                let place = text(env, place)?;
                CORE.inject_panic(&place)
            })
        }
    }
}
