package io.glowplug.spark;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import io.glowplug.core.Core;
import io.glowplug.core.Fields;
import io.glowplug.core.Guard;
import io.glowplug.core.Log;
import io.glowplug.core.NativeError;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.SparkConf;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.scheduler.SparkListenerInterface;
import org.junit.Test;

public class NothingLeavesThePluginTest {
    private final RecordingLog log = new RecordingLog();

    @Test
    public void noMethodOfTheDriverHalfThrowsWhatTheCoreThrows() throws Exception {
        for (Throwable thrown : failures()) {
            callAll(DriverPlugin.class, new DriverHalf(new FailingSource(thrown), log));
        }
    }

    @Test
    public void noMethodOfTheExecutorHalfThrowsWhatTheCoreThrows() throws Exception {
        for (Throwable thrown : failures()) {
            callAll(ExecutorPlugin.class, new ExecutorHalf(new FailingSource(thrown), log));
        }
    }

    @Test
    public void noMethodOfARunningExecutorHalfThrowsWhatTheCoreThrows() throws Exception {
        for (Throwable thrown : failures()) {
            ExecutorHalf half = new ExecutorHalf(new FailingSource(thrown, "start", "link", "onExit"), log);
            half.init(context("7"), Collections.emptyMap());
            log.places.clear();
            callAll(ExecutorPlugin.class, half);
            assertTrue(log.places.toString(), log.places.toString().contains("executor.onTaskSucceeded failed"));
            assertTrue(log.places.toString(), log.places.toString().contains("executor.shutdown failed"));
        }
    }

    @Test
    public void aListenerCallbackNeverThrows() throws Exception {
        for (Throwable thrown : failures()) {
            callAll(SparkListenerInterface.class, new Listener(new FailingSource(thrown).opened(), new Guard(log)));
        }
    }

    @Test
    public void whatFailsIsSaidOncePerPlace() {
        ExecutorHalf half = new ExecutorHalf(new FailingSource(new NativeError("panicked")), log);
        half.init(context("7"), Collections.emptyMap());
        half.init(context("7"), Collections.emptyMap());
        assertEquals(1, log.places.size());
        assertTrue(log.places.get(0), log.places.get(0).startsWith("executor.init failed, and the job runs on without it: "));
    }

    @Test
    public void whatIsThrownWhereOnlyAClusterCallsIsSaidOnceAndReachesNobody() {
        System.setProperty("GLOWPLUG_TEST_THROW", "driver.receive,listener.onExecutorRemoved");
        try {
            DriverHalf driver = new DriverHalf(new FailingSource(new NativeError("not reached")), log);
            Listener listener = new Listener(Core.over(call -> null), new Guard(log));
            for (int i = 0; i < 2; i++) {
                assertNull(driver.receive(Fields.encodeWithBlob(Arrays.asList("delta", "7"), new byte[] {1})));
                listener.onExecutorRemoved(null);
            }
        } finally {
            System.clearProperty("GLOWPLUG_TEST_THROW");
        }
        assertEquals(
                Arrays.asList(
                        "driver.receive failed, and the job runs on without it: "
                                + "java.lang.NoSuchMethodError: GLOWPLUG_TEST_THROW=driver.receive",
                        "listener.onExecutorRemoved failed, and the job runs on without it: "
                                + "java.lang.NoSuchMethodError: GLOWPLUG_TEST_THROW=listener.onExecutorRemoved"),
                log.places);
    }

    @Test
    public void theDriverAnswersNothingToWhatIsNotADelta() {
        DriverHalf half = new DriverHalf(new FailingSource(new NativeError("not reached")), log);
        byte[] other = Fields.encodeWithBlob(Arrays.asList("other"), new byte[0]);
        for (Object message : Arrays.asList("text", new byte[] {1}, other)) {
            assertNull(half.receive(message));
        }
        assertEquals(Collections.emptyList(), log.places);
    }

    private static List<Throwable> failures() {
        return Arrays.asList(new NativeError("panicked"), new UnsatisfiedLinkError("buildId"), new NoSuchMethodError("m"),
                new OutOfMemoryError("test"), new StackOverflowError(), new InterruptedException("test"), new Exception("checked"));
    }

    private static void callAll(Class<?> type, Object target) throws Exception {
        for (Method method : type.getMethods()) {
            try {
                method.invoke(target, argumentsFor(method));
            } catch (InvocationTargetException e) {
                throw new AssertionError(method + " let out " + e.getCause(), e);
            }
            Thread.interrupted();
        }
    }

    private static Object[] argumentsFor(Method method) {
        Object[] arguments = new Object[method.getParameterCount()];
        for (int i = 0; i < arguments.length; i++) {
            Class<?> type = method.getParameterTypes()[i];
            if (type == PluginContext.class) {
                arguments[i] = context("7");
            } else if (type == Map.class) {
                arguments[i] = Collections.emptyMap();
            } else if (type == Object.class) {
                arguments[i] = Fields.encodeWithBlob(Arrays.asList("delta", "7"), new byte[] {1});
            }
        }
        return arguments;
    }

    private static PluginContext context(String executorId) {
        return (PluginContext) Proxy.newProxyInstance(
                PluginContext.class.getClassLoader(), new Class<?>[] {PluginContext.class}, (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "conf":
                            return new SparkConf(false);
                        case "executorID":
                            return executorId;
                        default:
                            throw new NullPointerException(method.getName());
                    }
                });
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> RuntimeException sneaky(Throwable thrown) throws T {
        throw (T) thrown;
    }

    /** Opens cores of which every call throws but the named ones. */
    private static final class FailingSource implements CoreSource {
        private final Function<Object[], Object> calls;

        FailingSource(Throwable thrown, String... works) {
            calls = call -> {
                if (Arrays.asList(works).contains(call[0])) {
                    return Fields.encode("running", "true");
                }
                throw NothingLeavesThePluginTest.<RuntimeException>sneaky(thrown);
            };
        }

        @Override
        public Core open(String nativeDir, String sparkLocalDir, Log log) {
            return Core.over(calls);
        }

        @Override
        public Core opened() {
            return Core.over(calls);
        }
    }

    private static final class RecordingLog implements Log {
        final List<String> places = new ArrayList<>();

        @Override
        public void announce(String message) {}

        @Override
        public void info(String message) {}

        @Override
        public synchronized void warn(String message, Throwable cause) {
            places.add(message);
        }
    }
}
