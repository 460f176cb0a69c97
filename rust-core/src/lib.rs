//! Glowplug's core: samples the stacks of one JVM, folds them into a call tree with labels, and
//! hands the tree on to the driver, to files and to the page.
//!
//! Rooms, in the order in which a sample passes them: [`jvm`] and [`sample`] take it, [`profile`]
//! keeps it, [`session`] owns the threads and the clock, [`relay`] carries deltas to the driver,
//! [`application`] merges the processes there, [`encode`] turns a profile into bytes. [`settings`]
//! decides what is done, [`bridge`] is the JNI border and [`command`] the command line.

#![warn(missing_docs)]

#[deny(unsafe_code)]
pub mod application;
mod bridge;
#[deny(unsafe_code)]
pub mod command;
#[deny(unsafe_code)]
pub mod encode;
#[deny(unsafe_code)]
pub mod facts;
pub mod jvm;
#[deny(unsafe_code)]
pub mod profile;
#[deny(unsafe_code)]
pub mod relay;
pub mod sample;
#[deny(unsafe_code)]
pub mod session;
#[deny(unsafe_code)]
pub mod settings;
