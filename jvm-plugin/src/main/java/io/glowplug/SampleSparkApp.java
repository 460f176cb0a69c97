package io.glowplug;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/**
 * A job with something to see in its profile: SQL that is compiled to code, a function that is slow on purpose, a walk that
 * waits for memory, and two job groups at once. Argument: a factor for its size (1 is 20 to 30 seconds of CPU).
 */
public final class SampleSparkApp {
    private static final int SLOW_ROUNDS = 600;
    private static final int CHASED_SLOTS = 1 << 23;

    private SampleSparkApp() {}

    public static void main(String[] arguments) throws Exception {
        double scale = arguments.length == 0 ? 1 : Double.parseDouble(arguments[0]);
        SparkSession spark = SparkSession.builder().appName("glowplug-sample").getOrCreate();
        JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
        long begun = System.nanoTime();
        try {
            createTables(spark, scale);
            ExecutorService groups = Executors.newFixedThreadPool(2);
            try {
                Future<Long> report = groups.submit(() -> {
                    context.setJobGroup("report", "revenue by country");
                    context.setLocalProperty("spark.glowplug.label.team", "finance");
                    return revenueByCountry(spark);
                });
                Future<Long> scores = groups.submit(() -> {
                    context.setJobGroup("scoring", "slow scores");
                    context.setLocalProperty("spark.glowplug.label.team", "fraud");
                    return sumOfSlowScores(spark);
                });
                long chased = chase(context, scale);
                System.out.printf("SampleSparkApp: revenue %d, scores %d, chased %d, %.1f seconds%n",
                        report.get(), scores.get(), chased, (System.nanoTime() - begun) / 1e9);
            } finally {
                groups.shutdown();
            }
        } finally {
            spark.stop();
        }
    }

    /** The planted hot spot: nearly all of its stage's CPU is spent here. */
    static long slowScore(long order) {
        long score = order;
        for (int round = 0; round < SLOW_ROUNDS; round++) {
            score ^= score >>> 33;
            score *= 0xff51afd7ed558ccdL;
            score = score % 1_000_003 + round;
        }
        return score;
    }

    private static void createTables(SparkSession spark, double scale) {
        long orders = (long) (3_000_000 * scale);
        long customers = Math.max(1_000, orders / 20);
        spark.range(0, orders, 1, 8)
                .selectExpr("id AS order_id", "pmod(xxhash64(id, 1), " + customers + ") AS customer",
                        "pmod(xxhash64(id, 2), 100000) AS cents")
                .createOrReplaceTempView("orders");
        spark.range(0, customers, 1, 4)
                .selectExpr("id AS customer", "pmod(xxhash64(id, 3), 40) AS country", "sha1(CAST(id AS STRING)) AS name")
                .createOrReplaceTempView("customers");
        spark.udf().register("slow_score", (UDF1<Long, Long>) SampleSparkApp::slowScore, DataTypes.LongType);
    }

    /** Aggregation and join. */
    private static long revenueByCountry(SparkSession spark) {
        List<Row> rows = spark.sql("SELECT c.country, SUM(o.cents) AS cents, COUNT(DISTINCT c.name) AS names"
                + " FROM orders o JOIN customers c ON o.customer = c.customer GROUP BY c.country ORDER BY cents DESC")
                .collectAsList();
        long cents = 0;
        for (Row row : rows) {
            cents += row.getLong(1);
        }
        return cents;
    }

    private static long sumOfSlowScores(SparkSession spark) {
        return spark.sql("SELECT SUM(slow_score(order_id)) FROM orders").collectAsList().get(0).getLong(0);
    }

    /** Each step depends on the one before and misses the cache: CPU time that is spent waiting for memory. */
    private static long chase(JavaSparkContext context, double scale) {
        context.setJobGroup("chase", "pointer chasing");
        long steps = (long) (20_000_000 * scale);
        return context.parallelize(seeds(), 2).mapPartitions(seeds -> chaseAll(seeds, steps)).reduce(Long::sum);
    }

    private static List<Integer> seeds() {
        List<Integer> seeds = new ArrayList<>();
        Collections.addAll(seeds, 1, 2);
        return seeds;
    }

    private static Iterator<Long> chaseAll(Iterator<Integer> seeds, long steps) {
        List<Long> sums = new ArrayList<>();
        while (seeds.hasNext()) {
            sums.add(chasePointers(oneCycle(new Random(seeds.next())), steps));
        }
        return sums.iterator();
    }

    private static long chasePointers(int[] next, long steps) {
        int at = 0;
        long sum = 0;
        for (long step = 0; step < steps; step++) {
            at = next[at];
            sum += at;
        }
        return sum;
    }

    /** A random permutation that is a single cycle (Sattolo's shuffle). */
    private static int[] oneCycle(Random random) {
        int[] next = new int[CHASED_SLOTS];
        for (int i = 0; i < next.length; i++) {
            next[i] = i;
        }
        for (int i = next.length - 1; i > 0; i--) {
            int j = random.nextInt(i);
            int swapped = next[i];
            next[i] = next[j];
            next[j] = swapped;
        }
        return next;
    }
}
