import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongUnaryOperator;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/**
 * Hostile seconds: everything at once that makes a stack hard to walk. Threads and classes that come and go, compiled
 * code that is thrown away, stacks that overflow, exceptions from the depths, native code, locks, memory that runs out,
 * children. Each part knows what it must compute; one line says that all results were right.
 */
public final class Hostile {
    private static final long MILLISECOND = 1_000_000L;
    private static final AtomicReference<Throwable> FAILURE = new AtomicReference<>();
    private static final int FEATURE = feature();
    private static long end;
    private static volatile Object kept;

    public static void main(String[] args) throws Exception {
        end = System.nanoTime() + Long.parseLong(args[0]) * 1000 * MILLISECOND;
        List<Thread> threads = new ArrayList<>();
        Part[] parts = {Hostile::shortThreads, Hostile::shortLivedClasses, Hostile::overflows, Hostile::throwsFromTheDepths,
            Hostile::nativeCode, Hostile::reflection, Hostile::sockets, Hostile::locks, Hostile::memoryThatRunsOut, Hostile::children,
            Hostile::virtualThreads};
        for (Part part : parts) {
            Thread thread = new Thread(() -> untilTheEnd(part), "hostile");
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (FAILURE.get() != null) {
            FAILURE.get().printStackTrace();
            System.exit(1);
        }
        System.out.println("hostile: all results are right");
    }

    private interface Part {
        void round(Random random) throws Throwable;
    }

    private static void untilTheEnd(Part part) {
        Random random = new Random(7);
        try {
            do {
                part.round(random);
            } while (System.nanoTime() < end && FAILURE.get() == null);
        } catch (Throwable failure) {
            FAILURE.compareAndSet(null, failure);
        }
    }

    private static void check(long found, long expected) {
        if (found != expected) {
            throw new AssertionError("found " + found + ", expected " + expected);
        }
    }

    private static long mixed(long value, int rounds) {
        return resumed(value, 0, rounds);
    }

    // --- threads ---

    private static void shortThreads(Random random) throws InterruptedException {
        AtomicLong sum = new AtomicLong();
        Thread[] threads = new Thread[40];
        long expected = 0;
        for (int i = 0; i < threads.length; i++) {
            long seed = random.nextLong();
            int rounds = 1 << random.nextInt(18);
            expected += mixed(seed, rounds);
            // Small stacks are near their guard pages all the time.
            threads[i] = new Thread(null, () -> sum.addAndGet(mixed(seed, rounds)), "short-" + i, i % 2 == 0 ? 256 << 10 : 0);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        check(sum.get(), expected);
    }

    private static void virtualThreads(Random random) throws Throwable {
        if (FEATURE < 21) {
            Thread.sleep(50);
            return;
        }
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        AtomicLong sum = new AtomicLong();
        Thread[] threads = new Thread[200];
        long expected = 0;
        Object lock = new Object();
        for (int i = 0; i < threads.length; i++) {
            long seed = random.nextLong();
            expected += mixed(seed, 3000);
            threads[i] = (Thread) start.invoke(null, (Runnable) () -> sum.addAndGet(mountAndUnmount(seed, lock, 20)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        check(sum.get(), expected);
    }

    /** Yields, sleeps and blocks at some depth. */
    private static long mountAndUnmount(long seed, Object lock, int depth) {
        if (depth > 0) {
            return mountAndUnmount(seed, lock, depth - 1);
        }
        long value = mixed(seed, 1000);
        Thread.yield();
        value = resumed(value, 1000, 1000);
        synchronized (lock) {
            value = resumed(value, 2000, 500);
        }
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return resumed(value, 2500, 500);
    }

    /** Goes on with {@link #mixed} from a round on. */
    private static long resumed(long value, int from, int rounds) {
        for (int i = from; i < from + rounds; i++) {
            value = (value ^ value >>> 31) * 0x7fb5d329728ea185L + i;
        }
        return value;
    }

    // --- classes ---

    /** Defined again and again from its bytes; negative values are rare, so that compiled code is thrown away. */
    public static final class Throwaway0 implements LongUnaryOperator {
        @Override
        public long applyAsLong(long value) {
            long result = value;
            for (int i = 0; i < 50; i++) {
                result = (result ^ result >>> 31) * 0x7fb5d329728ea185L + i;
            }
            if (value < 0) {
                Object boxed = result;
                return boxed.hashCode() == (int) (result ^ result >>> 32) ? result + 1 : 0;
            }
            return result;
        }
    }

    private static final class ThrowawayLoader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    private static final byte[] BYTES = bytesOf("Hostile$Throwaway0");

    private static void shortLivedClasses(Random random) throws Throwable {
        byte[] bytes = renamed(BYTES, (char) ('0' + random.nextInt(10)));
        List<LongUnaryOperator> operators = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            operators.add(instance(new ThrowawayLoader().define(bytes)));
            Class<?> nameless = nameless();
            operators.add(instance(nameless == null ? new ThrowawayLoader().define(bytes) : nameless));
        }
        for (LongUnaryOperator operator : operators) {
            // Long enough for both compilers, then through the branch that they left out.
            for (int i = 0; i < 6_000; i++) {
                long value = random.nextLong() >>> 1;
                check(operator.applyAsLong(value), mixed(value, 50));
            }
            for (int i = 0; i < 20; i++) {
                long value = random.nextLong() | Long.MIN_VALUE;
                check(operator.applyAsLong(value), mixed(value, 50) + 1);
            }
        }
        // Each lambda here is a class of its own to its call site.
        LongUnaryOperator chain = operators.get(0).andThen(operators.get(1)).compose(value -> value >>> 1);
        check(chain.applyAsLong(-2) == 0 ? 1 : 0, 0);
        if (random.nextInt(4) == 0) {
            System.gc();
        }
    }

    private static LongUnaryOperator instance(Class<?> type) throws ReflectiveOperationException {
        return (LongUnaryOperator) type.getDeclaredConstructor().newInstance();
    }

    /** A hidden class, an anonymous one before there were those, null where neither is to be had. */
    private static Class<?> nameless() throws Throwable {
        if (FEATURE >= 15) {
            Class<?> option = Class.forName("java.lang.invoke.MethodHandles$Lookup$ClassOption");
            Method define = MethodHandles.Lookup.class.getMethod("defineHiddenClass", byte[].class, boolean.class,
                    java.lang.reflect.Array.newInstance(option, 0).getClass());
            MethodHandles.Lookup hidden = (MethodHandles.Lookup) define.invoke(MethodHandles.lookup(), BYTES, true,
                    java.lang.reflect.Array.newInstance(option, 0));
            return hidden.lookupClass();
        }
        if (FEATURE > 8) {
            return null;
        }
        Class<?> unsafe = Class.forName("sun.misc.Unsafe");
        Field field = unsafe.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (Class<?>) unsafe.getMethod("defineAnonymousClass", Class.class, byte[].class, Object[].class)
                .invoke(field.get(null), Hostile.class, BYTES, null);
    }

    private static byte[] bytesOf(String name) {
        try (InputStream in = Hostile.class.getResourceAsStream(name + ".class")) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            byte[] buffer = new byte[4096];
            for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                out.write(buffer, 0, count);
            }
            return out.toByteArray();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static byte[] renamed(byte[] bytes, char digit) {
        return new String(bytes, StandardCharsets.ISO_8859_1).replace("Throwaway0", "Throwaway" + digit)
                .getBytes(StandardCharsets.ISO_8859_1);
    }

    // --- stacks ---

    private static void overflows(Random random) throws InterruptedException {
        AtomicLong depth = new AtomicLong();
        int kind = random.nextInt(4);
        Thread thread = new Thread(null, () -> depth.set(overflow(kind)), "overflow", (256 + random.nextInt(512)) << 10);
        thread.start();
        thread.join();
        check(depth.get() > 100 ? 1 : 0, 1);
        check(overflow(kind) > 100 ? 1 : 0, 1);
        check(descend(300, 5), descend(300, 5));
    }

    private static int overflow(int kind) {
        int[] depth = new int[1];
        byte[] bytes = new byte[64];
        try {
            kept = descendForEver(depth, kind, bytes, 0.5);
        } catch (StackOverflowError expected) {
            return depth[0];
        }
        throw new AssertionError("a stack without an end");
    }

    /** Ends in Java code, in an allocation, in an array copy, in a native method or in one of the JVM's own functions. */
    private static double descendForEver(int[] depth, int kind, byte[] bytes, double value) {
        depth[0]++;
        switch (kind) {
            case 0:
                return descendForEver(depth, kind, bytes, value * 0.5) + 1;
            case 1:
                return descendForEver(depth, kind, new byte[64 + (depth[0] & 63)], value) + bytes.length;
            case 2:
                System.arraycopy(bytes, 0, bytes, depth[0] & 7, 32);
                return descendForEver(depth, kind, bytes, value) + bytes[5];
            default:
                return descendForEver(depth, kind, bytes, Math.sin(value) + Thread.currentThread().getPriority()) + Math.pow(value, 0.3);
        }
    }

    private static long descend(int depth, long value) {
        return depth == 0 ? mixed(value, 100) : descend(depth - 1, value * 31 + depth) ^ depth;
    }

    // --- exceptions ---

    private static void throwsFromTheDepths(Random random) {
        int[] finallys = new int[1];
        int caught = 0;
        for (int i = 0; i < 200; i++) {
            int kind = random.nextInt(6);
            try {
                thrower(60, kind, finallys);
            } catch (ArithmeticException | ArrayIndexOutOfBoundsException | ClassCastException | NullPointerException
                    | NegativeArraySizeException | IllegalStateException e) {
                check(kindOf(e), kind);
                caught += e.getStackTrace().length > 60 || e.getStackTrace().length == 0 ? 1 : 0;
            }
        }
        check(caught, 200);
        check(finallys[0], 200 * 60);
    }

    private static int thrower(int depth, int kind, int[] finallys) {
        if (depth > 0) {
            try {
                return thrower(depth - 1, kind, finallys) + depth;
            } finally {
                finallys[0]++;
            }
        }
        Object text = kind == 3 ? null : "text";
        switch (kind) {
            case 0:
                return 1 / (kind * finallys.length);
            case 1:
                return finallys[kind];
            case 2:
                return ((Integer) text).intValue();
            case 3:
                return text.hashCode();
            case 4:
                return new int[kind - 5].length;
            default:
                throw new IllegalStateException();
        }
    }

    private static int kindOf(RuntimeException e) {
        return Arrays.<Class<?>>asList(ArithmeticException.class, ArrayIndexOutOfBoundsException.class, ClassCastException.class,
                NullPointerException.class, NegativeArraySizeException.class, IllegalStateException.class).indexOf(e.getClass());
    }

    // --- native code ---

    private static void nativeCode(Random random) throws Exception {
        byte[] text = new byte[20_000 + random.nextInt(20_000)];
        for (int i = 0; i < text.length; i++) {
            text[i] = (byte) ('a' + random.nextInt(6));
        }
        check(Arrays.equals(inflated(deflated(text), text.length), text) ? 1 : 0, 1);
        check(Arrays.equals(unzipped(zipped(text)), text) ? 1 : 0, 1);
        CRC32 crc = new CRC32();
        crc.update(text, 0, text.length);
        check(crc.getValue(), crcByHand(text));
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] whole = digest.digest(text);
        digest.update(text, 0, 777);
        digest.update(text, 777, text.length - 777);
        check(Arrays.equals(digest.digest(), whole) ? 1 : 0, 1);
        String string = new String(text, StandardCharsets.ISO_8859_1);
        int matches = 0;
        for (java.util.regex.Matcher matcher = A_RUN.matcher(string); matcher.find();) {
            matches += matcher.end() - matcher.start();
        }
        check(matches, string.chars().filter(letter -> letter != 'f').count());
        byte[] sorted = text.clone();
        Arrays.sort(sorted);
        long sum = 0;
        for (byte letter : sorted) {
            sum += letter;
        }
        check(sum, string.chars().sum());
        double product = 1;
        for (int i = 1; i < 2000; i++) {
            product *= Math.exp(Math.log(i)) / i + Math.sin(0) - Math.pow(0, i);
        }
        check(Math.round(product), 1);
    }

    private static final Pattern A_RUN = Pattern.compile("([a-b]+|[c-e]+)");

    private static byte[] deflated(byte[] text) {
        Deflater deflater = new Deflater();
        deflater.setInput(text);
        deflater.finish();
        byte[] out = new byte[text.length + 100];
        int length = deflater.deflate(out);
        deflater.end();
        return Arrays.copyOf(out, length);
    }

    private static byte[] inflated(byte[] deflated, int length) throws Exception {
        Inflater inflater = new Inflater();
        inflater.setInput(deflated);
        byte[] out = new byte[length];
        check(inflater.inflate(out), length);
        inflater.end();
        return out;
    }

    private static byte[] zipped(byte[] text) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(out)) {
            zip.putNextEntry(new ZipEntry("text"));
            zip.write(text);
        }
        return out.toByteArray();
    }

    private static byte[] unzipped(byte[] archive) throws IOException {
        try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(archive))) {
            check(zip.getNextEntry().getName().length(), 4);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            byte[] buffer = new byte[1000];
            for (int count = zip.read(buffer); count >= 0; count = zip.read(buffer)) {
                out.write(buffer, 0, count);
            }
            return out.toByteArray();
        }
    }

    private static long crcByHand(byte[] bytes) {
        int crc = -1;
        for (byte next : bytes) {
            crc ^= next & 0xff;
            for (int bit = 0; bit < 8; bit++) {
                crc = crc >>> 1 ^ (0xedb88320 & -(crc & 1));
            }
        }
        return ~crc & 0xffffffffL;
    }

    // --- calls by other ways ---

    /** Public, so that a fresh Method makes a fresh accessor. */
    public static long target(long value) {
        if (value == Long.MIN_VALUE) {
            throw new IllegalArgumentException("the smallest");
        }
        return mixed(value, 10);
    }

    private static void reflection(Random random) throws Throwable {
        Method method = Hostile.class.getMethod("target", long.class);
        MethodHandle handle = MethodHandles.lookup().findStatic(Hostile.class, "target", MethodType.methodType(long.class, long.class));
        MethodHandle dropping = MethodHandles.dropArguments(MethodHandles.filterReturnValue(handle, handle), random.nextInt(2), String.class);
        LongUnaryOperator proxy = (LongUnaryOperator) Proxy.newProxyInstance(Hostile.class.getClassLoader(),
                new Class<?>[] {LongUnaryOperator.class}, (self, called, arguments) -> method.invoke(null, arguments));
        for (int i = 0; i < 500; i++) {
            long value = random.nextInt();
            long expected = mixed(value, 10);
            check((Long) method.invoke(null, value), expected);
            check((long) handle.invokeExact(value), expected);
            check(proxy.applyAsLong(value), expected);
            Object[] arguments = dropping.type().parameterType(0) == String.class ? new Object[] {"", value} : new Object[] {value, ""};
            check((Long) dropping.invokeWithArguments(arguments), mixed(expected, 10));
        }
        try {
            method.invoke(null, Long.MIN_VALUE);
            throw new AssertionError("nothing was thrown");
        } catch (InvocationTargetException e) {
            check(e.getCause().getMessage().length(), "the smallest".length());
        }
    }

    // --- sockets ---

    private static void sockets(Random random) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread echo = new Thread(() -> {
                try (Socket socket = server.accept()) {
                    DataInputStream in = new DataInputStream(socket.getInputStream());
                    DataOutputStream out = new DataOutputStream(socket.getOutputStream());
                    for (int i = 0; i < 200; i++) {
                        out.writeLong(mixed(in.readLong(), 100));
                    }
                } catch (IOException e) {
                    FAILURE.compareAndSet(null, e);
                }
            }, "echo");
            echo.start();
            try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
                DataInputStream in = new DataInputStream(socket.getInputStream());
                DataOutputStream out = new DataOutputStream(socket.getOutputStream());
                for (int i = 0; i < 200; i++) {
                    long value = random.nextLong();
                    out.writeLong(value);
                    check(in.readLong(), mixed(value, 100));
                }
            }
            echo.join();
        }
    }

    // --- locks ---

    private static final class Counter {
        private long count;

        synchronized void add() {
            count++;
        }
    }

    private static void locks(Random random) throws InterruptedException {
        // Locked by one thread alone first: where locks are biased, the others revoke that, in bulk.
        Counter[] counters = new Counter[500];
        Arrays.setAll(counters, i -> new Counter());
        for (Counter counter : counters) {
            counter.add();
        }
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                for (int round = 0; round < 20; round++) {
                    for (Counter counter : counters) {
                        synchronized (counter) {
                            counter.add();
                            kept = number == 0 && round % 8 == 0 ? System.identityHashCode(counter) : null;
                        }
                    }
                    Thread.yield();
                }
            }, "locker");
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        long sum = 0;
        for (Counter counter : counters) {
            sum += counter.count;
        }
        check(sum, 500 + 4 * 20 * 500);
    }

    // --- memory ---

    private static void memoryThatRunsOut(Random random) throws InterruptedException {
        long[][] arrays = new long[16][];
        for (int i = 0; i < arrays.length; i++) {
            arrays[i] = new long[1 << 8 + random.nextInt(8)];
            Arrays.fill(arrays[i], mixed(i, 5));
        }
        check(outOfMemory(random.nextBoolean() ? Integer.MAX_VALUE : 300_000_000) ? 1 : 0, 1);
        if (random.nextInt(3) == 0) {
            System.gc();
        }
        for (int i = 0; i < arrays.length; i++) {
            long first = mixed(i, 5);
            for (long value : arrays[i]) {
                check(value, first);
            }
        }
        Thread.sleep(100);
    }

    private static boolean outOfMemory(int length) {
        try {
            kept = new long[length];
            kept = null;
            return false;
        } catch (OutOfMemoryError expected) {
            return true;
        }
    }

    private static void children(Random random) throws Exception {
        int code = random.nextInt(100);
        Process child = new ProcessBuilder("sh", "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; exit " + code).start();
        check(child.waitFor(), code);
        Thread.sleep(50);
    }

    private static int feature() {
        String version = System.getProperty("java.specification.version");
        return Integer.parseInt(version.startsWith("1.") ? version.substring(2) : version);
    }
}
