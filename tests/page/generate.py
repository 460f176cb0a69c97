"""Deterministic profiles for the page's tests: samples first, the page's data made of them.

A test computes what it expects from the samples, never from the data that the page reads.
"""

import base64
import gzip
import json
import random
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK_TYPES = [("delay", "us"), ("contentions", "count")]
TYPES = [("cpu", "us"), ("wall", "us"), ("alloc_space", "bytes"), ("alloc_objects", "count"), ("samples", "count")]
KEYS = ["process", "stage", "stage_attempt", "sql_execution", "job_group", "job_description", "thread_state", "thread", "user_team"]
PERIOD = 10_000


class Profile:
    """Samples (stack, labels, values), and the facts that a report carries beside them."""

    def __init__(self, title):
        self.title = title
        self.samples = []
        self.stages = []
        self.processes = []
        self.warnings = []
        self.folded = []
        self.engine = "cpu=timers(10ms), wall=sweep(50ms), alloc=jvmti(2MiB), runtime=on"
        self.final = True

    def add(self, stack, labels, **values):
        self.samples.append((tuple(stack), labels, values))

    def data(self):
        names, name_ids = [""], {"": 0}
        node_name, node_parent, children = [0], [0], {}
        values = [[] for _ in KEYS]
        value_ids = [{} for _ in KEYS]
        sets, cells = {}, {}
        for stack, labels, sample in self.samples:
            node = 0
            for name in stack:
                name_id = name_ids.setdefault(name, len(names))
                if name_id == len(names):
                    names.append(name)
                key = (node, name_id)
                child = children.get(key)
                if child is None:
                    child = children[key] = len(node_name)
                    node_name.append(name_id)
                    node_parent.append(node)
                node = child
            row = []
            for at, key in enumerate(KEYS):
                if key not in labels:
                    row.append(-1)
                    continue
                ids = value_ids[at]
                value_id = ids.setdefault(labels[key], len(ids))
                if value_id == len(values[at]):
                    values[at].append(labels[key])
                row.append(value_id)
            label_set = sets.setdefault(tuple(row), len(sets))
            cell = cells.setdefault(label_set, {}).setdefault(node, {})
            for value_type, value in sample.items():
                cell[value_type] = cell.get(value_type, 0) + value
        return {
            "format": 1,
            "title": self.title,
            "application": {"id": "application_1764456060000_0042", "name": self.title, "attempt": "1", "spark": "3.5.9", "scala": "2.12"},
            "from": 1_764_456_060_000,
            "to": 1_764_456_362_000,
            "seq": 2,
            "final": self.final,
            "engine": self.engine,
            "period_us": PERIOD,
            "glowplug": "0.1.0",
            "types": [{"name": name, "unit": unit} for name, unit in TYPES + (LOCK_TYPES if any("delay" in values for _, _, values in self.samples) else [])],
            "names": names,
            "layers": [layer(name) for name in names],
            "nodes": {"name": node_name, "up": [node - parent for node, parent in enumerate(node_parent)]},
            "labels": {"keys": KEYS, "values": values, "sets": [list(row) for row in sets]},
            "cells": [cell_of(label_set, by_node) for label_set, by_node in cells.items()],
            "processes": self.processes,
            "stages": self.stages,
            "warnings": self.warnings,
            "folded": self.folded,
        }


def write(profile, template, path):
    """Fills the template as the core does: base64 of the gzipped data, the title escaped."""
    packed = gzip.compress(json.dumps(profile.data(), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"), 6, mtime=0)
    return write_packed(packed, profile.title, template, path)


def write_packed(packed, title, template, path):
    escaped = title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    placeholder = '<script type="text/plain" id="glowplug-data"></script>'
    html = Path(template).read_text("utf-8")
    assert html.count(placeholder) == 1 and html.count("__GLOWPLUG_TITLE__") == 1
    html = html.replace("__GLOWPLUG_TITLE__", escaped)
    html = html.replace(placeholder, placeholder.replace("></", ">" + base64.b64encode(packed).decode() + "</"))
    Path(path).write_text(html, "utf-8")
    return path


def unpacked(text):
    """The data of a page, of the text in its element."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


def cell_of(label_set, by_node):
    nodes = sorted(by_node)
    present = [name for name, _ in TYPES + LOCK_TYPES if any(name in by_node[node] for node in nodes)]
    deltas = [node - before for node, before in zip(nodes, [0] + nodes)]
    return {"set": label_set, "node": deltas, "v": {name: [by_node[node].get(name, 0) for node in nodes] for name in present}}


def layer(name):
    if name.startswith("["):
        return 7
    ends = [at for at, character in enumerate(name) if character in ".$"]
    return next((LAYERS[name[:end]] for end in reversed(ends) if name[:end] in LAYERS), 0)


# The core's table; the numbers are the page's.
# Each kind is a list of texts (Python reads TOML from 3.11 on only).
PREFIXES = {kind: re.findall(r'"([^"]+)"', prefixes)
            for kind, prefixes in re.findall(r"^(\w+) = \[(.*?)\]", (ROOT / "rust-core/src/facts/layers.toml").read_text("utf-8"), re.M | re.S)}
LAYERS = {prefix: number for number, kind in enumerate(["codegen", "sql", "spark", "io", "jdk", "python"], 1) for prefix in PREFIXES[kind]}

# ---------------------------------------------------------------- stacks that Spark is made of

WORKER = [
    "java.lang.Thread.run",
    "java.util.concurrent.ThreadPoolExecutor$Worker.run",
    "java.util.concurrent.ThreadPoolExecutor.runWorker",
    "org.apache.spark.executor.Executor$TaskRunner.run",
    "org.apache.spark.util.Utils$.tryWithSafeFinally",
    "org.apache.spark.executor.Executor$TaskRunner.$anonfun$run$5",
    "org.apache.spark.scheduler.Task.run",
    "org.apache.spark.util.SparkErrorUtils.tryWithSafeFinallyAndFailureCallbacks",
    "org.apache.spark.TaskContext.runTaskWithListeners",
]
SHUFFLE_MAP = [
    "org.apache.spark.scheduler.ShuffleMapTask.runTask",
    "org.apache.spark.shuffle.ShuffleWriteProcessor.write",
    "org.apache.spark.shuffle.sort.UnsafeShuffleWriter.write",
]
RESULT = [
    "org.apache.spark.scheduler.ResultTask.runTask",
    "org.apache.spark.sql.execution.datasources.FileFormatWriter$.$anonfun$executeWrite$1",
    "org.apache.spark.sql.execution.datasources.FileFormatWriter$.executeTask",
    "org.apache.spark.sql.execution.datasources.FileFormatDataWriter.writeWithIterator",
]
RDD = [
    "org.apache.spark.rdd.RDD.iterator",
    "org.apache.spark.rdd.RDD.computeOrReadCheckpoint",
    "org.apache.spark.rdd.MapPartitionsRDD.compute",
    "org.apache.spark.rdd.RDD.$anonfun$mapPartitionsInternal$2$adapted",
    "org.apache.spark.rdd.RDD.$anonfun$mapPartitionsInternal$2",
]
ITERATOR = [
    "scala.collection.Iterator$$anon$10.hasNext",
    "org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory$WholeStageCodegenPartitionEvaluator$$anon$1.hasNext",
    "org.apache.spark.sql.execution.BufferedRowIterator.hasNext",
]
PLANNING = [
    "org.apache.spark.deploy.SparkSubmit$.main",
    "com.acme.etl.Main$.main",
    "org.apache.spark.sql.Dataset.withAction",
    "org.apache.spark.sql.execution.QueryExecution.executedPlan",
    "org.apache.spark.sql.catalyst.rules.RuleExecutor.execute",
]
TRANSFORM = ["org.apache.spark.sql.catalyst.trees.TreeNode.transformDownWithPruning", "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan.mapChildren"]
OPERATORS = [
    "hashAgg_doAggregateWithKeys_0$",
    "sort_addToSorter_0$",
    "smj_findNextJoinRows_0$",
    "hashAgg_doConsume_0$",
    "project_doConsume_0$",
    "columnartorow_nextBatch_0$",
    "bhj_doConsume_0$",
    "filter_doConsume_0$",
]
PACKAGES = [
    "org.apache.spark.sql.execution.",
    "org.apache.spark.sql.catalyst.expressions.",
    "org.apache.spark.unsafe.types.",
    "org.apache.spark.sql.execution.datasources.parquet.",
    "org.apache.spark.sql.execution.vectorized.",
    "org.apache.parquet.column.values.",
    "org.apache.parquet.hadoop.",
    "org.apache.spark.shuffle.sort.",
    "org.apache.spark.util.collection.unsafe.sort.",
    "org.apache.spark.serializer.",
    "com.esotericsoftware.kryo.",
    "com.github.luben.zstd.",
    "net.jpountz.lz4.",
    "org.apache.hadoop.fs.s3a.",
    "software.amazon.awssdk.core.internal.",
    "io.netty.buffer.",
    "java.util.",
    "java.util.zip.",
    "sun.nio.ch.",
    "scala.collection.immutable.",
    "com.acme.etl.sessionize.",
    "com.acme.etl.pricing.rules.",
]
CLASSES = [
    "UnsafeRow",
    "UTF8String",
    "BytesToBytesMap",
    "VectorizedColumnReader",
    "OnHeapColumnVector",
    "ParquetFileReader",
    "UnsafeExternalSorter",
    "ShuffleExternalSorter",
    "KryoSerializer$KryoSerializationStream",
    "ZstdInputStreamNoFinalizer",
    "S3AInputStream",
    "PooledByteBufAllocator",
    "HashMap",
    "Inflater",
    "SessionWindowMerger",
    "RuleEngine",
    "Cast",
    "RegExpReplace",
    "Decimal",
    "TimSort",
    "RadixSort",
    "Murmur3_x86_32",
]
METHODS = ["write", "read", "readBatch", "apply", "hasNext", "next", "get", "put", "append", "compare", "sort", "hash", "eval", "decode", "insertRecord", "allocate", "substring", "$anonfun$apply$1", "lambda$execute$0", "merge", "flush", "grow"]


def codegen(stage, method):
    return f"org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage{stage}.{method}"


def spark_shaped(nodes=100_000, seed=42):
    """A large profile: long common prefixes, recursion to depth 300, 20 stages on 6 processes, all value types."""
    rng = random.Random(seed)
    below = lambda n: int(rng.random() * n)
    zipf = lambda n: min(n - 1, int((n + 1) ** rng.random() - 1))
    profile = Profile("nightly-sessionize (100k)")
    library = sorted({PACKAGES[below(len(PACKAGES))] + CLASSES[below(len(CLASSES))] + "." + METHODS[below(len(METHODS))] + str(below(40)) for _ in range(6500)})
    known, count = {}, 1

    def insert(stack):
        nonlocal count
        """How much of the stack there is room for."""
        node = 0
        for depth, name in enumerate(stack):
            key = (node, name)
            child = known.get(key)
            if child is None:
                if count >= nodes:
                    return depth
                child = known[key] = count
                count += 1
            node = child
        return len(stack)

    def walk(seed_text, length):
        at = (sum(ord(c) * 31 for c in seed_text) + zipf(24) * 17) % len(library)
        for _ in range(length):
            yield library[at]
            at = (at * 31 + 7 * zipf(2 + at % 9) + 1) % len(library)

    stacks = []
    while count < nodes:
        stage, kind = zipf(20), rng.random()
        labels = {"process": str(1 + zipf(5)), "stage": str(stage), "stage_attempt": "0", "sql_execution": str(stage // 4), "job_group": f"group-{stage % 3}", "thread": "Executor task launch worker"}
        if stage % 2:
            labels["user_team"] = "pricing" if stage % 4 == 1 else "growth"
        if kind < 0.88:
            stack = WORKER + (SHUFFLE_MAP if stage % 3 else RESULT) + RDD * (1 + stage % 4) + ITERATOR
            stack = stack + [codegen(1 + stage % 7, "processNext"), codegen(1 + stage % 7, OPERATORS[stage % len(OPERATORS)])]
            stack = stack + list(walk(f"s{stage}", 270 if rng.random() < 0.004 else 2 + below(28)))
        elif kind < 0.94:
            labels = {"process": "driver", "thread": "main"}
            stack = PLANNING + TRANSFORM * (5 + below(130)) + list(walk("driver", 2 + below(30)))
        else:
            labels = {"process": labels["process"], "thread": ["netty", "gc"][below(2)]}
            stack = ([["io.netty.channel.nio.NioEventLoop.run"], ["[GC]"]][labels["thread"] == "gc"]) + list(walk("other", 2 + below(18)))
        stack = stack[:299]
        stacks.append((stack[: insert(stack)], labels))
    for stack, labels in stacks:
        observe(profile, rng, stack, labels, 1 + below(4))
    for _ in range(len(stacks) * 4):
        stack, labels = stacks[zipf(len(stacks)) if rng.random() < 0.5 else below(len(stacks))]
        observe(profile, rng, stack[: max(1, len(stack) - below(6))], labels, 1 + below(4))
    describe(profile)
    return profile


STATES = ["RUNNABLE", "NATIVE", "BLOCKED", "WAITING", "TIMED_WAITING", "IDLE"]


def observe(profile, rng, stack, labels, times):
    profile.add(stack, labels, cpu=times * PERIOD, samples=times)
    state = STATES[min(5, int(rng.random() * rng.random() * 6))]
    profile.add(stack, {**labels, "thread_state": state}, wall=times * PERIOD * 5)
    if rng.random() < 0.25:
        profile.add(stack, labels, alloc_space=times * 524_288, alloc_objects=times * 4096)


def describe(profile):
    """Processes and stages of what the samples say."""
    counts, cpu = {}, {}
    for _, labels, values in profile.samples:
        process = labels.get("process", "driver")
        counts[process] = counts.get(process, 0) + values.get("samples", 0)
        if "stage" in labels:
            cpu[labels["stage"]] = cpu.get(labels["stage"], 0) + values.get("cpu", 0)
    for process in sorted(counts, key=lambda name: (name != "driver", len(name), name)):
        seconds = counts[process] * PERIOD / 1e6
        profile.processes.append(
            {"id": process, "host": "ip-10-0-3-7" if process == "driver" else f"ip-10-0-4-{10 + int(process)}", "ended": "shutdown" if profile.final else "", "own_cpu_s": round(seconds * 0.004, 3), "process_cpu_s": round(seconds * 1.03, 2), "samples": counts[process], "lost": 17 if process == "2" else 0}
        )
    for stage in sorted(cpu, key=int):
        profile.stages.append({"stage": int(stage), "attempt": 0, "name": f"parquet at Sessionize.scala:{40 + int(stage)}", "cpu_ms": cpu[stage] // 1000, "spark_cpu_ms": int(cpu[stage] / 1000 * 1.02)})
    profile.warnings.append({"code": "lost-samples", "message": "17 samples of executor 2 were lost: its ring was full during a long garbage collection.", "count": 1})
    profile.folded.append({"what": "stage attempts", "count": 3, "weight": 40_000})


# ---------------------------------------------------------------- a small job, as one would meet it


def spark_sql(seed=7):
    """A believable Spark SQL job: scan, aggregate, join, Python UDF, planning, GC. For looking at, and for small exact tests."""
    rng = random.Random(seed)
    profile = Profile("nightly-sessionize")
    sql, ex = "org.apache.spark.sql.execution.", "org.apache.spark.sql.catalyst.expressions."
    parquet = [
        sql + "FileSourceScanExec$$anon$1.hasNext",
        sql + "datasources.FileScanRDD$$anon$1.hasNext",
        sql + "datasources.FileScanRDD$$anon$1.nextIterator",
        sql + "datasources.RecordReaderIterator.hasNext",
        sql + "datasources.parquet.VectorizedParquetRecordReader.nextKeyValue",
        sql + "datasources.parquet.VectorizedParquetRecordReader.nextBatch",
    ]
    pages = ["org.apache.parquet.hadoop.ParquetFileReader.readNextFilteredRowGroup", "org.apache.parquet.hadoop.ParquetFileReader.internalReadFilteredRowGroup", "org.apache.parquet.hadoop.ParquetFileReader$ConsecutivePartList.readAll"]
    s3 = pages + ["org.apache.hadoop.fs.s3a.S3AInputStream.read", "software.amazon.awssdk.core.internal.io.SdkLengthAwareInputStream.read", "java.io.BufferedInputStream.read", "sun.security.ssl.SSLSocketImpl$AppInputStream.read"]
    column = [sql + "datasources.parquet.VectorizedColumnReader.readBatch"]
    fetch = ["org.apache.spark.storage.ShuffleBlockFetcherIterator.next", "java.util.concurrent.LinkedBlockingDeque.take", "java.util.concurrent.locks.LockSupport.park", "jdk.internal.misc.Unsafe.park"]
    scan = WORKER + SHUFFLE_MAP + RDD + ITERATOR
    c1, c3, c5 = (lambda m: codegen(1, m)), (lambda m: codegen(3, m)), (lambda m: codegen(5, m))
    s4 = {"stage": "4", "stage_attempt": "0", "sql_execution": "1", "job_group": "sessionize", "job_description": "save sessions", "thread": "Executor task launch worker", "user_team": "growth"}
    s5 = {**s4, "stage": "5"}
    s7 = {**s4, "stage": "7", "sql_execution": "2", "job_group": "pricing", "job_description": "price list", "user_team": "pricing"}
    s7b = {**s7, "stage_attempt": "1"}
    build = scan + [c1("processNext"), c1("hashAgg_doAggregateWithKeys_0$")]
    read = build + [c1("columnartorow_nextBatch_0$")] + parquet
    join = WORKER + SHUFFLE_MAP + RDD + RDD + ITERATOR + [c3("processNext"), c3("smj_findNextJoinRows_0$")]
    udf = WORKER + RESULT + RDD + ITERATOR + [c5("processNext"), c5("project_doConsume_0$")]
    sessions = build + [c1("hashAgg_doConsume_0$"), "com.acme.etl.sessionize.SessionWindowMerger$.merge", "com.acme.etl.sessionize.SessionWindowMerger$.$anonfun$merge$3"]
    sorting = join + [sql + "UnsafeExternalRowSorter.sort", "org.apache.spark.util.collection.unsafe.sort.UnsafeExternalSorter.getSortedIterator", "org.apache.spark.util.collection.unsafe.sort.UnsafeInMemorySorter.getSortedIterator"]
    rules = udf + ["com.acme.etl.pricing.rules.RuleEngine.evaluate", "com.acme.etl.pricing.rules.RuleEngine.evaluateAll"]
    plan = ["java.lang.Thread.run", "com.acme.etl.Main$.main", "com.acme.etl.Main$.run", "org.apache.spark.sql.DataFrameWriter.save", "org.apache.spark.sql.execution.QueryExecution.optimizedPlan", "org.apache.spark.sql.catalyst.rules.RuleExecutor.executeAndTrack", "org.apache.spark.sql.catalyst.rules.RuleExecutor.$anonfun$execute$2"]
    busy = [
        (read + column + [sql + "datasources.parquet.VectorizedRleValuesReader.readBatch", sql + "datasources.parquet.VectorizedRleValuesReader.readIntegers"], s4, 900),
        (read + column + [sql + "datasources.parquet.VectorizedRleValuesReader.readBatch", sql + "vectorized.OnHeapColumnVector.putDictionaryIds"], s4, 340),
        (read + column + ["org.apache.parquet.column.values.dictionary.PlainValuesDictionary$PlainBinaryDictionary.decodeToBinary"], s4, 260),
        (read + pages + ["com.github.luben.zstd.ZstdInputStreamNoFinalizer.read", "com.github.luben.zstd.ZstdInputStreamNoFinalizer.decompressStream"], s4, 720),
        (read + s3 + ["sun.security.ssl.SSLCipher$T13GcmReadCipherGenerator$GcmReadCipher.decrypt", "com.sun.crypto.provider.GaloisCounterMode$GCMDecrypt.doUpdate"], s4, 410),
        (build + [ex + "UnsafeRow.getUTF8String", "org.apache.spark.unsafe.types.UTF8String.fromAddress"], s4, 130),
        (build + [sql + "UnsafeFixedWidthAggregationMap.getAggregationBufferFromUnsafeRow", "org.apache.spark.unsafe.map.BytesToBytesMap.safeLookup", "org.apache.spark.unsafe.array.ByteArrayMethods.arrayEquals"], s4, 560),
        (build + [sql + "UnsafeFixedWidthAggregationMap.getAggregationBufferFromUnsafeRow", "org.apache.spark.unsafe.map.BytesToBytesMap.safeLookup"], s4, 240),
        (build + [sql + "UnsafeFixedWidthAggregationMap.getAggregationBufferFromUnsafeRow", "org.apache.spark.unsafe.hash.Murmur3_x86_32.hashUnsafeWords"], s4, 310),
        (sessions + ["java.util.HashMap.computeIfAbsent"], s4, 280),
        (sessions + ["com.acme.etl.sessionize.Gap.between", "java.time.Duration.between", "java.time.temporal.ChronoUnit.between"], s4, 620),
        (sessions, s4, 190),
        (scan[:12] + ["org.apache.spark.shuffle.sort.ShuffleExternalSorter.insertRecord"], s4, 220),
        (scan[:12] + ["org.apache.spark.shuffle.sort.ShuffleExternalSorter.writeSortedFile", "net.jpountz.lz4.LZ4BlockOutputStream.flushBufferedData", "net.jpountz.lz4.LZ4JNICompressor.compress"], s4, 300),
        (join + [ex + "GeneratedClass$SpecificOrdering.compare"], s5, 420),
        (join + ["org.apache.spark.sql.execution.joins.SortMergeJoinScanner.advancedBufferedToRowWithNullFreeJoinKey"], s5, 150),
        (sorting + ["org.apache.spark.util.collection.unsafe.sort.RadixSort.sortKeyPrefixArray"], s5, 510),
        (sorting + ["org.apache.spark.util.collection.TimSort.sort", "org.apache.spark.util.collection.TimSort$SortState.mergeHi", sql + "UnsafeExternalRowSorter$RowComparator.compare"], s5, 380),
        (join + fetch[:1] + ["org.apache.spark.storage.BufferReleasingInputStream.read", "net.jpountz.lz4.LZ4BlockInputStream.refill", "net.jpountz.lz4.LZ4JNIFastDecompressor.decompress"], s5, 190),
        (rules + ["com.acme.etl.pricing.rules.Discount.apply", "java.math.BigDecimal.divide", "java.math.MutableBigInteger.divideKnuth"], s7, 760),
        (rules + ["com.acme.etl.pricing.rules.Discount.apply", "java.math.BigDecimal.multiply"], s7, 270),
        (rules + ["com.acme.etl.pricing.rules.Currency.parse", "java.util.regex.Pattern.compile", "java.util.regex.Pattern.sequence"], s7, 450),
        (rules + ["com.acme.etl.pricing.rules.Discount.apply", "java.math.BigDecimal.divide"], s7b, 90),
        (udf + ["org.apache.spark.api.python.BasePythonRunner$ReaderIterator.hasNext", "org.apache.spark.sql.execution.python.ArrowPythonRunner$$anon$2.read", "org.apache.arrow.vector.ipc.ArrowStreamReader.loadNextBatch"], s7, 160),
        (udf[:13] + ["org.apache.spark.sql.execution.datasources.parquet.ParquetOutputWriter.write", "org.apache.parquet.hadoop.InternalParquetRecordWriter.write", "org.xerial.snappy.SnappyNative.rawCompress"], s7, 330),
    ]
    for depth, weight in [(6, 40), (9, 90), (13, 120), (22, 60)]:
        busy.append((plan + TRANSFORM * depth + ["org.apache.spark.sql.catalyst.expressions.Expression.canonicalized"], {"thread": "main"}, weight))
        busy.append((plan + TRANSFORM * depth + ["scala.collection.immutable.List.map"], {"thread": "main"}, weight // 2))
    busy.append((plan[:4] + ["org.codehaus.janino.SimpleCompiler.cook", "org.codehaus.janino.UnitCompiler.compileUnit"], {"thread": "main"}, 110))
    for root, weight in [("[GC]", 380), ("[JIT]", 290), ("[VM]", 24), ("[glowplug]", 14)]:
        busy.append(([root], {"thread": root}, weight))
    waiting = [
        (join + fetch, s5, "WAITING", 700),
        (read + s3 + ["sun.nio.ch.SocketDispatcher.read0"], s4, "NATIVE", 640),
        (udf + ["org.apache.spark.api.python.BasePythonRunner$ReaderIterator.hasNext", "java.io.DataInputStream.readInt", "sun.nio.ch.SocketDispatcher.read0"], s7, "NATIVE", 520),
        (rules + ["org.apache.logging.log4j.core.appender.OutputStreamManager.writeBytes"], s7, "BLOCKED", 260),
        (plan[:4] + ["org.apache.spark.scheduler.DAGScheduler.runJob", "org.apache.spark.util.ThreadUtils$.awaitReady", "java.util.concurrent.locks.LockSupport.parkNanos"], {"thread": "main"}, "TIMED_WAITING", 900),
        (["java.lang.Thread.run", "java.util.concurrent.ThreadPoolExecutor$Worker.run", "java.util.concurrent.ThreadPoolExecutor.getTask", "java.util.concurrent.LinkedBlockingQueue.take"], {"thread": "dispatcher-event-loop"}, "IDLE", 5200),
    ]
    for stack, labels, weight in busy:
        on_driver = "stage" not in labels and not stack[0].startswith("[")
        for process in ["driver"] if on_driver else ["1", "2", "3"]:
            times = max(1, int(weight * (0.7 + 0.6 * rng.random()) / (1 if on_driver else 3)))
            here = {**labels, "process": process}
            profile.add(stack, here, cpu=times * PERIOD, samples=times)
            profile.add(stack, {**here, "thread_state": "RUNNABLE"}, wall=int(times * PERIOD * 1.1))
            if not stack[-1].startswith("[") and rng.random() < 0.6:
                profile.add(stack, here, alloc_space=times * 300_000, alloc_objects=times * 5200)
    for stack, labels, state, weight in waiting:
        for process in ["driver"] if "stage" not in labels and state != "IDLE" else ["1", "2", "3"]:
            times = int(weight * (0.7 + 0.6 * rng.random()) / 3)
            profile.add(stack, {**labels, "process": process, "thread_state": state}, wall=times * PERIOD)
    describe(profile)
    return profile


# ---------------------------------------------------------------- names that attack the page

HOSTILE = [
    "com.evil.</script><script>window.hacked=1</script>.run",
    "com.evil.<img src=x onerror=window.hacked=1>.run",
    "com.evil.\"'`${window.hacked=1}`.run",
    "com.evil.🔥Fire.😀",
    "com.evil.Right\u202eToLeft.override",
    "com.evil.Zero\u200bWidth\ufeff.join\u200d",
    "com.evil.Line\nBreak\u2028.tab\t\0",
    "com.evil." + "Long" * 2500 + ".method",
    "com.evil.שלום.مرحبا",
    "com.evil.<!--<script>.run",
    "__proto__",
    "constructor",
    "com.evil.semi;colon 42",
    "com.evil.&lt;b&gt;.run",
]


def hostile():
    profile = Profile("</title><script>window.hacked=1</script> \"quoted\" \u202e 😀")
    for at, name in enumerate(HOSTILE):
        labels = {"process": "driver", "stage": name[:60], "user_team": "</script><b>"}
        profile.add([name, HOSTILE[(at + 1) % len(HOSTILE)]], labels, cpu=(at + 1) * 100_000, samples=(at + 1) * 10)
    profile.processes.append({"id": "driver", "host": "<i>host</i>", "ended": "", "own_cpu_s": 0.1, "process_cpu_s": 10.0, "samples": 1050, "lost": 0})
    profile.stages.append({"stage": 0, "attempt": 0, "name": "</script><script>window.hacked=1</script>", "cpu_ms": 1, "spark_cpu_ms": 1})
    profile.warnings.append({"code": "<b>", "message": "<img src=x onerror=window.hacked=1>", "count": 2})
    return profile


def empty():
    """An application that ended before its first sample."""
    profile = Profile("too short")
    profile.engine = "cpu=timers(10ms), wall=off, alloc=off, runtime=on"
    return profile


def only_cpu():
    profile = Profile("cpu only")
    profile.engine = "cpu=timers(10ms), wall=off, alloc=off, runtime=on"
    labels = {"process": "driver", "stage": "1"}
    profile.add(["a.Main.main", "a.Main.recurse", "a.Main.recurse", "a.Main.leaf"], labels, cpu=3_000_000, samples=300)
    profile.add(["a.Main.main", "a.Main.recurse", "a.Main.other", "a.Main.recurse"], {**labels, "stage": "2"}, cpu=1_000_000, samples=100)
    return profile


WALK, VISIT, LEAF, DESCEND = "com.acme.Plan.walk", "com.acme.Plan.visit", "com.acme.Expression.eval", "com.acme.Parser.descend"


def recursive():
    """Two methods that call each other up to 200 times, one that calls itself up to 60 times."""
    profile = Profile("recursive")
    labels = {"process": "driver", "stage": "1", "thread": "main"}
    start = ["java.lang.Thread.run", "com.acme.Main.main"]
    for depth, weight in [(1, 10), (3, 20), (40, 70), (120, 150), (200, 250)]:
        pairs = [WALK, VISIT] * depth
        profile.add(start + pairs, labels, cpu=weight * PERIOD, samples=weight)
        profile.add(start + pairs + [LEAF], labels, cpu=3 * weight * PERIOD, samples=3 * weight)
        if depth < 200:
            profile.add(start + pairs + [WALK, "java.util.ArrayList.add"], labels, cpu=weight // 2 * PERIOD, samples=weight // 2)
    for depth in range(1, 61):
        profile.add(start + [DESCEND] * depth + ["com.acme.Parser.token"], labels, cpu=5 * PERIOD, samples=5)
    describe(profile)
    return profile


def only_zeros():
    """What engines that are off leave in pprof files."""
    profile = only_cpu()
    for _, _, values in profile.samples:
        values.update(wall=0, alloc_space=0, alloc_objects=0)
    return profile


def locks():
    profile = only_cpu()
    profile.add(["a.Main.main", "a.Main.locked"], {"process": "driver"}, delay=2_500_000, contentions=12)
    return profile
