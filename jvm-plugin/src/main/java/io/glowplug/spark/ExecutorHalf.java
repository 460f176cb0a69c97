package io.glowplug.spark;

import io.glowplug.core.Closing;
import io.glowplug.core.Core;
import io.glowplug.core.Guard;
import io.glowplug.core.Log;
import io.glowplug.core.Started;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.deploy.SparkHadoopUtil;

/** The plugin in an executor. In local mode the driver's half has started the core, and this one only labels tasks. */
public final class ExecutorHalf implements ExecutorPlugin {
    /** A driver that does not answer delays an executor's exit by 2 s at most: this, and what comes before and after it. */
    private static final long FLUSH_MILLIS = 1_600;
    private static final long FLUSH_LIMIT_MILLIS = 5_000;

    private final Log log;
    private final Guard guard;
    private final CoreSource source;
    private final Closing closing = new Closing("glowplug-flush", this::flush);

    private volatile Core core;
    private volatile TaskLabels labels;

    public ExecutorHalf() {
        this(CoreSource.JVM, new SparkLog());
    }

    ExecutorHalf(CoreSource source, Log log) {
        this.source = source;
        this.log = log;
        this.guard = new Guard(log);
    }

    @Override
    public void init(PluginContext context, Map<String, String> fromDriver) {
        try {
            guard.enter("executor.init");
            if ("driver".equals(context.executorID())) {
                joinDriver();
            } else {
                start(context, fromDriver);
            }
            guard.panic("executor.init");
        } catch (Throwable t) {
            guard.failed("executor.init", t);
        }
    }

    @Override
    public void onTaskStart() {
        try {
            guard.enter("executor.onTaskStart");
            if (labels != null) {
                labels.start();
            }
        } catch (Throwable t) {
            guard.failed("executor.onTaskStart", t);
        }
    }

    @Override
    public void onTaskSucceeded() {
        try {
            guard.enter("executor.onTaskSucceeded");
            endTask();
        } catch (Throwable t) {
            guard.failed("executor.onTaskSucceeded", t);
        }
    }

    @Override
    public void onTaskFailed(TaskFailedReason reason) {
        try {
            guard.enter("executor.onTaskFailed");
            endTask();
        } catch (Throwable t) {
            guard.failed("executor.onTaskFailed", t);
        }
    }

    @Override
    public void shutdown() {
        try {
            guard.enter("executor.shutdown");
            if (core != null) {
                closing.begin();
                closing.awaitEnd(FLUSH_LIMIT_MILLIS);
            }
        } catch (Throwable t) {
            guard.failed("executor.shutdown", t);
        }
    }

    private void joinDriver() {
        Core driver = source.opened();
        if (driver != null && driver.running()) {
            labels = new TaskLabels(driver);
        }
    }

    private void start(PluginContext context, Map<String, String> fromDriver) throws Exception {
        SparkConf conf = context.conf();
        Configuration hadoop = SparkHadoopUtil.get().conf();
        Core opened = source.open(SettingsCollector.nativeDir(conf, hadoop), conf.get("spark.local.dir", ""), log);
        Started started = opened.start(
                ProcessFields.of("executor", context.executorID(), false, conf, hadoop, opened),
                new SettingsCollector()
                        .conf(conf)
                        .environment(System.getenv())
                        .hadoop(hadoop)
                        .systemProperties(System.getProperties())
                        .fromDriver(fromDriver)
                        .triples());
        log.pairs(started.lines);
        if (!started.running) {
            return;
        }
        core = opened;
        labels = new TaskLabels(opened);
        opened.onExit(this::beforeExit);
        // Last: an ask while init runs could fail its look-up of the driver, and Spark would remember that for ever.
        opened.link(new DriverLine(log, hadoop, context, context.executorID()));
    }

    private void endTask() {
        if (labels != null) {
            labels.end();
        }
    }

    /** On the closing thread. */
    private void flush() {
        try {
            log.pairs(core.flush(FLUSH_MILLIS));
        } catch (Throwable t) {
            guard.failed("executor.shutdown", t);
        }
    }

    private boolean beforeExit() {
        closing.begin();
        return closing.awaitEnd(FLUSH_LIMIT_MILLIS);
    }
}
