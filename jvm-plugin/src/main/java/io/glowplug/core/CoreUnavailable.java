package io.glowplug.core;

/** The core cannot run in this JVM; the message says why and is meant for the user. */
public final class CoreUnavailable extends Exception {
    private static final long serialVersionUID = 1L;

    private final boolean repeated;

    CoreUnavailable(String message) {
        this(message, false);
    }

    CoreUnavailable(String message, boolean repeated) {
        super(message, null, false, false);
        this.repeated = repeated;
    }

    /** True when this JVM was told before. */
    public boolean isRepeated() {
        return repeated;
    }
}
