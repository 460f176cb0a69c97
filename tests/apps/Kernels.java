import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.Deflater;

/**
 * Kernels [seconds]: a program that knows what a profile of it must say.
 *
 * <p>Busy threads run kernels in random order, each for a random 1 to 8 ms, and measure every run with their own CPU
 * clock; other threads wait, each in its own way. What lies under {@link #measured} is measured here and nothing else,
 * so a profile is compared by what it has under that frame. The truth is printed as JSON. Run it with
 * {@code -XX:CompileCommand=dontinline,Kernels.kernel*}, so that each kernel but {@link #inlinedChain} has a frame of
 * its own.
 */
public final class Kernels {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final long MILLISECOND = 1_000_000;
    private static final Object LOCK = new Object();

    /** Keeps results alive. */
    private static volatile long sink;
    private static volatile boolean ended;

    public static void main(String[] args) throws Exception {
        long seconds = args.length > 0 ? Long.parseLong(args[0]) : 20;
        // One core stays free for the JVM's own threads: what waits for a core is not what is tested.
        int busyThreads = Math.max(1, Math.min(3, Runtime.getRuntime().availableProcessors() - 1));
        ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket writer = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket reader = server.accept();

        List<Busy> busy = new ArrayList<>();
        for (int i = 0; i < busyThreads; i++) {
            busy.add(new Busy(i));
        }
        CountDownLatch held = new CountDownLatch(1);
        Waiting parked = new Waiting("waitPark", "WAITING", Kernels::waitPark);
        List<Waiting> waiting = new ArrayList<>();
        waiting.add(parked);
        waiting.add(new Waiting("waitSleep", "TIMED_WAITING", Kernels::waitSleep));
        waiting.add(new Waiting("holdLock", "TIMED_WAITING", () -> holdLock(held)));
        waiting.add(new Waiting("waitLock", "BLOCKED", () -> waitLock(held)));
        waiting.add(new Waiting("waitRead", "NATIVE", () -> waitRead(reader.getInputStream())));

        for (Busy thread : busy) {
            thread.start();
        }
        for (Busy thread : busy) {
            thread.warm.await();
        }
        for (Waiting thread : waiting) {
            thread.start();
        }
        for (Busy thread : busy) {
            thread.go.countDown();
        }
        wakeAll(parked, writer.getOutputStream(), System.nanoTime() + seconds * 1000 * MILLISECOND);
        ended = true;
        for (Thread thread : waiting) {
            LockSupport.unpark(thread);
        }
        writer.close();
        for (Thread thread : busy) {
            thread.join();
        }
        for (Thread thread : waiting) {
            thread.join();
        }
        System.out.println(truth(busy, waiting));
    }

    /** What waits is woken now and then, and waits on: a profiler that only knows threads at rest does not see that. */
    private static void wakeAll(Thread parked, OutputStream writer, long end) throws Exception {
        while (System.nanoTime() < end) {
            Thread.sleep(230);
            LockSupport.unpark(parked);
            writer.write(1);
        }
    }

    private interface Body {
        void run() throws Exception;
    }

    /** The frame under which profile and truth count. */
    private static void measured(Body body) throws Exception {
        body.run();
    }

    // --- threads that work ---

    private enum Kernel {
        kernelLoop, inlinedChain, kernelRecursion, kernelCopy, kernelDeflate, kernelThrow, kernelRegex, kernelAllocate;

        /** Does the same piece of work `count` times. */
        long run(int count, Scratch scratch) {
            switch (this) {
                case kernelLoop: return kernelLoop(count);
                case inlinedChain: return inlinedChain(count);
                case kernelRecursion: return kernelRecursion(count);
                case kernelCopy: return kernelCopy(count, scratch);
                case kernelDeflate: return kernelDeflate(count, scratch);
                case kernelThrow: return kernelThrow(count);
                case kernelRegex: return kernelRegex(count, scratch);
                default: return kernelAllocate(count, scratch);
            }
        }
    }

    private static final class Scratch {
        final Random random = new Random(1);
        final byte[] from = new byte[1 << 16];
        final byte[] to = new byte[1 << 16];
        final Deflater deflater = new Deflater();
        final Pattern pattern = Pattern.compile("([a-f]+)[0-9]{2,3}(x|y)?");
        final String text;
        final Object[] kept = new Object[64];

        Scratch() {
            StringBuilder text = new StringBuilder();
            while (text.length() < 4096) {
                text.append((char) ('a' + random.nextInt(16))).append(random.nextInt(1000));
            }
            this.text = text.toString();
            for (int i = 0; i < from.length; i++) {
                from[i] = (byte) this.text.charAt(i % 4096);
            }
        }
    }

    private static final class Busy extends Thread {
        final CountDownLatch warm = new CountDownLatch(1);
        final CountDownLatch go = new CountDownLatch(1);
        final long[] cpu = new long[Kernel.values().length];
        final long[] bytes = new long[cpu.length];
        final int[] chunks = new int[cpu.length];
        private final double[] perMillisecond = new double[cpu.length];
        private final Scratch scratch = new Scratch();
        private final Random random;
        long wall;
        long queued;

        Busy(int number) {
            super("busy-" + number);
            random = new Random(number);
        }

        @Override
        public void run() {
            try {
                warmUp();
                warm.countDown();
                go.await();
                long start = System.nanoTime();
                long waited = waitedForCore();
                measured(this::chunks);
                queued = waitedForCore() - waited;
                wall = System.nanoTime() - start;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        private void chunks() {
            while (!ended) {
                chunk(random.nextInt(cpu.length), 1 + 7 * random.nextDouble());
            }
        }

        private void chunk(int number, double milliseconds) {
            int count = Math.max(1, (int) (milliseconds * perMillisecond[number]));
            long allocated = allocatedHere();
            long start = THREADS.getCurrentThreadCpuTime();
            sink += Kernel.values()[number].run(count, scratch);
            cpu[number] += THREADS.getCurrentThreadCpuTime() - start;
            bytes[number] += allocatedHere() - allocated;
            chunks[number]++;
        }

        /** Until each kernel is compiled and its pace known. */
        private void warmUp() {
            for (int round = 0; round < 3; round++) {
                for (Kernel kernel : Kernel.values()) {
                    int count = 1;
                    long used = 0;
                    while (used < 100 * MILLISECOND) {
                        long start = THREADS.getCurrentThreadCpuTime();
                        sink += kernel.run(count, scratch);
                        used = THREADS.getCurrentThreadCpuTime() - start;
                        perMillisecond[kernel.ordinal()] = (double) count * MILLISECOND / used;
                        count *= 2;
                    }
                }
            }
        }
    }

    private static long kernelLoop(int count) {
        long state = 88172645463325252L;
        for (int i = 0; i < count * 64; i++) {
            state ^= state << 13;
            state ^= state >>> 7;
            state ^= state << 17;
        }
        return state;
    }

    /** Inlined with all that it calls; the loop is in the middle of the chain. */
    private static long inlinedChain(int count) {
        return chainTwo(count * 64, 1);
    }

    private static long chainTwo(int count, long seed) {
        long sum = seed;
        for (int i = 0; i < count; i++) {
            sum += chainThree(sum, i);
        }
        return sum;
    }

    private static long chainThree(long sum, int i) {
        return chainFour(sum * 6364136223846793005L + i);
    }

    private static long chainFour(long value) {
        return (value >>> 33) ^ Long.rotateLeft(value, 11);
    }

    private static long kernelRecursion(int count) {
        long sum = 0;
        for (int i = 0; i < count; i++) {
            sum += descend(200, i);
        }
        return sum;
    }

    private static long descend(int depth, long value) {
        if (depth > 0) {
            return descend(depth - 1, value * 31 + depth) ^ depth;
        }
        for (int i = 0; i < 400; i++) {
            value = value * 6364136223846793005L + (value >>> 29);
        }
        return value;
    }

    private static long kernelCopy(int count, Scratch scratch) {
        for (int i = 0; i < count; i++) {
            System.arraycopy(scratch.from, 0, scratch.to, i & 1023, scratch.to.length - 1024);
        }
        return scratch.to[count & 1023];
    }

    private static long kernelDeflate(int count, Scratch scratch) {
        long written = 0;
        for (int i = 0; i < count; i++) {
            scratch.deflater.reset();
            scratch.deflater.setInput(scratch.from, 0, 4096);
            scratch.deflater.finish();
            written += scratch.deflater.deflate(scratch.to);
        }
        return written;
    }

    private static long kernelThrow(int count) {
        long caught = 0;
        for (int i = 0; i < count; i++) {
            try {
                caught += thrower(i, 10);
            } catch (IllegalStateException e) {
                caught += e.getMessage().length();
            }
        }
        return caught;
    }

    private static long thrower(int i, int depth) {
        if (depth == 0) {
            throw new IllegalStateException(i % 2 == 0 ? "even" : "odd");
        }
        return thrower(i, depth - 1) + 1;
    }

    private static long kernelRegex(int count, Scratch scratch) {
        long found = 0;
        for (int i = 0; i < count; i++) {
            Matcher matcher = scratch.pattern.matcher(scratch.text);
            while (matcher.find()) {
                found += matcher.end();
            }
        }
        return found;
    }

    private static long kernelAllocate(int count, Scratch scratch) {
        for (int i = 0; i < count; i++) {
            scratch.kept[i & 63] = new long[i & 127];
            scratch.kept[(i + 7) & 63] = new Object[] {i, scratch};
        }
        return scratch.kept.length;
    }

    // --- threads that wait ---

    private static final class Waiting extends Thread {
        final String state;
        private final Body body;
        long wall;

        Waiting(String name, String state, Body body) {
            super(name);
            this.state = state;
            this.body = body;
        }

        @Override
        public void run() {
            try {
                long start = System.nanoTime();
                measured(body);
                wall = System.nanoTime() - start;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static void waitSleep() throws InterruptedException {
        Random random = new Random(2);
        while (!ended) {
            Thread.sleep(20 + random.nextInt(180));
        }
    }

    private static void waitPark() {
        while (!ended) {
            LockSupport.park();
        }
    }

    private static void holdLock(CountDownLatch held) throws InterruptedException {
        synchronized (LOCK) {
            held.countDown();
            while (!ended) {
                Thread.sleep(50);
            }
        }
    }

    private static void waitLock(CountDownLatch held) throws InterruptedException {
        held.await();
        synchronized (LOCK) {
            sink++;
        }
    }

    private static void waitRead(InputStream in) throws IOException {
        while (in.read() >= 0) {
            sink++;
        }
    }

    // --- the truth ---

    private static long allocatedHere() {
        return THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
    }

    /** Nanoseconds that this thread was ready to run and had no core; -1 where the kernel does not tell. */
    private static long waitedForCore() throws IOException {
        Path file = Paths.get("/proc/thread-self/schedstat");
        return Files.exists(file) ? Long.parseLong(new String(Files.readAllBytes(file)).split(" ")[1]) : -1;
    }

    private static String truth(List<Busy> busy, List<Waiting> waiting) {
        StringBuilder kernels = new StringBuilder();
        for (Kernel kernel : Kernel.values()) {
            int number = kernel.ordinal();
            long cpu = busy.stream().mapToLong(thread -> thread.cpu[number]).sum();
            long bytes = busy.stream().mapToLong(thread -> thread.bytes[number]).sum();
            int chunks = busy.stream().mapToInt(thread -> thread.chunks[number]).sum();
            kernels.append(String.format("%s\"%s\": {\"cpu_ns\": %d, \"bytes\": %d, \"chunks\": %d}",
                    separator(kernels), kernel, cpu, bytes, chunks));
        }
        StringBuilder threads = new StringBuilder();
        for (Waiting thread : waiting) {
            threads.append(String.format("%s\"%s\": {\"state\": \"%s\", \"wall_ns\": %d}",
                    separator(threads), thread.getName(), thread.state, thread.wall));
        }
        long wall = busy.stream().mapToLong(thread -> thread.wall).sum();
        long queued = busy.stream().mapToLong(thread -> thread.queued).sum();
        return String.format("{\"kernels\": {%s}, \"waiting\": {%s}, \"busy\": {\"threads\": %d, \"wall_ns\": %d, \"queued_ns\": %d}, "
                + "\"clock_step_ns\": %d}", kernels, threads, busy.size(), wall, queued, clockStep());
    }

    private static String separator(StringBuilder before) {
        return before.length() == 0 ? "" : ", ";
    }

    /** The smallest step of the clock that the truth is measured with. */
    private static long clockStep() {
        long smallest = Long.MAX_VALUE;
        for (int i = 0; i < 1000; i++) {
            long start = THREADS.getCurrentThreadCpuTime();
            long next = start;
            while (next == start) {
                next = THREADS.getCurrentThreadCpuTime();
            }
            smallest = Math.min(smallest, next - start);
        }
        return smallest;
    }
}
