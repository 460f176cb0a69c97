//! Which layer of the stack a function belongs to, for the page's colours.

/// 0 user, 3 spark, 5 jdk, 7 bracketed.
pub(super) fn layer(function: &str) -> u8 {
    match function {
        name if name.starts_with('[') => 7,
        name if name.starts_with("java.") || name.starts_with("scala.") => 5,
        name if name.starts_with("org.apache.spark.") => 3,
        _ => 0,
    }
}
