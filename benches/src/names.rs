use crate::Operation;
use glowplug::profile::names::{fold_thread_name, function_name};
use std::hint::black_box;

pub(crate) static OPERATIONS: [Operation; 2] = [
    Operation { name: "fold a method's name", repeats: 10_000, prepare: methods },
    Operation { name: "fold a thread's name", repeats: 10_000, prepare: threads },
];

fn methods() -> Box<dyn FnMut()> {
    let mut at = 0;
    Box::new(move || {
        let (class, method) = METHODS[at % METHODS.len()];
        at += 1;
        black_box(function_name(black_box(class), black_box(method)));
    })
}

fn threads() -> Box<dyn FnMut()> {
    let mut at = 0;
    Box::new(move || {
        at += 1;
        black_box(fold_thread_name(black_box(THREADS[at % THREADS.len()])));
    })
}

/// As JVMTI gives them, in about the proportion of a Spark stage.
const METHODS: [(&str, &str); 10] = [
    ("Lorg/apache/spark/rdd/RDD;", "iterator"),
    ("Lorg/apache/spark/sql/execution/WholeStageCodegenEvaluatorFactory$WholeStageCodegenPartitionEvaluator;", "eval"),
    (
        "Lorg/apache/spark/sql/catalyst/expressions/GeneratedClass$GeneratedIteratorForCodegenStage3;",
        "hashAgg_doAggregateWithKeys_0$",
    ),
    ("Lscala/collection/Iterator$$anon$10;", "hasNext"),
    ("Lorg/apache/spark/executor/Executor$TaskRunner$$Lambda$2679.0x00007fb618d84be0;", "apply"),
    ("Lorg/apache/spark/executor/Executor$TaskRunner;", "$anonfun$run$3"),
    ("Ljava/util/concurrent/ThreadPoolExecutor$Worker;", "run"),
    ("Ljdk/internal/reflect/GeneratedMethodAccessor12;", "invoke"),
    ("Lcom/sun/proxy/$Proxy12;", "getFileInfo"),
    ("Ljava/lang/Thread;", "run"),
];

const THREADS: [&str; 5] = [
    "Executor task launch worker for task 3.0 in stage 8.0 (TID 10)",
    "dispatcher-event-loop-1",
    "block-manager-storage-async-thread-pool-8",
    "SparkUI-36-acceptor-0@7010d4da-Spark@7ed734a8{HTTP/1.1, (http/1.1)}{0.0.0.0:4040}",
    "C2 CompilerThread0",
];
