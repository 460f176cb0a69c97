//! Keeps the profiler under its cost limit by stretching all intervals.

/// Decides how many times longer than set the intervals are.
#[derive(Debug)]
pub(crate) struct Governor {
    /// Part of the process's CPU that may be used.
    limit: f64,
    factor: u32,
    last: Option<Costs>,
    calm_windows: u32,
    over_windows: u32,
    /// Those of them that had the longest intervals from their begin.
    over_windows_at_most: u32,
}

/// Running totals at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Costs {
    /// Monotonic nanoseconds.
    pub(crate) time: u64,
    /// CPU that sampling costs, nanoseconds.
    pub(crate) own: u64,
    /// CPU of the process, nanoseconds.
    pub(crate) process: u64,
}

/// One look each ten seconds: shorter windows are ruled by the names of freshly loaded classes.
pub(crate) const WINDOW: u64 = 10_000_000_000;
/// Below one millisecond of CPU a second nobody minds, however little the process does.
const FLOOR_PER_SECOND: f64 = 1_000_000.0;
/// 64 × 10 ms: 470 samples of a busy core in five minutes still make a profile.
pub(crate) const MAX_FACTOR: u32 = 64;
/// A minute below a quarter of the limit, so that half the intervals stay below half of it.
const CALM_WINDOWS: u32 = 6;

impl Governor {
    pub(crate) fn new(limit: f64) -> Governor {
        Governor { limit, factor: 1, last: None, calm_windows: 0, over_windows: 0, over_windows_at_most: 0 }
    }

    /// How many times longer than set the intervals are now.
    pub(crate) fn factor(&self) -> u32 {
        self.factor
    }

    /// True if the cost was over the limit in the last two windows, in which nothing could be stretched any more.
    pub(crate) fn is_at_its_end(&self) -> bool {
        self.over_windows_at_most >= 2
    }

    /// Takes a look; returns the new factor if it has changed. The first window counts for nothing:
    /// in it the profiler starts. One window may hold a burst that no interval governs, such as the names
    /// of many new classes. From the second one over the limit on, the cost counts as that of the samples
    /// and is halved as often as leaves it above the limit.
    pub(crate) fn look(&mut self, now: Costs) -> Option<u32> {
        let last = self.last.replace(now)?;
        let seconds = (now.time - last.time) as f64 / 1e9;
        let own = now.own.saturating_sub(last.own) as f64;
        let process = now.process.saturating_sub(last.process) as f64;
        let allowed = (self.limit * process).max(FLOOR_PER_SECOND * seconds);
        self.over_windows = if own > allowed { self.over_windows + 1 } else { 0 };
        self.over_windows_at_most = match own > allowed && self.factor == MAX_FACTOR {
            true => self.over_windows_at_most + 1,
            false => 0,
        };
        self.calm_windows = if own < allowed / 4.0 { self.calm_windows + 1 } else { 0 };
        let factor = if own > allowed {
            let most = if self.over_windows > 1 { f64::from(MAX_FACTOR.ilog2()) } else { 1.0 };
            let halves = (own / allowed).log2().clamp(1.0, most) as u32;
            (self.factor << halves).min(MAX_FACTOR)
        } else if self.calm_windows >= CALM_WINDOWS {
            self.calm_windows = 0;
            (self.factor / 2).max(1)
        } else {
            self.factor
        };
        (std::mem::replace(&mut self.factor, factor) != factor).then_some(factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Looks after a window in which the profiler used `own` and the process `process` milliseconds.
    fn window(governor: &mut Governor, at: &mut Costs, own: u64, process: u64) -> Option<u32> {
        at.time += 10 * SECOND;
        at.own += own * 1_000_000;
        at.process += process * 1_000_000;
        governor.look(*at)
    }

    #[test]
    fn slows_down_over_one_percent_and_recovers_when_calm() {
        let mut governor = Governor::new(0.01);
        let mut at = Costs { time: 0, own: 0, process: 0 };
        assert_eq!(governor.look(at), None);
        assert_eq!(window(&mut governor, &mut at, 199, 20_000), None, "just below 1 %");
        assert_eq!(window(&mut governor, &mut at, 201, 20_000), Some(2));
        assert_eq!(window(&mut governor, &mut at, 201, 20_000), Some(4));
        for _ in 0..5 {
            assert_eq!(window(&mut governor, &mut at, 49, 20_000), None);
        }
        assert_eq!(window(&mut governor, &mut at, 49, 20_000), Some(2), "a calm minute");
        assert_eq!(window(&mut governor, &mut at, 51, 20_000), None, "calm no more");
    }

    #[test]
    fn what_costs_far_too_much_twice_is_cut_at_once() {
        let factors_after = |own: [u64; 2]| {
            let mut governor = Governor::new(0.01);
            let mut at = Costs { time: 0, own: 0, process: 0 };
            governor.look(at);
            own.map(|own| {
                window(&mut governor, &mut at, own, 20_000);
                governor.factor()
            })
        };
        assert_eq!(factors_after([2_400, 799]), [2, 4], "just below four times the limit");
        assert_eq!(factors_after([2_400, 801]), [2, 8]);
        assert_eq!(factors_after([2_400, 1_601]), [2, 16], "JDK 8 that waits for its threads to stop");
        assert_eq!(factors_after([20_000, 20_000]), [2, 64]);
        assert_eq!(factors_after([2_400, 199]), [2, 2], "a burst");
        assert_eq!(factors_after([199, 20_000]), [1, 2], "it may be a burst");
    }

    #[test]
    fn nobody_is_told_that_the_longest_intervals_cost_too_much_before_they_were_tried() {
        let mut governor = Governor::new(0.01);
        let mut at = Costs { time: 0, own: 0, process: 0 };
        governor.look(at);
        window(&mut governor, &mut at, 20_000, 20_000);
        assert_eq!(window(&mut governor, &mut at, 20_000, 20_000), Some(64));
        assert!(!governor.is_at_its_end());
    }

    #[test]
    fn an_idle_process_allows_a_millisecond_a_second() {
        let mut governor = Governor::new(0.01);
        let mut at = Costs { time: 0, own: 0, process: 0 };
        governor.look(at);
        assert_eq!(window(&mut governor, &mut at, 10, 20), None);
        assert_eq!(window(&mut governor, &mut at, 11, 20), Some(2));
        for factor in [4, 8, 16, 32, 64] {
            assert!(!governor.is_at_its_end());
            assert_eq!(window(&mut governor, &mut at, 11, 20), Some(factor));
        }
        assert_eq!(window(&mut governor, &mut at, 11, 20), None, "64 is the end");
        assert!(!governor.is_at_its_end(), "it may be a burst");
        assert_eq!(window(&mut governor, &mut at, 11, 20), None);
        assert!(governor.is_at_its_end());
        window(&mut governor, &mut at, 9, 20);
        assert!(!governor.is_at_its_end());
    }
}
