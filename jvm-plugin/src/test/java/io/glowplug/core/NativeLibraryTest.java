package io.glowplug.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class NativeLibraryTest {
    private static final byte[] IN_JAR = library("1.0.0+aaaa");

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    private final FakeHost host = new FakeHost();
    private Path tmp;
    private Path work;

    @Before
    public void aLinuxMachine() throws IOException {
        tmp = folder.newFolder("tmp").toPath();
        work = folder.newFolder("work").toPath();
        host.properties.put("os.name", "Linux");
        host.properties.put("os.arch", "amd64");
        host.properties.put("java.io.tmpdir", tmp.toString());
        host.properties.put("user.dir", work.toString());
    }

    @Test
    public void theLibraryIsLoadedFromAPrivateFolderAndUnlinked() throws Exception {
        Path loaded = library().load();
        assertEquals(tmp, loaded.getParent().getParent());
        assertEquals("rwx------", host.permissions.get(0));
        assertArrayEquals(IN_JAR, host.contents.get(0));
        assertFalse(Files.exists(loaded.getParent()));
        assertEquals(new ArrayList<String>(), library().skipped());
    }

    @Test
    public void theConfiguredFolderComesFirst() throws Exception {
        Path chosen = folder.newFolder("chosen").toPath();
        assertEquals(chosen, new NativeLibrary(host, chosen.toString(), "").load().getParent().getParent());
    }

    @Test
    public void aFolderMountedNoexecIsPassedOver() throws Exception {
        host.noexec = tmp.toString();
        NativeLibrary library = library();
        assertEquals(work, library.load().getParent().getParent());
        assertEquals(1, library.skipped().size());
        assertEquals(tmp + " (java.io.tmpdir): failed to map segment from shared object", library.skipped().get(0));
        assertEquals(0, tmp.toFile().list().length);
    }

    @Test
    public void aRelativeAMissingAndAFullFolderArePassedOver() throws Exception {
        host.properties.put("java.io.tmpdir", "tmp");
        host.properties.put("user.dir", folder.getRoot() + "/missing");
        host.environment.put("LOCAL_DIRS", work.toString());
        host.fullUntil = 1;
        NativeLibrary library = new NativeLibrary(host, "", tmp.toString());
        assertEquals(tmp, library.load().getParent().getParent());
        assertEquals("tmp (java.io.tmpdir) is not an absolute path", library.skipped().get(0));
        assertTrue(library.skipped().get(1).startsWith(folder.getRoot() + "/missing (user.dir): NoSuchFile "));
        assertEquals(work + " (LOCAL_DIRS): IO No space left on device", library.skipped().get(2));
        assertEquals(3, library.skipped().size());
        assertEquals(0, work.toFile().list().length);
    }

    @Test
    public void whenNoFolderDoesEachReasonIsInTheMessage() {
        host.noexec = folder.getRoot().toString();
        CoreUnavailable e = assertThrows(CoreUnavailable.class, () -> library().load());
        assertEquals("the native library could not be loaded from any folder: " + tmp
                + " (java.io.tmpdir): failed to map segment from shared object; " + work
                + " (user.dir): failed to map segment from shared object. Set spark.glowplug.native.dir to an absolute folder"
                + " that this user may write to and execute from", e.getMessage());
    }

    @Test
    public void aLibraryOfTheSameBuildOnTheLibraryPathIsUsedInPlace() throws Exception {
        Path installed = installed("1.0.0+aaaa");
        assertEquals(installed, library().load());
        assertTrue(Files.exists(installed));
    }

    @Test
    public void aLibraryOfAnotherBuildOnTheLibraryPathIsPassedOver() throws Exception {
        Path installed = installed("0.9.0+bbbb");
        NativeLibrary library = library();
        assertEquals(tmp, library.load().getParent().getParent());
        assertEquals(installed + " (java.library.path) is build 0.9.0+bbbb, and this jar is build 1.0.0+aaaa",
                library.skipped().get(0));
    }

    @Test
    public void anotherPlatformIsNamed() {
        host.properties.put("os.name", "Mac OS X");
        host.properties.put("os.arch", "aarch64");
        CoreUnavailable e = assertThrows(CoreUnavailable.class, () -> library().load());
        assertEquals("this platform is Mac OS X on aarch64, and Glowplug runs on Linux on x86_64 or aarch64 with glibc 2.17 or"
                + " newer", e.getMessage());
    }

    @Test
    public void muslIsNamed() {
        host.files.add("/lib/ld-musl-x86_64.so.1");
        CoreUnavailable e = assertThrows(CoreUnavailable.class, () -> library().load());
        assertEquals("this platform is Linux on amd64 with musl libc, and Glowplug runs on Linux on x86_64 or aarch64 with glibc"
                + " 2.17 or newer", e.getMessage());
    }

    private NativeLibrary library() {
        return new NativeLibrary(host, "", "");
    }

    private Path installed(String build) throws IOException {
        Path file = folder.newFolder("installed").toPath().resolve(NativeLibrary.FILE);
        Files.write(file, library(build));
        host.properties.put("java.library.path", folder.getRoot() + "/none:" + file.getParent());
        host.files.add(file.toString());
        return file;
    }

    private static byte[] library(String build) {
        return ("\177ELF " + NativeLibrary.BUILD_MARK + build + "; rest").getBytes(StandardCharsets.ISO_8859_1);
    }

    private static final class FakeHost extends Host {
        final Map<String, String> properties = new HashMap<>();
        final Map<String, String> environment = new HashMap<>();
        final List<String> files = new ArrayList<>();
        final List<String> permissions = new ArrayList<>();
        final List<byte[]> contents = new ArrayList<>();
        String noexec = "nowhere";
        int fullUntil;

        @Override
        String property(String name) {
            return properties.getOrDefault(name, "");
        }

        @Override
        String environment(String name) {
            return environment.getOrDefault(name, "");
        }

        @Override
        InputStream resource(String name) {
            assertEquals("native/linux-x86_64/libglowplug.so", name);
            if (fullUntil-- <= 0) {
                return new ByteArrayInputStream(IN_JAR);
            }
            return new InputStream() {
                @Override
                public int read() throws IOException {
                    throw new IOException("No space left on device");
                }
            };
        }

        @Override
        boolean exists(String path) {
            return files.contains(path);
        }

        @Override
        void load(Path library) {
            if (library.toString().startsWith(noexec)) {
                throw new UnsatisfiedLinkError("failed to map segment from shared object");
            }
            try {
                permissions.add(PosixFilePermissions.toString(Files.getPosixFilePermissions(library.getParent())));
                contents.add(Files.readAllBytes(library));
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
    }
}
