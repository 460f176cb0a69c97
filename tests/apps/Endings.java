import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/** A small job, after which main ends as its argument says: "exit", "no-stop" or "throw". */
public final class Endings {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    public static void main(String[] arguments) {
        JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("endings"));
        System.out.println(context.parallelize(Arrays.asList(1, 2), 2).map(Endings::work).collect());
        if (arguments[0].equals("exit")) {
            System.exit(3);
        }
        if (arguments[0].equals("throw")) {
            throw new IllegalStateException("planned");
        }
    }

    static int work(int part) {
        long end = cpuTime() + 700_000_000;
        double value = part;
        while (cpuTime() < end) {
            for (int round = 0; round < 10_000; round++) {
                value = Math.sqrt(value + round);
            }
        }
        return value > 0 ? part : 0;
    }

    private static long cpuTime() {
        return THREADS.getCurrentThreadCpuTime();
    }
}
