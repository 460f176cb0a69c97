import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;

/**
 * Two stages at once whose many tasks are far shorter than a look at their threads may be apart: those of one compute 20 ms and
 * allocate 1 MiB, those of the other sleep 20 ms.
 */
public final class ShortTasks {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final int TASKS = 400;
    private static final long TASK_MILLIS = 20;

    /** Keeps the compiler from doing without the buffer. */
    private static volatile byte[] lastBuffer;

    public static void main(String[] arguments) throws Exception {
        JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("short tasks"));
        ExecutorService stages = Executors.newFixedThreadPool(2);
        Future<Integer> burning = stages.submit(stage(context, "burning", ShortTasks::burn));
        Future<Integer> napping = stages.submit(stage(context, "napping", ShortTasks::nap));
        System.out.println(burning.get() + " " + napping.get());
        stages.shutdown();
        context.stop();
    }

    private static Callable<Integer> stage(JavaSparkContext context, String name, Function<Integer, Integer> task) {
        List<Integer> parts = new ArrayList<>();
        for (int part = 0; part < TASKS; part++) {
            parts.add(part);
        }
        return () -> {
            context.setJobGroup(name, name);
            context.setLocalProperty("spark.scheduler.pool", name);
            return context.parallelize(parts, TASKS).map(task).collect().size();
        };
    }

    private static int burn(int part) {
        lastBuffer = new byte[1 << 20];
        long end = THREADS.getCurrentThreadCpuTime() + TASK_MILLIS * 1_000_000;
        long hash = part;
        while (THREADS.getCurrentThreadCpuTime() < end) {
            hash = rounds(hash);
        }
        return (int) hash;
    }

    static long rounds(long hash) {
        for (long round = 0; round < 20_000; round++) {
            hash ^= hash >>> 33;
            hash = hash * 0xff51afd7ed558ccdL + round;
        }
        return hash;
    }

    private static int nap(int part) throws InterruptedException {
        Thread.sleep(TASK_MILLIS);
        return part;
    }
}
