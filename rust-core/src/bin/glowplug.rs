//! The developers' command: the same core as `java -jar glowplug-spark.jar`, with no JVM.
fn main() {}
