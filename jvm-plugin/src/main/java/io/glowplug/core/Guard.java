package io.glowplug.core;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What stands between the plugin and the application: every entry point tells it of what was thrown, and throws nothing. */
public final class Guard {
    private final Set<String> throwing = testPlaces("GLOWPLUG_TEST_THROW");
    private final Set<String> panicking = testPlaces("GLOWPLUG_TEST_PANIC");
    private final Log log;
    private final Set<String> said = Collections.newSetFromMap(new ConcurrentHashMap<>());

    public Guard(Log log) {
        this.log = log;
    }

    /** First statement of an entry point: fails here when a test asks for it. */
    public void enter(String place) {
        if (throwing.contains(place)) {
            throw new NoSuchMethodError("GLOWPLUG_TEST_THROW=" + place);
        }
        panic(place);
    }

    /** Panics in the core when a test asks for it and the core is open. */
    public void panic(String place) {
        if (!panicking.contains(place)) {
            return;
        }
        Core core = Core.opened();
        if (core != null) {
            core.injectPanic(place);
        }
    }

    /** Said once for each place; never throws. */
    public void failed(String place, Throwable cause) {
        try {
            if (cause instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
            if (cause instanceof CoreUnavailable) {
                unavailable((CoreUnavailable) cause);
                return;
            }
            if (said.add(place)) {
                log.warn(place + " failed, and the job runs on without it: " + cause, cause);
            }
        } catch (Throwable t) {
            // Out of memory, or a logger that throws: there is nobody left to tell.
        }
    }

    private void unavailable(CoreUnavailable cause) {
        if (!cause.isRepeated()) {
            log.warn("off, and the job runs on without a profile: " + cause.getMessage(), null);
        }
    }

    /** A property of the JVM, so that tests can change it from one SparkContext to the next, or a variable of its environment. */
    private static Set<String> testPlaces(String variable) {
        String value = System.getProperty(variable, System.getenv(variable));
        return value == null ? Collections.emptySet() : new HashSet<>(Arrays.asList(value.split(",")));
    }
}
