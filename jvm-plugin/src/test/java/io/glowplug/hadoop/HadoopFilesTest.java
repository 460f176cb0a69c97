package io.glowplug.hadoop;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class HadoopFilesTest {
    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    private final Configuration configuration = new Configuration();

    @Test
    public void aFileIsReplacedByRename() throws IOException {
        Path file = folder.getRoot().toPath().resolve("app/profile.pb.gz");
        HadoopFiles files = new HadoopFiles(configuration);
        files.write(file.toUri().toString(), new byte[] {1});
        files.write(file.toUri().toString(), new byte[] {2, 3});
        assertArrayEquals(new byte[] {2, 3}, Files.readAllBytes(file));
        assertEquals(Arrays.asList("profile.pb.gz"), names(file.getParent()));
    }

    @Test
    public void anObjectStoreAndASchemeWithoutFileContextAreOverwritten() throws IOException {
        configuration.setClass("fs.s3a.impl", OtherScheme.class, RawLocalFileSystem.class);
        configuration.setClass("fs.other.impl", OtherScheme.class, RawLocalFileSystem.class);
        HadoopFiles files = new HadoopFiles(configuration);
        for (String scheme : new String[] {"s3a", "other"}) {
            Path file = folder.getRoot().toPath().resolve(scheme + "/profile.pb.gz");
            files.write(scheme + "://bucket" + file, new byte[] {1});
            files.write(scheme + "://bucket" + file, new byte[] {2});
            assertArrayEquals(new byte[] {2}, Files.readAllBytes(file));
            assertEquals(Arrays.asList("profile.pb.gz"), names(file.getParent()));
        }
    }

    @Test
    public void anUnknownSchemeIsAnErrorThatNamesIt() {
        IOException e = assertThrows(IOException.class, () -> new HadoopFiles(configuration).write("nosuch://a/b", new byte[0]));
        assertEquals("No FileSystem for scheme \"nosuch\"", e.getMessage());
    }

    @Test
    public void aFolderIsFetchedWhole() throws IOException {
        Path from = folder.newFolder("from").toPath();
        Files.createDirectories(from.resolve("executors"));
        Files.write(from.resolve("profile.pb.gz"), new byte[] {1});
        Files.write(from.resolve("executors/7.pb.gz"), new byte[] {7});
        Path into = folder.newFolder("into").toPath();
        HadoopFiles files = new HadoopFiles(configuration);
        assertNull(files.fetch(from.toUri().toString(), into));
        assertArrayEquals(new byte[] {7}, Files.readAllBytes(into.resolve("executors/7.pb.gz")));
        assertArrayEquals(new byte[] {1}, Files.readAllBytes(into.resolve("profile.pb.gz")));
        assertNull(files.fetch(from.toUri() + "nothing", into));
        assertEquals("7.pb.gz", files.fetch(from.toUri() + "executors/7.pb.gz", into));
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> !name.endsWith(".crc"))
                    .collect(Collectors.toList());
        }
    }

    /** The local file system under a scheme and a host. */
    public static final class OtherScheme extends RawLocalFileSystem {
        @Override
        protected void checkPath(org.apache.hadoop.fs.Path path) {}

        @Override
        public java.io.File pathToFile(org.apache.hadoop.fs.Path path) {
            return new java.io.File(path.toUri().getPath());
        }
    }
}
