package io.glowplug.core;

import java.util.List;

/** Where lines go that a user reads. Implementations add the prefix, and write nothing to stdout. */
public interface Log {
    String PREFIX = "glowplug: ";

    /** What every user must see: the line at the start and the one at the end. */
    void announce(String message);

    void info(String message);

    /** {@code cause} may be null. */
    void warn(String message, Throwable cause);

    default void at(String level, String message) {
        switch (level) {
            case "ANNOUNCE":
                announce(message);
                break;
            case "INFO":
                info(message);
                break;
            default:
                warn(message, null);
        }
    }

    /** Logs the {@code log.*} pairs of a result of the core, in their order. */
    default void pairs(List<String> pairs) {
        for (int i = 0; i + 1 < pairs.size(); i += 2) {
            String key = pairs.get(i);
            if (key.startsWith("log.")) {
                at(key.substring("log.".length()), pairs.get(i + 1));
            }
        }
    }
}
