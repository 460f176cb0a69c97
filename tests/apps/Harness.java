import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Argument: a file of cases. For each one a SparkContext is made in this JVM, runs a job, and is stopped. A line of the file is
 * {@code case <name>}, or a key and its URL-encoded value. Keys are Spark's, but for {@code harness.loader} (a name; each name is
 * a class loader of its own), {@code harness.jar} (what that one loads the plugin from), {@code harness.fails} (a job that fails
 * goes before) and {@code harness.property.*} (system properties for the time of the case).
 */
public final class Harness {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final Map<String, ClassLoader> LOADERS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        String name = "";
        Map<String, String> settings = new HashMap<>();
        for (String line : Files.readAllLines(Paths.get(arguments[0]))) {
            String[] words = line.split(" ", 2);
            if (!words[0].equals("case")) {
                settings.put(words[0], URLDecoder.decode(words[1], StandardCharsets.UTF_8.name()));
                continue;
            }
            run(name, settings);
            settings.clear();
            name = words[1];
        }
        run(name, settings);
    }

    private static void run(String name, Map<String, String> settings) throws IOException {
        if (name.isEmpty()) {
            return;
        }
        System.err.println("harness: begin " + name);
        SparkConf conf = new SparkConf().setAppName(name);
        Map<String, String> before = new HashMap<>();
        for (Map.Entry<String, String> setting : settings.entrySet()) {
            String key = setting.getKey();
            if (key.startsWith("harness.property.")) {
                String property = key.substring("harness.property.".length());
                before.put(property, System.setProperty(property, setting.getValue()));
            } else if (!key.startsWith("harness.")) {
                conf.set(key, setting.getValue());
            }
        }
        Thread.currentThread().setContextClassLoader(loader(settings.get("harness.loader"), settings.get("harness.jar")));
        String result;
        try (JavaSparkContext context = new JavaSparkContext(conf)) {
            if (settings.containsKey("harness.fails")) {
                fail(context);
            }
            result = context.parallelize(Arrays.asList(1, 2, 3), 1).map(name.equals("second context") ? Harness::second : Harness::first)
                    .reduce(Integer::sum).toString();
        } catch (Throwable t) {
            result = t.toString();
        }
        for (Map.Entry<String, String> property : before.entrySet()) {
            if (property.getValue() == null) {
                System.clearProperty(property.getKey());
            } else {
                System.setProperty(property.getKey(), property.getValue());
            }
        }
        System.err.println("harness: end " + name);
        System.out.println(name + ": " + result);
    }

    private static void fail(JavaSparkContext context) {
        try {
            context.parallelize(Arrays.asList(1), 1).foreach(value -> {
                throw new IllegalStateException("fails as planned");
            });
            throw new AssertionError("the job did not fail");
        } catch (Exception e) {
            System.err.println("harness: failed: " + e.getMessage());
        }
    }

    private static ClassLoader loader(String name, String jar) throws IOException {
        if (!LOADERS.containsKey(name)) {
            URL url = new File(jar).toURI().toURL();
            LOADERS.put(name, new URLClassLoader(new URL[] {url}, Harness.class.getClassLoader()));
        }
        return LOADERS.get(name);
    }

    static int first(int value) {
        return work(value);
    }

    static int second(int value) {
        return work(value);
    }

    private static int work(int value) {
        long end = cpuTime() + 60_000_000;
        double root = value;
        while (cpuTime() < end) {
            for (int round = 0; round < 10_000; round++) {
                root = Math.sqrt(root + round);
            }
        }
        return root > 0 ? value * value : 0;
    }

    private static long cpuTime() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** A plugin of somebody else's, both halves of which say what they do. */
    public static final class Other implements SparkPlugin {
        @Override
        public DriverPlugin driverPlugin() {
            return new DriverPlugin() {
                @Override
                public Map<String, String> init(SparkContext context, PluginContext plugin) {
                    say("driver up");
                    return Collections.emptyMap();
                }

                @Override
                public Object receive(Object message) {
                    say("driver received " + message);
                    return message;
                }

                @Override
                public void shutdown() {
                    say("driver down");
                }
            };
        }

        @Override
        public ExecutorPlugin executorPlugin() {
            return new ExecutorPlugin() {
                @Override
                public void init(PluginContext plugin, Map<String, String> extra) {
                    say("executor up");
                    try {
                        plugin.ask("hello");
                    } catch (Exception e) {
                        say(e.toString());
                    }
                }

                @Override
                public void shutdown() {
                    say("executor down");
                }
            };
        }

        private static void say(String what) {
            System.err.println("harness: other plugin: " + what);
        }
    }
}
