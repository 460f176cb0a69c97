//! The start: what the JVM is, whether and how this process is profiled, and the line that says so.

use super::fields::Pairs;
use super::guard::NativeFailure;
use super::place::Place;
use crate::facts;
use crate::session::{EngineReport, Engines};
use crate::settings::{self, Effective, Role};
use jni::objects::JValue;
use jni::JNIEnv;

/// The JVM as it names itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Java {
    /// `OpenJDK 64-Bit Server VM 17.0.15+6`.
    pub(crate) name: String,
    /// `17.0.15+6`.
    pub(crate) version: String,
    /// 8, 17, …
    pub(crate) feature: u32,
}

/// Asks the JVM for its name and release.
pub(crate) fn java(env: &JNIEnv) -> Result<Java, NativeFailure> {
    let property = |key: &str| -> Result<String, NativeFailure> {
        let key = env.new_string(key)?;
        let value = env.call_static_method(
            "java/lang/System",
            "getProperty",
            "(Ljava/lang/String;)Ljava/lang/String;",
            &[JValue::Object(key.into())],
        )?;
        let text = value.l()?;
        if text.is_null() {
            return Ok(String::new());
        }
        Ok(env.get_string(text.into())?.into())
    };
    // java.vm.version begins with "25." on JDK 8 too: only the specification tells the release.
    let feature = feature(&property("java.specification.version")?);
    let version = property("java.vm.version")?;
    Ok(Java { name: format!("{} {version}", property("java.vm.name")?), version, feature })
}

fn feature(specification: &str) -> u32 {
    specification.trim_start_matches("1.").parse().unwrap_or(0)
}

/// The build id with a mark before it, which the plugin looks for in a library that it has not loaded.
#[used]
static BUILD_MARK: &str =
    concat!("glowplug-build-id=", env!("CARGO_PKG_VERSION"), "+", env!("GLOWPLUG_BUILD_ID"), ";");

/// Version and hash of the sources, equal in two copies of one build.
pub(crate) fn build_id() -> &'static str {
    BUILD_MARK.split_once('=').map_or(BUILD_MARK, |(_, id)| id.trim_end_matches(';'))
}

/// Keeps this library mapped until the process ends: handlers and callbacks point into it.
pub(crate) fn pin_library() {
    // SAFETY: dladdr writes our own variable; the name it gives is a C string of the loader's; opening
    // with RTLD_NOLOAD only marks what is loaded.
    unsafe {
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        if libc::dladdr(pin_library as *const libc::c_void, info.as_mut_ptr()) == 0 {
            return;
        }
        let info = info.assume_init();
        if !info.dli_fname.is_null() {
            libc::dlopen(info.dli_fname, libc::RTLD_NOLOAD | libc::RTLD_NODELETE | libc::RTLD_NOW);
        }
    }
}

/// What the start line tells.
pub(crate) struct Start<'a> {
    pub(crate) role: Role,
    pub(crate) process: &'a Pairs,
    pub(crate) java: &'a Java,
    pub(crate) engines: &'a [EngineReport],
    pub(crate) place: Option<&'a Place>,
    pub(crate) effective: &'a [Effective],
}

impl Start<'_> {
    /// What is profiled, by which engines and why these, where it goes, and which settings came from
    /// where: those that somebody set.
    pub(crate) fn line(&self) -> String {
        let who = match self.role {
            Role::Driver if self.process.is_true("local") => "driver and executor (local mode)".to_owned(),
            Role::Driver => "driver".to_owned(),
            Role::Executor => format!("executor {}", self.process.get("executor_id")),
            Role::Agent => "this JVM from its start".to_owned(),
        };
        let engines: Vec<_> = self
            .engines
            .iter()
            .map(|report| match &report.reason {
                Some(reason) => format!("{} ({reason})", report.text),
                None => report.text.clone(),
            })
            .collect();
        let mut line = format!(
            "profiling {who} on {} with {}; not built in yet: lock, heap; {}; {}",
            self.java.name,
            engines.join(", "),
            destination(self.role, self.place),
            settings::describe(self.effective),
        );
        let version = self.process.get("spark_version");
        if facts::spark(version).is_some_and(|spark| !spark.task_callbacks) {
            line.push_str(&format!(
                "; Spark {version} does not tell plugins of tasks (3.1 and newer do): no stage labels"
            ));
        }
        line
    }
}

/// Where what this process samples or gathers goes, and why there.
pub(crate) fn destination(role: Role, place: Option<&Place>) -> String {
    match (role, place) {
        (Role::Executor, _) => "samples go to the driver".to_owned(),
        (Role::Agent, _) => {
            "samples go to the SparkContext that starts here, or to a folder at exit".to_owned()
        }
        (_, Some(Place { root: Some(root), why, .. })) => format!("the profile goes to {root} ({why})"),
        _ => "no folder (spark.glowplug.dir=none)".to_owned(),
    }
}

/// The engines in one text, for the summary.
pub(crate) fn engines_text(engines: &Engines, plan: &crate::session::Plan) -> Vec<String> {
    engines.describe(plan).into_iter().map(|report| report.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Origin;

    #[test]
    fn the_build_id_begins_with_the_version() {
        let (version, hash) = build_id().split_once('+').expect("two parts");
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
        assert!(!hash.is_empty() && !hash.contains(';'));
    }

    #[test]
    fn eight_is_told_from_twenty_five_by_the_specification() {
        assert_eq!([feature("1.8"), feature("17"), feature("25"), feature("?")], [8, 17, 25, 0]);
    }

    #[test]
    fn the_start_line_says_what_why_where_and_whose_setting() {
        let fields = ["executor_id", "driver", "local", "true", "spark_version", "3.0.3"];
        let process = Pairs::of(fields.map(str::to_owned).to_vec());
        let version = "25.504".to_owned();
        let java = Java { name: format!("OpenJDK 64-Bit Server VM {version}"), version, feature: 8 };
        let engines = [
            EngineReport { text: "cpu=sampler-thread(10ms)".into(), reason: Some("because".into()) },
            EngineReport { text: "wall=sweep(50ms)".into(), reason: None },
        ];
        let place = Place { root: Some("/x".into()), why: "spark.glowplug.dir".into(), warning: None };
        let effective = [
            Effective {
                key: "spark.glowplug.dir".into(),
                value: "/x".into(),
                origin: Origin::Conf,
                origin_key: "spark.glowplug.dir".into(),
            },
            Effective {
                key: "spark.glowplug.enabled".into(),
                value: "true".into(),
                origin: Origin::Environment,
                origin_key: "ENABLE_GLOWPLUG_PROFILER".into(),
            },
            Effective {
                key: "spark.glowplug.depth".into(),
                value: "1000".into(),
                origin: Origin::Default,
                origin_key: String::new(),
            },
        ];
        let start = Start {
            role: Role::Driver,
            process: &process,
            java: &java,
            engines: &engines,
            place: Some(&place),
            effective: &effective,
        };
        assert_eq!(
            start.line(),
            "profiling driver and executor (local mode) on OpenJDK 64-Bit Server VM 25.504 with \
             cpu=sampler-thread(10ms) (because), wall=sweep(50ms); not built in yet: lock, heap; the profile goes to \
             /x (spark.glowplug.dir); settings: dir=/x (conf), enabled=true (env ENABLE_GLOWPLUG_PROFILER), the rest \
             default; Spark 3.0.3 does not tell plugins of tasks (3.1 and newer do): no stage labels"
        );
    }
}
