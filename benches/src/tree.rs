use crate::Operation;
use glowplug::profile::{Dictionary, Frame, FrameId, LabelSetId, NameId, Profile, Values};
use std::hint::black_box;

pub(crate) static OPERATIONS: [Operation; 2] = [
    Operation { name: "fold a known stack of 60 frames into the tree", repeats: 1_000, prepare: known_stack },
    Operation { name: "fold a new stack of 60 frames into the tree", repeats: 1_000, prepare: new_stack },
];

/// Frames of the common prefix; the rest of a stack is its own.
const PREFIX: usize = 30;
const DEPTH: usize = 60;
const STACKS: usize = 1_000;
const LABEL_SETS: usize = 20;

/// In stacks: a bench of a million rounds must not fill the memory.
const LARGEST_TREE: usize = 20_000;

fn known_stack() -> Box<dyn FnMut()> {
    let (mut profile, stacks) = (profile(), stacks());
    for at in 0..STACKS {
        fold(&mut profile, &stacks, at);
    }
    let mut at = 0;
    Box::new(move || {
        fold(&mut profile, &stacks, black_box(at % STACKS));
        at += 1;
    })
}

fn new_stack() -> Box<dyn FnMut()> {
    let (empty, mut stacks) = (profile(), stacks());
    let mut profile = empty.clone();
    let mut at = 0;
    Box::new(move || {
        if at % LARGEST_TREE == 0 {
            profile = empty.clone();
        }
        let stack = &mut stacks[at % STACKS];
        // A frame that was never seen makes the lower half of the stack new.
        stack[PREFIX] = FrameId(FRAMES + at as u32);
        fold(&mut profile, &stacks, black_box(at % STACKS));
        at += 1;
    })
}

fn fold(profile: &mut Profile, stacks: &[Vec<FrameId>], at: usize) {
    let mut node = Dictionary::ROOT;
    for frame in &stacks[at] {
        node = profile.dictionary.child(node, *frame);
    }
    profile.cells.add(node, LabelSetId((at % LABEL_SETS) as u32), &Values::cpu(1, 10_000_000));
}

const FRAMES: u32 = 5_000;

pub(crate) fn profile() -> Profile {
    let mut profile = Profile::default();
    let file = profile.dictionary.name("Generated.scala");
    for at in 0..FRAMES {
        let function =
            profile.dictionary.name(&format!("org.apache.spark.sql.execution.Operator{}.apply", at / 3));
        profile.dictionary.frame(Frame { function, file, line: at });
    }
    let keys = ["process", "stage", "stage_attempt"].map(|key| profile.dictionary.name(key));
    for at in 0..LABEL_SETS {
        let value = profile.dictionary.name(&at.to_string());
        let labels: Vec<(NameId, NameId)> = keys.iter().map(|key| (*key, value)).collect();
        profile.dictionary.label_set(&labels);
    }
    profile
}

/// A profile with a cell for each stack and label set.
pub(crate) fn filled(stacks_used: usize) -> Profile {
    let (mut profile, stacks) = (profile(), stacks());
    for at in 0..stacks_used {
        fold(&mut profile, &stacks, at);
    }
    profile
}

fn stacks() -> Vec<Vec<FrameId>> {
    let mut random = Random(7);
    (0..STACKS)
        .map(|_| {
            (0..DEPTH)
                .map(|depth| match depth {
                    0..PREFIX => FrameId(1 + depth as u32),
                    _ => FrameId(100 + random.below(FRAMES - 100)),
                })
                .collect()
        })
        .collect()
}

/// The same stacks in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}
