package io.glowplug.spark;

import java.util.Arrays;
import java.util.List;

/**
 * Spark's shells, and Python programs that start their own JVM, leave the root logger at INFO and drop lines in a filter of the
 * appenders instead ({@code Logging.sparkShellThresholdLevel}, in Spark 3.0.3 to 4.3.0): a logger does not know that nobody will
 * see its line.
 */
final class ShellFilter {
    private static final List<String> LEVELS = Arrays.asList("INFO", "WARN", "ERROR", "FATAL", "OFF");

    private ShellFilter() {}

    /** True if a line of this level (INFO or WARN) is dropped. */
    static boolean drops(String level) {
        return LEVELS.indexOf(threshold()) > LEVELS.indexOf(level);
    }

    private static String threshold() {
        try {
            Class<?> logging = Class.forName("org.apache.spark.internal.Logging$");
            Object level = logging.getMethod("sparkShellThresholdLevel").invoke(logging.getField("MODULE$").get(null));
            return String.valueOf(level);
        } catch (ReflectiveOperationException | LinkageError e) {
            // A Spark without it: then nothing is dropped behind the logger's back.
            return "";
        }
    }
}
