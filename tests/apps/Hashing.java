import java.security.MessageDigest;

/** Hashing algorithm seconds: does nothing else for so long. */
public final class Hashing {
    private static volatile byte[] last;

    public static void main(String[] arguments) throws Exception {
        MessageDigest digest = MessageDigest.getInstance(arguments[0]);
        long end = System.nanoTime() + Long.parseLong(arguments[1]) * 1_000_000_000L;
        byte[] text = new byte[4096];
        while (System.nanoTime() < end) {
            last = hash(digest, text);
        }
    }

    private static byte[] hash(MessageDigest digest, byte[] text) {
        return digest.digest(text);
    }
}
