import java.util.Iterator;
import java.util.stream.LongStream;
import org.apache.spark.api.java.function.ForeachPartitionFunction;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;

/** Two streaming queries of three batches and more each, one of them with a name; prints the ids of both. */
public final class Clicks {
    public static void main(String[] arguments) throws Exception {
        SparkSession spark = SparkSession.builder().appName("clicks").getOrCreate();
        StreamingQuery named = start(spark, "clicks", Clicks::count);
        StreamingQuery unnamed = start(spark, null, Clicks::sum);
        for (StreamingQuery query : new StreamingQuery[] {named, unnamed}) {
            while (query.lastProgress() == null || query.lastProgress().batchId() < 3) {
                Thread.sleep(100);
            }
            query.stop();
        }
        System.out.println(named.id() + " " + unnamed.id());
        spark.stop();
    }

    private static StreamingQuery start(SparkSession spark, String name, ForeachPartitionFunction<Row> work) throws Exception {
        Dataset<Row> rows = spark.readStream().format("rate").option("rowsPerSecond", 10).load();
        VoidFunction2<Dataset<Row>, Long> batch = (batchRows, number) -> batchRows.foreachPartition(work);
        return rows.writeStream().queryName(name).trigger(Trigger.ProcessingTime(500)).foreachBatch(batch).start();
    }

    private static void count(Iterator<Row> rows) {
        work(LongStream.range(0, 40_000_000).filter(number -> number % 7 == 3).count());
    }

    private static void sum(Iterator<Row> rows) {
        work(LongStream.range(0, 40_000_000).map(number -> number * number % 11).sum());
    }

    private static void work(long result) {
        if (result == 1) {
            throw new IllegalStateException();
        }
    }
}
