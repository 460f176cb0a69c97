/** Works, allocates and waits below as many frames as it is told, for as many seconds. */
final class Deep extends Thread {
    private static volatile Object kept;

    private final int frames;
    private final long nanos;

    private Deep(int frames, long nanos) {
        super(null, null, "deep", 256 << 20);
        this.frames = frames;
        this.nanos = nanos;
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread deep = new Deep(Integer.parseInt(arguments[0]), Long.parseLong(arguments[1]) * 1_000_000_000L);
        deep.start();
        deep.join();
    }

    @Override
    public void run() {
        descend(frames);
    }

    private void descend(int left) {
        if (left > 0) {
            descend(left - 1);
            return;
        }
        for (long end = System.nanoTime() + nanos; System.nanoTime() < end; ) {
            spin();
            allocate();
            rest();
        }
    }

    private static void spin() {
        for (long end = System.nanoTime() + 20_000_000; System.nanoTime() < end; ) {
            kept = null;
        }
    }

    private static void allocate() {
        for (int i = 0; i < 40; i++) {
            kept = new byte[100_000];
        }
    }

    private static void rest() {
        try {
            Thread.sleep(20);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
