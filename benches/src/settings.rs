use crate::Operation;
use glowplug::settings::{resolve, Origin, Role, Triple};
use std::hint::black_box;

pub(crate) static OPERATIONS: [Operation; 1] =
    [Operation { name: "resolve the settings of an executor", repeats: 20, prepare: executor }];

/// What an executor on EMR hands over: the plugin's conf, the service's variables, the driver's word.
fn executor() -> Box<dyn FnMut()> {
    let triples: Vec<Triple> = [
        ("spark.glowplug.dir", "s3a://bucket/profiles", Origin::Conf),
        ("spark.glowplug.cpu.interval", "20ms", Origin::Conf),
        ("spark.glowplug.threads.exclude", "Signal Dispatcher,Attach Listener,heartbeat", Origin::Conf),
        ("spark.redaction.regex", "(?i)secret|password|token", Origin::Conf),
        ("ENABLE_AMAZON_PROFILER", "false", Origin::Environment),
        (
            "PROFILING_CONTEXT",
            r#"{\"profilingGroupName\":\"etl\",\"driverEnabled\":\"true\"}"#,
            Origin::Environment,
        ),
        ("spark.glowplug.enabled", "true", Origin::Driver),
    ]
    .map(|(key, value, origin)| Triple { key: key.to_owned(), value: value.to_owned(), origin })
    .to_vec();
    Box::new(move || {
        black_box(resolve(black_box(&triples), Role::Executor));
    })
}
