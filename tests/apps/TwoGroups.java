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
 * Two job groups at once, each with one stage of 6 s of CPU in one method, in turns on the same task threads; meanwhile the
 * driver's main thread is busy, and afterwards nobody is. Each task that hashes allocates 64 MiB first.
 *
 * <p>Loops count with a long: before JDK 10 one that counts with an int has no safepoint inside, and a profiler that walks stacks
 * at safepoints would see the caller.
 */
public final class TwoGroups {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final int TASKS = 12;
    private static final long TASK_CPU = 500_000_000L;
    private static final long DRIVER_CPU = 1_500_000_000L;
    private static final int BUFFERS = 1024;
    private static final int BUFFER_BYTES = 64 * 1024;

    /** Keeps the compiler from doing without the buffers. */
    private static volatile byte[] lastBuffer;

    public static void main(String[] arguments) throws Exception {
        JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("two groups"));
        ExecutorService groups = Executors.newFixedThreadPool(2);
        Future<List<String>> hashing = groups.submit(group(context, "hashing", "blue", TwoGroups::hash));
        Future<List<String>> counting = groups.submit(group(context, "counting", "green", TwoGroups::count));
        planNextQuarter();
        System.out.println(hashing.get());
        System.out.println(counting.get());
        groups.shutdown();
        Thread.sleep(1_000);
        context.stop();
    }

    private static Callable<List<String>> group(JavaSparkContext context, String name, String team, Function<Integer, String> task) {
        List<Integer> parts = new ArrayList<>();
        for (int part = 0; part < TASKS; part++) {
            parts.add(part);
        }
        return () -> {
            context.setJobGroup(name, "the " + name + " job");
            context.setLocalProperty("spark.glowplug.label.team", team);
            // With a pool for each, both groups have tasks on every task thread.
            context.setLocalProperty("spark.scheduler.pool", name);
            return context.parallelize(parts, TASKS).map(task).collect();
        };
    }

    private static String hash(int part) {
        long end = cpuTime() + TASK_CPU;
        allocateBuffers();
        long hash = part;
        while (cpuTime() < end) {
            hash = hashRounds(hash);
        }
        return "hash " + part;
    }

    private static String count(int part) {
        long end = cpuTime() + TASK_CPU;
        int primes = 0;
        while (cpuTime() < end) {
            primes += countPrimes(2_000);
        }
        return "count " + (primes > 0 ? part : -1);
    }

    static void allocateBuffers() {
        for (long buffer = 0; buffer < BUFFERS; buffer++) {
            lastBuffer = new byte[BUFFER_BYTES];
        }
    }

    private static void planNextQuarter() {
        long end = cpuTime() + DRIVER_CPU;
        while (cpuTime() < end) {
            hashRounds(end);
        }
    }

    static long hashRounds(long hash) {
        for (long round = 0; round < 100_000; round++) {
            hash ^= hash >>> 33;
            hash = hash * 0xff51afd7ed558ccdL + round;
        }
        return hash;
    }

    static int countPrimes(int limit) {
        int primes = 0;
        for (int number = 2; number < limit; number++) {
            int divisor = 2;
            while (divisor * divisor <= number && number % divisor != 0) {
                divisor++;
            }
            primes += divisor * divisor > number ? 1 : 0;
        }
        return primes;
    }

    private static long cpuTime() {
        return THREADS.getCurrentThreadCpuTime();
    }
}
