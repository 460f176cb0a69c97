//! jvm
