package io.glowplug.spark;

import io.glowplug.core.Core;
import io.glowplug.core.Fields;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.spark.TaskContext;

/** Tells the core what the current thread works for. */
final class TaskLabels {
    private static final String USER_LABEL = "spark.glowplug.label.";

    private final Core core;

    TaskLabels(Core core) {
        this.core = core;
    }

    void start() {
        TaskContext task = TaskContext.get();
        if (task == null) {
            return;
        }
        List<String> labels = labelsOf(task.stageId(), task.stageAttemptNumber(), task.getLocalProperties());
        core.taskStart(task.taskAttemptId(), Fields.encode(labels));
    }

    void end() {
        core.taskEnd();
    }

    static List<String> labelsOf(int stage, int stageAttempt, Properties local) {
        List<String> pairs = new ArrayList<>();
        add(pairs, "stage", String.valueOf(stage));
        add(pairs, "stage_attempt", String.valueOf(stageAttempt));
        add(pairs, "sql_execution", local.getProperty("spark.sql.execution.id"));
        add(pairs, "job_group", local.getProperty("spark.jobGroup.id"));
        add(pairs, "job_description", local.getProperty("spark.job.description"));
        for (String key : local.stringPropertyNames()) {
            if (key.startsWith(USER_LABEL)) {
                add(pairs, "user_" + key.substring(USER_LABEL.length()), local.getProperty(key));
            }
        }
        return pairs;
    }

    private static void add(List<String> pairs, String key, String value) {
        if (value != null) {
            pairs.add(key);
            pairs.add(value);
        }
    }
}
