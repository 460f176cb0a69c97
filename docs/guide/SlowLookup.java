import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Executors;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** A stage that waits: each row asks a service, and all tasks of a JVM share one client. Argument: rows asked for at once. */
public final class SlowLookup {
    private static final int ROWS = 2_000;

    private SlowLookup() {}

    public static void main(String[] arguments) throws Exception {
        int atOnce = arguments.length == 0 ? 1 : Integer.parseInt(arguments[0]);
        HttpServer service = startService();
        String address = "http://127.0.0.1:" + service.getAddress().getPort() + "/?";
        SparkSession spark = SparkSession.builder().appName("slow-lookup").getOrCreate();
        try {
            List<Integer> ids = new ArrayList<>();
            for (int id = 0; id < ROWS; id++) {
                ids.add(id);
            }
            long begun = System.nanoTime();
            long cents = new JavaSparkContext(spark.sparkContext()).parallelize(ids, 4)
                    .mapPartitions(rows -> pricesOf(rows, address, atOnce).iterator())
                    .reduce(Long::sum);
            System.out.printf("SlowLookup: %d cents, %.1f seconds%n", cents, (System.nanoTime() - begun) / 1e9);
        } finally {
            spark.stop();
            service.stop(0);
        }
    }

    private static List<Long> pricesOf(Iterator<Integer> rows, String address, int atOnce) throws Exception {
        List<Long> prices = new ArrayList<>();
        List<Integer> asked = new ArrayList<>();
        while (rows.hasNext()) {
            asked.add(rows.next());
            if (asked.size() == atOnce || !rows.hasNext()) {
                prices.add(sumOfPrices(address, asked));
                asked.clear();
            }
        }
        return prices;
    }

    private static synchronized long sumOfPrices(String address, List<Integer> ids) throws Exception {
        String query = ids.toString().replaceAll("[^0-9,]", "");
        try (BufferedReader answer = new BufferedReader(
                new InputStreamReader(new URL(address + query).openStream(), StandardCharsets.UTF_8))) {
            return Long.parseLong(answer.readLine());
        }
    }

    /** The service, for this example in the driver: it takes 10 ms for an answer, however many ids it is asked for. */
    private static HttpServer startService() throws Exception {
        HttpServer service = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        service.createContext("/", exchange -> {
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            long sum = 0;
            for (String id : exchange.getRequestURI().getQuery().split(",")) {
                sum += 100 + Long.parseLong(id);
            }
            byte[] answer = (sum + "\n").getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        service.setExecutor(Executors.newFixedThreadPool(4, work -> {
            Thread thread = new Thread(work, "price-service");
            thread.setDaemon(true);
            return thread;
        }));
        service.start();
        return service;
    }
}
