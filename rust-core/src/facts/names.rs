//! What a function's name tells: its layer, its SQL operator.

use super::table;
use once_cell::sync::Lazy;
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// The layer of the software that a function belongs to; the numbers stand in the page's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Layer {
    /// The user's own code and libraries that nobody listed.
    User = 0,
    /// Code that Spark generated for a query.
    Codegen = 1,
    /// Spark SQL.
    Sql = 2,
    /// Spark core, shuffle, scheduler.
    Spark = 3,
    /// File formats, codecs, file systems, network.
    Io = 4,
    /// JDK and Scala library.
    Jdk = 5,
    /// Python and the bridge to it.
    Python = 6,
    /// What is not Java: `[GC]`, `[native]`, `[unknown]`.
    Native = 7,
}

/// The layer of a function, by its full name.
pub fn layer(function: &str) -> Layer {
    if function.starts_with('[') {
        return Layer::Native;
    }
    let beginnings = function.rmatch_indices(['.', '$']).map(|(end, _)| &function[..end]);
    beginnings.filter_map(|beginning| LAYERS.get(beginning)).next().copied().unwrap_or(Layer::User)
}

/// The SQL operator that a function of whole-stage codegen belongs to: `HashAggregate` for
/// `…GeneratedClass$GeneratedIteratorForCodegenStage3.hashAgg_doAggregateWithKeys_0$`.
pub fn operator(function: &str) -> Option<&'static str> {
    let (class, method) = function.rsplit_once('.')?;
    if !class.contains("$GeneratedIteratorForCodegenStage") {
        return None;
    }
    let (prefix, _) = method.split_once('_')?;
    CODEGEN.operators.get(prefix).map(String::as_str)
}

#[derive(Deserialize)]
struct Layers {
    prefixes: Prefixes,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Prefixes {
    codegen: Vec<String>,
    sql: Vec<String>,
    spark: Vec<String>,
    io: Vec<String>,
    jdk: Vec<String>,
    python: Vec<String>,
}

#[derive(Deserialize)]
struct Codegen {
    operators: FxHashMap<String, String>,
}

static CODEGEN: Lazy<Codegen> = Lazy::new(|| table("codegen.toml", include_str!("codegen.toml")));

static LAYERS: Lazy<FxHashMap<String, Layer>> = Lazy::new(|| {
    let Layers { prefixes } = table("layers.toml", include_str!("layers.toml"));
    let rows = [
        (Layer::Codegen, prefixes.codegen),
        (Layer::Sql, prefixes.sql),
        (Layer::Spark, prefixes.spark),
        (Layer::Io, prefixes.io),
        (Layer::Jdk, prefixes.jdk),
        (Layer::Python, prefixes.python),
    ];
    rows.into_iter().flat_map(|(layer, names)| names.into_iter().map(move |name| (name, layer))).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_of_real_names() {
        let names = [
            ("com.example.Job$.hotSpot", Layer::User),
            ("io.glowplug.SampleSparkApp.main", Layer::User),
            ("App.main", Layer::User),
            ("main", Layer::User),
            ("", Layer::User),
            ("javassist.Loader.loadClass", Layer::User),
            ("scalaz.Free.go", Layer::User),
            (
                "org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage3.processNext",
                Layer::Codegen,
            ),
            (
                "org.apache.spark.sql.catalyst.expressions.GeneratedClass$SpecificUnsafeProjection.apply",
                Layer::Codegen,
            ),
            ("org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory$WholeStageCodegenPartitionEvaluator$$anon$1.hasNext", Layer::Sql),
            ("org.apache.spark.unsafe.types.UTF8String.hashCode", Layer::Sql),
            ("org.codehaus.janino.UnitCompiler.compile", Layer::Sql),
            ("org.apache.hadoop.hive.serde2.lazy.LazyStruct.parse", Layer::Sql),
            ("org.apache.spark.scheduler.Task.run", Layer::Spark),
            ("io.glowplug.core.Native.taskEnd", Layer::Spark),
            ("io.glowplug.spark.ExecutorHalf.init", Layer::Spark),
            ("org.apache.xbean.asm9.ClassReader.accept", Layer::Spark),
            ("com.fasterxml.jackson.databind.ObjectMapper.readValue", Layer::Spark),
            ("org.datanucleus.store.StoreManager.find", Layer::Sql),
            ("org.apache.spark.rpc.netty.MessageLoop$$anon$1.run", Layer::Spark),
            ("org.sparkproject.jetty.util.thread.QueuedThreadPool$Runner.run", Layer::Spark),
            ("com.esotericsoftware.kryo.Kryo.writeObject", Layer::Spark),
            ("org.apache.spark.sql.execution.datasources.parquet.VectorizedRleValuesReader.readBatch", Layer::Io),
            ("org.apache.parquet.column.values.rle.RunLengthBitPackingHybridDecoder.readNext", Layer::Io),
            ("org.apache.hadoop.hdfs.DFSInputStream.read", Layer::Io),
            ("io.netty.channel.nio.NioEventLoop.run", Layer::Io),
            ("com.github.luben.zstd.ZstdInputStreamNoFinalizer.read", Layer::Io),
            ("net.jpountz.lz4.LZ4JNI.LZ4_compress_limitedOutput", Layer::Io),
            ("java.util.HashMap.put", Layer::Jdk),
            ("jdk.internal.misc.Unsafe.park", Layer::Jdk),
            ("sun.nio.ch.EPoll.wait", Layer::Jdk),
            ("scala.collection.Iterator$$anon$10.next", Layer::Jdk),
            ("py4j.ClientServerConnection.run", Layer::Python),
            ("[GC]", Layer::Native),
            ("[folded]", Layer::Native),
        ];
        for (name, expected) in names {
            assert_eq!(layer(name), expected, "{name}");
        }
    }

    #[test]
    fn layers_have_the_numbers_of_the_pages_data() {
        let layers = [
            Layer::User,
            Layer::Codegen,
            Layer::Sql,
            Layer::Spark,
            Layer::Io,
            Layer::Jdk,
            Layer::Python,
            Layer::Native,
        ];
        assert_eq!(layers.map(|layer| layer as u8), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn operators_of_generated_functions() {
        let generated = |method: &str| {
            operator(&format!(
                "org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage12.{method}"
            ))
        };
        assert_eq!(generated("hashAgg_doAggregateWithKeys_0$"), Some("HashAggregate"));
        assert_eq!(generated("agg_doConsume_0$"), Some("HashAggregate"));
        assert_eq!(generated("smj_findNextJoinRows_0$"), Some("SortMergeJoin"));
        assert_eq!(generated("sort_addToSorter_0$"), Some("Sort"));
        assert_eq!(generated("project_doConsume_0$"), Some("Project"));
        assert_eq!(generated("columnartorow_nextBatch_0$"), Some("ColumnarToRow"));
        assert_eq!(generated("processNext"), None);
        assert_eq!(generated("unknown_doConsume_0$"), None);
        assert_eq!(operator("com.example.Job.sort_things"), None);
        assert_eq!(operator("[GC]"), None);
    }
}
