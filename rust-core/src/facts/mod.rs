//! facts
#![allow(missing_docs)]
pub struct JdkFact {
    pub timers: bool,
    pub debug_non_safepoints: bool,
}
pub fn jdk(feature: u32) -> JdkFact {
    JdkFact { timers: feature >= 11, debug_non_safepoints: feature != 17 }
}
pub fn is_idle_stack<'a>(_frames: impl Iterator<Item = &'a str>) -> bool {
    false
}
