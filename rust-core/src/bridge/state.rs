//! What the core of this JVM holds, behind its one lock: who the process is, the applications whose driver it is, and where
//! deltas and files go from here.

use super::core::say;
use super::fields::{self, Pairs};
use super::place::Place;
use super::work::{Job, Work};
use crate::application::{
    folder_name, Application, ApplicationInfo, FolderFile, Formats, OwnProcess, SummarySetting,
};
use crate::profile::{ProcessIdentity, ProcessStatus, Warning};
use crate::session::{Clock, Inbox, Level, Sender, SystemClock};
use crate::settings::{Redaction, Role, Settings};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Default)]
pub(super) struct State {
    pub(super) me: Option<Me>,
    pub(super) applications: BTreeMap<i32, Open>,
    pub(super) last_application: i32,
    pub(super) sender: Option<Sender>,
    pub(super) work: Work,
    /// Running totals of this JVM at its last delta: what an application that is opened later is not charged.
    pub(super) so_far: ProcessStatus,
    /// Why the sampler thread has ended: also for what is opened after that.
    pub(super) stopped: Option<Warning>,
    pub(super) ended: bool,
}

/// This process as it was started last.
pub(super) struct Me {
    pub(super) role: Role,
    pub(super) process: Pairs,
    pub(super) identity: ProcessIdentity,
    pub(super) settings: Settings,
    pub(super) redaction: Arc<Redaction>,
    pub(super) effective: Vec<SummarySetting>,
    /// What was said at the start, for the summaries of the applications of this driver.
    pub(super) warnings: Vec<Warning>,
    pub(super) place: Place,
    pub(super) profiled: bool,
}

/// An application whose driver this is.
pub(super) struct Open {
    pub(super) application: Application,
    pub(super) root: Option<String>,
    pub(super) closed: bool,
    pub(super) own: OwnProcess,
}

/// Handle of files that belong to no application of this JVM.
const NO_APPLICATION: i32 = 0;
/// Five minutes of a JVM with the agent and no SparkContext: it then gets an application of its own.
const MOST_DELTAS_BEFORE_AN_APPLICATION: usize = 30;

impl State {
    pub(super) fn open(&mut self, info: ApplicationInfo) -> i32 {
        let Some(me) = &self.me else { return 0 };
        self.last_application += 1;
        let handle = self.last_application;
        let root =
            me.place.root.as_ref().map(|root| format!("{root}/{}", folder_name(&info.id, &info.attempt)));
        let redaction = me.redaction.clone();
        let info = ApplicationInfo {
            jar: me.process.get("jar").to_owned(),
            engines: me.identity.engines.join(", "),
            settings: me.effective.clone(),
            name: redaction.redact_text(&info.name),
            ..info
        };
        let mut application = Application::new(
            info,
            &me.settings,
            root.clone(),
            Box::new(Formats),
            Box::new(move |text| redaction.redact_text(text)),
        );
        for warning in me.warnings.iter().chain(&self.stopped) {
            application.warn(warning.clone(), true);
        }
        let own = OwnProcess::beginning_at(self.so_far.clone());
        self.applications.insert(handle, Open { application, root, closed: false, own });
        handle
    }

    /// A JVM with the agent and without Spark is its own application.
    pub(super) fn open_own_application(&mut self) {
        if self.applications.is_empty() {
            let id = format!("jvm-{}", std::process::id());
            self.open(ApplicationInfo { name: id.clone(), id, ..ApplicationInfo::default() });
        }
    }

    pub(super) fn place_deltas(&mut self, inbox: &Inbox, now: u64) {
        let Some(me) = &self.me else { return };
        if me.role == Role::Agent && inbox.len() > MOST_DELTAS_BEFORE_AN_APPLICATION {
            self.open_own_application();
        }
        let Some(me) = &self.me else { return };
        if let Some(sender) = &mut self.sender {
            sender.collect(inbox);
            return;
        }
        let Some(open) = self.applications.values_mut().rev().find(|open| !open.closed) else { return };
        let Open { application, own, .. } = open;
        if let Some((dictionary, epoch)) = inbox.take_names() {
            own.names(application, &dictionary, epoch, now);
        }
        for delta in inbox.take() {
            self.so_far = delta.status.clone();
            if !own.ingest(application, &me.identity, delta, now) {
                inbox.want_names();
            }
        }
    }

    pub(super) fn send(&mut self, now: u64) {
        let Some(sender) = &mut self.sender else { return };
        if self.work.has_delta() {
            return;
        }
        if let Some(outgoing) = sender.next(now) {
            self.work.push(Job::Delta { token: outgoing.token, bytes: outgoing.bytes });
        }
    }

    /// A process whose deltas the driver refuses writes its own file.
    pub(super) fn write_refused(&mut self) {
        let (Some(me), Some(sender)) = (&self.me, &self.sender) else { return };
        let Some(root) = &me.place.root else { return };
        let name = me.redaction.redact_text(me.process.get("app_name"));
        let Some(content) = sender.own_file(&name, me.settings.cpu_interval, SystemClock.unix()) else {
            return;
        };
        let folder = folder_name(me.process.get("app_id"), me.process.get("app_attempt"));
        let path = format!("{root}/{folder}/executors/{}.pb.gz", me.identity.id);
        self.work.push(Job::File { application: NO_APPLICATION, path, content });
    }

    /// True while the driver has not acknowledged everything, or an own file is not written.
    pub(super) fn has_outgoing(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| !sender.is_done()) || self.work.files_of(NO_APPLICATION) > 0
    }

    /// What the driver has of this executor, as lines to log. `late`: how long the last delta was waited for in vain.
    pub(super) fn end_of_executor(&self, late: Option<Duration>) -> Vec<u8> {
        let Some(ending) = self.sender.as_ref().and_then(Sender::ending) else { return Vec::new() };
        let mut lines = Vec::new();
        if let Some(waited) = late {
            say(&mut lines, Level::Warn, &last_samples_late(waited));
        }
        match ending {
            Ok(message) => say(&mut lines, Level::Info, &message),
            Err(message) => say(&mut lines, Level::Warn, &message),
        }
        fields::encode(lines)
    }

    /// This process's last delta has not come though it was waited for that long: its applications say so.
    pub(super) fn last_samples_are_late(&mut self, waited: Duration) {
        let warning = Warning { code: "last-samples-late".to_owned(), message: last_samples_late(waited) };
        for open in self.applications.values_mut().filter(|open| !open.closed) {
            open.application.warn(warning.clone(), false);
        }
    }

    pub(super) fn awaited(&self, application: i32) -> usize {
        self.applications.get(&application).map_or(0, |open| open.application.awaited(SystemClock.unix()))
    }

    pub(super) fn failed(&mut self, message: String) {
        let warning = Warning { code: "profiler-stopped".to_owned(), message };
        for open in self.applications.values_mut() {
            open.application.warn(warning.clone(), true);
        }
        if let Some(sender) = &mut self.sender {
            sender.failed(warning.clone(), SystemClock.unix());
        }
        self.stopped = Some(warning);
    }
}

impl Open {
    pub(super) fn queue(&self, handle: i32, files: Vec<FolderFile>, work: &mut Work) {
        let Some(root) = &self.root else { return };
        for file in files {
            let path = format!("{root}/{}", file.path);
            work.push(match file.bytes {
                Some(content) => Job::File { application: handle, path, content },
                None => Job::Delete { application: handle, path },
            });
        }
    }
}

fn last_samples_late(waited: Duration) -> String {
    format!(
        "the last samples of this process are missing: the sampler thread did not get to run within {:.1} s",
        waited.as_secs_f64()
    )
}
