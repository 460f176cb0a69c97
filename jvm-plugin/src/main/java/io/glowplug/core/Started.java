package io.glowplug.core;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the core says to a start. */
public final class Started {
    private static final String PASS = "pass.";

    public final boolean running;
    /** Pairs; {@link Log#pairs} prints them. */
    public final List<String> lines;
    /** What the driver hands to its executors. */
    public final Map<String, String> pass = new LinkedHashMap<>();
    /** How long the driver waits for executors' last deltas. */
    public final long shutdownWaitMillis;

    Started(List<String> pairs) {
        boolean on = false;
        long wait = 0;
        for (int i = 0; i + 1 < pairs.size(); i += 2) {
            String key = pairs.get(i);
            String value = pairs.get(i + 1);
            if ("running".equals(key)) {
                on = "true".equals(value);
            } else if ("shutdown_wait_ms".equals(key)) {
                wait = Long.parseLong(value);
            } else if (key.startsWith(PASS)) {
                pass.put(key.substring(PASS.length()), value);
            }
        }
        running = on;
        shutdownWaitMillis = wait;
        lines = pairs;
    }
}
