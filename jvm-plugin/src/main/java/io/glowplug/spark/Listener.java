package io.glowplug.spark;

import io.glowplug.core.Core;
import io.glowplug.core.Fields;
import io.glowplug.core.Guard;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.StageInfo;

/**
 * The scheduler's events that the core needs. A LinkageError that left a callback would end the SparkContext; a method
 * that returns a Scala Seq is one in some version of Spark.
 */
final class Listener extends SparkListener {
    private final Core core;
    private final Guard guard;
    private final List<byte[]> early = new ArrayList<>();
    private int application;

    Listener(Core core, Guard guard) {
        this.core = core;
        this.guard = guard;
    }

    /** The bus runs before the application has its handle: what came until now goes first. */
    synchronized void open(int handle) {
        application = handle;
        for (byte[] event : early) {
            core.event(application, event);
        }
        early.clear();
    }

    @Override
    public void onExecutorAdded(SparkListenerExecutorAdded added) {
        try {
            guard.enter("listener.onExecutorAdded");
            event("executorAdded", "id", added.executorId(), "host", added.executorInfo().executorHost());
        } catch (Throwable t) {
            guard.failed("listener.onExecutorAdded", t);
        }
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
        try {
            guard.enter("listener.onExecutorRemoved");
            event("executorRemoved", "id", removed.executorId(), "reason", textOf(removed.reason()));
        } catch (Throwable t) {
            guard.failed("listener.onExecutorRemoved", t);
        }
    }

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
        try {
            guard.enter("listener.onStageSubmitted");
            StageInfo stage = submitted.stageInfo();
            event("stageSubmitted", "stage", String.valueOf(stage.stageId()), "attempt", String.valueOf(stage.attemptNumber()),
                    "name", textOf(stage.name()));
        } catch (Throwable t) {
            guard.failed("listener.onStageSubmitted", t);
        }
    }

    @Override
    public void onStageCompleted(SparkListenerStageCompleted completed) {
        try {
            guard.enter("listener.onStageCompleted");
            StageInfo stage = completed.stageInfo();
            String failure = stage.failureReason().isDefined() ? stage.failureReason().get() : "";
            event("stageCompleted", "stage", String.valueOf(stage.stageId()), "attempt", String.valueOf(stage.attemptNumber()),
                    "name", textOf(stage.name()), "cpu_ns", String.valueOf(cpuOf(stage.taskMetrics())), "failure", failure);
        } catch (Throwable t) {
            guard.failed("listener.onStageCompleted", t);
        }
    }

    @Override
    public void onApplicationEnd(SparkListenerApplicationEnd end) {
        try {
            guard.enter("listener.onApplicationEnd");
            event("applicationEnd");
        } catch (Throwable t) {
            guard.failed("listener.onApplicationEnd", t);
        }
    }

    /** The two together are what a task's thread has used while it ran the task. */
    private static long cpuOf(TaskMetrics metrics) {
        return metrics == null ? 0 : metrics.executorCpuTime() + metrics.executorDeserializeCpuTime();
    }

    private static String textOf(String text) {
        return text == null ? "" : text;
    }

    private synchronized void event(String... fields) {
        byte[] event = Fields.encode(fields);
        if (application == 0) {
            early.add(event);
            return;
        }
        core.event(application, event);
    }
}
