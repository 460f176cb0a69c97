package io.glowplug.core;

/** The core panicked; the message is the panic's. Thrown by native code. */
public final class NativeError extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public NativeError(String message) {
        super(message);
    }
}
