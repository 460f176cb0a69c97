package io.glowplug.core;

import java.util.function.BooleanSupplier;
import java.util.function.Function;

/** {@link Native} behind one JDK type: the border between two class loaders that share one core. */
final class NativeCalls implements Function<Object[], Object> {
    private final IoThread io;
    private final ExitHook exit = new ExitHook();

    NativeCalls(IoThread io) {
        this.io = io;
    }

    @Override
    @SuppressWarnings("unchecked")
    public Object apply(Object[] call) {
        switch ((String) call[0]) {
            case "taskStart":
                Native.taskStart((Long) call[1], (byte[]) call[2]);
                return null;
            case "taskEnd":
                Native.taskEnd();
                return null;
            case "event":
                Native.event((Integer) call[1], (byte[]) call[2]);
                return null;
            case "ingest":
                return Native.ingest((Integer) call[1], (String) call[2], (byte[]) call[3]);
            case "buildId":
                return Native.buildId();
            case "start":
                io.begin();
                return Native.start((byte[]) call[1], (byte[]) call[2]);
            case "openApplication":
                return Native.openApplication((byte[]) call[1]);
            case "flush":
                return Native.flush((Long) call[1]);
            case "closeApplication":
                return Native.closeApplication((Integer) call[1], (Long) call[2]);
            case "command":
                return Native.command((byte[]) call[1]);
            case "injectPanic":
                Native.injectPanic((String) call[1]);
                return null;
            case "link":
                io.link((Function<Object[], Object>) call[1]);
                return null;
            case "onExit":
                exit.before((BooleanSupplier) call[1]);
                return null;
            default:
                throw new IllegalArgumentException("no core call " + call[0]);
        }
    }
}
