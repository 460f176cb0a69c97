package io.glowplug.core;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** A session that begins with the JVM, before or without Spark. */
public final class AgentSession {
    private static final long FLUSH_MILLIS = 2_000;
    private static final String OWN = "spark.glowplug.";
    private static final List<String> FOREIGN = Arrays.asList("spark.", "cloud.profiler.", "dataproc.profiling.");

    private AgentSession() {}

    public static void start(String options) {
        Log log = new StderrLog();
        Guard guard = new Guard(log);
        try {
            guard.enter("agent.start");
            List<String> settings = settingsOf(options, System.getProperties(), System.getenv());
            Core core = Core.open(valueOf(settings, OWN + "native.dir"), "", log);
            Started started = core.start(process(core), settings);
            log.pairs(started.lines);
            if (started.running) {
                Closing closing = new Closing("glowplug-flush", () -> flush(core, guard, log));
                core.onExit(() -> end(closing));
            }
            guard.panic("agent.start");
        } catch (Throwable t) {
            guard.failed("agent.start", t);
        }
    }

    /** Triples: a key of the options without a prefix is one of ours. */
    static List<String> settingsOf(String options, Map<?, ?> properties, Map<String, String> environment) {
        List<String> triples = new ArrayList<>();
        for (String option : splitOptions(options == null ? "" : options)) {
            int equals = option.indexOf('=');
            String key = equals < 0 ? option : option.substring(0, equals);
            String value = equals < 0 ? "" : option.substring(equals + 1);
            add(triples, startsWithAny(key, FOREIGN) ? key : OWN + key, value, "agent");
        }
        for (Map.Entry<String, String> entry : environment.entrySet()) {
            if (isEnvironmentName(entry.getKey())) {
                add(triples, entry.getKey(), entry.getValue(), "env");
            }
        }
        for (Map.Entry<?, ?> entry : properties.entrySet()) {
            if (entry.getKey() instanceof String && entry.getValue() instanceof String && isPropertyName((String) entry.getKey())) {
                add(triples, (String) entry.getKey(), (String) entry.getValue(), "system property");
            }
        }
        return triples;
    }

    /** At commas; a part with no equals sign belongs to the value before it. */
    private static List<String> splitOptions(String options) {
        List<String> parts = new ArrayList<>();
        for (String part : options.split(",")) {
            int last = parts.size() - 1;
            if (part.indexOf('=') < 0 && last >= 0) {
                parts.set(last, parts.get(last) + "," + part);
            } else if (!part.trim().isEmpty()) {
                parts.add(part.trim());
            }
        }
        return parts;
    }

    /** What only tests set is no setting. */
    public static boolean isEnvironmentName(String name) {
        return name.equals("PROFILING_CONTEXT")
                || name.startsWith("GLOWPLUG_") && !name.startsWith("GLOWPLUG_TEST_")
                || name.startsWith("ENABLE_") && name.endsWith("_PROFILER");
    }

    private static boolean isPropertyName(String name) {
        return name.startsWith(OWN) || name.startsWith("cloud.profiler.") || name.startsWith("dataproc.profiling.");
    }

    private static boolean startsWithAny(String key, List<String> prefixes) {
        for (String prefix : prefixes) {
            if (key.startsWith(prefix)) {
                return true;
            }
        }
        return false;
    }

    private static String valueOf(List<String> triples, String key) {
        for (int i = 0; i < triples.size(); i += 3) {
            if (triples.get(i).equals(key)) {
                return triples.get(i + 1);
            }
        }
        return "";
    }

    private static List<String> process(Core core) {
        return Arrays.asList(
                "role", "agent",
                "executor_id", "",
                "host", MachineName.get(),
                "spark_version", "",
                "scala_version", "",
                "app_name", "",
                "app_id", "",
                "master", "",
                "deploy_mode", "",
                "local", "false",
                "jar", Core.jar(),
                "library", core.library(),
                "user", System.getProperty("user.name", ""),
                "default_fs", "",
                "user_home", System.getProperty("user.home", ""));
    }

    private static void flush(Core core, Guard guard, Log log) {
        try {
            log.pairs(core.flush(FLUSH_MILLIS));
        } catch (Throwable t) {
            guard.failed("agent.exit", t);
        }
    }

    private static boolean end(Closing closing) {
        closing.begin();
        return closing.awaitEnd(FLUSH_MILLIS);
    }

    private static void add(List<String> triples, String key, String value, String origin) {
        triples.add(key);
        triples.add(value);
        triples.add(origin);
    }
}
