package io.glowplug;

import io.glowplug.core.Guard;
import io.glowplug.core.StderrLog;
import io.glowplug.spark.DriverHalf;
import io.glowplug.spark.ExecutorHalf;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/** {@code spark.plugins=io.glowplug.GlowplugPlugin}: all that Spark needs to know. */
public final class GlowplugPlugin implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
        try {
            enter("plugin.driverPlugin");
            return new DriverHalf();
        } catch (Throwable t) {
            off(t);
            return null;
        }
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        try {
            enter("plugin.executorPlugin");
            return new ExecutorHalf();
        } catch (Throwable t) {
            off(t);
            return null;
        }
    }

    private static void enter(String place) {
        new Guard(new StderrLog()).enter(place);
    }

    private static void off(Throwable cause) {
        System.err.println("glowplug: WARN off, and the job runs on without a profile: " + cause);
    }
}
