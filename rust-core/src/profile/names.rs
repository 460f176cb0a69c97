//! One name for one piece of code, whatever the JVM calls it this time.
//!
//! Lambdas, hidden classes, reflection accessors, proxies and lambda forms carry counters, addresses
//! and hashes that differ from JVM to JVM, and thread names carry task and pool numbers. Folding them
//! is what lets the profiles of a thousand executors merge. Names that say something to a user keep
//! it: Scala's `$anonfun$run$1` and the stage number of whole-stage code are the same in every JVM.

/// Longest name in characters; a longer one ends in `…`.
pub const LONGEST_NAME: usize = 1000;

/// `package.Class.method` from a class's name and a method's name. The class may be a JVM signature
/// (`Lorg/foo/Bar;`), internal (`org/foo/Bar`) or dotted.
pub fn function_name(class: &str, method: &str) -> String {
    let mut name = String::with_capacity(class.len() + 1 + method.len());
    push_class(&mut name, class);
    name.push('.');
    name.push_str(stable_method(method));
    cut(name)
}

/// A class's folded name, dotted. An array signature becomes `org.foo.Bar[]`.
pub fn fold_class_name(class: &str) -> String {
    let mut name = String::with_capacity(class.len());
    push_class(&mut name, class);
    cut(name)
}

/// A method's name without what an instrumenting agent appended to it.
pub fn fold_method_name(method: &str) -> String {
    cut(stable_method(method).to_owned())
}

/// A job's description as a label: its first line. The batches of a streaming query have one for all of them,
/// with the query's name and id.
pub fn fold_description(description: &str) -> String {
    let first = description.lines().next().unwrap_or("");
    // StreamExecution.getBatchDescriptionString in Spark 3.0 to 4.3: name, id, runId and batch on a line each, all but
    // the last one ended by <br/>; without a name the line of the id is the first that is not empty.
    let lines = description.lines().map(|line| line.trim().trim_end_matches("<br/>"));
    let parts: Vec<&str> = lines.filter(|line| !line.is_empty()).take(5).collect();
    match parts[..] {
        [name, id, run, batch] if is_batch(id, run, batch) => format!("{name} {id}"),
        [id, run, batch] if is_batch(id, run, batch) => id.to_owned(),
        _ => first.to_owned(),
    }
}

fn is_batch(id: &str, run: &str, batch: &str) -> bool {
    id.starts_with("id = ") && run.starts_with("runId = ") && batch.starts_with("batch = ")
}

/// A thread's name with its numbers, ids and addresses as `#`.
pub fn fold_thread_name(name: &str) -> String {
    let by_work = THREADS_NAMED_BY_WORK.into_iter().find(|(prefix, _)| name.starts_with(prefix));
    if let Some((_, folded)) = by_work {
        return folded.to_owned();
    }
    let bytes = name.as_bytes();
    let mut folded = String::with_capacity(name.len());
    let mut at = 0;
    let mut copied = 0;
    while at < bytes.len() {
        let in_word = at > 0 && bytes[at - 1].is_ascii_alphanumeric();
        if !in_word {
            if let Some(word) = kept_word(&bytes[at..]) {
                at += word;
                continue;
            }
        }
        let number = number_length(&bytes[at..], in_word);
        if number == 0 {
            at += 1;
            continue;
        }
        folded.push_str(&name[copied..at]);
        if !folded.ends_with('#') {
            folded.push('#');
        }
        at += number;
        copied = at;
    }
    folded.push_str(&name[copied..]);
    cut(folded)
}

/// Threads whose name says what they work on: the rest of the name would give every task or file a
/// thread of its own.
///
/// Spark 4 calls a task thread otherwise while it has no task; it is the same thread.
const THREADS_NAMED_BY_WORK: [(&str, &str); 4] = [
    ("Executor task launch worker", "Executor task launch worker"),
    ("Executor task idle worker", "Executor task launch worker"),
    ("DataStreamer for file", "DataStreamer for file"),
    ("ResponseProcessor for block", "ResponseProcessor for block"),
];

/// Words that end in, or hold, a digit which is no number of a thread.
const WORDS_WITH_DIGITS: [&str; 10] =
    ["C1", "C2", "G1", "S3", "s3", "s3a", "python2", "python3", "log4j2", "Log4j2"];

fn push_class(name: &mut String, class: &str) {
    let dimensions = class.bytes().take_while(|byte| *byte == b'[').count();
    let element = &class[dimensions..];
    match (dimensions, primitive(element)) {
        (1.., Some(primitive)) => name.push_str(primitive),
        _ => {
            let element =
                element.strip_prefix('L').and_then(|rest| rest.strip_suffix(';')).unwrap_or(element);
            let (package, class) = stable_class(element);
            push_dotted(name, package);
            push_dotted(name, class);
        }
    }
    name.extend(std::iter::repeat_n("[]", dimensions));
}

fn push_dotted(name: &mut String, text: &str) {
    for (at, segment) in text.split('/').enumerate() {
        if at > 0 {
            name.push('.');
        }
        name.push_str(segment);
    }
}

fn primitive(element: &str) -> Option<&'static str> {
    Some(match element {
        "B" => "byte",
        "C" => "char",
        "D" => "double",
        "F" => "float",
        "I" => "int",
        "J" => "long",
        "S" => "short",
        "Z" => "boolean",
        _ => return None,
    })
}

/// What stays of a class's name: a head and a tail, because a proxy loses digits in the middle.
fn stable_class(class: &str) -> (&str, &str) {
    let class = without_hidden_suffix(class);
    let base = class.trim_end_matches(|last: char| last.is_ascii_digit());
    if base.len() < class.len() {
        if let Some(lambda) = base.strip_suffix('$').filter(|lambda| lambda.ends_with("$$Lambda")) {
            return (lambda, "");
        }
        if let Some(package) = base.strip_suffix("$Proxy") {
            if package.is_empty() || package.ends_with(['/', '.']) {
                return (without_proxy_number(package), &base[package.len().saturating_sub(1)..]);
            }
        }
        if COUNTED_CLASSES.into_iter().any(|counted| base.ends_with(counted)) {
            return (base, "");
        }
    }
    (without_random_tail(class), "")
}

/// Classes of the JDK that a counter follows. Lambda forms carry one where they are dumped.
const COUNTED_CLASSES: [&str; 6] = [
    "GeneratedMethodAccessor",
    "GeneratedConstructorAccessor",
    "GeneratedSerializationConstructorAccessor",
    "LambdaForm$MH",
    "LambdaForm$DMH",
    "LambdaForm$BMH",
];

/// Class generators end a name in a hash, a counter or a random text.
fn without_random_tail(class: &str) -> &str {
    for (at, _) in class.match_indices('$') {
        let (head, tail) = class.split_at(at);
        if head.ends_with("CGLIB") && tail.starts_with("$$") {
            return head;
        }
        if let Some(marker) = RANDOM_TAILS.into_iter().find(|marker| tail.starts_with(marker)) {
            return class[..at + marker.len()].trim_end_matches(['$', '_']);
        }
    }
    class
}

const RANDOM_TAILS: [&str; 4] = ["$ByteBuddy$", "$MockitoMock$", "$$_jvst", "$$_javassist_"];

/// Cuts the address or hash of a hidden class. It follows `/` (Class.getName, and JDK 8 in all
/// places), `.` (JVMTI signatures from JDK 15) or `+` (inside HotSpot). No Java name begins with a
/// digit.
fn without_hidden_suffix(class: &str) -> &str {
    let Some(at) = class.rfind(['/', '.', '+']) else { return class };
    let suffix = &class[at + 1..];
    let hidden = match class.as_bytes()[at] {
        b'+' => suffix.starts_with("0x"),
        _ => suffix.starts_with(|first: char| first.is_ascii_digit()),
    };
    if hidden {
        &class[..at]
    } else {
        class
    }
}

/// `jdk/proxy2/` without its number: it counts the class loaders that have asked for proxies.
/// The separator is left to the caller.
fn without_proxy_number(package: &str) -> &str {
    let package = package.strip_suffix(['/', '.']).unwrap_or(package);
    let base = package.trim_end_matches(|last: char| last.is_ascii_digit());
    if base.ends_with("jdk/proxy") || base.ends_with("jdk.proxy") {
        base
    } else {
        package
    }
}

/// Byte Buddy renames the method that it wraps with eight random characters.
fn stable_method(method: &str) -> &str {
    for (at, _) in method.match_indices('$') {
        if let Some(kept) = WRAPPED.into_iter().find(|kept| method[at..].starts_with(kept)) {
            return &method[..at + kept.len() - 1];
        }
    }
    method
}

const WRAPPED: [&str; 2] = ["$original$", "$accessor$"];

fn kept_word(text: &[u8]) -> Option<usize> {
    let length = text.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    WORDS_WITH_DIGITS.into_iter().any(|word| word.as_bytes() == &text[..length]).then_some(length)
}

/// Length of the number, address, hash or UUID at the start of `text`; 0 if there is none.
fn number_length(text: &[u8], in_word: bool) -> usize {
    if !in_word {
        if is_uuid(text) {
            return UUID_LENGTH;
        }
        let prefixed = if text.starts_with(b"0x") { 2 } else { 0 };
        let length = prefixed + text[prefixed..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let ends = text.get(length).is_none_or(|next| !next.is_ascii_alphanumeric());
        let has_digit = text[..length].iter().any(u8::is_ascii_digit);
        if ends && has_digit && (prefixed > 0 || length >= 6) {
            return length;
        }
    }
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

const UUID_LENGTH: usize = 36;

fn is_uuid(text: &[u8]) -> bool {
    text.len() >= UUID_LENGTH
        && text[..UUID_LENGTH].iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn cut(mut name: String) -> String {
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let Some((last, _)) = name.char_indices().nth(LONGEST_NAME - 1) else { return name };
    if name[last..].chars().nth(1).is_some() {
        name.truncate(last);
        name.push('…');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Class as a JVM gives it, method, what stands in a profile. Rows marked with a JDK were read
    /// from that JDK by JVMTI or in a stack trace.
    const FUNCTIONS: &[(&str, &str, &str)] = &[
        // Plain names in the three spellings.
        ("Lorg/apache/spark/rdd/RDD;", "iterator", "org.apache.spark.rdd.RDD.iterator"),
        ("org/apache/spark/rdd/RDD", "iterator", "org.apache.spark.rdd.RDD.iterator"),
        ("org.apache.spark.rdd.RDD", "iterator", "org.apache.spark.rdd.RDD.iterator"),
        ("LN;", "<init>", "N.<init>"),
        ("Ljava/util/Arrays$ArrayList;", "forEach", "java.util.Arrays$ArrayList.forEach"),
        ("Ljava/lang/reflect/Proxy$1;", "<clinit>", "java.lang.reflect.Proxy$1.<clinit>"),
        ("L日本/クラス;", "実行", "日本.クラス.実行"),
        // Lambdas: JDK 8 and 11, 17, 21 and 25; by JVMTI, by Class.getName, inside HotSpot, OpenJ9.
        ("LN$$Lambda$1/303563356;", "run", "N$$Lambda.run"),
        ("N$$Lambda$14/0x0000000800066840", "run", "N$$Lambda.run"),
        ("LN$$Lambda$14.0x00007fb2a0004428;", "run", "N$$Lambda.run"),
        ("LN$$Lambda.0x000000004f042868;", "run", "N$$Lambda.run"),
        ("N$$Lambda/0x000000004f040c00", "run", "N$$Lambda.run"),
        ("N$$Lambda$14+0x00007fb2a0004428", "run", "N$$Lambda.run"),
        ("N$$Lambda$5/0x00000000e0123450", "accept", "N$$Lambda.accept"),
        ("N$$Lambda$5", "accept", "N$$Lambda.accept"),
        // From the class-data archive.
        (
            "Ljava/lang/module/ModuleDescriptor$Builder$$Lambda$1.0x800000002;",
            "apply",
            "java.lang.module.ModuleDescriptor$Builder$$Lambda.apply",
        ),
        // Scala's lambdas, Spark 3.5 on JDK 17.
        (
            "org.apache.spark.scheduler.AsyncEventQueue$$anon$2$$Lambda$1962/0x00007fb6189a0ba0",
            "apply$mcV$sp",
            "org.apache.spark.scheduler.AsyncEventQueue$$anon$2$$Lambda.apply$mcV$sp",
        ),
        (
            "org.apache.spark.sql.execution.SQLExecution$$$Lambda$2679/0x00007fb618d84be0",
            "apply",
            "org.apache.spark.sql.execution.SQLExecution$$$Lambda.apply",
        ),
        // Scala's anonymous functions are the same in every JVM.
        (
            "Lorg/apache/spark/scheduler/AsyncEventQueue;",
            "$anonfun$dispatch$1",
            "org.apache.spark.scheduler.AsyncEventQueue.$anonfun$dispatch$1",
        ),
        (
            "Lorg/apache/spark/repl/SparkILoop;",
            "$anonfun$process$8$adapted",
            "org.apache.spark.repl.SparkILoop.$anonfun$process$8$adapted",
        ),
        (
            "Lorg/apache/spark/sql/catalyst/plans/QueryPlan$$anonfun$transformUpWithSubqueries$1;",
            "applyOrElse",
            "org.apache.spark.sql.catalyst.plans.QueryPlan$$anonfun$transformUpWithSubqueries$1.applyOrElse",
        ),
        (
            "Lorg/apache/spark/scheduler/AsyncEventQueue$$anon$2;",
            "$anonfun$run$1",
            "org.apache.spark.scheduler.AsyncEventQueue$$anon$2.$anonfun$run$1",
        ),
        ("Lcom/acme/Job;", "lambda$main$3", "com.acme.Job.lambda$main$3"),
        ("Lcom/acme/Job;", "lambda$main$bd1f64ce$1", "com.acme.Job.lambda$main$bd1f64ce$1"),
        ("L$line14/$read$$iw$$iw;", "f", "$line14.$read$$iw$$iw.f"),
        // Whole-stage code keeps its stage.
        (
            "Lorg/apache/spark/sql/catalyst/expressions/GeneratedClass$GeneratedIteratorForCodegenStage3;",
            "hashAgg_doAggregateWithKeys_0$",
            "org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage3.hashAgg_doAggregateWithKeys_0$",
        ),
        (
            "Lorg/apache/spark/sql/catalyst/expressions/GeneratedClass$SpecificUnsafeProjection;",
            "apply",
            "org.apache.spark.sql.catalyst.expressions.GeneratedClass$SpecificUnsafeProjection.apply",
        ),
        (
            "Lorg/apache/spark/sql/catalyst/expressions/GeneratedClass$SpecificOrdering;",
            "compare",
            "org.apache.spark.sql.catalyst.expressions.GeneratedClass$SpecificOrdering.compare",
        ),
        // Reflection: JDK 8, 17, 25.
        (
            "Lsun/reflect/GeneratedMethodAccessor12;",
            "invoke",
            "sun.reflect.GeneratedMethodAccessor.invoke",
        ),
        (
            "Ljdk/internal/reflect/GeneratedMethodAccessor1;",
            "invoke",
            "jdk.internal.reflect.GeneratedMethodAccessor.invoke",
        ),
        (
            "Ljdk/internal/reflect/GeneratedConstructorAccessor3;",
            "newInstance",
            "jdk.internal.reflect.GeneratedConstructorAccessor.newInstance",
        ),
        (
            "Ljdk/internal/reflect/GeneratedSerializationConstructorAccessor7;",
            "newInstance",
            "jdk.internal.reflect.GeneratedSerializationConstructorAccessor.newInstance",
        ),
        (
            "Ljdk/internal/reflect/DirectMethodHandleAccessor;",
            "invokeImpl",
            "jdk.internal.reflect.DirectMethodHandleAccessor.invokeImpl",
        ),
        (
            "Ljdk/internal/reflect/NativeConstructorAccessorImpl;",
            "newInstance0",
            "jdk.internal.reflect.NativeConstructorAccessorImpl.newInstance0",
        ),
        // Proxies: no package, JDK 8, 9 to 15, 16 and later, a package-private interface's package.
        ("L$Proxy1;", "q", "$Proxy.q"),
        ("Lcom/sun/proxy/$Proxy12;", "getFileInfo", "com.sun.proxy.$Proxy.getFileInfo"),
        ("com.sun.proxy.jdk.proxy3.$Proxy12", "r", "com.sun.proxy.jdk.proxy.$Proxy.r"),
        ("Ljdk/proxy1/$Proxy0;", "r", "jdk.proxy.$Proxy.r"),
        ("jdk.proxy2.$Proxy12", "r", "jdk.proxy.$Proxy.r"),
        ("Lcom/acme/v2/$Proxy40;", "r", "com.acme.v2.$Proxy.r"),
        ("Lcom/acme/My$Proxy4;", "r", "com.acme.My$Proxy4.r"),
        // Method handles: JDK 8, 17, 25.
        (
            "Ljava/lang/invoke/LambdaForm$DMH/1915318863;",
            "invokeVirtual_L_I",
            "java.lang.invoke.LambdaForm$DMH.invokeVirtual_L_I",
        ),
        (
            "Ljava/lang/invoke/LambdaForm$MH.0x00007fb2a0008400;",
            "invoke_MT",
            "java.lang.invoke.LambdaForm$MH.invoke_MT",
        ),
        ("java.lang.invoke.LambdaForm$MH/0x000000004f041400", "invoke", "java.lang.invoke.LambdaForm$MH.invoke"),
        ("Ljava/lang/invoke/LambdaForm$DMH000;", "invokeStatic", "java.lang.invoke.LambdaForm$DMH.invokeStatic"),
        ("Ljava/lang/invoke/LambdaForm$BMH017;", "reinvoke", "java.lang.invoke.LambdaForm$BMH.reinvoke"),
        ("Ljava/lang/invoke/LambdaForm$Holder;", "identity_I", "java.lang.invoke.LambdaForm$Holder.identity_I"),
        (
            "Ljava/lang/invoke/BoundMethodHandle$Species_LLL3;",
            "make",
            "java.lang.invoke.BoundMethodHandle$Species_LLL3.make",
        ),
        ("Ljava/lang/invoke/LambdaFormEditor$1;", "run", "java.lang.invoke.LambdaFormEditor$1.run"),
        // Other hidden classes.
        ("Ljava/lang/String$$StringConcat.0x000000004f044c00;", "concat", "java.lang.String$$StringConcat.concat"),
        ("com.acme.Rule$Compiled+0x00007fb2a0001234", "test", "com.acme.Rule$Compiled.test"),
        ("Lcom/acme/Rule$Compiled.0x00007fb2a0001234;", "test", "com.acme.Rule$Compiled.test"),
        ("com.acme.C++", "f", "com.acme.C++.f"),
        // Generators of classes.
        (
            "Lcom/acme/Dao$$EnhancerByCGLIB$$4e79a0b4;",
            "load",
            "com.acme.Dao$$EnhancerByCGLIB.load",
        ),
        (
            "Lcom/acme/Dao$$EnhancerBySpringCGLIB$$c3f8d8aa;",
            "load",
            "com.acme.Dao$$EnhancerBySpringCGLIB.load",
        ),
        ("Lcom/acme/Dao$ByteBuddy$x7Yq1ZsP;", "load", "com.acme.Dao$ByteBuddy.load"),
        ("Lcom/acme/Dao$ByteBuddyAgent;", "load", "com.acme.Dao$ByteBuddyAgent.load"),
        ("Lcom/acme/Dao$MockitoMock$1187642;", "load", "com.acme.Dao$MockitoMock.load"),
        ("Lcom/acme/Dao_$$_jvst5c2_3;", "load", "com.acme.Dao_$$_jvst.load"),
        ("Lcom/acme/Dao_$$_javassist_17;", "load", "com.acme.Dao_$$_javassist.load"),
        ("Lcom/acme/Dao;", "load$original$x7Yq1ZsP", "com.acme.Dao.load$original"),
        ("Lcom/acme/Dao;", "load$original$x7Yq1ZsP$accessor$b2C3d4E5", "com.acme.Dao.load$original"),
        // Digits that mean something.
        ("Lcom/acme/Md5;", "sha256", "com.acme.Md5.sha256"),
        ("Lorg/apache/hadoop/fs/s3a/S3AInputStream;", "read", "org.apache.hadoop.fs.s3a.S3AInputStream.read"),
    ];

    #[test]
    fn the_batches_of_a_streaming_query_have_one_description() {
        let batch = |name: &str, number: u32| {
            fold_description(&format!("{name}\nid = 6f0c-1<br/>\nrunId = 9d2e-7<br/>\nbatch = {number}"))
        };
        assert_eq!([batch("clicks<br/>", 0), batch("clicks<br/>", 9)], ["clicks id = 6f0c-1"; 2]);
        assert_eq!(batch("", 3), "id = 6f0c-1");
        assert_eq!(fold_description("load\nid = 5\nand more"), "load", "somebody's own text");
        assert_eq!(fold_description(""), "");
    }

    #[test]
    fn names_that_differ_from_jvm_to_jvm_fold_to_one() {
        for (class, method, expected) in FUNCTIONS {
            assert_eq!(&function_name(class, method), expected, "{class} {method}");
        }
        assert!(FUNCTIONS.len() >= 40);
    }

    #[test]
    fn a_folded_name_folds_to_itself() {
        for (class, method, _) in FUNCTIONS {
            let (once_class, once_method) = (fold_class_name(class), fold_method_name(method));
            assert_eq!(fold_class_name(&once_class), once_class);
            assert_eq!(fold_method_name(&once_method), once_method);
            assert_eq!(function_name(class, method), format!("{once_class}.{once_method}"));
        }
    }

    #[test]
    fn array_classes_read_as_in_java() {
        assert_eq!(fold_class_name("[B"), "byte[]");
        assert_eq!(fold_class_name("[[J"), "long[][]");
        assert_eq!(fold_class_name("[Ljava/lang/String;"), "java.lang.String[]");
        assert_eq!(fold_class_name("[LN$$Lambda.0x000000004f042868;"), "N$$Lambda[]");
        assert_eq!(fold_class_name("B"), "B");
    }

    /// Names read from Spark 3.5, Hadoop and HotSpot, what stands in the `thread` label.
    const THREADS: &[(&str, &str)] = &[
        ("Executor task launch worker for task 0.0 in stage 1.0 (TID 1)", "Executor task launch worker"),
        ("Executor task launch worker for task 12", "Executor task launch worker"),
        ("Executor task launch worker-3", "Executor task launch worker"),
        ("Executor task idle worker-3", "Executor task launch worker"),
        ("pool-3-thread-7", "pool-#-thread-#"),
        ("dispatcher-event-loop-1", "dispatcher-event-loop-#"),
        ("dispatcher-BlockManagerEndpoint1", "dispatcher-BlockManagerEndpoint#"),
        ("dispatcher-HeartbeatReceiver", "dispatcher-HeartbeatReceiver"),
        ("block-manager-storage-async-thread-pool-8", "block-manager-storage-async-thread-pool-#"),
        ("SparkUI-42", "SparkUI-#"),
        (
            "SparkUI-36-acceptor-0@7010d4da-Spark@7ed734a8{HTTP/1.1, (http/1.1)}{0.0.0.0:4040}",
            "SparkUI-#-acceptor-#@#-Spark@#{HTTP/#.#, (http/#.#)}{#.#.#.#:#}",
        ),
        ("qtp1234567-45", "qtp#-#"),
        ("rpc-server-4-1", "rpc-server-#-#"),
        ("ForkJoinPool.commonPool-worker-7", "ForkJoinPool.commonPool-worker-#"),
        ("Thread-5", "Thread-#"),
        ("main", "main"),
        ("VM Thread", "VM Thread"),
        ("GC Thread#1", "GC Thread#"),
        ("G1 Refine#0", "G1 Refine#"),
        ("G1 Main Marker", "G1 Main Marker"),
        ("C2 CompilerThread0", "C2 CompilerThread#"),
        ("C1 CompilerThread12", "C1 CompilerThread#"),
        ("s3a-transfer-shared-pool1-t12", "s3a-transfer-shared-pool#-t#"),
        ("stdout writer for python3", "stdout writer for python3"),
        ("IPC Client (1706234378) connection to nn1/10.0.0.7:8020 from hadoop", "IPC Client (#) connection to nn#/#.#.#.#:# from hadoop"),
        (
            "DataStreamer for file /user/a/part-00001.parquet block BP-1-10.0.0.1-15:blk_1073_2",
            "DataStreamer for file",
        ),
        (
            "stream execution thread for orders [id = 87e6e2a0-4b2d-4c1e-9f6a-0123456789ab, runId = 12345678-9abc-def0-1234-56789abcdef0]",
            "stream execution thread for orders [id = #, runId = #]",
        ),
        ("worker at 0x7fb2a000", "worker at #"),
        ("поток-7", "поток-#"),
        ("", ""),
    ];

    #[test]
    fn numbers_in_thread_names_fold() {
        for (name, expected) in THREADS {
            assert_eq!(&fold_thread_name(name), expected, "{name}");
            assert_eq!(&fold_thread_name(expected), expected, "{expected}");
        }
    }

    #[test]
    fn a_name_is_cut_at_a_thousand_characters() {
        let exact = "é".repeat(LONGEST_NAME);
        assert_eq!(fold_class_name(&exact), exact);
        let long = fold_class_name(&"é".repeat(LONGEST_NAME + 1));
        assert_eq!(long, "é".repeat(LONGEST_NAME - 1) + "…");
        assert_eq!(function_name(&"a".repeat(20_000), "m"), "a".repeat(LONGEST_NAME - 1) + "…");
        assert_eq!(fold_thread_name(&"t".repeat(1001)).chars().count(), LONGEST_NAME);
    }
}
