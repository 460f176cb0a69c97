//! What stands between a panic and the JVM.

use crate::session::panic_text;
use jni::objects::JObject;
use jni::JNIEnv;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Why a native method failed; becomes the message of a NativeError.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NativeFailure {
    /// JNI refused.
    #[error("JNI: {0}")]
    Jni(#[from] jni::errors::Error),
    /// An argument is not what the contract says.
    #[error("an argument is malformed: {0}")]
    Fields(#[from] super::fields::Truncated),
    /// Anything that the core says.
    #[error("{0}")]
    Core(String),
}

/// What a method returns after it has failed: Java sees the exception, never the value.
pub(crate) trait Failed {
    fn failed() -> Self;
}

impl Failed for () {
    fn failed() {}
}

impl Failed for i32 {
    fn failed() -> i32 {
        0
    }
}

impl Failed for JObject<'_> {
    fn failed() -> Self {
        JObject::null()
    }
}

/// Runs the body of the exported method `name`; throws NativeError in Java if it fails or panics.
pub(crate) fn guarded<T: Failed>(
    env: &JNIEnv,
    name: &'static str,
    body: impl FnOnce() -> Result<T, NativeFailure>,
) -> T {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        test_panic(name);
        body()
    }));
    let message = match outcome {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => format!("{name}: {failure}"),
        Err(panic) => format!("{name} panicked: {}", panic_text(&*panic)),
    };
    // Nothing can be done where Java cannot even throw; what is pending already is thrown instead.
    if !env.exception_check().unwrap_or(true) {
        let _ = env.throw_new("io/glowplug/core/NativeError", message);
    }
    T::failed()
}

/// A `byte[]` argument.
pub(crate) fn bytes(env: &JNIEnv, array: JObject) -> Result<Vec<u8>, NativeFailure> {
    if array.is_null() {
        return Err(NativeFailure::Core("a byte[] argument is null".to_owned()));
    }
    Ok(env.convert_byte_array(array.into_inner())?)
}

/// A `String` argument.
pub(crate) fn text(env: &JNIEnv, string: JObject) -> Result<String, NativeFailure> {
    if string.is_null() {
        return Err(NativeFailure::Core("a String argument is null".to_owned()));
    }
    Ok(env.get_string(string.into())?.into())
}

/// A `String` result.
pub(crate) fn java_string<'env>(env: &JNIEnv<'env>, text: &str) -> Result<JObject<'env>, NativeFailure> {
    Ok(env.new_string(text)?.into())
}

/// A `byte[]` result; nothing becomes null.
pub(crate) fn to_java<'env>(env: &JNIEnv<'env>, bytes: &[u8]) -> Result<JObject<'env>, NativeFailure> {
    if bytes.is_empty() {
        return Ok(JObject::null());
    }
    Ok(env.byte_array_from_slice(bytes)?.into())
}

/// `GLOWPLUG_TEST_NATIVE_PANIC` names exported methods that shall panic: tests prove each guard by it.
fn test_panic(name: &str) {
    static PANICS: once_cell::sync::Lazy<String> =
        once_cell::sync::Lazy::new(|| std::env::var("GLOWPLUG_TEST_NATIVE_PANIC").unwrap_or_default());
    if !PANICS.is_empty() && PANICS.split(',').any(|panic| panic == name) {
        panic!("injected into {name}");
    }
}
