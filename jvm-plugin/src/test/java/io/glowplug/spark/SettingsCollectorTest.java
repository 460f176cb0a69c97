package io.glowplug.spark;

import static org.junit.Assert.assertEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.junit.Test;

public class SettingsCollectorTest {
    @Test
    public void theConfGivesOurKeysAndTheVendorsInEachOfTheirForms() {
        List<String> ours = Arrays.asList(
                "spark.glowplug.dir",
                "spark.glowplug.unknown",
                "spark.executorEnv.PROFILING_CONTEXT",
                "spark.yarn.appMasterEnv.ENABLE_AMAZON_PROFILER",
                "spark.kubernetes.driverEnv.ENABLE_X_PROFILER",
                "spark.emr-serverless.driverEnv.GLOWPLUG_LOG",
                "cloud.profiler.enable",
                "dataproc.profiling.name",
                "spark.cloud.profiler.name",
                "spark.dataproc.profiling.enabled",
                "spark.hadoop.cloud.profiler.enable",
                "spark.hadoop.dataproc.profiling.enabled",
                "spark.app.name",
                "spark.redaction.regex",
                "spark.redaction.string.regex");
        SparkConf conf = new SparkConf(false);
        for (String key : ours) {
            conf.set(key, "v of " + key);
        }
        for (String other : Arrays.asList(
                "spark.executorEnv.PATH", "spark.executorEnv.GLOWPLUG_TEST_THROW", "spark.executor.memory",
                "spark.hadoop.fs.s3a.access.key", "spark.cloud.other", "spark.plugins")) {
            conf.set(other, "x");
        }
        List<String> expected = new ArrayList<>();
        for (String key : ours) {
            expected.addAll(Arrays.asList(key, "v of " + key, "conf"));
        }
        assertEquals(sorted(expected), sorted(new SettingsCollector().conf(conf).triples()));
    }

    @Test
    public void eachOriginIsNamed() {
        Map<String, String> environment = new TreeMap<>();
        environment.put("ENABLE_GOOGLE_PROFILER", "true");
        environment.put("ENABLE_X", "no");
        environment.put("HOME", "/root");
        Configuration hadoop = new Configuration(false);
        hadoop.set("cloud.profiler.name", "${user}-job");
        hadoop.set("user", "ada");
        Properties properties = new Properties();
        properties.setProperty("dataproc.profiling.name", "p");
        properties.setProperty("spark.glowplug.dir", "is in SparkConf already");
        properties.put("cloud.profiler.enable", Boolean.TRUE);
        assertEquals(
                Arrays.asList(
                        "ENABLE_GOOGLE_PROFILER", "true", "env",
                        "cloud.profiler.name", "ada-job", "hadoop",
                        "dataproc.profiling.name", "p", "system property",
                        "cpu.interval", "10ms", "driver"),
                new SettingsCollector()
                        .environment(environment)
                        .hadoop(hadoop)
                        .systemProperties(properties)
                        .fromDriver(Collections.singletonMap("cpu.interval", "10ms"))
                        .triples());
    }

    @Test
    public void theHadoopConfigurationGivesOurKeysAndTheVendors() {
        Configuration hadoop = new Configuration(false);
        hadoop.set("spark.glowplug.dir", "/profiles/${user}");
        hadoop.set("spark.glowplug.unknown", "x");
        hadoop.set("cloud.profiler.enable", "true");
        hadoop.set("user", "ada");
        hadoop.set("spark.other", "x");
        assertEquals(
                Arrays.asList(
                        Arrays.asList("cloud.profiler.enable", "true", "hadoop"),
                        Arrays.asList("spark.glowplug.dir", "/profiles/ada", "hadoop"),
                        Arrays.asList("spark.glowplug.unknown", "x", "hadoop")),
                sorted(new SettingsCollector().hadoop(hadoop).triples()));
    }

    @Test
    public void theNativeFolderComesFromTheConfAndElseFromTheHadoopConfiguration() {
        SparkConf conf = new SparkConf(false);
        Configuration hadoop = new Configuration(false);
        assertEquals("", SettingsCollector.nativeDir(conf, hadoop));
        hadoop.set("spark.glowplug.native.dir", "/of/hadoop");
        assertEquals("/of/hadoop", SettingsCollector.nativeDir(conf, hadoop));
        conf.set("spark.glowplug.native.dir", "/of/conf");
        assertEquals("/of/conf", SettingsCollector.nativeDir(conf, hadoop));
    }

    private static List<List<String>> sorted(List<String> triples) {
        List<List<String>> sorted = new ArrayList<>();
        for (int i = 0; i < triples.size(); i += 3) {
            sorted.add(triples.subList(i, i + 3));
        }
        sorted.sort((a, b) -> a.get(0).compareTo(b.get(0)));
        return sorted;
    }
}
