import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * Arguments: a folder, how many tasks, CPU seconds of each, and "idle" to stay until all executors are gone. While a task
 * runs, its CPU clock stands in the folder's file {@code <executor>.<task>}; it ends early once there is a file "enough".
 * "up" is there from the moment at which the SparkContext is.
 */
public final class LongTasks {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long CHUNK = 50_000_000;

    public static void main(String[] arguments) throws Exception {
        String folder = arguments[0];
        int tasks = Integer.parseInt(arguments[1]);
        long nanoseconds = (long) (Double.parseDouble(arguments[2]) * 1e9);
        JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("long tasks"));
        Files.createFile(Paths.get(folder, "up"));
        List<Integer> parts = new ArrayList<>();
        for (int part = 0; part < tasks; part++) {
            parts.add(part);
        }
        System.out.println(context.parallelize(parts, tasks).map(part -> task(folder, part, nanoseconds)).collect());
        if (arguments.length > 3) {
            waitUntilIdle(context);
        }
        context.stop();
    }

    private static int task(String folder, int part, long nanoseconds) throws IOException {
        Path enough = Paths.get(folder, "enough");
        String name = SparkEnv.get().executorId() + "." + TaskContext.get().taskAttemptId();
        long start = cpuTime();
        try (RandomAccessFile clock = new RandomAccessFile(new File(folder, name), "rw")) {
            for (long used = 0; used < nanoseconds && !Files.exists(enough); used = cpuTime() - start) {
                clock.seek(0);
                clock.writeLong(used);
                spin(start + used + CHUNK);
            }
            clock.seek(0);
            clock.writeLong(cpuTime() - start);
        }
        return part;
    }

    private static void spin(long end) {
        while (cpuTime() < end) {
            spinRounds(end);
        }
    }

    static long spinRounds(long value) {
        for (long round = 0; round < 100_000; round++) {
            value ^= value >>> 33;
            value = value * 0xff51afd7ed558ccdL + round;
        }
        return value;
    }

    private static void waitUntilIdle(JavaSparkContext context) throws InterruptedException {
        while (context.sc().statusTracker().getExecutorInfos().length > 1) {
            Thread.sleep(100);
        }
    }

    private static long cpuTime() {
        return THREADS.getCurrentThreadCpuTime();
    }
}
