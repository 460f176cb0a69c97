//! The core's operations whose cost is watched: timed by criterion (`cargo bench -p glowplug-benches`), counted in
//! instructions by `benches/check.py`.

mod encode;
mod names;
mod relay;
mod ring;
mod settings;
mod tree;

/// One operation. Its input is made once, by `prepare`; each call of what that returns is one operation.
#[derive(Clone, Copy)]
pub struct Operation {
    /// As it stands in baseline.json.
    pub name: &'static str,
    /// How often it is repeated for one count: cheap ones more often.
    pub repeats: u32,
    /// Makes the input.
    pub prepare: fn() -> Box<dyn FnMut()>,
}

/// All of them, in the order in which data walk through the core.
pub fn operations() -> Vec<Operation> {
    [
        settings::OPERATIONS.as_slice(),
        &ring::OPERATIONS,
        &names::OPERATIONS,
        &tree::OPERATIONS,
        &relay::OPERATIONS,
        &encode::OPERATIONS,
    ]
    .concat()
}
