use crate::Operation;
use glowplug::sample::ring::{Ring, RING_WORDS};
use std::hint::black_box;

pub(crate) static OPERATIONS: [Operation; 1] = [Operation {
    name: "write a stack of 60 frames into the ring and drain it",
    repeats: 1_000,
    prepare: write_and_drain,
}];

fn write_and_drain() -> Box<dyn FnMut()> {
    const FRAMES: u64 = 60;
    let ring = Ring::new(RING_WORDS);
    Box::new(move || {
        let frames = (0..FRAMES as usize).map(|frame| (0x7f00_0000_1000 + frame as u64) << 16 | 7);
        assert!(ring.write(0, black_box(&[10_000_000, 5, 77, FRAMES]), frames, 10_000_000));
        ring.drain(|_, words| {
            black_box(words);
        });
    })
}
