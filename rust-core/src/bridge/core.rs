//! The one core of this JVM: a session, the applications that it feeds, and the work for Java.
//!
//! A delta of this JVM goes from the sampler thread into [`Inbox`], and from there, on the io
//! thread, into the driver's application or the executor's outbox: the sampler thread never waits.

use super::fields::{self, Pairs};
use super::guard::NativeFailure;
use super::place::place;
use super::start::{build_id, destination, engines_text, Java, Start};
use super::state::{Me, State};
use super::work::{word, Asked, Job};
use crate::application::{ApplicationEvent, ApplicationInfo, SummarySetting};
use crate::jvm::{Hotspot, Vm};
use crate::profile::names::fold_description;
use crate::profile::{LabelKey, ProcessIdentity, TaskLabels, Warning, MAX_LABEL};
use crate::session::{AskedDelta, Clock, Engines, Inbox, Level, Machine, Plan, Sender, Session, SystemClock};
use crate::settings::{self, Origin, Redaction, Resolution, Role, Triple};
use once_cell::sync::{Lazy, OnceCell};
use parking_lot::{Condvar, Mutex, RwLock};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The core of this JVM.
pub(crate) static CORE: Lazy<Core> = Lazy::new(Core::default);

#[derive(Default)]
pub(crate) struct Core {
    /// Set once; read by task threads, which must not wait for a report that is being encoded.
    session: OnceCell<Arc<Session>>,
    vm: OnceCell<Arc<Hotspot>>,
    redaction: RwLock<Option<Arc<Redaction>>>,
    agent_options: Mutex<Vec<Triple>>,
    inbox: Arc<Inbox>,
    state: Mutex<State>,
    /// Woken when there may be work for the io thread, and when an answer has come.
    changed: Condvar,
}

/// How long one look at the clock may be overdue while the io thread waits.
const LONGEST_WAIT: Duration = Duration::from_millis(200);
/// How long an executor's end, of which at most 2 s are ours, waits for its own sampler thread.
const SAMPLER_WAIT: Duration = Duration::from_millis(1_500);
/// How long a driver's end does at least, also where no executor is waited for.
const DRIVERS_SAMPLER_WAIT: Duration = Duration::from_secs(3);
/// How long the last files may take. Java waits 15 s and the time for executors' last deltas: what was not written must be
/// said before, also after [`DRIVERS_SAMPLER_WAIT`] where that time is 0: 15 - 3 - 1.
const WRITE_WAIT: Duration = Duration::from_secs(11);

impl Core {
    /// Starts or takes over the session of this JVM. Returns pairs for Java.
    pub(crate) fn start(
        &self,
        java: Java,
        process: &[u8],
        settings: &[u8],
    ) -> Result<Vec<u8>, NativeFailure> {
        let process = Pairs::decode(process)?;
        let role = match process.get("role") {
            "driver" => Role::Driver,
            "executor" => Role::Executor,
            _ => Role::Agent,
        };
        let triples = self.with_agent_options(triples(settings)?, role);
        let resolution = settings::resolve(&triples, role);
        let here =
            std::env::current_dir().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let place = place(&resolution.settings.dir, &process, &here);
        let mut answer = Vec::new();
        let mut warnings: Vec<Warning> = resolution
            .warnings
            .iter()
            .map(|warning| Warning { code: warning.code.to_owned(), message: warning.message.clone() })
            .collect();
        if let (Some(message), Role::Driver) = (&place.warning, role) {
            warnings.push(Warning { code: "folder-place".to_owned(), message: message.clone() });
        }
        for warning in &warnings {
            // A cloud's name for the profile is of use without that cloud.
            let level = if warning.code == settings::TARGET_OFF { Level::Info } else { Level::Warn };
            say(&mut answer, level, &warning.message);
        }
        let plan = Plan::of(&resolution.settings);
        let engines = self.engines(&plan, &java);
        // In local mode there is nobody else to gather from; a driver that was to be profiled says in its folder why not.
        let alone = process.is_true("local") && resolution.settings.run.is_err();
        let gathers = role == Role::Driver && resolution.settings.gather && !alone;
        let profiled = match &resolution.settings.run {
            Ok(()) => match self.run(&plan, &engines, &java) {
                Ok(()) => true,
                Err(error) => {
                    let message = format!("this process is not profiled: {error}");
                    say(&mut answer, Level::Warn, &message);
                    warnings.push(Warning { code: "not-profiled".to_owned(), message });
                    false
                }
            },
            Err(reason) => {
                if let Some(session) = self.session.get() {
                    session.pause();
                }
                let mut message = format!("not profiling this process: {reason}");
                if gathers {
                    message.push_str(&format!("; its executors are: {}", destination(role, Some(&place))));
                }
                say(&mut answer, Level::Announce, &message);
                false
            }
        };
        if profiled {
            let start = Start {
                role,
                process: &process,
                java: &java,
                engines: &engines.describe(&plan),
                place: Some(&place),
                effective: &resolution.effective,
            };
            say(&mut answer, Level::Announce, &start.line());
            if !self.vm(&java).is_ok_and(|vm| vm.counts_allocations()) {
                let message = "this JVM does not tell what its threads allocate (not HotSpot?): alloc_bytes of tasks stay 0";
                say(&mut answer, Level::Info, message);
            }
        }
        answer.extend(["running".to_owned(), (profiled || gathers).to_string()]);
        let wait = if process.is_true("local") { Duration::ZERO } else { resolution.settings.shutdown_wait };
        answer.extend(["shutdown_wait_ms".to_owned(), wait.as_millis().to_string()]);
        for (key, value) in &resolution.passed_on {
            answer.extend([format!("pass.{key}"), value.clone()]);
        }
        if let (Role::Executor | Role::Agent, Some(session)) = (role, self.session.get()) {
            warnings.drain(..).for_each(|warning| session.report(warning));
        }
        let identity = self.identity(role, &process, &java, &engines, &plan);
        self.become_process(Me {
            role,
            warnings,
            identity,
            redaction: Arc::new(resolution.redaction.clone()),
            effective: summary_settings(&resolution),
            settings: resolution.settings,
            process,
            place,
            profiled,
        });
        Ok(fields::encode(answer))
    }

    /// Opens the application of a SparkContext; what this JVM has sampled until now goes to it.
    pub(crate) fn open_application(&self, application: &[u8]) -> Result<i32, NativeFailure> {
        let pairs = Pairs::decode(application)?;
        let mut state = self.state.lock();
        if state.me.is_none() {
            return Err(NativeFailure::Core("openApplication before start".to_owned()));
        }
        let info = ApplicationInfo {
            id: pairs.get("app_id").to_owned(),
            name: pairs.get("app_name").to_owned(),
            attempt: pairs.get("app_attempt").to_owned(),
            spark: pairs.get("spark_version").to_owned(),
            scala: pairs.get("scala_version").to_owned(),
            ..ApplicationInfo::default()
        };
        let handle = state.open(info);
        self.changed.notify_all();
        Ok(handle)
    }

    /// Tells an application what Spark's listener bus says.
    pub(crate) fn event(&self, application: i32, event: &[u8]) -> Result<(), NativeFailure> {
        let mut event = fields::decode(event)?;
        if event.is_empty() {
            return Err(NativeFailure::Core("an event without a kind".to_owned()));
        }
        let kind = event.remove(0);
        let pairs = Pairs::of(event);
        let number = |key: &str| pairs.get(key).parse().unwrap_or(0);
        let event = match kind.as_str() {
            "executorAdded" => ApplicationEvent::ExecutorAdded {
                id: pairs.get("id").to_owned(),
                host: pairs.get("host").to_owned(),
            },
            "executorRemoved" => ApplicationEvent::ExecutorRemoved {
                id: pairs.get("id").to_owned(),
                reason: pairs.get("reason").to_owned(),
            },
            "stageSubmitted" => ApplicationEvent::StageSubmitted {
                stage: number("stage") as u32,
                attempt: number("attempt") as u32,
                name: pairs.get("name").to_owned(),
            },
            "stageCompleted" => ApplicationEvent::StageCompleted {
                stage: number("stage") as u32,
                attempt: number("attempt") as u32,
                name: pairs.get("name").to_owned(),
                cpu_ns: number("cpu_ns"),
                failure: Some(pairs.get("failure").to_owned()).filter(|failure| !failure.is_empty()),
            },
            _ => return Ok(()),
        };
        let now = SystemClock.unix();
        if let Some(open) = self.state.lock().applications.get_mut(&application) {
            open.application.event(event, now);
        }
        Ok(())
    }

    /// Takes an executor's delta; the bytes may be anything. Returns the answer's bytes.
    pub(crate) fn ingest(&self, application: i32, executor: &str, delta: &[u8]) -> Vec<u8> {
        let now = SystemClock.unix();
        let mut state = self.state.lock();
        let Some(open) = state.applications.get_mut(&application) else { return Vec::new() };
        let answer = open.application.receive(executor, delta, now);
        self.changed.notify_all();
        answer
    }

    /// A task begins on the calling thread.
    pub(crate) fn task_start(&self, task: i64, labels: &[u8]) -> Result<(), NativeFailure> {
        let Some(session) = self.session.get() else { return Ok(()) };
        let pairs = Pairs::decode(labels)?;
        let Some(redaction) = self.redaction.read().clone() else { return Ok(()) };
        let labels = pairs
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (key.to_owned(), label_value(key, value, &redaction)))
            .collect();
        session.task_started(task as u64, TaskLabels(labels));
        Ok(())
    }

    /// The task of the calling thread ends.
    pub(crate) fn task_end(&self) -> Result<(), NativeFailure> {
        if let Some(session) = self.session.get() {
            session.task_ended();
        }
        Ok(())
    }

    /// Waits for work for the io thread, at most `wait`; empty when there was none.
    pub(crate) fn take(&self, wait: Duration) -> Vec<u8> {
        if let Some(session) = self.session.get() {
            session.own_thread();
        }
        let deadline = Instant::now() + wait;
        let mut state = self.state.lock();
        loop {
            self.move_on(&mut state);
            if let Some(work) = state.work.take() {
                return work;
            }
            if state.ended {
                return fields::encode_with_blob(&["0", "end"], &[]);
            }
            if Instant::now() >= deadline {
                return Vec::new();
            }
            self.changed.wait_until(&mut state, deadline.min(Instant::now() + LONGEST_WAIT));
        }
    }

    /// Takes what came of a piece of work.
    pub(crate) fn answer(
        &self,
        token: i64,
        answer: &[u8],
        error: Option<String>,
    ) -> Result<(), NativeFailure> {
        let mut state = self.state.lock();
        match state.work.answered(token) {
            Some(Asked::File { application, path }) => {
                match (state.applications.get_mut(&application), error) {
                    (Some(open), error) => open.application.file_done(&path, error.as_deref()),
                    (None, Some(error)) => {
                        let message = format!("{path} could not be written: {error}");
                        state.work.push(Job::Log { level: Level::Warn, message });
                    }
                    (None, None) => {}
                }
            }
            Some(Asked::Delta(delta)) => self.delta_answered(&mut state, delta, answer, error),
            None => {}
        }
        self.move_on(&mut state);
        self.changed.notify_all();
        Ok(())
    }

    /// The executor ends: hands on the last delta, waits until the driver has it, at most `wait`, and
    /// returns the lines to log as pairs.
    pub(crate) fn flush(&self, wait: Duration) -> Vec<u8> {
        let begun = Instant::now();
        let deadline = begun + wait;
        let Some(session) = self.session.get() else { return Vec::new() };
        let last = session.ask_for_delta(true, "shutdown");
        is_late(last.as_ref(), deadline.min(begun + SAMPLER_WAIT));
        session.pause();
        let mut state = self.state.lock();
        if state.me.as_ref().is_some_and(|me| me.role == Role::Agent) {
            state.open_own_application();
        }
        self.move_on(&mut state);
        self.changed.notify_all();
        if state.sender.is_none() {
            if is_late(last.as_ref(), Instant::now()) {
                state.last_samples_are_late(begun.elapsed());
            }
            drop(state);
            return self.close_all(deadline);
        }
        state.write_refused();
        while state.has_outgoing() && Instant::now() < deadline {
            self.changed.wait_until(&mut state, deadline.min(Instant::now() + LONGEST_WAIT));
            self.move_on(&mut state);
        }
        let late = is_late(last.as_ref(), Instant::now()).then(|| begun.elapsed());
        state.end_of_executor(late)
    }

    /// The SparkContext ends: waits for executors' last deltas, at most `wait`, writes the folder, and
    /// returns the lines to log as pairs.
    pub(crate) fn close_application(&self, application: i32, wait: Duration) -> Vec<u8> {
        let begun = Instant::now();
        let last = self.session.get().and_then(|session| session.ask_for_delta(true, "shutdown"));
        is_late(last.as_ref(), begun + wait.max(DRIVERS_SAMPLER_WAIT));
        let mut state = self.state.lock();
        self.move_on(&mut state);
        while state.awaited(application) > 0 && Instant::now() < begun + wait {
            self.changed.wait_until(&mut state, begun + wait);
        }
        let late = is_late(last.as_ref(), Instant::now());
        self.move_on(&mut state);
        if late {
            state.last_samples_are_late(begun.elapsed());
        }
        self.finish(&mut state, application, Instant::now() + WRITE_WAIT)
    }

    /// Ends the session's threads and the io thread.
    pub(crate) fn stop(&self) -> Result<(), NativeFailure> {
        if let Some(session) = self.session.get() {
            session.stop(SAMPLER_WAIT);
        }
        self.state.lock().ended = true;
        self.changed.notify_all();
        Ok(())
    }

    /// Panics here, or later on the sampler thread: for tests only, so nothing happens unless the
    /// environment asks for it.
    pub(crate) fn inject_panic(&self, place: &str) -> Result<(), NativeFailure> {
        let wanted = std::env::var("GLOWPLUG_TEST_PANIC").unwrap_or_default();
        if !wanted.split(',').any(|wanted| wanted == place) {
            return Ok(());
        }
        panic!("injected at {place}");
    }

    /// The plugin does not see the options of `-javaagent`, so they are kept for it.
    fn with_agent_options(&self, mut triples: Vec<Triple>, role: Role) -> Vec<Triple> {
        let mut options = self.agent_options.lock();
        if role == Role::Agent {
            *options = triples.iter().filter(|triple| triple.origin == Origin::Agent).cloned().collect();
        } else {
            triples.extend(options.iter().cloned());
        }
        triples
    }

    /// The JVM; opened once, for each opening makes another JVMTI environment.
    fn vm(&self, java: &Java) -> Result<&Arc<Hotspot>, String> {
        self.vm.get_or_try_init(|| {
            // SAFETY: the pointer that JNI_OnLoad got.
            let vm = unsafe { Hotspot::open(super::java_vm(), java.feature) };
            vm.map(Arc::new).map_err(|error| error.to_string())
        })
    }

    fn engines(&self, plan: &Plan, java: &Java) -> Engines {
        let vm = self.vm(java).ok().map(|vm| &**vm as &dyn Vm);
        let machine = Machine::of(vm, java.feature, &java.version);
        Engines::choose(plan, &machine)
    }

    /// Starts the session, or has the one that is there do as planned.
    fn run(&self, plan: &Plan, engines: &Engines, java: &Java) -> Result<(), String> {
        if let Some(session) = self.session.get() {
            if !session.is_alive() {
                return Err("the profiler has ended by a failure of its own".to_owned());
            }
            session.replan(plan.clone(), engines.clone());
            return Ok(());
        }
        let session = Session::launch(
            self.vm(java)?.clone(),
            Arc::new(SystemClock),
            plan.clone(),
            engines.clone(),
            self.inbox.clone(),
        )?;
        if std::env::var("GLOWPLUG_TEST_PANIC")
            .is_ok_and(|places| places.split(',').any(|place| place == "sampler"))
        {
            session.inject_panic("sampler");
        }
        let _ = self.session.set(Arc::new(session));
        Ok(())
    }

    fn identity(
        &self,
        role: Role,
        process: &Pairs,
        java: &Java,
        engines: &Engines,
        plan: &Plan,
    ) -> ProcessIdentity {
        static UUID: Lazy<String> = Lazy::new(|| uuid::Uuid::new_v4().simple().to_string());
        let id = match role {
            Role::Executor => process.get("executor_id").to_owned(),
            Role::Driver | Role::Agent => "driver".to_owned(),
        };
        ProcessIdentity {
            uuid: UUID.clone(),
            id,
            host: process.get("host").to_owned(),
            pid: std::process::id(),
            java: java.name.clone(),
            glowplug: build_id().to_owned(),
            jar: process.get("jar").to_owned(),
            started: SystemClock.unix(),
            engines: engines_text(engines, plan),
        }
    }

    fn become_process(&self, me: Me) {
        *self.redaction.write() = Some(me.redaction.clone());
        let mut state = self.state.lock();
        if me.role == Role::Executor && me.profiled && state.sender.is_none() {
            let mut sender = Sender::new(me.identity.clone(), me.settings.report_interval);
            if let Some(warning) = state.stopped.clone() {
                sender.failed(warning, SystemClock.unix());
            }
            state.sender = Some(sender);
        }
        state.me = Some(me);
    }

    /// Brings everything one step further: deltas to where they go, due files and deltas into the work.
    fn move_on(&self, state: &mut State) {
        if let Some(message) = self.inbox.take_failure() {
            let message = format!("the profiler has stopped, and the job runs on without it: {message}");
            state.work.push(Job::Log { level: Level::Warn, message: message.clone() });
            state.failed(message);
        }
        for (level, message) in self.inbox.take_warnings() {
            state.work.push(Job::Log { level, message });
        }
        let now = SystemClock.unix();
        state.place_deltas(&self.inbox, now);
        state.send(now);
        // What comes up while an application is closed is said with its last line, in order.
        for (handle, open) in state.applications.iter_mut().filter(|(_, open)| !open.closed) {
            let files = open.application.due(now);
            open.queue(*handle, files, &mut state.work);
            for warning in open.application.take_warnings() {
                state.work.push(Job::Log { level: Level::Warn, message: warning.message });
            }
        }
    }

    fn delta_answered(&self, state: &mut State, token: u64, answer: &[u8], error: Option<String>) {
        let Some(sender) = &mut state.sender else { return };
        let answer = error.map_or(Ok(answer), Err);
        let session = self.session.get().map(|session| &**session);
        if let Some(message) = sender.answered(token, answer, SystemClock.unix(), &self.inbox, session) {
            state.work.push(Job::Log { level: Level::Warn, message });
        }
    }

    /// Closes every application that is open, as a JVM without Spark's shutdown does at its end.
    fn close_all(&self, deadline: Instant) -> Vec<u8> {
        let mut state = self.state.lock();
        let handles: Vec<i32> = state.applications.keys().copied().collect();
        handles.into_iter().flat_map(|handle| self.finish(&mut state, handle, deadline)).collect()
    }

    /// Writes an application's last files and returns its last lines as pairs.
    fn finish(
        &self,
        state: &mut parking_lot::MutexGuard<'_, State>,
        handle: i32,
        deadline: Instant,
    ) -> Vec<u8> {
        let now = SystemClock.unix();
        let State { applications, work, .. } = &mut **state;
        let Some(open) = applications.get_mut(&handle) else { return Vec::new() };
        if std::mem::replace(&mut open.closed, true) {
            return Vec::new();
        }
        let files = open.application.finish(now);
        open.queue(handle, files, work);
        self.changed.notify_all();
        while state.work.files_of(handle) > 0 && Instant::now() < deadline {
            self.changed.wait_until(state, deadline);
        }
        let unwritten = state.work.files_of(handle);
        let mut lines = Vec::new();
        let Some(open) = state.applications.get_mut(&handle) else { return Vec::new() };
        for warning in open.application.take_warnings() {
            say(&mut lines, Level::Warn, &warning.message);
        }
        if unwritten > 0 {
            say(
                &mut lines,
                Level::Warn,
                &format!("{unwritten} files of the profile were not written in time"),
            );
        }
        match open.application.end_line() {
            Ok(line) => say(&mut lines, Level::Announce, &line),
            Err(line) => say(&mut lines, Level::Warn, &line),
        }
        if !state.applications.values().any(|open| !open.closed) {
            if let Some(session) = self.session.get() {
                session.pause();
            }
        }
        fields::encode(lines)
    }
}

/// Waits for a delta until `deadline`. False also where there is no sampler thread that could be late.
fn is_late(asked: Option<&AskedDelta>, deadline: Instant) -> bool {
    asked.is_some_and(|asked| !asked.has_come_by(deadline))
}

/// The command line over fields: arguments in; exit, stdout and stderr out.
pub(crate) fn command(arguments: &[u8]) -> Result<Vec<u8>, NativeFailure> {
    let outcome = crate::command::run(&fields::decode(arguments)?);
    let exit = outcome.exit.to_string();
    Ok(fields::encode(["exit", &exit, "stdout", &outcome.stdout, "stderr", &outcome.stderr]))
}

pub(super) fn say(answer: &mut Vec<String>, level: Level, message: &str) {
    answer.extend([format!("log.{}", word(level)), message.to_owned()]);
}

fn triples(bytes: &[u8]) -> Result<Vec<Triple>, NativeFailure> {
    fields::decode(bytes)?
        .chunks_exact(3)
        .map(|row| {
            let origin = row[2].parse().map_err(|error| NativeFailure::Core(format!("{error}")))?;
            Ok(Triple { key: row[0].clone(), value: row[1].clone(), origin })
        })
        .collect()
}

fn summary_settings(resolution: &Resolution) -> Vec<SummarySetting> {
    resolution
        .effective
        .iter()
        .map(|setting| SummarySetting {
            key: setting.key.clone(),
            value: setting.value.clone(),
            origin: setting.origin.to_string(),
        })
        .collect()
}

/// A label's value as it may leave the process: one line, cut, with secrets hidden.
fn label_value(key: &str, value: &str, redaction: &Redaction) -> String {
    let line = if key == LabelKey::JobDescription.as_str() {
        fold_description(value)
    } else {
        value.lines().next().unwrap_or("").to_owned()
    };
    redaction.redact_value(key, &redaction.redact_text(&line)).chars().take(MAX_LABEL).collect()
}

#[cfg(test)]
mod tests {
    use super::super::place::Place;
    use super::*;
    use crate::session::testing::{machine, plan, Stage};

    #[test]
    fn a_description_is_its_first_line_cut() {
        let (redaction, _) = Redaction::new(None, None);
        let long = format!("{}\nplan {{", "x".repeat(300));
        assert_eq!(label_value("job_description", &long, &redaction), "x".repeat(200));
        assert_eq!(label_value("job_group", "", &redaction), "");
    }

    #[test]
    fn a_secret_in_a_label_is_hidden() {
        let (redaction, _) = Redaction::new(None, Some("AKIA[A-Z0-9]+"));
        assert!(!label_value("job_description", "copy with AKIA123ABC", &redaction).contains("AKIA123ABC"));
        assert!(!label_value("user_password", "hunter2", &redaction).contains("hunter2"));
    }

    #[test]
    fn a_driver_says_when_its_last_samples_are_late() {
        let stage = Arc::new(Stage::default());
        let core = core(&stage, Role::Driver, "driver");
        let lines = || {
            let application = core.open_application(&[]).expect("it has started");
            fields::decode(&core.close_application(application, Duration::ZERO)).expect("pairs")
        };
        assert_eq!(lines().iter().step_by(2).collect::<Vec<_>>(), ["log.ANNOUNCE"]);
        let stuck = stage.threads.lock();
        let late = "the last samples of this process are missing: the sampler thread did not get to run within 3.0 s";
        assert_eq!(lines()[..2], ["log.WARN", late]);
        drop(stuck);
        core.stop().expect("it stops");
    }

    #[test]
    fn an_executor_says_when_its_last_samples_are_late() {
        let stage = Arc::new(Stage::default());
        let core = core(&stage, Role::Executor, "7");
        let stuck = stage.threads.lock();
        let lines = fields::decode(&core.flush(Duration::from_millis(300))).expect("pairs");
        let late = "the last samples of this process are missing: the sampler thread did not get to run within 0.3 s";
        let all = "the driver has all of executor 7: 0 deltas with 0.000000000 s of CPU";
        assert_eq!(lines, ["log.WARN", late, "log.INFO", all]);
        drop(stuck);
        core.stop().expect("it stops");
    }

    /// A core whose sampler thread is at work, and which writes no files.
    fn core(stage: &Arc<Stage>, role: Role, id: &str) -> Core {
        let core = Core::default();
        let engines = Engines::choose(&plan(), &machine(8));
        let session = Session::launch(stage.clone(), stage.clone(), plan(), engines, core.inbox.clone());
        core.session.set(Arc::new(session.expect("a thread"))).ok().expect("it is the first");
        let resolution = settings::resolve(&[], role);
        core.become_process(Me {
            role,
            process: Pairs::of(Vec::new()),
            identity: ProcessIdentity { id: id.to_owned(), ..ProcessIdentity::default() },
            settings: resolution.settings,
            redaction: Arc::new(resolution.redaction),
            effective: Vec::new(),
            warnings: Vec::new(),
            place: Place { root: None, why: String::new(), warning: None },
            profiled: true,
        });
        core
    }

    #[test]
    fn triples_need_a_known_origin() {
        let bytes = fields::encode(["spark.glowplug.depth", "12", "conf"]);
        assert_eq!(triples(&bytes).expect("well formed").len(), 1);
        let bytes = fields::encode(["spark.glowplug.depth", "12", "moon"]);
        assert!(triples(&bytes).is_err());
    }
}
