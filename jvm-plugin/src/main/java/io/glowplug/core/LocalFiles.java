package io.glowplug.core;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.regex.Pattern;

/** Files on this machine, written with java.io alone (Hadoop's {@code file:} systems leave .crc files behind). */
public final class LocalFiles {
    private static final Pattern SCHEME = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]*:.*", Pattern.DOTALL);

    private LocalFiles() {}

    public static boolean isLocal(String path) {
        return !SCHEME.matcher(path).matches() || path.startsWith("file:");
    }

    public static Path localPath(String path) throws IOException {
        if (!isLocal(path)) {
            throw new IOException("no Hadoop file system is at hand for " + path);
        }
        // As Hadoop reads it: what follows the scheme is the path, and a percent sign means nothing.
        return Paths.get(path.startsWith("file:") ? path.substring("file:".length()).replaceFirst("^//+", "/") : path);
    }

    /** The file is whole or absent at any moment. */
    public static void write(Path file, byte[] content) throws IOException {
        Path folder = file.toAbsolutePath().getParent();
        Files.createDirectories(folder);
        Path temporary = folder.resolve("." + file.getFileName() + "." + Long.toHexString(System.nanoTime()) + ".tmp");
        try {
            Files.write(temporary, content, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException | RuntimeException e) {
            Files.deleteIfExists(temporary);
            throw e;
        }
    }
}
