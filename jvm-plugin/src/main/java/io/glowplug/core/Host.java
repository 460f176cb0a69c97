package io.glowplug.core;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** What {@link NativeLibrary} asks of the JVM and the machine. */
class Host {
    /** Never null. */
    String property(String name) {
        return System.getProperty(name, "");
    }

    /** Never null. */
    String environment(String name) {
        String value = System.getenv(name);
        return value == null ? "" : value;
    }

    /** Null when the jar has no such entry. */
    InputStream resource(String name) {
        return NativeLibrary.class.getResourceAsStream("/" + name);
    }

    boolean exists(String path) {
        return Files.exists(Paths.get(path));
    }

    void load(Path library) throws IOException {
        ElfFile.requireWhole(library);
        System.load(library.toString());
    }
}
