//! What is known of JDKs, Spark versions and function names: tables, compiled in.
//!
//! The rows stand in the `.toml` files beside this one, each dated, with the run that showed it.

mod idle;
mod names;
mod versions;

pub use idle::is_idle_stack;
pub use names::{layer, operator, Layer};
pub use versions::{compiles_with_graal, jdk, spark, AllocEngine, CpuEngine, JdkFact, SparkFact, Sweep};

use serde::de::DeserializeOwned;

/// Reads a compiled-in table.
fn table<T: DeserializeOwned>(name: &str, text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}
