package io.glowplug.core;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

/** This machine's name, from the kernel: a name service can hang. */
public final class MachineName {
    private MachineName() {}

    public static String get() {
        try {
            return new String(Files.readAllBytes(Paths.get("/proc/sys/kernel/hostname")), StandardCharsets.UTF_8).trim();
        } catch (IOException e) {
            return "localhost";
        }
    }
}
