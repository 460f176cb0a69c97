package io.glowplug.spark;

import io.glowplug.core.AgentSession;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import scala.Tuple2;

/** Picks what could be a setting of ours out of everything that a process is configured with, as it was written. */
final class SettingsCollector {
    private static final String OWN = "spark.glowplug.";
    private static final List<String> VENDORS = Arrays.asList("cloud.profiler.", "dataproc.profiling.");
    private static final List<String> ENVIRONMENT_FORMS = Arrays.asList(
            "spark.executorEnv.", "spark.yarn.appMasterEnv.", "spark.kubernetes.driverEnv.", "spark.emr-serverless.driverEnv.");
    private static final List<String> SPARK_KEYS =
            Arrays.asList("spark.app.name", "spark.redaction.regex", "spark.redaction.string.regex");

    private final List<String> triples = new ArrayList<>();

    /** spark.glowplug.native.dir, which is needed before there is a core that resolves settings; or "". */
    static String nativeDir(SparkConf conf, Configuration hadoop) {
        return conf.get(OWN + "native.dir", hadoop.get(OWN + "native.dir", ""));
    }

    SettingsCollector conf(SparkConf conf) {
        for (Tuple2<String, String> entry : conf.getAll()) {
            confEntry(entry._1(), entry._2());
        }
        return this;
    }

    SettingsCollector environment(Map<String, String> environment) {
        for (Map.Entry<String, String> entry : environment.entrySet()) {
            if (AgentSession.isEnvironmentName(entry.getKey())) {
                add(entry.getKey(), entry.getValue(), "env");
            }
        }
        return this;
    }

    SettingsCollector hadoop(Configuration configuration) {
        for (Map.Entry<String, String> entry : configuration) {
            if (entry.getKey().startsWith(OWN) || isVendorKey(entry.getKey())) {
                add(entry.getKey(), configuration.get(entry.getKey()), "hadoop");
            }
        }
        return this;
    }

    /** The vendors' keys: those that begin with spark. are in SparkConf already. */
    SettingsCollector systemProperties(Map<?, ?> properties) {
        for (Map.Entry<?, ?> entry : properties.entrySet()) {
            if (entry.getKey() instanceof String && entry.getValue() instanceof String && isVendorKey((String) entry.getKey())) {
                add((String) entry.getKey(), (String) entry.getValue(), "system property");
            }
        }
        return this;
    }

    SettingsCollector fromDriver(Map<String, String> passedOn) {
        for (Map.Entry<String, String> entry : passedOn.entrySet()) {
            add(entry.getKey(), entry.getValue(), "driver");
        }
        return this;
    }

    /** Key, value, origin, and so on. */
    List<String> triples() {
        return triples;
    }

    private void confEntry(String key, String value) {
        if (isConfKey(key)) {
            add(key, value, "conf");
        }
    }

    private static boolean isConfKey(String key) {
        if (key.startsWith(OWN) || isVendorKey(key) || SPARK_KEYS.contains(key)) {
            return true;
        }
        if (key.startsWith("spark.hadoop.")) {
            return isVendorKey(key.substring("spark.hadoop.".length()));
        }
        if (key.startsWith("spark.cloud.") || key.startsWith("spark.dataproc.")) {
            return isVendorKey(key.substring("spark.".length()));
        }
        for (String form : ENVIRONMENT_FORMS) {
            if (key.startsWith(form)) {
                return AgentSession.isEnvironmentName(key.substring(form.length()));
            }
        }
        return false;
    }

    private static boolean isVendorKey(String key) {
        for (String vendor : VENDORS) {
            if (key.startsWith(vendor)) {
                return true;
            }
        }
        return false;
    }

    private void add(String key, String value, String origin) {
        triples.add(key);
        triples.add(value == null ? "" : value);
        triples.add(origin);
    }
}
