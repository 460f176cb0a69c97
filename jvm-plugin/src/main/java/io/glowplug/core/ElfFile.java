package io.glowplug.core;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/**
 * A look at a library before the system's loader maps it: what is mapped of a file that was cut off raises SIGBUS where it is
 * read first, and the JVM dies of it.
 */
final class ElfFile {
    private static final int HEADER = 64;
    private static final int SEGMENT_TABLE = 32;
    private static final int SEGMENT_SIZE = 54;
    private static final int SEGMENT_COUNT = 56;
    private static final int OFFSET = 8;
    private static final int SIZE_IN_FILE = 32;

    private ElfFile() {}

    /** Throws if the file is shorter than its own header says; what else may be wrong with it, the loader finds. */
    static void requireWhole(Path library) throws IOException {
        try (FileChannel file = FileChannel.open(library)) {
            ByteBuffer header = read(file, 0, HEADER);
            int size = Short.toUnsignedInt(header.getShort(SEGMENT_SIZE));
            int count = Short.toUnsignedInt(header.getShort(SEGMENT_COUNT));
            ByteBuffer segments = read(file, header.getLong(SEGMENT_TABLE), size * count);
            for (int at = 0; at < size * count; at += size) {
                long end = segments.getLong(at + OFFSET) + segments.getLong(at + SIZE_IN_FILE);
                if (end > file.size()) {
                    throw cutOff(file);
                }
            }
        }
    }

    private static ByteBuffer read(FileChannel file, long from, int length) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        while (bytes.hasRemaining()) {
            if (file.read(bytes, from + bytes.position()) < 0) {
                throw cutOff(file);
            }
        }
        bytes.flip();
        return bytes;
    }

    private static IOException cutOff(FileChannel file) throws IOException {
        return new IOException("the library is cut off after " + file.size() + " bytes");
    }
}
