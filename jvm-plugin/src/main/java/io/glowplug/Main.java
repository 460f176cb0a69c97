package io.glowplug;

import io.glowplug.core.Core;
import io.glowplug.core.CoreUnavailable;
import io.glowplug.core.LocalFiles;
import io.glowplug.core.StderrLog;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The command: {@code java -jar glowplug-spark.jar report|top ...}. The core does the work on local folders; a folder on a
 * Hadoop file system is copied here before, and what the command wrote there is copied back.
 */
public final class Main {
    private static final int FAILED = 1;

    private Main() {}

    public static void main(String[] arguments) throws IOException {
        System.exit(run(Arrays.asList(arguments), stream(FileDescriptor.out), stream(FileDescriptor.err)));
    }

    private static int run(List<String> arguments, PrintStream out, PrintStream err) throws IOException {
        try (RemoteFolders remote = new RemoteFolders()) {
            List<String> local = new ArrayList<>();
            for (String argument : arguments) {
                local.add(localOf(argument, remote));
            }
            Core core = Core.open(System.getProperty("spark.glowplug.native.dir", ""), "", new StderrLog());
            int exit = print(core.command(local), remote, out, err);
            remote.storeChanges();
            return exit;
        } catch (CoreUnavailable | RemoteFolders.Failure e) {
            err.println("glowplug: " + e.getMessage());
            return FAILED;
        }
    }

    /** A Hadoop URI as an argument, or as the value of an option (--output=hdfs:...), becomes its local copy. */
    private static String localOf(String argument, RemoteFolders remote) throws IOException, RemoteFolders.Failure {
        int equals = argument.startsWith("--") ? argument.indexOf('=') : -1;
        String value = argument.substring(equals + 1);
        if (value.startsWith("file:")) {
            return argument.substring(0, equals + 1) + LocalFiles.localPath(value);
        }
        return LocalFiles.isLocal(value) ? argument : argument.substring(0, equals + 1) + remote.fetch(value);
    }

    private static int print(List<String> pairs, RemoteFolders remote, PrintStream out, PrintStream err) {
        int exit = FAILED;
        for (int i = 0; i + 1 < pairs.size(); i += 2) {
            String text = pairs.get(i + 1);
            switch (pairs.get(i)) {
                case "exit":
                    exit = Integer.parseInt(text);
                    break;
                case "stdout":
                    out.print(remote.withRemoteNames(text));
                    break;
                default:
                    err.print(remote.withRemoteNames(text));
            }
        }
        err.flush();
        if (out.checkError()) {
            err.println("glowplug: the output could not be written");
            err.flush();
            return FAILED;
        }
        return exit;
    }

    private static PrintStream stream(FileDescriptor descriptor) throws IOException {
        return new PrintStream(new FileOutputStream(descriptor), false, "UTF-8");
    }
}
