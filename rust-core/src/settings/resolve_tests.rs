use super::super::describe;
use super::*;
use std::time::Duration;

fn triple(key: &str, value: &str, origin: Origin) -> Triple {
    Triple { key: key.to_string(), value: value.to_string(), origin }
}

fn conf(key: &str, value: &str) -> Triple {
    triple(key, value, Origin::Conf)
}

fn environment(key: &str, value: &str) -> Triple {
    triple(key, value, Origin::Environment)
}

fn driver(triples: &[Triple]) -> Resolution {
    resolve(triples, Role::Driver)
}

fn executor(triples: &[Triple]) -> Resolution {
    resolve(triples, Role::Executor)
}

fn messages(resolution: &Resolution) -> Vec<(&str, &str)> {
    resolution.warnings.iter().map(|warning| (warning.code, warning.message.as_str())).collect()
}

/// Whether a switch is on, and the origin and key that made it so.
fn switch<'a>(resolution: &'a Resolution, key: &str) -> (&'a str, Origin, &'a str) {
    let effective = resolution.effective.iter().find(|row| row.key == key).unwrap();
    (&effective.value, effective.origin, &effective.origin_key)
}

mod without_settings {
    use super::*;

    #[test]
    fn everything_has_its_default() {
        let resolution = driver(&[]);
        let expected = Settings {
            run: Ok(()),
            gather: true,
            dir: Folder::Default,
            native_dir: None,
            report_interval: Duration::from_secs(300),
            relay_interval: None,
            shutdown_wait: Duration::from_secs(3),
            depth: 1000,
            threads_exclude: vec!["Signal Dispatcher".to_string(), "Attach Listener".to_string()],
            cpu_interval: Some(Duration::from_millis(10)),
            wall_interval: Some(Duration::from_millis(50)),
            alloc_interval: Some(2 << 20),
            overhead_limit: 0.01,
            memory_limit: None,
            profile_name: None,
            profile_version: None,
            profile_group: None,
        };
        assert_eq!(resolution.settings, expected);
        assert_eq!(resolution.warnings, []);
        assert_eq!(resolution.passed_on, []);
    }

    #[test]
    fn the_start_line_says_so_where_nothing_was_set() {
        assert_eq!(describe(&driver(&[]).effective), "settings: all default");
    }

    #[test]
    fn foreign_triples_say_nothing() {
        let foreign = [
            conf("spark.app.name", "x"),
            conf("spark.executorEnv.PATH", "/bin"),
            conf("my.key", "x"),
            environment("HOME", "/root"),
            environment("ENABLE_X", "true"),
            triple("fs.defaultFS", "file:///", Origin::Hadoop),
            triple("user.dir", "/", Origin::SystemProperty),
        ];
        let resolution = driver(&foreign);
        assert_eq!(resolution.warnings, []);
        assert_eq!(resolution.effective, driver(&[]).effective);
    }
}

mod values {
    use super::*;

    #[test]
    fn every_setting_reaches_its_field() {
        let triples = [
            conf("spark.glowplug.dir", "hdfs:///p"),
            conf("spark.glowplug.native.dir", "/opt/x"),
            conf("spark.glowplug.report.interval", "1m"),
            conf("spark.glowplug.relay.interval", "2"),
            conf("spark.glowplug.shutdown.wait", "0"),
            conf("spark.glowplug.depth", "64"),
            conf("spark.glowplug.threads.exclude", ""),
            conf("spark.glowplug.cpu.interval", "20"),
            conf("spark.glowplug.wall.interval", "off"),
            conf("spark.glowplug.alloc.interval", "512k"),
            conf("spark.glowplug.overhead.limit", "0.02"),
            conf("spark.glowplug.memory.limit", "64MiB"),
        ];
        let expected = Settings {
            run: Ok(()),
            gather: false,
            dir: Folder::At("hdfs:///p".to_string()),
            native_dir: Some("/opt/x".to_string()),
            report_interval: Duration::from_secs(60),
            relay_interval: Some(Duration::from_secs(2)),
            shutdown_wait: Duration::ZERO,
            depth: 64,
            threads_exclude: Vec::new(),
            cpu_interval: Some(Duration::from_millis(20)),
            wall_interval: None,
            alloc_interval: Some(512 << 10),
            overhead_limit: 0.02,
            memory_limit: Some(64 << 20),
            profile_name: None,
            profile_version: None,
            profile_group: None,
        };
        let resolution = executor(&triples);
        assert_eq!(resolution.settings, expected);
        assert_eq!(resolution.warnings, []);
    }

    #[test]
    fn no_folder_where_dir_is_none() {
        assert_eq!(driver(&[conf("spark.glowplug.dir", "none")]).settings.dir, Folder::Off);
    }

    #[test]
    fn the_name_is_googles_then_the_profiling_group() {
        let group = environment("PROFILING_CONTEXT", r#"{"profilingGroupName":"G"}"#);
        let dataproc = conf("dataproc.profiling.name", "D");
        let cloud = conf("cloud.profiler.name", "C");
        let version = conf("cloud.profiler.service.version", "V");
        let names = |triples: &[Triple]| {
            let settings = driver(triples).settings;
            (settings.profile_name, settings.profile_version, settings.profile_group)
        };
        let some = |text: &str| Some(text.to_string());
        assert_eq!(names(std::slice::from_ref(&group)), (some("G"), None, some("G")));
        assert_eq!(names(&[group.clone(), dataproc.clone()]), (some("D"), None, some("G")));
        assert_eq!(names(&[group, dataproc, cloud, version]), (some("C"), some("V"), some("G")));
    }

    #[test]
    fn the_start_line_shows_what_was_set_and_where() {
        let triples = [
            conf("spark.glowplug.dir", "/x"),
            environment("ENABLE_GLOWPLUG_PROFILER", "true"),
            conf("spark.hadoop.cloud.profiler.name", "nightly"),
            triple("spark.glowplug.cpu.interval", "20ms", Origin::Driver),
            triple("spark.glowplug.depth", "100", Origin::SystemProperty),
        ];
        assert_eq!(
            describe(&executor(&triples).effective),
            "settings: enabled=true (env ENABLE_GLOWPLUG_PROFILER), dir=/x (conf), depth=100 (system property), \
             cpu.interval=20ms (driver), google.name=nightly (conf spark.hadoop.cloud.profiler.name), the rest default"
        );
    }
}

/// Cloud Profiler's switch can be set at every place, so it shows the whole order.
mod order_of_places {
    use super::*;

    const KEY: &str = "spark.glowplug.google.enabled";

    fn places() -> Vec<Triple> {
        vec![
            conf(KEY, "true"),
            triple("google.enabled", "true", Origin::Agent),
            triple(KEY, "true", Origin::SystemProperty),
            triple(KEY, "true", Origin::Hadoop),
            environment("ENABLE_GOOGLE_PROFILER", "true"),
            conf("spark.yarn.appMasterEnv.ENABLE_GOOGLE_PROFILER", "true"),
            conf("spark.kubernetes.driverEnv.ENABLE_GOOGLE_PROFILER", "true"),
            conf("spark.emr-serverless.driverEnv.ENABLE_GOOGLE_PROFILER", "true"),
            conf("cloud.profiler.enable", "true"),
            conf("dataproc.profiling.enabled", "true"),
            conf("spark.cloud.profiler.enable", "true"),
            conf("spark.dataproc.profiling.enabled", "true"),
            conf("spark.hadoop.cloud.profiler.enable", "true"),
            conf("spark.hadoop.dataproc.profiling.enabled", "true"),
            triple("cloud.profiler.enable", "true", Origin::Hadoop),
            triple("dataproc.profiling.enabled", "true", Origin::Hadoop),
            triple("cloud.profiler.enable", "true", Origin::SystemProperty),
            triple("dataproc.profiling.enabled", "true", Origin::SystemProperty),
            triple(KEY, "true", Origin::Driver),
        ]
    }

    fn first_beats_second(first: usize) {
        let places = places();
        let (winner, loser) = (&places[first], &places[first + 1]);
        let loser = Triple { value: "false".to_string(), ..loser.clone() };
        for triples in [[winner.clone(), loser.clone()], [loser, winner.clone()]] {
            let resolution = driver(&triples);
            assert_eq!(switch(&resolution, KEY), ("true", winner.origin, winner.key.as_str()));
        }
    }

    macro_rules! adjacent_pairs {
        ($($name:ident $first:literal,)*) => { $(#[test] fn $name() { first_beats_second($first); })* };
    }

    adjacent_pairs! {
        own_key_in_conf_beats_agent_options 0,
        agent_options_beat_own_key_as_system_property 1,
        own_key_as_system_property_beats_own_key_in_hadoop 2,
        own_key_in_hadoop_beats_own_environment 3,
        own_environment_beats_the_conf_form_of_yarn 4,
        the_conf_form_of_yarn_beats_that_of_kubernetes 5,
        the_conf_form_of_kubernetes_beats_that_of_emr_serverless 6,
        a_conf_form_beats_a_property_set_in_code 7,
        cloud_profiler_beats_dataproc_profiling_in_code 8,
        a_property_set_in_code_beats_one_with_spark_before_it 9,
        cloud_profiler_beats_dataproc_profiling_with_spark_before_it 10,
        a_property_with_spark_before_it_beats_spark_hadoop 11,
        cloud_profiler_beats_dataproc_profiling_in_spark_hadoop 12,
        spark_hadoop_beats_the_hadoop_configuration 13,
        cloud_profiler_beats_dataproc_profiling_in_hadoop 14,
        the_hadoop_configuration_beats_a_system_property 15,
        cloud_profiler_beats_dataproc_profiling_as_system_property 16,
        a_system_property_beats_what_the_driver_passed_on 17,
    }

    #[test]
    fn what_the_driver_passed_on_beats_the_default() {
        let resolution = executor(&[triple("spark.glowplug.depth", "100", Origin::Driver)]);
        assert_eq!(resolution.settings.depth, 100);
        assert_eq!(switch(&resolution, "spark.glowplug.depth").1, Origin::Driver);
        assert_eq!(switch(&driver(&[]), "spark.glowplug.depth"), ("1000", Origin::Default, ""));
    }

    #[test]
    fn own_environment_of_an_executor_beats_its_conf_form() {
        let triples = [
            conf("spark.executorEnv.ENABLE_GOOGLE_PROFILER", "false"),
            environment("ENABLE_GOOGLE_PROFILER", "true"),
        ];
        assert_eq!(switch(&executor(&triples), KEY), ("true", Origin::Environment, "ENABLE_GOOGLE_PROFILER"));
    }

    #[test]
    fn the_conf_form_of_an_executor_beats_a_property_set_in_code() {
        let triples = [
            conf("cloud.profiler.enable", "false"),
            conf("spark.executorEnv.ENABLE_GOOGLE_PROFILER", "true"),
        ];
        let origin = ("true", Origin::Conf, "spark.executorEnv.ENABLE_GOOGLE_PROFILER");
        assert_eq!(switch(&executor(&triples), KEY), origin);
    }

    #[test]
    fn a_conf_form_speaks_to_its_role_alone() {
        let triples = [
            conf("spark.executorEnv.ENABLE_GOOGLE_PROFILER", "true"),
            conf("spark.yarn.appMasterEnv.ENABLE_GOOGLE_PROFILER", "false"),
        ];
        assert_eq!(switch(&executor(&triples), KEY).0, "true");
        assert_eq!(switch(&driver(&triples), KEY).0, "false");
    }

    #[test]
    fn agent_options_take_a_property_of_a_vendor() {
        let triples = [triple("cloud.profiler.enable", "true", Origin::Agent)];
        assert_eq!(switch(&driver(&triples), KEY), ("true", Origin::Agent, "cloud.profiler.enable"));
    }

    #[test]
    fn the_environments_context_beats_the_one_in_conf() {
        let triples = [
            conf("spark.yarn.appMasterEnv.PROFILING_CONTEXT", r#"{"profilingGroupName":"conf"}"#),
            environment("PROFILING_CONTEXT", r#"{"profilingGroupName":"env"}"#),
        ];
        assert_eq!(driver(&triples).settings.profile_group.as_deref(), Some("env"));
        assert_eq!(driver(&triples[..1]).settings.profile_group.as_deref(), Some("conf"));
        assert_eq!(executor(&triples[..1]).settings.profile_group, None);
    }

    #[test]
    fn a_variable_set_to_nothing_is_not_set() {
        let triples = [
            environment("ENABLE_GOOGLE_PROFILER", ""),
            environment("PROFILING_CONTEXT", " "),
            conf("spark.yarn.appMasterEnv.ENABLE_GOOGLE_PROFILER", "true"),
        ];
        let resolution = driver(&triples);
        assert_eq!(switch(&resolution, KEY).0, "true");
        assert_eq!(resolution.warnings.len(), 1);
        assert_eq!(resolution.warnings[0].code, "not-built-in");
    }
}

mod switches {
    use super::*;

    fn run(resolution: &Resolution) -> Result<(), &str> {
        resolution.settings.run.as_ref().copied().map_err(String::as_str)
    }

    #[test]
    fn enabled_false_starts_nothing() {
        let resolution = driver(&[conf("spark.glowplug.enabled", "false")]);
        assert_eq!(run(&resolution), Err("spark.glowplug.enabled is false (conf)"));
        assert!(!resolution.settings.gather);
    }

    #[test]
    fn enabled_false_beats_every_other_switch() {
        let triples =
            [conf("spark.glowplug.enabled", "false"), environment("ENABLE_AMAZON_PROFILER", "true")];
        assert_eq!(run(&driver(&triples)), Err("spark.glowplug.enabled is false (conf)"));
    }

    #[test]
    fn glowplugs_own_variable_is_another_spelling_of_enabled() {
        let triples = [environment("ENABLE_GLOWPLUG_PROFILER", "False")];
        assert_eq!(run(&driver(&triples)), Err("ENABLE_GLOWPLUG_PROFILER is false (env)"));
    }

    #[test]
    fn all_vendor_variables_at_false_start_nothing() {
        let one = [environment("ENABLE_AMAZON_PROFILER", "false")];
        let sentence = "ENABLE_AMAZON_PROFILER is false (env), and nothing else asks for a profile";
        assert_eq!(run(&driver(&one)), Err(sentence));
        let both = [one[0].clone(), environment("ENABLE_GOOGLE_PROFILER", "false")];
        assert_eq!(run(&driver(&both)), Err(sentence));
    }

    #[test]
    fn one_vendor_variable_at_true_is_enough() {
        let triples =
            [environment("ENABLE_AMAZON_PROFILER", "false"), environment("ENABLE_GOOGLE_PROFILER", "true")];
        assert_eq!(run(&driver(&triples)), Ok(()));
    }

    #[test]
    fn enabled_true_beats_vendor_variables_at_false() {
        let triples =
            [environment("ENABLE_AMAZON_PROFILER", "false"), conf("spark.glowplug.enabled", "true")];
        assert_eq!(run(&driver(&triples)), Ok(()));
    }

    #[test]
    fn googles_property_at_false_stops_nothing_but_google() {
        assert_eq!(run(&driver(&[conf("cloud.profiler.enable", "false")])), Ok(()));
    }

    #[test]
    fn a_vendor_variable_in_the_conf_form_of_a_role_stops_that_role() {
        let triples = [conf("spark.executorEnv.ENABLE_AMAZON_PROFILER", "false")];
        assert_eq!(run(&driver(&triples)), Ok(()));
        assert_eq!(
            run(&executor(&triples)),
            Err("spark.executorEnv.ENABLE_AMAZON_PROFILER is false (conf), and nothing else asks for a profile")
        );
    }

    #[test]
    fn requested_waits_for_a_job_that_asks() {
        let resolution = driver(&[conf("spark.glowplug.enabled", "requested")]);
        assert_eq!(
            run(&resolution),
            Err("spark.glowplug.enabled is requested (conf) and this job does not ask: set spark.glowplug.enabled, \
                 cloud.profiler.enable, dataproc.profiling.enabled or one of ENABLE_GLOWPLUG_PROFILER, \
                 ENABLE_AMAZON_PROFILER, ENABLE_GOOGLE_PROFILER to true")
        );
        assert!(!resolution.settings.gather);
    }

    #[test]
    fn each_way_to_ask_starts_what_is_requested() {
        let requested = conf("spark.glowplug.enabled", "requested");
        let ways = [
            environment("ENABLE_GLOWPLUG_PROFILER", "true"),
            environment("ENABLE_AMAZON_PROFILER", "true"),
            environment("ENABLE_GOOGLE_PROFILER", "true"),
            conf("spark.yarn.appMasterEnv.ENABLE_AMAZON_PROFILER", "\"true\""),
            conf("cloud.profiler.enable", "true"),
            conf("spark.hadoop.dataproc.profiling.enabled", "true"),
            triple("spark.glowplug.enabled", "true", Origin::SystemProperty),
        ];
        for way in ways {
            assert_eq!(run(&driver(&[requested.clone(), way.clone()])), Ok(()), "{way:?}");
        }
    }

    #[test]
    fn other_settings_do_not_ask() {
        let requested = conf("spark.glowplug.enabled", "requested");
        let others = [
            conf("spark.glowplug.dir", "/x"),
            conf("spark.glowplug.codeguru.enabled", "true"),
            environment("ENABLE_AMAZON_PROFILER", "false"),
            environment("PROFILING_CONTEXT", r#"{"profilingGroupName":"G"}"#),
        ];
        for other in others {
            assert!(driver(&[requested.clone(), other.clone()]).settings.run.is_err(), "{other:?}");
        }
    }

    #[test]
    fn the_switch_of_a_role_stops_that_role_alone() {
        let no_driver = [conf("spark.glowplug.driver.enabled", "false")];
        assert_eq!(run(&driver(&no_driver)), Err("spark.glowplug.driver.enabled is false (conf)"));
        assert_eq!(run(&executor(&no_driver)), Ok(()));
        assert!(driver(&no_driver).settings.gather);

        let no_executors = [conf("spark.glowplug.executor.enabled", "false")];
        assert_eq!(run(&driver(&no_executors)), Ok(()));
        assert_eq!(run(&executor(&no_executors)), Err("spark.glowplug.executor.enabled is false (conf)"));

        let neither = [no_driver[0].clone(), no_executors[0].clone()];
        assert!(!driver(&neither).settings.gather);
    }

    #[test]
    fn a_jvm_with_the_agent_alone_has_no_role_yet() {
        let triples = [
            triple("driver.enabled", "false", Origin::Agent),
            triple("executor.enabled", "false", Origin::Agent),
        ];
        assert_eq!(run(&resolve(&triples, Role::Agent)), Ok(()));
        let off = [triple("enabled", "false", Origin::Agent)];
        assert_eq!(run(&resolve(&off, Role::Agent)), Err("enabled is false (agent)"));
    }

    #[test]
    fn a_driver_gathers_for_executors_that_alone_are_asked() {
        let triples = [
            conf("spark.glowplug.enabled", "requested"),
            conf("spark.executorEnv.ENABLE_GLOWPLUG_PROFILER", "true"),
        ];
        let resolution = driver(&triples);
        assert!(resolution.settings.run.is_err());
        assert!(resolution.settings.gather);
    }
}

mod passing_on {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    }

    #[test]
    fn executors_get_what_they_cannot_see() {
        let triples = [
            environment("ENABLE_AMAZON_PROFILER", "true"),
            environment("PROFILING_CONTEXT", r#"{"profilingGroupName":"G","driverEnabled":"true"}"#),
            conf("cloud.profiler.name", "N"),
            triple("spark.glowplug.depth", " 100 ", Origin::SystemProperty),
        ];
        let expected = [
            ("spark.glowplug.enabled", "true"),
            ("spark.glowplug.depth", "100"),
            ("spark.glowplug.codeguru.enabled", "true"),
            ("spark.glowplug.codeguru.group", "G"),
            ("spark.glowplug.codeguru.driver.enabled", "true"),
            ("spark.glowplug.google.name", "N"),
        ];
        assert_eq!(driver(&triples).passed_on, pairs(&expected));
    }

    #[test]
    fn executors_do_not_get_what_they_see_themselves() {
        let triples = [
            conf("spark.glowplug.dir", "/x"),
            conf("spark.glowplug.enabled", "true"),
            conf("spark.cloud.profiler.name", "N"),
            conf("spark.hadoop.cloud.profiler.service.version", "V"),
            conf("spark.yarn.appMasterEnv.ENABLE_GOOGLE_PROFILER", "true"),
        ];
        assert_eq!(driver(&triples).passed_on, []);
    }

    #[test]
    fn what_concerns_the_drivers_machine_or_role_stays_there() {
        let triples = [
            triple("spark.glowplug.native.dir", "/x", Origin::SystemProperty),
            triple("spark.glowplug.driver.enabled", "false", Origin::SystemProperty),
        ];
        assert_eq!(driver(&triples).passed_on, []);
    }

    #[test]
    fn the_drivers_answer_reaches_executors_that_wait_for_a_request() {
        let requested = conf("spark.glowplug.enabled", "requested");
        let asked = driver(&[requested.clone(), environment("ENABLE_GLOWPLUG_PROFILER", "true")]);
        assert_eq!(asked.passed_on, pairs(&[("spark.glowplug.enabled", "true")]));
        let passed = triple("spark.glowplug.enabled", "true", Origin::Driver);
        assert_eq!(executor(&[requested, passed]).settings.run, Ok(()));
    }

    #[test]
    fn an_executors_own_variable_beats_the_drivers_answer() {
        let off = driver(&[environment("ENABLE_AMAZON_PROFILER", "false")]);
        assert_eq!(off.passed_on[0], pairs(&[("spark.glowplug.enabled", "false")])[0]);
        let passed = triple("spark.glowplug.enabled", "false", Origin::Driver);
        assert_eq!(
            executor(std::slice::from_ref(&passed)).settings.run,
            Err("spark.glowplug.enabled is false (driver)".to_string())
        );
        assert_eq!(executor(&[passed, environment("ENABLE_AMAZON_PROFILER", "true")]).settings.run, Ok(()));
    }

    #[test]
    fn a_key_that_only_a_newer_driver_knows_is_no_warning() {
        assert_eq!(executor(&[triple("spark.glowplug.newer", "x", Origin::Driver)]).warnings, []);
    }
}

mod bad_input {
    use super::*;

    #[test]
    fn a_wrong_unit_names_key_value_allowed_and_what_is_used() {
        let resolution = driver(&[conf("spark.glowplug.cpu.interval", "10xs")]);
        assert_eq!(
            messages(&resolution),
            [(
                "bad-value",
                "spark.glowplug.cpu.interval=10xs (conf) has the unknown unit \"xs\"; allowed is a duration from 1ms \
                 to 10s, or off; the default is used: 10ms"
            )]
        );
        assert_eq!(resolution.settings.cpu_interval, Some(Duration::from_millis(10)));
    }

    #[test]
    fn a_value_out_of_range_falls_to_the_next_place() {
        let triples = [
            conf("spark.glowplug.depth", "4000"),
            triple("spark.glowplug.depth", "200", Origin::SystemProperty),
        ];
        let resolution = driver(&triples);
        assert_eq!(
            messages(&resolution),
            [(
                "bad-value",
                "spark.glowplug.depth=4000 (conf) is out of range; allowed is a whole number from 16 to 1000; 200 \
                 (system property spark.glowplug.depth) is used"
            )]
        );
        assert_eq!(resolution.settings.depth, 200);
    }

    #[test]
    fn a_bad_value_of_a_key_without_a_single_default_says_what_holds() {
        assert_eq!(
            messages(&driver(&[conf("spark.glowplug.relay.interval", "1ms")])),
            [(
                "bad-value",
                "spark.glowplug.relay.interval=1ms (conf) is out of range; allowed is a duration from 1s to 5m; the \
                 default is used: the larger of 10s and 6 ms for each executor"
            )]
        );
    }

    #[test]
    fn a_bad_switch_of_a_vendor_names_the_variable() {
        let resolution = driver(&[environment("ENABLE_AMAZON_PROFILER", "yes")]);
        assert_eq!(
            messages(&resolution),
            [(
                "bad-value",
                "ENABLE_AMAZON_PROFILER=yes (env) is not understood; allowed is true or false; the default is used: \
                 false"
            )]
        );
        assert_eq!(resolution.settings.run, Ok(()));
    }

    #[test]
    fn a_bad_field_of_the_context_names_the_field() {
        let context = environment("PROFILING_CONTEXT", r#"{"probability":"2","profilingGroupNme":"G"}"#);
        let resolution = driver(&[context, environment("ENABLE_AMAZON_PROFILER", "false")]);
        assert_eq!(
            messages(&resolution),
            [
                (
                    "unknown-field",
                    "PROFILING_CONTEXT has the field profilingGroupNme, which is unknown and has no effect; the \
                     nearest one is profilingGroupName"
                ),
                (
                    "bad-value",
                    "PROFILING_CONTEXT.probability=2 (env) has no unit; allowed is a share from 0% to 100%, written \
                     like 1% or 0.01; the default is used: 1.0"
                ),
            ]
        );
    }

    #[test]
    fn a_context_cut_in_two_names_the_cause_and_harms_nothing() {
        let resolution = driver(&[environment("PROFILING_CONTEXT", r#""driverEnabled":"true""#)]);
        assert_eq!(
            messages(&resolution),
            [(
                "context-not-understood",
                "PROFILING_CONTEXT (env) is not understood: only a fragment without braces is left of the JSON: bash \
                 expands {a,b} where the value stands unquoted in a shell file; put single quotes round it; allowed \
                 is JSON such as {\"profilingGroupName\":\"name\"}; all of it is ignored"
            )]
        );
        assert_eq!(resolution.settings, driver(&[]).settings);
    }

    #[test]
    fn a_context_that_is_not_understood_leaves_the_next_one() {
        let triples = [
            environment("PROFILING_CONTEXT", "{"),
            conf("spark.yarn.appMasterEnv.PROFILING_CONTEXT", "{profilingGroupName:G}"),
        ];
        let resolution = driver(&triples);
        assert_eq!(resolution.settings.profile_group.as_deref(), Some("G"));
        assert_eq!(resolution.warnings[0].code, "context-not-understood");
    }

    #[test]
    fn an_unknown_key_names_the_nearest_one_once() {
        let triples = [
            conf("spark.glowplug.cpu.intervall", "10ms"),
            triple("spark.glowplug.cpu.intervall", "10ms", Origin::SystemProperty),
            conf("spark.glowplug.reportInterval", "1m"),
        ];
        assert_eq!(
            messages(&driver(&triples)),
            [
                (
                    "unknown-key",
                    "spark.glowplug.cpu.intervall is not a setting of this version and has no effect; the nearest one \
                     is spark.glowplug.cpu.interval"
                ),
                (
                    "unknown-key",
                    "spark.glowplug.reportInterval is not a setting of this version and has no effect; the nearest \
                     one is spark.glowplug.report.interval"
                ),
            ]
        );
    }

    #[test]
    fn an_unknown_key_that_is_near_to_none_names_the_page() {
        assert_eq!(
            messages(&driver(&[conf("spark.glowplug.flavour", "x")])),
            [(
                "unknown-key",
                "spark.glowplug.flavour is not a setting of this version and has no effect; docs/SETTINGS.md lists all"
            )]
        );
    }

    #[test]
    fn an_unknown_switch_names_the_nearest_one() {
        let triples = [
            environment("ENABLE_AMAZN_PROFILER", "true"),
            conf("spark.yarn.appMasterEnv.ENABLE_GLOW_PLUG_PROFILER", "true"),
        ];
        assert_eq!(
            messages(&driver(&triples)),
            [
                (
                    "unknown-switch",
                    "ENABLE_AMAZN_PROFILER is not a switch of Glowplug and has no effect on it; the nearest one is \
                     ENABLE_AMAZON_PROFILER"
                ),
                (
                    "unknown-switch",
                    "spark.yarn.appMasterEnv.ENABLE_GLOW_PLUG_PROFILER is not a switch of Glowplug and has no effect \
                     on it; the nearest one is ENABLE_GLOWPLUG_PROFILER"
                ),
            ]
        );
    }

    #[test]
    fn a_label_among_the_settings_says_where_it_belongs() {
        assert_eq!(
            messages(&driver(&[conf("spark.glowplug.label.team", "x")])),
            [(
                "label-as-setting",
                "spark.glowplug.label.team has no effect as a setting: labels are local properties, set this one \
                 with SparkContext.setLocalProperty(\"spark.glowplug.label.team\", value)"
            )]
        );
    }

    #[test]
    fn a_long_value_with_control_characters_is_shown_on_one_short_line() {
        let value = format!("1\n{}", "x".repeat(1000));
        let resolution = driver(&[conf("spark.glowplug.depth", &value)]);
        let message = &resolution.warnings[0].message;
        assert!(message.starts_with("spark.glowplug.depth=1\\nxxx"), "{message}");
        assert_eq!(message.matches('x').count(), 198);
    }
}

mod missing_parts {
    use super::*;

    #[test]
    fn a_cloud_that_is_switched_on_is_named_as_not_built_in() {
        let triples =
            [environment("ENABLE_AMAZON_PROFILER", "true"), conf("dataproc.profiling.enabled", "true")];
        assert_eq!(
            messages(&driver(&triples)),
            [
                (
                    "not-built-in",
                    "ENABLE_AMAZON_PROFILER (env) switches Amazon CodeGuru Profiler on, but that target is not built \
                     into this version: nothing is uploaded to it"
                ),
                (
                    "not-built-in",
                    "dataproc.profiling.enabled (conf) switches Google Cloud Profiler on, but that target is not \
                     built into this version: nothing is uploaded to it"
                ),
            ]
        );
    }

    #[test]
    fn settings_of_a_cloud_that_is_not_switched_on_get_one_line() {
        let context = r#"{"profilingGroupName":"G","driverEnabled":"true"}"#;
        assert_eq!(
            messages(&driver(&[environment("PROFILING_CONTEXT", context)])),
            [(
                "target-off",
                "PROFILING_CONTEXT.profilingGroupName (env) is set, but Amazon CodeGuru Profiler is not switched on: \
                 nothing is uploaded to it"
            )]
        );
    }

    #[test]
    fn a_cloud_that_is_switched_off_gets_no_line() {
        let triples = [
            environment("PROFILING_CONTEXT", r#"{"profilingGroupName":"G"}"#),
            environment("ENABLE_AMAZON_PROFILER", "false"),
            conf("spark.glowplug.enabled", "true"),
        ];
        assert_eq!(driver(&triples).warnings, []);
    }

    #[test]
    fn engines_of_a_later_version_are_named() {
        let triples = [
            conf("spark.glowplug.lock.threshold", "10ms"),
            conf("spark.glowplug.heap.enabled", "true"),
            conf("spark.glowplug.python", "false"),
        ];
        assert_eq!(
            messages(&driver(&triples)),
            [
                (
                    "not-built-in",
                    "spark.glowplug.lock.threshold=10ms (conf) has no effect: the lock engine is not built into this \
                     version"
                ),
                (
                    "not-built-in",
                    "spark.glowplug.heap.enabled=true (conf) has no effect: the heap engine is not built into this \
                     version"
                ),
            ]
        );
    }
}

mod secrets {
    use super::*;

    #[test]
    fn a_secret_is_in_no_line_and_is_not_passed_on() {
        let triples = [
            conf("spark.redaction.string.regex", "4711"),
            conf("spark.glowplug.dir", "s3://b/x?token=hush"),
            conf("cloud.profiler.name", "password-hush"),
            environment("PROFILING_CONTEXT", r#"{"profilingGroupName":"card-4711"}"#),
            conf("spark.glowplug.depth", "secret hush"),
        ];
        let resolution = driver(&triples);
        assert_eq!(resolution.settings.dir, Folder::At("s3://b/x?token=hush".to_string()));
        assert_eq!(resolution.passed_on, []);
        let line = describe(&resolution.effective);
        assert!(line.contains("dir=*** (conf)"), "{line}");
        assert!(
            line.contains("codeguru.group=card-*** (env PROFILING_CONTEXT.profilingGroupName)"),
            "{line}"
        );
        let said = format!("{line} {:?} {:?}", resolution.warnings, resolution.effective);
        assert!(!said.contains("hush") && !said.contains("card-4711"), "{said}");
    }

    #[test]
    fn an_unusable_pattern_is_warned_of_first() {
        let resolution =
            driver(&[conf("spark.redaction.regex", "(?<=a)b"), conf("spark.glowplug.depth", "1")]);
        let codes: Vec<_> = resolution.warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, ["redaction-pattern", "bad-value"]);
    }
}

mod origins {
    use super::super::super::UnknownOrigin;
    use super::*;

    #[test]
    fn origins_are_spelt_as_java_hands_them_over() {
        for spelling in ["conf", "env", "hadoop", "system property", "agent", "driver", "default"] {
            assert_eq!(spelling.parse::<Origin>().unwrap().to_string(), spelling);
        }
        let error: UnknownOrigin = "file".parse::<Origin>().unwrap_err();
        assert_eq!(error.to_string(), "unknown origin of a setting: \"file\"");
    }
}
