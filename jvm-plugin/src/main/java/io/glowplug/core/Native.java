package io.glowplug.core;

/**
 * The core's exported functions, one to one. {@code byte[]} arguments and results are {@link Fields} unless a
 * method says that they are raw. Each can throw {@link NativeError}.
 */
final class Native {
    private Native() {}

    static native String buildId();

    static native byte[] start(byte[] process, byte[] settings);

    static native int openApplication(byte[] application);

    static native void event(int application, byte[] fields);

    /** Raw delta in, raw answer out; null means that there is nothing to say. */
    static native byte[] ingest(int application, String executorId, byte[] delta);

    static native void taskStart(long taskId, byte[] labels);

    static native void taskEnd();

    /** Fields with a blob, or null when nothing came in time. */
    static native byte[] take(long millis);

    static native void answer(long token, byte[] answer, String error);

    /** Returns the {@code log.*} pairs of the end. */
    static native byte[] flush(long millis);

    static native byte[] closeApplication(int application, long millis);

    static native void stop();

    static native byte[] command(byte[] arguments);

    static native void injectPanic(String where);
}
