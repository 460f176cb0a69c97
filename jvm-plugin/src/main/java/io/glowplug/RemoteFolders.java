package io.glowplug;

import io.glowplug.core.Core;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Local copies of folders on Hadoop file systems, for the time of one command. */
final class RemoteFolders implements AutoCloseable {
    private static final String FILES = "io.glowplug.hadoop.CommandFiles";

    private final Map<String, Path> copies = new LinkedHashMap<>();
    private final Map<Path, Long> fetched = new HashMap<>();
    private Path root;
    private Object files;

    /** The local copy of a file or folder; an empty folder when there is nothing at the URI yet. */
    String fetch(String uri) throws IOException, Failure {
        if (root == null) {
            root = Files.createTempDirectory("glowplug-command-");
        }
        Path copy = Files.createDirectory(root.resolve(String.valueOf(copies.size())));
        String single = (String) call("fetch", uri, copy.toString());
        copies.put(uri, single == null ? copy : copy.resolve(single));
        for (Path file : filesIn(copy)) {
            fetched.put(file, Files.getLastModifiedTime(file).toMillis());
        }
        return copies.get(uri).toString();
    }

    /** Puts what is new or was written again where it belongs. */
    void storeChanges() throws IOException, Failure {
        for (Map.Entry<String, Path> copy : copies.entrySet()) {
            for (Path file : filesIn(copy.getValue())) {
                Long before = fetched.get(file);
                if (before == null || before != Files.getLastModifiedTime(file).toMillis()) {
                    String relative = copy.getValue().relativize(file).toString();
                    call("store", file.toString(), relative.isEmpty() ? copy.getKey() : copy.getKey() + "/" + relative);
                }
            }
        }
    }

    String withRemoteNames(String text) {
        String named = text;
        for (Map.Entry<String, Path> copy : copies.entrySet()) {
            named = named.replace(copy.getValue().toString(), copy.getKey());
        }
        return named;
    }

    @Override
    public void close() throws IOException {
        if (root == null) {
            return;
        }
        try (Stream<Path> paths = Files.walk(root)) {
            for (Path path : paths.sorted(Comparator.reverseOrder()).collect(Collectors.toList())) {
                Files.delete(path);
            }
        }
    }

    private static List<Path> filesIn(Path folder) throws IOException {
        try (Stream<Path> paths = Files.walk(folder)) {
            return paths.filter(Files::isRegularFile).collect(Collectors.toList());
        }
    }

    private Object call(String method, String first, String second) throws Failure {
        try {
            if (files == null) {
                files = load().getConstructor().newInstance();
            }
            return files.getClass().getMethod(method, String.class, String.class).invoke(files, first, second);
        } catch (InvocationTargetException e) {
            throw failureOf(first, e.getCause());
        } catch (ReflectiveOperationException | IOException | LinkageError e) {
            throw failureOf(first, e);
        }
    }

    private static Failure failureOf(String path, Throwable cause) {
        if (!(cause instanceof LinkageError)) {
            return new Failure(path + ": " + cause);
        }
        return new Failure(path + " needs Hadoop's classes, and they are not on the class path (" + cause.getMessage()
                + "): set HADOOP_CLASSPATH=$(hadoop classpath), or run spark-class io.glowplug.Main");
    }

    /**
     * With {@code java -jar} the class path is this jar alone: then Hadoop comes from HADOOP_CLASSPATH, in a loader that sees
     * this jar and Hadoop side by side.
     */
    private static Class<?> load() throws IOException, ClassNotFoundException {
        String classPath = System.getenv("HADOOP_CLASSPATH");
        if (classPath == null || isHadoopHere()) {
            return Class.forName(FILES);
        }
        List<URL> urls = new ArrayList<>();
        urls.add(new File(Core.jar()).toURI().toURL());
        for (String entry : classPath.split(File.pathSeparator)) {
            urls.addAll(expand(entry));
        }
        ClassLoader loader = new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getSystemClassLoader().getParent());
        Thread.currentThread().setContextClassLoader(loader);
        return Class.forName(FILES, true, loader);
    }

    private static boolean isHadoopHere() {
        return Main.class.getClassLoader().getResource("org/apache/hadoop/conf/Configuration.class") != null;
    }

    private static List<URL> expand(String entry) throws MalformedURLException {
        if (entry.isEmpty()) {
            return Collections.emptyList();
        }
        if (!entry.endsWith("*")) {
            return Collections.singletonList(new File(entry).toURI().toURL());
        }
        File[] jars = new File(entry.substring(0, entry.length() - 1)).listFiles((folder, name) -> name.endsWith(".jar"));
        List<URL> urls = new ArrayList<>();
        for (File jar : jars == null ? new File[0] : jars) {
            urls.add(jar.toURI().toURL());
        }
        return urls;
    }

    /** Something that the user has to know and mend. */
    static final class Failure extends Exception {
        private static final long serialVersionUID = 1L;

        Failure(String message) {
            super(message);
        }
    }
}
