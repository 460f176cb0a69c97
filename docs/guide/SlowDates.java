import java.text.SimpleDateFormat;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/** A stage that allocates: a function that makes a date format for each row. Argument {@code builtin}: Spark's own function. */
public final class SlowDates {
    private SlowDates() {}

    public static void main(String[] arguments) {
        boolean builtin = arguments.length > 0 && arguments[0].equals("builtin");
        SparkSession spark = SparkSession.builder().appName("slow-dates").config("spark.sql.session.timeZone", "UTC").getOrCreate();
        try {
            spark.range(0, 1_500_000, 1, 4)
                    .selectExpr("concat('2026-', lpad(1 + id % 12, 2, '0'), '-', lpad(1 + id % 28, 2, '0')) AS day")
                    .createOrReplaceTempView("orders");
            spark.udf().register("days_since_1970", (UDF1<String, Long>) SlowDates::daysSince1970, DataTypes.LongType);
            String days = builtin ? "unix_date(to_date(day))" : "days_since_1970(day)";
            long begun = System.nanoTime();
            long sum = ((Number) spark.sql("SELECT SUM(" + days + ") FROM orders").collectAsList().get(0).get(0)).longValue();
            System.out.printf("SlowDates: %d, %.1f seconds%n", sum, (System.nanoTime() - begun) / 1e9);
        } finally {
            spark.stop();
        }
    }

    static long daysSince1970(String day) throws Exception {
        SimpleDateFormat format = new SimpleDateFormat("yyyy-MM-dd z");
        return format.parse(day + " UTC").getTime() / 86_400_000;
    }
}
