package io.glowplug.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class LocalFilesTest {
    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void onlyPathsAndFileUrisAreLocal() throws IOException {
        assertTrue(LocalFiles.isLocal("profiles/app_1"));
        assertTrue(LocalFiles.isLocal("/a b/2026-11-29T22:41"));
        assertTrue(LocalFiles.isLocal("file:///a"));
        assertFalse(LocalFiles.isLocal("hdfs://name/a"));
        assertFalse(LocalFiles.isLocal("s3a://bucket/a"));
        assertEquals("/a/b", LocalFiles.localPath("file:/a/b").toString());
        assertEquals("/a/b", LocalFiles.localPath("file:///a/b").toString());
        assertEquals("/a%20b/c", LocalFiles.localPath("file:///a%20b/c").toString());
        assertEquals("/a b/c", LocalFiles.localPath("file:///a b/c").toString());
        assertThrows(IOException.class, () -> LocalFiles.localPath("hdfs://name/a"));
    }

    @Test
    public void aFileIsReplacedAndNothingElseStays() throws IOException {
        Path file = folder.getRoot().toPath().resolve("app/executors/1.pb.gz");
        LocalFiles.write(file, new byte[] {1});
        LocalFiles.write(file, new byte[] {2, 3});
        assertArrayEquals(new byte[] {2, 3}, Files.readAllBytes(file));
        assertArrayEquals(new String[] {"1.pb.gz"}, file.getParent().toFile().list());
    }

    @Test
    public void whatCannotBeReplacedLeavesNoTemporaryFile() throws IOException {
        Path occupied = folder.newFolder("occupied", "by", "folder").toPath().getParent();
        assertThrows(IOException.class, () -> LocalFiles.write(occupied, new byte[] {1}));
        assertArrayEquals(new String[] {"by"}, occupied.getParent().toFile().list());
    }
}
