package io.glowplug.core;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Finds, extracts and loads libglowplug.so.
 *
 * <p>A library on java.library.path is taken if it is of the jar's build. Otherwise the jar's is extracted into a private
 * folder under the first place that lets it be loaded, and unlinked once it is.
 */
final class NativeLibrary {
    static final String FILE = "libglowplug.so";
    /** The core carries its build id in its read-only data behind this mark and before a semicolon. */
    static final String BUILD_MARK = "glowplug-build-id=";

    private static final int MOST_NAMES_TRIED = 16;
    private static final FileAttribute<Set<PosixFilePermission>> PRIVATE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private final Host host;
    private final String nativeDir;
    private final String sparkLocalDir;
    private final List<String> skipped = new ArrayList<>();

    /** {@code nativeDir}: spark.glowplug.native.dir; {@code sparkLocalDir}: spark.local.dir; both may be empty. */
    NativeLibrary(Host host, String nativeDir, String sparkLocalDir) {
        this.host = host;
        this.nativeDir = nativeDir;
        this.sparkLocalDir = sparkLocalDir;
    }

    /** The path that the library was loaded from (its file may be gone by now). */
    Path load() throws CoreUnavailable {
        String resource = "native/" + platform() + "/" + FILE;
        Path loaded = loadFromLibraryPath(resource);
        if (loaded != null) {
            return loaded;
        }
        for (Map.Entry<String, String> place : places().entrySet()) {
            loaded = loadFrom(place.getKey(), place.getValue(), resource);
            if (loaded != null) {
                return loaded;
            }
        }
        throw new CoreUnavailable("the native library could not be loaded from any folder: " + String.join("; ", skipped)
                + ". Set spark.glowplug.native.dir to an absolute folder that this user may write to and execute from");
    }

    /** One line for each library or folder that was passed over, in the order they were tried. */
    List<String> skipped() {
        return skipped;
    }

    /** Build id of the jar's own library, without loading it. */
    String buildInJar() throws CoreUnavailable {
        String resource = "native/" + platform() + "/" + FILE;
        try (InputStream in = open(resource)) {
            return buildOf(readAll(in));
        } catch (IOException e) {
            throw new CoreUnavailable("the jar's native library is not readable: " + e);
        }
    }

    /** {@code linux-x86_64} or {@code linux-aarch64}. */
    private String platform() throws CoreUnavailable {
        String system = host.property("os.name");
        String machine = host.property("os.arch");
        String arch = "amd64".equals(machine) || "x86_64".equals(machine) ? "x86_64" : machine;
        if (!"Linux".equals(system) || !("x86_64".equals(arch) || "aarch64".equals(arch))) {
            throw unsupported(system + " on " + machine);
        }
        String glibc = "x86_64".equals(arch) ? "/lib64/ld-linux-x86-64.so.2" : "/lib/ld-linux-aarch64.so.1";
        if (host.exists("/lib/ld-musl-" + arch + ".so.1") && !host.exists(glibc)) {
            throw unsupported(system + " on " + machine + " with musl libc");
        }
        return "linux-" + arch;
    }

    private static CoreUnavailable unsupported(String platform) {
        return new CoreUnavailable("this platform is " + platform
                + ", and Glowplug runs on Linux on x86_64 or aarch64 with glibc 2.17 or newer");
    }

    private Path loadFromLibraryPath(String resource) throws CoreUnavailable {
        for (String folder : host.property("java.library.path").split(File.pathSeparator)) {
            if (folder.isEmpty() || !host.exists(folder + "/" + FILE)) {
                continue;
            }
            Path library = Paths.get(folder, FILE).toAbsolutePath();
            try {
                String found = buildOf(Files.readAllBytes(library));
                String wanted = buildInJar();
                if (!wanted.equals(found)) {
                    skipped.add(library + " (java.library.path) is build " + found + ", and this jar is build " + wanted);
                    continue;
                }
                host.load(library);
                return library;
            } catch (IOException | UnsatisfiedLinkError e) {
                skipped.add(library + " (java.library.path): " + e.getMessage());
            }
        }
        return null;
    }

    /** Folder to what named it; the first name wins. */
    private Map<String, String> places() {
        Map<String, String> places = new LinkedHashMap<>();
        add(places, nativeDir, "spark.glowplug.native.dir");
        add(places, host.property("java.io.tmpdir"), "java.io.tmpdir");
        add(places, host.property("user.dir"), "user.dir");
        add(places, host.environment("LOCAL_DIRS"), "LOCAL_DIRS");
        add(places, sparkLocalDir, "spark.local.dir");
        add(places, host.property("user.home"), "user.home");
        return places;
    }

    private static void add(Map<String, String> places, String folders, String origin) {
        for (String folder : folders.split(",")) {
            if (!folder.trim().isEmpty()) {
                places.putIfAbsent(folder.trim(), origin);
            }
        }
    }

    private Path loadFrom(String place, String origin, String resource) throws CoreUnavailable {
        Path folder = null;
        try {
            Path parent = Paths.get(place);
            if (!parent.isAbsolute()) {
                skipped.add(place + " (" + origin + ") is not an absolute path");
                return null;
            }
            folder = createPrivateFolder(parent);
            Path library = folder.resolve(FILE);
            try (InputStream in = open(resource)) {
                Files.copy(in, library);
            }
            host.load(library);
            return library;
        } catch (IOException | InvalidPathException | UnsatisfiedLinkError e) {
            skipped.add(place + " (" + origin + "): " + reasonOf(e));
            return null;
        } finally {
            delete(folder);
        }
    }

    /**
     * mkdir itself refuses a name that exists, so a guessable name is safe; a secure random source would cost more CPU time
     * at start than everything else here.
     */
    private static Path createPrivateFolder(Path parent) throws IOException {
        for (int i = 1; ; i++) {
            long random = (System.nanoTime() ^ System.identityHashCode(parent)) * 0x9E3779B97F4A7C15L;
            try {
                return Files.createDirectory(parent.resolve("glowplug-" + Long.toHexString(random)), PRIVATE);
            } catch (FileAlreadyExistsException e) {
                if (i == MOST_NAMES_TRIED) {
                    throw e;
                }
            }
        }
    }

    private InputStream open(String resource) throws CoreUnavailable {
        InputStream in = host.resource(resource);
        if (in == null) {
            throw new CoreUnavailable("the jar holds no " + resource);
        }
        return in;
    }

    private static String reasonOf(Throwable e) {
        String name = e.getClass().getSimpleName().replaceAll("(Exception|Error)$", "");
        return e instanceof UnsatisfiedLinkError ? e.getMessage() : name + " " + e.getMessage();
    }

    private static void delete(Path folder) {
        if (folder == null) {
            return;
        }
        try {
            Files.deleteIfExists(folder.resolve(FILE));
            Files.deleteIfExists(folder);
        } catch (IOException e) {
            // What is left is a private file in a temporary folder.
        }
    }

    private static String buildOf(byte[] library) {
        String text = new String(library, StandardCharsets.ISO_8859_1);
        int mark = text.indexOf(BUILD_MARK);
        int end = mark < 0 ? -1 : text.indexOf(';', mark);
        return end < 0 ? "unknown" : text.substring(mark + BUILD_MARK.length(), end);
    }

    private static byte[] readAll(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream(4 << 20);
        byte[] buffer = new byte[64 << 10];
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
            out.write(buffer, 0, n);
        }
        return out.toByteArray();
    }
}
