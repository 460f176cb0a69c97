import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/** A query of two stages, each with a function of its own that takes nearly all of its CPU: 6 s in the first, 1 s in the second. */
public final class SqlReport {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    public static void main(String[] arguments) {
        SparkSession spark = SparkSession.builder().appName("sql report").getOrCreate();
        spark.udf().register("weigh", new Weigh(), DataTypes.LongType);
        spark.udf().register("polish", new Polish(), DataTypes.LongType);
        spark.sparkContext().setJobDescription("orders by customer");
        // Sorted here: ORDER BY would run the second stage once more, for a sample.
        List<String> rows = spark.sql("SELECT customer, polish(SUM(weight)) FROM"
                        + " (SELECT id % 20 AS customer, weigh(id) AS weight FROM RANGE(0, 6000, 1, 6)) GROUP BY customer")
                .collectAsList().stream().map(Row::toString).sorted().collect(Collectors.toList());
        System.out.println(rows);
        spark.stop();
    }

    /** 1 ms of CPU for a row. */
    public static final class Weigh implements UDF1<Long, Long> {
        @Override
        public Long call(Long order) {
            long end = cpuTime() + 1_000_000;
            long weight = order;
            while (cpuTime() < end) {
                weight = weighGrains(weight);
            }
            return order + (weight == 0 ? 1 : 0);
        }

        static long weighGrains(long weight) {
            for (long grain = 0; grain < 20_000; grain++) {
                weight ^= weight >>> 33;
                weight = weight * 0xff51afd7ed558ccdL + grain;
            }
            return weight | 1;
        }
    }

    /** 50 ms of CPU for a row. */
    public static final class Polish implements UDF1<Long, Long> {
        @Override
        public Long call(Long sum) {
            long end = cpuTime() + 50_000_000;
            double shine = sum;
            while (cpuTime() < end) {
                shine = polishEdges(shine);
            }
            return shine < 0 ? -1 : sum;
        }

        static double polishEdges(double shine) {
            for (long edge = 1; edge < 20_000; edge++) {
                shine = shine / 1.000001 + edge;
            }
            return shine;
        }
    }

    private static long cpuTime() {
        return THREADS.getCurrentThreadCpuTime();
    }
}
