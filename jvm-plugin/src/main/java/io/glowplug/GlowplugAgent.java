package io.glowplug;

import io.glowplug.core.AgentSession;

/**
 * {@code -javaagent:glowplug-spark.jar[=key=value,key=value]}: starts the session when the JVM starts. In a Spark JVM the
 * plugin takes the same session over.
 */
public final class GlowplugAgent {
    private GlowplugAgent() {}

    public static void premain(String options) {
        agentmain(options);
    }

    public static void agentmain(String options) {
        try {
            AgentSession.start(options);
        } catch (Throwable t) {
            System.err.println("glowplug: WARN the agent is off, and the program runs on without a profile: " + t);
        }
    }
}
