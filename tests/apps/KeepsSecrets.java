import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Collections;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/** A job that has its argument, a secret, wherever a profiler could pick it up: SQL text, description, labels, names, failures. */
public final class KeepsSecrets {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    public static void main(String[] arguments) {
        String secret = arguments[0];
        SparkSession spark = SparkSession.builder().appName("keeps secrets").getOrCreate();
        JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
        spark.udf().register("work", (UDF1<Long, Long>) KeepsSecrets::work, DataTypes.LongType);

        context.setJobGroup("group of " + secret, "describes " + secret);
        context.setLocalProperty("spark.glowplug.label.customer", "customer " + secret);
        context.setLocalProperty("spark.glowplug.label.password", "swordfish-in-a-label");
        System.out.println(spark.sql("SELECT SUM(work(id)) FROM RANGE(0, 20, 1, 2) WHERE '" + secret + "' <> 'x'").collectAsList());

        context.sc().setCallSite("called at " + secret);
        System.out.println(context.parallelize(Collections.singletonList(1L), 1).map(KeepsSecrets::work).collect());
        System.out.println(failure(context, secret));
        spark.stop();
    }

    static long work(long id) {
        long end = cpuTime() + 100_000_000;
        double value = id + 1;
        while (cpuTime() < end) {
            for (int round = 0; round < 10_000; round++) {
                value = Math.sqrt(value + round);
            }
        }
        return value > 0 ? id : 0;
    }

    private static String failure(JavaSparkContext context, String secret) {
        try {
            context.parallelize(Collections.singletonList(1), 1).foreach(part -> {
                throw new IllegalStateException("failed over " + secret);
            });
            return "no failure";
        } catch (Exception e) {
            return e instanceof SparkException ? "failed as planned" : "failed otherwise";
        }
    }

    private static long cpuTime() {
        return THREADS.getCurrentThreadCpuTime();
    }
}
