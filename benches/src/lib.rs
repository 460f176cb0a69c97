//! Benches of the core.
