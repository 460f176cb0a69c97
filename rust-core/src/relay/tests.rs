use super::testing::{body_of, changed, random_samples, sealed, totals, Random, Sender, SECOND};
use super::*;
use crate::profile::{
    Dictionary, Engine, Frame, FrameId, IdMap, LabelSetId, Lost, LostCause, Mark, NameId, Node, NodeId,
    Profile, ValueType,
};
use flate2::Compression;

const T: u64 = 1_796_000_000 * SECOND;

fn full_delta() -> Delta {
    let mut sender = Sender::new("3");
    sender.status = ProcessStatus {
        samples: vec![(Engine::Cpu, 17), (Engine::Wall, 400)],
        lost: vec![Lost { cause: LostCause::NotWalkable, count: 2 }],
        own_cpu: 5,
        process_cpu: 700,
        longest_pause: 9,
        native_memory: 1 << 20,
        sampled_cpu: 333,
    };
    sender.tasks.push(TaskTotals { task: 9, stage: 1, stage_attempt: 0, cpu: 3, wall: 4, alloc_bytes: 5 });
    sender.tasks.push(TaskTotals { task: 4, stage: 1, stage_attempt: 2, cpu: 6, wall: 7, alloc_bytes: 8 });
    random_samples(&mut sender, &mut Random(1), 300);
    let mut delta = sender.last(T, T + 10 * SECOND);
    delta.warnings.push((Warning { code: "x".into(), message: "what happened ✓".into() }, 3));
    delta
}

fn base() -> Mark {
    Mark { strings: 10, frames: 10, nodes: 10, label_sets: 10 }
}

/// A delta that builds on ten rows of each table.
fn small_delta() -> Delta {
    Delta {
        process: Sender::new("3").process,
        seq: 2,
        from: T,
        to: T + SECOND,
        dictionary: DictionaryPart {
            base: base(),
            strings: vec!["a.B.c".into(), "stage".into(), "1".into()],
            frames: vec![Frame { function: NameId(10), file: NameId(0), line: 5 }],
            nodes: vec![
                Node { parent: NodeId(9), frame: FrameId(10) },
                Node { parent: NodeId(10), frame: FrameId(3) },
            ],
            label_sets: vec![vec![(NameId(11), NameId(12))]],
        },
        cells: vec![((NodeId(11), LabelSetId(10)), Values::cpu(1, 10))],
        ..Delta::default()
    }
}

#[test]
fn a_delta_comes_back_as_it_was() {
    let delta = full_delta();
    assert_eq!(decode(&encode(&delta)), Ok(delta));
    let delta = Delta { sent_at: Some(T), ..small_delta() };
    assert_eq!(decode(&encode(&delta)), Ok(delta));
}

#[test]
fn an_answer_comes_back_as_it_was() {
    let answer = Answer {
        ack: 7,
        next_interval_ms: 12_000,
        order: Order::Safe,
        driver_time: T,
        resend_names: true,
        refused: Some("no".into()),
    };
    assert_eq!(decode_answer(&encode_answer(&answer)), Ok(answer));
}

#[test]
fn cells_are_small_on_the_wire() {
    let mut sender = Sender::new("1");
    let mut random = Random(5);
    for index in 0..5000 {
        let stack = format!("pkg.Class.method{index}");
        sender.sample(
            &["a.Main.main", &stack],
            &[("stage", "1")],
            Values::cpu(1 + random.below(9), 10_000_000),
        );
    }
    sender.delta(T, T);
    for index in 0..5000 {
        let stack = format!("pkg.Class.method{index}");
        sender.sample(
            &["a.Main.main", &stack],
            &[("stage", "1")],
            Values::cpu(1 + random.below(9), 10_000_000),
        );
    }
    assert!(encode(&sender.delta(T, T + SECOND)).len() < 5 * 5000);
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = encode(&small_delta());
    for end in 0..bytes.len() {
        assert!(decode(&bytes[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn too_many_bytes_are_refused_packed_and_unpacked() {
    assert_eq!(decode(&vec![0; MAX_DELTA_BYTES + 1]), Err(DeltaError::TooLarge));
    let bomb = sealed(1, body_of(&small_delta()), Compression::fast(), |body| body.resize(64 << 20, 0));
    assert!(bomb.len() < MAX_DELTA_BYTES);
    assert_eq!(decode(&bomb), Err(DeltaError::TooLarge));
}

#[test]
fn the_head_of_another_protocol_is_read() {
    // Field 1 = 9, field 2 = "7.0", field 3 = "/new.jar", and a field that this protocol does not know.
    let mut bytes = vec![8, 9, 0x12, 3];
    bytes.extend(b"7.0");
    bytes.extend([0x1a, 8]);
    bytes.extend(b"/new.jar");
    bytes.extend([0xfa, 1, 2, 0xff, 0xff]);
    let error = DeltaError::Protocol { theirs: 9, glowplug: "7.0".into(), jar: "/new.jar".into() };
    assert_eq!(decode(&bytes), Err(error));
}

#[test]
fn an_answer_of_another_protocol_is_a_refusal() {
    assert_eq!(
        decode_answer(&[8, 2, 0x18, 5]).unwrap().refused.unwrap(),
        "the driver speaks protocol 2, this process 1"
    );
    assert_eq!(decode_answer(&[8, 2, 0x12, 2, b'n', b'o']).unwrap().refused.unwrap(), "no");
}

#[test]
fn ids_out_of_range_are_refused() {
    let refused = |change: fn(&mut Delta), error| {
        let mut delta = small_delta();
        change(&mut delta);
        assert_eq!(decode(&encode(&delta)), Err(error));
    };
    let out = DeltaError::OutOfRange;
    refused(|delta| delta.dictionary.frames[0].function = NameId(13), out("string"));
    refused(|delta| delta.dictionary.frames[0].file = NameId(13), out("string"));
    refused(|delta| delta.dictionary.nodes[0].frame = FrameId(11), out("node"));
    refused(|delta| delta.dictionary.nodes[0].parent = NodeId(10), out("node"));
    refused(|delta| delta.dictionary.nodes[0].parent = NodeId(12), out("node"));
    refused(|delta| delta.dictionary.label_sets[0][0].0 = NameId(13), out("string"));
    refused(|delta| delta.cells[0].0 .0 = NodeId(12), out("cell"));
    refused(|delta| delta.cells[0].0 .1 = LabelSetId(11), out("cell"));
    refused(|delta| delta.dictionary.base.strings = u32::MAX, out("string"));
}

#[test]
fn impossible_values_are_refused() {
    let refused = |change: fn(&mut Delta), what| {
        let mut delta = small_delta();
        change(&mut delta);
        assert_eq!(decode(&encode(&delta)), Err(DeltaError::Value(what)));
    };
    refused(|delta| delta.seq = 0, "seq");
    refused(|delta| delta.from = u64::MAX, "time");
    refused(|delta| delta.to = delta.from + 86_400 * SECOND + 1, "time");
    refused(|delta| delta.sent_at = Some(u64::MAX), "time");
    refused(|delta| delta.cells[0].1 .0[1] = (1 << 56) + 1, "value");
    refused(|delta| delta.status.own_cpu = u64::MAX, "status");
    refused(|delta| delta.dictionary.strings[1] = "process".into(), "label key");
    refused(
        |delta| {
            delta.dictionary.nodes =
                (10..1112).map(|id| Node { parent: NodeId(id - 1), frame: FrameId(0) }).collect();
        },
        "depth",
    );
}

#[test]
fn long_texts_are_cut_by_the_sender_at_characters() {
    let mut delta = small_delta();
    delta.dictionary.strings[0] = "é".repeat(1001);
    delta.dictionary.strings[2] = "✓".repeat(201);
    delta.dictionary.strings.push("plain".into());
    let decoded = decode(&encode(&delta)).unwrap();
    assert_eq!(decoded.dictionary.strings[0], "é".repeat(1000));
    assert_eq!(decoded.dictionary.strings[2], "✓".repeat(200));
    assert_eq!(decoded.dictionary.strings[3], "plain");
}

#[test]
fn a_hundred_thousand_changed_deltas_do_no_harm() {
    let mut random = Random(20261129);
    let [full, small] = [full_delta(), small_delta()].map(|delta| (encode(&delta), body_of(&delta)));
    let (mut refused, mut merged) = (0, 0);
    let mut profile = Profile::default();
    for round in 0..100_000u64 {
        let (bytes, body) = if round % 16 == 0 { &full } else { &small };
        let mut change = |bytes: &mut Vec<u8>| changed(bytes, &mut random);
        let bytes = if round % 2 == 0 {
            sealed(1, body.clone(), Compression::none(), change)
        } else {
            let mut bytes = bytes.clone();
            change(&mut bytes);
            bytes
        };
        let Ok(delta) = decode(&bytes) else {
            refused += 1;
            continue;
        };
        // What passes must be safe to merge, whatever it says.
        let mut map = IdMap::default();
        if map.extend(&mut profile.dictionary, &delta.dictionary, &[]).is_ok() {
            for ((node, labels), values) in map.cells(&delta.cells).unwrap_or_default() {
                profile.cells.add(node, labels, &values);
                merged += 1;
            }
        }
        if round % 1000 == 0 {
            profile = Profile::default();
        }
    }
    assert!(refused > 50_000, "{refused} of 100000 refused");
    assert!(merged > 0);
}

mod queue {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(300);

    fn outbox() -> Outbox {
        Outbox::new(Sender::new("3").process, INTERVAL)
    }

    fn ack(seq: u64, driver_time: u64) -> Result<Answer, String> {
        Ok(Answer { ack: seq, next_interval_ms: 10_000, driver_time, ..Answer::default() })
    }

    fn lost() -> Result<Answer, String> {
        Err("no answer within 120 s".into())
    }

    /// Delivers all that is due at `now`, and returns what the driver got.
    fn deliver(outbox: &mut Outbox, now: u64) -> Vec<Delta> {
        let mut got = Vec::new();
        while let Some(out) = outbox.next(now) {
            assert!(out.bytes.len() <= MAX_DELTA_BYTES);
            let delta = decode(&out.bytes).unwrap();
            assert_eq!(outbox.answered(out.token, ack(delta.seq, now), now), Answered::Delivered);
            got.push(delta);
        }
        got
    }

    fn merged(deltas: &[Delta]) -> Profile {
        let mut profile = Profile::default();
        let mut map = IdMap::default();
        for delta in deltas {
            map.extend(&mut profile.dictionary, &delta.dictionary, &[]).unwrap();
            for ((node, labels), values) in map.cells(&delta.cells).unwrap() {
                profile.cells.add(node, labels, &values);
            }
        }
        profile
    }

    const CROWD: u64 = 2500;

    /// Samples whose values do not compress, in 3600 places.
    fn crowd(sender: &mut Sender, random: &mut Random) {
        for _ in 0..CROWD {
            let [caller, called] = [(); 2].map(|()| format!("a.B.m{}", random.below(60)));
            sender.sample(&[&caller, &called], &[], Values::cpu(1, random.next() >> 20));
        }
    }

    #[test]
    fn one_delta_is_on_its_way_at_a_time_and_keeps_its_seq_until_it_arrives() {
        let mut outbox = outbox();
        outbox.push(small_delta());
        outbox.push(small_delta());
        let first = outbox.next(T).unwrap();
        assert_eq!(outbox.next(T), None);
        assert_eq!(outbox.answered(first.token, lost(), T), Answered::Again);
        assert_eq!(outbox.last_error(), Some("no answer within 120 s"));
        assert_eq!(outbox.next(T + SECOND - 1), None);
        let again = outbox.next(T + SECOND).unwrap();
        assert_ne!(again.token, first.token);
        assert_eq!(decode(&again.bytes).unwrap().seq, 1);
        assert_eq!(outbox.answered(first.token, ack(1, T), T), Answered::Stale);
        assert_eq!(outbox.answered(again.token, ack(1, T), T), Answered::Delivered);
        assert_eq!(outbox.last_error(), None);
        assert_eq!(deliver(&mut outbox, T + SECOND)[0].seq, 2);
        assert!(outbox.is_empty());
    }

    #[test]
    fn attempts_back_off_to_a_minute_and_hurry_when_the_process_ends() {
        let mut outbox = outbox();
        outbox.push(small_delta());
        let mut now = T;
        let waits: Vec<u64> = (0..8)
            .map(|_| {
                let out = outbox.next(now).unwrap();
                outbox.answered(out.token, lost(), now);
                let begin = now;
                now = outbox.next_attempt();
                (now - begin) / SECOND
            })
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        outbox.push(Delta { last: true, ..small_delta() });
        let out = outbox.next(now).unwrap();
        outbox.answered(out.token, lost(), now);
        assert!(outbox.next(now + SECOND / 2).is_some());
    }

    #[test]
    fn the_first_interval_is_five_seconds_and_then_the_drivers() {
        let mut outbox = outbox();
        assert_eq!(outbox.interval(), Duration::from_secs(5));
        outbox.push(small_delta());
        deliver(&mut outbox, T);
        assert_eq!(outbox.interval(), Duration::from_secs(10));
    }

    #[test]
    fn times_are_the_drivers_once_its_clock_is_known() {
        let mut outbox = outbox();
        let ahead = 600 * SECOND;
        outbox.push(Delta { from: T + ahead, to: T + ahead + SECOND, ..small_delta() });
        let out = outbox.next(T + ahead).unwrap();
        let delta = decode(&out.bytes).unwrap();
        assert_eq!((delta.sent_at, delta.from), (Some(T + ahead), T + ahead));
        // The answer took 2 s; the driver read its clock in the middle.
        outbox.answered(out.token, ack(1, T + SECOND), T + ahead + 2 * SECOND);
        assert_eq!(outbox.driver_time(T + ahead), T);
        outbox.push(Delta { from: T + ahead + SECOND, to: T + ahead + 2 * SECOND, ..small_delta() });
        let delta = decode(&outbox.next(T + ahead + 3 * SECOND).unwrap().bytes).unwrap();
        assert_eq!((delta.sent_at, delta.from, delta.to), (None, T + SECOND, T + 2 * SECOND));
    }

    #[test]
    fn the_shortest_round_trip_tells_the_clock() {
        let mut outbox = outbox();
        let mut offer = |sent: u64, back: u64, driver: u64| {
            outbox.push(small_delta());
            let out = outbox.next(sent).unwrap();
            let seq = decode(&out.bytes).unwrap().seq;
            outbox.answered(out.token, ack(seq, driver), back);
            outbox.driver_time(T) as i64 - T as i64
        };
        assert_eq!(offer(T, T + 2000, T + 1500), 500);
        assert_eq!(offer(T, T + 4000, T + 9000), 500);
        assert_eq!(offer(T, T + 1000, T + 700), 200);
    }

    #[test]
    fn a_delta_over_one_mebibyte_goes_in_pieces_that_add_up() {
        let mut sender = Sender::new("3");
        let mut random = Random(3);
        for index in 0..60_000u64 {
            let name = format!("pkg.Class{:x}.method{index}", random.next());
            sender.sample(
                &["a.Main.main", &name],
                &[("stage", "1")],
                Values::cpu(1, 1 + random.below(1 << 40)),
            );
        }
        let whole = sender.delta(T, T + SECOND);
        let sum = totals(whole.cells.iter().map(|(_, values)| values));
        let mut outbox = outbox();
        outbox.push(whole);
        let got = deliver(&mut outbox, T);
        assert!(got.len() > 2);
        assert_eq!(
            got.iter().map(|delta| delta.seq).collect::<Vec<_>>(),
            (1..=got.len() as u64).collect::<Vec<_>>()
        );
        assert_eq!(totals(merged(&got).cells.iter().map(|(_, values)| values)), sum);
    }

    #[test]
    fn the_last_delta_goes_in_small_pieces_and_only_the_last_one_says_so() {
        let mut sender = Sender::new("3");
        random_samples(&mut sender, &mut Random(9), 6000);
        let mut outbox = outbox();
        outbox.push(sender.last(T, T + SECOND));
        let mut got = Vec::new();
        while let Some(out) = outbox.next(T) {
            assert!(out.bytes.len() <= LAST_DELTA_BYTES, "{} bytes", out.bytes.len());
            got.push(decode(&out.bytes).unwrap());
            outbox.answered(out.token, ack(got.len() as u64, T), T);
        }
        let said: Vec<bool> = got.iter().map(|delta| delta.last).collect();
        assert_eq!(said.iter().filter(|last| **last).count(), 1);
        assert_eq!(said.last(), Some(&true));
        assert_eq!(got.last().unwrap().ending, "shutdown");
    }

    #[test]
    fn a_full_queue_merges_what_never_left_and_loses_nothing() {
        let mut sender = Sender::new("3");
        let mut random = Random(11);
        let mut outbox = outbox();
        let mut sum = Values::default();
        let period = T / INTERVAL.as_nanos() as u64 * INTERVAL.as_nanos() as u64;
        for round in 0..400 {
            crowd(&mut sender, &mut random);
            let delta = sender.delta(period + round, period + round + 1);
            sum.add(&totals(delta.cells.iter().map(|(_, values)| values)));
            outbox.push(delta);
            assert!(outbox.memory() <= 4 << 20);
        }
        assert_eq!(outbox.dropped(), 0);
        let got = deliver(&mut outbox, T);
        assert!(got.len() < 400);
        assert_eq!(totals(merged(&got).cells.iter().map(|(_, values)| values)), sum);
        assert_eq!((got[0].from, got.last().unwrap().to), (period, period + 400));
    }

    #[test]
    fn a_full_queue_never_merges_over_a_periods_border_but_drops_and_counts() {
        let mut sender = Sender::new("3");
        let mut random = Random(12);
        let mut outbox = outbox();
        let period = INTERVAL.as_nanos() as u64;
        for round in 0..400 {
            crowd(&mut sender, &mut random);
            outbox.push(sender.delta(round * period, (round + 1) * period));
        }
        assert!(outbox.memory() <= 4 << 20);
        assert!(outbox.dropped() > 0);
        sender.sample(&["a.B.m1"], &[], Values::cpu(1, 10));
        outbox.push(sender.delta(400 * period, 400 * period + 1));
        let got = deliver(&mut outbox, T);
        assert_eq!(got.len(), 401);
        let arrived = merged(&got).total(ValueType::Samples);
        assert_eq!(arrived + outbox.dropped(), 400 * CROWD + 1);
        let told = got.last().unwrap().status.lost.clone();
        assert_eq!(told, [Lost { cause: LostCause::DeltaDropped, count: outbox.dropped() }]);
    }

    #[test]
    fn names_are_sent_again_when_the_driver_wants_them() {
        let mut sender = Sender::new("3");
        let mut outbox = outbox();
        sender.sample(&["a.B.first"], &[], Values::cpu(1, 5));
        outbox.push(sender.delta(T, T));
        deliver(&mut outbox, T);
        sender.sample(&["a.B.first", "a.B.second"], &[], Values::cpu(1, 7));
        outbox.push(sender.delta(T, T));
        let out = outbox.next(T).unwrap();
        let wanted = Answer { resend_names: true, ..ack(1, T).unwrap() };
        assert_eq!(outbox.answered(out.token, Ok(wanted), T), Answered::NamesWanted);
        assert_eq!(outbox.next(T + 100 * SECOND), None);
        outbox.names(&sender.dictionary, 0);
        let got = deliver(&mut outbox, T);
        assert_eq!((got.len(), got[0].seq, got[0].dictionary.base), (1, 2, Mark::default()));
        assert_eq!(merged(&got).total(ValueType::Cpu), 7);
    }

    #[test]
    fn a_driver_that_counts_from_elsewhere_is_followed() {
        let mut outbox = outbox();
        outbox.push(small_delta());
        outbox.push(small_delta());
        deliver(&mut outbox, T);
        outbox.push(Delta { cells: Vec::new(), ..small_delta() });
        let out = outbox.next(T).unwrap();
        let wanted = Answer { resend_names: true, ..ack(0, T).unwrap() };
        assert_eq!(outbox.answered(out.token, Ok(wanted), T), Answered::NamesWanted);
        outbox.names(&Dictionary::default(), 0);
        assert_eq!(decode(&outbox.next(T).unwrap().bytes).unwrap().seq, 1);
    }

    #[test]
    fn an_answer_that_says_nothing_of_the_past_changes_no_seq() {
        let mut outbox = outbox();
        outbox.push(small_delta());
        deliver(&mut outbox, T);
        outbox.push(small_delta());
        let out = outbox.next(T).unwrap();
        assert_eq!(outbox.answered(out.token, ack(0, T), T), Answered::Again);
        assert_eq!(decode(&outbox.next(T + SECOND).unwrap().bytes).unwrap().seq, 2);
    }

    #[test]
    fn a_process_that_is_refused_late_gets_its_names_back() {
        let mut sender = Sender::new("3");
        let mut outbox = outbox();
        sender.sample(&["a.B.c"], &[], Values::cpu(1, 5));
        outbox.push(sender.delta(T, T));
        deliver(&mut outbox, T);
        sender.sample(&["a.B.c"], &[], Values::cpu(1, 7));
        outbox.push(sender.delta(T, T));
        let out = outbox.next(T).unwrap();
        let refusal = Answer { refused: Some("no".into()), ..Answer::default() };
        assert_eq!(outbox.answered(out.token, Ok(refusal), T), Answered::Refused);
        assert!(outbox.wants_names());
        outbox.names(&sender.dictionary, 0);
        assert!(!outbox.wants_names());
        assert_eq!(outbox.collected().unwrap().total(ValueType::Cpu), 7);
        assert_eq!(outbox.dropped(), 0);
    }

    #[test]
    fn a_refused_process_keeps_all_it_collected() {
        let mut sender = Sender::new("3");
        let mut outbox = outbox();
        let mut sum = 0;
        let mut push = |outbox: &mut Outbox, cpu| {
            sender.sample(&["a.B.c", &format!("a.B.m{cpu}")], &[("stage", "1")], Values::cpu(1, cpu));
            outbox.push(sender.delta(T, T));
            sum += cpu;
        };
        push(&mut outbox, 10);
        push(&mut outbox, 20);
        let out = outbox.next(T).unwrap();
        let refusal = Answer { refused: Some("another version".into()), ..Answer::default() };
        assert_eq!(outbox.answered(out.token, Ok(refusal), T), Answered::Refused);
        push(&mut outbox, 40);
        assert_eq!(outbox.next(T + 100 * SECOND), None);
        assert_eq!(outbox.refusal(), Some("another version"));
        assert_eq!(outbox.collected().unwrap().total(ValueType::Cpu), sum);
        assert_eq!(sum, 70);
    }
}
