package io.glowplug.spark;

import io.glowplug.core.Core;
import io.glowplug.core.MachineName;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;

/** Who this process is, as pairs for the core. Nothing here may load a Hadoop file system or ask a name service. */
final class ProcessFields {
    private final List<String> pairs = new ArrayList<>();

    private ProcessFields() {}

    static List<String> of(
            String role, String executorId, boolean local, SparkConf conf, Configuration hadoop, Core core) throws IOException {
        String user = UserGroupInformation.getCurrentUser().getShortUserName();
        return new ProcessFields()
                .add("role", role)
                .add("executor_id", executorId)
                .add("host", host(role, conf))
                .add("spark_version", sparkVersion())
                .add("scala_version", scalaVersion())
                .add("app_name", conf.get("spark.app.name", ""))
                .add("app_id", conf.get("spark.app.id", ""))
                .add("master", conf.get("spark.master", ""))
                .add("deploy_mode", conf.get("spark.submit.deployMode", ""))
                .add("local", String.valueOf(local))
                .add("jar", Core.jar())
                .add("library", core.library())
                .add("user", user)
                .add("default_fs", defaultFileSystem(hadoop))
                .add("user_home", userHome(hadoop, user))
                .pairs;
    }

    static String sparkVersion() {
        return org.apache.spark.package$.MODULE$.SPARK_VERSION();
    }

    static String scalaVersion() {
        try {
            return (String) Class.forName("scala.util.Properties").getMethod("versionNumberString").invoke(null);
        } catch (ReflectiveOperationException e) {
            return "";
        }
    }

    static String defaultFileSystem(Configuration hadoop) {
        return hadoop.get("fs.defaultFS", "");
    }

    /** What FileSystem.getHomeDirectory would say, without loading it. */
    static String userHome(Configuration hadoop, String user) {
        String scheme = URI.create(defaultFileSystem(hadoop).replace(' ', '_')).getScheme();
        if (scheme == null || "file".equals(scheme)) {
            return System.getProperty("user.home", "");
        }
        return hadoop.get("dfs.user.home.dir.prefix", "/user") + "/" + user;
    }

    /** PluginContext.hostname() throws in every executor that is a process of its own. */
    private static String host(String role, SparkConf conf) {
        if ("driver".equals(role)) {
            return conf.get("spark.driver.host", MachineName.get());
        }
        SparkEnv environment = SparkEnv.get();
        if (environment == null || environment.blockManager() == null || environment.blockManager().blockManagerId() == null) {
            return MachineName.get();
        }
        return environment.blockManager().blockManagerId().host();
    }

    private ProcessFields add(String key, String value) {
        pairs.add(key);
        pairs.add(value);
        return this;
    }
}
