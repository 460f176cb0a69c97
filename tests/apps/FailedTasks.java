import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;

/**
 * In local[2]: two tasks that compute 0.7 s and throw, then two that compute 0.7 s and wait until they are killed. After each pair
 * nothing runs for 2 s, on no thread.
 */
public final class FailedTasks {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long TASK_CPU = 700_000_000L;
    private static final long QUIET_MILLIS = 2_000;
    private static final CountDownLatch WAITING = new CountDownLatch(2);

    public static void main(String[] arguments) throws Exception {
        JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("failed tasks"));
        System.out.println(endOf(context, "failing", FailedTasks::fail).contains("planned"));
        Thread.sleep(QUIET_MILLIS);
        ExecutorService jobs = Executors.newSingleThreadExecutor();
        Future<String> killed = jobs.submit(() -> endOf(context, "killed", FailedTasks::waitToBeKilled));
        WAITING.await();
        context.cancelJobGroup("killed");
        System.out.println(killed.get().contains("cancelled"));
        Thread.sleep(QUIET_MILLIS);
        jobs.shutdown();
        context.stop();
    }

    /** What the driver says of the job. */
    private static String endOf(JavaSparkContext context, String group, Function<Integer, Integer> task) {
        context.setJobGroup(group, group, true);
        try {
            return "succeeded: " + context.parallelize(Arrays.asList(1, 2), 2).map(task).collect();
        } catch (Exception e) {
            return e.toString();
        }
    }

    private static int fail(int part) {
        throw new IllegalStateException("planned " + compute(part));
    }

    private static int waitToBeKilled(int part) throws InterruptedException {
        compute(part);
        WAITING.countDown();
        Thread.sleep(60_000);
        return part;
    }

    static double compute(double value) {
        long end = THREADS.getCurrentThreadCpuTime() + TASK_CPU;
        while (THREADS.getCurrentThreadCpuTime() < end) {
            for (long round = 0; round < 10_000; round++) {
                value = Math.sqrt(value + round);
            }
        }
        return value;
    }
}
