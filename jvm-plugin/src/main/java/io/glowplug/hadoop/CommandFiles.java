package io.glowplug.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.apache.hadoop.conf.Configuration;

/** The command's way to Hadoop, called by reflection: its class loader may be another one than the command's. */
public final class CommandFiles {
    private final HadoopFiles files = new HadoopFiles(new Configuration());

    /** Copies a file, or all that is in a folder, into a local folder. The file's name, or null for a folder or nothing. */
    public String fetch(String uri, String into) throws IOException {
        return files.fetch(uri, Paths.get(into));
    }

    public void store(String local, String uri) throws IOException {
        Path file = Paths.get(local);
        files.write(uri, Files.readAllBytes(file));
    }
}
