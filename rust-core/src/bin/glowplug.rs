//! The developers' command: the same core as `java -jar glowplug-spark.jar`, with no JVM.

use std::io::Write;
use std::process::exit;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = glowplug::command::run(&args);
    // A reader that went away, as `head` does, is no failure of ours.
    let _ = std::io::stdout().write_all(outcome.stdout.as_bytes());
    let _ = std::io::stderr().write_all(outcome.stderr.as_bytes());
    exit(outcome.exit);
}
