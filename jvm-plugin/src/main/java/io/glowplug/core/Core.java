package io.glowplug.core;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.CodeSource;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/**
 * The one core of this JVM, as the rest of the plugin sees it.
 *
 * <p>A JVM refuses one library file in two class loaders, and a second copy of it would be a second profiler. So the first
 * class loader to come loads it and leaves {@link #MARK}; a second one with the same build calls through the first
 * one's io thread, and another build stays off.
 */
public final class Core {
    /** System property: build id, class loader and process of the core that runs in this JVM. */
    static final String MARK = "io.glowplug.core";

    private static final long OTHER_LOADER_WAIT_MILLIS = 2_000;

    private static Core opened;
    private static String failure;

    private final Function<Object[], Object> calls;
    private final String library;
    private volatile boolean running;

    private Core(Function<Object[], Object> calls, String library) {
        this.calls = calls;
        this.library = library;
    }

    /** Loads the core, or finds the one that runs. {@code nativeDir} and {@code sparkLocalDir} may be empty. */
    public static synchronized Core open(String nativeDir, String sparkLocalDir, Log log) throws CoreUnavailable {
        if (opened != null) {
            return opened;
        }
        if (failure != null) {
            throw new CoreUnavailable(failure, true);
        }
        try {
            opened = find(new NativeLibrary(new Host(), nativeDir, sparkLocalDir), log);
            return opened;
        } catch (CoreUnavailable e) {
            failure = e.getMessage();
            throw e;
        }
    }

    /** The core that this class loader has opened, or null. */
    public static synchronized Core opened() {
        return opened;
    }

    /** A core behind any set of calls. */
    public static Core over(Function<Object[], Object> calls) {
        return new Core(calls, "");
    }

    /** Path of the jar that this class came from, or "". */
    public static String jar() {
        CodeSource source = Core.class.getProtectionDomain().getCodeSource();
        return source == null || source.getLocation() == null ? "" : source.getLocation().getPath();
    }

    /** Where the library was loaded from, or "" when another class loader has loaded it. */
    public String library() {
        return library;
    }

    /** What the last {@link #start} said. */
    public boolean running() {
        return running;
    }

    public String buildId() {
        return (String) calls.apply(new Object[] {"buildId"});
    }

    /** Starts the session of this JVM, or takes it over. */
    public Started start(List<String> process, List<String> settings) {
        Started started = new Started(pairs("start", Fields.encode(process), Fields.encode(settings)));
        running = started.running;
        return started;
    }

    public int openApplication(List<String> application) {
        return (Integer) call("openApplication", Fields.encode(application));
    }

    public void event(int application, byte[] fields) {
        call("event", application, fields);
    }

    /** The raw answer to a raw delta, or null. */
    public byte[] ingest(int application, String executorId, byte[] delta) {
        return (byte[]) call("ingest", application, executorId, delta);
    }

    public void taskStart(long taskId, byte[] labels) {
        call("taskStart", taskId, labels);
    }

    public void taskEnd() {
        call("taskEnd");
    }

    /** Returns when the last delta is acknowledged, or the time is over; with the {@code log.*} pairs of the end. */
    public List<String> flush(long millis) {
        return pairs("flush", millis);
    }

    /** The {@code log.*} pairs of the end. */
    public List<String> closeApplication(int application, long millis) {
        return pairs("closeApplication", application, millis);
    }

    /** The pairs exit, stdout and stderr. */
    public List<String> command(List<String> arguments) {
        return pairs("command", (Object) Fields.encode(arguments));
    }

    public void injectPanic(String where) {
        call("injectPanic", where);
    }

    /** From now on the io thread uses this link. */
    public void link(Link link) {
        call("link", new LinkCalls(link));
    }

    /**
     * What the JVM does on its way out before the session's threads stop; it replaces what was set. {@code work} returns false
     * when the core is still in use.
     */
    public void onExit(BooleanSupplier work) {
        call("onExit", work);
    }

    private static Core find(NativeLibrary library, Log log) throws CoreUnavailable {
        Properties system = System.getProperties();
        String process = processName();
        String inherited = system.getProperty(MARK);
        if (inherited != null && !inherited.endsWith(process)) {
            // A program that hands its system properties on to a child JVM hands on the mark too.
            system.remove(MARK, inherited);
        }
        if (system.putIfAbsent(MARK, "loading in " + process) != null) {
            return joined(library, system);
        }
        try {
            Core core = loaded(library, log);
            system.put(MARK, core.buildId() + " of " + loaderName() + " in " + process);
            return core;
        } catch (CoreUnavailable | RuntimeException | Error e) {
            system.remove(MARK);
            throw e;
        }
    }

    private static Core loaded(NativeLibrary library, Log log) throws CoreUnavailable {
        Path path = library.load();
        if (!library.skipped().isEmpty()) {
            String skipped = String.join("; ", library.skipped());
            log.warn("the native library is loaded from " + path + "; passed over: " + skipped, null);
        }
        return new Core(new IoThread(), path.toString());
    }

    private static Core joined(NativeLibrary library, Properties system) throws CoreUnavailable {
        long end = System.nanoTime() + OTHER_LOADER_WAIT_MILLIS * 1_000_000;
        Function<Object[], Object> calls = IoThread.find();
        while (calls == null && System.nanoTime() < end) {
            sleep();
            calls = IoThread.find();
        }
        String theirs = system.getProperty(MARK, "");
        if (calls == null) {
            throw new CoreUnavailable("another class loader has Glowplug in this JVM, but it cannot be reached: " + theirs);
        }
        String running = (String) calls.apply(new Object[] {"buildId"});
        String ours = library.buildInJar();
        if (!ours.equals(running)) {
            throw new CoreUnavailable("another build of Glowplug runs in this JVM: " + theirs + ", while this jar (" + jar()
                    + ") is build " + ours + ". Keep one of the two jars");
        }
        return new Core(calls, "");
    }

    private static void sleep() {
        try {
            Thread.sleep(10);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String processName() throws CoreUnavailable {
        try {
            return "process " + Files.readSymbolicLink(Paths.get("/proc/self"));
        } catch (IOException e) {
            throw new CoreUnavailable("/proc is not readable: " + e);
        }
    }

    private static String loaderName() {
        ClassLoader loader = Core.class.getClassLoader();
        return loader.getClass().getName() + "@" + Integer.toHexString(System.identityHashCode(loader));
    }

    private List<String> pairs(String name, Object... arguments) {
        byte[] pairs = (byte[]) call(name, arguments);
        return pairs == null ? Collections.emptyList() : Fields.decode(pairs);
    }

    private Object call(String name, Object... arguments) {
        Object[] call = new Object[arguments.length + 1];
        call[0] = name;
        System.arraycopy(arguments, 0, call, 1, arguments.length);
        return calls.apply(call);
    }
}
