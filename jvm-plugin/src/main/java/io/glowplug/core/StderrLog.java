package io.glowplug.core;

/**
 * For a JVM whose logger is not ours to touch: asking slf4j for one before Spark has set up log4j would change how the
 * application logs.
 */
public final class StderrLog implements Log {
    @Override
    public void announce(String message) {
        info(message);
    }

    @Override
    public void info(String message) {
        System.err.println(PREFIX + message);
    }

    @Override
    public void warn(String message, Throwable cause) {
        System.err.println(PREFIX + "WARN " + message);
        if (cause != null) {
            cause.printStackTrace();
        }
    }
}
