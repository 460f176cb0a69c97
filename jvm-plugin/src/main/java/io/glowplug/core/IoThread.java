package io.glowplug.core;

import java.nio.file.Files;
import java.util.List;
import java.util.function.Function;

/**
 * The daemon thread glowplug-io: does for the core what needs Spark, Hadoop or a disk.
 *
 * <p>It is also how another class loader's copy of these classes finds the core that runs in this JVM: a thread is what a
 * JVM lists by itself, and a {@code Function} is a type that both loaders share. (An object among the system properties
 * would be found more easily, but {@code Properties.list} and {@code store} in an application would fail over it.)
 */
final class IoThread extends Thread implements Function<Object[], Object> {
    static final String NAME = "glowplug-io";
    private static final long TAKE_MILLIS = 1_000;
    private static final int MOST_FAILURES = 3;

    private final NativeCalls calls = new NativeCalls(this);
    private volatile Function<Object[], Object> link = new LinkCalls(new UnlinkedLink());

    IoThread() {
        super(NAME);
        setDaemon(true);
        setContextClassLoader(IoThread.class.getClassLoader());
    }

    /** The running io thread of whichever class loader, or null. */
    @SuppressWarnings("unchecked")
    static Function<Object[], Object> find() {
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        while (root.getParent() != null) {
            root = root.getParent();
        }
        Thread[] threads = new Thread[root.activeCount() * 2 + 16];
        int count = root.enumerate(threads);
        for (int i = 0; i < count; i++) {
            if (NAME.equals(threads[i].getName()) && threads[i] instanceof Function) {
                return (Function<Object[], Object>) threads[i];
            }
        }
        return null;
    }

    synchronized void begin() {
        if (getState() == State.NEW) {
            start();
        }
    }

    void link(Function<Object[], Object> link) {
        this.link = link;
    }

    @Override
    public Object apply(Object[] call) {
        return calls.apply(call);
    }

    @Override
    public void run() {
        int failures = 0;
        while (failures < MOST_FAILURES) {
            try {
                byte[] work = Native.take(TAKE_MILLIS);
                failures = 0;
                if (work != null && !serve(Fields.decodeWithBlob(work))) {
                    return;
                }
            } catch (Throwable t) {
                failures++;
                warn("the io thread failed (" + failures + " of " + MOST_FAILURES + " times): " + t);
            }
        }
    }

    /** False when the thread shall end. */
    private boolean serve(Fields.Message work) {
        List<String> fields = work.fields;
        long token = Long.parseLong(fields.get(0));
        switch (fields.get(1)) {
            case "end":
                return false;
            case "log":
                link.apply(new Object[] {"log", fields.get(2), fields.get(3)});
                return true;
            case "delta":
                answer(token, new Object[] {"ask", work.blob});
                return true;
            case "file":
                answer(token, new Object[] {"write", fields.get(2), work.blob});
                return true;
            case "delete":
                answer(token, new Object[] {"delete", fields.get(2)});
                return true;
            default:
                Native.answer(token, null, "this plugin does not know work of kind " + fields.get(1));
                return true;
        }
    }

    private void answer(long token, Object[] call) {
        byte[] answer;
        try {
            answer = (byte[]) link.apply(call);
        } catch (Throwable t) {
            Native.answer(token, null, causeOf(t));
            return;
        }
        Native.answer(token, answer, null);
    }

    private static String causeOf(Throwable t) {
        return (t.getCause() == null ? t : t.getCause()).toString();
    }

    private void warn(String message) {
        try {
            link.apply(new Object[] {"log", "WARN", message});
        } catch (Throwable t) {
            System.err.println(Log.PREFIX + "WARN " + message);
        }
    }

    /** Before anyone has linked: local files and stderr, and no driver. */
    private static final class UnlinkedLink implements Link {
        private final Log log = new StderrLog();

        @Override
        public byte[] ask(byte[] delta) {
            throw new IllegalStateException("there is no way to the driver yet");
        }

        @Override
        public void write(String path, byte[] content) throws Exception {
            LocalFiles.write(LocalFiles.localPath(path), content);
        }

        @Override
        public void delete(String path) throws Exception {
            Files.deleteIfExists(LocalFiles.localPath(path));
        }

        @Override
        public void log(String level, String message) {
            log.at(level, message);
        }
    }
}
