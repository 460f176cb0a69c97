import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** ShortThreads count milliseconds: threads one after another, each of which allocates a bit, uses so much CPU and ends. Prints both as JSON. */
public final class ShortThreads {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int BUFFER_BYTES = 100_000;
    private static long used;
    private static long allocated;
    private static volatile byte[] lastBuffer;
    private static volatile long sink;

    public static void main(String[] args) throws InterruptedException {
        int count = Integer.parseInt(args[0]);
        long nanoseconds = Long.parseLong(args[1]) * 1_000_000;
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> measured(nanoseconds));
            thread.start();
            thread.join();
        }
        System.out.println("{\"cpu_ns\": " + used + ", \"bytes\": " + allocated + "}");
    }

    private static void measured(long nanoseconds) {
        lastBuffer = new byte[BUFFER_BYTES];
        long start = THREADS.getCurrentThreadCpuTime();
        long now = start;
        while (now - start < nanoseconds) {
            for (int i = 0; i < 5_000; i++) {
                sink = sink * 31 + i;
            }
            now = THREADS.getCurrentThreadCpuTime();
        }
        used += now - start;
        allocated += THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
    }
}
