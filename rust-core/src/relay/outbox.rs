//! The executor's queue of deltas that the driver has not acknowledged.
//!
//! One delta is on its way at a time, so deltas arrive in order. A delta gets its seq when it is first
//! sent: one that never left can still be merged with its neighbour when the queue is full, one that
//! left keeps its seq and its bytes, and the driver can tell a repeat.

use super::wire::{self, pack, seal, unpack, Head, Packed};
use super::{period_of, Answer, Delta, Order, LAST_DELTA_BYTES, MAX_DELTA_BYTES};
use crate::profile::{
    fold_cells, Dictionary, DictionaryPart, IdMap, Lost, LostCause, Mark, ProcessIdentity, Profile,
    ValueType, Values,
};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The queue, the sender's view of the driver's clock, and what the driver last ordered.
///
/// All times are Unix nanoseconds by the sender's own clock.
pub struct Outbox {
    process: ProcessIdentity,
    report_interval: Duration,
    waiting: VecDeque<Pending>,
    flight: Option<Flight>,
    state: State,
    next_seq: u64,
    next_token: u64,
    clock: Clock,
    interval: Duration,
    order: Order,
    failures: u32,
    retry_at: u64,
    dropped: u64,
    acknowledged: Sent,
    last_error: Option<String>,
}

/// A number of deltas, and the CPU in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// Deltas.
    pub deltas: u64,
    /// Nanoseconds of CPU by samples.
    pub cpu: u64,
}

impl std::fmt::Display for Sent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let noun = if self.deltas == 1 { "delta" } else { "deltas" };
        let (seconds, rest) = (self.cpu / 1_000_000_000, self.cpu % 1_000_000_000);
        write!(formatter, "{} {noun} with {seconds}.{rest:09} s of CPU", self.deltas)
    }
}

impl Sent {
    fn add(&mut self, pending: &Pending) {
        self.deltas += 1;
        self.cpu = self.cpu.saturating_add(pending.cpu);
    }
}

/// A delta to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Names this attempt in [`Outbox::answered`].
    pub token: u64,
    /// What to send.
    pub bytes: Vec<u8>,
}

/// What an answer meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// The delta has arrived and is forgotten here.
    Delivered,
    /// It goes again, later.
    Again,
    /// Nothing goes until [`Outbox::names`] is called.
    NamesWanted,
    /// Nothing goes any more; see [`Outbox::refusal`] and [`Outbox::collected`].
    Refused,
    /// The token is of an attempt that nobody waits for.
    Stale,
}

impl Outbox {
    /// An empty queue. Deltas of different periods of `report_interval` are never merged.
    pub fn new(process: ProcessIdentity, report_interval: Duration) -> Self {
        Outbox {
            process,
            report_interval,
            waiting: VecDeque::new(),
            flight: None,
            state: State::Sending,
            next_seq: 1,
            next_token: 1,
            clock: Clock::default(),
            interval: FIRST_INTERVAL,
            order: Order::Normal,
            failures: 0,
            retry_at: 0,
            dropped: 0,
            acknowledged: Sent::default(),
            last_error: None,
        }
    }

    /// Queues a delta; its times are the sender's, its seq is given here. Too large a one goes in
    /// pieces.
    pub fn push(&mut self, mut delta: Delta) {
        delta.process = self.process.clone();
        if self.dropped > 0 {
            delta.status.lost.retain(|lost| lost.cause != LostCause::DeltaDropped);
            delta.status.lost.push(Lost { cause: LostCause::DeltaDropped, count: self.dropped });
        }
        if let State::Refused(refused) = &mut self.state {
            self.dropped += refused.add(delta);
            return;
        }
        let pieces = self.pieces(delta, self.clock.offset());
        self.waiting.extend(pieces);
        self.shrink();
    }

    /// The next delta to send, if one is due and none is on its way.
    pub fn next(&mut self, now: u64) -> Option<Outgoing> {
        let State::Sending = self.state else { return None };
        if now < self.retry_at || self.flight.as_ref().is_some_and(|flight| flight.token.is_some()) {
            return None;
        }
        let token = self.next_token;
        self.next_token += 1;
        let (pending, seq) = match self.flight.take() {
            Some(flight) => (flight.pending, flight.seq),
            None => {
                let pending = self.waiting.pop_front()?;
                let seq = self.next_seq;
                self.next_seq += 1;
                (pending, seq)
            }
        };
        let clock_offset = pending.clock_offset.or(self.clock.offset());
        let head = Head {
            glowplug: &self.process.glowplug,
            jar: &self.process.jar,
            seq,
            sent_at: clock_offset.is_none().then_some(now),
            clock_offset,
        };
        let bytes = seal(&head, pending.body.clone());
        self.flight = Some(Flight { token: Some(token), seq, sent_at: now, pending });
        Some(Outgoing { token, bytes })
    }

    /// Takes the driver's answer to an attempt, or why there is none.
    pub fn answered(&mut self, token: u64, answer: Result<Answer, String>, now: u64) -> Answered {
        let Some(mut flight) = self.flight.take_if(|flight| flight.token == Some(token)) else {
            return Answered::Stale;
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.last_error = Some(error);
                flight.token = None;
                self.flight = Some(flight);
                self.back_off(now);
                return Answered::Again;
            }
        };
        if let Some(reason) = answer.refused {
            self.refuse(reason, flight.pending);
            return Answered::Refused;
        }
        self.clock.learn(flight.sent_at, now, answer.driver_time);
        self.order = answer.order;
        if answer.next_interval_ms > 0 {
            self.interval = Duration::from_millis(answer.next_interval_ms);
        }
        if answer.ack >= flight.seq {
            self.failures = 0;
            self.retry_at = 0;
            self.last_error = None;
            self.acknowledged.add(&flight.pending);
            return Answered::Delivered;
        }
        flight.token = None;
        if !answer.resend_names {
            self.flight = Some(flight);
            self.back_off(now);
            return Answered::Again;
        }
        // What was acknowledged is gone here, so whatever the driver counts from is right.
        self.next_seq = answer.ack + 1;
        self.waiting.push_front(flight.pending);
        self.state = State::NamesWanted;
        Answered::NamesWanted
    }

    /// True if nothing can go on before [`Outbox::names`] was called.
    pub fn wants_names(&self) -> bool {
        match &self.state {
            State::Sending => false,
            State::NamesWanted => true,
            State::Refused(refused) => !refused.stuck.is_empty(),
        }
    }

    /// Gives all names of the sender's dictionary again, when [`Outbox::wants_names`]. What waits from a
    /// former epoch is dropped and counted: its names are gone.
    pub fn names(&mut self, dictionary: &Dictionary, epoch: u32) {
        match &mut self.state {
            State::Sending => return,
            State::NamesWanted => self.state = State::Sending,
            State::Refused(refused) => {
                self.dropped += refused.names(dictionary, epoch);
                return;
            }
        }
        let dropped = &mut self.dropped;
        self.waiting.retain(|pending| {
            *dropped += if pending.epoch == epoch { 0 } else { pending.weight };
            pending.epoch == epoch
        });
        let Some(first) = self.waiting.pop_front() else { return };
        let mut delta = first.delta();
        delta.dictionary = dictionary.since(Mark::default());
        for piece in self.pieces(delta, first.clock_offset).into_iter().rev() {
            self.waiting.push_front(piece);
        }
    }

    /// When a delta that failed goes again; a time that has passed where none failed.
    pub fn next_attempt(&self) -> u64 {
        self.retry_at
    }

    /// Time from one delta to the next.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// What the driver wants of the engines.
    pub fn order(&self) -> Order {
        self.order
    }

    /// A time of the sender's clock on the driver's, as far as that is known.
    pub fn driver_time(&self, own: u64) -> u64 {
        own.saturating_add_signed(self.clock.offset().unwrap_or(0))
    }

    /// True if all that was pushed has been acknowledged.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.flight.is_none()
    }

    /// Bytes of unacknowledged deltas.
    pub fn memory(&self) -> usize {
        self.waiting.iter().map(|pending| pending.body.len()).sum::<usize>()
            + self.flight.as_ref().map_or(0, |flight| flight.pending.body.len())
    }

    /// Samples whose deltas were dropped because the queue was full.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What the driver has.
    pub fn acknowledged(&self) -> Sent {
        self.acknowledged
    }

    /// What the driver does not have, or has not said that it has.
    pub fn unacknowledged(&self) -> Sent {
        let mut sent = Sent::default();
        self.waiting
            .iter()
            .chain(self.flight.as_ref().map(|flight| &flight.pending))
            .for_each(|pending| sent.add(pending));
        sent
    }

    /// Why the last attempt failed; `None` once one has arrived again.
    pub fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    /// Why the driver takes no deltas of this process.
    pub fn refusal(&self) -> Option<&str> {
        match &self.state {
            State::Refused(refused) => Some(&refused.reason),
            State::Sending | State::NamesWanted => None,
        }
    }

    /// All that was pushed, once the driver has refused: the process writes its own file from it.
    pub fn collected(&self) -> Option<&Profile> {
        match &self.state {
            State::Refused(refused) => Some(&refused.profile),
            State::Sending | State::NamesWanted => None,
        }
    }

    fn pieces(&self, delta: Delta, clock_offset: Option<i64>) -> Vec<Pending> {
        let time = delta.from.saturating_add_signed(clock_offset.unwrap_or(0));
        let period = period_of(time, self.report_interval);
        let mut pieces = Vec::new();
        split(delta, &mut |delta, packed| {
            pieces.push(Pending {
                epoch: delta.epoch,
                last: delta.last,
                cells: delta.cells.len(),
                weight: samples_in(delta),
                cpu: cpu_in(delta),
                body: packed.body,
                clock_offset,
                period,
            });
        });
        pieces
    }

    fn back_off(&mut self, now: u64) {
        let dying = self.waiting.iter().chain(self.flight.as_ref().map(|flight| &flight.pending));
        let (first, longest) =
            if dying.into_iter().any(|pending| pending.last) { LAST_BACK_OFF } else { BACK_OFF };
        let wait = (first * 2u32.saturating_pow(self.failures.min(16))).min(longest);
        self.failures += 1;
        self.retry_at = now + wait.as_nanos() as u64;
    }

    fn refuse(&mut self, reason: String, first: Pending) {
        let mut refused = Refused { reason, ..Refused::default() };
        self.dropped += refused.add(first.delta());
        for pending in self.waiting.drain(..) {
            self.dropped += refused.add(pending.delta());
        }
        self.state = State::Refused(Box::new(refused));
    }

    /// Brings the queue under its cap: by merging neighbours, oldest first; where nothing can be
    /// merged, by dropping the oldest values. Names stay, for later deltas build on them.
    fn shrink(&mut self) {
        while self.memory() > MAX_QUEUE_BYTES {
            if self.merge_oldest() {
                continue;
            }
            let Some(at) = self.waiting.iter().position(|pending| pending.cells > 0) else { return };
            let mut delta = self.waiting[at].delta();
            self.dropped += self.waiting[at].weight;
            delta.cells.clear();
            delta.tasks.clear();
            self.waiting[at] =
                Pending { body: pack(&delta).body, cells: 0, weight: 0, cpu: 0, ..self.waiting[at] };
        }
    }

    fn merge_oldest(&mut self) -> bool {
        for at in 1..self.waiting.len() {
            let (first, second) = (&self.waiting[at - 1], &self.waiting[at]);
            if !first.may_merge(second) {
                continue;
            }
            let Some(merged) = merge(first.delta(), second.delta()) else { continue };
            let packed = pack(&merged);
            if !fits(&merged, &packed) || packed.body.len() >= first.body.len() + second.body.len() {
                continue;
            }
            self.waiting[at - 1] = Pending {
                cells: merged.cells.len(),
                weight: samples_in(&merged),
                cpu: cpu_in(&merged),
                last: merged.last,
                body: packed.body,
                ..*first
            };
            self.waiting.remove(at);
            return true;
        }
        false
    }
}

/// Unacknowledged deltas of one process.
const MAX_QUEUE_BYTES: usize = 4 << 20;
/// The driver's answer to the first delta says how long the others wait.
const FIRST_INTERVAL: Duration = Duration::from_secs(5);
/// First and longest wait before an attempt is repeated.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The same when the process ends.
const LAST_BACK_OFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(400));
/// Names come with the sampler thread's next turn.
const MAX_STUCK: usize = 64;
/// Cells of a refused process that are kept before the light ones fold.
const MAX_COLLECTED_BYTES: usize = 8 << 20;

enum State {
    Sending,
    NamesWanted,
    Refused(Box<Refused>),
}

struct Pending {
    body: Vec<u8>,
    epoch: u32,
    period: u64,
    /// Driver's clock minus the sender's, if it was known when the delta was closed.
    clock_offset: Option<i64>,
    last: bool,
    cells: usize,
    /// Samples that are lost if this is dropped.
    weight: u64,
    /// Nanoseconds of CPU in it.
    cpu: u64,
}

impl Pending {
    fn delta(&self) -> Delta {
        unpack(&self.body).expect("what was packed here can be unpacked")
    }

    fn may_merge(&self, next: &Pending) -> bool {
        (self.epoch, self.period, self.clock_offset) == (next.epoch, next.period, next.clock_offset)
    }
}

struct Flight {
    /// `None`: the attempt has failed, and the delta waits for the next.
    token: Option<u64>,
    seq: u64,
    sent_at: u64,
    pending: Pending,
}

/// Estimates the driver's clock from answers: it read its clock in the middle of the round trip, give
/// or take half of it, so the shortest round trip tells most.
#[derive(Default)]
struct Clock {
    best: Option<(i64, u64)>,
}

impl Clock {
    fn offset(&self) -> Option<i64> {
        self.best.map(|(offset, _)| offset)
    }

    fn learn(&mut self, sent_at: u64, now: u64, driver_time: u64) {
        let round_trip = now.saturating_sub(sent_at);
        let offset = driver_time as i64 - (sent_at + round_trip / 2) as i64;
        self.best = match self.best {
            // Clocks drift: an old estimate loses a tenth of its precision with each answer.
            Some((old, best)) if best < round_trip => Some((old, best + best / 10 + 1)),
            _ => Some((offset, round_trip)),
        };
    }
}

#[derive(Default)]
struct Refused {
    reason: String,
    profile: Profile,
    map: IdMap,
    epoch: u32,
    /// Deltas whose names have gone to the driver before it refused.
    stuck: Vec<Delta>,
}

impl Refused {
    /// Returns how many samples are lost.
    fn add(&mut self, delta: Delta) -> u64 {
        if self.epoch != delta.epoch {
            self.map.clear();
            self.epoch = delta.epoch;
        }
        let extended = self.map.extend(&mut self.profile.dictionary, &delta.dictionary, &[]);
        let Ok(cells) = extended.and_then(|()| self.map.cells(&delta.cells)) else {
            if self.stuck.len() == MAX_STUCK {
                return samples_in(&delta);
            }
            self.stuck.push(delta);
            return 0;
        };
        for ((node, labels), values) in cells {
            self.profile.cells.add(node, labels, &values);
        }
        if self.profile.cells.memory() > MAX_COLLECTED_BYTES {
            fold_cells(&mut self.profile.dictionary, &mut self.profile.cells);
        }
        0
    }

    fn names(&mut self, dictionary: &Dictionary, epoch: u32) -> u64 {
        let mut lost = 0;
        for mut delta in std::mem::take(&mut self.stuck) {
            if delta.epoch == epoch {
                delta.dictionary = dictionary.since(Mark::default());
                lost += self.add(delta);
            } else {
                lost += samples_in(&delta);
            }
        }
        lost
    }
}

fn samples_in(delta: &Delta) -> u64 {
    delta.cells.iter().map(|(_, values)| values.get(ValueType::Samples).max(1)).sum()
}

fn cpu_in(delta: &Delta) -> u64 {
    delta.cells.iter().fold(0, |sum, (_, values)| sum.saturating_add(values.get(ValueType::Cpu)))
}

fn fits(delta: &Delta, packed: &Packed) -> bool {
    let limit = if delta.last { LAST_DELTA_BYTES } else { MAX_DELTA_BYTES };
    // The head adds its texts, at most 1200 characters, and a few numbers.
    const HEAD: usize = 8 << 10;
    packed.unpacked <= MAX_DELTA_BYTES
        && packed.body.len() + HEAD <= limit
        && delta.warnings.len() <= wire::MAX_WARNINGS
}

/// Halves a delta until each piece fits. Rows of a table come before the rows that refer to them,
/// so a cut through the sequence of all tables leaves two deltas that can be applied one by one.
fn split(delta: Delta, each: &mut impl FnMut(&Delta, Packed)) {
    let packed = pack(&delta);
    let rows = row_count(&delta);
    if rows < 2 || fits(&delta, &packed) {
        each(&delta, packed);
        return;
    }
    let (first, second) = cut(delta, rows / 2);
    split(first, each);
    split(second, each);
}

fn row_count(delta: &Delta) -> usize {
    let part = &delta.dictionary;
    part.strings.len()
        + part.frames.len()
        + part.nodes.len()
        + part.label_sets.len()
        + delta.cells.len()
        + delta.tasks.len()
        + delta.warnings.len()
}

fn cut(mut delta: Delta, mut rows: usize) -> (Delta, Delta) {
    fn tail<T>(table: &mut Vec<T>, rows: &mut usize) -> Vec<T> {
        let keep = table.len().min(*rows);
        *rows -= keep;
        table.split_off(keep)
    }
    let part = &mut delta.dictionary;
    let mut rest = DictionaryPart {
        strings: tail(&mut part.strings, &mut rows),
        frames: tail(&mut part.frames, &mut rows),
        nodes: tail(&mut part.nodes, &mut rows),
        label_sets: tail(&mut part.label_sets, &mut rows),
        base: Mark::default(),
    };
    rest.base = part.end();
    let second = Delta {
        dictionary: rest,
        cells: tail(&mut delta.cells, &mut rows),
        tasks: tail(&mut delta.tasks, &mut rows),
        warnings: tail(&mut delta.warnings, &mut rows),
        process: delta.process.clone(),
        status: delta.status.clone(),
        ending: std::mem::take(&mut delta.ending),
        seq: delta.seq,
        epoch: delta.epoch,
        from: delta.from,
        to: delta.to,
        sent_at: delta.sent_at,
        last: delta.last,
    };
    delta.last = false;
    (delta, second)
}

/// One delta for two neighbours; `None` if names are missing between them.
fn merge(mut first: Delta, second: Delta) -> Option<Delta> {
    if first.dictionary.end() != second.dictionary.base {
        return None;
    }
    let part = &mut first.dictionary;
    part.strings.extend(second.dictionary.strings);
    part.frames.extend(second.dictionary.frames);
    part.nodes.extend(second.dictionary.nodes);
    part.label_sets.extend(second.dictionary.label_sets);
    let mut cells: BTreeMap<_, Values> = first.cells.into_iter().collect();
    for (key, values) in second.cells {
        cells.entry(key).or_default().add(&values);
    }
    first.cells = cells.into_iter().collect();
    first.tasks.extend(second.tasks);
    for (warning, count) in second.warnings {
        match first.warnings.iter_mut().find(|(known, _)| *known == warning) {
            Some((_, known)) => *known += count,
            None => first.warnings.push((warning, count)),
        }
    }
    first.to = second.to;
    first.status = second.status;
    first.last = second.last;
    first.ending = second.ending;
    Some(first)
}
