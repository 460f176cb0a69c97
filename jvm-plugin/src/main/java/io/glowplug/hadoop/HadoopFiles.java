package io.glowplug.hadoop;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.UnsupportedFileSystemException;

/**
 * Files on Hadoop's file systems, whole or absent. Used by one thread.
 *
 * <p>The file systems are its own: those that {@code FileSystem.get} shares are closed by applications and by Hadoop's own
 * shutdown hook, before the last file is written.
 */
public final class HadoopFiles {
    /** An object is seen whole when its stream is closed, and a rename there copies it. */
    private static final Set<String> OBJECT_STORES = new HashSet<>(
            Arrays.asList("s3", "s3a", "s3n", "gs", "wasb", "wasbs", "oss", "cos", "cosn", "obs", "swift"));

    private final Configuration configuration;
    private final Map<String, FileContext> contexts = new HashMap<>();
    private final Map<String, FileSystem> systems = new HashMap<>();

    public HadoopFiles(Configuration configuration) {
        this.configuration = new Configuration(configuration);
        this.configuration.setBoolean("fs.automatic.close", false);
    }

    public void write(String path, byte[] content) throws IOException {
        Path file = new Path(path);
        URI uri = file.toUri();
        FileContext context = OBJECT_STORES.contains(uri.getScheme()) ? null : contextOf(uri);
        if (context == null) {
            overwrite(systemOf(uri), file, content);
            return;
        }
        Path temporary = temporaryOf(file);
        try {
            try (OutputStream out = context.create(temporary, EnumSet.of(CreateFlag.CREATE), Options.CreateOpts.createParent())) {
                out.write(content);
            }
            context.rename(temporary, file, Options.Rename.OVERWRITE);
        } catch (IOException | RuntimeException e) {
            deleteAfter(e, context, temporary);
            throw e;
        }
    }

    public void delete(String path) throws IOException {
        Path file = new Path(path);
        systemOf(file.toUri()).delete(file, false);
    }

    /** Copies a file, or all that is in a folder, into a local folder. The file's name, or null for a folder or nothing. */
    public String fetch(String path, java.nio.file.Path into) throws IOException {
        Path from = new Path(path);
        FileSystem system = systemOf(from.toUri());
        if (!system.exists(from)) {
            return null;
        }
        FileStatus status = system.getFileStatus(from);
        if (status.isDirectory()) {
            fetchFolder(system, from, into);
            return null;
        }
        fetchFile(system, from, into);
        return from.getName();
    }

    private static void fetchFolder(FileSystem system, Path from, java.nio.file.Path into) throws IOException {
        Files.createDirectories(into);
        for (FileStatus child : system.listStatus(from)) {
            if (child.isDirectory()) {
                fetchFolder(system, child.getPath(), into.resolve(child.getPath().getName()));
            } else {
                fetchFile(system, child.getPath(), into);
            }
        }
    }

    private static void fetchFile(FileSystem system, Path from, java.nio.file.Path into) throws IOException {
        try (InputStream in = system.open(from)) {
            Files.copy(in, into.resolve(from.getName()));
        }
    }

    private static void deleteAfter(Exception failure, FileContext context, Path temporary) {
        try {
            context.delete(temporary, false);
        } catch (IOException | RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    private static void overwrite(FileSystem system, Path file, byte[] content) throws IOException {
        try (OutputStream out = system.create(file, true)) {
            out.write(content);
        }
    }

    private static Path temporaryOf(Path file) {
        return new Path(file.getParent(), "." + file.getName() + "." + Long.toHexString(System.nanoTime()) + ".tmp");
    }

    /** Null when the scheme has no FileContext. */
    private FileContext contextOf(URI uri) throws IOException {
        String key = keyOf(uri);
        if (!contexts.containsKey(key)) {
            try {
                contexts.put(key, FileContext.getFileContext(uri, configuration));
            } catch (UnsupportedFileSystemException e) {
                contexts.put(key, null);
            }
        }
        return contexts.get(key);
    }

    private FileSystem systemOf(URI uri) throws IOException {
        String key = keyOf(uri);
        FileSystem system = systems.get(key);
        if (system == null) {
            system = FileSystem.newInstance(uri, configuration);
            systems.put(key, system);
        }
        return system;
    }

    private static String keyOf(URI uri) {
        return uri.getScheme() + "://" + uri.getAuthority();
    }
}
