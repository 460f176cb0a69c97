package io.glowplug.spark;

import io.glowplug.core.Closing;
import io.glowplug.core.Core;
import io.glowplug.core.Fields;
import io.glowplug.core.Guard;
import io.glowplug.core.Log;
import io.glowplug.core.Started;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;

/** The plugin in the driver: one for each SparkContext. It uses neither send nor ask: its own deltas are in the core already. */
public final class DriverHalf implements DriverPlugin {
    /** For writing the last files, on top of the wait for executors. */
    private static final long WRITE_LIMIT_MILLIS = 15_000;
    private static final long EXIT_HOOK_LIMIT_MILLIS = 5_000;

    private final Log log;
    private final Guard guard;
    private final CoreSource source;
    private final Closing closing = new Closing("glowplug-close", this::close);

    private SparkContext spark;
    private Core core;
    private Listener listener;
    private long shutdownWaitMillis;
    private volatile int application;

    public DriverHalf() {
        this(CoreSource.JVM, new SparkLog());
    }

    DriverHalf(CoreSource source, Log log) {
        this.source = source;
        this.log = log;
        this.guard = new Guard(log);
    }

    @Override
    public Map<String, String> init(SparkContext spark, PluginContext context) {
        try {
            guard.enter("driver.init");
            return start(spark);
        } catch (Throwable t) {
            guard.failed("driver.init", t);
            return Collections.emptyMap();
        }
    }

    @Override
    public void registerMetrics(String applicationId, PluginContext context) {
        try {
            guard.enter("driver.registerMetrics");
            openApplication(applicationId);
        } catch (Throwable t) {
            guard.failed("driver.registerMetrics", t);
        }
    }

    /** Also after {@link #shutdown}: executors' last deltas come when they come. */
    @Override
    public Object receive(Object message) {
        try {
            guard.enter("driver.receive");
            return ingest(message);
        } catch (Throwable t) {
            guard.failed("driver.receive", t);
            return null;
        }
    }

    @Override
    public void shutdown() {
        try {
            guard.enter("driver.shutdown");
            closing.begin();
            closing.awaitEnd(shutdownWaitMillis + WRITE_LIMIT_MILLIS);
        } catch (Throwable t) {
            guard.failed("driver.shutdown", t);
        }
    }

    private Map<String, String> start(SparkContext spark) throws Exception {
        SparkConf conf = spark.conf();
        Configuration hadoop = spark.hadoopConfiguration();
        Core core = source.open(SettingsCollector.nativeDir(conf, hadoop), conf.get("spark.local.dir", ""), log);
        List<String> settings = new SettingsCollector()
                .conf(conf)
                .environment(System.getenv())
                .hadoop(hadoop)
                .systemProperties(System.getProperties())
                .triples();
        Started started = core.start(ProcessFields.of("driver", "driver", spark.isLocal(), conf, hadoop, core), settings);
        log.pairs(started.lines);
        shutdownWaitMillis = started.shutdownWaitMillis;
        if (started.running) {
            attach(spark, core, hadoop);
        }
        guard.panic("driver.init");
        return started.pass;
    }

    private void attach(SparkContext spark, Core core, Configuration hadoop) throws Exception {
        this.spark = spark;
        this.core = core;
        core.link(new SparkLink(log, hadoop));
        core.onExit(this::beforeExit);
        listener = new Listener(core, guard);
        spark.addSparkListener(listener);
    }

    private void openApplication(String applicationId) throws Exception {
        if (core == null) {
            return;
        }
        String attempt = spark.applicationAttemptId().isDefined() ? spark.applicationAttemptId().get() : "";
        application = core.openApplication(Arrays.asList(
                "app_id", applicationId,
                "app_name", spark.appName(),
                "app_attempt", attempt,
                "spark_version", spark.version(),
                "scala_version", ProcessFields.scalaVersion()));
        listener.open(application);
        // A stopped context that a driver's last half still held could not be collected.
        spark = null;
    }

    private byte[] ingest(Object message) {
        if (application == 0 || !(message instanceof byte[])) {
            return null;
        }
        Fields.Message delta = Fields.decodeWithBlob((byte[]) message);
        if (delta.fields.size() != 2 || !DriverLine.DELTA.equals(delta.fields.get(0))) {
            return null;
        }
        return core.ingest(application, delta.fields.get(1), delta.blob);
    }

    /** On the closing thread. */
    private void close() {
        try {
            if (application != 0) {
                log.pairs(core.closeApplication(application, shutdownWaitMillis));
            }
        } catch (Throwable t) {
            guard.failed("driver.shutdown", t);
        }
    }

    /**
     * On the JVM's way out Spark's own hook stops the context, and only then do executors send their last deltas: this waits
     * for that, and closes by itself where it does not come.
     */
    private boolean beforeExit() {
        closing.awaitBegin(EXIT_HOOK_LIMIT_MILLIS);
        closing.begin();
        return closing.awaitEnd(EXIT_HOOK_LIMIT_MILLIS);
    }
}
