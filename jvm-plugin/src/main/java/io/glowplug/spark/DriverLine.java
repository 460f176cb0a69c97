package io.glowplug.spark;

import io.glowplug.core.Fields;
import io.glowplug.core.Log;
import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.api.plugin.PluginContext;

/** An executor's link: it can ask the driver. A returned send would prove nothing, an answered ask proves arrival. */
final class DriverLine extends SparkLink {
    static final String DELTA = "delta";

    private final PluginContext context;
    private final String executorId;

    DriverLine(Log log, Configuration configuration, PluginContext context, String executorId) throws IOException {
        super(log, configuration);
        this.context = context;
        this.executorId = executorId;
    }

    @Override
    public byte[] ask(byte[] delta) throws Exception {
        return (byte[]) context.ask(Fields.encodeWithBlob(Arrays.asList(DELTA, executorId), delta));
    }
}
