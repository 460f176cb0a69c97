package io.glowplug.core;

import static org.junit.Assert.assertEquals;

import java.util.Arrays;
import java.util.Collections;
import java.util.Properties;
import org.junit.Test;

public class AgentSessionTest {
    @Test
    public void optionsArePartedAtCommasAndOurPrefixIsAdded() {
        assertEquals(
                Arrays.asList(
                        "spark.glowplug.cpu.interval", "5ms", "agent",
                        "spark.glowplug.threads.exclude", "a,b", "agent",
                        "cloud.profiler.enable", "true", "agent",
                        "spark.glowplug.dir", "/p=q", "agent"),
                AgentSession.settingsOf(
                        "cpu.interval=5ms,threads.exclude=a,b,cloud.profiler.enable=true,spark.glowplug.dir=/p=q",
                        Collections.emptyMap(), Collections.emptyMap()));
    }

    @Test
    public void environmentAndSystemPropertiesFollow() {
        Properties properties = new Properties();
        properties.setProperty("spark.glowplug.depth", "100");
        properties.setProperty("spark.master", "local");
        properties.put("cloud.profiler.name", 7);
        assertEquals(
                Arrays.asList("PROFILING_CONTEXT", "{}", "env", "spark.glowplug.depth", "100", "system property"),
                AgentSession.settingsOf(null, properties, Collections.singletonMap("PROFILING_CONTEXT", "{}")));
    }
}
