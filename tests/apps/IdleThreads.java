import java.util.concurrent.CountDownLatch;

/** IdleThreads count seconds: threads that do nothing for so long. */
public final class IdleThreads {
    public static void main(String[] args) throws InterruptedException {
        CountDownLatch end = new CountDownLatch(1);
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            new Thread(() -> await(end), "idle-" + i).start();
        }
        Thread.sleep(Long.parseLong(args[1]) * 1000);
        end.countDown();
    }

    private static void await(CountDownLatch end) {
        try {
            end.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
