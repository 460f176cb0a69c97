//! `cargo bench -p glowplug-benches`: how long each operation takes.

use criterion::Criterion;
use std::time::Duration;

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(30)
        .configure_from_args();
    for operation in glowplug_benches::operations() {
        let mut run = (operation.prepare)();
        criterion.bench_function(operation.name, |bencher| bencher.iter(&mut run));
    }
    criterion.final_summary();
}
