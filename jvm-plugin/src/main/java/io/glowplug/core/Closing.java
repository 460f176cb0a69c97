package io.glowplug.core;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The last piece of work of a half of the plugin: done once, on a thread of its own, whoever asks first (Spark's shutdown
 * or the JVM's), and waited for by both, each for a limited time.
 */
public final class Closing {
    private final String name;
    private final Runnable work;
    private final AtomicBoolean begun = new AtomicBoolean();
    private final CountDownLatch started = new CountDownLatch(1);
    private final CountDownLatch done = new CountDownLatch(1);

    public Closing(String name, Runnable work) {
        this.name = name;
        this.work = work;
    }

    public void begin() {
        if (!begun.compareAndSet(false, true)) {
            return;
        }
        started.countDown();
        Thread thread = new Thread(this::run, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** True when somebody has begun. */
    public boolean awaitBegin(long millis) {
        return await(started, millis);
    }

    /** True when the work has ended. */
    public boolean awaitEnd(long millis) {
        return await(done, millis);
    }

    private void run() {
        try {
            work.run();
        } finally {
            done.countDown();
        }
    }

    private static boolean await(CountDownLatch latch, long millis) {
        try {
            return latch.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            // Hadoop's shutdown hook manager interrupts what takes too long: whoever waits here goes on.
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
