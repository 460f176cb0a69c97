package io.glowplug.spark;

import static org.junit.Assert.assertEquals;

import java.util.Arrays;
import java.util.Properties;
import org.junit.Test;

public class TaskLabelsTest {
    @Test
    public void whatSparkAndTheUserSaidBecomesLabels() {
        Properties local = new Properties();
        local.setProperty("spark.sql.execution.id", "4");
        local.setProperty("spark.jobGroup.id", "etl");
        local.setProperty("spark.job.description", "load\nall");
        local.setProperty("spark.glowplug.label.team", "fraud");
        local.setProperty("callSite.short", "collect at a.py:8");
        assertEquals(
                Arrays.asList("stage", "7", "stage_attempt", "1", "sql_execution", "4", "job_group", "etl", "job_description",
                        "load\nall", "user_team", "fraud"),
                TaskLabels.labelsOf(7, 1, local));
    }

    @Test
    public void aTaskOutsideSqlHasItsStageAlone() {
        assertEquals(Arrays.asList("stage", "0", "stage_attempt", "0"), TaskLabels.labelsOf(0, 0, new Properties()));
    }
}
