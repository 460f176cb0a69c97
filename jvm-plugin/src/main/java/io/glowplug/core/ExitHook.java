package io.glowplug.core;

import java.util.function.BooleanSupplier;

/**
 * The one raw JVM shutdown hook. A standalone executor is sent SIGTERM while its plugins shut down, and its JVM waits for
 * raw hooks alone: this one holds it until the last delta has gone.
 */
final class ExitHook {
    private boolean registered;
    private volatile BooleanSupplier before;

    /** {@code work} replaces what was set; it returns true when nothing needs the core any more. */
    synchronized void before(BooleanSupplier work) {
        before = work;
        if (registered) {
            return;
        }
        registered = true;
        try {
            Runtime.getRuntime().addShutdownHook(new Thread(this::run, "glowplug-exit"));
        } catch (IllegalStateException e) {
            // The JVM is on its way out: the plugin's own shutdown is all that is left.
            before = null;
        }
    }

    private void run() {
        try {
            if (before.getAsBoolean()) {
                Native.stop();
            }
        } catch (Throwable t) {
            // A hook's exception would reach the application's uncaught handler.
            System.err.println(Log.PREFIX + "WARN could not stop cleanly: " + t);
        }
    }
}
