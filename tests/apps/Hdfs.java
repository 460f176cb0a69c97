import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A NameNode and a DataNode in one JVM, in the empty folder that is the argument; says its address and ends with its stdin. */
public final class Hdfs {
    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
        cluster.waitActive();
        System.out.println(cluster.getURI());
        while (System.in.read() >= 0) {
            // Whoever started this JVM holds the other end.
        }
        cluster.shutdown();
    }
}
