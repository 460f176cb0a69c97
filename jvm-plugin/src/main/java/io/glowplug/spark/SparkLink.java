package io.glowplug.spark;

import io.glowplug.core.Link;
import io.glowplug.core.LocalFiles;
import io.glowplug.core.Log;
import io.glowplug.hadoop.HadoopFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.security.PrivilegedExceptionAction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;

/** Writes files as the application's user, and with its class loader: that one knows the file systems of --packages. */
class SparkLink implements Link {
    private final Log log;
    private final Configuration configuration;
    private final UserGroupInformation user;
    private final ClassLoader loader = Thread.currentThread().getContextClassLoader();
    private HadoopFiles files;

    /** Called in a plugin's init, where user and class loader are the application's. */
    SparkLink(Log log, Configuration configuration) throws IOException {
        this.log = log;
        this.configuration = configuration;
        this.user = UserGroupInformation.getCurrentUser();
    }

    @Override
    public byte[] ask(byte[] delta) throws Exception {
        throw new IllegalStateException("the driver has nobody to ask");
    }

    @Override
    public final void write(String path, byte[] content) throws Exception {
        if (LocalFiles.isLocal(path)) {
            LocalFiles.write(LocalFiles.localPath(path), content);
            return;
        }
        asUser(() -> {
            files().write(path, content);
            return null;
        });
    }

    @Override
    public final void delete(String path) throws Exception {
        if (LocalFiles.isLocal(path)) {
            Files.deleteIfExists(LocalFiles.localPath(path));
            return;
        }
        asUser(() -> {
            files().delete(path);
            return null;
        });
    }

    @Override
    public final void log(String level, String message) {
        log.at(level, message);
    }

    private void asUser(PrivilegedExceptionAction<Void> work) throws Exception {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            user.doAs(work);
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    private HadoopFiles files() {
        if (files == null) {
            files = new HadoopFiles(configuration);
        }
        return files;
    }
}
