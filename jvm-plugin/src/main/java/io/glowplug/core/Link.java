package io.glowplug.core;

/** What the io thread asks of the world around the core. */
public interface Link {
    /** Hands a delta to the driver; the answer is raw, or null. */
    byte[] ask(byte[] delta) throws Exception;

    /** Puts a file at a path or URI, whole or not at all. */
    void write(String path, byte[] content) throws Exception;

    /** Takes a file away; it may be gone already. */
    void delete(String path) throws Exception;

    void log(String level, String message);
}
