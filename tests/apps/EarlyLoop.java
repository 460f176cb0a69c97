import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/** 5 s of CPU before there is a SparkContext, and 1 s in its only job. */
public final class EarlyLoop {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    public static void main(String[] arguments) {
        System.out.println(beforeTheContext(1));
        JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("early loop"));
        System.out.println(context.parallelize(Arrays.asList(1, 2), 2).map(EarlyLoop::inTheJob).collect());
        context.stop();
    }

    static int beforeTheContext(int value) {
        return spin(5_000_000_000L, value);
    }

    static int inTheJob(int part) {
        return spin(500_000_000L, part);
    }

    private static int spin(long nanoseconds, int value) {
        long end = cpuTime() + nanoseconds;
        long rounds = 1;
        while (cpuTime() < end) {
            for (int round = 0; round < 100_000; round++) {
                rounds = rounds * 0xff51afd7ed558ccdL + round;
            }
        }
        return rounds == 0 ? 0 : value;
    }

    private static long cpuTime() {
        return THREADS.getCurrentThreadCpuTime();
    }
}
