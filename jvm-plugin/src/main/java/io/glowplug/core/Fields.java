package io.glowplug.core;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The byte format of what crosses the JNI border and goes from executor to driver: strings, each with a big-endian
 * u32 byte length before its UTF-8. A message with a blob begins with the number of its strings, and the blob is the rest.
 */
public final class Fields {
    private Fields() {}

    public static byte[] encode(String... fields) {
        return encode(Arrays.asList(fields));
    }

    public static byte[] encode(List<String> fields) {
        byte[][] encoded = bytesOf(fields);
        ByteBuffer out = ByteBuffer.allocate(sizeOf(encoded));
        put(out, encoded);
        return out.array();
    }

    public static byte[] encodeWithBlob(List<String> fields, byte[] blob) {
        byte[][] encoded = bytesOf(fields);
        ByteBuffer out = ByteBuffer.allocate(4 + sizeOf(encoded) + blob.length);
        out.putInt(encoded.length);
        put(out, encoded);
        out.put(blob);
        return out.array();
    }

    public static List<String> decode(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        List<String> fields = new ArrayList<>();
        while (in.hasRemaining()) {
            fields.add(next(in));
        }
        return fields;
    }

    public static Message decodeWithBlob(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        long count = length(in);
        List<String> fields = new ArrayList<>();
        for (long i = 0; i < count; i++) {
            fields.add(next(in));
        }
        byte[] blob = new byte[in.remaining()];
        in.get(blob);
        return new Message(fields, blob);
    }

    private static byte[][] bytesOf(List<String> fields) {
        byte[][] encoded = new byte[fields.size()][];
        for (int i = 0; i < encoded.length; i++) {
            encoded[i] = fields.get(i).getBytes(StandardCharsets.UTF_8);
        }
        return encoded;
    }

    private static int sizeOf(byte[][] encoded) {
        int size = 0;
        for (byte[] field : encoded) {
            size += 4 + field.length;
        }
        return size;
    }

    private static void put(ByteBuffer out, byte[][] encoded) {
        for (byte[] field : encoded) {
            out.putInt(field.length).put(field);
        }
    }

    private static String next(ByteBuffer in) {
        int at = in.position();
        long length = length(in);
        if (length > in.remaining()) {
            throw new IllegalArgumentException(
                    "a field of " + length + " bytes at byte " + at + ", but only " + in.remaining() + " bytes follow");
        }
        byte[] field = new byte[(int) length];
        in.get(field);
        return new String(field, StandardCharsets.UTF_8);
    }

    private static long length(ByteBuffer in) {
        int at = in.position();
        try {
            return in.getInt() & 0xffffffffL;
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("a length is cut at byte " + at + " of " + in.limit());
        }
    }

    /** Strings and the raw bytes behind them. */
    public static final class Message {
        public final List<String> fields;
        public final byte[] blob;

        Message(List<String> fields, byte[] blob) {
            this.fields = fields;
            this.blob = blob;
        }
    }
}
