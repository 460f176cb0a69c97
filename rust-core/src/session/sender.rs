//! The executor's end of the relay: from the inbox through the outbox to the driver.

use super::{Inbox, Session};
use crate::encode::{comments, pprof, ProfileView};
use crate::profile::{ProcessIdentity, ProcessStatus, Warning};
use crate::relay::{decode_answer, Answered, Delta, Outbox};
use std::time::Duration;

pub use crate::relay::Outgoing;

/// Sends this process's deltas, one at a time, and obeys the answers.
pub struct Sender {
    outbox: Outbox,
    identity: ProcessIdentity,
    /// Of the last delta.
    status: ProcessStatus,
}

impl Sender {
    /// Deltas of different periods of `report_interval` are never merged.
    pub fn new(identity: ProcessIdentity, report_interval: Duration) -> Sender {
        Sender {
            outbox: Outbox::new(identity.clone(), report_interval),
            identity,
            status: ProcessStatus::default(),
        }
    }

    /// Takes what the sampler thread has handed on.
    pub fn collect(&mut self, inbox: &Inbox) {
        for delta in inbox.take() {
            self.status = delta.status.clone();
            self.outbox.push(delta);
        }
        if let Some((dictionary, epoch)) = inbox.take_names() {
            self.outbox.names(&dictionary, epoch);
        }
    }

    /// The next delta to send, if one is due and none is on its way.
    pub fn next(&mut self, now: u64) -> Option<Outgoing> {
        self.outbox.next(now)
    }

    /// Takes the driver's answer, or why there is none, and has the session follow it. Returns what the
    /// user must know.
    pub fn answered(
        &mut self,
        token: u64,
        answer: Result<&[u8], String>,
        now: u64,
        inbox: &Inbox,
        session: Option<&Session>,
    ) -> Option<String> {
        let answer = answer.and_then(|bytes| {
            if bytes.is_empty() {
                return Err("the driver's plugin gave no answer".to_owned());
            }
            decode_answer(bytes).map_err(|error| format!("the driver's answer is malformed: {error}"))
        });
        let answered = self.outbox.answered(token, answer, now);
        if let Some(session) = session {
            session.set_delta_interval(self.outbox.interval());
            session.set_clock_offset(self.outbox.driver_time(now) as i64 - now as i64);
        }
        if self.outbox.wants_names() {
            inbox.want_names();
        }
        match answered {
            Answered::Refused => {
                let reason = self.outbox.refusal().unwrap_or_default();
                return Some(format!(
                    "the driver takes no samples of this executor, which writes its own file at its end: {reason}"
                ));
            }
            Answered::Delivered | Answered::NamesWanted | Answered::Again | Answered::Stale => {}
        }
        None
    }

    /// Tells the driver that the profiler of this process has stopped.
    pub fn failed(&mut self, warning: Warning, now: u64) {
        self.outbox.push(Delta {
            from: now,
            to: now,
            last: true,
            ending: "the profiler stopped".to_owned(),
            status: self.status.clone(),
            warnings: vec![(warning, 1)],
            ..Delta::default()
        });
    }

    /// True once the driver has everything, or will never have it.
    pub fn is_done(&self) -> bool {
        self.outbox.refusal().is_some() || self.outbox.is_empty()
    }

    /// What the driver has of this executor at its end, for the log; `Err`: not all. `None` where the
    /// driver takes nothing, which was said.
    pub fn ending(&self) -> Option<Result<String, String>> {
        if self.outbox.refusal().is_some() {
            return None;
        }
        let (id, arrived) = (&self.identity.id, self.outbox.acknowledged());
        let waiting = self.outbox.unacknowledged();
        if waiting.deltas == 0 {
            return Some(Ok(format!("the driver has all of executor {id}: {arrived}")));
        }
        let why = self.outbox.last_error().unwrap_or("the driver did not answer in time");
        Some(Err(format!("the driver has {arrived} of executor {id}; {waiting} did not arrive: {why}")))
    }

    /// The pprof file of a process whose deltas the driver refuses; `None` where it takes them.
    pub fn own_file(&self, profile_name: &str, cpu_interval: Option<Duration>, now: u64) -> Option<Vec<u8>> {
        let view = ProfileView {
            profile: self.outbox.collected()?,
            filter: None,
            from_ns: self.identity.started,
            duration_ns: now.saturating_sub(self.identity.started),
            period_ns: cpu_interval.map_or(0, |interval| interval.as_nanos() as u64),
            comments: comments(profile_name, &self.identity.engines.join(", ")),
        };
        Some(pprof::encode(&view))
    }
}

#[cfg(test)]
mod tests {
    use super::super::DeltaSink;
    use super::*;
    use crate::profile::{Frame, NameId, Profile, ValueType, Values};
    use crate::relay::{encode_answer, Answer};

    fn sampled(nanoseconds: u64) -> Delta {
        let mut profile = Profile::default();
        let function = profile.dictionary.name("app.Work.run");
        let frame = profile.dictionary.frame(Frame { function, file: NameId(0), line: 0 });
        let node = profile.dictionary.child(crate::profile::Dictionary::ROOT, frame);
        profile.cells.add(node, crate::profile::Dictionary::NO_LABELS, &Values::cpu(1, nanoseconds));
        Delta {
            epoch: 1,
            dictionary: profile.dictionary.since(Default::default()),
            cells: profile.cells.sorted(),
            ..Delta::default()
        }
    }

    fn sender() -> (Sender, Inbox) {
        let identity = ProcessIdentity { id: "7".into(), uuid: "u".into(), ..ProcessIdentity::default() };
        let inbox = Inbox::default();
        inbox.delta(sampled(30));
        let mut sender = Sender::new(identity, Duration::from_secs(300));
        sender.collect(&inbox);
        (sender, inbox)
    }

    #[test]
    fn a_delta_is_kept_until_the_driver_has_acknowledged_it() {
        let (mut sender, inbox) = sender();
        let first = sender.next(1).expect("due");
        assert!(sender.next(2).is_none(), "one at a time");
        let error = sender.answered(first.token, Err("no route".into()), 3, &inbox, None);
        assert_eq!((error, sender.is_done()), (None, false));
        let ending = sender.ending().expect("an ending").expect_err("not all has arrived");
        assert!(ending.ends_with("did not arrive: no route"), "{ending}");
        let again = sender.next(3_000_000_000).expect("tried again");
        let read = |outgoing: &Outgoing| {
            let delta = crate::relay::decode(&outgoing.bytes).expect("a delta");
            (delta.seq, delta.cells)
        };
        assert_eq!(read(&again), read(&first));
        let answer = encode_answer(&Answer { ack: 1, driver_time: 4, ..Answer::default() });
        assert_eq!(sender.answered(again.token, Ok(&answer), 4, &inbox, None), None);
        assert!(sender.is_done());
        let ending = sender.ending().expect("an ending").expect("all has arrived");
        assert!(ending.starts_with("the driver has all of executor 7: "), "{ending}");
    }

    #[test]
    fn an_answer_that_is_no_answer_is_tried_again() {
        let (mut sender, inbox) = sender();
        let first = sender.next(1).expect("due");
        assert_eq!(sender.answered(first.token, Ok(b"\xff\xff\xff"), 3, &inbox, None), None);
        assert!(!sender.is_done());
    }

    #[test]
    fn a_driver_whose_plugin_is_off_is_no_driver_that_refuses() {
        let (mut sender, inbox) = sender();
        let first = sender.next(1).expect("due");
        assert_eq!(sender.answered(first.token, Ok(b""), 3, &inbox, None), None);
        assert_eq!(
            sender.ending(),
            Some(Err("the driver has 0 deltas with 0.000000000 s of CPU of executor 7; 1 delta with 0.000000030 s of CPU \
                      did not arrive: the driver's plugin gave no answer"
                .to_owned()))
        );
    }

    #[test]
    fn a_profiler_that_stops_keeps_its_totals() {
        let (mut sender, inbox) = sender();
        let status = ProcessStatus { sampled_cpu: 30, process_cpu: 99, ..ProcessStatus::default() };
        inbox.delta(Delta { status: status.clone(), ..Delta::default() });
        sender.collect(&inbox);
        sender.failed(Warning { code: "profiler-stopped".into(), message: "so".into() }, 9);
        let mut last = None;
        for seq in 1..=3 {
            let outgoing = sender.next(seq).expect("due");
            last = Some(crate::relay::decode(&outgoing.bytes).expect("a delta"));
            let answer = encode_answer(&Answer { ack: seq, driver_time: seq, ..Answer::default() });
            sender.answered(outgoing.token, Ok(&answer), seq, &inbox, None);
        }
        let last = last.expect("three deltas");
        assert_eq!((last.status, last.last, last.ending.as_str()), (status, true, "the profiler stopped"));
    }

    #[test]
    fn a_refused_process_says_so_and_has_its_own_file() {
        let (mut sender, inbox) = sender();
        assert!(sender.own_file("job", None, 9).is_none());
        let first = sender.next(1).expect("due");
        let answer = Answer { refused: Some("protocol 1 meets 2".into()), ..Answer::default() };
        let said = sender.answered(first.token, Ok(&encode_answer(&answer)), 3, &inbox, None);
        assert_eq!(
            said.as_deref(),
            Some(
                "the driver takes no samples of this executor, which writes its own file at its end: protocol 1 meets 2"
            )
        );
        assert!(sender.is_done());
        let file = sender.own_file("job", None, 9).expect("a file");
        assert_eq!(pprof::decode(&file).expect("pprof").profile.total(ValueType::Cpu), 30);
    }
}
